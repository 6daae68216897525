"""Worker processes on this computer, as an executor of :mod:`concurrent.futures`.

The standard library's pool fails as a whole when one of its processes dies. Here each process is a pool of its own: one
that dies is replaced, and only the calls that it had are repeated.
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
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any

from numba import set_num_threads

from beltline.host.devices.base import DeviceError
from beltline.host.problem.checks import whole

WORKERS_LIMIT = 1024
"""Largest number of processes, so that a mistyped number is refused."""

CALLS_PER_PROCESS = 2
"""Largest number of calls that a process has at a time: one runs, and one waits so that the process is never idle."""

TRIES = 3
"""Number of processes that may die during a call before the call fails."""

END_SECONDS = 10.0
"""Seconds that a process may take to end after its pool has noticed."""

THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Environment variables for the number of threads of linear algebra libraries: 1, as each core has a process."""


UNGUARDED = (
    "the script starts processes while it is imported, and each of them imports it again: put the code that starts "
    'them under `if __name__ == "__main__":`'
)
"""Message for a script without a guard; what its processes end with is ``UNGUARDED_EXIT``."""

UNGUARDED_EXIT = 86
"""Exit status of a process that would have started processes while it imports the user's script."""


class WorkerLostError(DeviceError):
    """A problem could not be solved because ``TRIES`` worker processes, one after the other, died while solving it."""


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
        self._spawned: Any = None

    @property
    def number(self) -> int | None:
        """Process id; None if the process has not started."""
        known = self._number is not None and self._number.done() and not self._number.exception()
        return self._number.result() if known and self._number is not None else None

    def submit(self, call: _Call) -> Future[Any]:
        if self._pool is None:
            # Spawned, not forked: threads of libraries do not survive a fork.
            check_guarded(UNGUARDED_EXIT)
            try:
                self._pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _begin)
            except (ImportError, OSError) as error:
                raise BrokenExecutor(
                    f"no process can be started ({error}): the locks that processes share need a /dev/shm that can be "
                    "written to"
                ) from None
            self._number = self._pool.submit(os.getpid)
            (self._spawned,) = self._pool._processes.values()
        inner = self._pool.submit(_called, *call.arguments)
        self.calls.append(call)
        return inner

    def unguarded(self) -> bool:
        """Return whether the process, which has ended, found that the script starts processes when it is imported."""
        if self.number is not None:
            return False
        self._spawned.join(END_SECONDS)
        return self._spawned.exitcode == UNGUARDED_EXIT

    def shutdown(self, wait: bool, now: bool) -> None:
        if self._pool is None:
            return
        if now and self._number is not None:
            with contextlib.suppress(ProcessLookupError, BrokenProcessPool):
                # A solve would hear SIGTERM only between its compiled functions.
                os.kill(self._number.result(), getattr(signal, "SIGKILL", signal.SIGTERM))
        self._pool.shutdown(wait=wait, cancel_futures=now)


class Workers(Executor):
    """A pool of worker processes for several batches, an executor of ``concurrent.futures``.

    Pass it as ``executor=`` to :func:`beltline.solve_many`. Each process starts when it is first needed, solves on one
    thread, and keeps its device open until the pool is shut down. A process that dies is replaced. In a script, code
    that uses the pool belongs under ``if __name__ == "__main__":``, as with all processes that are spawned.

    Parameters
    ----------
    count : int
        Number of processes, from 1 to ``WORKERS_LIMIT`` (1,024).

    Raises
    ------
    ProblemError
        ``count`` is not such a number.

    Examples
    --------
    ::

        import beltline as bl

        if __name__ == "__main__":
            problems = [bl.rbc(grid=256, beta=beta) for beta in (0.95, 0.96)]
            with bl.Workers(2) as two:
                for attempt in bl.solve_many(problems, executor=two):
                    print(attempt)
    """

    def __init__(self, count: int) -> None:
        wanted = f"a whole number from 1 to {WORKERS_LIMIT}"
        self.count = whole("count", count, wanted, lambda v: 1 <= v <= WORKERS_LIMIT)
        self._processes = [_Process() for _ in range(self.count)]
        self._waiting: deque[_Call] = deque()
        self._lock = threading.RLock()
        self._closed = self._ended = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call a function in one of the processes; return a future of its result.

        The function, its arguments and the result are pickled.
        """
        with self._lock:
            if self._closed:
                raise RuntimeError("submit() was called on Workers that have been shut down: make new ones")
            call = _Call(Future(), (fn, args, kwargs))
            self._waiting.append(call)
            self._hand_out()
            return call.future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes after all calls are done, or at once with ``cancel_futures``.

        A board whose process was ended at once is reset by its next user.
        """
        with self._lock:
            self._closed = True
            self._ended = cancel_futures
            unfinished = [*self._waiting, *(call for process in self._processes for call in process.calls)]
        if cancel_futures:
            for call in unfinished:
                call.future.cancel()
        elif wait:
            concurrent.futures.wait([call.future for call in unfinished])
        for process in self._processes:
            process.shutdown(wait, cancel_futures)

    def numbers(self) -> list[int]:
        """Return the process ids of the processes that have started."""
        with self._lock:
            return [process.number for process in self._processes if process.number is not None]

    def _hand_out(self) -> None:
        while self._waiting and not self._ended:
            process = min(self._processes, key=lambda one: len(one.calls))
            if len(process.calls) >= CALLS_PER_PROCESS:
                return
            call = self._waiting.popleft()
            if call.future.cancelled():
                continue
            try:
                inner = process.submit(call)
            except BrokenProcessPool:
                # The process has just died, and its pool has not reported that yet.
                self._replace(process)
                self._waiting.appendleft(call)
                continue
            inner.add_done_callback(lambda done, process=process, call=call: self._done(process, call, done))  # type: ignore[misc]

    def _replace(self, process: _Process) -> None:
        if not process.dead:
            process.dead = True
            # A process handles its calls in order, so it died during the first of them.
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
                if process.unguarded():
                    error, lost = BrokenExecutor(UNGUARDED), False
                elif call.deaths < TRIES:
                    self._waiting.appendleft(call)
                else:
                    when = "" if process.number is not None else ", before it had imported the script that started it"
                    error, lost = WorkerLostError(f"the process that solved it died {call.deaths} times{when}"), False
            self._hand_out()
        if self._ended:
            call.future.cancel()
        elif not lost and call.future.set_running_or_notify_cancel():
            if error is None:
                call.future.set_result(done.result())
            else:
                call.future.set_exception(error)


def check_guarded(status: str | int = UNGUARDED) -> None:
    """End this process if it is one of a pool that still imports the user's script, and so must not start others.

    Its end is the answer to the process that started it: an exception would be printed with 40 lines of traceback, once
    for each process.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise SystemExit(status)


def _called(function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    return function(*arguments, **keywords)


def _begin() -> None:
    """Prepare a new worker process: one thread, no reaction to Ctrl-C, and exit with the parent process.

    A terminal sends Ctrl-C to all processes, but only the parent shall act on it. Threads are limited in the
    environment of this process and not of the parent, where other threads may be starting processes. Numba has its own
    call: it may be imported already, by the user's script, and would then take a change of ``NUMBA_NUM_THREADS`` for an
    error.
    """
    os.environ.update(dict.fromkeys(THREAD_SETTINGS, "1"))
    set_num_threads(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with, args=(multiprocessing.parent_process(),), daemon=True).start()


def _exit_with(parent: Any) -> None:
    parent.join()
    os._exit(1)
