"""Print the tables of ``docs/krusell-smith.md``: ``python -m docs.tables.models krusell-smith``."""

from __future__ import annotations

from typing import Any

import numpy as np

from beltline.host.devices import REFERENCES
from beltline.host.models.krusell_smith.calibration import AGGREGATES
from beltline.host.models.krusell_smith.model import krusell_smith
from beltline.host.models.krusell_smith.result import Equilibrium, panel_errors
from beltline.host.solver.solve import solve
from beltline.hw.interface.parameters import CLOCK_HZ, MachineParameters
from beltline.hw.line.clocks import run_clocks

PUBLISHED = ((0.123815, 0.965565), (0.137800, 0.963238))
"""Law of motion of Maliar, Maliar and Valli (2010)."""

SEEDS = 5
"""Number of panels; the first is that of the page, the others show how much results depend on the panel."""

NEAR: dict[str, Any] = {"low": 36.0, "high": 44.0}
"""Range of ``K`` for the households that are compared, which ``K`` does not leave."""

BEGIN: dict[str, Any] = {"law": ((0.1271, 0.9647), (0.1385, 0.963)), "progress": False}
"""Options of these solves, which start from a law that is close to the solution."""

TABLES = (
    (4, 250, True),
    (4, 500, True),
    (4, 1000, True),
    (4, 2000, True),
    (4, 4000, True),
    (8, 4000, True),
    (16, 4000, True),
    (4, 4000, False),
)
"""Points of ``K``, number of choices, and whether the policy is improved between grid points."""

CHOICES = 1000
"""Number of choices for which clocks are printed."""

UNREFINED = 25
"""Largest number of iterations for a policy on its grid, with which the law jumps and does not converge."""


def law_gap(one: Equilibrium, other: Equilibrium) -> float:
    """Return the largest difference of ``K'`` between two laws over the ``K`` of the first one's panel, in percent."""
    used = one.capital[one.discard :]
    log = np.log(np.linspace(used.min(), used.max(), 101))
    gaps = [np.abs(np.expm1(x[0] - y[0] + (x[1] - y[1]) * log)) for x, y in zip(one.law, other.law, strict=True)]
    return 100 * float(np.max(gaps))


def tables(device: str) -> None:
    """Print our law beside the published one, errors of interpolation, the effect of tables' size, and clocks."""
    _published()
    _fineness(device)
    _clocks()


def _published() -> None:
    runs = [solve(krusell_smith(), seed=seed, progress=False) for seed in range(SEEDS)]
    ours = runs[0]
    laws = np.array([run.law for run in runs])
    low, high = laws.min(axis=0), laws.max(axis=0)
    economy = ours.economy
    print(f"{ours.wealth.size:,} agents, {ours.aggregate.size:,} periods, grid {economy.points} x {economy.means}\n")
    print(f"| law of motion | published | ours, seed 0 | ours, {SEEDS} seeds |\n|---|---:|---:|---:|")
    for a, name in enumerate(AGGREGATES):
        for i in range(2):
            between = f"{low[a, i]:.4f} to {high[a, i]:.4f}"
            print(f"| `b{i}`, {name} | {PUBLISHED[a][i]:.6f} | {ours.law[a, i]:.6f} | {between} |")
    rows = [
        *((f"R2, {name}", [run.r2[a] for run in runs], ".7f") for a, name in enumerate(AGGREGATES)),
        ("forecast error, largest, %", [run.forecast_errors.max() for run in runs], ".4f"),
        ("forecast error, mean, %", [run.forecast_errors.mean() for run in runs], ".4f"),
        ("mean K", [run.capital[run.discard :].mean() for run in runs], ".3f"),
        ("Gini of wealth", [run.gini for run in runs], ".4f"),
        ("iterations", [run.iterations for run in runs], "d"),
        ("times that k was off its grid", [run.below + run.above for run in runs], ",d"),
        ("periods with K off its grid", [run.outside for run in runs], "d"),
    ]
    print("\n| | seed 0 | least | most |\n|---|---:|---:|---:|")
    for name, found, form in rows:
        print(f"| {name} | {found[0]:{form}} | {min(found):{form}} | {max(found):{form}} |")
    print("\n| error of the path of K, % | bilinear | bicubic, single |\n|---|---:|---:|")
    errors = panel_errors(ours)
    print(f"| the largest one, seed 0 | {errors['bilinear']:.2f} | {errors['bicubic-single']:.2g} |")
    for run in runs:
        if not run.success:
            print(f"\nseed {run.seed}: {run.message}")
    print(flush=True)


def _fineness(device: str) -> None:
    euler = solve(krusell_smith(**NEAR), **BEGIN)
    print(f"K from {NEAR['low']:g} to {NEAR['high']:g}, tables on device {device}\n")
    heads = ("household", "points of K", "choices", "iterations", "`b0`, `b1` bad", "`b0`, `b1` good")
    print(f"| {' | '.join(heads)} | gap of `b1` | gap of K', % |\n|---|{7 * '---:|'}")
    print(f"| Euler equation | 4 | | {_row(euler)} | | |")
    finer = solve(krusell_smith(**NEAR, means=16), **BEGIN)
    print(f"| Euler equation | 16 | | {_row(finer)} | {_gaps(euler, finer)} |", flush=True)
    for means, choices, refine in TABLES:
        if means > 4 and device not in REFERENCES:
            # A machine has 16 exogenous states.
            continue
        limit: dict[str, Any] = {} if refine else {"max_iterations": UNREFINED}
        model = krusell_smith(**NEAR, means=means)
        found = solve(model, **BEGIN, household="table", device=device, choices=choices, refine=refine, **limit)
        name = "table, refined" if refine else "table, on the grid"
        print(f"| {name} | {means} | {choices:,} | {_row(found)} | {_gaps(euler, found)} |", flush=True)
    print()


def _clocks() -> None:
    found = solve(krusell_smith(**NEAR), **BEGIN, household="table", choices=CHOICES, method="warm")
    build = MachineParameters(grid=1 << (CHOICES - 1).bit_length(), states=16)
    # Sweeps as a machine does them, in double precision; a run begins with a pass of its own for each law.
    runs = found.iterations * run_clocks(build, CHOICES, 16, 0)
    clocks = runs + run_clocks(build, CHOICES, 16, found.household_iterations) - run_clocks(build, CHOICES, 16, 0)
    sweeps = found.household_iterations
    print(f"{CHOICES:,} choices, {found.iterations} laws: {sweeps:,} sweeps, {clocks:,} clocks of a machine")
    print(f"whose line is not folded, {clocks / CLOCK_HZ:.2f} s at {CLOCK_HZ / 1e6:g} MHz; computed, not run.\n")


def _row(found: Equilibrium) -> str:
    laws = " | ".join(f"{b0:.5f}, {b1:.5f}" for b0, b1 in found.law)
    if found.success:
        how = ""
    else:
        how = f", {found.status}" if found.change < found.tol else f", off by {found.change:.1e}"
    return f"{found.iterations}{how} | {laws}"


def _gaps(one: Equilibrium, other: Equilibrium) -> str:
    return f"{np.abs(one.law - other.law)[:, 1].max():.4f} | {law_gap(one, other):.4f}"
