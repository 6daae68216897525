"""Measures whether success can be trusted: ``python -m beltline.host.bench.guarantees``.

Random problems (:mod:`beltline.host.bench.random_problems`) are solved on every engine by every method, verified and
not. Of each result with ``success=True`` the distance from the solution on the grid, which policy iteration in extended
precision finds (:mod:`beltline.gpu_ref.extended`), must be within the ``error_bound`` that the result states, and every
choice must be affordable. What breaks either is a *false success*. And no way may fail where the one that rests on
least succeeds: on a processor method ``warm``, on a sweep engine plain sweeps from the problem's own start; a way that
does is *behind* it. The command ends with 1 where a success is false or a way is behind, and lists the seeds.
``--first S --problems 1`` draws the problem of seed ``S`` again. A sweep engine of 1, 2 or 4 lanes takes a problem in
turn, by its seed, for their bits are the same.
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
from beltline.gpu_ref.coarse import FEWEST
from beltline.gpu_ref.methods import METHODS
from beltline.gpu_ref.threads import threads
from beltline.host.bench.random_problems import Drawn, random_problem
from beltline.host.devices.base import DeviceError
from beltline.host.problem.checks import ProblemError
from beltline.host.problem.problem import Problem
from beltline.host.results.result import Result
from beltline.host.solver.reference import AGES
from beltline.host.solver.solve import solve

LANES = (1, 2, 4)
"""Sweep engines that are tried, one a problem."""

SWEEPS = 3000
"""Sweep limit of every solve."""

CHOICES = 100
"""Of method ``interp``, which looks at all of them in every state and sweep."""

SHOWN = 5
"""Offenders that are listed for each way."""

DEVICES = ("line", "lanes", "cpu", "gpu")
"""What ``--devices`` knows: the models of both engines, and the solvers in double precision."""


@dataclass(frozen=True)
class Way:
    """One way to solve a problem: arguments of :func:`beltline.host.solver.solve.solve`."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    least: str = ""
    """The way that rests on least on the same machine; empty where it is this one, or there is none."""

    def __hash__(self) -> int:
        return hash(self.name)


@dataclass
class Tally:
    """What one way did with all problems.

    Attributes
    ----------
    solved
        Results with ``success=True``.
    unbounded
        Those of them whose bound is infinite.
    failed
        Results without success.
    refused
        Problems that were refused with a sentence.
    false
        Successes whose distance exceeds the bound, or that choose what is not affordable: seed and reason.
    behind
        Seeds of what failed though the way that rests on least succeeded.
    worst
        Largest distance over bound of the others.
    seconds
        Of all solves.
    """

    solved: int = 0
    unbounded: int = 0
    failed: int = 0
    refused: int = 0
    false: list[tuple[int, str]] = field(default_factory=list)
    behind: list[int] = field(default_factory=list)
    worst: float = 0.0
    seconds: float = 0.0

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.solved + other.solved,
            self.unbounded + other.unbounded,
            self.failed + other.failed,
            self.refused + other.refused,
            self.false + other.false,
            self.behind + other.behind,
            max(self.worst, other.worst),
            self.seconds + other.seconds,
        )


def _starts(points: int) -> list[str]:
    return ["given", "stay", "coarse"] if points >= FEWEST else ["given", "stay"]


def ways(drawn: Drawn, devices: Iterable[str]) -> Iterator[Way]:
    """Every way that applies to a problem on ``devices``, a selection of :data:`DEVICES`."""
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
            least = "" if method == "warm" else f"{device} warm"
            yield Way(name, {"device": device, "method": method, **options}, least)


def exact(problem: Problem) -> extended.Extended:
    """The solution of ``problem`` in extended precision."""
    tables = problem.grid, problem.wealth, problem.transition
    if problem.horizon is None:
        return extended.solve(*tables, problem.beta, problem.eta)
    return extended.solve_ages(*tables, problem.start, problem.beta, problem.eta, problem.horizon)


