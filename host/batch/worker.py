"""The worker of a batch in one process: it has a device that stays open from problem to problem.

A process has one worker for each device, made when the first problem arrives. Several threads may solve with one
worker: they convert tables and verify results in parallel, and use the device in turn. So the device gets its next
tables as soon as it has returned the last results.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from typing import Any

from numba import get_num_threads, set_num_threads

from beltline.gpu_ref.threads import threads
from beltline.host.batch.neighbours import Neighbours
from beltline.host.devices import DEVICES, REFERENCES, DeviceError, DeviceInUseError, DeviceTimeoutError
from beltline.host.problem.checks import ProblemError
from beltline.host.problem.problem import Problem
from beltline.host.results.outcome import Outcome
from beltline.host.results.result import Result
from beltline.host.solver.complete import Completed, or_plain, plain
from beltline.host.solver.options import UNNAMED, SolveOptions, Way, ways
from beltline.host.solver.prepare import Prepared
from beltline.host.solver.reference import solve_batch
from beltline.host.solver.session import Session
from beltline.host.solver.solve import solve_in_double

YIELD_SECONDS = 100e-6
"""Seconds for which a thread sleeps after its run, so that the next one can start its own."""


@dataclass(frozen=True)
class Settings:
    """What all problems of a batch have in common; sent to every worker.

    Parameters
    ----------
    device
        Name of the device.
    options
        Options of the device or the method. A list for an option of a device gives alternatives: the first that is not
        in use is opened.
    solve
        Options of each solve. Its ``start`` is never ``"last"``, which batches do not support.
    warm
        Whether to start from the nearest problem that was solved before.
    """

    device: str
    options: Mapping[str, Any]
    solve: SolveOptions
    warm: bool


@dataclass(frozen=True)
class Answer:
    """What a worker returns for one problem. It is sent to another process without the problem, which the caller has.

    Parameters
    ----------
    found
        The result, in another process its fields without the problem; None if there was an error.
    error
        The error if there is no result, or None.
    seconds
        Time that the problem took.
    """

    found: Result | dict[str, Any] | None
    error: Exception | None
    seconds: float

    def result(self, problem: Problem) -> Result | None:
        """Return the result, completed by its problem; None if there is an error."""
        return Result(problem=problem, **self.found) if isinstance(self.found, dict) else self.found

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickling, with the fields of the result but its problem in place of the result."""
        found: Any = self.found
        if isinstance(found, Result):
            found = {field.name: getattr(found, field.name) for field in fields(found) if field.name != "problem"}
        return {**self.__dict__, "found": found}


def transferable(error: Exception) -> Exception:
    """Return an error as it is sent to the caller.

    An exception of another package may not be picklable, so it becomes a ``RuntimeError`` with its text.
    """
    if type(error) in (ProblemError, MemoryError) or isinstance(error, DeviceError):
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")


class Cancelled(Exception):
    """The batch has ended, so that the answer is not needed any more."""


class Turns:
    """Makes runs use the device in the order in which they were submitted."""

    def __init__(self) -> None:
        self._last = threading.Event()
        self._last.set()

    def next(self) -> tuple[threading.Event, threading.Event]:
        """Return two events ``(before, own)``: wait for the first, and set the second when the device is free again."""
        before, self._last = self._last, threading.Event()
        return before, self._last


def pair() -> ThreadPoolExecutor:
    """Return an executor of two threads for a worker, each with the number of Numba threads of the current thread."""
    return ThreadPoolExecutor(2, initializer=set_num_threads, initargs=(get_num_threads(),))


@contextlib.contextmanager
def _taking(turn: tuple[threading.Event, threading.Event] | None) -> Iterator[Callable[[], object]]:
    """Provide a function that waits for the turn. When the block ends, also with an error, the next turn begins."""
    if turn is None:
        yield lambda: None
        return
    before, own = turn
    try:
        yield before.wait
    finally:
        before.wait()
        own.set()


