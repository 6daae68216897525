"""Measure whether ``success`` can be trusted: ``python -m beltline.host.bench.guarantees``.

Random problems (:mod:`beltline.host.bench.random_problems`) are solved on every engine by every method, verified and
not. For each result with ``success=True``, the distance from the solution on the grid, which policy iteration in
extended precision computes (:mod:`beltline.gpu_ref.extended`), must be within the ``error_bound`` of the result, and
every choice must be affordable; otherwise the success is *false*. Moreover, no way to solve a problem may fail where
the baseline succeeds. The baseline is the way with the fewest assumptions: on a processor method ``warm``, on a sweep
engine sweeps without shifts from the problem's own ``start``. A way that fails there is *below baseline*. The command
returns 1 if a success is false or a way is below baseline, and lists the seeds. ``--first S --problems 1`` draws the
problem of seed ``S`` again. Sweep engines of 1, 2 and 4 lanes are used in turn, by seed, because they compute the same
bits.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np

from beltline.gpu_ref import extended
from beltline.gpu_ref.methods import METHODS
from beltline.gpu_ref.starts import FEWEST
from beltline.gpu_ref.threads import threads
from beltline.host.bench.random_problems import Drawn, random_problem
from beltline.host.devices.base import DeviceError
from beltline.host.problem.checks import ProblemError
from beltline.host.problem.problem import Problem
from beltline.host.results.result import Result
from beltline.host.solver.reference import AGES
from beltline.host.solver.solve import solve

LANES = (1, 2, 4)
"""Lane counts of the sweep engines; each problem is solved with one of them."""

SWEEPS = 3000
"""Sweep limit of every solve."""

CHOICES = 100
"""Number of choices of method ``interp``, which examines all of them in every state and sweep."""

SHOWN = 5
"""Number of seeds that are listed for each way."""

DEVICES = ("line", "lanes", "cpu", "gpu")
"""Values of ``--devices``: the models of both engines, and the solvers in double precision."""


@dataclass(frozen=True)
class Way:
    """One way to solve a problem: arguments of :func:`beltline.host.solver.solve.solve`."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    baseline: str = ""
    """Name of the baseline on the same device; empty for the baseline itself and without one."""

    def __hash__(self) -> int:
        return hash(self.name)


@dataclass
class Tally:
    """Counts of one way over all problems.

    Attributes
    ----------
    solved
        Results with ``success=True``.
    unbounded
        Those of them whose error bound is infinite.
    failed
        Results without success.
    refused
        Problems that were refused with a sentence.
    false
        Successes whose distance exceeds the bound or whose choices are not affordable: seed and reason.
    below_baseline
        Seeds of problems in which the way failed and the baseline succeeded.
    worst
        Largest ratio of distance and bound of the other successes.
    seconds
        Wall-clock seconds of all solves.
    """

    solved: int = 0
    unbounded: int = 0
    failed: int = 0
    refused: int = 0
    false: list[tuple[int, str]] = field(default_factory=list)
    below_baseline: list[int] = field(default_factory=list)
    worst: float = 0.0
    seconds: float = 0.0

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.solved + other.solved,
            self.unbounded + other.unbounded,
            self.failed + other.failed,
            self.refused + other.refused,
            self.false + other.false,
            self.below_baseline + other.below_baseline,
            max(self.worst, other.worst),
            self.seconds + other.seconds,
        )


def _starts(points: int) -> list[str]:
    return ["given", "stay", "coarse"] if points >= FEWEST else ["given", "stay"]


def ways(drawn: Drawn, devices: Iterable[str]) -> Iterator[Way]:
    """Yield every way that applies to a problem on ``devices``, a selection of :data:`DEVICES`."""
    problem = drawn.problem
    horizon = problem.horizon is not None
    for device in devices:
        if device == "line":
            yield Way("line", {"device": "emulator"})
        elif device == "lanes":
            lanes = LANES[drawn.seed % len(LANES)]
            machine = {"device": "emulator", "lanes": lanes}
            yield Way(f"lanes={lanes}", machine)
            for start in () if horizon else _starts(problem.points):
                yield Way(
                    f"lanes={lanes} shift {start}", machine | {"method": "shift", "start": start}, f"lanes={lanes}"
                )
        else:
            yield from _processor_ways(problem, device)


