"""The whole machine: tables, assembly line, expectation, norm and sequencer behind registers and table windows."""

from __future__ import annotations

import enum

from amaranth.hdl import Array, Cat, Const, Instance, Module, Mux, ResetInserter, Signal, Value
from amaranth.lib import wiring

from beltline.hw.arithmetic.expectation import Expectation, ExpectationParameters
from beltline.hw.arithmetic.norm import Norm, NormParameters
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.arithmetic.utility import CONSTANTS
from beltline.hw.bus.host_access import HostAccess
from beltline.hw.bus.ports import machine_ports
from beltline.hw.control.register_file import RegisterFile, asks, utility_constants
from beltline.hw.control.sequencer import Sequencer, SequencerParameters
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import IDENTITY, VERSION, Command, Engine, Interrupt, Mode, Refused, Status, Table
from beltline.hw.interface.windows import WORD_BYTES
from beltline.hw.line.fold import FoldedLine, FoldedLineParameters
from beltline.hw.line.line import Line, LineParameters
from beltline.hw.line.pacer import Pacer, PacerParameters
from beltline.hw.memory.ram import READ_LATENCY, Ram
from beltline.hw.sweep.datapath import LargestNorm, SweepDatapath
from beltline.hw.sweep.parameters import SweepParameters

BUILD_MODULE = "beltline_build"
"""Verilog module that holds the content hash of all the others."""

OLD_VALUE_CLOCKS = READ_LATENCY + 1
TABLE_READ_CLOCKS = READ_LATENCY + 2


def line_of(parameters: MachineParameters) -> LineParameters | FoldedLineParameters:
    """The line of a build, folded or not."""
    return (FoldedLineParameters if parameters.folded else LineParameters).of(parameters)


def expectation_of(parameters: MachineParameters) -> ExpectationParameters:
    """The expectation unit of a build."""
    return ExpectationParameters(parameters.states, parameters.multiplier, line_of(parameters).interval)


def pass_clocks(parameters: MachineParameters, grid: int, states: int, prologue: bool = False) -> int:
    """Clocks of a sweep (or of the prologue), ``N_k N_z + L`` of an assembly line that is not folded.

    From the first state read to the first state of the next sweep: table read; the last state's exit from the line (in
    the prologue, its entry); one register before the expectation; the expectation, and its rows but the first of the
    last point; and the turnaround.
    """
    line, expectation = line_of(parameters), expectation_of(parameters)
    count = grid * states
    last = (count - 1) * line.interval if prologue else line.last_exit(count)
    rows = (states - 1) * line.interval
    return READ_LATENCY + last + 1 + expectation.latency + rows + SequencerParameters(parameters).turnaround


def run_clocks(parameters: MachineParameters, grid: int, states: int, sweeps: int) -> int:
    """Clocks that register ``CLOCKS`` shows after a run of so many sweeps: the check, the prologue and the sweeps."""
    prologue = pass_clocks(parameters, grid, states, prologue=True)
    return SequencerParameters(parameters).check + prologue + sweeps * pass_clocks(parameters, grid, states)


