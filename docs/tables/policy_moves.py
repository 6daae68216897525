"""Print how many choices change in each sweep, and the clocks of a sweep engine's lanes that result.

Run ``python -m docs.tables.policy_moves``. The RBC model of :func:`beltline.host.models.rbc.rbc` is swept by
the software model. For some of the sweeps the table has the sup norm, the number of states whose choice changed since
the sweep before, the largest such change in grid points, and the clocks in which the slowest lane of a sweep engine
reads the expected values around all choices of the sweep before
(:meth:`beltline.hw.sweep.gather.GatherParameters.clocks`, modelled, assuming that no lane loses a turn on the row buses
to another lane).
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from numpy.typing import NDArray

from beltline.host.models.rbc import rbc
from beltline.host.solver.fixed_point import fixed_point
from beltline.hw.arithmetic.numbers import MAXIMUM
from beltline.hw.interface.parameters import ROW_WORDS, MachineParameters
from beltline.hw.interface.registers import Mode, Status
from beltline.hw.line.model import LineSoftwareMachine
from beltline.hw.sweep.gather import GatherParameters
from beltline.hw.sweep.parameters import SweepParameters
from docs.tables.sweep_acceleration import build_of

SHOWN = (2, 3, 5, 10, 20, 50, 100, 140, 200, 300, 400, 600, 1000)


def lane_clocks(build: SweepParameters, policy: NDArray[np.int64]) -> tuple[int, float]:
    """Return the clocks of the slowest lane and the mean of all lanes with states, for a policy ``(N_k, N_z)``."""
    points = ROW_WORDS * build.local_rows(policy.shape[0])
    gather = GatherParameters(build)
    ends = []
    for lane, first in enumerate(range(0, policy.shape[0], points)):
        part = policy[first : first + points]
        states = np.tile(np.arange(policy.shape[1]), part.shape[0])
        ends.append(int(gather.clocks(states, part.ravel(), lane)[-1]) + 1)
    return max(ends), float(np.mean(ends))


def main(arguments: list[str] | None = None) -> int:
    """Sweep to the tolerance and print the table; return 1 if the tolerance is not reached."""
    parser = argparse.ArgumentParser(prog="python -m docs.tables.policy_moves", description=__doc__)
    parser.add_argument("--grid", type=int, default=65_536, help="grid points, a power of two (default: %(default)s)")
    parser.add_argument("--lanes", type=int, default=64, help="lanes, a power of two (default: %(default)s)")
    parser.add_argument("--slots", type=int, default=0, help="lanes that share a bus, 4 or 8 (default: by the lanes)")
    parser.add_argument("--tol", type=float, default=1e-10, help="tolerance (default: %(default)s)")
    given = parser.parse_args(arguments)
    try:
        problem = rbc(grid=given.grid)
        build = build_of(given.grid, given.lanes, given.slots)
        image = fixed_point(problem, given.tol)
        machine = LineSoftwareMachine(MachineParameters(given.grid, problem.states))
    except ValueError as error:
        parser.error(str(error))

    count = image.start.size
    machine.x[:] = MAXIMUM
    machine.x[: given.grid] = image.grid
    machine.w[:] = image.wealth.ravel()
    machine.q[:] = image.transition.ravel()
    machine.v[:] = image.start.ravel()
    machine.start(given.grid, problem.states, Mode(0), 100_000, image.epsilon, image.constants)
    print(f"{'sweep':>6} {'sup norm':>9} {'changed':>9} {'farthest':>9} {'slowest lane':>13} {'mean lane':>10}")
    before = np.zeros(image.start.shape, np.int64)
    total = 0
    done = False
    while not done:
        slowest, mean = lane_clocks(build, before) if machine.sweeps + 1 in SHOWN else (0, 0.0)
        done = machine.step()
        policy = machine.policy[:count].reshape(before.shape).copy()
        moved = policy != before
        total += int(moved.sum())
        if machine.sweeps in SHOWN:
            furthest = int(np.abs(policy - before).max())
            norm = machine.norm * image.value_unit
            print(
                f"{machine.sweeps:>6} {norm:>9.2g} {moved.sum():>9,} {furthest:>9,} {slowest:>13,} {mean:>10,.0f}",
                flush=True,
            )
        before = policy
    print(f"{total:,} of the {machine.sweeps * count:,} choices in {machine.sweeps:,} sweeps changed.")
    print(f"A lane has {count // build.lanes:,} states. Clocks are modelled.")
    return 0 if Status.CONVERGED in machine.status else 1


if __name__ == "__main__":
    sys.exit(main())