def _processor_ways(problem: Problem, device: str) -> Iterator[Way]:
    from beltline.gpu_ref.cuda.solver import METHODS as ON_CARD

    known = AGES[device] if problem.horizon is not None else tuple(METHODS) if device == "cpu" else ON_CARD
    for method in known:
        if method == "binary" and (problem.points < 4 or problem.points & (problem.points - 1)):
            continue
        for start in _starts(problem.points) if "start" in METHODS[method].options else [None]:
            options: dict[str, Any] = {} if start is None else {"start": start}
            if method == "interp":
                options["choices"] = CHOICES
            name = f"{device} {method}" + ("" if start is None else f" {start}")
            baseline = "" if method == "warm" else f"{device} warm"
            yield Way(name, {"device": device, "method": method, **options}, baseline)


def exact(problem: Problem) -> extended.Extended:
    """Return the solution of ``problem`` in extended precision."""
    tables = problem.grid, problem.wealth, problem.transition
    if problem.horizon is None:
        return extended.solve(*tables, problem.beta, problem.eta)
    return extended.solve_ages(*tables, problem.start, problem.beta, problem.eta, problem.horizon)


def judge(result: Result, solution: extended.Extended) -> tuple[float, str]:
    """Return the ratio of distance and bound of a success, and what is wrong with it (an empty text if nothing is).

    The distance is a lower bound on the true one; it is 0 if the error bound is infinite.
    """
    problem = result.problem
    chosen = problem.wealth - problem.grid[np.maximum(result.policy, 0)]
    if (result.policy < 0).any() or not (chosen > 0.0).all():
        return 0.0, "a choice is not affordable"
    bound = result.error_bound
    if math.isnan(bound):
        return math.inf, "the bound is nan"
    if math.isinf(bound):
        return 0.0, ""
    distance = solution.distance(result.value)
    if distance <= bound:
        return (distance / bound if bound > 0.0 else 0.0), ""
    return math.inf, f"distance {distance:.3g}, bound {bound:.3g}"


def _attempt(drawn: Drawn, way: Way, verify: bool, solution: extended.Extended, tally: Tally) -> bool | None:
    """Solve in one way and count; return whether it succeeded, or None if it was refused."""
    begin = time.perf_counter()
    try:
        result = solve(drawn.problem, drawn.tol, SWEEPS, progress=False, verify=verify, **way.arguments)
    except (ProblemError, DeviceError):
        tally.refused += 1
        return None
    finally:
        tally.seconds += time.perf_counter() - begin
    if not result.success:
        tally.failed += 1
        return False
    tally.solved += 1
    tally.unbounded += math.isinf(result.error_bound)
    ratio, wrong = judge(result, solution)
    if wrong:
        tally.false.append((drawn.seed, wrong))
    else:
        tally.worst = max(tally.worst, ratio)
    return True


Tallies = dict[tuple[str, bool], Tally]


def measure(
    problems: Iterable[Drawn],
    devices: Iterable[str],
    verify: Iterable[bool] = (True, False),
    report: Callable[[str], None] | None = None,
) -> Tallies:
    """Solve all problems in all ways; return the counts by name of the way and whether results were verified.

    ``report`` is called with a line for each false success, for each way that is below baseline, and every 30 seconds.
    """
    tallies: Tallies = {}
    devices, verify = tuple(devices), tuple(verify)
    last_report = time.monotonic()
    for count, drawn in enumerate(problems, 1):
        solution = exact(drawn.problem)
        tried = tuple(ways(drawn, devices))
        for verified in verify:
            how = f"seed {drawn.seed} ({drawn.kinds}), {'verified' if verified else 'not verified'}"
            succeeded: dict[str, bool | None] = {}
            for way in tried:
                tally = tallies.setdefault((way.name, verified), Tally())
                before = len(tally.false)
                succeeded[way.name] = _attempt(drawn, way, verified, solution, tally)
                if report and len(tally.false) > before:
                    report(f"{how}: {way.name}: {tally.false[-1][1]}")
            for way in tried:
                if succeeded[way.name] is False and succeeded.get(way.baseline):
                    tallies[way.name, verified].below_baseline.append(drawn.seed)
                    if report:
                        report(f"{how}: {way.name} failed where {way.baseline} succeeds")
        if report and time.monotonic() - last_report > 30.0:
            last_report = time.monotonic()
            report(_so_far(count, tallies))
    return tallies