class Machine(wiring.Component):
    """The accelerator of ``docs/design.md`` at its own ports, built for :class:`MachineParameters`.

    One state a clock, or with a folded line one every few: a sweep takes the clocks of :func:`pass_clocks`.

    Attributes
    ----------
    registers, tables
        :class:`beltline.hw.bus.ports.RegisterPort` and :class:`beltline.hw.bus.ports.TablePort`. A word of a table
        comes ``TABLE_READ_CLOCKS`` after it was asked for, whatever is reset meanwhile. Accesses of tables while
        ``busy`` are not for the host: writes do nothing and words that are asked for are anything.
    busy
        A run is under way; high from the clock in which the command acts.
    refused
        Bits of :class:`beltline.hw.interface.registers.Refused` to set.
    interrupt
        See :class:`beltline.hw.interface.registers.Interrupt`.
    """

    def __init__(self, parameters: MachineParameters) -> None:
        self.parameters = parameters
        super().__init__(machine_ports(parameters))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        parameters = self.parameters
        reset = Signal()
        sequencer = Sequencer(SequencerParameters(parameters))
        sweep = parameters.engine is Engine.SWEEP
        norm = LargestNorm(SweepParameters.of(parameters)) if sweep else Norm(NormParameters())
        build_hash = Signal(64)
        status = Signal(32)
        refused = Signal(len(Refused))
        m.submodules.build = Instance(BUILD_MODULE, o_hash=build_hash)
        registers = RegisterFile(
            {
                "IDENTITY": Const(IDENTITY, 32),
                "VERSION": Const(VERSION, 32),
                "BUILD_HASH": build_hash,
                "ENGINE": Const(parameters.engine, 32),
                "LANES": Const(parameters.lanes, 32),
                "FOLD": Const(parameters.fold, 32),
                "EVALUATORS": Const(1 if sweep else parameters.evaluators, 32),
                "CLOCK_HZ": Const(parameters.clock_hz, 32),
                "GRID_MAX": Const(parameters.grid, 32),
                "STATES_MAX": Const(parameters.states, 32),
                "RESULTS_MAX": Const(parameters.results, 32),
                "STATUS": status,
                "REFUSED": refused,
                "CLOCKS": sequencer.clocks,
                "SWEEPS": sequencer.sweeps,
                "STATES_DONE": sequencer.states_done,
                "NORM": norm.norm,
            }
        )
        m.submodules.registers = registers
        settings = registers.settings

        def commanded(command: Command) -> Value:
            return registers.command[int(command).bit_length() - 1]

        def flag(word: Value, bit: enum.IntFlag) -> Value:
            return word[int(bit).bit_length() - 1]

        # A command is busy at once, before the sequencer has seen it.
        run = commanded(Command.RUN) & ~reset
        m.d.comb += [
            reset.eq(commanded(Command.RESET)),
            status.eq(Mux(run, int(Status.BUSY), sequencer.status)),
            self.busy.eq(flag(status, Status.BUSY)),
            registers.address.eq(self.registers.address),
            registers.write.eq(self.registers.write),
            registers.write_data.eq(self.registers.write_data),
            self.registers.read_data.eq(registers.read_data),
            registers.locked.eq(self.busy),
            self.interrupt.eq(flag(status, Status.DONE) & flag(settings["INTERRUPT"], Interrupt.ENABLE)),
            sequencer.run.eq(run),
            sequencer.stop.eq(commanded(Command.STOP)),
            sequencer.horizon.eq(asks(settings["MODE"], Mode.HORIZON)),
            sequencer.grid.eq(settings["GRID"]),
            sequencer.states.eq(settings["STATES"]),
            sequencer.sweep_limit.eq(settings["SWEEP_LIMIT"]),
            sequencer.epsilon.eq(settings["EPSILON"]),
        ]
        m.d.sync += refused.eq(Mux(reset, 0, refused | self.refused))

        # The host's accesses, one register behind the ports. A reset of the machine is none of them: a write that was
        # taken is done, and a word that was asked for comes.
        read_clocks = SweepDatapath.read_clocks(parameters) if sweep else TABLE_READ_CLOCKS
        host = HostAccess(m, self.tables, self.busy, read_clocks)
        core = ResetInserter(reset)
        m.submodules.sequencer = core(sequencer)
        m.submodules.norm = core(norm)
        if isinstance(norm, LargestNorm):
            data = SweepDatapath(parameters, host, sequencer, norm, settings)
            m.submodules.data = core(data)
            m.d.comb += data.reset.eq(reset)
        else:
            m.submodules.data = core(_Datapath(parameters, host, sequencer, norm, settings, self.busy))
        m.d.comb += self.tables.read_data.eq(host.read_data)
        return m


