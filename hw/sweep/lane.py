"""A lane of the sweep engine: its part of every table, and the passes of a sweep over it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import (
    Cat,
    ClockSignal,
    Const,
    Instance,
    Module,
    Mux,
    ResetSignal,
    Signal,
    Value,
    signed,
)
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.decision import clamped
from beltline.hw.arithmetic.expectation import Expectation, ExpectationParameters
from beltline.hw.arithmetic.norm import Norm, NormParameters
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline, Term, Timed
from beltline.hw.arithmetic.utility import CONSTANTS
from beltline.hw.interface.parameters import ROW_WORDS
from beltline.hw.interface.windows import WORD_BYTES
from beltline.hw.memory.ram import BLOCK_DEPTH, READ_LATENCY, Ram
from beltline.hw.sweep.check import KEPT_BITS, Check, CheckParameters
from beltline.hw.sweep.parameters import HALF_WORDS, ROW_SHIFT, SweepParameters
from beltline.hw.sweep.patch import Patch, PatchParameters
from beltline.hw.sweep.row_buses import BankPort, RowBusesParameters, RowPort
from beltline.hw.sweep.walk.parameters import WalkParameters
from beltline.hw.sweep.walk.walk import Walk

MODULE = "beltline_lane"

SHIFT_CLOCKS = 3
"""Clocks that the shifts take between a result and its value."""

MOST_SHIFT = 1
"""A sweep in which all choices but one in ``2**MOST_SHIFT`` have moved is followed by one that checks none: what a
check saves is less than what it takes when the busiest walker has nearly all of its states to walk anyway."""

CONTEXTS = 64
"""Walkers of a lane: as many as an evaluation and what is decided from it take clocks, nearly."""


@dataclass(frozen=True)
class LaneParameters:
    """A lane: :mod:`beltline.hw.sweep.check`, :mod:`beltline.hw.sweep.walk` and :mod:`beltline.hw.sweep.patch` over its
    own memories.

    A sweep is a check of all states; where some have lost their choice, a walk over these, and then new expectations
    for their points. Where there are no choices yet, or nearly all of them moved in the sweep before, nothing is
    checked, and all states are walked. A prologue makes the expectations of all points. The lane reads the expected
    values of one half of its memory (and other lanes read them there), and writes new ones to the other half.

    Parameters
    ----------
    build
        Of the engine.
    """

    build: SweepParameters

    @property
    def walk(self) -> WalkParameters:
        return WalkParameters(self.build, max(CONTEXTS, 1 << self.build.state_bits))

    @property
    def expectation(self) -> ExpectationParameters:
        return ExpectationParameters(self.build.states, self.build.multiplier)

    @property
    def buses(self) -> RowBusesParameters:
        return RowBusesParameters(self.build, self.build.inner_bits)

    @property
    def ports(self) -> dict[str, wiring.Member]:
        """Of :class:`Lane`."""
        build = self.build
        return {
            **CONSTANTS,
            "points": In(build.point_bits + 1),
            "count": In(build.position_bits + 1),
            "states": In(5),
            "last_index": In(build.index_bits),
            "first_point": In(build.index_bits),
            "part_shift": In(range(build.point_bits + 1)),
            "weight_write": In(WORD_BYTES),
            "weight_row": In(build.state_bits),
            "weight_column": In(build.state_bits),
            "x_write": In(WORD_BYTES),
            "wealth_write": In(WORD_BYTES),
            "value_write": In(WORD_BYTES),
            "write_address": In(build.position_bits),
            "data": In(WIDTH),
            "read_address": In(build.position_bits),
            "read_wealth": In(1),
            "read_policy": In(1),
            "word": Out(WIDTH),
            "go": In(1),
            "prologue": In(1),
            "cold": In(1),
            "fixed": In(1),
            "seek": In(1),
            "above": In(1),
            "half": In(1),
            "done": Out(1, init=1),
            "norm": Out(WIDTH),
            "shift_after": In(build.states * WIDTH),
            "shift_before": In(build.states * WIDTH),
            "sample_place": In(build.position_bits),
            "refers": In(1),
            "sample_valid": Out(1),
            "sample_state": Out(build.state_bits),
            "sample": Out(signed(WIDTH)),
            "retired": Out(1),
            "saturated": Out(1),
            "infeasible": Out(1),
            "other": Out(1),
            "fetch": Out(RowPort(build.row_bits, self.buses.inner_bits)),
            "bank": In(BankPort(self.buses.address_bits)),
        }

    @property
    def settle(self) -> int:
        """Clocks after which a state's value has come to the expectation unit and its point's expectations to rest.

        They count from the check's result, or from the state's read in a patch.
        """
        return max(READ_LATENCY, SHIFT_CLOCKS) + 1 + self.expectation.latency + self.build.states + 2

    @property
    def rows(self) -> int:
        """Rows of the lane's memory: two halves of expected values, then the grid."""
        return ((2 << self.build.state_bits) + 1) << self.build.local_bits


