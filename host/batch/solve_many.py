"""Many problems, one after the other or side by side: what an estimation asks for."""

from __future__ import annotations

import contextlib
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from beltline.host.batch.pool import WorkerLostError
from beltline.host.batch.store import Store, key
from beltline.host.batch.submit import Submitter, submitter
from beltline.host.batch.worker import Answer, Settings, alternatives, kept
from beltline.host.devices import DEVICES, REFERENCES, DeviceError, Progress, check_options, known
from beltline.host.problem.checks import ProblemError, check_progress, shown, whole
from beltline.host.problem.general import extras
from beltline.host.problem.problem import Problem
from beltline.host.problem.report import as_html, report
from beltline.host.problem.solvable import Solvable
from beltline.host.results.general_result import GeneralResult
from beltline.host.results.result import Result
from beltline.host.solver.options import UNNAMED, SolveOptions, flag, machine_method
from beltline.host.solver.processor_session import ProcessorSession, named
from beltline.host.solver.reference import check_method, reference_module
from beltline.host.solver.rules import AUTO, boards, check_unnamed
from beltline.host.solver.session import Session, no_options
from beltline.host.solver.solve_general import DEVICES as GENERAL_DEVICES
from beltline.host.solver.solve_general import METHOD, check_general
from beltline.sim.progress import reporting

CHUNK_LIMIT = 65_536
"""Most problems that a worker is sent at a time."""

GPU_CHUNK = 256
"""Problems of a launch on a graphics card, where nothing else is said."""

IN_FLIGHT_LIMIT = 1_000_000
"""Most chunks that are with an executor at a time."""


@dataclass(frozen=True, eq=False)
class Attempt:
    """A problem of a batch, and what came of it.

    Parameters
    ----------
    index : int
        Its place among the problems, from 0.
    key : str
        Content hash of the problem and of the options that change the answer; empty where there is no problem.
    problem : Problem or None
        None where the function that was to make it failed.
    result : Result, GeneralResult or None
        A :class:`~beltline.host.results.general_result.GeneralResult` of a problem of the general form. None where
        there is an error. A result that is not solved (``result.success``) is a result.
    error : Exception or None
        Why there is no result: a ``ProblemError``, a ``DeviceError``, or what else was raised.
    seconds : float
        From the conversion of the tables to the verification of the result, on the computer that solved it; less what
        it waited for others to leave the device.
    stored : bool
        Whether the result was in the store before.
    """

    index: int
    key: str
    problem: Problem | None
    result: Result | GeneralResult | None
    error: Exception | None
    seconds: float
    stored: bool = False

    def __str__(self) -> str:
        said = f"{type(self.error).__name__}: {self.error}" if self.result is None else self.result.message
        return report(
            f"Attempt {self.index}{f' at {self.problem.name}' if self.problem else ''}",
            [("status", said), ("seconds", f"{self.seconds:.3g}{', from the store' if self.stored else ''}")],
        )

    __repr__ = __str__
    _repr_html_ = as_html

    @property
    def success(self) -> bool:
        """Whether there is a result, and it is solved."""
        return self.result is not None and self.result.success