class Worker:
    """A device that is opened for the first problem and stays open for all others.

    Parameters
    ----------
    device
        Name of a device, or a session, which is not closed with the worker.
    options
        Options of the device, with lists for alternatives.
    """

    def __init__(self, device: str | Session, options: Mapping[str, Any]) -> None:
        self._device = device
        self._choices = alternatives(options)
        self._session = device if isinstance(device, Session) else None
        self._opening = threading.Lock()
        self._running = threading.Lock()
        self._cancelled = threading.Event()
        self.neighbours = Neighbours()

    def solve(
        self,
        settings: Settings,
        problem: Problem,
        turn: tuple[threading.Event, threading.Event] | None = None,
    ) -> Answer:
        """Solve one problem. Errors of the problem or of its run are returned in the answer.

        Raises
        ------
        DeviceError
            The device cannot be opened.
        """
        begin = time.perf_counter()
        result: Result
        try:
            with _taking(turn) as wait:
                if settings.device in REFERENCES:
                    with self._alone(wait) as waited:
                        begin += waited
                        result = self._reference(settings, problem)
                else:
                    work = self._opened().prepare(problem, settings.solve)
                    with self._alone(wait) as waited:
                        # Time of waiting for the device is not counted.
                        begin += waited
                        completed = self._run(work, settings.warm)
            if settings.device not in REFERENCES:
                if turn is not None:
                    # Python switches threads only after 5 ms. The thread that has the device now shall start its run
                    # earlier than that.
                    time.sleep(YIELD_SECONDS)
                result = self._or_plain(settings, work, completed)
            return Answer(result, None, time.perf_counter() - begin)
        except NotOpen as error:
            raise error.why from None
        except Exception as error:
            return Answer(None, transferable(error), time.perf_counter() - begin)

    def solve_all(self, settings: Settings, problems: Sequence[Problem]) -> list[Answer]:
        """Solve several problems, converting the next one while one is solved; errors as :meth:`solve`."""
        if settings.device == "gpu":
            return self._batch(settings, problems)
        if len(problems) == 1 or settings.device in REFERENCES:
            return [self.solve(settings, problem) for problem in problems]
        turns = Turns()
        with pair() as both:
            waiting = [both.submit(self.solve, settings, problem, turns.next()) for problem in problems]
            return [one.result() for one in waiting]

    @contextlib.contextmanager
    def _alone(self, wait: Callable[[], object]) -> Iterator[float]:
        """Reserve the device during the block; yield the seconds that the wait for it took."""
        begin = time.perf_counter()
        wait()
        with self._running:
            yield time.perf_counter() - begin

    def cancel(self) -> None:
        """End the run in progress within a fraction of a second, and start no other."""
        self._cancelled.set()

    def close(self) -> None:
        """Close the session if this worker opened it."""
        with self._running:
            self._drop()

    def _drop(self) -> None:
        with self._opening:
            if self._session is not None and self._session is not self._device:
                session, self._session = self._session, None
                # A device that was lost may raise its error again.
                with contextlib.suppress(DeviceError, OSError):
                    session.close()

    def _opened(self) -> Session:
        with self._opening:
            if self._session is None:
                self._session = _first_free(str(self._device), self._choices)
            return self._session

    def _run(self, work: Prepared, warm: bool) -> Completed:
        self._check_cancelled("")
        near = self.neighbours.nearest(work) if warm else None
        if near is not None:
            work = replace(work, image=replace(work.image, start=near))
        try:
            completed = self._opened().run(work, self._check_cancelled)
        except DeviceTimeoutError:
            # The run was stopped. A device that cannot be stopped is reset before the next run.
            raise
        except DeviceError:
            # The state of the device is unknown, so the next problem opens it again.
            self._drop()
            raise
        if warm:
            self.neighbours.add(completed)
        return completed

    def _or_plain(self, settings: Settings, work: Prepared, completed: Completed) -> Result:
        """Return the result of a run of ``work``, or of plain sweeps if extrapolation or a warm start made it fail."""

        def again() -> Result:
            with self._running:
                return self._run(self._opened().prepare(work.problem, plain(settings.solve)), warm=False).result()

        result = completed.result()
        from_neighbour = completed.work is not work
        if not settings.solve.shift and not from_neighbour:
            return result
        return or_plain(result, again, "those from another problem's values" if from_neighbour else "shifted ones")

    def _check_cancelled(self, text: str) -> None:
        """Raise :class:`Cancelled` after :meth:`cancel`; called with each line of progress."""
        if self._cancelled.is_set():
            raise Cancelled

    def _reference(self, settings: Settings, problem: Problem) -> Result:
        self._check_cancelled("")
        return solve_in_double(problem, settings.solve, settings.device, dict(settings.options), self._check_cancelled)

    def _batch(self, settings: Settings, problems: Sequence[Problem]) -> list[Answer]:
        """Solve on a GPU: consecutive problems of one shape in one launch, those of the general form one by one."""
        answers: list[Answer] = []
        for (general, horizon, _, options), same in itertools.groupby(
            problems,
            key=lambda one: (one.general, one.horizon, one.wealth.shape, settings.solve.of(one)),
        ):
            group = list(same)
            begin = time.perf_counter()
            if not general and horizon is None and len(group) > 1:
                with self._running:
                    self._check_cancelled("")
                    try:
                        way = ways(group[0], "gpu")[0] if options.method == UNNAMED else Way(str(options.method))
                        results = solve_batch(group, options, way.method, {**way.options, **settings.options})
                    except ProblemError:
                        # One of them is wrong, or together they do not fit in memory: solve them one by one.
                        results = []
                if results:
                    each = (time.perf_counter() - begin) / len(group)
                    for one, result in zip(group, results, strict=True):
                        # A lower tolerance may give a better bound.
                        again = result.status == Outcome.INEXACT
                        answers.append(self.solve(settings, one) if again else Answer(result, None, each))
                    continue
            answers += [self.solve(settings, problem) for problem in group]
        return answers


