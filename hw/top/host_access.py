"""Connection of the machine's table port to the tables of an engine, and to the check sums of their words."""

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
    """Registers the accesses at the machine's table port, forwards them to the tables, and computes check sums.

    In clocks in which the port reads no word, :class:`beltline.hw.control.table_sums.TableSums` may read one to add it
    up.

    Throughput: one write and one read in every clock. Latency: accesses reach ``tables`` one clock after the port; a
    word is at the port ``read_clocks`` clocks after its read. A write is included in its table's sum
    ``TableSums.SETTLE + 1`` clocks after the port.

    Contract: this unit is not reset with the machine. A write that was accepted is carried out, and a word that was
    requested is returned.

    Parameters
    ----------
    windows
        Address windows of the build.
    read_clocks
        Clocks from a read at the port to its word.

    Attributes
    ----------
    port : in, :class:`beltline.hw.bus.ports.TablePort`
        The machine's table port.
    busy : in, 1 bit
        A run is in progress: writes are ignored, and no words are read for sums.
    sums : in, :class:`beltline.hw.control.table_sums.SumPort`
        Register side of the check sums.
    tables : out, :class:`beltline.hw.control.datapath.TableAccess`
        The tables of the engine.
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
            sums.pause.eq(port.read),
            sums.stop.eq(self.busy),
            sums.read_data.eq(tables.read_data),
        ]
        m.d.comb += [
            port.read_data.eq(tables.read_data),
            port.read_valid.eq(p.valid(p.input(port.read), self._read_clocks)),
        ]
        return m
