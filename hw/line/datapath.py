"""Datapath of the engine *assembly line*: tables, line, expectation unit and norm."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Array, Cat, Const, Module, Mux, ResetInserter, Signal, Value

from beltline.hw.arithmetic.expectation import Expectation
from beltline.hw.arithmetic.norm import Norm, NormParameters
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.arithmetic.utility import CONSTANTS
from beltline.hw.control.datapath import Datapath
from beltline.hw.control.register_file import has_flag, utility_constants
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Mode, Table
from beltline.hw.interface.windows import WORD_BYTES
from beltline.hw.line.clocks import expectation_of, line_of
from beltline.hw.line.fold import FoldedLine, FoldedLineParameters
from beltline.hw.line.line import Line
from beltline.hw.line.pacer import Pacer, PacerParameters
from beltline.hw.memory.ram import READ_LATENCY, Ram

OLD_VALUE_CLOCKS = READ_LATENCY + 1
"""Clocks from a result of the line until the old value of its state has been read and the new one is written."""

TABLE_READ_CLOCKS = READ_LATENCY + 2
"""Clocks from a read at the machine's table port to its word."""


@dataclass(frozen=True)
class _Units:
    """The units of a datapath."""

    wealth: Ram
    value: Ram
    policy: Ram
    line: Line | FoldedLine
    expectation: Expectation
    norm: Norm


