"""A row of the bench's table, and the time that all rows are compared with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

EPSILON = 1e-10
"""Tolerance of every solve of the table, unless its note names another one."""

PUBLISHED = "binary"
"""Baseline that stands for the published CPU and CUDA programs."""


OTHER = "another fixed point"
"""Note of a method that approximates, whose solution is not that of the grid."""


@dataclass(frozen=True)
class Row:
    """A row of the table. Times are wall-clock seconds; nan if a quantity does not apply or was not measured.

    ``total`` is the time of allocate, load, solve and read; ``call`` is that of ``bl.solve`` from call to return, with
    checks and verification. ``joules`` is the energy that the processors, and the card of a GPU, used in such a call.
    """

    device: str
    method: str
    grid: int
    states: int
    sweeps: int
    allocate: float
    load: float
    solve: float
    read: float
    total: float
    per_sweep: float
    ratio: float
    residual: float
    error_bound: float
    policy_differences: int
    value_difference: float
    agrees: bool
    kind: str
    note: str = ""
    call: float = math.nan
    joules: float = math.nan


def with_ratios(rows: Sequence[Row]) -> list[Row]:
    """Return ``rows`` with ``ratio``: time of the published method over the row's, on the same device and grid."""
    published = {(row.device, row.grid): row.total for row in rows if row.method == PUBLISHED}
    result = []
    for row in rows:
        # The machine has no published method of its own, so it is compared with that of the processor.
        base = published.get((row.device if row.device in ("cpu", "gpu") else "cpu", row.grid), math.nan)
        same_stop = "epsilon" not in row.note
        result.append(replace(row, ratio=base / row.total if same_stop else math.nan))
    return result
