"""Print Euler equation errors by grid, as in table 4 of Aldrich et al. (2011).

Run ``python -m docs.tables.euler``. The definition of
:func:`beltline.host.analysis.euler.euler_report` is compared with others that the paper may have used, and with what is
published of its table. The model is :func:`beltline.host.models.rbc.rbc`, solved to the paper's tolerance
``(1 - beta) 1e-8``. Paths have 10,000 periods after 1,000 that are dropped, on the grid and on the Markov chain.
``docs/economics.md`` explains the columns.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import numpy as np

from beltline.host.analysis.euler import euler_errors, log10_errors, summary
from beltline.host.analysis.simulation import simulate
from beltline.host.analysis.stationary import stationary_distribution
from beltline.host.models.rbc import rbc
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError
from beltline.host.results.result import Result
from beltline.host.solver.solve import solve

GRIDS = tuple(2**p for p in range(4, 17))
"""Numbers of grid points in the paper."""

PUBLISHED = {16: -3.8, 65_536: -5.8}
"""Approximate numbers of the paper's table at its two ends."""

SEEDS = 20
"""Number of paths. The first is that of the table; the others show how much the result depends on the path."""


HEADS = (
    "path: mean",
    "log10 of mean",
    "largest",
    "U': mean",
    "long run: mean",
    "grid: mean",
    "grid: largest",
    "off the grid",
)
"""Definitions that the table compares; ``docs/economics.md`` explains each."""

QUADRATURE = 7
"""Number of nodes of the Gauss-Hermite rule for expectations without the chain."""


@dataclass(frozen=True)
class Row:
    """Results on one grid: ``mean log10 |e|`` and the other definitions of :data:`HEADS`.

    Parameters
    ----------
    points
        Number of grid points.
    errors
        One number for each definition; nan where it does not exist.
    spread
        Lowest and highest mean of the paths.
    stays
        Share of the periods in which capital does not change.
    """

    points: int
    errors: tuple[float, ...]
    spread: tuple[float, float]
    stays: float

    def cells(self) -> list[str]:
        """Return the cells of the row."""
        published = PUBLISHED.get(self.points)
        shown = [f"{error:.2f}" if np.isfinite(error) else "" for error in self.errors]
        ends = f"{self.spread[0]:.2f} to {self.spread[1]:.2f}"
        return [
            f"{self.points:,}",
            "" if published is None else f"{published:.1f}",
            shown[0],
            ends,
            *shown[1:],
            f"{100 * self.stays:.1f} %",
        ]


def row(points: int, seeds: int, device: str) -> Row:
    """Solve on a grid of ``points`` and return the row of the table.

    Raises
    ------
    ProblemError
        The size is out of range, or the problem was not solved.
    """
    problem = rbc(grid=points)
    result = solve(problem, tol=(1 - problem.beta) * 1e-8, device=device, progress=False)
    if not result.success:
        raise ProblemError(f"the grid of {points:,} points was not solved: {result.message}")
    errors = euler_errors(result)
    paths = [simulate(result, seed=seed, choices="grid") for seed in range(seeds)]
    along = [errors[path.points, path.states] for path in paths]
    first, grid = summary(along[0]), summary(errors)
    means = [float(log10_errors(each).mean()) for each in along]
    # In terms of marginal utility instead of consumption: 1 - beta E[W_x U'(c')] / U'(c).
    utility = summary(1 - (1 - along[0]) ** -problem.eta).mean
    found = (first.mean, first.log10_mean, first.largest, utility, _long_run(result, errors), grid.mean, grid.largest)
    stays = float(np.mean(paths[0].points[1:] == paths[0].points[:-1]))
    return Row(points, (*found, off_the_grid(result)), (min(means), max(means)), stays)


def _long_run(result: Result, errors: Array) -> float:
    """Return the mean of ``log10 |e|`` under the stationary distribution; nan if that is not unique."""
    try:
        mass = stationary_distribution(result, "grid")
    except ProblemError:
        return float("nan")
    return float((mass * np.where(mass > 0, log10_errors(errors), 0.0)).sum())


