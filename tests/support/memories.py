"""Helpers for tests of banked memories: memories of all sizes in one design, and how a write changes a word."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class SideBySide(wiring.Component):
    """Units next to each other: port ``name_k`` is ``name`` of unit ``k``."""

    def __init__(self, units: Sequence[wiring.Component]) -> None:
        self._units = units
        ports = {}
        for k, unit in enumerate(units):
            for name, member in unit.signature.members.items():
                ports[f"{name}_{k}"] = (In if member.flow is wiring.In else Out)(member.shape)
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for k, unit in enumerate(self._units):
            m.submodules[f"unit{k}"] = unit
            for name, member in unit.signature.members.items():
                outer, inner = getattr(self, f"{name}_{k}"), getattr(unit, name)
                m.d.comb += outer.eq(inner) if member.flow is wiring.Out else inner.eq(outer)
        return m


def stored(old: int, data: int, strobes: int, width: int, lanes: int) -> int:
    """Return a word of ``width`` bits after a write of ``data``, which replaces those of its ``lanes`` parts whose bit
    in ``strobes`` is set.
    """
    lane = width // lanes
    mask = sum(((1 << lane) - 1) << lane * part for part in range(lanes) if strobes >> part & 1)
    return old & ~mask | data & mask
