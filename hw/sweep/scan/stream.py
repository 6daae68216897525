"""The candidates of brackets: requested on the row buses, evaluated, and compared."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.evaluator import OBJECTIVE_BITS, EvaluatorParameters
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.memory.queue import DeepQueue, Queue
from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.parameters import HALF_SHIFT, HALF_WORDS
from beltline.hw.sweep.row_buses import RowPort
from beltline.hw.sweep.scan.contest import Contest
from beltline.hw.sweep.scan.parameters import AHEAD_HALVES, AHEAD_JOBS, ScanParameters


class Stream(wiring.Component):
    """Requests the half-rows of one bracket after the other, and streams their candidates through the lane's evaluator.

    Half-rows that the buses have accepted pass without a stop. Latency: :attr:`ScanParameters.result_latency` clocks
    from the last ``taken`` of a bracket to its result. Throughput: a candidate in every clock; a half-row takes 4
    clocks, also where the bracket has fewer of its words. Contract: ``valid`` and ``job`` do not change before ``pop``;
    results have no ready. Widths are those of :class:`beltline.hw.sweep.parameters.SweepParameters`.

    Attributes
    ----------
    valid, job : in, 1 bit and :attr:`ScanParameters.job`
        The next bracket, from :class:`beltline.hw.sweep.scan.brackets.Brackets`.
    pop : out, 1 bit
        Its last half-row enters the queue of requests.
    fetch : out, :class:`beltline.hw.sweep.row_buses.RowPort`
        Requests half-rows, as a local search does: a row that is delivered has four words of the grid (or of costs),
        and four expected values.
    wealth_address : out, ``position_bits``
        The state whose candidates are next, ``READ_LATENCY`` clocks before ``x`` and ``ev``.
    x, ev : out, 64 bits each
        Grid point (or cost) and expected value of a candidate, to the evaluator.
    objective, feasible, over : in, signed 65 bits, 1 bit, 1 bit
        Of that candidate, after the evaluator's latency: objective, whether it is feasible, and whether a word left its
        range.
    result, of : out, 1 bit and :attr:`ScanParameters.state`
        A bracket is finished, and its state.
    moved, choice : out, 1 bit and ``index_bits``
        With ``result``: another candidate than the choice is the best, and which one.
    saturated : out, 1 bit
        High for a clock: a word of a candidate left its range.
    """

    def __init__(self, parameters: ScanParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        super().__init__(
            {
                "valid": In(1),
                "job": In(parameters.job),
                "pop": Out(1),
                "fetch": Out(RowPort(build.row_bits, build.inner_bits)),
                "wealth_address": Out(build.position_bits),
                "x": Out(WIDTH),
                "ev": Out(WIDTH),
                "objective": In(signed(OBJECTIVE_BITS)),
                "feasible": In(1),
                "over": In(1),
                "result": Out(1),
                "of": Out(parameters.state),
                "moved": Out(1),
                "choice": Out(build.index_bits),
                "saturated": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        parameters = self.parameters
        m.submodules.halves = halves = Queue(parameters.half.size, AHEAD_HALVES)
        m.submodules.flying = flying = DeepQueue(parameters.state.size + parameters.build.index_bits, AHEAD_JOBS)
        m.submodules.contest = contest = Contest(parameters)

        # A half-row is queued in every clock while the queue has space.
        job = self.job
        half, asked = Signal(parameters.half), Signal(parameters.half)
        within, following = Signal(), Signal(parameters.half_bits)
        emit = self.valid & halves.ready
        m.d.comb += [
            half.number.eq(Mux(within, following, job.lo[HALF_SHIFT:])),
            half.last.eq(half.number == job.hi[HALF_SHIFT:]),
            half.first.eq(~within),
            half.low.eq(Mux(within, 0, job.lo[:HALF_SHIFT])),
            half.high.eq(Mux(half.last, job.hi[:HALF_SHIFT], HALF_WORDS - 1)),
            half.position.eq(job.of.position),
            half.state.eq(job.of.state),
            self.pop.eq(emit & half.last),
            halves.push.eq(emit),
            halves.data.eq(half),
            flying.push.eq(self.pop),
            flying.data.eq(Cat(job.of, job.own)),
            asked.eq(halves.head),
            self.fetch.request.eq(halves.head_valid),
            self.fetch.row.eq(asked.number[1:]),
            self.fetch.inner.eq(Cat(asked.state, asked.number[0], Const(1, 1))),
            halves.pop.eq(self.fetch.taken),
        ]
        with m.If(emit):
            m.d.sync += [within.eq(~half.last), following.eq(half.number + 1)]

        # A half-row arrives `fetch` clocks after `taken`; its state's cash on hand is read just before.
        fetch = parameters.fetch
        before = READ_LATENCY - 1
        place, came = Signal(parameters.half), Signal(parameters.half)
        m.d.comb += came.eq(p.delay(p.input(asked.as_value()), fetch).value)
        early = p.delay(p.input(asked.position), fetch - before)
        with m.If(p.valid(p.input(self.fetch.taken), fetch - before)):
            m.d.sync += self.wealth_address.eq(early.value)

        # Its words enter the evaluator one by one; the next half-row does not arrive before the last of them.
        arrived_halves = [Signal(HALF_WORDS * WIDTH, name=f"half{high}", reset_less=True) for high in range(2)]
        unloading, word = Signal(), Signal(range(HALF_WORDS))
        with m.If(self.fetch.valid):
            m.d.sync += [Cat(arrived_halves).eq(self.fetch.data), place.eq(came), unloading.eq(1), word.eq(0)]
        with m.Else():
            m.d.sync += [*(part.eq(part >> WIDTH) for part in arrived_halves), word.eq(word + 1)]
            with m.If(word == HALF_WORDS - 1):
                m.d.sync += unloading.eq(0)
        low, high = (part[:WIDTH] for part in arrived_halves)
        odd = place.number[0]
        evaluated = 1 + EvaluatorParameters(parameters.build.multiplier).latency
        inside = unloading & (word >= place.low) & (word <= place.high)
        able = p.valid(p.input(inside), evaluated)
        m.d.comb += [
            self.x.eq(p.register(Mux(odd, low, high), 0).value),
            self.ev.eq(p.register(Mux(odd, high, low), 0).value),
            contest.objective.eq(self.objective),
            contest.able.eq(able & self.feasible),
            contest.ends.eq(p.valid(p.input(unloading & (word == HALF_WORDS - 1)), evaluated)),
            Cat(contest.number, contest.first, contest.last).eq(
                p.delay(p.input(Cat(place.number, place.first, place.last)), evaluated).value
            ),
        ]

        # Brackets finish in the order of their requests, so the finished one is the oldest.
        done = Signal(parameters.state)
        own = flying.head[len(done.as_value()) :]
        m.d.comb += [done.eq(flying.head), flying.pop.eq(contest.done)]
        m.d.sync += [
            self.saturated.eq(able & self.over),
            self.result.eq(contest.done),
            self.moved.eq(contest.done & contest.any & (contest.index != own)),
            self.choice.eq(contest.index),
            self.of.eq(done),
        ]
        return m