def off_the_grid(result: Result, periods: int = 10_000, burn_in: int = 1_000, seed: int = 0) -> float:
    """Return the mean of ``log10 |e|`` along a path of the autoregressive process that the chain approximates.

    ``ln z' = rho ln z + sigma e``; the policy is interpolated linearly in ``k`` and ``ln z``, and expectations are
    computed by Gauss-Hermite quadrature, as is usual for policies that are functions and not tables.
    """
    problem = result.problem
    values, grid = result.choice, problem.grid
    assert problem.shock_values is not None
    logs = np.log(problem.shock_values)
    alpha, delta, rho, sigma = (problem.parameters[name] for name in ("alpha", "delta", "rho", "sigma"))

    def ahead(k: Array | float, log_z: Array | float) -> Array:
        i = np.clip(np.searchsorted(grid, k) - 1, 0, grid.size - 2)
        j = np.clip(np.searchsorted(logs, log_z) - 1, 0, logs.size - 2)
        t, u = (k - grid[i]) / (grid[i + 1] - grid[i]), (log_z - logs[j]) / (logs[j + 1] - logs[j])
        low, high = ((1 - u) * values[n, j] + u * values[n, j + 1] for n in (i, i + 1))
        return np.asarray((1 - t) * low + t * high)

    shocks = sigma * np.random.default_rng(seed).standard_normal(burn_in + periods)
    k, log_z = np.empty(shocks.size), np.empty(shocks.size)
    k[0], log_z[0] = grid[grid.size // 2], 0.0
    for t in range(shocks.size - 1):
        k[t + 1], log_z[t + 1] = ahead(k[t], log_z[t]), rho * log_z[t] + shocks[t]
    k, log_z = k[burn_in:], log_z[burn_in:]
    following = ahead(k, log_z)
    nodes, weights = np.polynomial.hermite_e.hermegauss(QUADRATURE)
    total = np.zeros(periods)
    for node, weight in zip(nodes, weights / weights.sum(), strict=True):
        next_log = rho * log_z + sigma * node
        gross = np.exp(next_log) * following**alpha + (1 - delta) * following
        brings = alpha * np.exp(next_log) * following ** (alpha - 1) + 1 - delta
        total += weight * brings * (gross - ahead(following, next_log)) ** -problem.eta
    consumption = np.exp(log_z) * k**alpha + (1 - delta) * k - following
    return summary(1 - (problem.beta * total) ** (-1 / problem.eta) / consumption).mean


def main(argv: list[str] | None = None) -> int:
    """Print the table row by row; return 0 if all solves succeeded."""
    parser = argparse.ArgumentParser(prog="python -m docs.tables.euler", description=__doc__)
    parser.add_argument(
        "--grids", type=int, nargs="+", default=GRIDS, metavar="N", help="grid points (default: 16, 32, ... 65536)"
    )
    parser.add_argument("--seeds", type=int, default=SEEDS, metavar="N", help="paths per grid (default: %(default)s)")
    parser.add_argument("--device", default="cpu", metavar="NAME", help="device that solves (default: %(default)s)")
    given = parser.parse_args(argv)
    heads = ["N_k", "published", HEADS[0], f"of {given.seeds} paths", *HEADS[1:], "k' = k"]
    widths = [max(len(head), 14) for head in heads]

    def line(cells: list[str]) -> str:
        return "| " + " | ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)) + " |"

    print(line(heads))
    print("|" + "|".join("-" * (width + 1) + ":" for width in widths) + "|")
    differences = []
    for points in given.grids:
        try:
            found = row(points, given.seeds, given.device)
            print(line(found.cells()), flush=True)
            if points in PUBLISHED:
                differences.append((points, [error - PUBLISHED[points] for error in found.errors]))
        except ProblemError as error:
            print(f"euler_table: {error}", file=sys.stderr)
            return 1
    for points, off in differences:
        print(f"\nDifference from the published number, {points:,} points:")
        for head, difference in zip(HEADS, off, strict=True):
            print(f"  {head:<16}" + (f"{difference:+.2f}" if np.isfinite(difference) else "not unique"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
