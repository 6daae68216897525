"""Print the cost of proofs on the sweep engine: ``python -m beltline.host.bench.sweep_proof``.

The RBC model, whose objectives have one local maximum, and the problems of :mod:`beltline.host.bench.several_peaks` are
solved by the software model with ``proof``, with clocks of the clock model. Each line has the share of the clocks that
proofs take, and the clocks of a sweep relative to a sweep without proof of the concave problem of the same size.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from beltline.host.bench.several_peaks import savings, wealths
from beltline.host.models.rbc import rbc
from beltline.host.problem.problem import Problem
from beltline.host.solver.fixed_point import Image, fixed_point
from beltline.hw.interface.parameters import ROW_WORDS, MachineParameters
from beltline.hw.interface.registers import Engine, Mode, Status
from beltline.hw.sweep.model import SweepSoftwareMachine
from beltline.hw.sweep.parameters import SweepParameters

HEADER = (
    "| problem | lanes | sweeps | proven | evaluations per state and sweep | of them the proof's | rounds per sweep | "
    "most | divided | clocks | of them the proof's | times a concave sweep |"
)


@dataclass(frozen=True)
class Solved:
    """Work of a run with proofs."""

    sweeps: int
    proven: bool
    evaluations: float
    of_proof: float
    rounds: float
    most_rounds: int
    divided: int
    clocks: int
    proof_clocks: int

    @property
    def plain(self) -> float:
        """Clocks of a sweep without its proof."""
        return (self.clocks - self.proof_clocks) / self.sweeps


def solved(problem: Problem, lanes: int, tol: float) -> Solved:
    """Solve on the software model of the smallest build with ``lanes`` lanes, with costs if the problem has one."""
    image = fixed_point(problem, tol)
    grid = max(ROW_WORDS * lanes, 1 << (problem.points - 1).bit_length())
    states = 1 << (problem.states - 1).bit_length()
    costs = problem.cost is not None
    sizes = MachineParameters(grid, states, engine=Engine.SWEEP, lanes=lanes, proof=True, costs=costs)
    build = SweepParameters.of(sizes)
    machine = SweepSoftwareMachine(build, logged=True)
    _load(machine, image)
    while not machine.step():
        pass
    work = image.start.size * machine.sweeps
    rounds = [one.rounds for one in machine.proven_by]
    return Solved(
        sweeps=machine.sweeps,
        proven=Status.PROVEN in machine.status,
        evaluations=sum(machine.evaluations) / work,
        of_proof=sum(one.evaluations for one in machine.proven_by) / work,
        rounds=sum(rounds) / machine.sweeps,
        most_rounds=max(rounds),
        divided=sum(one.divided for one in machine.proven_by),
        clocks=machine.clocks,
        proof_clocks=sum(one.clocks for one in machine.proven_by),
    )


def _load(machine: SweepSoftwareMachine, image: Image) -> None:
    points, states = image.start.shape
    work = points * states
    if machine.build.costs:
        machine.x.reshape(-1, machine.build.states)[:points, :states] = image.grid
    else:
        machine.x[:points] = image.grid
    machine.w[:work], machine.v[:work] = image.wealth.ravel(), image.start.ravel()
    machine.q.reshape(machine.build.states, -1)[:states, :states] = image.transition
    machine.start(points, states, Mode(0), 10_000, image.epsilon, image.constants)


def row(problem: Problem, name: str, lanes: int, done: Solved, concave: float) -> str:
    """Return a line of the table; ``concave`` is the clocks of a sweep without proof of the concave problem."""
    facts = (
        f"{problem.points:,} x {problem.states}: {name}",
        f"{lanes}",
        f"{done.sweeps:,}",
        "yes" if done.proven else "no",
        f"{done.evaluations:.2g}",
        f"{done.of_proof:.2g}",
        f"{done.rounds:.2f}",
        f"{done.most_rounds}",
        f"{done.divided}",
        f"{done.clocks:,}",
        f"{done.proof_clocks / done.clocks:.1%}",
        f"{done.clocks / done.sweeps / concave:.2f}",
    )
    return f"| {' | '.join(facts)} |"


def rows(grid: int, lanes: int, few: int) -> Iterator[str]:
    """Yield the lines of the table: the RBC model on ``lanes`` lanes, the others on ``few``."""
    yield HEADER
    yield "|---|" + "---:|" * 11
    problem = rbc(grid=grid)
    done = solved(problem, lanes, 1e-10)
    yield row(problem, "RBC", lanes, done, done.plain)
    concave = 0.0
    for name, wealth in wealths().items():
        problem = savings(wealth)
        done = solved(problem, few, 1e-6)
        concave = concave or done.plain
        yield row(problem, name, few, done, concave)


def main(arguments: list[str] | None = None) -> int:
    """Solve and print."""
    parser = argparse.ArgumentParser(prog="python -m beltline.host.bench.sweep_proof", description=__doc__)
    parser.add_argument(
        "--grid", type=int, default=65_536, help="grid points of the RBC model, a power of two (default: %(default)s)"
    )
    parser.add_argument(
        "--lanes", type=int, default=64, help="lanes for the RBC model, a power of two (default: %(default)s)"
    )
    parser.add_argument("--few", type=int, default=4, help="lanes for the other models (default: %(default)s)")
    given = parser.parse_args(arguments)
    try:
        for lanes, grid in ((given.lanes, given.grid), (given.few, 2_048)):
            SweepParameters(grid, 4, lanes)
    except ValueError as error:
        parser.error(str(error))
    for line in rows(given.grid, given.lanes, given.few):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
