"""What stands between the machine and the datapath of an engine: the host's accesses, the settings and a run."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.control.sequencer import SequencerParameters, sequencer_ports
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import REGISTERS, Table
from beltline.hw.interface.windows import WORD_BITS, WORD_BYTES, WindowParameters

SETTINGS = ("MODE", "GRID", "STATES", "SWEEP_LIMIT", "UTILITY_A", "UTILITY_B", "UTILITY_FORM")
"""Registers that a datapath reads. They stand still during a run."""

_PASSES = (
    "begin",
    "first_sweep",
    "second_sweep",
    "prologue",
    "stream",
    "position",
    "state",
    "half",
    "sweeps",
    "below",
    "norm",
    "saturated",
    "infeasible",
    "retired",
    "pass_done",
    "take",
    "plain",
    "peaks",
    "proven",
)


def passes(machine: MachineParameters) -> dict[str, wiring.Member]:
    """Ports of the build's :class:`beltline.hw.control.sequencer.Sequencer` by which it conducts a datapath."""
    ports = sequencer_ports(SequencerParameters(machine))
    return {name: ports[name] for name in _PASSES if name in ports}


class TableAccess(wiring.Signature):
    """The host's accesses of the tables, seen from the host.

    ``write`` are the byte strobes of the word at ``write_address`` of ``write_table``. ``read_data`` is the word at
    ``read_address`` of ``read_table``, a fixed number of clocks later. Nothing is written while busy.
    """

    def __init__(self, windows: WindowParameters) -> None:
        self.windows = windows
        address_bits = windows.window_bits - WORD_BITS
        super().__init__(
            {
                "write": Out(WORD_BYTES),
                "write_table": Out(3),
                "write_address": Out(address_bits),
                "write_data": Out(WIDTH),
                "read_table": Out(3),
                "read_address": Out(address_bits),
                "read_data": In(WIDTH),
            }
        )


class Settings(wiring.Signature):
    """The registers :data:`SETTINGS`, seen from the register file, each under its name in lower case."""

    def __init__(self) -> None:
        super().__init__({name.lower(): Out(REGISTERS[name].bits) for name in SETTINGS})


class DatapathSignature(wiring.Signature):
    """Ports of the datapath of an engine, seen from itself.

    Attributes
    ----------
    reset
        In: the run is broken off. The machine resets the datapath, too; this is for modules that it instances.
    busy
        In: a run is under way, and the tables are the run's.
    tables
        In: :class:`TableAccess`.
    settings
        In: :class:`Settings`.
    others
        Those of :func:`passes`: inputs what the sequencer drives, outputs what it takes.
    """

    def __init__(self, machine: MachineParameters) -> None:
        self.machine = machine
        super().__init__(
            {
                "reset": In(1),
                "busy": In(1),
                "tables": In(TableAccess(WindowParameters(machine))),
                "settings": In(Settings()),
                **{name: port.flip() for name, port in passes(machine).items()},
            }
        )


class Datapath(wiring.Component):
    """The datapath of an engine; its ports are :class:`DatapathSignature`.

    Parameters
    ----------
    parameters
        The build.
    read_clocks
        Clocks from a read at the port of the machine's tables, a register before ``tables``, to its word.
    """

    def __init__(self, parameters: MachineParameters, read_clocks: int) -> None:
        self.parameters = parameters
        self.read_clocks = read_clocks
        super().__init__(DatapathSignature(parameters))

    def writes(self, m: Module, table: Table) -> Signal:
        """Byte strobes of the host's write of ``table``."""
        hit = Signal(WORD_BYTES, name=f"write_{table.name.lower()}")
        m.d.comb += hit.eq(self.tables.write & (self.tables.write_table == table).replicate(WORD_BYTES))
        return hit
