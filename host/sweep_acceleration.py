"""Prints what shifts, start and held sweeps save the sweep engine: ``python -m host.sweep_acceleration``.

The RBC of :func:`host.models.rbc`, swept by the model of the engine in its own numbers
(:class:`hw.sweep.accelerated.AcceleratedMachine`) until a plain maximising sweep changes no value by the tolerance. For every
way: sweeps in all, and those of them that maximise; how many states were walked, and the utilities that were evaluated
for it; clocks of checks (a state of a lane a clock, and ``--latency`` more a sweep), and of walks (a turn of the ring
of walkers for each evaluation of the walker that has most; this and no more, so a lower bound); and of the result,
measured in double precision by a search that needs no concavity, ``max |TV - V|`` and in how many states that search
makes another choice.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpu_ref.coarse import coarse_start
from gpu_ref.exact import exact_sweep
from gpu_ref.methods import stay_start
from host.formats import fixed_point
from host.models import rbc
from host.problem import Problem
from hw.numbers import Fixed
from hw.registers import Mode, Status
from hw.sweep.parameters import SweepParameters
from hw.sweep.accelerated import AcceleratedMachine, Reference

STARTS = ("flat", "stay", "coarse")
"""The problem's own; staying put for ever; a coarse grid's solution, drawn over all points."""

SHIFTS = ("none", "point", "midpoint")

HELD = (0, 1, 4, 10)
"""Sweeps with the choices held fixed after each that maximises."""

LIMIT = 20_000


@dataclass(frozen=True)
class Way:
    """One way to solve."""

    start: str
    shift: str
    held: int


WAYS = (
    Way("flat", "none", 0),
    *(Way(start, shift, 0) for start, shift in itertools.product(STARTS, SHIFTS) if (start, shift) != ("flat", "none")),
    *(Way(start, "point", held) for start, held in itertools.product(STARTS, HELD) if held),
)


def start_value(problem: Problem, start: str, tol: float) -> NDArray[np.float64]:
    """Where a way starts, ``(N_k, N_z)``."""
    if start == "flat":
        return problem.start
    X, W = problem.grid, problem.wealth
    if start == "stay":
        return stay_start(X, W, problem.beta, problem.eta)
    return coarse_start(X, W, problem.transition, problem.beta, problem.eta, tol)


@dataclass(frozen=True)
class Solved:
    """What a way took, and what came of it.

    Parameters
    ----------
    sweeps, maximising, walked, evaluations
        Counts: of the run, of those that maximise, of the states and utilities of their walks.
    walk_clocks
        At least, of all walks.
    residual, others
        Largest ``|TV - V|``, and in how many states an exact search chooses otherwise.
    """

    sweeps: int
    maximising: int
    walked: int
    evaluations: int
    walk_clocks: int
    residual: float
    others: int


def solve(problem: Problem, build: SweepParameters, way: Way, tol: float, index: int | None = None) -> Solved:
    """Run the model to convergence and measure the result; ``index`` is that of the reference point.

    Raises
    ------
    RuntimeError
        The run ended otherwise.
    """
    image = fixed_point(problem, tol)
    reference = Reference.MIDPOINT if way.shift == "midpoint" else Reference.POINT
    machine = AcceleratedMachine(build, way.shift != "none", reference, way.held, index, logged=True)
    points, states = image.start.shape
    count = points * states
    machine.x[:points] = image.grid
    machine.w[:count] = image.wealth.ravel()
    machine.q.reshape(build.states, -1)[:states, :states] = image.transition
    machine.v[:count] = Fixed(image.value_bits).encode(start_value(problem, way.start, tol)).ravel()
    machine.start(points, states, Mode(0), LIMIT, image.epsilon, image.constants)
    turns = maximising = 0
    done = False
    while not done:
        done = machine.step()
        if machine.maximising > maximising:
            maximising = machine.maximising
            assert machine.log is not None
            turns += int(machine.log.counts.max())
    if Status.CONVERGED not in machine.status:
        raise RuntimeError(f"{way} ended with {machine.status!r} after {machine.sweeps:,} sweeps")
    value = np.ldexp(machine.v[:count].astype(np.float64), -image.value_bits).reshape(points, states)
    best, policy = exact_sweep(problem.grid, problem.wealth, problem.transition, value, problem.beta, problem.eta)
    return Solved(
        machine.sweeps,
        machine.maximising,
        sum(machine.walked),
        sum(machine.evaluations),
        turns * machine.walk.clocks,
        float(np.abs(best - value).max()),
        int((policy.ravel() != machine.policy[:count]).sum()),
    )


def main(arguments: list[str] | None = None) -> int:
    """Solve in every way, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m host.sweep_acceleration", description=__doc__)
    parser.add_argument("--grid", type=int, default=65_536, help="grid points, a power of two (default: %(default)s)")
    parser.add_argument("--lanes", type=int, default=64, help="lanes, a power of two (default: %(default)s)")
    parser.add_argument("--tol", type=float, default=1e-10, help="tolerance (default: %(default)s)")
    parser.add_argument(
        "--latency", type=int, default=154, help="clocks of a sweep beyond its states (default: %(default)s)"
    )
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
        f"{'start':<7} {'shift':<9} {'held':>4} {'sweeps':>7} {'maximising':>10} {'walked':>12} {'evaluated':>12} "
        f"{'check clocks':>12} {'walk clocks':>11} {'residual':>9} {'others':>7}"
    )
    clocks = problem.points * problem.states // build.lanes + given.latency
    for way in asked:
        solved = solve(problem, build, way, given.tol, given.point)
        print(
            f"{way.start:<7} {way.shift:<9} {way.held:>4} {solved.sweeps:>7,} {solved.maximising:>10,} "
            f"{solved.walked:>12,} {solved.evaluations:>12,} {solved.sweeps * clocks:>12,} {solved.walk_clocks:>11,} "
            f"{solved.residual:>9.2g} {solved.others:>7,}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