def judge(result: Result, solution: extended.Extended) -> tuple[float, str]:
    """Distance over bound of a success, and what is wrong with it, or nothing.

    The distance is what is certain of it; 0 where the bound is infinite.
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
    """Solve in one way, and count; whether that succeeded, or None where it was refused."""
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
    """Solve all problems in all ways; the tallies by the way's name and whether it verified.

    ``report`` is called with a line for each false success and for each way that is behind, and now and then.
    """
    tallies: Tallies = {}
    devices, verify = tuple(devices), tuple(verify)
    told = time.monotonic()
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
                if succeeded[way.name] is False and succeeded.get(way.least):
                    tallies[way.name, verified].behind.append(drawn.seed)
                    if report:
                        report(f"{how}: {way.name} failed where {way.least} succeeds")
        if report and time.monotonic() - told > 30.0:
            told = time.monotonic()
            report(_so_far(count, tallies))
    return tallies


def _so_far(problems: int, tallies: Tallies) -> str:
    false = sum(len(tally.false) for tally in tallies.values())
    behind = sum(len(tally.behind) for tally in tallies.values())
    return f"{problems} problems, {false} false successes, {behind} behind"


PART = 10
"""Problems that a process takes at a time."""


def _part(seeds: Sequence[int], points: int | None, devices: Sequence[str]) -> tuple[Tallies, list[str]]:
    said: list[str] = []
    with threads(1):
        tallies = measure((random_problem(seed, points) for seed in seeds), devices, report=said.append)
    return tallies, said


def measure_in_processes(
    seeds: Sequence[int], points: int | None, devices: Sequence[str], jobs: int, report: Callable[[str], None]
) -> Tallies:
    """As :func:`measure`, of the problems of ``seeds`` with ``points`` grid points, on ``jobs`` processes."""
    tallies: Tallies = {}
    parts = [seeds[begin : begin + PART] for begin in range(0, len(seeds), PART)]
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        done = 0
        for part, (found, said) in zip(
            parts, pool.map(partial(_part, points=points, devices=devices), parts), strict=True
        ):
            for key, tally in found.items():
                tallies[key] = tallies.get(key, Tally()) + tally
            for line in said:
                if line.startswith("seed"):
                    report(line)
            done += len(part)
            report(_so_far(done, tallies))
    return tallies


def table(tallies: Tallies) -> str:
    """The tallies in Markdown."""
    lines = [
        "| way | verified | solved | of these without a bound | honest failures | behind | refused | false "
        "| worst ratio | seconds |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {name} | {'yes' if verified else 'no'} | {one.solved} | {one.unbounded} | {one.failed} | {len(one.behind)} "
        f"| {one.refused} | {len(one.false)} | {one.worst:.2g} | {one.seconds:.1f} |"
        for (name, verified), one in sorted(tallies.items(), key=lambda item: (not item[0][1], item[0][0]))
    ]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 1 where a success is false, or a way is behind the one that rests on least."""
    parser = argparse.ArgumentParser(prog="python -m beltline.host.bench.guarantees", description=__doc__)
    parser.add_argument("--problems", type=int, default=1000, help="how many (default: %(default)s)")
    parser.add_argument("--first", "--seed", type=int, default=0, help="seed of the first (default: %(default)s)")
    parser.add_argument("--points", type=int, help="grid points of all (default: 12 to 300, and 1,024 to 1,300)")
    parser.add_argument(
        "--devices", nargs="+", choices=DEVICES, default=["line", "lanes", "cpu"], help="default: all but gpu"
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
    behind = {key: tally.behind for key, tally in tallies.items() if tally.behind}
    for (name, verified), seeds_behind in sorted(behind.items()):
        listed = ", ".join(str(seed) for seed in seeds_behind[:SHOWN])
        print(f"\n{name}, {'verified' if verified else 'not verified'}: behind at seed {listed}")
    solved = sum(tally.solved for tally in tallies.values())
    print(
        f"\n{given.problems:,} problems, {solved:,} successes, {sum(map(len, false.values())):,} false; "
        f"{sum(map(len, behind.values())):,} failures where 'warm' or plain sweeps of the same machine succeed."
    )
    return 1 if false or behind else 0


if __name__ == "__main__":
    sys.exit(main())
