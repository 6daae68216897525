"""Print the work of each engine for one problem: ``python -m docs.tables.engines``.

The RBC model of :func:`beltline.host.models.rbc.rbc` is solved to the same tolerance. Clocks of the assembly line are
those of its formula (:func:`beltline.hw.line.clocks.run_clocks`), clocks of the sweep engine those of its clock model
(:mod:`beltline.hw.sweep.clocks`); tests find the formula equal to the gateware's counter, and the model within 2%, at
sizes that can be simulated. Times are at 250 MHz, if timing closes: no bitstream was made. A coarse start is computed
by the host, whose time is printed separately. A lane is busy in a clock in which it has a state to check, an evaluation
to make, or a state to read again for the expectations of its point.
"""

from __future__ import annotations

import argparse
import csv
import io
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from beltline.host.models.rbc import rbc
from beltline.host.problem.problem import Problem
from beltline.host.results.files import check_target, replacing
from beltline.host.solver.fixed_point import fixed_point
from beltline.hw.interface.parameters import CLOCK_HZ, MachineParameters
from beltline.hw.line.clocks import run_clocks
from docs.tables.sweep_acceleration import Other, Solved, Way, build_of, solve, start_of

PLAIN = Way("flat", "none", 0)

FAST = Way("coarse", "point", 0)

_MODEL = "clock model"

FIRST = 10
"""Number of first sweeps, in which every choice changes; later evaluations are also counted separately."""

STARTS = 15
"""Times a coarse start is made; the median is printed."""

TIGHTER = 100
"""Divisor of the tolerance for a policy that is that of full search in every state."""


def shown(number: float) -> str:
    """Return a number of a table: three digits, or a whole number from 100 on."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _row(name: str, sweeps: int, clocks: int, source: str, line: int, more: str) -> str:
    ms = shown(clocks / CLOCK_HZ * 1e3)
    return f"| {name} | {sweeps:,} | {clocks:,} | {source} | {ms} ms | {shown(line / clocks)} | {more} |"


def _work(solved: Solved, states: int) -> str:
    evaluations = f"{sum(solved.evaluations) / solved.sweeps / states:.2g} evaluations per state and sweep"
    if later := solved.evaluations[FIRST:]:
        evaluations += f", {sum(later) / len(later) / states:.2g} after {FIRST} sweeps"
    others = f"{len(solved.others):,} choices differ from full search"
    if solved.others:
        others += f", by objectives of {max(other.gap for other in solved.others):.1e} at most"
    return f"{evaluations}; lanes busy {solved.busy:.0%}; residual {solved.residual:.2g}; {others}"


def start_seconds(problem: Problem, way: Way, tol: float) -> float:
    """Return the median time in seconds that this host takes for a start, of :data:`STARTS`.

    One more is made before, which compiles, and is not timed.
    """
    times = []
    for _ in range(STARTS + 1):
        begin = time.perf_counter()
        start_of(problem, way, tol)
        times.append(time.perf_counter() - begin)
    return statistics.median(times[1:])


def rows(grid: int, lanes: int, tol: float, listed: list[tuple[str, Other]]) -> Iterator[str]:
    """Yield the lines of the table; append choices that differ from full search, with the name of the way, to
    ``listed``.
    """
    problem = rbc(grid=grid)
    states = problem.points * problem.states
    build = build_of(grid, lanes)
    size = f"{problem.points:,} x {problem.states} to {tol:g}"
    yield f"| engine, {size} | sweeps | clocks | by | at 250 MHz, modelled | times the line | what it did |"
    yield "|---|---|---|---|---|---|---|"
    plain = solve(problem, build, PLAIN, tol)
    line = run_clocks(MachineParameters(grid=grid, states=problem.states), problem.points, problem.states, plain.sweeps)
    evaluations = f"{3 * (grid.bit_length() - 3) + 4} evaluations per state and sweep"
    yield _row("assembly line", plain.sweeps, line, "formula", line, evaluations)
    listed += [("same bits", other) for other in plain.others]
    name = f"sweep engine, {lanes} lanes, same bits"
    yield _row(name, plain.sweeps, plain.clocks, _MODEL, line, _work(plain, states))
    for goal in (tol, tol / TIGHTER):
        begun = start_seconds(problem, FAST, goal)
        fast = solve(problem, build, FAST, goal)
        listed += [(f"shifts, to {goal:g}", other) for other in fast.others]
        name = f"shifts, coarse start ({begun * 1e3:.2g} ms of this host)"
        name += "" if goal == tol else f", to {goal:g}"
        yield _row(name, fast.sweeps, fast.clocks, _MODEL, line, _work(fast, states))
    yield ""
    yield (
        "Formula: beltline.hw.line.clocks.run_clocks. Clock model: beltline.hw.sweep.clocks. "
        "Tests find the formula equal to the gateware's counter, and the clock model within 2%, "
        "at sizes that can be simulated. Times are those of 250 MHz, if timing closes."
    )


def main(arguments: list[str] | None = None) -> int:
    """Solve and print."""
    parser = argparse.ArgumentParser(prog="python -m docs.tables.engines", description=__doc__)
    parser.add_argument("--grid", type=int, default=65_536, help="grid points, a power of two (default: %(default)s)")
    parser.add_argument("--lanes", type=int, default=64, help="lanes, a power of two (default: %(default)s)")
    parser.add_argument("--tol", type=float, default=1e-10, help="tolerance (default: %(default)s)")
    parser.add_argument("--others", type=Path, metavar="FILE.csv", help="list the choices that differ from full search")
    given = parser.parse_args(arguments)
    try:
        if given.others is not None:
            check_target("others", given.others, (".csv",))
        build_of(given.grid, given.lanes)
        fixed_point(rbc(grid=given.grid), given.tol)
    except ValueError as error:
        parser.error(str(error))
    listed: list[tuple[str, Other]] = []
    for row in rows(given.grid, given.lanes, given.tol, listed):
        print(row, flush=True)
    if given.others is not None:
        stream = io.StringIO(newline="")
        writer = csv.writer(stream)
        writer.writerow(("solve", "grid point", "state", "its choice", "exact choice", "objectives differ by"))
        writer.writerows([(name, *other[:4], f"{other.gap:.3g}") for name, other in listed])
        with replacing(given.others) as file:
            file.write(stream.getvalue().encode("ascii"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
