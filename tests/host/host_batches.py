"""What tests of batches send to other processes, which import it by name."""

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

import beltline as bl

TOL = 1e-3


def tiny(number: int, grid: int = 16) -> bl.Problem:
    """One of many calibrations, each of whose tables differ."""
    return bl.rbc(grid=grid, states=2, beta=0.9 + 1e-4 * number, eta=1.5 + number / 100)


def many(count: int, grid: int = 16) -> list[Callable[[], bl.Problem]]:
    return [partial(tiny, number, grid) for number in range(count)]


def logged(log: Path, function: Callable[..., Any], settings: Any, problems: list[bl.Problem]) -> Any:
    """Say who begins and ends what."""

    def say(what: str) -> None:
        with log.open("a") as file:
            file.write("".join(f"{what} {os.getpid()} {problem.beta!r}\n" for problem in problems))

    say("begin")
    answers = function(settings, problems)
    say("end")
    return answers


class Logged(Executor):
    """An executor whose workers say what they begin."""

    def __init__(self, inner: Executor, log: Path) -> None:
        self.inner = inner
        self.log = log

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self.inner.submit(logged, self.log, fn, *args, **kwargs)

    def said(self, what: str) -> list[tuple[int, float]]:
        """Process and ``beta`` of each that began, or that ended."""
        lines = [line.split() for line in self.log.read_text().splitlines()]
        return [(int(process), float(beta)) for said, process, beta in lines if said == what]

    def kill_one(self) -> int:
        """Kill a worker that is at a problem, and return its number."""
        while True:
            ended = set(self.said("end"))
            for process, beta in self.said("begin"):
                if (process, beta) in ended:
                    continue
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGSTOP)
                    if (process, beta) not in self.said("end"):
                        os.kill(process, signal.SIGKILL)
                        return process
                    os.kill(process, signal.SIGCONT)
            time.sleep(0.001)


def repeated(log: Logged, count: int, killed: int) -> int:
    """How many problems were begun twice; all of them because of the process that was killed."""
    begun = log.said("begin")
    times = Counter(beta for _, beta in begun)
    assert set(times) == {tiny(number).beta for number in range(count)}
    again = [beta for beta, often in times.items() if often > 1]
    assert all(often <= 2 for often in times.values())
    assert all(next(process for process, first in begun if first == beta) == killed for beta in again)
    return len(again)


def end(problems: list[bl.Problem], *_: Any) -> None:
    """Die of a problem."""
    os._exit(9)
