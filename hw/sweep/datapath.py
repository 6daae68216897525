"""Datapath of the sweep engine: connects lanes to sequencer, row buses, shifts, norm and the host's accesses."""

from __future__ import annotations

import functools
import operator
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring

from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.arithmetic.utility import constant_ports
from beltline.hw.control.datapath import Datapath
from beltline.hw.control.register_file import has_flag, utility_constants
from beltline.hw.interface.parameters import ROW_WORDS, MachineParameters
from beltline.hw.interface.registers import STEPS_FIELD, Mode, Table
from beltline.hw.interface.windows import WORD_BYTES
from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.group_table import GroupTable
from beltline.hw.sweep.intervals import Intervals
from beltline.hw.sweep.lane.instance import LaneInstance
from beltline.hw.sweep.lane.parameters import LaneParameters
from beltline.hw.sweep.parameters import ROW_SHIFT, SHARED_STATES, SweepParameters
from beltline.hw.sweep.row_buses import RowBuses, RowBusesParameters
from beltline.hw.sweep.scan.rounds import Rounds
from beltline.hw.sweep.shift import Shift, ShiftParameters, connect_samples
from beltline.hw.sweep.trees import FAN, LargestNorm, all_of, any_of, join_clocks, joined

ROUND_BEGINS = 2
"""Clocks from the decision on a round of a proof to its beginning in the lanes."""