def solve_many(
    problems: Iterable[Problem | Callable[[], Problem]],
    tol: float = 1e-10,
    max_sweeps: int = 10_000,
    *,
    device: str | Session | ProcessorSession = UNNAMED,
    order: Literal["given", "finished"] = "given",
    warm: bool = False,
    store: str | os.PathLike[str] | Store | None = None,
    workers: int | None = None,
    executor: Any = None,
    chunk: int | None = None,
    in_flight: int | None = None,
    progress: Progress | Literal[False] | None = None,
    verify: bool = True,
    value_bits: int | None = None,
    money_bits: int | None = None,
    timeout: float | None = None,
    method: str | None = None,
    **options: Any,
) -> Iterator[Attempt]:
    """Solve ``problems`` and yield an :class:`Attempt` of each, as :func:`beltline.host.solver.solve.solve` would solve
    it.

    Problems are taken one by one as they are needed, so that a generator of millions is no more memory than a list of
    ten. Without ``workers`` and ``executor`` they are solved in this process, on one open device: while it works on one
    problem, the tables of the next are converted and the last result is verified, and only tables that changed are
    moved. One that fails does not stop the others. After Ctrl-C, or when the iterator is closed, the device is
    free again, and what was stored stays.

    Parameters
    ----------
    problems
        Problems, or functions without arguments that make one (``functools.partial(bl.rbc, beta=0.99)``), so that
        parameters out of range are the failure of that problem and not of the batch. Problems of the general form need
        device ``"cpu"`` or ``"gpu"``, and may stand among others there.
    tol, max_sweeps, progress, verify, value_bits, money_bits, timeout, method
        As of :func:`beltline.host.solver.solve.solve`, the same for all; ``timeout`` is that of each run. On ``"gpu"``
        the method is by default ``"shift"`` where the horizon is infinite; on a sweep engine it can be ``"shift"``,
        with option ``start``. A ``method`` or an option that only one of the two forms has is the failure of problems
        of the other.
    device
        By default ``"auto"``: the first board that is free, for a batch in this process, else the processor with method
        ``"auto"``. Name of a device, or an open session, which is left open.
    order
        ``"given"``: attempts come in the order of the problems. ``"finished"``: as they finish.
    warm
        Whether to start from the value of the nearest problem that the same device has solved in this batch, by
        ``parameters``, ``beta`` and ``eta``, each over its spread; where shapes differ or its value is no possible
        start, as usual. Results then keep to ``tol`` and their error bound, but not to the last bit.
    store
        Directory of a :class:`~beltline.host.batch.store.Store`: results are kept there as soon as there are any, and
        what is there already is not solved again. Errors are not kept.
    workers
        Processes of this computer to solve in, one thread each (:class:`~beltline.host.batch.pool.Workers`).
    executor
        To solve in instead: a :class:`~beltline.host.batch.pool.Workers`, any other executor of ``concurrent.futures``,
        or a ``Client`` of Dask's ``distributed``. Each of its processes opens a device of its own and keeps it, and
        solves a problem on one thread, or on as many as ``NUMBA_NUM_THREADS`` says there. It is left running. Retries,
        and what becomes of the tasks of workers that are lost, are its business.
    chunk
        Problems that a worker is sent at a time, 1 by default: more is quicker where problems are small, and a lost
        worker loses more. With device ``"gpu"`` the problems of a launch, 256 by default; those of the general form
        have a launch each.
    in_flight
        Most chunks that are taken from ``problems`` and not yielded yet; by default four a worker.
    **options
        Of the device or the method; ``update`` is none of them, for prices that move are those of one problem. For a
        device, a list is of alternatives, of which each worker takes the first that is free: ``slot=[0, 1, 2, 3]``.

    Raises
    ------
    ProblemError
        An argument is wrong, or the store is none or damaged.
    DeviceError
        A device cannot be opened.
    BrokenExecutor
        The user's own process pool lost a process, and with it all that it was asked for; or the executor was shut
        down, or its scheduler is gone.
    """
    check_progress(progress)
    device, method = _unnamed(named(device), method, options, executor is None and workers is None, warm)
    each = SolveOptions(tol, max_sweeps, verify, value_bits, money_bits, timeout, method=method, device=device)
    settings = _settings(device, options, each, warm, executor, workers)
    if order not in ("given", "finished"):
        raise ProblemError(f"order must be 'given' or 'finished', not {shown(order)}")
    try:
        given = iter(problems)
    except TypeError:
        raise ProblemError(f"problems must be a number of Problems to go through, not {shown(problems)}") from None
    chunk = whole(
        "chunk",
        (GPU_CHUNK if device == "gpu" else 1) if chunk is None else chunk,
        f"a whole number from 1 to {CHUNK_LIMIT}",
        lambda v: 1 <= v <= CHUNK_LIMIT,
    )
    if in_flight is not None:
        wanted = f"a whole number from 1 to {IN_FLIGHT_LIMIT}"
        in_flight = whole("in_flight", in_flight, wanted, lambda v: 1 <= v <= IN_FLIGHT_LIMIT)
    kept_in = store if store is None or isinstance(store, Store) else Store(store)
    make = submitter(device, settings, executor, workers)
    return _Batch(given, settings, order, kept_in, make, chunk, in_flight, progress).attempts()


def _unnamed(
    device: Any, method: str | None, options: dict[str, Any], here: bool, warm: object
) -> tuple[str | Session, str | None]:
    """Device and method, by rule where no device is named; options of a board are added to ``options``."""
    if not (isinstance(device, str) and device == UNNAMED):
        return device, method
    check_unnamed(method, options)
    if warm:
        raise ProblemError("warm is for machines: name one with it, as in device='emulator'")
    for name, where in boards() if here and method is None else ():
        with contextlib.suppress(DeviceError), Session(name, False, **where) as session:
            session.open()
            options |= where
            return name, None
    return "cpu", method or AUTO