class Lane(wiring.Component):
    """:class:`LaneParameters` in gateware.

    Attributes
    ----------
    a, b, negative, log, shift
        The utility's constants.
    points, count, states, last_index, first_point, part_shift
        Of the problem: the lane's points and states, ``N_z``, the last candidate, the lane's first point,
        :class:`beltline.hw.sweep.walk.walk.Walk`'s parts.
        They stand during a run, as do the constants.
    weight_write, weight_row, weight_column
        See :class:`beltline.hw.arithmetic.expectation.Expectation`; the weight is ``data``.
    x_write, wealth_write, value_write, write_address, data
        The host's writes, with a bit for each byte; the address is the point, or the number of the state in the lane.
        None may come during a run.
    read_address, read_wealth, read_policy, word
        The host's reads: ``word`` comes ``READ_LATENCY + 1`` clocks behind its address, from the wealth, the choices or
        else the values, as the two flags say ``READ_LATENCY`` clocks behind the address.
    go, prologue, cold, fixed, seek, above, half
        ``go`` begins a pass: a prologue or a sweep, in which ``cold`` has every state walked and ``fixed`` none. A run
        begins with a prologue and a cold sweep. In a pass with ``seek`` every state is walked from below, or
        from ``above``, and nothing changes.
        ``half`` is the one that is read. All but ``go`` must stand until ``done``.
    shift_after, shift_before
        Signed 64 bits for each exogenous state, which also stand: what is added to the new values, and to the old ones
        that they are compared with.
    sample_place, refers, sample_valid, sample_state, sample
        The number of state 0 of the reference point, and whether it is this lane's. The changes of value of its states
        come as ``sample``, signed 64 bits, before ``done``.
    done, norm
        ``done`` falls in the clock behind ``go``, unless the lane has no point, and rises when everything has been
        written; ``norm`` is final then.
    retired, saturated, infeasible, other
        A state has its value. A word left its range, or a state has no choice that it can afford. In a pass that seeks,
        a peak is not the state's choice.
    fetch, bank
        To the buses, and from them.
    """

    def __init__(self, parameters: LaneParameters) -> None:
        self.parameters = parameters
        super().__init__(parameters.ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        parameters, build = self.parameters, self.parameters.build
        cells = build.grid // build.lanes * build.states
        m.submodules.wealth = wealth = Ram(WIDTH, cells, WORD_BYTES, "block" if cells >= BLOCK_DEPTH else "")
        m.submodules.value = value = Ram(WIDTH, cells, WORD_BYTES)
        m.submodules.choice = choice = Ram(build.index_bits, cells)
        m.submodules.kept = kept = Ram(KEPT_BITS, cells)
        m.submodules.check = check = Check(CheckParameters(build))
        m.submodules.walk = walk = Walk(parameters.walk)
        m.submodules.patch = patch = Patch(PatchParameters(build))
        m.submodules.expectation = expectation = Expectation(parameters.expectation)
        m.submodules.norm = norm = Norm(NormParameters())
        last_state = Signal(build.state_bits)
        m.d.sync += last_state.eq(self.states - 1)
        # How many choices have moved in this sweep, and whether this one is without a check.
        moves = Signal(build.position_bits + 1)
        restless, unchecks, unchecked = Signal(), Signal(), Signal()
        m.d.comb += [getattr(walk, name).eq(getattr(self, name)) for name in CONSTANTS]
        m.d.comb += [
            check.count.eq(self.count),
            check.last_state.eq(last_state),
            walk.points.eq(self.points),
            walk.last_state.eq(last_state),
            walk.last_index.eq(self.last_index),
            walk.part_shift.eq(self.part_shift),
            walk.restart.eq(self.go),
            patch.points.eq(self.points),
            patch.states.eq(self.states),
            patch.force.eq(self.prologue | unchecked),
            walk.force.eq(unchecked),
            walk.seek.eq(self.seek),
            walk.above.eq(self.above),
        ]
        with m.If(self.go):
            m.d.sync += [moves.eq(0), unchecked.eq(unchecks)]
        with m.Elif(walk.valid & walk.moved & ~self.cold):
            m.d.sync += moves.eq(moves + 1)
        m.d.sync += restless.eq(moves + self.count[MOST_SHIFT:] >= self.count)
        m.d.comb += unchecks.eq(~self.prologue & (self.cold | self.seek | (restless & ~self.fixed)))

        # The check's results, with their point and state.
        valid, stays, outside = Signal(), Signal(), Signal()
        position = Signal(build.position_bits)
        checked, before = Signal(signed(WIDTH), reset_less=True), Signal(signed(WIDTH), reset_less=True)
        point, state = Signal(build.point_bits), Signal(build.state_bits)
        point_ends = Signal()
        m.d.sync += [
            valid.eq(check.valid),
            stays.eq(check.stays | self.fixed),
            outside.eq(check.outside),
            position.eq(check.position),
            checked.eq(check.value),
            before.eq(check.old),
        ]
        m.d.comb += point_ends.eq(state == last_state)
        with m.If(valid):
            m.d.sync += state.eq(Mux(point_ends, 0, state + 1))
            with m.If(point_ends):
                m.d.sync += point.eq(point + 1)
        noted, any_mark, note = Signal(), Signal(), Signal()
        m.d.comb += note.eq(noted | ~stays)
        with m.If(valid):
            m.d.sync += [noted.eq(note & ~point_ends), any_mark.eq(any_mark | ~stays)]
        with m.If(self.go):
            m.d.sync += [point.eq(0), state.eq(0), noted.eq(0), any_mark.eq(0)]
        m.d.comb += [
            walk.mark_valid.eq(valid),
            walk.mark_point.eq(point),
            walk.mark_state.eq(state),
            walk.mark.eq(~stays),
            patch.clear.eq(self.go),
            patch.note_valid.eq(valid & point_ends),
            patch.note.eq(note),
        ]

        # One pass after the other.
        checking, walking, patching = Signal(), Signal(), Signal()
        settling = Signal(range(parameters.settle + 1))
        with m.If(valid | patch.valid):
            m.d.sync += settling.eq(parameters.settle)
        with m.Elif(settling != 0):
            m.d.sync += settling.eq(settling - 1)
        with m.FSM():
            with m.State("IDLE"), m.If(self.go & (self.points != 0)):
                m.d.sync += self.done.eq(0)
                with m.If(self.prologue):
                    m.d.comb += patch.start.eq(1)
                    m.d.sync += patching.eq(1)
                    m.next = "PATCH"
                with m.Elif(unchecks):
                    m.d.comb += walk.start.eq(1)
                    m.d.sync += walking.eq(1)
                    m.next = "WALK"
                with m.Else():
                    m.d.comb += check.start.eq(1)
                    m.d.sync += checking.eq(1)
                    m.next = "CHECK"
            with m.State("CHECK"), m.If(valid & (position == self.count - 1)):
                m.d.sync += checking.eq(0)
                m.next = "JUDGE"
            with m.State("JUDGE"):
                with m.If(any_mark):
                    m.d.comb += walk.start.eq(1)
                    m.d.sync += walking.eq(1)
                    m.next = "WALK"
                with m.Else():
                    m.next = "SETTLE"
            with m.State("WALK"), m.If(~walk.busy):
                m.d.sync += walking.eq(0)
                with m.If(self.seek):
                    m.next = "SETTLE"
                with m.Else():
                    m.d.comb += patch.start.eq(1)
                    m.d.sync += patching.eq(1)
                    m.next = "PATCH"
            with m.State("PATCH"), m.If(~patch.busy):
                m.d.sync += patching.eq(0)
                m.next = "SETTLE"
            with m.State("SETTLE"), m.If(settling == 0):
                m.d.sync += self.done.eq(1)
                m.next = "IDLE"

        # Every state's value comes once, from the check or from the walk. The shifts of its exogenous state are added.
        found = Signal()
        m.d.comb += found.eq(walk.valid | (valid & stays))
        of_state = Signal(build.state_bits)
        m.d.comb += of_state.eq(Mux(walk.valid, walk.state, state))
        shift_after, shift_before = (
            p.register(flat.word_select(of_state, WIDTH).as_signed(), 0)
            for flat in (self.shift_after, self.shift_before)
        )
        raw = p.register(Mux(walk.valid, walk.value, checked), 0)
        raw_before = p.register(Mux(walk.valid, walk.old, before), 0)
        after = p.total([Term(raw), Term(shift_after)], WIDTH + 1, signed=True)
        old = p.total([Term(raw_before), Term(shift_before)], WIDTH + 1, signed=True)
        assert after.time == SHIFT_CLOCKS
        new, beyond = clamped(after.value)
        old_word, old_beyond = clamped(old.value)
        place = p.delay(p.input(Mux(walk.valid, walk.position, position)), after.time).value
        written = Signal()
        m.d.comb += written.eq(p.valid(p.input(found), after.time))

        # Tables of the lane's own states.
        m.d.comb += [
            wealth.write.eq(self.wealth_write),
            wealth.write_address.eq(self.write_address),
            wealth.write_data.eq(self.data),
            wealth.read_address.eq(Mux(walking, walk.wealth_address, self.read_address)),
            walk.wealth_data.eq(wealth.read_data),
            value.read_address.eq(
                Mux(
                    checking,
                    check.old_address,
                    Mux(walking, walk.old_address, Mux(patching, patch.position, self.read_address)),
                )
            ),
            check.old_data.eq(value.read_data),
            walk.old_data.eq(value.read_data),
            choice.read_address.eq(
                Mux(checking, check.choice_address, Mux(walking, walk.choice_address, self.read_address))
            ),
            check.choice_data.eq(choice.read_data),
            walk.choice_data.eq(choice.read_data),
            walk.cold.eq(self.cold),
            walk.first_point.eq(self.first_point),
            kept.read_address.eq(check.kept_address),
            check.kept_data.eq(kept.read_data),
            choice.write.eq(walk.valid),
            choice.write_address.eq(walk.position),
            choice.write_data.eq(walk.choice),
            kept.write.eq(walk.valid),
            kept.write_address.eq(walk.position),
            kept.write_data.eq(walk.kept),
            value.write.eq(Mux(written, (1 << WORD_BYTES) - 1, self.value_write)),
            value.write_address.eq(Mux(written, place, self.write_address)),
            value.write_data.eq(Mux(written, new, self.data)),
            norm.clear.eq(self.go & ~self.seek),
            self.other.eq(walk.other),
            self.norm.eq(norm.norm),
        ]
        read = Mux(self.read_wealth, wealth.read_data, Mux(self.read_policy, choice.read_data, value.read_data))
        m.d.sync += [
            self.word.eq(read),
            norm.after.eq(new),
            norm.before.eq(old_word),
            norm.valid.eq(written),
            self.retired.eq(written),
        ]

        # The change at the reference point.
        of_point = p.register(place - p.delay(p.input(of_state), after.time).value, after.time)
        change = p.total(
            [Term(Timed(norm.after, of_point.time)), Term(Timed(norm.before, of_point.time), negative=True)], WIDTH
        )
        at_reference = p.register(of_point.value == self.sample_place, of_point.time)
        assert change.time == at_reference.time + 1
        m.d.sync += [
            self.sample_valid.eq(
                p.valid(Timed(norm.valid, of_point.time), at_reference.time) & at_reference.value & self.refers
            ),
            self.sample_state.eq(p.delay(p.input(of_state), at_reference.time).value),
        ]
        m.d.comb += self.sample.eq(change.value)

        lost = self._expect(m, patch, expectation, value.read_data, (valid, point, note), new)
        m.d.sync += [
            self.infeasible.eq(walk.valid & walk.infeasible),
            self.saturated.eq(
                (valid & stays & outside)
                | (walk.valid & walk.outside)
                | walk.over
                | (written & (beyond | old_beyond))
                | lost
            ),
        ]
        self._connect(m, check, walk, walking)
        return m

    def _expect(
        self,
        m: Module,
        patch: Patch,
        expectation: Expectation,
        read: Value,
        checked: tuple[Value, Value, Value],
        new: Value,
    ) -> Value:
        """Values to the expectation unit, and its expectations to the rows of the other half.

        ``checked`` are the check's results, ``new`` their values ``SHIFT_CLOCKS`` later. Returns whether an expectation
        saturated.
        """
        p = Pipeline(m)
        parameters, build = self.parameters, self.parameters.build
        valid, point, note = checked
        # Of a patch, as its value comes out of the memory.
        patched = p.valid(p.input(patch.valid), READ_LATENCY)
        patched_point = p.delay(p.input(patch.point[: build.point_bits]), READ_LATENCY).value
        late_valid = p.valid(p.input(valid), SHIFT_CLOCKS)
        late_point = p.delay(p.input(Cat(point, note)), SHIFT_CLOCKS).value
        point_in = Signal(build.point_bits + 1)
        m.d.sync += [
            expectation.value.eq(Mux(patched, read, new)),
            expectation.value_valid.eq(patched | late_valid),
            point_in.eq(Mux(patched, patched_point, late_point)),
        ]
        m.d.comb += [
            expectation.count.eq(self.states),
            expectation.clear.eq(self.go),
            expectation.weight_write.eq(self.weight_write),
            expectation.weight_row.eq(self.weight_row),
            expectation.weight_column.eq(self.weight_column),
            expectation.weight_data.eq(self.data),
        ]
        # The point comes with its first expectation and stays for the others. What was made of a value that is yet to
        # be found is made anew, and means nothing.
        late = p.delay(p.input(point_in), parameters.expectation.latency).value
        kept, of_point = Signal(build.point_bits + 1), Signal(build.point_bits + 1)
        m.d.comb += of_point.eq(Mux(expectation.ev_state == 0, late, kept))
        m.d.sync += kept.eq(of_point)
        row_bits = build.local_bits
        ev_write, ev_word, lost = Signal(), Signal(ROW_SHIFT), Signal()
        ev_row, ev_data = Signal(range(parameters.rows), reset_less=True), Signal(WIDTH, reset_less=True)
        m.d.sync += [
            ev_write.eq(expectation.ev_valid),
            ev_word.eq(of_point),
            ev_row.eq(Cat(of_point[ROW_SHIFT:][:row_bits], expectation.ev_state, ~self.half)),
            ev_data.eq(expectation.ev),
            lost.eq(expectation.ev_valid & expectation.saturated & ~of_point[-1]),
        ]

        # Words of the grid lie with the halves of their row exchanged: half a row of them comes with the same half of
        # the expected values.
        inner = self.bank.address[row_bits:]
        of_state, upper, of_walk = inner[: build.state_bits], inner[build.state_bits], inner[build.state_bits + 1]
        rows = []
        for high in range(2):
            of_grid = of_walk & (upper != high)
            state = Mux(of_grid, 0, of_state)
            rows.append(Cat(self.bank.address[:row_bits], state, self.half & ~of_grid, of_grid))
        hosts_row = Cat(self.write_address[ROW_SHIFT : build.point_bits], Const(0, build.state_bits + 1), Const(1, 1))
        for bank in range(ROW_WORDS):
            ram = Ram(WIDTH, parameters.rows, WORD_BYTES, "ultra" if parameters.rows > BLOCK_DEPTH else "")
            m.submodules[f"rows{bank}"] = ram
            hosts = Signal(WORD_BYTES, name=f"hosts{bank}")
            m.d.comb += [
                hosts.eq(self.x_write & (self.write_address[:ROW_SHIFT] == bank ^ HALF_WORDS).replicate(WORD_BYTES)),
                ram.write.eq(Mux(ev_write, (ev_word == bank).replicate(WORD_BYTES), hosts)),
                ram.write_address.eq(Mux(ev_write, ev_row, hosts_row)),
                ram.write_data.eq(Mux(ev_write, ev_data, self.data)),
                ram.read_address.eq(rows[bank // HALF_WORDS]),
                self.bank.data.word_select(bank, WIDTH).eq(ram.read_data),
            ]
        return lost

    def _connect(self, m: Module, check: Check, walk: Walk, walking: Value) -> None:
        """The check and the walk share the lane's port to the buses."""
        m.d.comb += [
            self.fetch.request.eq(Mux(walking, walk.fetch.request, check.fetch.request)),
            self.fetch.row.eq(Mux(walking, walk.fetch.row, check.fetch.row)),
            self.fetch.inner.eq(Mux(walking, walk.fetch.inner, check.fetch.inner)),
        ]
        for unit, active in ((check, ~walking), (walk, walking)):
            m.d.comb += [
                unit.fetch.turn.eq(self.fetch.turn),
                unit.fetch.taken.eq(self.fetch.taken & active),
                unit.fetch.valid.eq(self.fetch.valid & active),
                unit.fetch.data.eq(self.fetch.data),
            ]


class LaneInstance(wiring.Component):
    """An instance of the Verilog module of :class:`Lane`, with the same ports and ``reset``.

    A machine has up to 64 lanes; as instances they are generated once, and a simulator compiles them once.
    """

    def __init__(self, parameters: LaneParameters) -> None:
        super().__init__({**parameters.ports, "reset": In(1)})

    def elaborate(self, platform: object) -> Instance:
        ports: dict[str, Any] = {}
        for path, member, value in self.signature.flatten(self):
            if path != ("reset",):
                ports[f"{'o' if member.flow is Out else 'i'}_{'_'.join(map(str, path))}"] = value
        return Instance(MODULE, i_clk=ClockSignal(), i_rst=ResetSignal() | self.reset, **ports)
