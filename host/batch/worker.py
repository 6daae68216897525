"""What one process does of a batch: it owns a device, which stays open from problem to problem.

A process has one worker for each device, made when the first problem arrives. Several threads may solve with one
worker: they convert tables and verify results side by side, and take turns on the device. So the device gets its next
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
from beltline.host.results.general_result import GeneralResult
from beltline.host.results.result import Result
from beltline.host.solver.automatic import solve_in_double
from beltline.host.solver.complete import Completed
from beltline.host.solver.fallback import or_plain, plain
from beltline.host.solver.options import SolveOptions
from beltline.host.solver.prepare import Prepared
from beltline.host.solver.reference import solve_batch
from beltline.host.solver.session import Session

GIVE_WAY = 100e-6
"""Seconds for which a thread stands back after its run."""


@dataclass(frozen=True)
class Settings:
    """What all problems of a batch have in common; travels to every worker.

    Parameters
    ----------
    device
        Name of it.
    options
        Of the device or method. For a device, a list is of alternatives: the first that is not in use is opened.
    solve
        Of each solve. Its start is that of a machine and not ``"last"``, which no batch knows.
    warm
        Whether to start from the nearest solved neighbour.
    """

    device: str
    options: Mapping[str, Any]
    solve: SolveOptions
    warm: bool


@dataclass(frozen=True)
class Answer:
    """What a worker returns for one problem; without the problem, which who asks has."""

    found: tuple[type[Result] | type[GeneralResult], dict[str, Any]] | None
    error: Exception | None
    seconds: float

    def result(self, problem: Problem) -> Result | GeneralResult | None:
        """The result, None where there is an error instead."""
        if self.found is None:
            return None
        kind, facts = self.found
        return kind(problem=problem, **facts)


def answer(result: Result | GeneralResult, seconds: float) -> Answer:
    """A result as it travels."""
    facts = {field.name: getattr(result, field.name) for field in fields(result) if field.name != "problem"}
    return Answer((type(result), facts), None, seconds)


def kept(error: Exception) -> Exception:
    """An error as it travels: those of strangers by their words, as they may not be pickled."""
    if type(error) in (ProblemError, MemoryError) or isinstance(error, DeviceError):
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")


class Cancelled(Exception):
    """Nobody wants the answer any more."""


class Turns:
    """Lets runs on the device follow each other in the order in which they were asked for."""

    def __init__(self) -> None:
        self._last = threading.Event()
        self._last.set()

    def next(self) -> tuple[threading.Event, threading.Event]:
        """``(before, own)``: wait for the one, and set the other when the device is free again."""
        before, self._last = self._last, threading.Event()
        return before, self._last


BATCH_METHOD = "shift"
"""By default on a graphics card, where the horizon is infinite: there the fastest in a batch."""


def pair() -> ThreadPoolExecutor:
    """Two threads for a worker, with as many of Numba's as the thread that makes them may use."""
    return ThreadPoolExecutor(2, initializer=set_num_threads, initargs=(get_num_threads(),))