def _settings(
    device: object, options: dict[str, Any], each: SolveOptions, warm: object, executor: object, workers: object
) -> Settings:
    """Everything that can be checked without a problem, checked."""
    if executor is not None and workers is not None:
        raise ProblemError("workers must be None where there is an executor, which has its own")
    machine = isinstance(device, Session) or known(device) in DEVICES
    name = "" if isinstance(device, Session) else str(device)
    if machine:
        method, start = machine_method(device, each.method, options)
        if start == "last":
            raise ProblemError("start = 'last' needs problems that follow each other: use warm=True in a batch")
        each = replace(each, method=method, start=start)
    if isinstance(device, Session):
        no_options(options)
        if executor is not None or workers is not None:
            raise ProblemError("device must be a name where others solve, for an open one cannot be sent to them")
    elif machine:
        for chosen in alternatives(options):
            check_options(name, chosen)
        if missing := (not workers and executor is None) and DEVICES[name].missing():
            raise DeviceError(f"device {name!r} cannot be used here: {missing}")
    elif executor is None and workers is None:
        reference_module(name)
    warm = flag("warm", warm)
    if not machine:
        if warm:
            raise ProblemError(f"warm is for machines, and device {device!r} is none")
        if each.method not in (None, AUTO, METHOD):
            check_method(each.method)
        if "update" in options:
            raise ProblemError("update must not be given to a batch: prices that move are those of one problem")
    return Settings(device=name, options=options, solve=each, warm=warm)


def _key(settings: Settings, problem: Problem) -> str:
    """All machines return the same bits, so which of them it was is no part of the key."""
    machine, each = settings.device not in REFERENCES, settings.solve
    decides = {
        "solver": "machine" if machine else settings.device,
        "method": each.method or "",
        "options": None if machine else sorted(settings.options.items()),
        **({} if each.start == "given" else {"start": each.start}),
        "tol": each.tol,
        "max_sweeps": each.max_sweeps,
        "verify": each.verify,
        "warm": settings.warm,
        "value_bits": each.value_bits,
        "money_bits": each.money_bits,
    }
    return key(problem, decides)


def _check_general(index: int, problem: Problem, settings: Settings) -> None:
    """Check that a problem of the general form can be solved with these settings, before it is sent anywhere."""
    if settings.device not in REFERENCES:
        raise ProblemError(
            f"problem {index}, {problem.name!r}, has {', '.join(extras(problem))}, which no machine takes in a batch: "
            f"pass device={' or device='.join(map(repr, GENERAL_DEVICES))}"
        )
    try:
        check_general(problem, settings.solve, settings.device, settings.options)
    except ProblemError as error:
        raise ProblemError(f"problem {index}, {problem.name!r}: {error}") from None


_Waiting = tuple[int, str, Problem]
"""Index, key, and what is to be solved."""


GONE = (
    "the executor has cancelled what it was asked for: it was shut down, or lost its scheduler; "
    "results so far were delivered, and those of a store stay in it"
)
"""What is said where nobody will solve the problems that are left."""


@dataclass(eq=False)
class _Chunk:
    """Neighbours among the problems: those that are under way together, and those there is nothing to do for."""

    items: list[Attempt | _Waiting] = field(default_factory=list)
    future: Future[list[Answer]] | None = None

    def problems(self) -> list[Problem]:
        return [item[2] for item in self.items if not isinstance(item, Attempt)]

    def done(self) -> bool:
        return all(isinstance(item, Attempt) for item in self.items)

    def answered(self, answers: list[Answer]) -> list[Attempt]:
        """Put the attempts in their places, and return those that are new."""
        told = iter(answers)
        new = []
        for i, item in enumerate(self.items):
            if not isinstance(item, Attempt):
                index, name, problem = item
                said = next(told)
                attempt = Attempt(index, name, problem, said.result(problem), said.error, said.seconds)
                self.items[i] = attempt
                new.append(attempt)
        return new

    def attempts(self) -> list[Attempt]:
        return [item for item in self.items if isinstance(item, Attempt)]


