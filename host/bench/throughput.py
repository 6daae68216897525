"""Problems per second, end to end: the rate at which an estimation gets results from each device of this computer.

Every problem is another calibration of the RBC model, so that wealth, transition, start and utility all change. Seconds
are wall-clock from the request of the first problem to the delivery of the last result, including the making and
conversion of tables, transfers and the exact check of every result, but not opening a device, compilation and the start
of processes. Rows of the FPGA are modelled: clocks of the runs by formula, plus one clock for each 64-bit word of every
table that is transferred, over the stated clock frequency. They do not include its link and its host.
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
"""Seconds for which problems are handed out to each device."""

BATCH = 1000
"""Number of problems of one launch on a GPU."""

FEWEST = 4
"""Smallest number of problems."""


@dataclass(frozen=True)
class Rate:
    """A row: ``problems`` solved in ``seconds``."""

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
    """Yield calibrations of the RBC model until the time is over; they are the same in every call."""
    end = time.monotonic() + seconds
    for i in range(most):
        if i >= FEWEST and time.monotonic() > end:
            return
        share = i * 0.618033988749895 % 1
        yield partial(rbc, grid=grid, beta=0.98 + 0.008 * share, eta=1.5 + share)


@dataclass
class _Done:
    """Counts of a batch that was solved, without its results, of which there may be thousands."""

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
    """Measure each device of this computer, and model the FPGA."""
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
    # Grid and transition matrix; and wealth, start, value and policy.
    words = done.problems * (grid + done.states**2 + 4 * grid * done.states)
    note = f"{done.clocks:,} clocks of runs by formula, {words:,} of transfers, at {CLOCK_HZ / 1e6:g} MHz"
    seconds = (done.clocks + words) / CLOCK_HZ
    return Rate("fpga", "line", grid, done.states, done.problems, seconds, "modelled", note)


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as a Markdown table."""
    lines = ["| device | method | N_k | problems | seconds | problems per second | kind | note |", "|---" * 8 + "|"]
    for row in rows:
        lines.append(
            f"| {row['device']} | {row['method']} | {row['grid']:,} | {row['problems']:,} | {row['seconds']:.3g} | "
            f"{row['per_second']:,.3g} | {row['kind']} | {row['note']} |"
        )
    return "\n".join(lines)


def as_dicts(rows: list[Rate]) -> list[dict[str, Any]]:
    """Return the rows in the form of the bench's file."""
    return [asdict(row) | {"per_second": row.per_second} for row in rows]
