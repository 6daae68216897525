"""Time the default method and methods that economists use now: ``python -m beltline.host.bench.defaults``.

A problem of saving with income risk is solved by each of the following, alternately and timed from call to return:

- ``bl.solve(problem)``, with verification;
- value function iteration in a loop of twenty lines, compiled by Numba, whose search starts at the choice of the grid
  point below and stops at the first worse choice;
- policy iteration on pairs of states and choices: by ``bl.from_discrete_dp``, with verification, and by QuantEcon's
  ``DiscreteDP`` if it is installed (``pip install 'beltline[bench]'``). The time to make the pairs is not included.

The command returns 1 if values differ by more than their error bounds, or if a measure does not hold: on 500 and on
2,000 grid points the default must be 3 times as fast as the loop and 20 times as fast as ``DiscreteDP``.

``--rules`` instead times every method that the rules of :mod:`beltline.host.solver.rules` can choose, on many problems,
and marks the one that they choose. ``--gpu`` also times a GPU.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import math
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from beltline.compiled import njit
from beltline.gpu_ref.cuda.device import available
from beltline.gpu_ref.tables import Array
from beltline.host.bench.measures import at_least
from beltline.host.bench.options import require_least
from beltline.host.models.rbc import rbc
from beltline.host.problem.discrete_dp import from_discrete_dp
from beltline.host.problem.discrete_of import to_discrete_dp
from beltline.host.problem.markov import tauchen
from beltline.host.problem.problem import Problem
from beltline.host.solver.rules import ways
from beltline.host.solver.solve import solve

TOL = 1e-10
LOOP = "a monotone Numba loop"
OURS, THEIRS = "the same as pairs, proven", "DiscreteDP, policy iteration"
"""Names of the runs that are compared with the default."""

SIZES = (500, 2000)
"""Grid points of the problems on which :data:`ASKED` is asked."""

ASKED = {LOOP: 3.0, THEIRS: 20.0}
"""How many times as long as the default a run must take."""


def savings(points: int, beta: float = 0.95, eta: float = 2.0, floor: float = 0.0, states: int = 5) -> Problem:
    """Return the problem of saving from 0 to 40 at 3% with AR(1) log income; ``floor`` is the least cash on hand."""
    log_income, transition = tauchen(states, rho=0.9, sigma=0.2)
    assets = 40.0 * np.linspace(0.0, 1.0, points) ** 2
    wealth = np.maximum(1.03 * assets[:, None] + np.exp(log_income), floor)
    return Problem(
        grid=assets, wealth=wealth, transition=transition, start=np.zeros_like(wealth), beta=beta, eta=eta,
        name="savings" if not floor else "savings, floor",
    )  # fmt: skip


@njit(cache=True)
def loop(X: Array, W: Array, Q: Array, beta: float, eta: float, tol: float) -> Array:
    """Solve by value function iteration as a textbook does in twenty lines; exact for concave problems."""
    value = np.zeros(W.shape)
    for _ in range(1, 100_000):
        expected, new = beta * value @ Q.T, np.empty(W.shape)
        for s in range(W.shape[1]):
            low = 0
            for x in range(W.shape[0]):
                best = -np.inf
                for i in range(low, X.size):
                    c = W[x, s] - X[i]
                    if c <= 0.0:
                        break
                    now = (np.log(c) if eta == 1.0 else c ** (1.0 - eta) / (1.0 - eta)) + expected[i, s]
                    if now < best:
                        break
                    best, low = now, i
                new[x, s] = best
        change = np.abs(new - value).max()
        value = new
        if change < tol:
            break
    return value


def discrete_dp(problem: Problem) -> dict[str, Callable[[], Array]]:
    """Make the tables of all affordable pairs; return functions that solve them by policy iteration, by name."""
    arrays = to_discrete_dp(problem)
    shape = problem.wealth.shape
    ours = from_discrete_dp(*arrays)
    runs = {OURS: lambda: np.asarray(solve(ours, tol=TOL, progress=False).value.reshape(shape))}
    if importlib.util.find_spec("quantecon") is not None:
        theirs = importlib.import_module("quantecon.markov").DiscreteDP(*arrays)
        runs[THEIRS] = lambda: np.asarray(theirs.solve(method="policy_iteration").v.reshape(shape))
    return runs


def timed(runs: dict[str, Callable[[], Any]], repeats: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Run all alternately; return the median seconds and the last result of each. A first run, which compiles, is not
    timed.
    """
    spent: dict[str, list[float]] = {name: [] for name in runs}
    found = {}
    for turn in range(repeats + 1):
        for name, run in runs.items():
            begin = time.perf_counter()
            found[name] = run()
            if turn:
                spent[name].append(time.perf_counter() - begin)
    return {name: statistics.median(each) for name, each in spent.items()}, found


def compare(points: int, repeats: int) -> bool:
    """Time one size and print; return whether all values agree and all measures hold."""
    problem = savings(points)
    tables = problem.grid, problem.wealth, problem.transition, problem.beta, problem.eta, TOL
    runs: dict[str, Callable[[], Any]] = {
        "bl.solve": lambda: solve(problem, tol=TOL, progress=False),
        LOOP: lambda: loop(*tables),
        **discrete_dp(problem),
    }
    seconds, found = timed(runs, repeats)
    result = found["bl.solve"]
    size = f"savings {points:,} x {problem.states}"
    print(f"{size}, {result.chosen}")
    bounds = {LOOP: TOL / (1.0 - problem.beta), OURS: TOL / (1.0 - problem.beta), THEIRS: 1e-9}
    same = bool(result.success)
    for name, spent in seconds.items():
        text = ""
        if name in bounds:
            gap = float(np.abs(found[name] - result.value).max())
            same &= gap <= bounds[name] + result.error_bound
            text = f", {spent / seconds['bl.solve']:.1f} times as long; values differ by {gap:.2g} at most"
        print(f"  {name:<30}{1e3 * spent:10.2f} ms{text}", flush=True)
    passed = [
        at_least(f"{size}: {name} over bl.solve", times, seconds[name] / seconds["bl.solve"])
        for name, times in ASKED.items()
        if points in SIZES and name in seconds
    ]
    return same and all(passed)