class _Batch:
    def __init__(
        self,
        problems: Iterator[Any],
        settings: Settings,
        order: str,
        store: Store | None,
        make_submitter: Callable[[], Submitter],
        chunk: int,
        in_flight: int | None,
        progress: Progress | Literal[False] | None,
    ) -> None:
        self._problems = enumerate(problems)
        self._settings = settings
        self._given = order == "given"
        self._store = store
        self._make_submitter = make_submitter
        self._size = chunk
        self._limit = in_flight
        self._progress = progress
        self._under_way: deque[_Chunk] = deque()
        self._over: Exception | None = None
        self._more = True
        self._done = self._failed = self._found = 0

    def attempts(self) -> Iterator[Attempt]:
        """Solve, and yield."""
        with (
            contextlib.nullcontext() if self._store is None else self._store.writing(),
            reporting(self._progress) as report,
        ):
            to = self._make_submitter()
            finished = False
            begin = time.monotonic()
            try:
                while True:
                    self._fill(to)
                    if not self._under_way:
                        break
                    self._collect()
                    for attempt in self._ready():
                        self._done += 1
                        self._failed += not attempt.success
                        self._found += attempt.stored
                        if report:
                            report(self._text(time.monotonic() - begin))
                        yield attempt
                finished = True
            finally:
                for one in self._under_way:
                    if one.future is not None:
                        one.future.cancel()
                to.close(finished)
        if self._over is not None:
            raise self._over

    def _text(self, seconds: float) -> str:
        counts = ((self._found, "from the store"), (self._failed, "not solved"))
        some = ", ".join(f"{count:,} {what}" for count, what in counts if count)
        text = f"{self._done:,} problem{'s' * (self._done != 1)} done{some and f' ({some})'}"
        return f"{text}, {self._done / max(seconds, 1e-9):,.3g} a second"

    def _fill(self, to: Submitter) -> None:
        """Take problems until as many chunks are under way as may be."""
        limit = self._limit or 4 * to.count()
        while self._more and len(self._under_way) < limit:
            chunk = _Chunk()
            while len(chunk.items) < self._size and (taken := self._take()) is not None:
                chunk.items.append(taken)
            if chunk.items:
                self._under_way.append(chunk)
            if problems := chunk.problems():
                chunk.future = to.submit(problems)

    def _take(self) -> Attempt | _Waiting | None:
        """The next problem, or the attempt at it where nothing is to be solved; None at the end."""
        try:
            index, item = next(self._problems)
        except StopIteration:
            self._more = False
            return None
        except Exception as error:
            # What was asked for before is still delivered.
            self._more, self._over = False, error
            return None
        try:
            problem = item() if callable(item) else item
            if not isinstance(problem, Problem | type) and isinstance(problem, Solvable):
                raise ProblemError(f"problem {index} is a model, {type(problem).__name__}: give its problem()")
            if not isinstance(problem, Problem):
                raise ProblemError(f"problem {index} must be a Problem, not {shown(problem)}")
        except Exception as error:
            return Attempt(index, "", None, None, kept(error), 0.0)
        name = _key(self._settings, problem)
        try:
            if problem.general:
                _check_general(index, problem, self._settings)
            if self._store is not None and (result := self._store.get(name, problem)) is not None:
                return Attempt(index, name, problem, result, None, 0.0, stored=True)
        except ProblemError as error:
            return Attempt(index, name, problem, None, error, 0.0)
        return index, name, problem

    def _collect(self) -> None:
        """Wait until something is done that can be yielded, and store all that is."""
        waiting = {one.future: one for one in self._under_way if one.future is not None and not one.done()}
        ready = self._under_way[0].done() if self._given else any(one.done() for one in self._under_way)
        if not waiting:
            return
        done, _ = wait(waiting, timeout=0 if ready else None, return_when=FIRST_COMPLETED)
        for future in done:
            one = waiting[future]
            for attempt in one.answered(_answers(one, future)):
                if self._store is not None and attempt.result is not None:
                    self._store.put(attempt.key, attempt.result)

    def _ready(self) -> Iterator[Attempt]:
        while self._under_way and self._under_way[0].done():
            yield from self._under_way.popleft().attempts()
        if not self._given:
            for one in [one for one in self._under_way if one.done()]:
                self._under_way.remove(one)
                yield from one.attempts()


def _answers(chunk: _Chunk, future: Future[list[Answer]]) -> list[Answer]:
    """What came back; an error of the executor is that of each problem, unless it cannot go on at all."""
    try:
        error = future.exception()
    except CancelledError:
        raise BrokenExecutor(GONE) from None
    if error is None:
        return future.result()
    if isinstance(error, BrokenExecutor | DeviceError) and not isinstance(error, WorkerLostError):
        raise error
    if not isinstance(error, Exception):
        raise error
    return [Answer(None, kept(error), 0.0) for _ in chunk.problems()]
