"""The host's accesses of the tables, as both engines take them."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.bus.ports import TablePort
from beltline.hw.control.datapath import TableAccess
from beltline.hw.control.table_sums import SumPort, TableSums
from beltline.hw.interface.windows import WORD_BYTES, WindowParameters


class HostAccess(wiring.Component):
    """A register between the machine's port and the tables, where the sums of their words are taken.

    A word that is to be added up is read in a clock in which the port reads none. Nothing here is reset with the
    machine: a write that was taken is done, and a word that was asked for comes.

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
    sums
        In: :class:`beltline.hw.control.table_sums.SumPort`. A write at the port counts ``TableSums.SETTLE`` + 1 clocks
        later.
    tables
        Out: :class:`beltline.hw.control.datapath.TableAccess`, what the port asked a clock before; ``read_data`` goes
        to the port as it is.
    """

    def __init__(self, windows: WindowParameters, read_clocks: int) -> None:
        self._windows = windows
        self._read_clocks = read_clocks
        super().__init__(
            {
                "port": In(TablePort(windows)),
                "busy": In(1),
                "sums": In(SumPort()),
                "tables": Out(TableAccess(windows)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        port, tables = self.port, self.tables
        write = Signal(WORD_BYTES)
        m.d.sync += write.eq(port.write & (~self.busy).replicate(WORD_BYTES))
        m.d.comb += tables.write.eq(write)
        m.submodules.sums = sums = TableSums(self._windows, self._read_clocks)
        wiring.connect(m, wiring.flipped(self.sums), sums.port)
        for name in ("write_table", "write_address", "write_data", "read_table", "read_address"):
            asked = Signal.like(getattr(port, name), name=name, reset_less=True)
            wanted = getattr(port, name)
            if name.startswith("read"):
                wanted = Mux(port.read, wanted, getattr(sums, name))
            m.d.sync += asked.eq(wanted)
            m.d.comb += getattr(tables, name).eq(asked)
        m.d.comb += [getattr(sums, name).eq(getattr(tables, name)) for name in ("write_table", "write_address")]
        m.d.comb += [
            sums.write.eq(write),
            sums.write_data.eq(tables.write_data),
            sums.held.eq(port.read),
            sums.stop.eq(self.busy),
            sums.read_data.eq(tables.read_data),
        ]
        m.d.comb += [
            port.read_data.eq(tables.read_data),
            port.read_valid.eq(p.valid(p.input(port.read), self._read_clocks)),
        ]
        return m