def problems(largest: int) -> list[Problem]:
    """Return the problems on which the rules are measured, those with at most ``largest`` states."""
    found = [rbc(grid=grid) for grid in (64, 256, 1024, 4096, 16_384, 65_536)]
    found += [rbc(grid=grid, beta=beta) for grid in (1024, 65_536) for beta in (0.8, 0.95, 0.99)]
    found += [savings(points, beta) for points in (100, 500, 2000, 20_000) for beta in (0.5, 0.8, 0.88, 0.92, 0.96)]
    found += [savings(2000, eta=eta) for eta in (1.0, 5.0)]
    found += [savings(points, floor=2.0) for points in (500, 2000)]
    found.append(savings(1000, states=15))
    return [one for one in found if one.points * one.states <= largest]


CANDIDATES: dict[str, dict[str, Any]] = {
    "warm": {"method": "warm"},
    "shift, stay": {"method": "shift", "start": "stay"},
    "shift, coarse": {"method": "shift", "start": "coarse"},
    "mpi": {"method": "mpi"},
    "mpi, coarse": {"method": "mpi", "start": "coarse"},
}
"""Methods that the rules can choose, and similar ones."""


def rules(repeats: int, device: str, largest: int) -> bool:
    """Time :data:`CANDIDATES` on every problem and print; return whether all succeed."""
    names = [*CANDIDATES, "chosen / best"]
    print(f"{'ms on ' + device:<34}{''.join(f'{name:>16}' for name in names)}")
    succeeded, lost = True, []
    for problem in problems(largest):
        runs: dict[str, Callable[[], Any]] = {
            name: partial(solve, problem, tol=TOL, device=device, progress=False, **options)
            for name, options in CANDIDATES.items()
        }
        seconds, found = timed(runs, repeats)
        succeeded &= all(result.success for result in found.values())
        way = ways(problem)[0]
        taken = {"method": way.method, **way.options}
        (mark,) = (name for name, options in CANDIDATES.items() if options == taken)
        lost.append(seconds[mark] / min(seconds.values()))
        title = f"{problem.name} {problem.points:,} x {problem.states}, {problem.modulus:.3g}, {problem.eta:g}"
        cells = (f"{'*' if name == mark else ''}{1e3 * spent:.2f}" for name, spent in seconds.items())
        print(f"{title:<34}{''.join(f'{cell:>16}' for cell in cells)}{lost[-1]:>16.2f}", flush=True)
    print(
        f"the method that the rule chooses (*) is slower than the fastest of these by a factor of "
        f"{math.exp(statistics.mean(map(math.log, lost))):.2f} on average (geometric mean), {max(lost):.2f} at most"
    )
    return succeeded


def on_gpu(repeats: int) -> bool:
    """Time processors and a GPU alternately, with the methods that the rules choose; return whether they agree."""
    same = True
    for problem in [rbc(grid=2**n) for n in range(8, 19, 2)] + [rbc(grid=65_536, states=16), savings(20_000)]:
        runs: dict[str, Callable[[], Any]] = {
            device: partial(solve, problem, tol=TOL, device=device, method="auto", progress=False)
            for device in ("cpu", "gpu")
        }
        begin = time.perf_counter()
        runs["gpu"]()
        first = time.perf_counter() - begin
        seconds, found = timed(runs, repeats)
        gap = float(np.abs(found["cpu"].value - found["gpu"].value).max())
        same &= all(one.success for one in found.values())
        same &= gap <= sum(one.error_bound for one in found.values())
        parts = ", ".join(f"{name} {1e3 * spent:.2f}" for name, spent in found["gpu"].timing.items())
        print(
            f"{problem.name} {problem.points:,} x {problem.states}: cpu {1e3 * seconds['cpu']:.2f} ms, "
            f"gpu {1e3 * seconds['gpu']:.2f} ms ({parts}), its first call {1e3 * first:.0f} ms",
            flush=True,
        )
    return same


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m beltline.host.bench.defaults", description=__doc__)
    parser.add_argument("--points", type=int, nargs="+", default=[*SIZES], help="grid points (default: 500 2000)")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each, by turns (default: %(default)s)")
    parser.add_argument("--rules", action="store_true", help="time every method that the rules can choose")
    parser.add_argument("--largest", type=int, default=2**20, help="largest number of states of a problem of --rules")
    parser.add_argument("--gpu", action="store_true", help="time a GPU beside the processors")
    asked = parser.parse_args(arguments)
    require_least(parser, asked, points=8, repeats=1, largest=256)
    if asked.gpu and (why := available()):
        parser.error(f"--gpu cannot be used: {why}")
    if asked.rules:
        return 0 if rules(asked.repeats, "gpu" if asked.gpu else "cpu", asked.largest) else 1
    if asked.gpu:
        return 0 if on_gpu(asked.repeats) else 1
    passed = [compare(points, asked.repeats) for points in asked.points]
    if importlib.util.find_spec("quantecon") is None:
        print(
            "QuantEcon is not installed, so that its DiscreteDP is not timed and its measure not taken: "
            "pip install 'beltline[bench]'"
        )
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
