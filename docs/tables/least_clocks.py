"""Print how few clocks the sweep engine could take: ``python -m docs.tables.least_clocks``.

For problems solved as by ``make engines``, the software model's log of every sweep gives three numbers of clocks:

- *clocks*: those of the clock model;
- *without searches*: those of as many sweeps that check the choices that were found, and search no state;
- *at least*: those of a lane in which check, local search and expectation are in progress at the same time: the search
  waits neither for rows nor for the check, and begins from what the check has compared. A sweep then takes the clocks
  without searches, or a clock for each evaluation if these are more than the states of a lane. A choice that moves by
  ``d`` needs ``d`` evaluations, because the utilities of three candidates are stored, but no more than three. The first
  sweep, without stored utilities, needs those that it makes.

So *at least* bounds every engine with one evaluator a lane that checks a state in a clock, and has the latencies of
this one. The build has ``slots=4`` and ``overlap=1``. Nothing is measured on a board.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beltline.host.bench.options import require_least
from beltline.host.models.rbc import rbc
from beltline.host.problem.problem import Problem
from beltline.host.solver.fixed_point import fixed_point
from beltline.hw.interface.parameters import SLOTS
from beltline.hw.sweep.clocks import pass_clocks
from beltline.hw.sweep.lane_clocks import Dealt, SweepLog
from beltline.hw.sweep.model import SweepSoftwareMachine
from beltline.hw.sweep.parameters import SweepParameters
from docs.tables.engines import FAST, FASTER, PLAIN
from docs.tables.sweep_acceleration import Way, begin, build_of, with_shifts

GRIDS = (65_536, 4_096, 1_024)

WAYS = (
    (PLAIN, "plain"),
    (FAST, "shifts, coarse start"),
    (FASTER, "shifts by mid-points, coarse start"),
)
"""Ways to solve, with their names in the table."""

CANDIDATES = 3
"""Evaluations that prove a choice without stored utilities: the choice and its two neighbours."""


def without_search(dealt: Dealt, choices: NDArray[np.int64], shifts: bool) -> int:
    """Return the clocks of a sweep in which every lane checks its states, and all ``choices``, ``(N_k, N_z)``, stay.

    ``shifts`` tells whether shifts are computed after it.
    """
    build = dealt.search.build
    counts = np.zeros((build.lanes, dealt.search.contexts), np.int64)
    probes = np.zeros((counts.size, 1), np.int32)
    searched, unchecked = np.zeros(choices.shape, np.bool_), np.zeros(build.lanes, np.bool_)
    return pass_clocks(dealt, SweepLog(dealt, choices, searched, counts, probes, unchecked), shifts)


def evaluations(dealt: Dealt, moves: NDArray[np.int64]) -> int:
    """Return the evaluations of the lane that needs most, if choices move by ``moves``, ``(N_k, N_z)``."""
    needed = np.minimum(np.abs(moves), CANDIDATES).sum(axis=1)
    return int(np.add.reduceat(needed, np.arange(0, dealt.grid, 1 << dealt.lane_shift)).max())


class _Bounded(SweepSoftwareMachine):
    """A software model that adds up the clocks of its sweeps without searches, and the least of them."""

    still = least = moving = 0

    def _prepare(self, below: bool, value: NDArray[np.int64], before: NDArray[np.int64]) -> None:
        super()._prepare(below, value, before)
        dealt, log = self._dealt, self.log
        assert log is not None
        states = dealt.points(0) * dealt.states
        clocks = without_search(dealt, self._found, bool(self._before.any()))
        if self.sweeps == 1:
            needed = int(log.counts.sum(axis=1).max())
        else:
            needed = evaluations(dealt, self._found - log.choices)
        self.still += clocks
        self.least += clocks + max(needed - states, 0)
        self.moving += bool(log.searched.any())


@dataclass(frozen=True)
class Least:
    """Clocks of a solve.

    Parameters
    ----------
    sweeps, moving
        Numbers of sweeps, and of sweeps with a state that was searched.
    clocks, still, least
        Clocks of the clock model, those without searches, and the lower bound.
    """

    sweeps: int
    moving: int
    clocks: int
    still: int
    least: int


def bounded(problem: Problem, build: SweepParameters, way: Way, tol: float) -> Least:
    """Solve a problem by the software model of a build; return its clocks and their bound."""
    machine = _Bounded(with_shifts(build, way), logged=True)
    begin(machine, problem, way, tol)
    while not machine.step():
        pass
    # Clocks before the first sweep and after the last one are the same in all three.
    others = machine.clocks - sum(machine.sweep_clocks)
    return Least(machine.sweeps, machine.moving, machine.clocks, others + machine.still, others + machine.least)


def main(arguments: list[str] | None = None) -> int:
    """Solve and print."""
    parser = argparse.ArgumentParser(prog="python -m docs.tables.least_clocks", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--grids", type=int, nargs="+", default=[*GRIDS], help="grid points, powers of two")
    parser.add_argument("--lanes", type=int, default=64, help="lanes, a power of two (default: %(default)s)")
    parser.add_argument("--tol", type=float, default=1e-10, help="tolerance (default: %(default)s)")
    given = parser.parse_args(arguments)
    require_least(parser, given, grids=2, lanes=1)
    try:
        problems = [(rbc(grid=grid), build_of(grid, given.lanes, SLOTS[0], overlap=True)) for grid in given.grids]
        for problem, _ in problems:
            fixed_point(problem, given.tol)
    except ValueError as error:
        parser.error(str(error))
    print(f"| {given.lanes} lanes, to {given.tol:g} | sweeps | with a search | clocks | without searches | at least |")
    print("|---|---|---|---|---|---|")
    for problem, build in problems:
        for way, name in WAYS:
            found = bounded(problem, build, way, given.tol)
            figures = (found.sweeps, found.moving, found.clocks, found.still, found.least)
            size = f"{problem.points:,} x {problem.states}"
            print(f"| {size}, {name} | " + " | ".join(f"{figure:,}" for figure in figures) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
