"""Prints the Euler equation errors of Aldrich et al. (2011), their table 4, by grid: ``python -m
beltline.host.bench.euler_table``.

The RBC of :func:`beltline.host.models.rbc.rbc`, solved to their tolerance ``(1 - beta) 1e-8``; 10,000 periods are
simulated after 1,000 that are dropped, on the grid and on the chain. ``docs/economics.md`` says what the columns are.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from beltline.host.analysis.euler import euler_errors, log10_errors, summary
from beltline.host.analysis.simulation import simulate
from beltline.host.models.rbc import rbc
from beltline.host.problem.checks import ProblemError
from beltline.host.solver.solve import solve

GRIDS = tuple(2**p for p in range(4, 17))
"""The paper's."""

PUBLISHED = {16: -3.8, 65_536: -5.8}
"""About what the paper's table has at its two ends."""

SEEDS = 20
"""Paths, of which the first is the table's; the others say how much a path matters."""


def row(points: int, seeds: int, device: str) -> list[str]:
    """Solve on a grid of ``points`` and return the table's row.

    Raises
    ------
    ProblemError
        The grid is out of range or its solution failed.
    """
    problem = rbc(grid=points)
    result = solve(problem, tol=(1 - problem.beta) * 1e-8, device=device, progress=False)
    if not result.success:
        raise ProblemError(f"the grid of {points:,} points was not solved: {result.message}")
    errors = euler_errors(result)
    paths = [simulate(result, seed=seed) for seed in range(seeds)]
    along = [errors[path.points, path.states] for path in paths]
    first, grid = summary(along[0]), summary(errors)
    means = [float(log10_errors(each).mean()) for each in along]
    stays = float(np.mean(paths[0].points[1:] == paths[0].points[:-1]))
    published = PUBLISHED.get(points)
    return [
        f"{points:,}",
        "" if published is None else f"{published:.1f}",
        f"{first.mean:.2f}",
        f"{min(means):.2f} to {max(means):.2f}",
        f"{first.log10_mean:.2f}",
        f"{first.largest:.2f}",
        f"{grid.mean:.2f}",
        f"{grid.largest:.2f}",
        f"{100 * stays:.1f} %",
    ]


def main(argv: list[str] | None = None) -> int:
    """Print the table, a row as soon as it is there; 0 where all went well."""
    parser = argparse.ArgumentParser(prog="python -m beltline.host.bench.euler_table", description=__doc__)
    parser.add_argument("--grids", type=int, nargs="+", default=GRIDS, metavar="N", help="default: 16, 32, ... 65536")
    parser.add_argument("--seeds", type=int, default=SEEDS, metavar="N", help="paths a grid (default: %(default)s)")
    parser.add_argument("--device", default="cpu", metavar="NAME", help="default: %(default)s")
    given = parser.parse_args(argv)
    heads = ["N_k", "published", "path: mean", f"of {given.seeds} paths", "log10 of mean", "largest"]
    heads += ["grid: mean", "largest", "k' = k"]
    widths = [max(len(head), 14) for head in heads]

    def line(cells: list[str]) -> str:
        return "| " + " | ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)) + " |"

    print(line(heads))
    print("|" + "|".join("-" * (width + 1) + ":" for width in widths) + "|")
    for points in given.grids:
        try:
            print(line(row(points, given.seeds, given.device)), flush=True)
        except ProblemError as error:
            print(f"euler_table: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
