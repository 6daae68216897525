"""Prints what shifts, start and held sweeps save the sweep engine: ``python -m
beltline.host.bench.sweep_acceleration``.

The RBC of :func:`beltline.host.models.rbc.rbc`, swept by the bit-exact model of the engine until a plain maximising
sweep changes no value by the tolerance. For every way: sweeps; how many states were walked, and the utilities evaluated
for it; clocks, modelled; and of the result, measured in double precision by a search that needs no concavity, the
residual ``max |TV - V|`` and in how many states that search makes another choice.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.exact import exact_sweep
from beltline.gpu_ref.utility import crra_utility
from beltline.host.models.rbc import rbc
from beltline.host.problem.problem import Problem
from beltline.host.solver.fixed_point import fixed_point
from beltline.host.solver.shifts import shift_weights
from beltline.host.solver.starts import start_value
from beltline.hw.arithmetic.numbers import Fixed
from beltline.hw.interface.registers import HELD, Mode, Status
from beltline.hw.sweep.model import SweepSoftwareMachine
from beltline.hw.sweep.parameters import SweepParameters

Start = Literal["flat", "stay", "coarse"]
"""The problem's own; staying put for ever; a coarse grid's solution, drawn over all points."""

STARTS: tuple[Start, ...] = get_args(Start)

SHIFTS = ("none", "point", "midpoint")
"""By nothing; by the change at a point of the grid; by the mean of the smallest and the largest change."""

HELD_SWEEPS = (0, 1, 4, 10)
"""Sweeps with the choices held fixed after each that maximises."""

LIMIT = 20_000


@dataclass(frozen=True)
class Way:
    """One way to solve."""

    start: Start
    shift: str
    held: int


WAYS = (
    *(Way(start, shift, 0) for start, shift in itertools.product(STARTS, SHIFTS)),
    *(Way(start, "point", held) for start, held in itertools.product(STARTS, HELD_SWEEPS) if held),
)


class _Elsewhere(SweepSoftwareMachine):
    """Takes the change of a state elsewhere than at the middle point: ``index``, or None for the midpoint."""

    index: int | None = None

    def _prepare(self, below: bool, value: NDArray[np.int64], before: NDArray[np.int64]) -> None:
        change = value - before
        if self.index is None:
            d = (change.min(axis=0) >> 1) + (change.max(axis=0) >> 1)
        else:
            d = change[self.index]
        moved = before.copy()
        moved[self._grid // 2] += d
        super()._prepare(below, moved, before)


def start_of(problem: Problem, way: Way, tol: float) -> NDArray[np.float64]:
    """Where a way starts, ``(N_k, N_z)``."""
    value = problem.start if way.start == "flat" else start_value(problem, way.start, tol)
    if value is None:
        raise RuntimeError(f"{problem.name} has no {way.start} start")
    return value


class Other(NamedTuple):
    """A state in which an exact search chooses otherwise.

    Parameters
    ----------
    point, state
        Indices of the state.
    choice, exact
        Index that was chosen, and that of the exact search for the same value.
    gap
        By how much their objectives differ, in double precision.
    """

    point: int
    state: int
    choice: int
    exact: int
    gap: float


def compare(problem: Problem, value: NDArray[np.float64], policy: NDArray[np.int64]) -> tuple[float, list[Other]]:
    """The residual of ``value``, ``(N_k, N_z)``, and where its exact maximisers are not ``policy``."""
    X, W, Q, beta, eta = problem.grid, problem.wealth, problem.transition, problem.beta, problem.eta
    best, exact = exact_sweep(X, W, Q, value, beta, eta)
    x, s = np.nonzero(exact != policy)
    ahead = beta * (value @ Q.T)
    ours, theirs = (crra_utility(W[x, s] - X[i], eta) + ahead[i, s] for i in (policy[x, s], exact[x, s]))
    columns = (column.tolist() for column in (x, s, policy[x, s], exact[x, s], np.abs(theirs - ours)))
    return float(np.abs(best - value).max()), [Other(*row) for row in zip(*columns, strict=True)]


@dataclass(frozen=True)
class Solved:
    """What a way took, and what came of it.

    Parameters
    ----------
    sweeps, walked, clocks
        Of the run: ``walked`` are states.
    evaluations
        Of utility, for each sweep.
    busy
        Share of the lanes' clocks in which a lane had a state to check, an evaluation to make, or a state to read once
        more for the expectations of its point.
    residual, others
        Largest ``|TV - V|``, and where an exact search chooses otherwise.
    """

    sweeps: int
    walked: int
    evaluations: list[int]
    clocks: int
    busy: float
    residual: float
    others: list[Other]


def solve(problem: Problem, build: SweepParameters, way: Way, tol: float, point: int | None = None) -> Solved:
    """Run the model to convergence and measure the result; ``point`` is the reference point, by default the middle.

    Raises
    ------
    RuntimeError
        The run ended otherwise.
    """
    image = fixed_point(problem, tol)
    machine = SweepSoftwareMachine(build, logged=True)
    if way.shift == "midpoint" or point is not None:
        machine = _Elsewhere(build, logged=True)
        machine.index = None if way.shift == "midpoint" else point
    points, states = image.start.shape
    count = points * states
    machine.x[:points] = image.grid
    machine.w[:count] = image.wealth.ravel()
    machine.v[:count] = Fixed(image.value_bits).encode(start_of(problem, way, tol)).ravel()
    for table, words in ((machine.q, image.transition), (machine.shift_weights, shift_weights(image.transition))):
        table.reshape(build.states, -1)[:states, :states] = words
    mode = (Mode.SHIFT if way.shift != "none" else 0) | way.held << HELD.start
    machine.start(points, states, Mode(mode), LIMIT, image.epsilon, image.constants)
    while not machine.step():
        pass
    if Status.CONVERGED not in machine.status:
        raise RuntimeError(f"{way} ended with {machine.status!r} after {machine.sweeps:,} sweeps")
    value = np.ldexp(machine.v[:count].astype(np.float64), -image.value_bits).reshape(points, states)
    work = count + sum(map(sum, (machine.checked, machine.evaluations, machine.patched)))
    return Solved(
        machine.sweeps,
        sum(machine.walked),
        machine.evaluations,
        machine.clocks,
        work / build.lanes / machine.clocks,
        *compare(problem, value, machine.policy[:count].reshape(points, states).astype(np.int64)),
    )


def main(arguments: list[str] | None = None) -> int:
    """Solve in every way, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m beltline.host.bench.sweep_acceleration", description=__doc__)
    parser.add_argument("--grid", type=int, default=65_536, help="grid points, a power of two (default: %(default)s)")
    parser.add_argument("--lanes", type=int, default=64, help="lanes, a power of two (default: %(default)s)")
    parser.add_argument("--tol", type=float, default=1e-10, help="tolerance (default: %(default)s)")
    parser.add_argument("--point", type=int, help="reference point of shifts (default: the middle one)")
    parser.add_argument("--start", choices=STARTS, action="append", help="only ways with this start")
    parser.add_argument("--shift", choices=SHIFTS, action="append", help="only ways with this shift")
    parser.add_argument("--held", type=int, action="append", help="only ways with so many held sweeps")
    given = parser.parse_args(arguments)
    try:
        problem = rbc(grid=given.grid)
        build = SweepParameters(given.grid, problem.states, given.lanes)
        fixed_point(problem, given.tol)
    except ValueError as error:
        parser.error(str(error))
    asked = [
        way
        for way in WAYS
        if (not given.start or way.start in given.start)
        and (not given.shift or way.shift in given.shift)
        and (given.held is None or way.held in given.held)
    ]
    if not asked:
        parser.error("no way has this start, shift and number of held sweeps")
    print(
        f"{'start':<7} {'shift':<9} {'held':>4} {'sweeps':>7} {'walked':>12} {'evaluated':>12} {'clocks':>11} "
        f"{'residual':>9} {'others':>7}"
    )
    for way in asked:
        solved = solve(problem, build, way, given.tol, given.point)
        print(
            f"{way.start:<7} {way.shift:<9} {way.held:>4} {solved.sweeps:>7,} {solved.walked:>12,} "
            f"{sum(solved.evaluations):>12,} {solved.clocks:>11,} {solved.residual:>9.2g} {len(solved.others):>7,}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