class _Datapath(wiring.Component):
    """Tables, line and expectation between the sequencer's stream and the norm."""

    def __init__(
        self,
        parameters: MachineParameters,
        host: HostAccess,
        sequencer: Sequencer,
        norm: Norm,
        settings: dict[str, Signal],
        busy: Signal,
    ) -> None:
        self._parameters = parameters
        self._host = host
        self._sequencer = sequencer
        self._norm = norm
        self._settings = settings
        self._busy = busy
        super().__init__({})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        parameters, sequencer, norm, host = self._parameters, self._sequencer, self._norm, self._host
        states = parameters.states
        state_bits = max(1, (states - 1).bit_length())
        index_bits = parameters.index_bits

        m.submodules.wealth = wealth = Ram(WIDTH, parameters.grid * states, WORD_BYTES)
        m.submodules.value = value = Ram(WIDTH, parameters.results, WORD_BYTES)
        m.submodules.policy = policy = Ram(index_bits, parameters.results)
        of_line = line_of(parameters)
        line: Line | FoldedLine
        if isinstance(of_line, FoldedLineParameters):
            line = FoldedLine(of_line)
            m.submodules.line = ResetInserter(sequencer.begin)(line)
            pacer = Pacer(PacerParameters(of_line.round_states, of_line.round_clocks, of_line.interval))
            m.submodules.pacer = ResetInserter(sequencer.begin)(pacer)
            m.d.comb += [
                pacer.stream.eq(sequencer.stream),
                pacer.prologue.eq(sequencer.prologue),
                sequencer.take.eq(pacer.take),
                line.in_live.eq(p.valid(p.input(sequencer.stream & pacer.enter), READ_LATENCY)),
            ]
            entering = pacer.enter
        else:
            m.submodules.line = line = Line(of_line)
            m.d.comb += sequencer.take.eq(1)
            entering = sequencer.stream & ~sequencer.prologue
        m.submodules.expectation = expectation = Expectation(expectation_of(parameters))
        constants = utility_constants(self._settings)
        m.d.comb += [getattr(line, name).eq(constants[name]) for name in CONSTANTS]
        m.d.comb += [line.half.eq(sequencer.half), expectation.clear.eq(sequencer.begin)]
        m.d.comb += expectation.count.eq(self._settings["STATES"])

        row = Array(Const(k // states, state_bits) for k in range(states * states))[host.write_address]
        column = Array(Const(k % states, state_bits) for k in range(states * states))[host.write_address]
        m.d.comb += [
            line.x_write.eq(host.writes(m, Table.X)),
            line.x_write_index.eq(host.write_address),
            line.x_write_data.eq(host.write_data),
            expectation.weight_write.eq(host.writes(m, Table.Q)),
            expectation.weight_row.eq(row),
            expectation.weight_column.eq(column),
            expectation.weight_data.eq(host.write_data),
            wealth.write.eq(host.writes(m, Table.W)),
            wealth.write_address.eq(host.write_address),
            wealth.write_data.eq(host.write_data),
        ]

        # The stream: wealth into the line, or in the prologue the start value into the expectation.
        position = sequencer.position
        streamed = p.valid(p.input(sequencer.stream & sequencer.take), READ_LATENCY)
        prologue = sequencer.prologue
        m.d.comb += [
            wealth.read_address.eq(Mux(self._busy, position, host.read_address)),
            line.in_valid.eq(p.valid(p.input(entering), READ_LATENCY)),
            line.in_wealth.eq(wealth.read_data),
            line.in_state.eq(p.delay(p.input(sequencer.state), READ_LATENCY).value),
        ]
        m.d.sync += [
            expectation.value.eq(Mux(prologue, value.read_data, line.value)),
            expectation.value_valid.eq(Mux(prologue, streamed, line.out_valid)),
        ]

        # Results: the old value is read, then the new one is written over it or into its own slot.
        word_bits = (parameters.results - 1).bit_length() or 1
        old_place = Signal(word_bits)
        new_place = Signal(word_bits)
        kept = asks(self._settings["MODE"], Mode.HORIZON) & ~sequencer.first_sweep
        with m.If(line.out_valid):
            m.d.sync += [old_place.eq(old_place + 1), new_place.eq(new_place + 1)]
        with m.If(sequencer.begin):
            with m.If(~kept):
                m.d.sync += new_place.eq(0)
            with m.If(~kept | sequencer.second_sweep):
                m.d.sync += old_place.eq(0)
        value_address = Signal(word_bits, reset_less=True)
        m.d.sync += value_address.eq(Mux(self._busy, old_place, host.read_address))
        in_prologue = self._busy & prologue
        # The host's last write is still to be done in the first clock of a run; results come much later.
        value_write = host.writes(m, Table.V)
        hosts = value_write.any()
        result = p.input(Cat(line.value, line.index, new_place))
        late = p.delay(result, OLD_VALUE_CLOCKS).value
        late_value = late[:WIDTH].as_signed()
        late_valid = p.valid(p.input(line.out_valid), OLD_VALUE_CLOCKS)
        m.d.comb += [
            value.read_address.eq(Mux(in_prologue, position, value_address)),
            value.write.eq(value_write | late_valid.replicate(WORD_BYTES)),
            value.write_address.eq(Mux(hosts, host.write_address, late[WIDTH + index_bits :])),
            value.write_data.eq(Mux(hosts, host.write_data, late_value)),
            policy.read_address.eq(value_address),
            policy.write.eq(late_valid),
            policy.write_address.eq(late[WIDTH + index_bits :]),
            policy.write_data.eq(late[WIDTH : WIDTH + index_bits]),
            norm.after.eq(late_value),
            norm.before.eq(value.read_data),
            norm.valid.eq(late_valid),
            norm.clear.eq(sequencer.begin),
        ]
        m.d.comb += [
            sequencer.norm.eq(norm.norm),
            sequencer.retired.eq(late_valid),
            sequencer.infeasible.eq(line.infeasible),
            sequencer.saturated.eq(line.saturated | line.over | expectation.saturated),
        ]

        # Expectations go to every stage; the last one ends the pass.
        ev_index = Signal(index_bits)
        last_state = Signal(state_bits)
        last_index = Signal(index_bits)
        m.d.sync += [last_state.eq(self._settings["STATES"] - 1), last_index.eq(self._settings["GRID"] - 1)]
        point_done = expectation.ev_valid & (expectation.ev_state == last_state)
        with m.If(point_done):
            m.d.sync += ev_index.eq(ev_index + 1)
        with m.If(sequencer.begin):
            m.d.sync += ev_index.eq(0)
        m.d.comb += sequencer.pass_done.eq(point_done & (ev_index == last_index))
        m.d.sync += [
            line.ev_write.eq(expectation.ev_valid),
            line.ev_write_index.eq(ev_index),
            line.ev_write_state.eq(expectation.ev_state),
            line.ev_write_data.eq(expectation.ev),
        ]

        # Read back.
        reading = p.delay(p.input(host.read_table, 1), TABLE_READ_CLOCKS - 1).value
        wealth_word = p.delay(p.input(wealth.read_data), TABLE_READ_CLOCKS - READ_LATENCY - 1).value
        with m.Switch(reading):
            with m.Case(Table.W):
                m.d.comb += host.read_data.eq(wealth_word)
            with m.Case(Table.V):
                m.d.comb += host.read_data.eq(value.read_data)
            with m.Case(Table.POLICY):
                m.d.comb += host.read_data.eq(policy.read_data)
        return m
