"""Print how much work shifts, starts and policy evaluation steps save on the sweep engine.

Run ``python -m docs.tables.sweep_acceleration``. The RBC model of :func:`beltline.host.models.rbc.rbc` is
solved by the bit-exact model of the engine until a maximising sweep without shift changes every value by less than the
tolerance. The table has for each way: sweeps; the number of states with a local search, and of utilities evaluated;
clocks, modelled; and for the result, measured in double precision by a search that needs no concavity, the residual
``max |TV - V|`` and the number of states in which that search makes another choice.
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
from beltline.host.solver.fixed_point import Image, fixed_point, shift_weights
from beltline.host.solver.prepare import start_value
from beltline.hw.arithmetic.numbers import Fixed
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import STEPS_FIELD, Engine, Mode, Status
from beltline.hw.sweep.model import SweepSoftwareMachine
from beltline.hw.sweep.parameters import SweepParameters

Start = Literal["flat", "stay", "coarse"]
"""Starts: the problem's own; the value of never changing the state; a coarse grid's solution, interpolated."""

STARTS: tuple[Start, ...] = get_args(Start)

SHIFTS = ("none", "point")
"""Shifts after a sweep: none, or by the change at one grid point."""

EVALUATION_STEPS = (0, 1, 4, 10)
"""Numbers of policy evaluation steps after each maximising sweep."""

LIMIT = 20_000


@dataclass(frozen=True)
class Way:
    """One way to solve."""

    start: Start
    shift: str
    steps: int


WAYS = (
    *(Way(start, shift, 0) for start, shift in itertools.product(STARTS, SHIFTS)),
    *(Way(start, "point", steps) for start, steps in itertools.product(STARTS, EVALUATION_STEPS) if steps),
)


class _Elsewhere(SweepSoftwareMachine):
    """A software model that computes shifts from the change at grid point ``index`` instead of the middle point."""

    index: int = 0

    def _prepare(self, below: bool, value: NDArray[np.int64], before: NDArray[np.int64]) -> None:
        moved = before.copy()
        moved[self._grid // 2] += (value - before)[self.index]
        super()._prepare(below, moved, before)


def start_of(problem: Problem, way: Way, tol: float) -> NDArray[np.float64]:
    """Return the first guess of a way, ``(N_k, N_z)``."""
    value = problem.start if way.start == "flat" else start_value(problem, way.start, tol)
    if value is None:
        raise RuntimeError(f"{problem.name} has no {way.start} start")
    return value


class Other(NamedTuple):
    """A state in which an exact search makes another choice.

    Parameters
    ----------
    point, state
        Indices of the state.
    choice, exact
        Index of the choice, and that of the exact search for the same value.
    gap
        Absolute difference of their objectives, in double precision.
    """

    point: int
    state: int
    choice: int
    exact: int
    gap: float


def compare(problem: Problem, value: NDArray[np.float64], policy: NDArray[np.int64]) -> tuple[float, list[Other]]:
    """Return the residual of ``value``, ``(N_k, N_z)``, and the states whose exact maximiser is not ``policy``."""
    X, W, Q, beta, eta = problem.grid, problem.wealth, problem.transition, problem.beta, problem.eta
    best, exact = exact_sweep(X, W, Q, value, beta, eta)
    x, s = np.nonzero(exact != policy)
    ahead = beta * (value @ Q.T)
    ours, theirs = (crra_utility(W[x, s] - X[i], eta) + ahead[i, s] for i in (policy[x, s], exact[x, s]))
    columns = (column.tolist() for column in (x, s, policy[x, s], exact[x, s], np.abs(theirs - ours)))
    return float(np.abs(best - value).max()), [Other(*row) for row in zip(*columns, strict=True)]


@dataclass(frozen=True)
class Solved:
    """Work and outcome of a way.

    Parameters
    ----------
    sweeps, searched, clocks
        Numbers of sweeps, of states with a local search, and of clocks.
    evaluations
        Number of utilities evaluated in each sweep.
    busy
        Share of the lanes' clocks in which a lane had a state to check, an evaluation to make, or a state to read again
        for the expectations of its point.
    residual, others
        Largest ``|TV - V|``, and the states in which an exact search makes another choice.
    """

    sweeps: int
    searched: int
    evaluations: list[int]
    clocks: int
    busy: float
    residual: float
    others: list[Other]


def build_of(grid: int, lanes: int) -> SweepParameters:
    """Return the sweep engine of a machine with this number of lanes.

    Raises
    ------
    ValueError
        No machine has these sizes.
    """
    return SweepParameters.of(MachineParameters(grid=grid, engine=Engine.SWEEP, lanes=lanes))


def begin(
    machine: SweepSoftwareMachine, problem: Problem, way: Way, tol: float, start: NDArray[np.float64] | None = None
) -> Image:
    """Load a model of an engine with a problem, and begin a run; ``start`` is the first guess, by default that of the
    way.
    """
    image = fixed_point(problem, tol)
    points, states = image.start.shape
    count = points * states
    machine.x[:points] = image.grid
    machine.w[:count] = image.wealth.ravel()
    machine.v[:count] = Fixed(image.value_bits).encode(start_of(problem, way, tol) if start is None else start).ravel()
    for table, words in ((machine.q, image.transition), (machine.shift_weights, shift_weights(image.transition))):
        table.reshape(machine.build.states, -1)[:states, :states] = words
    mode = Mode.SPARSE | (Mode.SHIFT if way.shift != "none" else 0) | way.steps << STEPS_FIELD.start
    machine.start(points, states, Mode(mode), LIMIT, image.epsilon, image.constants)
    return image


def solve(
    problem: Problem,
    build: SweepParameters,
    way: Way,
    tol: float,
    point: int | None = None,
    start: NDArray[np.float64] | None = None,
) -> Solved:
    """Run the model to convergence and measure the result.

    ``point`` is the reference point, by default the middle one; ``start`` the first guess, by default that of ``way``.

    Raises
    ------
    RuntimeError
        The run did not converge.
    """
    machine = SweepSoftwareMachine(build, logged=True)
    if point is not None:
        machine = _Elsewhere(build, logged=True)
        machine.index = point
    image = begin(machine, problem, way, tol, start)
    points, states = image.start.shape
    count = points * states
    while not machine.step():
        pass
    if Status.CONVERGED not in machine.status:
        raise RuntimeError(f"{way} ended with {machine.status!r} after {machine.sweeps:,} sweeps")
    value = np.ldexp(machine.v[:count].astype(np.float64), -image.value_bits).reshape(points, states)
    work = count + sum(map(sum, (machine.checked, machine.evaluations, machine.patched)))
    return Solved(
        machine.sweeps,
        sum(machine.searched),
        machine.evaluations,
        machine.clocks,
        work / machine.build.lanes / machine.clocks,
        *compare(problem, value, machine.policy[:count].reshape(points, states).astype(np.int64)),
    )


def main(arguments: list[str] | None = None) -> int:
    """Solve in every way and print the table."""
    parser = argparse.ArgumentParser(prog="python -m docs.tables.sweep_acceleration", description=__doc__)
    parser.add_argument("--grid", type=int, default=65_536, help="grid points, a power of two (default: %(default)s)")
    parser.add_argument("--lanes", type=int, default=64, help="lanes, a power of two (default: %(default)s)")
    parser.add_argument("--tol", type=float, default=1e-10, help="tolerance (default: %(default)s)")
    parser.add_argument("--point", type=int, help="reference point of shifts (default: the middle one)")
    parser.add_argument("--start", choices=STARTS, action="append", help="only variants with this start")
    parser.add_argument("--shift", choices=SHIFTS, action="append", help="only variants with this shift")
    parser.add_argument(
        "--steps", type=int, action="append", help="only variants with this number of policy evaluation steps"
    )
    parser.add_argument("--held", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.held is not None:
        parser.error("--held has a new name: --steps")
    try:
        problem = rbc(grid=given.grid)
        build = build_of(given.grid, given.lanes)
        fixed_point(problem, given.tol)
    except ValueError as error:
        parser.error(str(error))
    asked = [
        way
        for way in WAYS
        if (not given.start or way.start in given.start)
        and (not given.shift or way.shift in given.shift)
        and (given.steps is None or way.steps in given.steps)
    ]
    if not asked:
        steps = sorted({way.steps for way in WAYS if way.steps})
        parser.error(
            f"no variant has start {given.start}, shift {given.shift} and steps {given.steps} together: steps are 0, "
            f"or one of {', '.join(map(str, steps))} with shift 'point'"
        )
    print(
        f"{'start':<7} {'shift':<9} {'steps':>5} {'sweeps':>7} {'searched':>12} {'evaluated':>12} {'clocks':>11} "
        f"{'residual':>9} {'others':>7}"
    )
    for way in asked:
        solved = solve(problem, build, way, given.tol, given.point)
        print(
            f"{way.start:<7} {way.shift:<9} {way.steps:>5} {solved.sweeps:>7,} {solved.searched:>12,} "
            f"{sum(solved.evaluations):>12,} {solved.clocks:>11,} {solved.residual:>9.2g} {len(solved.others):>7,}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
