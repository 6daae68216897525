"""How the units of a lane share its port to the row buses."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Module, Value


def share(m: Module, port: Any, units: list[tuple[Any, Value]]) -> None:
    """Share ``port``, the lane's :class:`beltline.hw.sweep.row_buses.RowPort`, among ``units``.

    Each unit has it while its condition is high, and the first one while no other has it. A condition may change only
    while no request is in progress.
    """
    for number, (unit, active) in enumerate(units):
        with m.If(active if number else Const(1, 1)):
            m.d.comb += [
                port.request.eq(unit.request),
                port.row.eq(unit.row),
                port.inner.eq(unit.inner),
            ]
        m.d.comb += [
            unit.turn.eq(port.turn),
            unit.taken.eq(port.taken & active),
            unit.valid.eq(port.valid & active),
            unit.data.eq(port.data),
        ]
