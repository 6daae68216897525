"""Helpers that tests of units use in addition to the fixtures ``stream`` and ``clocks``."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from amaranth.hdl import Module, Value
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
    """A unit inside a top module that has the unit's ports but those ``inside``, and ``more``.

    Benches see all signals of the top module, which keeps Verilator from optimising these.
    """

    def __init__(self, unit: wiring.Component, inside: Collection[str] = (), **more: Any) -> None:
        self.enclosed = unit
        self._ports = {name: member for name, member in unit.signature.members.items() if name not in inside}
        super().__init__(self._ports | more)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.unit = self.enclosed
        for name, member in self._ports.items():
            outer, inner = getattr(self, name), getattr(self.enclosed, name)
            if member.is_signature:
                wiring.connect(m, wiring.flipped(outer), inner)
            else:
                m.d.comb += outer.eq(inner) if member.flow is wiring.Out else inner.eq(outer)
        return m


class Trace:
    """Inputs of a unit clock by clock, and what it must return.

    Inputs that a clock is not given are ``idle`` words, or random ones.
    """

    def __init__(self, unit: wiring.Component, rng: random.Random, **idle: int) -> None:
        self.unit, self.rng, self.idle = unit, rng, idle
        ports = [("__".join(map(str, path)), member, value) for path, member, value in unit.signature.flatten(unit)]
        self.widths = {name: len(Value.cast(value)) for name, member, value in ports if member.flow is wiring.In}
        self.columns: dict[str, list[int]] = {name: [] for name in self.widths}
        self.late: dict[tuple[str, int], int] = {}
        """Words of single inputs in clocks to come."""
        self.wanted: dict[int, dict[str, int]] = {}
        """Outputs by clock."""

    @property
    def now(self) -> int:
        return len(next(iter(self.columns.values())))

    def clock(self, **given: int) -> dict[str, int]:
        row = {name: self.rng.getrandbits(width) for name, width in self.widths.items()} | self.idle | given
        now = self.now
        for name, width in self.widths.items():
            self.columns[name].append(self.late.get((name, now), row[name]) % (1 << width))
        return row

    def check(self, clocks: Clocks, valid: str) -> dict[str, list[int]]:
        """Simulate; ``valid`` must be high in the clocks with wanted outputs and in no other. Return all outputs."""
        end, found = self.now, clocks(self.unit, self.columns)
        assert [t for t, flag in enumerate(found[valid]) if flag] == sorted(t for t in self.wanted if t < end)
        for t, words in self.wanted.items():
            assert t >= end or {name: found[name][t] for name in words} == words, t
        return found
