"""Print the cost of proofs on the sweep engine: ``python -m docs.tables.sweep_proof``.

The RBC model, whose objectives have one local maximum, and the problems of :mod:`docs.tables.several_peaks`
are solved by the software model, with clocks of the clock model. As in every solve, not all sweeps are
proven (``Mode.SPARSE``). Each line has the share of the clocks that proofs take, and the clocks of a sweep relative to
a sweep without proof of the concave problem of the same size. The last column is a run with a proof of every sweep.

Lines ``measure`` compare the share with 10% if the RBC model has its default size, and the clocks of the sweeps of
problems with several peaks with twice those of the concave one. The command returns 1 if a measure does not hold.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from beltline.host.bench.measures import HEADLINE, at_most
from beltline.host.models.rbc import rbc
from beltline.host.problem.problem import Problem
from beltline.host.solver.fixed_point import Image, fixed_point
from beltline.hw.interface.parameters import ROW_WORDS, MachineParameters
from beltline.hw.interface.registers import Engine, Mode, Status
from beltline.hw.sweep.model import SweepSoftwareMachine
from beltline.hw.sweep.parameters import SweepParameters
from docs.tables.several_peaks import savings, wealths

HEADER = (
    "| problem | lanes | sweeps | of them proven | the last | evaluations per state and sweep | of them the proofs' | "
    "most rounds | divided | clocks | of them the proofs' | times a concave sweep | clocks if all are proven |"
)

MOST_SHARE, MOST_TIMES = 0.10, 2.0
"""What is asked: the largest share of proofs in the clocks of the headline problem, and the largest number of clocks
of a sweep of a problem with several peaks, relative to a sweep of a concave one.
"""

LANES, TOL = 64, 1e-6
"""Lanes of the headline problem, and tolerance of the others."""


@dataclass(frozen=True)
class Solved:
    """Work of a run with proofs."""

    sweeps: int
    proofs: int
    proven: bool
    evaluations: float
    of_proof: float
    most_rounds: int
    divided: int
    clocks: int
    proof_clocks: int

    @property
    def plain(self) -> float:
        """Clocks of a sweep without its proof."""
        return (self.clocks - self.proof_clocks) / self.sweeps

    @property
    def share(self) -> float:
        """Share of proofs in the clocks."""
        return self.proof_clocks / self.clocks


def solved(problem: Problem, lanes: int, tol: float, mode: Mode = Mode.SPARSE) -> Solved:
    """Solve on the software model of the smallest build with ``lanes`` lanes."""
    image = fixed_point(problem, tol)
    grid = max(ROW_WORDS * lanes, 1 << (problem.points - 1).bit_length())
    states = 1 << (problem.states - 1).bit_length()
    sizes = MachineParameters(grid, states, engine=Engine.SWEEP, lanes=lanes)
    build = SweepParameters.of(sizes)
    machine = SweepSoftwareMachine(build, logged=True)
    _load(machine, image, mode)
    while not machine.step():
        pass
    work = image.start.size * machine.sweeps
    rounds = [one.rounds for one in machine.proven_by]
    return Solved(
        sweeps=machine.sweeps,
        proofs=sum(one > 0 for one in rounds),
        proven=Status.PROVEN in machine.status,
        evaluations=sum(machine.evaluations) / work,
        of_proof=sum(one.evaluations for one in machine.proven_by) / work,
        most_rounds=max(rounds),
        divided=sum(one.divided for one in machine.proven_by),
        clocks=machine.clocks,
        proof_clocks=sum(one.clocks for one in machine.proven_by),
    )


def _load(machine: SweepSoftwareMachine, image: Image, mode: Mode) -> None:
    points, states = image.start.shape
    work = points * states
    machine.x[:points] = image.grid
    machine.w[:work], machine.v[:work] = image.wealth.ravel(), image.start.ravel()
    machine.q.reshape(machine.build.states, -1)[:states, :states] = image.transition
    machine.start(points, states, mode, 10_000, image.epsilon, image.constants)


def row(problem: Problem, name: str, lanes: int, done: Solved, concave: float, every: Solved) -> str:
    """Return a line of the table; ``concave`` is the clocks of a sweep without proof of the concave problem, ``every``
    the run in which every sweep is proven.
    """
    facts = (
        f"{problem.points:,} x {problem.states}: {name}",
        f"{lanes}",
        f"{done.sweeps:,}",
        f"{done.proofs:,}",
        "yes" if done.proven else "no",
        f"{done.evaluations:.2g}",
        f"{done.of_proof:.2g}",
        f"{done.most_rounds}",
        f"{done.divided}",
        f"{done.clocks:,}",
        f"{done.share:.1%}",
        f"{done.clocks / done.sweeps / concave:.2f}",
        f"{every.clocks:,}",
    )
    return f"| {' | '.join(facts)} |"


def table(problems: Mapping[str, Problem], lanes: int, tol: float) -> float:
    """Print lines of the table, of which the first is that of the concave problem.

    Returns the largest number of clocks of a sweep of the others, relative to a sweep without proof of the first.
    """
    concave = worst = 0.0
    for name, problem in problems.items():
        done, every = solved(problem, lanes, tol), solved(problem, lanes, tol, Mode(0))
        if concave:
            worst = max(worst, done.clocks / done.sweeps / concave)
        concave = concave or done.plain
        print(row(problem, name, lanes, done, concave, every), flush=True)
    return worst


def main(arguments: list[str] | None = None) -> int:
    """Solve and print."""
    parser = argparse.ArgumentParser(prog="python -m docs.tables.sweep_proof", description=__doc__)
    parser.add_argument(
        "--grid", type=int, default=HEADLINE, help="grid points of the RBC model, a power of two (default: %(default)s)"
    )
    parser.add_argument(
        "--lanes", type=int, default=LANES, help="lanes for the RBC model, a power of two (default: %(default)s)"
    )
    parser.add_argument("--few", type=int, default=4, help="lanes for the other models (default: %(default)s)")
    given = parser.parse_args(arguments)
    try:
        for lanes, grid in ((given.lanes, given.grid), (given.few, 2_048)):
            SweepParameters(grid, 4, lanes)
    except ValueError as error:
        parser.error(str(error))
    print(HEADER)
    print("|---|" + "---:|" * (HEADER.count("|") - 2), flush=True)
    problem = rbc(grid=given.grid)
    done, every = (solved(problem, given.lanes, 1e-10, mode) for mode in (Mode.SPARSE, Mode(0)))
    print(row(problem, "RBC", given.lanes, done, done.plain, every), flush=True)
    worst = table({name: savings(wealth) for name, wealth in wealths().items()}, given.few, TOL)
    print()
    what = "clocks of a sweep with several peaks over those of a concave one, the largest"
    holds = at_most(what, MOST_TIMES, worst)
    if (given.grid, given.lanes) == (HEADLINE, LANES):
        holds &= at_most("share of proofs in the clocks of the headline solve", MOST_SHARE, done.share)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
