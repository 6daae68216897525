"""The host's accesses of the tables, as both engines take them."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.bus.ports import TablePort
from beltline.hw.control.datapath import TableAccess
from beltline.hw.interface.windows import WORD_BYTES, WindowParameters


class HostAccess(wiring.Component):
    """A register between the machine's port and the tables.

    It is not reset with the machine: a write that was taken is done, and a word that was asked for comes.

    Parameters
    ----------
    windows
        Of the build.
    read_clocks
        Clocks from a read at the port to its word.

    Attributes
    ----------
    port
        In: :class:`beltline.hw.bus.ports.TablePort`.
    busy
        In: a run is under way, and writes do nothing.
    tables
        Out: :class:`beltline.hw.control.datapath.TableAccess`, what the port asked a clock before; ``read_data`` goes
        to the port as it is.
    """

    def __init__(self, windows: WindowParameters, read_clocks: int) -> None:
        self._read_clocks = read_clocks
        super().__init__({"port": In(TablePort(windows)), "busy": In(1), "tables": Out(TableAccess(windows))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        port, tables = self.port, self.tables
        write = Signal(WORD_BYTES)
        m.d.sync += write.eq(port.write & (~self.busy).replicate(WORD_BYTES))
        m.d.comb += tables.write.eq(write)
        for name in ("write_table", "write_address", "write_data", "read_table", "read_address"):
            asked = Signal.like(getattr(port, name), name=name, reset_less=True)
            m.d.sync += asked.eq(getattr(port, name))
            m.d.comb += getattr(tables, name).eq(asked)
        m.d.comb += [
            port.read_data.eq(tables.read_data),
            port.read_valid.eq(p.valid(p.input(port.read), self._read_clocks)),
        ]
        return m