@contextlib.contextmanager
def _taking(turn: tuple[threading.Event, threading.Event] | None) -> Iterator[Callable[[], object]]:
    """Give what waits for the turn; when the block ends, however it does, the next one may go."""
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
    """An open device for one problem after the other.

    Parameters
    ----------
    device
        Name of a device, or a session, which is left open.
    options
        Of the device that is opened.
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
        """Solve one problem; what is wrong with it, or with its run, is in the answer.

        Raises
        ------
        DeviceError
            The device cannot be opened.
        """
        begin = time.perf_counter()
        result: Result | GeneralResult
        try:
            with _taking(turn) as wait:
                if settings.device in REFERENCES:
                    with self._alone(wait) as waited:
                        begin += waited
                        result = self._reference(settings, problem)
                else:
                    work = self._opened().prepare(problem, settings.solve)
                    with self._alone(wait) as waited:
                        # Others had the device: that is no time of this problem.
                        begin += waited
                        completed = self._run(work, settings.warm)
            if settings.device not in REFERENCES:
                if turn is not None:
                    # Python lets a thread go on for 5 ms: who has the device now is to start its run before that.
                    time.sleep(GIVE_WAY)
                result = self._or_plain(settings, work, completed)
            return answer(result, time.perf_counter() - begin)
        except NotOpen as error:
            raise error.why from None
        except Exception as error:
            return Answer(None, kept(error), time.perf_counter() - begin)

    def solve_all(self, settings: Settings, problems: Sequence[Problem]) -> list[Answer]:
        """Solve several problems; the next is converted while one is solved. Errors as of :meth:`solve`."""
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
        """Have the device; gives the seconds that it took to get it."""
        asked = time.perf_counter()
        wait()
        with self._running:
            yield time.perf_counter() - asked

    def cancel(self) -> None:
        """End the run in progress within a fraction of a second, and begin no other."""
        self._cancelled.set()

    def close(self) -> None:
        """Close the session, if it was opened here."""
        with self._running:
            self._drop()

    def _drop(self) -> None:
        with self._opening:
            if self._session is not None and self._session is not self._device:
                session, self._session = self._session, None
                # A device that is gone may say so once more.
                with contextlib.suppress(DeviceError, OSError):
                    session.close()

    def _opened(self) -> Session:
        with self._opening:
            if self._session is None:
                self._session = _first_free(str(self._device), self._choices)
            return self._session

    def _run(self, work: Prepared, warm: bool) -> Completed:
        self._look("")
        near = self.neighbours.nearest(work) if warm else None
        if near is not None:
            work = replace(work, image=replace(work.image, start=near))
        try:
            completed = self._opened().run(work, self._look)
        except DeviceTimeoutError:
            # It was stopped; and one that could not be is reset before the next run.
            raise
        except DeviceError:
            # Whatever state it is in, the next problem begins with one that is opened anew.
            self._drop()
            raise
        if warm:
            self.neighbours.keep(completed)
        return completed

    def _or_plain(self, settings: Settings, work: Prepared, completed: Completed) -> Result:
        """The result of a run of ``work``; where shifts or a neighbour's values led it astray, of plain sweeps."""

        def again() -> Result:
            with self._running:
                return self._run(self._opened().prepare(work.problem, plain(settings.solve)), warm=False).result()

        result = completed.result()
        from_neighbour = completed.work is not work
        if not settings.solve.shift and not from_neighbour:
            return result
        return or_plain(result, again, "those from another problem's values" if from_neighbour else "shifted ones")

    def _look(self, text: str) -> None:
        if self._cancelled.is_set():
            raise Cancelled

    def _reference(self, settings: Settings, problem: Problem) -> Result | GeneralResult:
        self._look("")
        options, simple = settings.solve, not problem.general
        if options.method is None and settings.device == "gpu" and simple and problem.horizon is None:
            options = replace(options, method=BATCH_METHOD)
        return solve_in_double(problem, options, settings.device, dict(settings.options), self._look)

    def _batch(self, settings: Settings, problems: Sequence[Problem]) -> list[Answer]:
        """On a graphics card, neighbours of one shape in one launch; those of the general form one by one."""
        answers: list[Answer] = []
        for (general, horizon, _), same in itertools.groupby(
            problems, key=lambda problem: (problem.general, problem.horizon, problem.wealth.shape)
        ):
            group = list(same)
            begin = time.perf_counter()
            if not general and horizon is None and len(group) > 1:
                with self._running:
                    self._look("")
                    try:
                        results = solve_batch(
                            group, settings.solve, settings.solve.method or BATCH_METHOD, dict(settings.options)
                        )
                    except ProblemError:
                        # One of them is at fault, or all are too much at a time: one by one it shows.
                        results = []
                if results:
                    each = (time.perf_counter() - begin) / len(group)
                    answers += [answer(result, each) for result in results]
                    continue
            answers += [self.solve(settings, problem) for problem in group]
        return answers


class NotOpen(Exception):
    """No device of those named can be opened, and ``why``."""

    def __init__(self, why: Exception) -> None:
        super().__init__(str(why))
        self.why = why


def alternatives(options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """All choices of options that are lists, in order: ``slot=[0, 1]`` is slot 0, and where that is in use, slot 1."""
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
    raise NotOpen(DeviceError(f"device {device!r} has an option that is a list of nothing"))


_workers: dict[str, Worker] = {}
_making = threading.Lock()


def worker_of(settings: Settings) -> Worker:
    """Return the worker of a device in this process, made once, and closed when the process ends."""
    name = repr((settings.device, sorted(settings.options.items()) if settings.device in DEVICES else None))
    with _making:
        if name not in _workers:
            machine = settings.device in DEVICES
            _workers[name] = Worker(settings.device, settings.options if machine else {})
            atexit.register(_workers[name].close)
        return _workers[name]


def work(settings: Settings, problems: Sequence[Problem]) -> list[Answer]:
    """Solve ``problems`` with this process's worker, on :func:`threads_said` threads: what a worker is sent.

    Raises
    ------
    DeviceError
        The device cannot be opened.
    """
    with threads(threads_said()):
        return worker_of(settings).solve_all(settings, problems)


def threads_said() -> int:
    """Numba's threads of a worker: as ``NUMBA_NUM_THREADS`` says, else one, for each core is to have a worker.

    Numba itself does not ask again once it is imported: too early where a worker is told only when it runs, as by
    ``LocalCluster(env=...)``, because a process that is spawned imports the user's script first.
    """
    said = os.environ.get("NUMBA_NUM_THREADS", "")
    return max(1, int(said)) if said.isdecimal() else 1
