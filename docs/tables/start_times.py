"""Print how long a coarse start takes, and what it saves: ``python -m docs.tables.start_times``.

Both starts of :mod:`beltline.gpu_ref.coarse` are computed alternately for the RBC model of
:func:`beltline.host.models.rbc.rbc`, so that other work on the computer affects both alike. Each is timed with the test
by which it is accepted: that of polynomials (:mod:`beltline.gpu_ref.spectral`) by the Bellman equation at some grid
points, that of a coarse grid by an exact sweep over all of them. Medians are printed, with the minimum in brackets. The
last column is the number of sweeps of the sweep engine with shifts that follow, in its bit-exact model.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np

from beltline.gpu_ref.coarse import FEWEST, coarse_start, nearer
from beltline.gpu_ref.spectral import smooth_start
from beltline.host.models.rbc import rbc
from beltline.host.problem.arrays import Array
from beltline.host.problem.problem import Problem
from docs.tables.sweep_acceleration import Way, build_of, solve

WAY = Way("coarse", "point", 0)


def starts(problem: Problem, tol: float) -> dict[str, Callable[[], Array]]:
    """Return the two starts by name, as functions that raise ``RuntimeError`` if the start is not accepted."""
    tables = problem.grid, problem.wealth, problem.transition, problem.beta, problem.eta

    def polynomials() -> Array:
        found = smooth_start(*tables, tol, problem.start)
        if found is None or not found.nearer:
            raise RuntimeError(f"{problem.name} is not smooth enough for polynomials")
        return found.value

    def grid() -> Array:
        found = coarse_start(*tables, tol)
        if not nearer(*tables, problem.start, found):
            raise RuntimeError(f"{problem.name}'s own start is as near as that of a coarse grid")
        return found

    return {"polynomials": polynomials, "coarse grid": grid}


def rows(points: int, lanes: int, tol: float, runs: int) -> Iterator[str]:
    """Yield the lines of the table."""
    problem = rbc(grid=points)
    both = starts(problem, tol)
    drawn = {name: start() for name, start in both.items()}  # This compiles them.
    seconds: dict[str, list[float]] = {name: [] for name in both}
    for _ in range(runs):
        for name, start in both.items():
            begin = time.perf_counter()
            start()
            seconds[name].append(time.perf_counter() - begin)
    build = build_of(points, lanes)
    yield f"| start, {points:,} x {problem.states} to {tol:g} | ms of this host, {runs} runs | sweeps that follow |"
    yield "|---|---|---|"
    for name, value in drawn.items():
        solved = solve(problem, build, WAY, tol, start=value)
        times = f"{statistics.median(seconds[name]) * 1e3:.2f} ({min(seconds[name]) * 1e3:.2f})"
        yield f"| {name} | {times} | {solved.sweeps:,} |"
    apart = np.ptp(drawn["polynomials"] - drawn["coarse grid"], axis=0).max()
    yield ""
    yield f"The two starts differ by {apart:.1e}, apart from a constant for each exogenous state."


def main(arguments: list[str] | None = None) -> int:
    """Time and print."""
    parser = argparse.ArgumentParser(prog="python -m docs.tables.start_times", description=__doc__)
    parser.add_argument("--grid", type=int, default=65_536, help="grid points, a power of two (default: %(default)s)")
    parser.add_argument("--lanes", type=int, default=64, help="lanes, a power of two (default: %(default)s)")
    parser.add_argument("--tol", type=float, default=1e-10, help="tolerance (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=31, help="runs of each start (default: %(default)s)")
    given = parser.parse_args(arguments)
    if given.grid < FEWEST:
        parser.error(f"--grid must be at least {FEWEST}, not {given.grid}")
    if given.runs < 1:
        parser.error(f"--runs must be at least 1, not {given.runs}")
    if not given.tol > 0.0:
        parser.error(f"--tol must be above 0, not {given.tol:g}")
    try:
        build_of(given.grid, given.lanes)
    except ValueError as error:
        parser.error(str(error))
    for row in rows(given.grid, given.lanes, given.tol, given.runs):
        print(row, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
