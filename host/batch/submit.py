"""Where the problems of a batch are solved: on threads of this process, or by an executor."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from beltline.host.batch.pool import Workers
from beltline.host.batch.worker import Answer, Settings, Turns, Worker, pair, work
from beltline.host.devices import REFERENCES
from beltline.host.problem.checks import ProblemError, shown
from beltline.host.problem.problem import Problem
from beltline.host.solver.session import Session

IN_FLIGHT = 32
"""Chunks that are with an executor of whose size nothing is known."""

ASK_SECONDS = 5.0
"""Between two looks at how large a cluster is."""


class Submitter:
    """Where problems are solved: in threads of this process, or with an executor."""

    def __init__(self, executor: Executor, settings: Settings, count: Callable[[], int], own: bool) -> None:
        self.executor = executor
        self.settings = settings
        self.count = count
        self._own = own

    def submit(self, problems: list[Problem]) -> Future[list[Answer]]:
        return self.executor.submit(work, self.settings, problems)

    def close(self, finished: bool) -> None:
        """End what was begun for this batch; not ``finished``, what is under way is of no use any more."""
        if self._own:
            self.executor.shutdown(wait=True, cancel_futures=not finished)


class _ThreadSubmitter(Submitter):
    """Two threads at one device: one is at it, and the other converts or verifies."""

    def __init__(self, worker: Worker, settings: Settings) -> None:
        super().__init__(pair(), settings, lambda: 1, True)
        self._worker = worker
        self._turns = Turns()

    def submit(self, problems: list[Problem]) -> Future[list[Answer]]:
        if len(problems) > 1:
            return self.executor.submit(self._worker.solve_all, self.settings, problems)
        turn = self._turns.next()
        return self.executor.submit(lambda: [self._worker.solve(self.settings, problems[0], turn)])

    def close(self, finished: bool) -> None:
        if not finished:
            self._worker.cancel()
        super().close(finished)
        self._worker.close()


def submitter(device: str | Session, settings: Settings, executor: Any, workers: int | None) -> Callable[[], Submitter]:
    """Return what makes the submitter, once the first problem is asked for; all arguments are checked here.

    Parameters
    ----------
    device, executor, workers
        As of :func:`beltline.host.batch.solve_many.solve_many`.
    settings

    Raises
    ------
    ProblemError
        The executor is none, or the number of workers out of range.
    """
    if workers is not None:
        crew = Workers(workers)
        return lambda: Submitter(crew, settings, lambda: crew.count, True)
    if executor is None:
        machine = settings.device not in REFERENCES
        return lambda: _ThreadSubmitter(Worker(device, settings.options if machine else {}), settings)
    if isinstance(executor, Workers):
        return lambda: Submitter(executor, settings, lambda: executor.count, False)
    if isinstance(executor, Executor):
        return lambda: Submitter(executor, settings, lambda: IN_FLIGHT // 4, False)
    # A Client of Dask, which is no dependency: its executor is one of the standard kind.
    if callable(getattr(executor, "get_executor", None)) and callable(getattr(executor, "nthreads", None)):
        return lambda: Submitter(executor.get_executor(pure=False), settings, _threads_of(executor), False)
    raise ProblemError(
        f"executor must be an executor of concurrent.futures or a Client of distributed, not {shown(executor)}"
    )


def _threads_of(client: Any) -> Callable[[], int]:
    """How many threads the workers of a cluster have, at least two; asked for now and then, as workers come and go."""
    known, when = 0, -math.inf

    def count() -> int:
        nonlocal known, when
        if time.monotonic() - when >= ASK_SECONDS:
            known, when = sum(client.nthreads().values()), time.monotonic()
        return max(2, known)

    return count
