"""Print the tables of ``docs/arellano.md``: times and moments beside published ones, and moments by grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from beltline.host.models.arellano.business_cycle import MOMENTS, BusinessCycle
from beltline.host.models.arellano.model import DefaultEconomy, arellano
from beltline.host.solver.solve import solve
from docs.tables.arellano_paper import TOL, WINDOW
from docs.tables.arellano_paper import table as paper


@dataclass(frozen=True)
class Published:
    """Published seconds for a number of incomes and bonds: in C++ and Julia on a CPU, and on a GPU."""

    incomes: int
    bonds: int
    cpp: float | None
    julia: float | None
    gpu: float
    card: str


TIMES = (
    Published(21, 300, 12, None, 3, "GTX 780"),
    Published(21, 1_000, 158, None, 14, "GTX 780"),
    Published(21, 5_000, None, None, 266, "GTX 780"),
    Published(7, 1_000, 160.39, 36.891, 6.541, "RTX 2060"),
    Published(7, 10_000, 9548.15, 3611.956, 347.094, "RTX 2060"),
)
"""From Guerron-Quintana (2016), section 5 and table 1, and Deng, Guerron-Quintana and Tseng (2021), figure 11 and the
file ``Actual_runtime.xlsx`` of their repository, both in dengmz/ParallelDefault on GitHub."""

GRIDS = ((101, 21), (251, 51), (1_001, 51), (1_001, 201))
"""Numbers of bonds and incomes of the table of moments."""


def _solved(bonds: int, incomes: int) -> DefaultEconomy:
    found: DefaultEconomy = solve(arellano(bonds=bonds, incomes=incomes), tol=TOL, progress=False)
    return found


def times(published: Sequence[Published] = TIMES) -> None:
    """Print the times. Ours are of the solve alone, without compilation, with one bond more so that 0 is a grid
    point.
    """
    _solved(21, 3)
    print("| incomes x bonds | C++, s | Julia, s | GPU, s | here, s | sweeps |\n|---|---:|---:|---:|---:|---:|")
    for row in published:
        found = _solved(row.bonds + 1, row.incomes)
        published_times = ("-" if spent is None else f"{spent:,.0f}" for spent in (row.cpp, row.julia))
        cells = [f"{row.incomes} x {row.bonds:,}", *published_times, f"{row.gpu:,.0f} ({row.card})"]
        spent = found.solution.timing["solve"] + found.solution.timing.get("coarser grids", 0.0)
        cells += [f"{spent:.3f}", f"{found.solution.sweeps:,}"]
        print(f"| {' | '.join(cells)} |{'' if found.success else f' {found.message}'}", flush=True)
    print()


def moments(grids: Sequence[tuple[int, int]] = GRIDS, paths: int = 100, periods: int = 10_000) -> None:
    """Print moments with standard errors, one column for each grid; the last is for quarters before a default."""
    columns: dict[str, BusinessCycle] = {}
    for bonds, incomes in grids:
        found = _solved(bonds, incomes)
        columns[f"{bonds:,} x {incomes}"] = found.moments(paths=paths, periods=periods)
        if not found.success:
            print(f"{bonds:,} x {incomes}: {found.message}\n")
    last = f"{bonds:,} x {incomes}, {WINDOW} quarters before a default"
    columns[last] = found.moments(paths=paths, periods=periods, before_default=WINDOW)
    print(f"| bonds x incomes | {' | '.join(columns)} |\n|---|{'---:|' * len(columns)}")
    for name, text in MOMENTS.items():
        cells = (f"{of.values[name]:.3f} ({of.errors[name]:.1g})" for of in columns.values())
        print(f"| {text} | {' | '.join(cells)} |")
    print(f"\n{columns[f'{bonds:,} x {incomes}'].how}\n")


def tables(device: str) -> None:
    """Print the three tables; the economy is solved on ``cpu``, and ``device`` only changes a note."""
    print(f"On device cpu{'' if device == 'cpu' else ', the only one that these tables use'}, to {TOL:g}.\n")
    times()
    paper()
    moments()
