"""Count the utilities that proven sweeps compute: ``python -m docs.tables.sweep_work``.

The processor's method ``warm`` solves problems with one and with several local maxima. The command prints the number of
utilities per state and sweep after the tenth sweep, and in the last quarter of the sweeps, in which few choices change.
They are counted by running the Python code with compilation turned off, which takes a minute or two. For sovereign
default, whose prices change in every sweep, see :mod:`docs.tables.default_speed`.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import subprocess
import sys
from types import ModuleType

import numpy as np

from beltline.host.models.rbc import rbc
from beltline.host.problem.arrays import Array
from beltline.host.problem.problem import Problem
from docs.tables.several_peaks import STATES, savings, wealths

AFTER, MOST, STILL = 10, 4.0, 0.4
"""Number of first sweeps that are not counted; largest mean of all others, and of the last quarter."""

_INTERPRETED = "NUMBA_DISABLE_JIT"


def problems(points: int) -> dict[str, Problem]:
    """Return problems by name; the savings problems have ``points`` grid points."""
    bent, size = wealths(points), f"{points:,} x {STATES}"
    found = {f"RBC, {points // 2:,} x 4": rbc(points // 2)}
    for name, wealth in bent.items():
        found[f"savings, {name}, {size}"] = savings(wealth)
    for seed in range(3):
        # Jumps at random places, and a random first guess.
        rng = np.random.default_rng(seed)
        jumps = np.where(rng.random((points, STATES)) < 0.01, rng.random((points, 1)), 0.0)
        rough = savings(bent["concave"] + jumps.cumsum(axis=0))
        found[f"savings, random jumps {seed}, {size}"] = dataclasses.replace(rough, start=rng.normal(size=jumps.shape))
    return found


class Counter:
    """Counts the utilities that interpreted searches compute, by sweep."""

    def __init__(self) -> None:
        from beltline.gpu_ref import chunk_sweeps, cpu, utility

        self._solve, self.count, self.after = cpu.solve, 0, [0]
        plain, verdict = utility.crra, chunk_sweeps._verdict

        def counted(consumption: float, eta: float) -> float:
            self.count += 1
            return float(plain(consumption, eta))

        def noted(*given: object) -> object:
            self.after.append(self.count)
            return verdict(*given)

        for module in list(sys.modules.values()):
            if isinstance(module, ModuleType) and getattr(module, "crra", None) is plain:
                module.crra = counted  # type: ignore[attr-defined]
        chunk_sweeps._verdict = noted

    def of(self, problem: Problem, tol: float) -> Array:
        """Return the number of utilities per state of each sweep."""
        self.count, self.after = 0, [0]
        found = self._solve(
            problem.grid, problem.wealth, problem.transition, problem.start, problem.beta, problem.eta, tol
        )
        return np.diff(self.after)[-found.sweeps :] / problem.wealth.size


def main(argv: list[str] | None = None) -> int:
    """Solve, count and print; return 0 if no problem exceeds the limits."""
    parser = argparse.ArgumentParser(prog="python -m docs.tables.sweep_work", description=__doc__)
    parser.add_argument("--points", type=int, default=2_000, help="grid points of savings (default: %(default)s)")
    parser.add_argument(
        "--tol", type=float, default=1e-6, help="largest change in the last sweep (default: %(default)s)"
    )
    given = parser.parse_args(argv)
    if not 50 <= given.points <= 100_000:
        parser.error(f"--points must be from 50 to 100,000, not {given.points}")
    if not 0 < given.tol < np.inf:
        parser.error(f"--tol must be a number above 0, not {given.tol}")
    if os.environ.get(_INTERPRETED) != "1":
        again = [sys.executable, "-m", "docs.tables.sweep_work"]
        sizes = ["--points", str(given.points), "--tol", str(given.tol)]
        return subprocess.run([*again, *sizes], env={**os.environ, _INTERPRETED: "1"}, check=False).returncode
    counter, good = Counter(), True
    for name, problem in problems(given.points).items():
        work = counter.of(problem, given.tol)
        late, last = work[AFTER:].mean(), work[-(work.size // 4) :].mean()
        fine = bool(late <= MOST and last <= STILL)
        good &= fine
        print(
            f"{name}: {work.size:,} sweeps, {late:.2f} utilities per state and sweep after the tenth, {last:.2f} in "
            f"the last quarter{'' if fine else ': MORE than allowed'}",
            flush=True,
        )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
