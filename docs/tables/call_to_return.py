"""Time that ``bl.solve`` takes before and after the solve itself: ``python -m docs.tables.call_to_return``.

Everything is timed from call to return in this process, after a first call that loads compiled code. Calls alternate,
so that other work on the computer affects all of them alike. Medians are printed, with the minimum in brackets:

- ``small``: small problems on the processor by method ``warm``: time of a call outside its sweeps;
- ``shift``: the RBC model with ``--grid`` points by method ``shift`` from a coarse start: verified call, solve alone;
- ``turns``: the same, unverified, after a verified and after an unverified call, to see whether verification slows the
  next call;
- ``machine``: the RBC model with ``--grid`` points on the emulated sweep engine: time for conversion of the tables,
  transfers to the emulator and verification, without the solve;
- ``open``: opening device ``rtl``, in this process and in new ones, once its gateware is compiled; only with ``--rtl``,
  as the compilation takes a minute;
- ``gpu``: with ``--gpu``, the RBC model with ``--grid`` points on a CUDA device by method ``shift``, from a coarse
  start: verified and unverified calls, their parts, and what a call takes besides the solve and the copies;
- ``batch``: with ``--gpu``, time of one problem of a batch of ``--batch`` calibrations, verified and unverified; the
  time to make the problems is not included.

With the default grid, lines ``measure`` compare medians with what is asked of them. The command returns 1 if a measure
does not hold. A batch has measures from 1,000 problems, of 1,024 and of 65,536 grid points.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from beltline.gpu_ref.cuda.device import available, device_name
from beltline.host.batch.solve_many import solve_many
from beltline.host.bench.measures import HEADLINE, at_most
from beltline.host.bench.options import require_least
from beltline.host.models.rbc import rbc
from beltline.host.problem.problem import Problem
from beltline.host.results.result import Result
from beltline.host.solver.solve import solve

SMALL = (16, 64, 256)
"""Grid points of the small problems."""

SMALL_TURNS = 5
"""Number of turns of calls of small problems for each repeat: they take milliseconds, in which other work may run."""

SMALL_BATCH = 1024
"""Grid points of the smaller problems of a batch."""

LANES = 64
"""Number of lanes of the emulated sweep engine."""

BATCH = 1000
"""Number of problems of a batch from which its time has a measure."""

OPENS = """
import time
from beltline.host.models.rbc import rbc
from beltline.host.solver.solve import solve
result = solve(rbc(grid={grid}), tol=1.0, device="rtl", progress=False)
print(result.timing["open"])
"""


def timed(call: Callable[[], Result]) -> tuple[float, Result]:
    """Return the seconds from call to return, and the result.

    Raises
    ------
    RuntimeError
        The solve did not succeed.
    """
    begin = time.perf_counter()
    result = call()
    seconds = time.perf_counter() - begin
    if not result.success:
        raise RuntimeError(f"the solve with {result.problem.points:,} grid points did not succeed: {result.message}")
    return seconds, result


def beside(call: Callable[[], Result]) -> float:
    """Return the seconds from call to return without those of the solve and of opening the device."""
    seconds, result = timed(call)
    return seconds - result.timing["solve"] - result.timing.get("open", 0.0)


def stats(seconds: Sequence[float]) -> str:
    """Return the median and the minimum in milliseconds, as text."""
    return f"{1e3 * statistics.median(seconds):.3f} ms ({1e3 * min(seconds):.3f})"


def milliseconds(seconds: Sequence[float]) -> float:
    """Return the median in milliseconds."""
    return 1e3 * statistics.median(seconds)


def small(repeats: int, asked: bool) -> bool:
    """Print the time of a call of a small problem outside its sweeps; return whether its measure holds, if ``asked``
    for.
    """
    longest = 0.0
    for grid in SMALL:
        problem = rbc(grid=grid)
        calls = {
            verify: partial(solve, problem, device="cpu", method="warm", verify=verify, progress=False)
            for verify in (True, False)
        }
        spent: dict[bool, list[float]] = {True: [], False: []}
        for call in calls.values():
            call()
        for _ in range(SMALL_TURNS * repeats):
            for verify, call in calls.items():
                spent[verify].append(beside(call))
        for verify, seconds in spent.items():
            kind = "verified" if verify else "unverified"
            print(
                f"small    {grid:>6,} x {problem.states} warm, {kind}, beyond the sweeps: {stats(seconds)}",
                flush=True,
            )
            longest = max(longest, milliseconds(seconds))
    if not asked:
        return True
    return at_most("a call of a small problem by warm, beyond its sweeps, the longest median", 0.3, longest, "ms")


def shift(problem: Problem, repeats: int) -> bool:
    """Print the time of a verified call by method ``shift``, of its solve, and of the unverified call after it; return
    whether the measure holds.
    """
    way: dict[str, Any] = {"device": "cpu", "method": "shift", "start": "coarse", "progress": False}
    verified, plain = (partial(solve, problem, verify=verify, **way) for verify in (True, False))
    verified()
    plain()
    calls, solves, after_verified, after_plain = [], [], [], []
    for _ in range(repeats):
        plain()
        seconds, result = timed(plain)
        after_plain.append(seconds)
        solves.append(result.timing["solve"])
        calls.append(timed(verified)[0])
        after_verified.append(timed(plain)[0])
    ratio = statistics.median(calls) / statistics.median(solves)
    size = f"{problem.points:,} x {problem.states}"
    print(
        f"shift    {size}, verified, from call to return: {stats(calls)}, {ratio:.2f} times the solve, {stats(solves)}"
    )
    slower = statistics.median(after_verified) / statistics.median(after_plain)
    print(
        f"turns    {size}, unverified, after a verified call: {stats(after_verified)}, {slower:.2f} times as long as "
        f"after an unverified one, {stats(after_plain)}",
        flush=True,
    )
    if problem.points != HEADLINE:
        return True
    return at_most("a verified call on cpu by shift from a coarse start, over its solve alone", 1.3, ratio)


def machine(problem: Problem, repeats: int) -> bool:
    """Print the time of a call on the emulated machine without its solve; return whether the measure holds."""
    lanes = min(LANES, problem.points // 4)
    call = partial(solve, problem, device="emulator", lanes=lanes, method="shift", start="coarse", progress=False)
    call()
    spent = [beside(call) for _ in range(repeats)]
    print(
        f"machine  {problem.points:,} x {problem.states}, {lanes} lanes, beside the solve: {stats(spent)}",
        flush=True,
    )
    if problem.points != HEADLINE:
        return True
    return at_most("a call on a machine, verified, without its solve", 25.0, milliseconds(spent), "ms")


def opening(grid: int, repeats: int) -> bool:
    """Print the time of opening device ``rtl``, in this process and in new ones; return whether the measure holds."""
    call = partial(solve, rbc(grid=grid), tol=1.0, device="rtl", progress=False)
    call()
    here = [timed(call)[1].timing["open"] for _ in range(repeats)]
    fresh = []
    for _ in range(repeats):
        done = subprocess.run(
            [sys.executable, "-c", OPENS.format(grid=grid)], capture_output=True, text=True, check=True
        )
        fresh.append(float(done.stdout))
    print(f"open     rtl, {grid:,} x 4, again in one process: {stats(here)}, in fresh processes: {stats(fresh)}")
    return at_most("opening compiled rtl in a new process", 500.0, milliseconds(fresh), "ms")


def gpu(problem: Problem, repeats: int) -> bool:
    """Print the time of verified and unverified calls on a CUDA device, and of their parts; return whether the measures
    hold.
    """
    way: dict[str, Any] = {"device": "gpu", "method": "shift", "start": "coarse", "progress": False}
    size = f"{problem.points:,} x {problem.states}"
    calls: dict[bool, list[float]] = {True: [], False: []}
    parts: dict[bool, dict[str, list[float]]] = {True: {}, False: {}}
    beyond: dict[bool, list[float]] = {True: [], False: []}
    for turn in range(repeats + 1):
        for verify in calls:
            seconds, result = timed(partial(solve, problem, verify=verify, **way))
            if not turn:
                # The first turn compiles.
                continue
            calls[verify].append(seconds)
            beyond[verify].append(seconds - sum(result.timing.get(part, 0.0) for part in ("load", "solve", "read")))
            for part, spent in result.timing.items():
                parts[verify].setdefault(part, []).append(spent)
    for verify, whole in calls.items():
        kind = "verified" if verify else "unverified"
        each = ", ".join(f"{part} {1e3 * statistics.median(of):.3f}" for part, of in parts[verify].items())
        print(
            f"gpu      {size}, {kind}, from call to return: {stats(whole)}; besides load, solve and read: "
            f"{stats(beyond[verify])}; parts in ms: {each}",
            flush=True,
        )
    if problem.points != HEADLINE:
        return True
    return all(
        [
            at_most("a verified call on the GPU", 3.0, milliseconds(calls[True]), "ms"),
            at_most("an unverified call on the GPU", 1.5, milliseconds(calls[False]), "ms"),
            at_most("a verified call on the GPU, besides load, solve and read", 0.5, milliseconds(beyond[True]), "ms"),
        ]
    )


def batch(grid: int, count: int, repeats: int) -> bool:
    """Print the time of a problem of a batch on a CUDA device, with all problems made before, verified and not; return
    whether the measure of verified batches holds.
    """
    passed = True
    problems = [rbc(grid=grid, eta=1.5 + i / count) for i in range(count)]
    way: dict[str, Any] = {"device": "gpu", "method": "shift", "start": "coarse", "chunk": count, "progress": False}
    for verify in (True, False):
        spent = []
        for turn in range(repeats + 1):
            begin = time.perf_counter()
            wrong = sum(
                attempt.result is None or not attempt.result.success
                for attempt in solve_many(problems, verify=verify, **way)
            )
            if wrong:
                raise RuntimeError(f"{wrong:,} of {count:,} problems with {grid:,} grid points did not succeed")
            if turn:
                spent.append((time.perf_counter() - begin) / count)
        kind = "verified" if verify else "unverified"
        print(f"batch    {count:,} of {grid:,} x 4, {kind}, each: {stats(spent)}", flush=True)
        if verify and count >= BATCH and grid in (SMALL_BATCH, HEADLINE):
            passed = at_most(f"each problem of a verified batch of {grid:,} x 4", 0.4, milliseconds(spent), "ms")
    return passed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m docs.tables.call_to_return", description=__doc__)
    parser.add_argument(
        "--grid", type=int, default=HEADLINE, help="grid points of the large problem (default: %(default)s)"
    )
    parser.add_argument("--repeats", type=int, default=15, help="number of calls timed for each (default: %(default)s)")
    parser.add_argument("--rtl", action="store_true", help="time opening device rtl, too, which compiles its gateware")
    parser.add_argument("--gpu", action="store_true", help="time only a CUDA device")
    parser.add_argument("--batch", type=int, default=BATCH, help="problems of a batch of --gpu (default: %(default)s)")
    asked = parser.parse_args(arguments)
    require_least(parser, asked, grid=64, repeats=1, batch=2)
    if asked.gpu and (why := available()):
        parser.error(f"--gpu cannot be used: {why}")
    large = rbc(grid=asked.grid)
    if asked.gpu:
        print(f"device   {device_name()}")
        passed = [gpu(large, asked.repeats), batch(asked.grid, asked.batch, 3)]
        passed.append(batch(min(asked.grid, SMALL_BATCH), asked.batch, 3))
        return 0 if all(passed) else 1
    passed = [
        small(10 * asked.repeats, asked.grid == HEADLINE),
        shift(large, asked.repeats),
        machine(large, min(asked.repeats, 5)),
    ]
    if asked.rtl:
        passed.append(opening(64, min(asked.repeats, 5)))
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
