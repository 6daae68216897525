"""The host's accesses of the tables, as both engines take them."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal, Value

from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.interface.registers import Table
from beltline.hw.interface.windows import WORD_BYTES


class HostAccess:
    """What the host asks of the tables, a clock later. ``read_data`` is driven by the tables.

    Parameters
    ----------
    m
        The machine.
    port
        Its :class:`beltline.hw.bus.ports.TablePort`.
    busy
        A run is under way: writes do nothing.
    read_clocks
        Clocks from a read at the port to its word.
    """

    def __init__(self, m: Module, port: Any, busy: Value, read_clocks: int) -> None:
        self.write = Signal(WORD_BYTES)
        self.write_table = Signal.like(port.write_table, reset_less=True)
        self.write_address = Signal.like(port.write_address, reset_less=True)
        self.write_data = Signal.like(port.write_data, reset_less=True)
        self.read_table = Signal.like(port.read_table, reset_less=True)
        self.read_address = Signal.like(port.read_address, reset_less=True)
        self.read_data = Signal(WIDTH)
        m.d.sync += [
            self.write.eq(port.write & (~busy).replicate(WORD_BYTES)),
            self.write_table.eq(port.write_table),
            self.write_address.eq(port.write_address),
            self.write_data.eq(port.write_data),
            self.read_table.eq(port.read_table),
            self.read_address.eq(port.read_address),
        ]
        p = Pipeline(m)
        m.d.comb += port.read_valid.eq(p.valid(p.input(port.read), read_clocks))

    def writes(self, m: Module, table: Table) -> Signal:
        """Byte strobes of a write of ``table``."""
        hit = Signal(WORD_BYTES, name=f"write_{table.name.lower()}")
        m.d.comb += hit.eq(self.write & (self.write_table == table).replicate(WORD_BYTES))
        return hit