class SweepDatapath(Datapath):
    """Executes the sequencer's passes (prologue and sweeps) with all lanes of a sweep engine.

    Ports: :class:`beltline.hw.control.datapath.DatapathSignature`. Of these, ``take`` is always high, and inputs
    ``stream``, ``position`` and ``state`` are ignored. A table window of the host consists of the lanes' memories, in
    order (``docs/registers.md``). ``reset`` is passed on to the lanes, which are separate modules.

    Clocks of a pass: :func:`beltline.hw.sweep.clocks.pass_clocks`.

    Parameters
    ----------
    parameters
        The build, whose engine is the sweep engine.
    """

    def __init__(self, parameters: MachineParameters) -> None:
        self._build = SweepParameters.of(parameters)
        super().__init__(parameters, 2 + READ_LATENCY + 1 + -(-self._build.lane_bits // 2))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        build = self._build
        lanes = [LaneInstance(LaneParameters(build)) for _ in range(build.lanes)]
        for number, lane in enumerate(lanes):
            m.submodules[f"lane{number}"] = lane
        m.submodules.buses = buses = RowBuses(RowBusesParameters(build, build.inner_bits))
        if build.general:
            m.submodules.groups = self._groups = GroupTable(build)
        else:
            m.submodules.shift = self._shift = Shift(ShiftParameters(build))
            m.submodules.intervals = self._intervals = Intervals()
            connect_samples(m, p, lanes, self._shift)
        m.submodules.norm = norm = LargestNorm(build)
        self._evaluates, self._plain_after = Signal(), Signal(init=1)
        self._point_shift = Signal(range(build.point_bits + 1))
        # Tables stay where a run is broken off.
        self._values = Signal(reset_less=True)
        if build.general:
            self._last_lane = Signal(build.lane_bits)
        self._problem(m, lanes, buses)
        self._accesses(m, p, lanes)
        begin, prologue, cold, half = (Signal(name=name) for name in ("begins", "prologue", "cold", "half"))
        go = Signal()
        m.d.sync += [
            go.eq(self.begin),
            prologue.eq(self.prologue),
            cold.eq(self.first_sweep),
            half.eq(self.half),
        ]
        # The sequencer gives the kind of a pass one clock after `begin`.
        m.d.sync += begin.eq(go)
        restart = begin | self._proof(m, p, lanes)
        m.d.comb += buses.restart.eq(restart)
        for number, lane in enumerate(lanes):
            wiring.connect(m, lane.fetch, buses.lanes[number])
            wiring.connect(m, buses.banks[number], lane.bank)
            m.d.comb += [
                lane.reset.eq(self.reset),
                lane.go.eq(begin),
                lane.prologue.eq(prologue),
                lane.cold.eq(cold),
                lane.half.eq(half),
                lane.fixed.eq(self._evaluates),
                *self._added(lane),
                norm.norms[number].eq(lane.norm),
            ]

        # A pass has ended when all lanes are done. By then the norm is known to be below epsilon or not, and a clock
        # later, when the sequencer decides, it has the flags of the last words, too.
        clocks = join_clocks(build)
        done = joined(p, [lane.done for lane in lanes], all_of, clocks)
        guard = 6 + clocks  # More than the registers from `begin` to the lanes and back.
        wait = Signal(range(guard + 1))
        ended = Signal()
        m.d.comb += ended.eq(done & (wait == 0))
        with m.If(self.begin):
            m.d.sync += wait.eq(guard)
        with m.Elif(wait != 0):
            m.d.sync += wait.eq(wait - 1)
        if build.general:
            self._one_kind(m, ended)
        else:
            self._kinds(m, ended)

        retired = [lane.retired for lane in lanes]
        while len(retired) > 1:
            retired = [
                p.register(sum(retired[k : k + FAN], start=Value.cast(0))[: build.lane_bits + 1], 0).value
                for k in range(0, len(retired), FAN)
            ]
        m.d.comb += [
            self.take.eq(1),
            norm.epsilon.eq(self.settings.epsilon),
            self.norm.eq(norm.norm),
            self.below.eq(norm.below),
            self.retired.eq(retired[0]),
            self.infeasible.eq(joined(p, [lane.infeasible for lane in lanes], any_of, clocks)),
            self.saturated.eq(joined(p, [lane.saturated for lane in lanes], any_of, clocks)),
        ]
        return m

    def _proof(self, m: Module, p: Pipeline, lanes: list[LaneInstance]) -> Value:
        """Add the control of proofs, and connect it to the lanes; returns the strobe that begins a round in the lanes.

        Connects also which of the two copies of the values a sweep reads.
        """
        clocks = join_clocks(self._build)
        m.submodules.rounds = rounds = Rounds(ROUND_BEGINS + clocks, self._build.general)
        m.d.comb += [
            # The sequencer gives the kind of a pass one clock after `begin`.
            rounds.begin.eq(p.valid(p.input(self.begin), 1)),
            rounds.proves.eq(~self.prologue & ~self._evaluates),
            self.proven.eq(rounds.proven),
        ]
        begins, ends = (p.valid(p.input(flag), ROUND_BEGINS) for flag in (rounds.go, rounds.finish))
        stored = Signal()
        m.d.sync += stored.eq(has_flag(self.settings.mode, Mode.CHOICES))
        for number, lane in enumerate(lanes):
            m.d.comb += [
                lane.round.eq(begins),
                lane.finish.eq(ends),
                lane.divide.eq(rounds.divide),
                lane.odd.eq(rounds.odd),
                lane.stored.eq(stored),
                lane.values.eq(self._values),
                lane.point_shift.eq(self._point_shift),
                # A lane at an end of the grid ignores the input from the lane beyond that end.
                lane.lower_last.eq(lanes[number - 1].last),
                lane.upper_first.eq(lanes[(number + 1) % len(lanes)].first),
            ]
        m.d.comb += [
            rounds.met.eq(joined(p, [lane.met for lane in lanes], all_of, clocks)),
            rounds.moved.eq(joined(p, [lane.better for lane in lanes], any_of, clocks)),
            rounds.crossed.eq(joined(p, [lane.crossed for lane in lanes], any_of, clocks)),
        ]
        if self._build.general:
            self._share(m, p, lanes, rounds, begins)
        else:
            m.d.comb += [rounds.skips.eq(~self._intervals.proves), self._intervals.moved.eq(rounds.repaired)]
        return begins

    def _share(self, m: Module, p: Pipeline, lanes: list[LaneInstance], rounds: Rounds, begins: Value) -> None:
        """Pass the brackets at the ends of the grid from their lanes to all lanes with points, in turn."""
        build = self._build
        # The last lane with points, and whether there are enough of them.
        last = self._last_lane
        shares = Signal()
        m.d.sync += shares.eq((last != 0) & (self.settings.states <= SHARED_STATES * (last + 1)))
        m.d.comb += rounds.share.eq(shares)
        words = [Cat(lane.sent, lane.sent_bracket) for lane in lanes]
        either = joined(p, words, lambda group: functools.reduce(operator.or_, group), join_clocks(build))
        target = Signal(build.lane_bits)
        with m.If(begins):
            m.d.sync += target.eq(0)
        with m.Elif(either[0]):
            m.d.sync += target.eq(Mux(target == last, 0, target + 1))
        bracket = p.register(either[1:], 0).value
        for number, lane in enumerate(lanes):
            m.d.comb += [
                lane.sharing.eq(rounds.sharing),
                lane.confirmed.eq(rounds.confirmed),
                lane.given.eq(p.register(either[0] & (target == number), 0).value),
                lane.given_bracket.eq(bracket),
            ]

    def _kinds(self, m: Module, ended: Value) -> None:
        """Control the kinds of the sweeps, and their shifts.

        Plain sweeps, that maximise and are not shifted, are the first sweep, the last one before the limit, and those
        after a sweep whose norm is below ``EPSILON``; these are always proven.
        """
        settings, shift, intervals = self.settings, self._shift, self._intervals
        mode = settings.mode
        wanted = mode[STEPS_FIELD]
        shifts = has_flag(mode, Mode.SHIFT)
        evaluates, plain, left = self._evaluates, Signal(init=1), Signal(8)
        last = Signal()
        m.d.sync += last.eq(self.sweeps + 2 == settings.sweep_limit)
        next_plain, next_evaluates, next_left = Signal(), Signal(), Signal(8)
        m.d.comb += [
            self.plain.eq(plain),
            next_plain.eq(self.prologue | self.below | last),
            next_left.eq(Mux(evaluates, left - 1, wanted)),
            next_evaluates.eq(~next_plain & (next_left != 0)),
            shift.states.eq(settings.states),
            intervals.sparse.eq(has_flag(mode, Mode.SPARSE) & ~has_flag(mode, Mode.HORIZON)),
            intervals.prologue.eq(self.prologue),
            intervals.evaluates.eq(evaluates),
            intervals.may_end.eq(next_plain),
        ]
        with m.FSM():
            with m.State("IDLE"), m.If(self.begin):
                m.next = "PASS"
            with m.State("PASS"), m.If(ended):
                m.d.sync += [evaluates.eq(next_evaluates), left.eq(next_left)]
                # `plain` still describes the sweep that ends, until the sequencer has decided on it.
                m.d.comb += intervals.ended.eq(1)
                m.d.sync += self._plain_after.eq((next_plain | ~(next_evaluates | shifts)) & intervals.next_proves)
                with m.If(next_plain | ~shifts):
                    m.d.comb += shift.clear.eq(1)
                    self._finish(m)
                with m.Else():
                    m.d.comb += shift.start.eq(1)
                    m.next = "SHIFT"
            with m.State("SHIFT"), m.If(~shift.busy):
                self._finish(m)
        with m.If(self.begin):
            m.d.sync += plain.eq(self._plain_after)

    def _added(self, lane: LaneInstance) -> list[Any]:
        """Return assignments to a lane's ports of shifts, or of ``kappa``, and the marks and candidates of groups."""
        if not self._build.general:
            return [lane.shift_before.eq(self._shift.before), lane.shift_after.eq(self._shift.after)]
        marks = (getattr(lane, name).eq(getattr(self._groups, name)) for name in self._groups.names)
        return [lane.shift_after.eq(self._groups.kappa), *marks]

    def _one_kind(self, m: Module, ended: Value) -> None:
        """Control the sweeps of a build without shifts, all of which maximise.

        They take as many clocks as the sweeps without a shift of other builds.
        """
        with m.FSM():
            with m.State("IDLE"), m.If(self.begin):
                m.next = "PASS"
            with m.State("PASS"), m.If(ended):
                self._finish(m)

    def _finish(self, m: Module) -> None:
        """Report the end of a pass to the sequencer, in the present state of an FSM."""
        m.d.comb += self.pass_done.eq(1)
        with m.If(~self.prologue):
            m.d.sync += self._values.eq(~self._values)
        m.next = "IDLE"

    def _problem(self, m: Module, lanes: list[LaneInstance], buses: RowBuses) -> None:
        """Give every lane the sizes and constants of the problem, which do not change during a run."""
        build, settings = self._build, self.settings
        grid, states = settings.grid[: build.index_bits + 1], settings.states[: build.count_bits]
        # Each lane has `2**shift` rows.
        shift = Signal(range(build.local_bits + 1))
        least = ROW_WORDS * build.lanes
        m.d.sync += shift.eq(sum((grid > least << k for k in range(build.local_bits)), start=Value.cast(0)))
        point_shift = self._point_shift
        part_shift = Signal(range(build.point_bits + 1))
        part_bits = LaneParameters(build).search.part_bits
        whole, rest = Signal(build.lane_bits + 1), Signal(build.point_bits + 1)
        full = Signal(build.point_bits + 1)
        m.d.sync += [
            point_shift.eq(shift + ROW_SHIFT),
            part_shift.eq(Mux(point_shift > part_bits, point_shift - part_bits, 0)),
            full.eq(1 << point_shift),
            whole.eq(grid >> point_shift),
            rest.eq(grid & (full - 1)),
        ]
        full_count, rest_count = Signal(build.position_bits + 1), Signal(build.position_bits + 1)
        m.d.sync += [full_count.eq(full * states), rest_count.eq(rest * states)]
        # Shifts are computed from the changes at the middle point of the grid.
        middle, reference = Signal(build.point_bits), Signal(build.position_bits)
        of_middle = Signal(build.lane_bits + 1)
        half = grid >> 1
        m.d.sync += [middle.eq(half & (full - 1)), of_middle.eq(half >> point_shift), reference.eq(middle * states)]
        last_index = Signal(build.index_bits)
        m.d.sync += last_index.eq(grid - 1)
        if build.general:
            m.d.sync += self._last_lane.eq(last_index >> point_shift)
        m.d.comb += buses.shift.eq(shift)
        constants = utility_constants(settings)
        for number, lane in enumerate(lanes):
            # Two multipliers serve all lanes, because a lane has all its points, the rest of the grid, or none.
            is_full, has_rest = number < whole, number == whole
            m.d.sync += [
                lane.points.eq(Mux(is_full, full, Mux(has_rest, rest, 0))),
                lane.count.eq(Mux(is_full, full_count, Mux(has_rest, rest_count, 0))),
                lane.has_reference.eq(of_middle == number),
                lane.first_point.eq(Const(number, max(1, build.lane_bits)) << point_shift),
            ]
            m.d.comb += [
                lane.states.eq(states),
                lane.last_index.eq(last_index),
                lane.sample_place.eq(reference),
                lane.part_shift.eq(part_shift),
                *(getattr(lane, name).eq(constants[name]) for name in constant_ports(build.general)),
            ]

    def _accesses(self, m: Module, p: Pipeline, lanes: list[LaneInstance]) -> None:
        """Connect the host's accesses: writes through a register for each lane, reads through a tree of registers."""
        build, tables = self._build, self.tables
        state_bits = (build.states - 1).bit_length()
        # These registers have no reset, so that a write that was accepted is always carried out. The second matrix of
        # window `Q`, weights of shifts or groups, follows the first.
        q_hit, of_shift = self.writes(m, Table.Q), tables.write_address[2 * state_bits]
        q_write = p.register(q_hit & (~of_shift).replicate(WORD_BYTES), 0)
        shift_write = p.register(q_hit & of_shift.replicate(WORD_BYTES), 0)
        q_address = p.register(tables.write_address, 0).value
        second: Shift | GroupTable = self._groups if build.general else self._shift
        if build.general:
            m.d.comb += self._groups.write.eq(shift_write.value)
        else:
            m.d.comb += [self._shift.q_write.eq(q_write.value), self._shift.weight_write.eq(shift_write.value)]
        m.d.comb += [
            second.column.eq(q_address[:state_bits]),
            second.row.eq(q_address[state_bits : 2 * state_bits]),
            second.data.eq(p.register(tables.write_data, 0).value),
        ]
        of_states = {Table.W: ("wealth_write", build.position_bits), Table.V: ("value_write", build.position_bits)}
        own = {Table.X: ("x_write", build.point_bits + build.cost_bits)} | of_states
        for number, lane in enumerate(lanes):
            for table, (name, bits) in own.items():
                hit = tables.write_address[bits : bits + build.lane_bits] == number
                strobes = self.writes(m, table) & hit.replicate(WORD_BYTES)
                if build.general and table is Table.X:
                    # The second half of window `X` is the table of bounds, in the order of `W`.
                    bounds = tables.write_address[build.position_bits + build.lane_bits :].any().replicate(WORD_BYTES)
                    m.d.comb += lane.bounds_write.eq(p.register(strobes & bounds, 0).value)
                    strobes = strobes & ~bounds
                m.d.comb += getattr(lane, name).eq(p.register(strobes, 0).value)
            address = p.register(tables.write_address, 0).value
            m.d.comb += [
                lane.weight_write.eq(q_write.value),
                lane.weight_column.eq(address[:state_bits]),
                lane.weight_row.eq(address[state_bits : 2 * state_bits]),
                lane.write_address.eq(address),
                lane.read_address.eq(p.register(tables.read_address, 0).value),
                lane.data.eq(p.register(tables.write_data, 0).value),
            ]
        # Table and lane of a read select the word that returns for its address.
        asked = p.delay(p.input(tables.read_table), 1 + READ_LATENCY)
        for lane in lanes:
            m.d.comb += [lane.read_wealth.eq(asked.value == Table.W), lane.read_policy.eq(asked.value == Table.POLICY)]
        number_read = p.input(tables.read_address[build.position_bits :][: build.lane_bits])
        words, time = [lane.word for lane in lanes], asked.time + 1
        for low in range(0, build.lane_bits, 2):
            digit = p.delay(number_read, time).value[low : low + 2]
            words = [
                p.register(Cat(*words[k : k + 4]).word_select(digit, WIDTH), 0).value for k in range(0, len(words), 4)
            ]
            time += 1
        m.d.comb += tables.read_data.eq(words[0])
