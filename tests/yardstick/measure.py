"""Solve a problem, and measure its CPU time in units of a fixed loop."""

from __future__ import annotations

import gc
import time
from typing import Any

import numba

import beltline as bl

from .problems import Entry
from .reading import Answer, read

ENOUGH, MOST = 0.1, 30
"""Repeat a solve up to this CPU time in seconds, or this number of times; once after a warm-up at least."""


@numba.njit
def _loop(count: int) -> float:
    x = 0.5
    for _ in range(count):
        x = 3.7 * x * (1.0 - x)
    return x


def unit() -> float:
    """Return the CPU seconds of the fixed loop, the least of five."""
    _loop(1)
    found = []
    for _ in range(5):
        begin = time.process_time()
        _loop(400_000)
        found.append(time.process_time() - begin)
    return min(found)


def solved(entry: Entry, device: str, timed: bool = True) -> Answer:
    """Solve a problem on a device; a refusal is an answer without tables whose status says it."""
    where = {} if device == "cpu" else {"device": device}
    result: Any = None

    def run() -> float:
        nonlocal result
        begin = time.process_time()
        result = bl.solve(entry.solvable, progress=False, **where, **entry.options)
        return time.process_time() - begin

    run()
    answer = read(result)
    answer.facts["check"] = entry.fingerprint()
    if timed:
        gc.collect()
        gc.disable()
        loop, spent = unit(), [run()]
        while sum(spent) < ENOUGH and len(spent) < MOST:
            spent.append(run())
        gc.enable()
        answer.facts |= {"time": min(spent) / loop, "ms": 1e3 * min(spent)}
    return answer
