"""The function :func:`solve_many`, which solves a batch of problems, as estimation and calibration need it."""

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
from beltline.host.batch.settings import Key, check_form, chosen, settings_of
from beltline.host.batch.store import Store
from beltline.host.batch.submit import Submitter, submitter
from beltline.host.batch.worker import Answer, Settings, transferable
from beltline.host.devices import DeviceError, Progress
from beltline.host.problem.checks import ProblemError, check_progress, shown, whole, word
from beltline.host.problem.discrete import DiscreteProblem
from beltline.host.problem.problem import Problem
from beltline.host.problem.report import Report, as_html, as_text, report
from beltline.host.problem.solvable import Solvable
from beltline.host.results.result import Result
from beltline.host.solver.options import UNNAMED, options_with
from beltline.host.solver.session import Session
from beltline.host.solver.solve import ProcessorSession, named
from beltline.sim.progress import reporting

CHUNK_LIMIT = 65_536
"""Largest number of problems that a worker is sent at a time."""

GPU_CHUNK = 256
"""Default number of problems in one launch on a GPU."""

IN_FLIGHT_LIMIT = 1_000_000
"""Largest number of chunks that an executor has at a time."""


@dataclass(frozen=True, eq=False)
class Attempt:
    """One problem of a batch with its result or its error, as :func:`beltline.solve_many` yields them.

    Parameters
    ----------
    index : int
        Position of the problem in the batch, from 0.
    problem : Problem or None
        None if the function that should make it failed.
    result : Result or None
        None if there
        is an error. A solve that ends without convergence is not an error: see ``result.success``.
    error : Exception or None
        Why there is no result: a ``ProblemError``, a ``DeviceError``, or another exception.
    seconds : float
        Time for conversion of the tables, solution and verification on the computer that solved the problem, without
        the time of waiting for the device.
    stored : bool
        Whether the result was found in the store and not computed now.
    hashed : Key or None
        Computes :attr:`key`; None if there is no problem.

    Examples
    --------
    >>> import beltline as bl
    >>> [attempt] = bl.solve_many([bl.rbc(grid=64)], device="cpu")
    >>> attempt.index, attempt.success, attempt.error is None, attempt.result.value.shape
    (0, True, True, (64, 4))
    """

    index: int
    problem: Problem | None
    result: Result | None
    error: Exception | None
    seconds: float
    stored: bool = False
    hashed: Key | None = field(default=None, repr=False)

    def _report(self) -> Report:
        status = f"{type(self.error).__name__}: {self.error}" if self.result is None else self.result.message
        return report(
            f"Attempt {self.index}{f' at {self.problem.name}' if self.problem else ''}",
            [("status", status), ("seconds", f"{self.seconds:.3g}{', from the store' if self.stored else ''}")],
        )

    __str__ = __repr__ = as_text
    _repr_html_ = as_html

    @property
    def key(self) -> str:
        """Hash (SHA-256) of the problem and of the options that change the result; empty if there is no problem.

        It is the key of the result in a :class:`~beltline.host.batch.store.Store`, and computed when it is first
        needed.
        """
        return "" if self.hashed is None else self.hashed.text

    @property
    def success(self) -> bool:
        """Whether there is a result, and the problem was solved (``result.success``)."""
        return self.result is not None and self.result.success


