"""Print the tables of ``docs/aiyagari-path.md``: ``python -m docs.tables.aiyagari_path``."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from beltline.host.models.aiyagari_path.model import aiyagari_path
from beltline.host.models.aiyagari_path.result import TransitionPath
from beltline.host.solver.solve import solve

GRIDS = (100, 200, 400, 800)
"""Numbers of grid points of the table of grids; the others are compared with the last."""

LENGTHS = (100, 200, 400, 800)
"""Numbers of dates of the table of lengths; the others are compared with the last."""

EARLY = 100
"""Number of dates, from the first, over which paths of different lengths are compared."""

SHOCKS: dict[str, dict[str, Any]] = {
    "-1%, persistence 0.9": {},
    "+1%, persistence 0.9": {"shock": 0.01},
    "-5%, persistence 0.9": {"shock": -0.05, "periods": 300},
    "-1%, persistence 0.5": {"persistence": 0.5},
    "+1% permanently": {"shock": 0.01, "persistence": 1.0},
}
"""Parameters of each path by its name in the table."""


def found(**parameters: Any) -> TransitionPath:
    """Solve and return the path with these parameters."""
    path: TransitionPath = solve(aiyagari_path(**parameters), progress=False)
    return path


def grids(sizes: Sequence[int] = GRIDS) -> None:
    """Print the path of the default shock for several grids."""
    paths = [found(grid=grid) for grid in sizes]
    finest = paths[-1].capital / paths[-1].initial.capital
    print("| grid points | r before, % | lowest capital, % | its difference at any date, % | Euler error, worst date |"
          " largest excess | steps | s |")  # fmt: skip
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    for grid, path in zip(sizes, paths, strict=True):
        moved = path.capital / path.initial.capital
        cells = [f"{grid:,}", f"{100 * path.initial.interest:.4f}", f"{100 * (moved.min() - 1):.4f}"]
        cells += [f"{100 * np.abs(moved - finest).max():.1e}", f"{path.euler_errors.max():.1e}"]
        cells += [f"{path.largest_excess:.1e}", f"{len(path.steps)}", f"{path.seconds:.1f}"]
        print(f"| {' | '.join(cells)} |{'' if path.success else f' {path.message}'}", flush=True)
    print("\nCapital relative to before the shock; its difference is from that with the most grid points.\n")


def lengths(grid: int = 200, sizes: Sequence[int] = LENGTHS) -> None:
    """Print the path of the default shock for several numbers of dates."""
    paths = [found(grid=grid, periods=periods) for periods in sizes]
    longest = paths[-1].capital / paths[-1].initial.capital
    print(f"| dates | excess after the last | capital of the first {EARLY} dates, largest difference, % |")
    print("|---:|---:|---:|")
    for periods, path in zip(sizes, paths, strict=True):
        early = min(periods, EARLY)
        moved = path.capital / path.initial.capital
        gap = 100 * np.abs(moved[:early] - longest[:early]).max()
        print(f"| {periods} | {path.excess[-1]:+.1e} | {gap:.1e} |{'' if path.success else f' {path.message}'}")
    print(f"\n{grid:,} grid points; the difference is from the longest path.\n", flush=True)


def shocks(grid: int = 200, cases: Mapping[str, Mapping[str, Any]] = SHOCKS) -> None:
    """Print the effects of several shocks."""
    print("| productivity | output at date 0, % | consumption at date 0, % | capital furthest, % | at date |"
          " interest, at date 0 and furthest the other way, points | largest excess | steps |")  # fmt: skip
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name, case in cases.items():
        path = found(grid=grid, **case)
        before, economy = path.initial, path.model.economy
        output = before.capital**economy.alpha
        consumption = output - economy.delta * before.capital
        moved = 100 * (path.capital / before.capital - 1)
        rate = 100 * (path.interest - before.interest)
        other = float(rate[np.argmax(-np.sign(rate[0]) * rate)])
        cells = [
            name,
            f"{100 * (path.output[0] / output - 1):+.3f}",
            f"{100 * (path.consumption[0] / consumption - 1):+.3f}",
        ]
        cells += [f"{moved[np.abs(moved).argmax()]:+.3f}", f"{np.abs(moved).argmax()}"]
        cells += [f"{rate[0]:+.4f}, {other:+.4f}", f"{path.largest_excess:.1e}", f"{len(path.steps)}"]
        print(f"| {' | '.join(cells)} |{'' if path.success else f' {path.message}'}", flush=True)
    print(f"\n{grid:,} grid points.\n")


def tables(device: str) -> None:
    """Print all tables; paths are solved on ``cpu``, and ``device`` only changes a note."""
    print(f"On device cpu{'' if device == 'cpu' else ', the only one that these tables use'}.\n")
    for table in (grids, lengths, shocks):
        table()


if __name__ == "__main__":
    tables("cpu")
    sys.exit(0)
