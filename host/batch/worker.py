"""What one process does of a batch: it owns a device, which stays open from problem to problem.

A process has one station a device, made when the first problem arrives. Several threads may solve at one station: they
convert tables and verify results side by side, and take turns on the device, which is so given its next tables as soon
as it has returned the last results.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numba import get_num_threads, set_num_threads
from numpy.typing import NDArray

from beltline.gpu_ref.threads import threads
from beltline.host.devices import DEVICES, REFERENCES, DeviceError, DeviceInUseError, DeviceTimeoutError
from beltline.host.problem.checks import ProblemError
from beltline.host.problem.problem import Problem, convex_at
from beltline.host.results.result import PLAIN, Result
from beltline.host.solver.fixed_point import RANGE, Image
from beltline.host.solver.reference import solve_batch, solve_reference
from beltline.host.solver.session import Completed, Prepared, Session, rescaled

NEIGHBOURS_BYTES = 2**26
"""Of values that a station keeps for warm starts: 32 of the largest problem's, thousands of small ones'."""


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
    tol, max_sweeps, verify, value_bits, money_bits, timeout
        As of :func:`beltline.host.solver.solve.solve`.
    method
        Of a solver in double precision, empty for its default; of a machine ``"shift"``, or empty for plain sweeps.
    start
        Of a machine, as of :meth:`beltline.host.solver.session.Session.prepare`.
    warm
        Whether to start from the nearest solved neighbour.
    """

    device: str
    options: Mapping[str, Any]
    tol: float
    max_sweeps: int
    verify: bool
    value_bits: int | None
    money_bits: int | None
    timeout: float | None
    method: str
    start: Literal["problem", "stay", "coarse"]
    warm: bool


@dataclass(frozen=True)
class Answer:
    """What a station has to say of one problem; without the problem, which who asks has."""

    facts: dict[str, Any] | None
    error: Exception | None
    seconds: float

    def result(self, problem: Problem) -> Result | None:
        """The result, None where there is an error instead."""
        return None if self.facts is None else Result(problem=problem, **self.facts)


def answer(result: Result, seconds: float) -> Answer:
    """A result as it travels."""
    facts = {name: getattr(result, name) for name in ("value", "policy", "method", *PLAIN)}
    return Answer(facts, None, seconds)


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
    """Two threads for a station, with as many of Numba's as the thread that makes them may use."""
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


