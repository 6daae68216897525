"""The pass of a sweep that finds the new choices of the states of a lane that do not keep theirs."""

from __future__ import annotations

from amaranth.hdl import Const, Module, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.utility import CONSTANTS
from beltline.hw.sweep.check import KEPT_BITS
from beltline.hw.sweep.row_buses import RowPort
from beltline.hw.sweep.walk.commit import Commit
from beltline.hw.sweep.walk.compare import LENT, Compare
from beltline.hw.sweep.walk.course import Course
from beltline.hw.sweep.walk.ends import Ends
from beltline.hw.sweep.walk.guess import Guess
from beltline.hw.sweep.walk.halves import Halves
from beltline.hw.sweep.walk.moves import FirstMoves
from beltline.hw.sweep.walk.next_state import NextState
from beltline.hw.sweep.walk.parameters import WalkParameters
from beltline.hw.sweep.walk.probe import Probe
from beltline.hw.sweep.walk.report import Report
from beltline.hw.sweep.walk.requests import Requests
from beltline.hw.sweep.walk.ring import Ring


class Walk(wiring.Component):
    """:class:`WalkParameters` in gateware.

    A turn of a walker goes through its units, a turn a clock: the ring gives a turn, the probe finds the candidate and
    whether its words are here, the requests ask for what is not, the halves bring the words, and the next state is
    looked for; the comparison evaluates the candidate, while the walker is on its course; then the commit decides, and
    the ring keeps the walker until its next turn.

    Attributes
    ----------
    a, b, negative, log, shift
        The utility's constants.
    mark_valid, mark_point, mark_state, mark
        Before a walk: whether a state is to be walked, in table order, for all states of the lane.
    restart
        The clock behind it is the first of a turn of the ring. It must not come while ``busy``.
    start, points, last_state, last_index, part_shift
        ``start`` begins a walk over ``points`` points (at least 1) of ``last_state + 1`` exogenous states;
        ``last_index`` is the last candidate, and ``2**part_shift`` points are a part. All but ``start`` must stand from
        the first mark to the end.
    force
        All states are walked, whatever their marks; it must stand from the clock behind ``start`` to the end.
    cold, first_point
        Where ``cold``, which must stand too, no choices are kept: a point stands for that of each of its states, point
        0 of the lane being ``first_point``. By how much choices moved before, or move now, means nothing.
    seek, above
        The walk looks for other peaks: a walker begins at the lowest candidate, or at the highest, and goes on from
        state to state where it is. Results are ``other`` only, and nothing is remembered. Both stand as ``force``.
    busy
        From ``start`` to the end of the walk.
    wealth_address, wealth_data, choice_address, choice_data, old_address, old_data
        Read ports of the lane's wealth, choices and values, of ``READ_LATENCY``.
    fetch
        To the buses; ``inner`` is :attr:`beltline.hw.sweep.parameters.SweepParameters.inner_bits`. Where the lower half
        of a row is asked for, the upper one of what comes is the lower half of the grid's; or the other way round.
    other
        The peak of a state is not its choice.
    valid, position, state, choice, moved, kept, value, old, infeasible, outside, over
        A state that has been walked; ``state`` is the exogenous one, ``moved`` whether it has another choice than
        before. ``over`` may come without ``valid``.
    exact
        Of a build with ``proof``: every walk begins at the choice before, and no moves are remembered. It stands as
        ``force``.
    set, set_point, set_state, lent, lent_x, lent_ev, lent_objective, lent_feasible, lent_over
        Of a build with ``proof``, while no walk is under way: see :class:`beltline.hw.sweep.walk.marks.Marks` and
        :class:`beltline.hw.sweep.walk.compare.Compare`.
    """

    def __init__(self, parameters: WalkParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        bits = build.position_bits
        super().__init__(
            {
                **CONSTANTS,
                "mark_valid": In(1),
                "mark_point": In(build.point_bits),
                "mark_state": In(build.state_bits),
                "mark": In(1),
                "restart": In(1),
                "start": In(1),
                "points": In(build.point_bits + 1),
                "last_state": In(build.state_bits),
                "last_index": In(build.index_bits),
                "part_shift": In(range(build.point_bits + 1)),
                "force": In(1),
                "cold": In(1),
                "first_point": In(build.index_bits),
                "seek": In(1),
                "above": In(1),
                "busy": Out(1),
                "other": Out(1),
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
                "kept": Out(KEPT_BITS),
                "value": Out(signed(WIDTH)),
                "old": Out(signed(WIDTH)),
                "infeasible": Out(1),
                "outside": Out(1),
                "over": Out(1),
                **(
                    LENT
                    | {"exact": In(1)}
                    | {"set": In(1), "set_point": In(build.point_bits), "set_state": In(build.state_bits)}
                    if build.proof
                    else {}
                ),
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
        # A port of a unit that is called as one of the walk, and has its direction, is that port.
        for unit in (ring, probe, next_state, moves, compare, guess, report, ends):
            for name, member in unit.signature.members.items():
                if name in self.signature.members and member.flow is self.signature.members[name].flow:
                    inner, outer = getattr(unit, name), getattr(self, name)
                    m.d.comb += outer.eq(inner) if member.flow is Out else inner.eq(outer)

        # A turn from its beginning: the candidate, its words, and the next state.
        m.d.comb += [
            ring.next.eq(commit.next),
            ring.busy.eq(ends.busy),
            probe.context.eq(ring.context),
            probe.walker.eq(ring.walker),
            probe.held.eq(ring.held),
            probe.arrived.eq(halves.arrived),
            requests.context.eq(probe.context_later),
            requests.walker.eq(probe.seen),
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
            next_state.walker.eq(ring.walker),
            next_state.held.eq(ring.held),
            moves.context.eq(ring.context),
            moves.context_later.eq(probe.context_later),
            moves.beginning.eq(ring.beginning),
        ]
        # The walker on its course, while its candidate is evaluated and its next guess is made.
        m.d.comb += [
            course.sent.eq(requests.sent),
            *(getattr(course, name).eq(getattr(probe, name)) for name in ("probe", "found", "nowhere")),
            *(
                getattr(course, name).eq(getattr(next_state, name))
                for name in ("hit", "item", "point", "exhausted", "exogenous")
            ),
            course.used.eq(moves.used),
            course.move.eq(moves.move),
            guess.walker.eq(course.guesses),
            compare.position.eq(ring.walker.item.position),
            compare.ev.eq(halves.ev),
            compare.x.eq(halves.x),
            compare.best.eq(course.compares.objective),
            compare.best_feasible.eq(course.compares.here.feasible),
            self.old_address.eq(course.old_address),
        ]
        # What is decided of it, and what is told.
        exact = self.exact if parameters.build.proof else Const(0, 1)
        m.d.comb += [
            commit.old.eq(course.decides),
            *(
                getattr(commit, name).eq(getattr(course, f"decides_{name}"))
                for name in ("probe", "found", "nowhere", "exhausted")
            ),
            *(
                getattr(commit, name).eq(getattr(compare, name))
                for name in ("objective", "u", "feasible", "rises", "keeps")
            ),
            *(getattr(commit, name).eq(getattr(guess, name)) for name in ("move", "begin_done", "begin_idle")),
            moves.first.eq(commit.done & ~commit.old.begun & ends.busy & ~(self.seek | exact)),
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
