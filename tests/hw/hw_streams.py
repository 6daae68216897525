"""Types of the fixture ``stream``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Stream = Callable[..., dict[str, Any]]


@dataclass(frozen=True)
class Segment:
    """``count`` operands that enter with ``gaps`` (probability of a clock without) while ``constants`` stand."""

    count: int
    gaps: float = 0.0
    constants: Mapping[str, int] = field(default_factory=dict)


def with_gaps(count: int, constants: Mapping[str, int] | None = None) -> list[Segment]:
    """Half of ``count`` operands back to back, half with gaps."""
    half = count // 2
    return [Segment(half, 0.0, constants or {}), Segment(count - half, 0.4, constants or {})]
