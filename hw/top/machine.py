"""The complete accelerator without a bus: registers, sequencer, and the datapath of an engine with its tables."""

from __future__ import annotations

import enum

from amaranth.hdl import Const, Instance, Module, Mux, ResetInserter, Signal, Value
from amaranth.lib import wiring

from beltline.hw.bus.ports import machine_ports
from beltline.hw.control.datapath import passes, settings_of
from beltline.hw.control.register_file import RegisterFile, has_flag
from beltline.hw.control.sequencer import Sequencer, SequencerParameters
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import IDENTITY, VERSION, Command, Interrupt, Mode, Refused, Status
from beltline.hw.interface.sums import WRITTEN
from beltline.hw.interface.windows import WindowParameters
from beltline.hw.top.content import BUILD_MODULE
from beltline.hw.top.engine_table import ENGINES
from beltline.hw.top.host_access import HostAccess


class Machine(wiring.Component):
    """The accelerator that ``docs/design.md`` describes; a bus slave connects its ports to a host.

    The datapath is that of the build's engine, from :data:`beltline.hw.top.engine_table.ENGINES`.

    Latency of a table read: the datapath's ``read_clocks``, also when the machine is reset meanwhile. While ``busy``,
    writes of tables are ignored and words that are read are undefined; the bus slaves refuse such accesses.

    Parameters
    ----------
    parameters
        The build.

    Attributes
    ----------
    registers : in, :class:`beltline.hw.bus.ports.RegisterPort`
        Registers.
    tables : in, :class:`beltline.hw.bus.ports.TablePort`
        Tables.
    busy : out, 1 bit
        A run is in progress; high from the clock after command ``RUN`` was written.
    refused : in, 2 bits
        Bits to set in register ``REFUSED``, see :class:`beltline.hw.interface.registers.Refused`.
    interrupt : out, 1 bit
        High while ``STATUS`` has the bit ``DONE`` and register ``INTERRUPT`` the bit ``ENABLE``.
    """

    def __init__(self, parameters: MachineParameters) -> None:
        self.parameters = parameters
        super().__init__(machine_ports(parameters))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        parameters = self.parameters
        reset = Signal()
        core = ResetInserter(reset)
        sequencer = Sequencer(SequencerParameters(parameters))
        data = ENGINES[parameters.engine].datapath(parameters)
        m.submodules.sequencer = core(sequencer)
        m.submodules.data = core(data)
        build_hash = Signal(64)
        status = Signal(32)
        refused = Signal(len(Refused))
        m.submodules.build = Instance(BUILD_MODULE, o_hash=build_hash)
        m.submodules.host = host = HostAccess(WindowParameters(parameters), data.read_clocks)
        sums = host.sums
        registers = RegisterFile(
            {
                "IDENTITY": Const(IDENTITY, 32),
                "VERSION": Const(VERSION, 32),
                "BUILD_HASH": build_hash,
                **{name: Const(value, 32) for name, value in parameters.reported.items()},
                "STATUS": status,
                "REFUSED": refused,
                "CLOCKS": sequencer.clocks,
                "SWEEPS": sequencer.sweeps,
                "STATES_DONE": sequencer.states_done,
                "NORM": data.norm,
                **{name: getattr(sums, name.lower()) for name in (*WRITTEN.values(), "SUM", "SUMMING")},
            }
        )
        m.submodules.registers = registers
        settings = registers.settings

        def commanded(command: Command) -> Value:
            return registers.command[int(command).bit_length() - 1]

        def flag(word: Value, bit: enum.IntFlag) -> Value:
            return word[int(bit).bit_length() - 1]

        # The machine is busy in the clock in which the sequencer receives the command; its own flag follows a clock
        # later.
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
            sequencer.horizon.eq(has_flag(settings["MODE"], Mode.HORIZON)),
            sequencer.grid.eq(settings["GRID"]),
            sequencer.states.eq(settings["STATES"]),
            sequencer.sweep_limit.eq(settings["SWEEP_LIMIT"]),
        ]
        if not parameters.is_sweep:
            m.d.comb += sequencer.epsilon.eq(settings["EPSILON"])
        m.d.sync += refused.eq(Mux(reset, 0, refused | self.refused))

        # The host's accesses pass one register. A reset of the machine does not affect them: a write that was accepted
        # is carried out, and a word that was requested is returned.
        wiring.connect(m, wiring.flipped(self.tables), host.port)
        wiring.connect(m, host.tables, data.tables)
        m.d.comb += [
            sums.begin.eq(commanded(Command.SUM) & ~self.busy),
            sums.table.eq(settings["SUM_TABLE"]),
            sums.first.eq(settings["SUM_FIRST"]),
            sums.count.eq(settings["SUM_COUNT"]),
        ]
        m.d.comb += [host.busy.eq(self.busy), data.busy.eq(self.busy), data.reset.eq(reset)]
        m.d.comb += [getattr(data.settings, name.lower()).eq(settings[name]) for name in settings_of(parameters)]
        for name in passes(parameters):
            ours, theirs = getattr(data, name), getattr(sequencer, name)
            m.d.comb += ours.eq(theirs) if data.signature.members[name].flow is wiring.In else theirs.eq(ours)
        return m
