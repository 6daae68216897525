"""The candidates of brackets, from the buses through a lane's evaluator."""

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
    """Asks for the halves of rows of one bracket after the other, and streams them through the evaluator as they come.

    What is taken by the buses goes on without a stop: a result comes :attr:`ScanParameters.behind` clocks behind the
    last ``taken`` of its bracket.

    Attributes
    ----------
    valid, job, pop
        From :class:`beltline.hw.sweep.scan.brackets.Brackets`: the next bracket, until its last half is asked for.
    fetch
        To the buses; of each row it gets half of the grid and half of the expected values, as a walk does.
    wealth_address
        Out: of the state whose candidates are next, ``READ_LATENCY`` clocks before ``x`` and ``ev``.
    x, ev
        Out: of a candidate, to the evaluator.
    objective, feasible, over
        In: of that candidate, as they come from the evaluator.
    result, of, moved, choice
        Out: a bracket is done, of which state, whether another choice is the best, and which.
    saturated
        Out: a word of a candidate left its range.
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

        # A half a clock is asked for, as long as there is room.
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

        # What was taken comes `fetch` clocks later; the wealth of its state is read before.
        fetch = parameters.fetch
        before = READ_LATENCY - 1
        place, came = Signal(parameters.half), Signal(parameters.half)
        m.d.comb += came.eq(p.delay(p.input(asked.as_value()), fetch).value)
        early = p.delay(p.input(asked.position), fetch - before)
        with m.If(p.valid(p.input(self.fetch.taken), fetch - before)):
            m.d.sync += self.wealth_address.eq(early.value)

        # Its words go to the evaluator one by one, and the next half comes no sooner than behind them.
        held = [Signal(HALF_WORDS * WIDTH, name=f"held{high}", reset_less=True) for high in range(2)]
        unloading, word = Signal(), Signal(range(HALF_WORDS))
        with m.If(self.fetch.valid):
            m.d.sync += [Cat(held).eq(self.fetch.data), place.eq(came), unloading.eq(1), word.eq(0)]
        with m.Else():
            m.d.sync += [*(part.eq(part >> WIDTH) for part in held), word.eq(word + 1)]
            with m.If(word == HALF_WORDS - 1):
                m.d.sync += unloading.eq(0)
        low, high = (part[:WIDTH] for part in held)
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

        # The bracket that is done is the one longest under way.
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
