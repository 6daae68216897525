"""Helpers that tests of units use in addition to the fixtures ``stream`` and ``clocks``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring

from beltline.hw.interface.parameters import Multiplier

Stream = Callable[..., dict[str, Any]]

Clocks = Callable[[wiring.Component, Mapping[str, Sequence[int]]], dict[str, list[int]]]

MULTIPLIERS = [pytest.param(m, marks=() if m is Multiplier.DSP48E2 else pytest.mark.slow) for m in Multiplier]
"""Products do not depend on the multiplier, so that only the long tests try the others."""


@dataclass(frozen=True)
class Segment:
    """``count`` operands with the same ``constants``; ``gaps`` is the probability of a clock without one."""

    count: int
    gaps: float = 0.0
    constants: Mapping[str, int] = field(default_factory=dict)


def with_gaps(count: int, constants: Mapping[str, int] | None = None) -> list[Segment]:
    """Return segments for ``count`` operands: half of them back to back, half with gaps."""
    half = count // 2
    return [Segment(half, 0.0, constants or {}), Segment(count - half, 0.4, constants or {})]


class Enclosed(wiring.Component):
    """A unit inside a top module that has only the unit's ports. Benches see all signals of the top module, which keeps
    Verilator from optimising these.
    """

    def __init__(self, unit: wiring.Component) -> None:
        self._unit = unit
        super().__init__(dict(unit.signature.members.items()))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.unit = self._unit
        for name, member in self.signature.members.items():
            outer, inner = getattr(self, name), getattr(self._unit, name)
            if member.is_signature:
                wiring.connect(m, wiring.flipped(outer), inner)
            else:
                m.d.comb += outer.eq(inner) if member.flow is wiring.Out else inner.eq(outer)
        return m