def solve_many(
    problems: Iterable[Problem | Callable[[], Problem]],
    tol: float | None = None,
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
    amount_bits: int | None = None,
    timeout: float | None = None,
    method: str | None = None,
    **options: Any,
) -> Iterator[Attempt]:
    """Solve many problems and yield an :class:`Attempt` for each, on one device, on all cores or on a cluster.

    Each problem is solved as :func:`beltline.solve` would solve it. A problem that fails does not stop the others.
    Problems are taken from the iterable only as they are needed, so that a generator of millions needs no more memory
    than a list of ten.

    Without ``workers`` and ``executor`` the problems are solved in this process on one device that stays open. While
    the device works on a problem, the tables of the next one are converted and the last result is verified; only tables
    that changed are transferred. After Ctrl-C, or when the iterator is closed, the device is free again, and results in
    the store remain.

    Parameters
    ----------
    problems : iterable
        Problems (:class:`~beltline.host.problem.problem.Problem`), or functions without arguments that return one, such
        as ``functools.partial(bl.rbc, beta=0.99)``. With a function, an invalid parameter is an error of that problem
        and not of the batch. Problems of the general form need device ``"cpu"`` or ``"gpu"``, where both forms may be
        mixed. Of a model pass its ``problem()``. Discrete problems, and economies whose prices are to be found, such as
        ``bl.aiyagari()``, are solved by :func:`beltline.solve` only.
    tol, max_sweeps, progress, verify, value_bits, amount_bits, timeout, method
        As in :func:`beltline.solve`, the same for all problems; ``timeout`` applies to each run. On a sweep engine
        ``method="shift"`` takes the option ``start``. A problem of a form that does not support the method or an option
        fails with an error.
    device : str or Session
        ``"auto"``, the default: for a batch in this process the first free board; otherwise the processor. Or
        the name of a device, or an open session, which stays open.
    order : {"given", "finished"}
        Whether attempts come in the order of the problems, or as soon as they finish.
    warm : bool
        Whether each problem starts from the solution of the nearest problem that the same device has solved in this
        batch. Distance is measured by ``parameters``, ``beta`` and ``eta``, each divided by its range. Where shapes
        differ, or a solution cannot serve as a first guess, the problem starts from its own ``start``. Results have the
        same ``tol`` and a valid error bound, but not the same last bits. Only for devices of the accelerator.
    store : path or Store, optional
        Directory of a :class:`~beltline.host.batch.store.Store`. Every result is written there at once, and a problem
        whose result is there already is not solved again. Errors are not stored. If the disk is full, the batch goes
        on, and the messages of results that could not be written say so.
    workers : int, optional
        Number of processes of this computer to solve in, with one thread each
        (:class:`~beltline.host.batch.pool.Workers`).
    executor : optional
        An executor to solve in instead: a :class:`~beltline.host.batch.pool.Workers`, any other executor of
        ``concurrent.futures``, or a ``Client`` of Dask's ``distributed``. Each of its processes opens a device of its
        own, keeps it open, and solves on one thread, or on ``NUMBA_NUM_THREADS`` threads if that is set in its
        environment. The executor is not shut down. It decides on retries and on the tasks of lost workers.
    chunk : int, optional
        Number of problems sent to a worker at a time, 1 by default: more are faster for small problems, but a lost
        worker loses more. On ``"gpu"`` the number in one launch, 256 by default; one for the general form.
    in_flight : int, optional
        Largest number of chunks that are taken from ``problems`` before their attempts are yielded; by default four for
        each worker.
    **options
        Options of the device or the method. ``update`` is not supported, because prices belong to one problem. For an
        option of a device, a list gives alternatives, of which each worker takes the first that is free, such as
        ``slot=[0, 1, 2, 3]`` for four boards.

    Yields
    ------
    Attempt
        The problem with its result or its error.

    Raises
    ------
    ProblemError
        An argument is wrong, or the store is damaged or not a store.
    DeviceError
        A device cannot be opened.
    BrokenExecutor
        A process of the user's own pool died, the executor was shut down, or it lost its scheduler.

    Examples
    --------
    >>> import beltline as bl
    >>> problems = [bl.rbc(grid=128, eta=eta) for eta in (1.0, 2.0)]
    >>> for attempt in bl.solve_many(problems, device="cpu"):
    ...     print(attempt.problem.eta, attempt.success, attempt.result.error_bound < 1e-8)
    1.0 True True
    2.0 True True
    """
    check_progress(progress)
    device, method = chosen(named(device), method, options, executor is None and workers is None, warm)
    each = options_with(tol, max_sweeps, verify, value_bits, amount_bits, timeout, method=method, device=device)
    settings = settings_of(device, options, each, warm, executor, workers)
    word("order", order, ("given", "finished"))
    given = _iterator(problems)
    chunk = whole(
        "chunk",
        (GPU_CHUNK if device == "gpu" else 1) if chunk is None else chunk,
        f"a whole number from 1 to {CHUNK_LIMIT}",
        lambda v: 1 <= v <= CHUNK_LIMIT,
    )
    if in_flight is not None:
        wanted = f"a whole number from 1 to {IN_FLIGHT_LIMIT}"
        in_flight = whole("in_flight", in_flight, wanted, lambda v: 1 <= v <= IN_FLIGHT_LIMIT)
    place = store if store is None or isinstance(store, Store) else Store(store)
    make = submitter(device, settings, executor, workers)
    return _Batch(given, settings, order, place, make, chunk, in_flight, progress).attempts()


_Waiting = tuple[int, Key, Problem]
"""Index, key, and what is to be solved."""


EXECUTOR_GONE = (
    "the executor has cancelled the remaining problems: it was shut down, or lost its scheduler; "
    "results so far were yielded, and those in a store remain there"
)
"""Message for a batch whose executor ended before all problems were solved."""


