"""Processes of this computer that solve side by side, as an executor of :mod:`concurrent.futures`.

The standard library's pool gives up all that it was asked for when one of its processes dies. So each process here is a
pool of its own: one that dies is replaced, and only what it held is done again.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any

from numba import set_num_threads

from beltline.host.devices.base import DeviceError
from beltline.host.problem.checks import whole

WORKERS_LIMIT = 1024
"""Most processes, so that a mistyped number is refused."""

HELD = 2
"""Calls that a process has at most: one that runs, and one that waits, so that none waits for us."""

TRIES = 3
"""Processes that may die of a call before it is given up."""

PINNED = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""What tells libraries of linear algebra how many threads to start: one, where each core has a process of its own."""


class WorkerLostError(DeviceError):
    """Process after process died of a problem."""


@dataclass(eq=False)
class _Call:
    future: Future[Any]
    arguments: tuple[Any, ...]
    deaths: int = 0


class _Process:
    def __init__(self) -> None:
        self.calls: list[_Call] = []
        self.dead = False
        self._pool: ProcessPoolExecutor | None = None
        self._number: Future[int] | None = None

    @property
    def number(self) -> int | None:
        """Of the process, None where it has not started."""
        known = self._number is not None and self._number.done() and not self._number.exception()
        return self._number.result() if known and self._number is not None else None

    def submit(self, call: _Call) -> Future[Any]:
        if self._pool is None:
            # Not forked: threads of libraries do not survive that.
            self._pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _begin)
            self._number = self._pool.submit(os.getpid)
        inner = self._pool.submit(_called, *call.arguments)
        self.calls.append(call)
        return inner

    def shutdown(self, wait: bool, now: bool) -> None:
        if self._pool is None:
            return
        if now and self._number is not None:
            with contextlib.suppress(ProcessLookupError, BrokenProcessPool):
                os.kill(self._number.result(), signal.SIGTERM)
        self._pool.shutdown(wait=wait, cancel_futures=now)


class Workers(Executor):
    """Processes that stay between batches: ``with bl.Workers(2) as two: bl.solve_many(..., executor=two)``.

    Each solves on one thread, starts when it is first needed, and keeps its device open until the end. In a script that
    is run, what uses them belongs under ``if __name__ == "__main__":``, as always with processes that are spawned.

    Parameters
    ----------
    count
        Number of processes, from 1.

    Raises
    ------
    ProblemError
        It is no such number.
    """

    def __init__(self, count: int) -> None:
        wanted = f"a whole number from 1 to {WORKERS_LIMIT}"
        self.count = whole("workers", count, wanted, lambda v: 1 <= v <= WORKERS_LIMIT)
        self._processes = [_Process() for _ in range(self.count)]
        self._waiting: deque[_Call] = deque()
        self._lock = threading.RLock()
        self._closed = self._ended = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have a process call a function; function, arguments and result are pickled."""
        with self._lock:
            if self._closed:
                raise RuntimeError("these workers have been shut down")
            call = _Call(Future(), (fn, args, kwargs))
            self._waiting.append(call)
            self._hand_out()
            return call.future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes when all is done, or with ``cancel_futures`` now; the next user of a board resets it."""
        with self._lock:
            self._closed = True
            self._ended = cancel_futures
            asked = [*self._waiting, *(call for process in self._processes for call in process.calls)]
        if cancel_futures:
            for call in asked:
                call.future.cancel()
        elif wait:
            concurrent.futures.wait([call.future for call in asked])
        for process in self._processes:
            process.shutdown(wait, cancel_futures)

    def numbers(self) -> list[int]:
        """Process numbers of those that run."""
        with self._lock:
            return [process.number for process in self._processes if process.number is not None]

    def _hand_out(self) -> None:
        while self._waiting and not self._ended:
            process = min(self._processes, key=lambda one: len(one.calls))
            if len(process.calls) >= HELD:
                return
            call = self._waiting.popleft()
            if call.future.cancelled():
                continue
            try:
                inner = process.submit(call)
            except BrokenProcessPool:
                # It died a moment ago, and its pool's thread is about to say so.
                self._replace(process)
                self._waiting.appendleft(call)
                continue
            inner.add_done_callback(lambda done, process=process, call=call: self._done(process, call, done))  # type: ignore[misc]

    def _replace(self, process: _Process) -> None:
        if not process.dead:
            process.dead = True
            # Calls are taken in order, so it was at the first of those that it held.
            if process.calls:
                process.calls[0].deaths += 1
            self._processes[self._processes.index(process)] = _Process()

    def _done(self, process: _Process, call: _Call, done: Future[Any]) -> None:
        error = CancelledError() if done.cancelled() else done.exception()
        with self._lock:
            lost = isinstance(error, BrokenProcessPool)
            if lost:
                self._replace(process)
            process.calls.remove(call)
            if lost and not self._ended:
                if call.deaths < TRIES:
                    self._waiting.appendleft(call)
                else:
                    error, lost = WorkerLostError(f"the process that solved it died {call.deaths} times"), False
            self._hand_out()
        if self._ended:
            call.future.cancel()
        elif not lost and call.future.set_running_or_notify_cancel():
            if error is None:
                call.future.set_result(done.result())
            else:
                call.future.set_exception(error)


def _called(function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    return function(*arguments, **keywords)


def _begin() -> None:
    """Leave Ctrl-C to who started this process, because a terminal sends it to all, and do not outlive it.

    One thread, in this process's environment and not in the parent's, where others may be starting theirs. Numba has
    been imported if the user's script does so, takes a later ``NUMBA_NUM_THREADS`` for an error, and is told itself.
    """
    os.environ.update(dict.fromkeys(PINNED, "1"))
    set_num_threads(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with, args=(multiprocessing.parent_process(),), daemon=True).start()


def _die_with(parent: Any) -> None:
    parent.join()
    os._exit(1)
