"""The whole machine: the datapath of an engine and the sequencer, behind registers and table windows."""

from __future__ import annotations

import enum

from amaranth.hdl import Const, Instance, Module, Mux, ResetInserter, Signal, Value
from amaranth.lib import wiring

from beltline.hw.bus.ports import machine_ports
from beltline.hw.control.datapath import SETTINGS, passes
from beltline.hw.control.register_file import RegisterFile, has_flag
from beltline.hw.control.sequencer import Sequencer, SequencerParameters
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import IDENTITY, VERSION, Command, Interrupt, Mode, Refused, Status
from beltline.hw.interface.sums import WRITTEN
from beltline.hw.interface.windows import WindowParameters
from beltline.hw.top.engine_table import ENGINES
from beltline.hw.top.host_access import HostAccess

BUILD_MODULE = "beltline_build"
"""Verilog module that holds the content hash of all the others."""


class Machine(wiring.Component):
    """The accelerator of ``docs/design.md`` at its own ports, built for :class:`MachineParameters`.

    The engine of the build, from :data:`beltline.hw.top.engine_table.ENGINES`, gives the datapath.

    Attributes
    ----------
    registers, tables
        :class:`beltline.hw.bus.ports.RegisterPort` and :class:`beltline.hw.bus.ports.TablePort`. A word of a table
        comes ``read_clocks`` of the datapath after it was asked for, whatever is reset meanwhile. Accesses of tables
        while ``busy`` are not for the host: writes do nothing and words that are asked for are anything.
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
            sequencer.horizon.eq(has_flag(settings["MODE"], Mode.HORIZON)),
            sequencer.grid.eq(settings["GRID"]),
            sequencer.states.eq(settings["STATES"]),
            sequencer.sweep_limit.eq(settings["SWEEP_LIMIT"]),
            sequencer.epsilon.eq(settings["EPSILON"]),
        ]
        m.d.sync += refused.eq(Mux(reset, 0, refused | self.refused))

        # The host's accesses, one register behind the ports. A reset of the machine is none of them: a write that was
        # taken is done, and a word that was asked for comes.
        wiring.connect(m, wiring.flipped(self.tables), host.port)
        wiring.connect(m, host.tables, data.tables)
        m.d.comb += [
            sums.begin.eq(commanded(Command.SUM) & ~self.busy),
            sums.table.eq(settings["SUM_TABLE"]),
            sums.first.eq(settings["SUM_FIRST"]),
            sums.count.eq(settings["SUM_COUNT"]),
        ]
        m.d.comb += [host.busy.eq(self.busy), data.busy.eq(self.busy), data.reset.eq(reset)]
        m.d.comb += [getattr(data.settings, name.lower()).eq(settings[name]) for name in SETTINGS]
        for name in passes(parameters):
            ours, theirs = getattr(data, name), getattr(sequencer, name)
            m.d.comb += ours.eq(theirs) if data.signature.members[name].flow is wiring.In else theirs.eq(ours)
        return m