class NotOpen(Exception):
    """None of the devices can be opened; ``why`` is the error of the last one."""

    def __init__(self, why: Exception) -> None:
        super().__init__(str(why))
        self.why = why


def alternatives(options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return all combinations of options that are lists, in order.

    ``slot=[0, 1]`` means slot 0 and, if that is in use, slot 1.

    >>> alternatives({"slot": [0, 1], "lanes": 4})
    [{'slot': 0, 'lanes': 4}, {'slot': 1, 'lanes': 4}]
    """
    choices = [value if isinstance(value, list) else [value] for value in options.values()]
    return [dict(zip(options, chosen, strict=True)) for chosen in itertools.product(*choices)]


def _first_free(device: str, choices: Sequence[Mapping[str, Any]]) -> Session:
    for i, options in enumerate(choices):
        try:
            session = Session(device, False, **options)
            session.open()
            return session
        except DeviceInUseError as error:
            if i + 1 == len(choices):
                raise NotOpen(error) from None
        except (DeviceError, ProblemError) as error:
            raise NotOpen(error) from None
    raise NotOpen(DeviceError(f"an option of device {device!r} is an empty list: give at least one value"))


_workers: dict[str, Worker] = {}
_making = threading.Lock()


def worker_of(settings: Settings) -> Worker:
    """Return the worker of a device in this process; it is made once, and closed when the process ends."""
    name = repr((settings.device, sorted(settings.options.items()) if settings.device in DEVICES else None))
    with _making:
        if name not in _workers:
            machine = settings.device in DEVICES
            _workers[name] = Worker(settings.device, settings.options if machine else {})
            atexit.register(_workers[name].close)
        return _workers[name]


def work(settings: Settings, problems: Sequence[Problem]) -> list[Answer]:
    """Solve problems with the worker of this process, on :func:`configured_threads` threads. Executors call this.

    Raises
    ------
    DeviceError
        The device cannot be opened.
    """
    with threads(configured_threads()):
        return worker_of(settings).solve_all(settings, problems)


def configured_threads() -> int:
    """Return the number of Numba threads of a worker: ``NUMBA_NUM_THREADS`` if set, else 1 (a worker per core).

    The variable is read here because Numba reads it only when it is imported. A spawned process imports the user's
    script, and with it Numba, before a cluster sets the environment (``LocalCluster(env=...)``).
    """
    setting = os.environ.get("NUMBA_NUM_THREADS", "")
    return max(1, int(setting)) if setting.isdecimal() else 1