class LineDatapath(Datapath):
    """Datapath of the assembly line; its ports are :class:`beltline.hw.control.datapath.DatapathSignature`.

    A state is read in every clock with ``stream`` and ``take``. In a sweep its wealth goes to the line; the value of
    the best candidate goes to the expectation unit and, ``OLD_VALUE_CLOCKS`` clocks after it left the line, is written
    to the value memory and enters the norm, with ``retired`` high. In the prologue the start value of the state goes to
    the expectation unit. The expectations are written to the stages for the next sweep; ``pass_done`` is high with the
    last one.

    Throughput: one state in every clock; fewer where the line is folded, which then controls ``take``. Clocks of a
    pass: :func:`beltline.hw.line.clocks.pass_clocks`. Latency of a table read of the host: ``TABLE_READ_CLOCKS`` clocks
    from the machine's port.

    Parameters
    ----------
    parameters
        The build.
    """

    def __init__(self, parameters: MachineParameters) -> None:
        super().__init__(parameters, TABLE_READ_CLOCKS)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        parameters = self.parameters
        wealth = Ram(WIDTH, parameters.grid * parameters.states, WORD_BYTES)
        value = Ram(WIDTH, parameters.results, WORD_BYTES)
        policy = Ram(parameters.index_bits, parameters.results)
        m.submodules.wealth, m.submodules.value, m.submodules.policy = wealth, value, policy
        m.submodules.norm = norm = Norm(NormParameters())
        line, entering = self._line(m, p)
        m.submodules.expectation = expectation = Expectation(expectation_of(parameters))
        units = _Units(wealth, value, policy, line, expectation, norm)
        self._problem(m, units)
        self._stream(m, p, units, entering)
        self._results(m, p, units)
        self._expectations(m, units)
        self._read_back(m, p, units)
        m.d.comb += [
            self.norm.eq(norm.norm),
            self.infeasible.eq(line.infeasible),
            self.saturated.eq(line.saturated | line.over | expectation.saturated),
        ]
        return m

    def _line(self, m: Module, p: Pipeline) -> tuple[Line | FoldedLine, Value]:
        """Add the line; returns it and the flag of clocks in which a state, or a gap of a round, is read for it."""
        of_line = line_of(self.parameters)
        if not isinstance(of_line, FoldedLineParameters):
            m.submodules.line = line = Line(of_line)
            m.d.comb += self.take.eq(1)
            return line, self.stream & ~self.prologue
        folded = FoldedLine(of_line)
        m.submodules.line = ResetInserter(self.begin)(folded)
        pacer = Pacer(PacerParameters(of_line.round_states, of_line.round_clocks, of_line.interval))
        m.submodules.pacer = ResetInserter(self.begin)(pacer)
        m.d.comb += [
            pacer.stream.eq(self.stream),
            pacer.prologue.eq(self.prologue),
            self.take.eq(pacer.take),
            folded.in_live.eq(p.valid(p.input(self.stream & pacer.enter), READ_LATENCY)),
        ]
        return folded, pacer.enter

    def _problem(self, m: Module, units: _Units) -> None:
        """Connect constants and the host's table writes."""
        line, expectation, wealth, tables = units.line, units.expectation, units.wealth, self.tables
        constants = utility_constants(self.settings)
        m.d.comb += [getattr(line, name).eq(constants[name]) for name in CONSTANTS]
        m.d.comb += [line.half.eq(self.half), expectation.clear.eq(self.begin)]
        m.d.comb += expectation.count.eq(self.settings.states)

        states = self.parameters.states
        state_bits = max(1, (states - 1).bit_length())
        row = Array(Const(k // states, state_bits) for k in range(states * states))[tables.write_address]
        column = Array(Const(k % states, state_bits) for k in range(states * states))[tables.write_address]
        m.d.comb += [
            line.x_write.eq(self.writes(m, Table.X)),
            line.x_write_index.eq(tables.write_address),
            line.x_write_data.eq(tables.write_data),
            expectation.weight_write.eq(self.writes(m, Table.Q)),
            expectation.weight_row.eq(row),
            expectation.weight_column.eq(column),
            expectation.weight_data.eq(tables.write_data),
            wealth.write.eq(self.writes(m, Table.W)),
            wealth.write_address.eq(tables.write_address),
            wealth.write_data.eq(tables.write_data),
        ]

    def _stream(self, m: Module, p: Pipeline, units: _Units, entering: Value) -> None:
        """Connect the stream of states: wealth to the line, or in the prologue start values to the expectation unit."""
        line, expectation, wealth, value = units.line, units.expectation, units.wealth, units.value
        streamed = p.valid(p.input(self.stream & self.take), READ_LATENCY)
        m.d.comb += [
            wealth.read_address.eq(Mux(self.busy, self.position, self.tables.read_address)),
            line.in_valid.eq(p.valid(p.input(entering), READ_LATENCY)),
            line.in_wealth.eq(wealth.read_data),
            line.in_state.eq(p.delay(p.input(self.state), READ_LATENCY).value),
        ]
        m.d.sync += [
            expectation.value.eq(Mux(self.prologue, value.read_data, line.value)),
            expectation.value_valid.eq(Mux(self.prologue, streamed, line.out_valid)),
        ]

    def _results(self, m: Module, p: Pipeline, units: _Units) -> None:
        """Write results: read the old value, then write the new one in its place, or in a horizon to the next slot."""
        line, value, policy, norm, tables = units.line, units.value, units.policy, units.norm, self.tables
        index_bits = self.parameters.index_bits
        word_bits = (self.parameters.results - 1).bit_length() or 1
        old_place = Signal(word_bits)
        new_place = Signal(word_bits)
        # In a horizon all ages are stored: a slot follows the one of the sweep before.
        next_slot = has_flag(self.settings.mode, Mode.HORIZON) & ~self.first_sweep
        with m.If(line.out_valid):
            m.d.sync += [old_place.eq(old_place + 1), new_place.eq(new_place + 1)]
        with m.If(self.begin):
            with m.If(~next_slot):
                m.d.sync += new_place.eq(0)
            with m.If(~next_slot | self.second_sweep):
                m.d.sync += old_place.eq(0)
        value_address = Signal(word_bits, reset_less=True)
        m.d.sync += value_address.eq(Mux(self.busy, old_place, tables.read_address))
        in_prologue = self.busy & self.prologue
        # The host's last write arrives in the first clock of a run; results come much later, so they do not collide.
        value_write = self.writes(m, Table.V)
        hosts = value_write.any()
        result = p.input(Cat(line.value, line.index, new_place))
        late = p.delay(result, OLD_VALUE_CLOCKS).value
        late_value = late[:WIDTH].as_signed()
        late_valid = p.valid(p.input(line.out_valid), OLD_VALUE_CLOCKS)
        m.d.comb += [
            value.read_address.eq(Mux(in_prologue, self.position, value_address)),
            value.write.eq(value_write | late_valid.replicate(WORD_BYTES)),
            value.write_address.eq(Mux(hosts, tables.write_address, late[WIDTH + index_bits :])),
            value.write_data.eq(Mux(hosts, tables.write_data, late_value)),
            policy.read_address.eq(value_address),
            policy.write.eq(late_valid),
            policy.write_address.eq(late[WIDTH + index_bits :]),
            policy.write_data.eq(late[WIDTH : WIDTH + index_bits]),
            norm.after.eq(late_value),
            norm.before.eq(value.read_data),
            norm.valid.eq(late_valid),
            norm.clear.eq(self.begin),
            self.retired.eq(late_valid),
        ]

    def _expectations(self, m: Module, units: _Units) -> None:
        """Connect the expectations to all stages; the last one ends the pass."""
        line, expectation = units.line, units.expectation
        ev_index = Signal(self.parameters.index_bits)
        last_state = Signal.like(expectation.ev_state)
        last_index = Signal(self.parameters.index_bits)
        m.d.sync += [last_state.eq(self.settings.states - 1), last_index.eq(self.settings.grid - 1)]
        point_done = expectation.ev_valid & (expectation.ev_state == last_state)
        with m.If(point_done):
            m.d.sync += ev_index.eq(ev_index + 1)
        with m.If(self.begin):
            m.d.sync += ev_index.eq(0)
        m.d.comb += self.pass_done.eq(point_done & (ev_index == last_index))
        m.d.sync += [
            line.ev_write.eq(expectation.ev_valid),
            line.ev_write_index.eq(ev_index),
            line.ev_write_state.eq(expectation.ev_state),
            line.ev_write_data.eq(expectation.ev),
        ]

    def _read_back(self, m: Module, p: Pipeline, units: _Units) -> None:
        """Connect the host's table reads."""
        tables = self.tables
        reading = p.delay(p.input(tables.read_table, 1), TABLE_READ_CLOCKS - 1).value
        wealth_word = p.delay(p.input(units.wealth.read_data), TABLE_READ_CLOCKS - READ_LATENCY - 1).value
        with m.Switch(reading):
            with m.Case(Table.W):
                m.d.comb += tables.read_data.eq(wealth_word)
            with m.Case(Table.V):
                m.d.comb += tables.read_data.eq(units.value.read_data)
            with m.Case(Table.POLICY):
                m.d.comb += tables.read_data.eq(units.policy.read_data)
