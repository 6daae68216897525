"""The local search of a lane: finds new choices for the states that failed the check."""

from __future__ import annotations

from amaranth.hdl import Module, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.utility import constant_ports
from beltline.hw.sweep.check import CACHED_BITS
from beltline.hw.sweep.row_buses import RowPort
from beltline.hw.sweep.search.commit import Commit
from beltline.hw.sweep.search.compare import LENT, Compare
from beltline.hw.sweep.search.course import Course
from beltline.hw.sweep.search.ends import Ends
from beltline.hw.sweep.search.guess import Guess
from beltline.hw.sweep.search.halves import Halves
from beltline.hw.sweep.search.marks import mark_ports
from beltline.hw.sweep.search.moves import FirstMoves
from beltline.hw.sweep.search.next_state import NextState
from beltline.hw.sweep.search.parameters import SearchParameters
from beltline.hw.sweep.search.probe import Probe
from beltline.hw.sweep.search.report import Report
from beltline.hw.sweep.search.requests import Requests
from beltline.hw.sweep.search.ring import Ring


class LocalSearch(wiring.Component):
    """Finds the peak of the objective for every marked state of a lane by local search; see :class:`SearchParameters`.

    A lane has many searches that share its evaluator (signals ``search``). In each clock one search has
    its turn, made by the units in this order: :class:`Ring` gives the turn; :class:`Probe` computes the candidate
    and checks whether its words have arrived; :class:`Requests` requests those that have not; :class:`Halves` reads
    them; :class:`NextState` looks for the next state; :class:`Compare` evaluates the candidate, while :class:`Course`
    delays the search; :class:`Commit` decides; and the ring holds the search until its next turn.

    Throughput: an evaluation in every clock. A state takes one turn of :attr:`SearchParameters.clocks` clocks for each
    candidate, and more while rows have not arrived. Results come in no fixed order, and have no ready. Sizes must not
    change from the first mark to the end of the pass, and ``force``, ``cold``, ``stored`` and ``exact`` not from the
    clock after ``start``. Widths are those of :class:`beltline.hw.sweep.parameters.SweepParameters`.

    Attributes
    ----------
    a, b, negative, log, shift : in
        Constants of the utility, :data:`beltline.hw.arithmetic.utility.CONSTANTS`.
    linear : in, 1 bit
        Only in general builds: utility is linear, :data:`beltline.hw.arithmetic.utility.LINEAR`.
    mark_valid, mark_point, mark_state, mark : in, 1 bit, ``point_bits``, ``state_bits``, 1 bit
        Before a pass: whether a state must be searched, for all states of the lane in table order.
    restart : in, 1 bit
        The clock after it is the first of a loop of the ring. It must not be high while ``busy``.
    start : in, 1 bit
        Begins a pass.
    points : in, ``point_bits + 1``
        Points of the lane, at least 1.
    last_state, last_index : in, ``state_bits`` and ``index_bits``
        ``N_z - 1``, and the last candidate of the grid.
    part_shift : in, 0 to ``point_bits``
        Each search has ``2**part_shift`` points.
    force : in, 1 bit
        All states are searched, with and without a mark.
    cold : in, 1 bit
        There are no stored choices: the grid index of a state's own point takes the place of its choice. Moves of the
        sweep before are not used, and ``moved`` must be ignored.
    first_point : in, ``index_bits``
        Grid index of the lane's first point.
    busy : out, 1 bit
        High from the clock after ``start`` to the end of the pass.
    wealth_address, wealth_data : out and in, ``position_bits`` and signed 64 bits
        Read port of the lane's cash on hand; this and the next two have latency ``READ_LATENCY``.
    choice_address, choice_data : out and in, ``position_bits`` and ``index_bits``
        Read port of its choices.
    old_address, old_data : out and in, ``position_bits`` and signed 64 bits
        Read port of its values.
    fetch : out, :class:`beltline.hw.sweep.row_buses.RowPort`
        Requests half-rows; ``inner`` has :attr:`beltline.hw.sweep.parameters.SweepParameters.inner_bits`. If the lower
        half is requested, the row that is delivered has expected values in its lower half, and the grid of the same
        points in its upper half; if the upper one is, the reverse.
    valid : out, 1 bit
        High in clocks with a finished state, to which the outputs up to ``outside`` belong.
    position, state : out, ``position_bits`` and ``state_bits``
        The number of the state in the lane, and its exogenous state.
    choice, moved : out, ``index_bits`` and 1 bit
        Its new choice, and whether that differs from the one before.
    cached : out, ``CACHED_BITS``
        Its cached utilities, and whether they are feasible.
    value, old : out, signed 64 bits each
        Its new value, and the value before.
    infeasible, outside : out, 1 bit each
        The state can afford no candidate; its value left the range of 64 bits.
    over : out, 1 bit
        A word of an evaluation left its range; also without ``valid``.
    exact : in, 1 bit
        Every state begins at its stored choice, and no moves are stored.
    stored : in, 1 bit
        There are stored choices also with ``cold``, and searches begin from these.
    set, set_point, set_state : in
        Outside a pass: see :class:`beltline.hw.sweep.search.marks.Marks`.
    lent, lent_x, lent_ev, lent_objective, lent_feasible, lent_over
        Outside a pass: see :class:`beltline.hw.sweep.search.compare.Compare`.
    least, most : in, ``index_bits`` each
        Only in general builds: the lowest and the highest candidate of the state whose choice is read, with
        ``choice_data``.
    """

    def __init__(self, parameters: SearchParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        bits = build.position_bits
        super().__init__(
            {
                **constant_ports(build.general),
                **mark_ports(build),
                "restart": In(1),
                "start": In(1),
                "points": In(build.point_bits + 1),
                "last_state": In(build.state_bits),
                "last_index": In(build.index_bits),
                "part_shift": In(range(build.point_bits + 1)),
                "force": In(1),
                "cold": In(1),
                "first_point": In(build.index_bits),
                "busy": Out(1),
                "wealth_address": Out(bits),
                "wealth_data": In(signed(WIDTH)),
                "choice_address": Out(bits),
                "choice_data": In(build.index_bits),
                "old_address": Out(bits),
                "old_data": In(signed(WIDTH)),
                "fetch": Out(RowPort(build.row_bits, build.inner_bits)),
                "valid": Out(1),
                "position": Out(bits),
                "state": Out(build.state_bits),
                "choice": Out(build.index_bits),
                "moved": Out(1),
                "cached": Out(CACHED_BITS),
                "value": Out(signed(WIDTH)),
                "old": Out(signed(WIDTH)),
                "infeasible": Out(1),
                "outside": Out(1),
                "over": Out(1),
                **LENT,
                "exact": In(1),
                "stored": In(1),
                "set": In(1),
                "set_point": In(build.point_bits),
                "set_state": In(build.state_bits),
                **({name: In(build.index_bits) for name in ("least", "most")} if build.general else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        parameters = self.parameters
        m.submodules.ring = ring = Ring(parameters)
        m.submodules.probe = probe = Probe(parameters)
        m.submodules.requests = requests = Requests(parameters)
        m.submodules.halves = halves = Halves(parameters)
        m.submodules.next_state = next_state = NextState(parameters)
        m.submodules.moves = moves = FirstMoves(parameters)
        m.submodules.course = course = Course(parameters)
        m.submodules.compare = compare = Compare(parameters)
        m.submodules.guess = guess = Guess(parameters)
        m.submodules.commit = commit = Commit(parameters)
        m.submodules.report = report = Report(parameters)
        m.submodules.ends = ends = Ends(parameters)
        # A port of a unit with name and direction of a port of this component is connected to it.
        for unit in (ring, probe, next_state, moves, compare, guess, report, ends):
            for name, member in unit.signature.members.items():
                if name in self.signature.members and member.flow is self.signature.members[name].flow:
                    inner, outer = getattr(unit, name), getattr(self, name)
                    m.d.comb += outer.eq(inner) if member.flow is Out else inner.eq(outer)

        # The beginning of a turn: the candidate, its words, and the next state.
        m.d.comb += [
            ring.next.eq(commit.next),
            ring.busy.eq(ends.busy),
            probe.context.eq(ring.context),
            probe.search.eq(ring.search),
            probe.search_later.eq(ring.search_later),
            probe.arrived.eq(halves.arrived),
            requests.context.eq(probe.context_later),
            requests.search.eq(probe.seen),
            requests.probe.eq(probe.probe),
            requests.lacks.eq(probe.lacks),
            requests.ahead.eq(probe.ahead),
            requests.near_row.eq(probe.near_row),
            self.fetch.request.eq(requests.request),
            self.fetch.row.eq(requests.row),
            self.fetch.inner.eq(requests.inner),
            requests.taken.eq(self.fetch.taken),
            halves.valid.eq(self.fetch.valid),
            halves.data.eq(self.fetch.data),
            halves.place.eq(requests.place),
            halves.context.eq(probe.context_later),
            halves.probe.eq(probe.probe),
            next_state.busy.eq(ends.busy),
            next_state.context.eq(ring.context),
            next_state.mine.eq(ring.mine),
            next_state.limit.eq(ring.limit),
            next_state.search.eq(ring.search),
            next_state.search_later.eq(ring.search_later),
            moves.context.eq(ring.context),
            moves.context_later.eq(probe.context_later),
            moves.beginning.eq(ring.beginning),
        ]
        # The search is delayed while its candidate is evaluated and its next guess computed.
        m.d.comb += [
            course.sent.eq(requests.sent),
            *(getattr(course, name).eq(getattr(probe, name)) for name in ("probe", "found", "nowhere")),
            *(
                getattr(course, name).eq(getattr(next_state, name))
                for name in ("hit", "item", "point", "exhausted", "exogenous")
            ),
            course.used.eq(moves.used),
            course.move.eq(moves.move),
            guess.search.eq(course.guesses),
            compare.position.eq(ring.search.item.position),
            compare.ev.eq(halves.ev),
            compare.x.eq(halves.x),
            compare.best.eq(course.compares.objective),
            compare.best_feasible.eq(course.compares.here.feasible),
            self.old_address.eq(course.old_address),
        ]
        if parameters.build.general:
            # Candidates travel with their state.
            for side in ("least", "most"):
                m.d.comb += [
                    getattr(probe, side).eq(getattr(ring.search_later.item, side)),
                    getattr(guess, side).eq(getattr(course.guesses.next, side)),
                ]
        # The decision, and the results.
        m.d.comb += [
            commit.old.eq(course.decides),
            *(
                getattr(commit, name).eq(getattr(course, f"decides_{name}"))
                for name in ("probe", "found", "nowhere", "last", "exhausted")
            ),
            *(
                getattr(commit, name).eq(getattr(compare, name))
                for name in ("objective", "u", "feasible", "rises", "keeps")
            ),
            *(getattr(commit, name).eq(getattr(guess, name)) for name in ("move", "begin_done", "begin_idle")),
            moves.first.eq(commit.done & ~commit.old.begun & ends.busy & ~self.exact),
            moves.first_move.eq(guess.move),
            report.busy.eq(ends.busy),
            report.old.eq(commit.old),
            *(getattr(report, name).eq(getattr(commit, name)) for name in ("candidate", "known", "done", "nowhere")),
            report.exogenous.eq(course.decides_exogenous),
            report.word_over.eq(compare.word_over),
            self.old.eq(self.old_data),
            ends.beginning.eq(ring.beginning),
            ends.over.eq(commit.over),
            ends.was_over.eq(commit.old.over),
            ends.idle.eq(requests.asked == halves.arrived),
        ]
        return m
