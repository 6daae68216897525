"""Measure the cost of several local maxima: ``python -m docs.tables.several_peaks``.

The same savings problem is solved by each method, once concave and in variants whose objectives have several local
maxima, each solve right after a concave one. The medians of the ratios of their times, without verification, are
printed. On device ``cpu`` these are processor times of all threads, which other programs affect little. Then savings
problems on random grids are solved, all of which must succeed and be verified.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time

import numpy as np

from beltline.gpu_ref.cuda.device import available
from beltline.host.bench.options import require_least
from beltline.host.problem.arrays import Array
from beltline.host.problem.problem import Problem
from beltline.host.solver.solve import solve

METHODS = ("warm", "mpi", "shift")
POINTS, STATES = 2_000, 5
"""Default size of the problems that are timed."""


def wealths(points: int = POINTS) -> dict[str, Array]:
    """Return cash on hand, ``(points, STATES)``, by name of what shapes it; the first is concave."""
    grid = np.linspace(0.0, 50.0, points)
    plain = 1.03 * grid[:, None] + np.linspace(0.4, 1.6, STATES)
    steps = np.random.default_rng(1).random((40, STATES)).cumsum(axis=0) * 0.3
    return {
        "concave": plain,
        "a floor": np.maximum(plain, 3.0),
        "increasing returns": plain + 0.004 * np.maximum(grid - 20.0, 0.0)[:, None] ** 1.3,
        "jumps": plain + steps[np.searchsorted(np.linspace(0.0, 50.0, 41)[1:-1], grid)],
    }


def stepped(points: int = POINTS) -> dict[str, Array]:
    """Return tables of cash on hand with many steps, by name, ``(points, STATES)`` each.

    It is the same at two, three or five points in a row; or it rises by random amounts at every second or fifth point,
    or at 99 points.
    """
    plain, row = wealths(points)["concave"], np.arange(points)
    rng = np.random.default_rng(1)
    found = {f"flat over {k}": plain[row // k * k] for k in (2, 3, 5)}
    for k in (2, 5):
        found[f"a step every {k}"] = plain + 0.02 * rng.random((points // k + 1, STATES)).cumsum(axis=0)[row // k]
    found["a hundred jumps"] = plain + 0.3 * rng.random((100, STATES)).cumsum(axis=0)[row * 100 // points]
    return found


def savings(wealth: Array) -> Problem:
    """Return a savings problem with this cash on hand, ``(N_k, STATES)``."""
    chain = np.full((STATES, STATES), 0.05) + 0.75 * np.eye(STATES)
    grid = np.linspace(0.0, 50.0, wealth.shape[0])
    return Problem(grid=grid, wealth=wealth, transition=chain, start=np.zeros(wealth.shape), beta=0.95, eta=2.0)


def uneven(seed: int) -> Problem:
    """Return a savings problem with exponentially distributed grid steps; all else is random, too."""
    rng = np.random.default_rng(seed)
    points, states = int(rng.integers(40, 400)), int(rng.integers(1, 6))
    grid = np.append(0.0, rng.exponential(size=points - 1).cumsum())
    grid *= rng.uniform(5.0, 50.0) / grid[-1]
    wealth = rng.uniform(0.98, 1.04) * grid[:, None] + np.sort(rng.uniform(0.3, 2.0, states))
    return Problem(
        grid=grid,
        wealth=wealth,
        transition=rng.dirichlet(np.ones(states), size=states),
        start=np.zeros(wealth.shape),
        beta=rng.uniform(0.9, 0.97),
        eta=rng.uniform(0.5, 6.0),
    )


def seconds(problem: Problem, method: str, device: str) -> float:
    """Return the seconds of one solve without verification; on ``cpu`` processor time, which others affect little."""
    clock = time.process_time if device == "cpu" else time.perf_counter
    begin = clock()
    solve(problem, device=device, method=method, tol=1e-6, verify=False)
    return clock() - begin


def compare(repeats: int, device: str, points: int) -> bool:
    """Print the time of each problem by each method relative to the concave one; return whether all succeeded."""
    bent, steps = wealths(points), stepped(points)
    problems = {name: savings(wealth) for name, wealth in {**bent, **steps}.items()}
    first = next(iter(problems))
    good = True
    for method in METHODS:
        for problem in problems.values():
            good &= solve(problem, device=device, method=method, tol=1e-6).success
            seconds(problem, method, device)
        concave: list[float] = []
        ratios: dict[str, list[float]] = {name: [] for name in problems if name != first}
        for _ in range(repeats):
            for name, found in ratios.items():
                concave.append(seconds(problems[first], method, device))
                found.append(seconds(problems[name], method, device) / concave[-1])
        print(f"{method:9} {points:,} x {STATES}: {first} {statistics.median(concave) * 1e3:.1f} ms", flush=True)
        for names in (bent, steps):
            some = [f"{name} {statistics.median(ratios[name]):.1f}" for name in names if name != first]
            print(f"{'':9} times that: {', '.join(some)}", flush=True)
    print("all verified" if good else "NOT all verified", flush=True)
    return good


def count(problems: int, device: str) -> bool:
    """Print how many of the problems on random grids are solved and verified; return whether all are."""
    failed = []
    for seed in range(problems):
        result = solve(uneven(seed), device=device, tol=1e-6)
        if not result.success:
            failed.append(f"problem {seed}: {result.message}")
    print("\n".join([*failed, f"random grids: {problems - len(failed)} of {problems} problems solved and verified"]))
    return not failed


def main(argv: list[str] | None = None) -> int:
    """Time, count and print; return 0 if every problem was solved and verified."""
    parser = argparse.ArgumentParser(prog="python -m docs.tables.several_peaks", description=__doc__)
    parser.add_argument(
        "--repeats", type=int, default=7, help="runs of each, of which the median is printed (default %(default)s)"
    )
    parser.add_argument("--problems", type=int, default=200, help="problems on random grids (default %(default)s)")
    parser.add_argument(
        "--points", type=int, default=POINTS, help="grid points of the problems that are timed (default %(default)s)"
    )
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu", help="device (default %(default)s)")
    given = parser.parse_args(argv)
    require_least(parser, given, repeats=1, problems=1, points=50)
    if given.device == "gpu" and (why := available()):
        parser.error(f"--device gpu cannot be used: {why}")
    good = [compare(given.repeats, given.device, given.points), count(given.problems, given.device)]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
