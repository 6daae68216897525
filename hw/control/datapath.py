"""Interface between the machine and the datapath of an engine: table accesses of the host, settings, and the run."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.control.sequencer import SequencerParameters, sequencer_ports
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import REGISTERS, Table
from beltline.hw.interface.windows import WORD_BITS, WORD_BYTES, WindowParameters

_SETTINGS = ("MODE", "GRID", "STATES", "SWEEP_LIMIT", "UTILITY_A", "UTILITY_B", "UTILITY_FORM")

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
    "proven",
)


def settings_of(machine: MachineParameters) -> tuple[str, ...]:
    """Return the names of the registers that the build's datapath reads. Contract: they do not change during a run.

    A datapath with lanes compares the norm with ``EPSILON`` itself.
    """
    return (*_SETTINGS, "EPSILON") if machine.is_sweep else _SETTINGS


def passes(machine: MachineParameters) -> dict[str, wiring.Member]:
    """Return the ports by which the build's :class:`beltline.hw.control.sequencer.Sequencer` controls a datapath.

    Names and directions are those of the sequencer. Ports that the build lacks are left out.
    """
    ports = sequencer_ports(SequencerParameters(machine))
    return {name: ports[name] for name in _PASSES if name in ports}


class TableAccess(wiring.Signature):
    """Accesses of the host to the tables of a datapath. Directions are those of the machine, the initiator.

    Contract: one write and one read in every clock; a read returns after a fixed number of clocks
    (``Datapath.read_clocks``). There are no writes while the machine is busy, except for one in the first clock of a
    run.

    Attributes
    ----------
    write : out, 8 bits
        Byte strobes of a write; 0 writes nothing.
    write_table, read_table : out, 3 bits
        The table, as in :class:`beltline.hw.interface.registers.Table`.
    write_address, read_address : out, ``windows.window_bits - 3`` bits
        Address of the word in its table, in words.
    write_data : out, 64 bits
        Data of a write.
    read_data : in, 64 bits
        The word of a read.
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
    """Contents of the registers :func:`settings_of`, as outputs of the register file, by their names in lower case."""

    def __init__(self, machine: MachineParameters) -> None:
        super().__init__({name.lower(): Out(REGISTERS[name].bits) for name in settings_of(machine)})


class DatapathSignature(wiring.Signature):
    """Ports of the datapath of an engine. Directions are those of the datapath.

    Attributes
    ----------
    reset : in, 1 bit
        The run is aborted. The machine also resets the datapath; this port is for the Verilog modules that a datapath
        instantiates, which Amaranth's reset does not reach.
    busy : in, 1 bit
        A run is in progress and uses the tables; the host does not access them.
    tables : in, :class:`TableAccess`
        The host's accesses to the tables.
    settings : in, :class:`Settings`
        Settings of the run.
    others
        The ports of :func:`passes` with opposite directions: inputs are driven by the sequencer, outputs go to it.
    """

    def __init__(self, machine: MachineParameters) -> None:
        self.machine = machine
        super().__init__(
            {
                "reset": In(1),
                "busy": In(1),
                "tables": In(TableAccess(WindowParameters(machine))),
                "settings": In(Settings(machine)),
                **{name: port.flip() for name, port in passes(machine).items()},
            }
        )


class Datapath(wiring.Component):
    """Base class of the datapath of an engine; its ports are :class:`DatapathSignature`.

    Parameters
    ----------
    parameters
        The build.
    read_clocks
        Clocks from a read at the machine's table port to its word. The address passes one register between that port
        and ``tables``, so the word follows ``tables.read_address`` by ``read_clocks - 1`` clocks.
    """

    def __init__(self, parameters: MachineParameters, read_clocks: int) -> None:
        self.parameters = parameters
        self.read_clocks = read_clocks
        super().__init__(DatapathSignature(parameters))

    def writes(self, m: Module, table: Table) -> Signal:
        """Return the byte strobes, 8 bits, of the host's write to ``table``."""
        hit = Signal(WORD_BYTES, name=f"write_{table.name.lower()}")
        m.d.comb += hit.eq(self.tables.write & (self.tables.write_table == table).replicate(WORD_BYTES))
        return hit
