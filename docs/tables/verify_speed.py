"""Compare the time of verification by several searches: ``python -m docs.tables.verify_speed``.

The RBC model of :func:`beltline.host.models.rbc.rbc` is solved once. Its value and policy are then compared with an
exact sweep in three ways, alternately: in one pass that confirms the policy (:mod:`beltline.gpu_ref.confirmation`),
with which every verification of such a problem begins; by the proof of every column
(:mod:`beltline.gpu_ref.general.certificate`), which is used if the pass does not confirm; and by a search of every
state by divide and conquer (:mod:`beltline.gpu_ref.exact`). All include the expectation and the comparison.
``--gpu`` also times the pass on a CUDA device (:mod:`beltline.gpu_ref.cuda.device_confirmation`), including the copies
of all tables to it. In each turn each way is called twice, first when the others have used the caches, then again; both
medians are printed, and the ratio is that of the second calls. The command returns 1 if the ways do not agree.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np

from beltline.gpu_ref.comparison import Confirmed
from beltline.gpu_ref.confirmation import confirmed
from beltline.gpu_ref.cuda.device import available
from beltline.gpu_ref.cuda.device_confirmation import Confirmation
from beltline.gpu_ref.exact import exact_sweep
from beltline.gpu_ref.general.certificate import certify
from beltline.host.bench.options import require_least
from beltline.host.models.rbc import rbc
from beltline.host.problem.problem import Problem
from beltline.host.results.result import Result
from beltline.host.solver.solve import solve


def by_columns(problem: Problem, result: Result) -> Confirmed | None:
    """Return the comparison by the proof of every column."""
    found = certify(problem.form, result.tables, result.change)
    return Confirmed(found.residual, found.rounding) if not found.missed else None


def divided(problem: Problem, result: Result) -> Confirmed:
    """Return the comparison with a sweep by divide and conquer, whose rounding is not bounded."""
    value, _ = exact_sweep(problem.grid, problem.wealth, problem.transition, result.value, problem.beta, problem.eta)
    return Confirmed(float(np.abs(value - result.value).max()), 0.0)


def on_gpu(problem: Problem, result: Result, change: float) -> Confirmed | None:
    """Return the comparison on a CUDA device, to which all tables are copied."""
    card = Confirmation(problem.grid, problem.wealth, problem.transition, problem.beta, problem.eta)
    return card.compare(result.value, result.value, result.policy, change)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m docs.tables.verify_speed", description=__doc__)
    parser.add_argument("--grid", type=int, default=65_536, help="grid points (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=15, help="runs of each, by turns (default: %(default)s)")
    parser.add_argument("--gpu", action="store_true", help="also time a CUDA device")
    asked = parser.parse_args(arguments)
    if asked.gpu and (why := available()):
        parser.error(f"--gpu cannot be used: {why}")
    require_least(parser, asked, grid=4, repeats=1)
    problem = rbc(grid=asked.grid, states=4)
    result = solve(problem, tol=1e-10, device="cpu", verify=False, progress=False)
    tables = problem.grid, problem.wealth, problem.transition, result.value, problem.beta, problem.eta
    change = problem.modulus * result.change
    ways: dict[str, Callable[[], Confirmed | None]] = {
        "as verified": lambda: confirmed(*tables, result.value, result.policy, change),
        "proof of every column": lambda: by_columns(problem, result),
        "divide and conquer": lambda: divided(problem, result),
    }
    if asked.gpu:
        ways["on the GPU"] = lambda: on_gpu(problem, result, change)
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    after_others: dict[str, list[float]] = {name: [] for name in ways}
    found: dict[str, Confirmed] = {}
    # The first turn loads compiled code and is dropped.
    for turn in range(asked.repeats + 1):
        for name, way in ways.items():
            for times in (after_others, seconds):
                begin = time.perf_counter()
                one = way()
                spent = time.perf_counter() - begin
                if one is None:
                    print(f"{name}: not confirmed")
                    return 1
                found[name] = one
                if turn:
                    times[name].append(spent)
    for name, of_name in seconds.items():
        again, at_first = (1e3 * statistics.median(times) for times in (of_name, after_others[name]))
        print(
            f"{asked.grid:,} x 4, {name}: median {again:.2f} ms, {1e3 * min(of_name):.2f} to "
            f"{1e3 * max(of_name):.2f}, and {at_first:.2f} ms after the others; "
            f"residual {found[name].residual:.3g}"
        )
    pairs = zip(seconds["as verified"], seconds["divide and conquer"], strict=True)
    ratio = statistics.median(slow / fast for fast, slow in pairs)
    print(f"As verified: {ratio:.2f} times as fast as divide and conquer, median of {asked.repeats} turns")
    one, *others = found.values()
    return 0 if all(abs(one.residual - other.residual) <= one.rounding + other.rounding for other in others) else 1


if __name__ == "__main__":
    sys.exit(main())