class Station:
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
        try:
            with _taking(turn) as wait:
                if settings.device in REFERENCES:
                    with self._alone(wait) as waited:
                        begin += waited
                        result = self._reference(settings, problem)
                else:
                    work = self._opened().prepare(
                        problem,
                        settings.tol,
                        settings.max_sweeps,
                        verify=settings.verify,
                        value_bits=settings.value_bits,
                        money_bits=settings.money_bits,
                        timeout=settings.timeout,
                        start=settings.start,
                        method="shift" if settings.method else None,
                    )
                    with self._alone(wait) as waited:
                        # Others had the device: that is no time of this problem.
                        begin += waited
                        completed = self._run(work, settings.warm)
            if settings.device not in REFERENCES:
                if turn is not None:
                    # Python lets a thread go on for 5 ms: who has the device now is to start its run before that.
                    time.sleep(GIVE_WAY)
                result = completed.result()
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

    def _look(self, text: str) -> None:
        if self._cancelled.is_set():
            raise Cancelled

    def _reference(self, settings: Settings, problem: Problem) -> Result:
        self._look("")
        return solve_reference(
            problem,
            settings.tol,
            settings.max_sweeps,
            settings.device,
            settings.method or (BATCH_METHOD if settings.device == "gpu" and problem.horizon is None else "warm"),
            dict(settings.options),
            None,
            settings.verify,
        )

    def _batch(self, settings: Settings, problems: Sequence[Problem]) -> list[Answer]:
        """On a graphics card, neighbours of one shape in one launch."""
        answers: list[Answer] = []
        for shape, same in itertools.groupby(problems, key=lambda problem: (problem.wealth.shape, problem.horizon)):
            group = list(same)
            begin = time.perf_counter()
            if shape[1] is None and len(group) > 1:
                with self._running:
                    self._look("")
                    try:
                        results = solve_batch(
                            group,
                            settings.tol,
                            settings.max_sweeps,
                            settings.method or BATCH_METHOD,
                            dict(settings.options),
                            settings.verify,
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


@dataclass(frozen=True, eq=False)
class _Neighbour:
    where: NDArray[np.float64]
    value: NDArray[np.int64]
    value_bits: int


class Neighbours:
    """The last solutions, for problems near them to start from; as many as ``NEIGHBOURS_BYTES`` hold."""

    def __init__(self, limit: int = NEIGHBOURS_BYTES) -> None:
        self._limit = limit
        self._bytes = 0
        self._kept: OrderedDict[int, tuple[object, _Neighbour]] = OrderedDict()
        self._number = itertools.count()

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, completed: Completed) -> None:
        """Remember a run that converged."""
        problem, run = completed.work.problem, completed.run
        if problem.horizon is not None or not run.converged:
            return
        family, where = _place(problem)
        self._kept[next(self._number)] = family, _Neighbour(where, run.value, completed.work.image.value_bits)
        self._bytes += run.value.nbytes
        while self._bytes > self._limit and len(self._kept) > 1:
            _, (_, oldest) = self._kept.popitem(last=False)
            self._bytes -= oldest.value.nbytes

    def nearest(self, work: Prepared) -> NDArray[np.int64] | None:
        """The nearest solution as a start of ``work``, in its units; None where there is none that can be.

        Distances are between the parameters, ``beta`` and ``eta``, each over its spread among those that are compared.
        A start must be as concave as any, and in range; with a horizon it is part of the problem, and none is given.
        """
        problem = work.problem
        family, here = _place(problem)
        others = [neighbour for kind, neighbour in self._kept.values() if kind == family]
        if problem.horizon is not None or not others:
            return None
        table = np.stack([neighbour.where for neighbour in others])
        spread = np.ptp(np.vstack([table, here]), axis=0)
        distance = np.sum(((table - here) / np.where(spread > 0, spread, 1.0)) ** 2, axis=1)
        found = others[int(np.argmin(distance))]
        return _as_start(problem, work.image, found)


def _place(problem: Problem) -> tuple[object, NDArray[np.float64]]:
    """What two problems must have in common to be neighbours, and where among its kind this one is."""
    names = tuple(sorted(problem.parameters))
    where = np.array([problem.beta, problem.eta, *(problem.parameters[name] for name in names)])
    return (problem.wealth.shape, problem.name, names), where


def _as_start(problem: Problem, image: Image, found: _Neighbour) -> NDArray[np.int64] | None:
    shift = image.value_bits - found.value_bits
    if float(np.abs(found.value.astype(np.float64)).max()) * 2.0**shift >= RANGE:
        return None
    value = np.ldexp(found.value.astype(np.float64), -found.value_bits)
    if convex_at(problem.grid, value, problem.wealth, problem.beta, problem.eta) is not None:
        return None
    return rescaled(found.value, shift)


_stations: dict[str, Station] = {}
_making = threading.Lock()


def station(settings: Settings) -> Station:
    """Return the station of a device in this process, made once, and closed when the process ends."""
    name = repr((settings.device, sorted(settings.options.items()) if settings.device in DEVICES else None))
    with _making:
        if name not in _stations:
            machine = settings.device in DEVICES
            _stations[name] = Station(settings.device, settings.options if machine else {})
            atexit.register(_stations[name].close)
        return _stations[name]


def work(settings: Settings, problems: Sequence[Problem]) -> list[Answer]:
    """Solve ``problems`` at this process's station, on :func:`threads_said` threads: what a worker is sent.

    Raises
    ------
    DeviceError
        The device cannot be opened.
    """
    with threads(threads_said()):
        return station(settings).solve_all(settings, problems)


def threads_said() -> int:
    """Numba's threads of a worker: as ``NUMBA_NUM_THREADS`` says, else one, for each core is to have a worker.

    Numba itself does not ask again once it is imported: too early where a worker is told only when it runs, as by
    ``LocalCluster(env=...)``, because a process that is spawned imports the user's script first.
    """
    said = os.environ.get("NUMBA_NUM_THREADS", "")
    return max(1, int(said)) if said.isdecimal() else 1
