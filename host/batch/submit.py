"""Submission of the problems of a batch to threads of this process or to an executor."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from typing import Any

from beltline.host.batch.pool import WORKERS_LIMIT, Workers, check_guarded
from beltline.host.batch.worker import Answer, Settings, Turns, Worker, pair, work
from beltline.host.devices import REFERENCES
from beltline.host.problem.checks import ProblemError, shown, whole
from beltline.host.problem.problem import Problem
from beltline.host.solver.session import Session

IN_FLIGHT = 32
"""Number of chunks that an executor of unknown size is given at a time."""

CLUSTER_POLL_SECONDS = 5.0
"""Seconds between two queries of the size of a cluster."""


class Submitter:
    """Sends problems to an executor.

    Parameters
    ----------
    executor
        Of the kind of ``concurrent.futures``.
    settings
        Settings of the batch.
    count
        Function that returns the number of workers.
    own
        Whether the executor was made for this batch, and is shut down with it.
    """

    def __init__(self, executor: Executor, settings: Settings, count: Callable[[], int], own: bool) -> None:
        self.executor = executor
        self.settings = settings
        self.count = count
        self._own = own

    def submit(self, problems: list[Problem]) -> Future[list[Answer]]:
        return self.executor.submit(work, self.settings, problems)

    def close(self, finished: bool) -> None:
        """Shut down the executor if it was made for this batch; if not ``finished``, cancel the calls in progress."""
        if self._own:
            self.executor.shutdown(wait=True, cancel_futures=not finished)


class _ThreadSubmitter(Submitter):
    """Sends problems to two threads of this process that share one device.

    While one thread uses the device, the other converts the next problem or verifies the last result.
    """

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
    """Check where a batch is to be solved; return the function that makes its submitter, for the first problem.

    Parameters
    ----------
    device, executor, workers
        As in :func:`beltline.host.batch.solve_many.solve_many`.
    settings
        Settings of the batch.

    Raises
    ------
    ProblemError
        ``executor`` is not an executor, or ``workers`` is out of range.
    """
    if workers is not None:
        wanted = f"a whole number from 1 to {WORKERS_LIMIT}"
        pool = Workers(whole("workers", workers, wanted, lambda v: 1 <= v <= WORKERS_LIMIT))
        return lambda: Submitter(pool, settings, lambda: pool.count, True)
    if executor is None:
        machine = settings.device not in REFERENCES
        return lambda: _ThreadSubmitter(Worker(device, settings.options if machine else {}), settings)
    if isinstance(executor, Workers):
        return lambda: Submitter(executor, settings, lambda: executor.count, False)
    if isinstance(executor, Executor):
        if isinstance(executor, ProcessPoolExecutor):
            check_guarded()
        return lambda: Submitter(executor, settings, lambda: IN_FLIGHT // 4, False)
    # A Client of Dask, recognized by its methods because Dask need not be installed. It has a standard executor.
    if callable(getattr(executor, "get_executor", None)) and callable(getattr(executor, "nthreads", None)):
        return lambda: Submitter(executor.get_executor(pure=False), settings, _threads_of(executor), False)
    raise ProblemError(
        f"executor must be an executor of concurrent.futures or a Client of distributed, not {shown(executor)}"
    )


def _threads_of(client: Any) -> Callable[[], int]:
    """Return a function that returns the number of threads of a cluster, at least two.

    The cluster is queried again after some seconds, because workers come and go.
    """
    known, when = 0, -math.inf

    def count() -> int:
        nonlocal known, when
        if time.monotonic() - when >= CLUSTER_POLL_SECONDS:
            known, when = sum(client.nthreads().values()), time.monotonic()
        return max(2, known)

    return count