def _so_far(problems: int, tallies: Tallies) -> str:
    false = sum(len(tally.false) for tally in tallies.values())
    below = sum(len(tally.below_baseline) for tally in tallies.values())
    return f"{problems} problems, {false} false successes, {below} below baseline"


PART = 10
"""Number of problems that a process gets at a time."""


def _part(seeds: Sequence[int], points: int | None, devices: Sequence[str]) -> tuple[Tallies, list[str]]:
    lines: list[str] = []
    with threads(1):
        tallies = measure((random_problem(seed, points) for seed in seeds), devices, report=lines.append)
    return tallies, lines


def measure_in_processes(
    seeds: Sequence[int], points: int | None, devices: Sequence[str], jobs: int, report: Callable[[str], None]
) -> Tallies:
    """Measure the problems of ``seeds`` with ``points`` grid points as :func:`measure`, on ``jobs`` processes."""
    tallies: Tallies = {}
    parts = [seeds[begin : begin + PART] for begin in range(0, len(seeds), PART)]
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        done = 0
        for part, (found, lines) in zip(
            parts, pool.map(partial(_part, points=points, devices=devices), parts), strict=True
        ):
            for key, tally in found.items():
                tallies[key] = tallies.get(key, Tally()) + tally
            for line in lines:
                if line.startswith("seed"):
                    report(line)
            done += len(part)
            report(_so_far(done, tallies))
    return tallies


def table(tallies: Tallies) -> str:
    """Return the counts as a Markdown table."""
    lines = [
        "| way | verified | solved | of these without a bound | honest failures | below baseline | refused | false "
        "| worst ratio | seconds |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {name} | {'yes' if verified else 'no'} | {one.solved} | {one.unbounded} | {one.failed} "
        f"| {len(one.below_baseline)} "
        f"| {one.refused} | {len(one.false)} | {one.worst:.2g} | {one.seconds:.1f} |"
        for (name, verified), one in sorted(tallies.items(), key=lambda item: (not item[0][1], item[0][0]))
    ]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Print the table; return 1 if a successful result is wrong or a method fails where its baseline succeeds."""
    parser = argparse.ArgumentParser(prog="python -m beltline.host.bench.guarantees", description=__doc__)
    parser.add_argument("--problems", type=int, default=1000, help="number of problems (default: %(default)s)")
    parser.add_argument(
        "--first", "--seed", type=int, default=0, help="seed of the first problem (default: %(default)s)"
    )
    parser.add_argument(
        "--points", type=int, help="grid points of every problem (default: 12 to 300, and 1,024 to 1,300)"
    )
    parser.add_argument(
        "--devices",
        nargs="+",
        choices=DEVICES,
        default=["line", "lanes", "cpu"],
        help="devices to test (default: all but gpu)",
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the problems (default: %(default)s)")
    given = parser.parse_args(arguments)
    if given.jobs < 1:
        parser.error(f"--jobs must be at least 1, not {given.jobs}")
    if given.problems < 1:
        parser.error(f"--problems must be at least 1, not {given.problems}")
    if not extended.available():
        parser.error("numpy.longdouble has no more precision than a double on this computer")
    seeds = range(given.first, given.first + given.problems)

    def report(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    if given.jobs > 1:
        tallies = measure_in_processes(seeds, given.points, given.devices, given.jobs, report)
    else:
        tallies = measure((random_problem(seed, given.points) for seed in seeds), given.devices, report=report)
    print(table(tallies))
    false = {key: tally.false for key, tally in tallies.items() if tally.false}
    for (name, verified), offenders in sorted(false.items()):
        listed = "; ".join(f"seed {seed}: {wrong}" for seed, wrong in offenders[:SHOWN])
        print(f"\n{name}, {'verified' if verified else 'not verified'}: {listed}")
    below = {key: tally.below_baseline for key, tally in tallies.items() if tally.below_baseline}
    for (name, verified), seeds_below in sorted(below.items()):
        listed = ", ".join(str(seed) for seed in seeds_below[:SHOWN])
        print(f"\n{name}, {'verified' if verified else 'not verified'}: below baseline at seed {listed}")
    solved = sum(tally.solved for tally in tallies.values())
    print(
        f"\n{given.problems:,} problems, {solved:,} successes, {sum(map(len, false.values())):,} false; "
        f"{sum(map(len, below.values())):,} failures where 'warm' or plain sweeps of the same machine succeed."
    )
    return 1 if false or below else 0


if __name__ == "__main__":
    sys.exit(main())