@dataclass(eq=False)
class _Chunk:
    """Consecutive problems that are sent together, with the attempts that are known already in their places."""

    items: list[Attempt | _Waiting] = field(default_factory=list)
    future: Future[list[Answer]] | None = None

    def problems(self) -> list[Problem]:
        return [item[2] for item in self.items if not isinstance(item, Attempt)]

    def done(self) -> bool:
        return all(isinstance(item, Attempt) for item in self.items)

    def answered(self, answers: list[Answer], stored: Callable[[Key, Result | None], Result | None]) -> None:
        """Put the attempts of ``answers`` in their places, with the results that ``stored`` returns."""
        remaining = iter(answers)
        for i, item in enumerate(self.items):
            if not isinstance(item, Attempt):
                index, hashed, problem = item
                answer = next(remaining)
                result = stored(hashed, answer.result(problem))
                self.items[i] = Attempt(index, problem, result, answer.error, answer.seconds, hashed=hashed)

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
        """Solve the problems and yield their attempts."""
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
        """Take problems and submit them until the largest number of chunks is in progress."""
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
        """Return the next problem, or its attempt if it failed or is in the store; None after the last."""
        try:
            index, item = next(self._problems)
        except StopIteration:
            self._more = False
            return None
        except Exception as error:
            # Raised only after the attempts of all earlier problems have been yielded.
            self._more, self._over = False, error
            return None
        try:
            problem = _checked(index, item() if callable(item) else item)
        except Exception as error:
            return Attempt(index, None, None, transferable(error), 0.0)
        hashed = Key(self._settings, problem)
        try:
            if problem.general:
                check_form(index, problem, self._settings)
            if self._store is not None and (result := self._store.get(hashed.text, problem)) is not None:
                return Attempt(index, problem, result, None, 0.0, stored=True, hashed=hashed)
        except ProblemError as error:
            return Attempt(index, problem, None, error, 0.0, hashed=hashed)
        return index, hashed, problem

    def _collect(self) -> None:
        """Wait until an attempt can be yielded, and write all finished results to the store."""
        waiting = {one.future: one for one in self._under_way if one.future is not None and not one.done()}
        ready = self._under_way[0].done() if self._given else any(one.done() for one in self._under_way)
        if not waiting:
            return
        done, _ = wait(waiting, timeout=0 if ready else None, return_when=FIRST_COMPLETED)
        for future in done:
            one = waiting[future]
            one.answered(_answers(one, future), self._stored)

    def _stored(self, hashed: Key, result: Result | None) -> Result | None:
        """Write a result to the store, if there is one. If that fails, as on a full disk, its message says so."""
        if self._store is None or result is None:
            return result
        try:
            self._store.put(hashed.text, result)
        except OSError as error:
            lost = f"It could not be written to the store: {error.strerror}."
            return replace(result, message=f"{result.message} {lost}")
        return result

    def _ready(self) -> Iterator[Attempt]:
        while self._under_way and self._under_way[0].done():
            yield from self._under_way.popleft().attempts()
        if not self._given:
            for one in [one for one in self._under_way if one.done()]:
                self._under_way.remove(one)
                yield from one.attempts()


def _iterator(problems: Any) -> Iterator[Any]:
    try:
        return iter(problems)
    except Exception:  # an object's own __iter__ may raise any
        single = isinstance(problems, Problem | DiscreteProblem | Solvable)
        instead = ": bl.solve solves a single problem or model" if single else ""
        raise ProblemError(
            f"problems must be an iterable of Problem, such as a list, not {shown(problems)}{instead}"
        ) from None


def _checked(index: int, item: Any) -> Problem:
    """Return an item of a batch if it is a problem that a batch solves; if not, the error says what to call instead."""
    if isinstance(item, Problem):
        return item
    if isinstance(item, DiscreteProblem):
        raise ProblemError(
            f"problem {index}, {item.name!r}, is a discrete problem: solve it by bl.solve, not in a batch"
        )
    if isinstance(item, type) or not isinstance(item, Solvable):
        raise ProblemError(f"problem {index} must be a Problem, not {shown(item)}")
    name = type(item).__name__
    if getattr(item, "finds_prices", False):
        raise ProblemError(f"problem {index} is an economy, {name}: solve it by bl.solve, as a batch finds no prices")
    raise ProblemError(f"problem {index} is a model, {name}: pass its problem()")


def _answers(chunk: _Chunk, future: Future[list[Answer]]) -> list[Answer]:
    """Return the answers of a chunk. An error of the call becomes the error of each problem; one of the executor is
    raised.
    """
    try:
        error = future.exception()
    except CancelledError:
        raise BrokenExecutor(EXECUTOR_GONE) from None
    if error is None:
        return future.result()
    if isinstance(error, BrokenExecutor | DeviceError) and not isinstance(error, WorkerLostError):
        raise error
    if not isinstance(error, Exception):
        raise error
    return [Answer(None, transferable(error), 0.0) for _ in chunk.problems()]
