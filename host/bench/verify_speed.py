"""Verification of a result beside verification by divide and conquer: ``python -m beltline.host.bench.verify_speed``.

The RBC of :func:`beltline.host.models.rbc.rbc` is solved once. Its value and policy are then compared with an exact
sweep by turns: in one pass that confirms the policy (:mod:`beltline.gpu_ref.confirmation`), with which every
verification begins; with the sweep that begins from the policy and proves itself (:mod:`beltline.gpu_ref.brackets`),
where that does not do; and with one that searches every state by divide and conquer (:mod:`beltline.gpu_ref.exact`).
All include the check of the tables, the expectation and the comparison. It ends with 1 where they do not agree.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence

import numpy as np

from beltline.gpu_ref.brackets import Indexes, Swept, proven
from beltline.gpu_ref.compare import Allowed, compare
from beltline.gpu_ref.exact import divide_and_conquer
from beltline.gpu_ref.tables import Array
from beltline.host.models.rbc import rbc
from beltline.host.solver.fixed_point import modulus
from beltline.host.solver.solve import solve


def divided(X: Array, W: Array, ev: Array, eta: float, first: Indexes) -> Swept:
    """A sweep by divide and conquer, as :func:`beltline.gpu_ref.brackets.proven`; ``first`` decides nothing."""
    value, policy = np.empty(W.shape), np.empty_like(first)
    divide_and_conquer(X, W, ev, eta, value, policy)
    return Swept(value, policy, slack=0.0, rounds=0, evaluations=0, divided=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m beltline.host.bench.verify_speed", description=__doc__)
    parser.add_argument("--grid", type=int, default=65_536, help="grid points (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=15, help="times each, by turns (default: %(default)s)")
    asked = parser.parse_args(arguments)
    for name, least in (("grid", 4), ("repeats", 1)):
        if getattr(asked, name) < least:
            parser.error(f"--{name} must be at least {least}, not {getattr(asked, name)}")
    problem = rbc(grid=asked.grid, states=4)
    result = solve(problem, tol=1e-10, device="cpu", verify=False, progress=False)
    tables = problem.grid, problem.wealth, problem.transition, result.value, problem.beta, problem.eta
    allowed = Allowed(modulus(problem) * result.change)
    ways = {"as verified": None, "a sweep from the policy": proven, "divide and conquer": divided}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    found = {}
    # The first turn loads compiled code, and does not count.
    for turn in range(asked.repeats + 1):
        for name, search in ways.items():
            begin = time.perf_counter()
            found[name] = compare(*tables, result.value, result.policy, allowed, search)
            if turn:
                seconds[name].append(time.perf_counter() - begin)
    for name, spent in seconds.items():
        print(
            f"{asked.grid:,} x 4, {name}: median {1e3 * statistics.median(spent):.1f} ms, {1e3 * min(spent):.1f} to "
            f"{1e3 * max(spent):.1f}; residual {found[name].residual:.3g}, {found[name].missed} missed"
        )
    first, _, last = seconds.values()
    ratio = statistics.median(b / a for a, b in zip(first, last, strict=True))
    print(f"As verified beside divide and conquer: {ratio:.2f} times as fast, median of {asked.repeats} turns")
    one, *others = found.values()
    same = all(abs(one.residual - other.residual) <= one.rounding + other.rounding for other in others)
    return 0 if same and not any(each.missed for each in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
