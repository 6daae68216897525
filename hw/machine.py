"""The whole machine: tables, assembly line, expectation, norm and sequencer behind registers and table windows."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Const, Instance, Module, Mux, ResetInserter, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .expectation import Expectation, ExpectationParameters
from .line import Line, LineParameters
from .norm import Norm, NormParameters
from .numbers import WIDTH
from .parameters import MachineParameters
from .pipeline import Pipeline
from .ram import READ_LATENCY, Ram
from .register_file import RegisterFile, horizon
from .registers import IDENTITY, VERSION, Command, Status, Table
from .sequencer import Sequencer, SequencerParameters
from .utility import CONSTANTS

MODULE = "beltline"
BUILD_MODULE = "beltline_build"
"""Verilog module that holds the content hash of all the others."""

OLD_VALUE_CLOCKS = READ_LATENCY + 1
TABLE_READ_CLOCKS = READ_LATENCY + 2
TABLE_ADDRESS_BITS = 24


def pass_overhead(parameters: MachineParameters, states: int, prologue: bool = False) -> int:
    """Clocks of a sweep (or of the prologue) beyond one for each state: the ``L`` of ``N_k N_z + L``.

    From the first state read to the first state of the next sweep: table read, assembly line (no part of the
    prologue), one register before the expectation, the expectation, its rows but the first of the last point, and the
    turnaround; less one, as the first state is among the ``N_k N_z``.
    """
    line = 0 if prologue else LineParameters.of(parameters).latency
    expectation = ExpectationParameters(parameters.states).latency
    return READ_LATENCY + line + 1 + expectation + states - 1 + SequencerParameters(parameters).turnaround - 1


def run_clocks(parameters: MachineParameters, grid: int, states: int, sweeps: int) -> int:
    """Clocks that register ``CLOCKS`` shows after a run of so many sweeps: the check, the prologue and the sweeps."""
    work = grid * states
    prologue = work + pass_overhead(parameters, states, prologue=True)
    return SequencerParameters(parameters).check + prologue + sweeps * (work + pass_overhead(parameters, states))


class Machine(wiring.Component):
    """The accelerator of ``docs/design.md``, built for :class:`MachineParameters`.

    One state a clock: a sweep takes ``N_k N_z + L`` clocks, ``L`` of :func:`pass_overhead`. Its ports are those of
    ``docs/design.md``, "The machine's ports".
    """

    def __init__(self, parameters: MachineParameters) -> None:
        self.parameters = parameters
        super().__init__(
            {
                "register_address": In(8),
                "register_write": In(1),
                "register_write_data": In(32),
                "register_read_data": Out(32),
                "table_select": In(3),
                "table_address": In(TABLE_ADDRESS_BITS),
                "table_write": In(1),
                "table_write_data": In(WIDTH),
                "table_read": In(1),
                "table_read_valid": Out(1),
                "table_read_data": Out(WIDTH),
                "done": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        parameters = self.parameters
        reset = Signal()
        sequencer = Sequencer(SequencerParameters(parameters))
        norm = Norm(NormParameters())
        build_hash = Signal(64)
        status = Signal(32)
        m.submodules.build = Instance(BUILD_MODULE, o_hash=build_hash)
        registers = RegisterFile(
            {
                "IDENTITY": Const(IDENTITY, 32),
                "VERSION": Const(VERSION, 32),
                "BUILD_HASH": build_hash,
                "GRID_MAX": Const(parameters.grid, 32),
                "STATES_MAX": Const(parameters.states, 32),
                "RESULTS_MAX": Const(parameters.results, 32),
                "STATUS": status,
                "CLOCKS": sequencer.clocks,
                "SWEEPS": sequencer.sweeps,
                "STATES_DONE": sequencer.states_done,
                "NORM": norm.norm,
            }
        )
        m.submodules.registers = registers
        settings = registers.settings
        run = registers.command[int(Command.RUN).bit_length() - 1]
        # A command is busy at once, before the sequencer has seen it.
        m.d.comb += status.eq(Mux(run, int(Status.BUSY), sequencer.status))
        busy = status[int(Status.BUSY).bit_length() - 1]
        m.d.comb += [
            registers.address.eq(self.register_address),
            registers.write.eq(self.register_write),
            registers.write_data.eq(self.register_write_data),
            self.register_read_data.eq(registers.read_data),
            registers.locked.eq(busy),
            reset.eq(registers.command[int(Command.RESET).bit_length() - 1]),
            self.done.eq(status[int(Status.DONE).bit_length() - 1]),
            sequencer.run.eq(run),
            sequencer.stop.eq(registers.command[int(Command.STOP).bit_length() - 1]),
            sequencer.horizon.eq(horizon(settings["MODE"])),
            sequencer.grid.eq(settings["GRID"]),
            sequencer.states.eq(settings["STATES"]),
            sequencer.sweep_limit.eq(settings["SWEEP_LIMIT"]),
            sequencer.epsilon.eq(settings["EPSILON"]),
        ]
        core = ResetInserter(reset)
        m.submodules.sequencer = core(sequencer)
        m.submodules.norm = core(norm)
        m.submodules.data = core(_Datapath(parameters, self, sequencer, norm, settings, busy))
        return m


class _Datapath(wiring.Component):
    """Tables, line and expectation between the sequencer's stream and the norm."""

    def __init__(
        self,
        parameters: MachineParameters,
        ports: Machine,
        sequencer: Sequencer,
        norm: Norm,
        settings: dict[str, Signal],
        busy: Signal,
    ) -> None:
        self._parameters = parameters
        self._ports = ports
        self._sequencer = sequencer
        self._norm = norm
        self._settings = settings
        self._busy = busy
        super().__init__({})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        parameters, sequencer, norm, ports = self._parameters, self._sequencer, self._norm, self._ports
        states = parameters.states
        state_bits = max(1, (states - 1).bit_length())
        index_bits = parameters.index_bits

        m.submodules.wealth = wealth = Ram(WIDTH, parameters.grid * states)
        m.submodules.value = value = Ram(WIDTH, parameters.results)
        m.submodules.policy = policy = Ram(index_bits, parameters.results)
        m.submodules.line = line = Line(LineParameters.of(parameters))
        m.submodules.expectation = expectation = Expectation(ExpectationParameters(states))
        form = self._settings["UTILITY_FORM"]
        constants = {
            "a": self._settings["UTILITY_A"],
            "b": self._settings["UTILITY_B"],
            "negative": form[0],
            "log": form[1],
            "shift": form[8:],
        }
        m.d.comb += [getattr(line, name).eq(constants[name]) for name in CONSTANTS]
        m.d.comb += [line.half.eq(sequencer.half), expectation.clear.eq(sequencer.begin)]
        m.d.comb += expectation.count.eq(self._settings["STATES"])

        # The host's words, one register behind the ports.
        select = p.register(ports.table_select, 0).value
        address = p.register(ports.table_address, 0).value
        data = p.register(ports.table_write_data, 0).value
        write = Signal()
        m.d.sync += write.eq(ports.table_write & ~self._busy)

        def writes(table: Table) -> Signal:
            hit = Signal(name=f"write_{table.name.lower()}")
            m.d.comb += hit.eq(write & (select == table))
            return hit

        row = Array(Const(k // states, state_bits) for k in range(states * states))[address]
        column = Array(Const(k % states, state_bits) for k in range(states * states))[address]
        m.d.comb += [
            line.x_write.eq(writes(Table.X)),
            line.x_write_index.eq(address),
            line.x_write_data.eq(data),
            expectation.weight_write.eq(writes(Table.Q) & (address < states * states)),
            expectation.weight_row.eq(row),
            expectation.weight_column.eq(column),
            expectation.weight_data.eq(data),
            wealth.write.eq(writes(Table.W)),
            wealth.write_address.eq(address),
            wealth.write_data.eq(data),
        ]

        # The stream: wealth into the line, or in the prologue the start value into the expectation.
        position = sequencer.position
        streamed = p.valid(p.input(sequencer.stream), READ_LATENCY)
        prologue = sequencer.prologue
        m.d.comb += [
            wealth.read_address.eq(Mux(self._busy, position, address)),
            line.in_valid.eq(streamed & ~prologue),
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
        kept = horizon(self._settings["MODE"]) & ~sequencer.first_sweep
        with m.If(line.out_valid):
            m.d.sync += [old_place.eq(old_place + 1), new_place.eq(new_place + 1)]
        with m.If(sequencer.begin):
            with m.If(~kept):
                m.d.sync += new_place.eq(0)
            with m.If(~kept | sequencer.second_sweep):
                m.d.sync += old_place.eq(0)
        value_address = Signal(word_bits, reset_less=True)
        m.d.sync += value_address.eq(Mux(self._busy, old_place, address))
        in_prologue = self._busy & prologue
        result = p.input(Cat(line.value, line.index, new_place))
        late = p.delay(result, OLD_VALUE_CLOCKS).value
        late_value = late[:WIDTH].as_signed()
        late_valid = p.valid(p.input(line.out_valid), OLD_VALUE_CLOCKS)
        m.d.comb += [
            value.read_address.eq(Mux(in_prologue, position, value_address)),
            value.write.eq(Mux(self._busy, late_valid, writes(Table.V))),
            value.write_address.eq(Mux(self._busy, late[WIDTH + index_bits :], address)),
            value.write_data.eq(Mux(self._busy, late_value, data)),
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
        reading = p.delay(p.input(select, 1), TABLE_READ_CLOCKS - 1).value
        asked = Signal()
        m.d.comb += asked.eq(ports.table_read & ~self._busy)
        wealth_word = p.delay(p.input(wealth.read_data), TABLE_READ_CLOCKS - READ_LATENCY - 1).value
        m.d.comb += ports.table_read_valid.eq(p.valid(p.input(asked), TABLE_READ_CLOCKS))
        with m.Switch(reading):
            with m.Case(Table.W):
                m.d.comb += ports.table_read_data.eq(wealth_word)
            with m.Case(Table.V):
                m.d.comb += ports.table_read_data.eq(value.read_data)
            with m.Case(Table.POLICY):
                m.d.comb += ports.table_read_data.eq(policy.read_data)
        return m
