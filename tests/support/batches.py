"""Functions that tests of batches send to other processes, which import them by name."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numba
import numpy as np

import beltline as bl
from beltline.host.solver.complete import Completed

TOL = 1e-3


def tiny(number: int, grid: int = 16) -> bl.Problem:
    """Return one of many calibrations, no two of which have equal tables."""
    return bl.rbc(grid=grid, states=2, beta=0.9 + 1e-4 * number, eta=1.5 + number / 100)


def many(count: int, grid: int = 16) -> list[Callable[[], bl.Problem]]:
    return [partial(tiny, number, grid) for number in range(count)]


VICTIM = 7
"""Number of the problem at whose first end a worker waits to be killed."""


def logged(log: Path, function: Callable[..., Any], settings: Any, problems: list[bl.Problem]) -> Any:
    """Solve, and log which process begins and ends which problem."""

    def say(what: str) -> None:
        with log.open("a") as file:
            file.write("".join(f"{what} {os.getpid()} {problem.beta!r}\n" for problem in problems))

    def wait(_: Completed) -> None:
        say("wait")
        time.sleep(120)

    say("begin")
    waits = tiny(VICTIM).beta in [problem.beta for problem in problems] and not log.with_suffix(".killed").exists()
    with mock.patch.object(Completed, "result", wait) if waits else contextlib.nullcontext():
        answers = function(settings, problems)
    say("end")
    return answers


class Logged(Executor):
    """An executor whose workers log which problems they begin and end."""

    def __init__(self, inner: Executor, log: Path) -> None:
        self.inner = inner
        self.log = log

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self.inner.submit(logged, self.log, fn, *args, **kwargs)

    def said(self, what: str) -> list[tuple[int, float]]:
        """Return process and ``beta`` of each problem that began, or that ended."""
        lines = [line.split() for line in self.log.read_text().splitlines()]
        return [(int(process), float(beta)) for said, process, beta in lines if said == what]

    def kill_one(self) -> int:
        """Kill the worker that waits with its device open and its run complete; return its process number."""
        until = time.monotonic() + 120
        while not (waiting := self.said("wait")):
            assert time.monotonic() < until, "no worker came to it"
            time.sleep(0.001)
        self.log.with_suffix(".killed").touch()
        process, _ = waiting[0]
        os.kill(process, signal.SIGKILL)
        return process


def threads_of(function: Callable[..., Any], settings: Any, problems: list[bl.Problem]) -> tuple[set[int], int, int]:
    """Solve; return the number of Numba's threads before a solve, during verification, and afterwards."""
    seen = set()

    def watched(self: Any) -> Any:
        seen.add(numba.get_num_threads())
        return verify(self)

    verify, before = Completed.result, numba.get_num_threads()
    with mock.patch.object(Completed, "result", watched):
        assert all(answer.error is None for answer in function(settings, problems))
    return seen, before, numba.get_num_threads()


class Asked(Executor):
    """An executor that passes tasks to another one and records them."""

    def __init__(self, inner: Executor) -> None:
        self.inner = inner
        self.asked: list[tuple[Any, ...]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.asked.append((fn, *args))
        return self.inner.submit(fn, *args, **kwargs)


def threads_in(executor: Executor, chunk: int = 1) -> tuple[set[int], int, int]:
    """Do the same as ``threads_of`` in a worker."""
    asked = Asked(executor)
    assert all(
        attempt.success
        for attempt in bl.solve_many(many(3), TOL, executor=asked, chunk=chunk, progress=False, device="emulator")
    )
    return executor.submit(threads_of, *asked.asked[0]).result()


def repeated(log: Logged, count: int, killed: int) -> int:
    """Return the number of problems that were begun twice; check that the killed process had begun all of them."""
    begun = log.said("begin")
    times = Counter(beta for _, beta in begun)
    assert set(times) == {tiny(number).beta for number in range(count)}
    again = [beta for beta, often in times.items() if often > 1]
    assert all(often <= 2 for often in times.values())
    assert all(next(process for process, first in begun if first == beta) == killed for beta in again)
    return len(again)


def end(problems: list[bl.Problem], *_: Any) -> None:
    """End the process, as a crash does."""
    os._exit(9)


def career(number: int, points: int = 30) -> bl.Problem:
    """Return one of many problems of the general form: work, or retire permanently, over six ages."""
    grid = np.linspace(0, 30, points)
    wealth = 0.5 + grid[:, None]
    work = bl.Alternative(name="work", regime="worker", wealth=wealth + 20.0, kappa=-1.0 - number / 10)
    retire = bl.Alternative(name="retire", regime="worker", leads_to="retired")
    rest = bl.Alternative(name="rest", regime="retired")
    return bl.Problem(
        grid=grid, wealth=wealth, transition=np.eye(1), start=np.zeros((points, 1)), beta=0.98, eta=1.0, horizon=6,
        alternatives=[work, retire, rest], name="career",
    )  # fmt: skip


def firm(number: int) -> bl.Problem:
    """Return one of many problems without a horizon: keep capital, or pay a fixed cost to change it."""
    grid = np.linspace(1.0, 4.0, 25)
    wealth = np.sqrt(grid)[:, None] * [0.9, 1.1] + 0.9 * grid[:, None]
    keep = bl.Alternative(name="keep", choice=np.maximum(np.arange(25) - 1, 0))
    adjust = bl.Alternative(name="adjust", wealth=wealth - 0.05 - number / 100)
    return bl.Problem(
        grid=grid, wealth=wealth, transition=np.full((2, 2), 0.5), start=np.zeros((25, 2)), beta=0.9, eta=0.0,
        negative=True, alternatives=[keep, adjust], name="firm",
    )  # fmt: skip
