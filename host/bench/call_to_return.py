"""What ``bl.solve`` takes beside the solve itself: ``python -m beltline.host.bench.call_to_return``.

Everything is timed from call to return in this process, after a first call that loads what is compiled, and by turns,
so that other work on the computer meets all alike. Medians are printed, and the least in brackets. The parts:

- ``small``: problems of few states on the processor, by ``warm``: what a call takes beyond its sweeps;
- ``shift``: the RBC of ``--grid`` points by method ``shift`` from a coarse start, verified, beside the solve alone;
- ``turns``: the same solve after a verified call, beside the same after an unverified one: whether a verification slows
  down the next call;
- ``machine``: the RBC of ``--grid`` points on the emulated sweep engine with shifts: conversion of the tables, loading
  and reading through the emulation's buffers, and verification, without the solve, whose time is the emulation's;
- ``open``: opening device ``rtl``, in this process and in fresh ones, once its gateware is compiled; with ``--rtl``
  only, as the compilation takes a minute.
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

from beltline.host.models.rbc import rbc
from beltline.host.problem.problem import Problem
from beltline.host.results.result import Result
from beltline.host.solver.solve import solve

SMALL = (16, 64, 256)
"""Grid points of the small problems."""

LANES = 64
"""Of the emulated sweep engine."""

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
    """Return the seconds from call to return that are neither the solve's nor those of opening the device."""
    seconds, result = timed(call)
    return seconds - result.timing["solve"] - result.timing.get("open", 0.0)


def told(seconds: Sequence[float]) -> str:
    """Return the median in milliseconds, and the least."""
    return f"{1e3 * statistics.median(seconds):.3f} ms ({1e3 * min(seconds):.3f})"


def small(repeats: int) -> None:
    """Print what a call of a small problem takes beyond its sweeps."""
    for grid in SMALL:
        problem = rbc(grid=grid)
        for verify in (True, False):
            call = partial(solve, problem, device="cpu", method="warm", verify=verify, progress=False)
            call()
            spent = [beside(call) for _ in range(repeats)]
            kind = "verified" if verify else "unverified"
            print(f"small    {grid:>6,} x {problem.states} warm, {kind}, beyond the sweeps: {told(spent)}", flush=True)


def shift(problem: Problem, repeats: int) -> None:
    """Print the verified call of the accelerated method beside its solve, and what a verification does to the next."""
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
    print(f"shift    {size}, verified, from call to return: {told(calls)}, {ratio:.2f} times the solve, {told(solves)}")
    slower = statistics.median(after_verified) / statistics.median(after_plain)
    print(
        f"turns    {size}, unverified, after a verified call: {told(after_verified)}, {slower:.2f} times as long as "
        f"after an unverified one, {told(after_plain)}",
        flush=True,
    )


def machine(problem: Problem, repeats: int) -> None:
    """Print what a machine's call takes beside its solve."""
    lanes = min(LANES, problem.points // 4)
    call = partial(solve, problem, device="emulator", lanes=lanes, method="shift", start="coarse", progress=False)
    call()
    spent = [beside(call) for _ in range(repeats)]
    print(f"machine  {problem.points:,} x {problem.states}, {lanes} lanes, beside the solve: {told(spent)}", flush=True)


def opening(grid: int, repeats: int) -> None:
    """Print what opening device ``rtl`` takes, in this process and in fresh ones."""
    call = partial(solve, rbc(grid=grid), tol=1.0, device="rtl", progress=False)
    call()
    here = [timed(call)[1].timing["open"] for _ in range(repeats)]
    fresh = []
    for _ in range(repeats):
        done = subprocess.run(
            [sys.executable, "-c", OPENS.format(grid=grid)], capture_output=True, text=True, check=True
        )
        fresh.append(float(done.stdout))
    print(f"open     rtl, {grid:,} x 4, again in one process: {told(here)}, in fresh processes: {told(fresh)}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m beltline.host.bench.call_to_return", description=__doc__)
    parser.add_argument("--grid", type=int, default=65_536, help="grid points of the large problem (default: 65536)")
    parser.add_argument("--repeats", type=int, default=15, help="times each (default: %(default)s)")
    parser.add_argument("--rtl", action="store_true", help="time opening device rtl, too, which compiles its gateware")
    asked = parser.parse_args(arguments)
    for name, least in (("grid", 64), ("repeats", 1)):
        if getattr(asked, name) < least:
            parser.error(f"--{name} must be at least {least}, not {getattr(asked, name)}")
    large = rbc(grid=asked.grid)
    small(10 * asked.repeats)
    shift(large, asked.repeats)
    machine(large, min(asked.repeats, 5))
    if asked.rtl:
        opening(64, min(asked.repeats, 5))
    return 0


if __name__ == "__main__":
    sys.exit(main())
