"""Problems a second, end to end: what an estimation gets from each device of this computer.

Every problem is another calibration of the RBC, so that wealth, transition, start and utility all change. Seconds are
wall-clock from the first problem asked for to the last result delivered, with the making of the tables, their
conversion, the transfers and the exact check of every result; opening a device, compiling and starting processes are
not in them. Rows of the FPGA are modelled: clocks of the runs by formula, and one for each 64-bit word of every table
that goes in or out, over the stated clock; its link and its host are in none of them.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from beltline.host.batch.pool import Workers
from beltline.host.batch.solve_many import Attempt, solve_many
from beltline.host.models.rbc import rbc
from beltline.host.problem.problem import Problem
from beltline.host.results.result import Result
from beltline.host.solver.session import Session
from beltline.hw.interface.parameters import CLOCK_HZ

GRID, TOL = 1024, 1e-10
SECONDS = 5.0
"""For which problems are handed out, on each device."""

BATCH = 1000
"""Problems of a graphics card's launch."""

FEWEST = 4
"""Problems, however long they take."""


@dataclass(frozen=True)
class Rate:
    """A row: ``problems`` in ``seconds``."""

    device: str
    method: str
    grid: int
    states: int
    problems: int
    seconds: float
    kind: str
    note: str

    @property
    def per_second(self) -> float:
        return self.problems / self.seconds


def calibrations(grid: int, seconds: float, most: int = 10**9) -> Iterator[Callable[[], Problem]]:
    """Calibrations of the RBC, until the time is over; the same from call to call."""
    end = time.monotonic() + seconds
    for i in range(most):
        if i >= FEWEST and time.monotonic() > end:
            return
        share = i * 0.618033988749895 % 1
        yield partial(rbc, grid=grid, beta=0.98 + 0.008 * share, eta=1.5 + share)


@dataclass
class _Done:
    """A batch that was solved; without its results, which might be thousands."""

    problems: int = 0
    states: int = 0
    clocks: int = 0
    seconds: float = 0.0


def _timed(attempts: Iterator[Attempt]) -> _Done:
    begin = time.perf_counter()
    done = _Done()
    for attempt in attempts:
        if not isinstance(attempt.result, Result):
            raise attempt.error or AssertionError
        done.problems += 1
        done.states = attempt.result.problem.states
        done.clocks += attempt.result.clocks
    done.seconds = time.perf_counter() - begin
    return done


def _row(device: str, method: str, grid: int, done: _Done, note: str) -> Rate:
    return Rate(device, method, grid, done.states, done.problems, done.seconds, "measured", note)


def rates(grid: int = GRID, seconds: float | None = None, gpu: bool = False) -> list[Rate]:
    """Measure each device that is here, and model the FPGA."""
    seconds = SECONDS if seconds is None else seconds
    run = partial(solve_many, tol=TOL, progress=False)
    rows = []
    with Session("emulator") as model:
        list(run(calibrations(grid, 0.0, 1), device=model))
        done = _timed(run(calibrations(grid, seconds), device=model))
    rows.append(_row("emulator", "line", grid, done, "one process"))
    rows.append(_modelled(grid, done))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if cores > 1:
        with Workers(min(cores, 16)) as workers:
            _warmed(workers, run, grid, workers.count)
            done = _timed(run(calibrations(grid, seconds), executor=workers))
        rows.append(_row("emulator", "line", grid, done, f"{workers.count} processes of one thread"))
    cpu: dict[str, Any] = {"device": "cpu", "method": "shift", "start": "stay"}
    list(run(calibrations(grid, 0.0, 1), **cpu))
    done = _timed(run(calibrations(grid, seconds), **cpu))
    rows.append(_row("cpu", "shift start=stay", grid, done, "one process"))
    if gpu:
        card: dict[str, Any] = {"device": "gpu", "method": "shift", "start": "coarse", "chunk": BATCH}
        list(run(itertools.islice(calibrations(grid, seconds), BATCH), **card))
        done = _timed(run(calibrations(grid, 600.0, 2 * BATCH), **card))
        rows.append(_row("gpu", "shift start=coarse", grid, done, f"batches of {BATCH:,}"))
    return rows


def _warmed(workers: Executor, run: Any, grid: int, count: int) -> None:
    list(run(calibrations(grid, 0.0, 2 * count), executor=workers))


def _modelled(grid: int, done: _Done) -> Rate:
    # X and Q, and W, the start, the value and the policy.
    words = done.problems * (grid + done.states**2 + 4 * grid * done.states)
    note = f"{done.clocks:,} clocks of runs by formula, {words:,} of transfers, at {CLOCK_HZ / 1e6:g} MHz"
    seconds = (done.clocks + words) / CLOCK_HZ
    return Rate("fpga", "line", grid, done.states, done.problems, seconds, "modelled", note)


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as Markdown."""
    lines = ["| device | method | N_k | problems | seconds | problems a second | kind | note |", "|---" * 8 + "|"]
    for row in rows:
        lines.append(
            f"| {row['device']} | {row['method']} | {row['grid']:,} | {row['problems']:,} | {row['seconds']:.3g} | "
            f"{row['per_second']:,.3g} | {row['kind']} | {row['note']} |"
        )
    return "\n".join(lines)


def as_dicts(rows: list[Rate]) -> list[dict[str, Any]]:
    """The rows as they go into a file."""
    return [asdict(row) | {"per_second": row.per_second} for row in rows]
