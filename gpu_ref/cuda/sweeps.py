"""Solve problems of one shape in one launch on the current device (``sweeps.cu``)."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.comparison import Confirmed
from beltline.gpu_ref.cuda.device import MOST_ACROSS, Clock, cupy_module, fetch, processors, refuse, room
from beltline.gpu_ref.cuda.device_confirmation import Comparisons
from beltline.gpu_ref.cuda.device_tables import Tables, memory
from beltline.gpu_ref.cuda.exact_sweeps import settle
from beltline.gpu_ref.cuda.kernels import (
    RULES,
    confirm_kernels,
    exact_kernels,
    extremes_kernels,
    kind_of,
    shared_bytes,
    sweeps_kernel,
)
from beltline.gpu_ref.cuda.layout import Layout, layout
from beltline.gpu_ref.cuda.start import MOST_BLOCKS, Start
from beltline.gpu_ref.methods import Arguments, Solution, error_bound, modulus, needs_restart
from beltline.gpu_ref.tables import Array

_GROUP, _MOST_GROUPS = 2**28, 8
"""Bytes of results of a group of a batch at least, and the largest number of groups."""

_ALONE, _PATH_BLOCKS = 4096, 16
"""Most states that one block solves alone, and most blocks of a team that evaluates policies along their paths."""

COMPILED: set[tuple[int, int]] = set()
"""Numbers of grid points and exogenous states for which this process has compiled, and so started CUDA."""


@dataclass(frozen=True)
class _Launch:
    """The compiled kernels, and how the first is launched."""

    kernel: Any
    extremes: Any
    plan: Layout
    shared: int
    near: bool

    @property
    def paths(self) -> bool:
        """Whether policies are evaluated along their paths."""
        return self.plan.blocks <= _PATH_BLOCKS


def prepare(cupy: Any, problems: Sequence[Arguments], plan: Layout | None) -> _Launch:
    """Choose the layout if none is given, and compile the kernel."""
    points, states = problems[0].W.shape
    if plan is None:
        # A path is followed by many steps, each with a barrier, which is cheap within a block.
        alone = problems[0].rule == "spans" and states <= 8 and points * states <= _ALONE
        plan = layout(points, states, len(problems), processors(cupy), blocks=1 if alone else None)
    rule, eta = RULES[problems[0].rule], kind_of([problem.eta for problem in problems])
    return _launch_of(cupy.cuda.Device().id, points, states, rule, eta, plan)


@functools.lru_cache(64)
def _launch_of(device: int, points: int, states: int, rule: int, eta: int, plan: Layout) -> _Launch:
    """Compile the kernel for problems of one shape, on the current device."""
    COMPILED.add((points, states))
    kernel = sweeps_kernel(device, rule, eta, states, plan.points, plan.threads, plan.resident)
    shared = shared_bytes(states, plan.points, plan.threads, plan.resident)
    tables = 16 * states * (points + 2)
    near = plan.blocks == 1 and (shared + tables + 1024) * plan.resident <= room()
    return _Launch(kernel, extremes_kernels(device)[0], plan, shared + tables * near, near)


class _Check:
    """Compare the results of a launch with exact sweeps while they are copied to the host.

    ``moduli`` are the contraction moduli of the problems; ``None`` for no comparison. There is none either if memory is
    short besides the ``needed`` bytes of the solve.
    """

    def __init__(self, cupy: Any, problems: Sequence[Arguments], moduli: Sequence[float] | None, needed: int) -> None:
        self._cupy = cupy
        self._problems = problems
        self.moduli: Sequence[float] = ()
        self._comparisons: Comparisons | None = None
        if moduli is None or len(problems) > MOST_ACROSS:
            return
        points, states = problems[0].W.shape
        try:
            refuse(cupy, needed + 8 * len(problems) * (points + points * states + states * states))
        except MemoryError:
            return
        self.moduli = moduli
        confirm_kernels(cupy.cuda.Device().id, kind_of([problem.eta for problem in problems]))

    def wait(self) -> None:
        """Wait for the work of the comparison and of the current stream, whatever becomes of it."""
        with self._comparisons or contextlib.nullcontext():
            self._cupy.cuda.get_current_stream().synchronize()

    @property
    def needed(self) -> bool:
        """Whether results are to be compared, with copies of the tables that no solver can write to."""
        return len(self.moduli) > 0

    def begin(self, tables: Tables) -> None:
        """Begin the comparison once the current stream has computed the results; do not wait for that."""
        if not self.needed:
            return
        points, states = self._problems[0].W.shape
        numbers = [(problem.beta, problem.eta) for problem in self._problems]
        try:
            self._comparisons = Comparisons(points, states, numbers)
        except MemoryError:
            return
        value, policy, outcome = map(tables.pointers, ("value", "policy", "outcome"))
        found = {"V": value, "value": value, "policy": policy, "residual": outcome + np.uint64(8)}
        copies = {name: tables.copied(name) for name in ("X", "W", "Q")}
        self._comparisons.begin({**copies, **found}, self.moduli)

    def ended(self) -> Any:
        """Return the event of the end of the comparison that has begun, ``None`` if none has begun."""
        return None if self._comparisons is None else self._comparisons.ended()

    def measured(self) -> tuple[Array, Array]:
        """Return residual and rounding of each problem, both infinite if it may have errors or was not compared."""
        none = np.full((2, len(self._problems)), np.inf)
        return (none[0], none[1]) if self._comparisons is None else self._comparisons.measured()

    def end(self) -> Sequence[Confirmed | None]:
        """Return the outcome of each problem, ``None`` if it may have errors or was not compared."""
        return [None] * len(self._problems) if self._comparisons is None else self._comparisons.end()


def _launch_sweeps(launch: _Launch, problems: Sequence[Arguments], tables: Tables, guessed: bool) -> None:
    """Launch the whole iteration, and the search for the largest values of its results."""
    plan, one, at = launch.plan, problems[0], tables.addresses
    points, states = one.W.shape
    launch.kernel(
        (plan.blocks * plan.teams,),
        (plan.threads,),
        (
            tables.rows,
            np.int32(points),
            np.int32(plan.span),
            np.int32(plan.blocks),
            np.int32(len(problems)),
            np.int32(min(one.max_sweeps, 2**31 - 1)),
            at["words"],
            at["expectations"],
            at["parts"],
            np.int32(guessed),
            np.int32(launch.near),
            np.int32(launch.paths),
        ),
        shared_mem=launch.shared,
    )
    launch.extremes(
        (min(MOST_BLOCKS, -(-points * states // 256)), min(len(problems), MOST_ACROSS)),
        (256,),
        (tables.rows, np.int32(len(problems)), np.int64(points * states)),
    )


class Group:
    """Problems that are solved in one launch, stage by stage, so that another group can be copied meanwhile.

    The stages are :meth:`load`, :meth:`launch`, :meth:`compare` and :meth:`solutions`; the second and the third do not
    wait for the device. After an error in any of them, :meth:`wait` must be called: kernels and copies in progress must
    not write to memory that the next solve gets.

    Parameters
    ----------
    cupy
        The module CuPy.
    problems
        Checked problems of one shape and method.
    launch
        What :func:`prepare` returned for their shape.
    previous
        Whether to return the values before the last sweep.
    moduli
        The contraction moduli of the problems, ``None`` for no comparison with exact sweeps.
    stream
        Where the work of the group runs; ``None`` for the current stream.
    made
        As for :meth:`beltline.gpu_ref.cuda.device_tables.Tables.load`.
    """

    def __init__(
        self,
        cupy: Any,
        problems: Sequence[Arguments],
        launch: _Launch,
        previous: bool,
        moduli: Sequence[float] | None,
        stream: Any = None,
        made: Mapping[str, Any] | None = None,
    ) -> None:
        self._cupy, self._problems, self._launch, self._previous = cupy, problems, launch, previous
        self._made = made
        self._stream = stream
        one = problems[0]
        points, states = one.W.shape
        with self._on():
            self._start = Start(cupy, problems, launch.paths and one.rule == "spans")
            needed = memory(points, states, len(problems), teams=launch.plan.teams)
            needed += self._start.memory()
            refuse(cupy, needed)
            device = cupy.cuda.Device().id
            for kind in {kind_of([eta]) for eta in {problem.eta for problem in problems}}:
                exact_kernels(device, kind)
            self._copied: tuple[Array, NDArray[np.int32], Array | None] | None = None
            self._clock = Clock(cupy)
            self._check = _Check(cupy, problems, moduli, needed)

    def _on(self) -> contextlib.AbstractContextManager[Any]:
        """Return a context in which the group's stream is the current one."""
        return contextlib.nullcontext() if self._stream is None else self._stream

    def wait(self) -> None:
        """Wait for all work of the group on the device."""
        with self._on():
            self._check.wait()

    def load(self) -> None:
        """Allocate the tables and copy the problems to the device."""
        start = self._start
        with self._on():
            self._clock.restart()
            self._tables = tables = Tables(
                self._cupy,
                self._problems,
                self._launch.plan,
                # If single peaks are in doubt, the last sweep is repeated exactly, from the values before it.
                True,
                self._launch.near,
                self._check.needed,
                start.tables(),
            )
            self._clock.lap("allocate")
            tables.load(self._made)
            if self._check.needed:
                tables.copy()
            start.load(tables)
            self._clock.lap("load")

    def launch(self, after: Any = None) -> None:
        """Launch the iteration, which begins once the event ``after``, if given, has occurred."""
        with self._on():
            if after is not None:
                self._stream.wait_event(after)
            guessed = self._start.work(self._tables)
            _launch_sweeps(self._launch, self._problems, self._tables, guessed)

    def compare(self) -> Any:
        """Begin the comparison with exact sweeps; return an event of the end of all computations of the group.

        With a stream of its own the group begins to copy the results to the host, too.
        """
        with self._on():
            self._check.begin(self._tables)
            if self._stream is None:
                return None
            computed = self._check.ended() or self._stream.record()
            self._copied = self._fetch()
            return computed

    def _fetch(self) -> tuple[Array, NDArray[np.int32], Array | None]:
        """Copy values, choices and, if asked for, values before the last sweep to the host, once they are computed."""
        tables = self._tables
        return fetch(tables["value"]), fetch(tables["policy"]), fetch(tables["previous"]) if self._previous else None

    def solutions(self) -> list[Solution]:
        """Wait for the results, copy them to the host, and return them."""
        with self._on():
            if self._stream is not None:
                self._clock.resume()
            return self._solutions()

    def _solutions(self) -> list[Solution]:
        cupy, problems, tables, clock, check = self._cupy, self._problems, self._tables, self._clock, self._check
        outcomes = tables["outcome"].get()
        settled: dict[int, Solution] = {}
        for i, problem in enumerate(problems):
            if outcomes[i, 3]:
                # Its kernels wait for each other, so no other group may use the device meanwhile.
                self._alone()
                settled[i] = settle(cupy, problem, tables, i, outcomes[i])
        clock.lap("solve")
        values, policies, befores = self._copied or self._fetch()
        largest = np.zeros(len(problems))
        if problems[0].rule == "spans":
            largest = largest_before_shift([modulus(problem.Q, problem.beta) for problem in problems], outcomes)
        clock.lap("read")
        compared = check.end()
        if check.needed:
            clock.lap("verify")
        seconds = {part: spent / len(problems) for part, spent in clock.seconds.items()}
        solutions = []
        for i, problem in enumerate(problems):
            if i in settled:
                solutions.append(replace(settled[i], seconds=seconds))
                continue
            sweeps, residual, converged, _, _, _, known, none, passes, exact = outcomes[i].tolist()
            bound = error_bound(
                residual, values[i], problem.Q, problem.beta, problem.eta, float(largest[i]), known=known
            )
            solutions.append(
                Solution(
                    value=values[i],
                    policy=policies[i],
                    sweeps=int(sweeps),
                    maximising_sweeps=int(sweeps - passes),
                    residual=residual,
                    error_bound=bound,
                    converged=bool(converged),
                    seconds=seconds,
                    method=problem.method,
                    exact_sweeps=int(exact),
                    previous=befores[i] if befores is not None else None,
                    compared=compared[i],
                    complete=none == 0.0,
                )
            )
            if needs_restart(problem, known, residual, float(largest[i])):
                self._alone()
                solutions[i] = _once_more(cupy, problem, solutions[i], self._previous)
        return solutions

    def arrays(self) -> tuple[Array, NDArray[np.int32], Array, Array, Array]:
        """Wait for the results; return value and policy, ``(problems, N_k, N_z)``, the outcomes of the device, and
        residual and rounding of each problem, both infinite if it may have errors.
        """
        outcomes = self._tables["outcome"].get()
        value, policy, _ = self._fetch()
        return value, policy, outcomes, *self._check.measured()

    def _alone(self) -> None:
        """Wait until no other group is at work on the device."""
        if self._stream is not None:
            self._cupy.cuda.Device().synchronize()


@functools.cache
def _streams(device: int) -> tuple[Any, Any]:
    """Return the streams that groups use in turn. Device memory that one gives back serves its next group."""
    cupy = cupy_module()
    return cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)


def groups(points: int, states: int, problems: int, teams: int) -> int:
    """Return into how many groups to divide problems, so that one is copied while the next is solved.

    Copies of fewer than ``_GROUP`` bytes of results are not worth another launch, and a group has at least twice as
    many problems as the device solves side by side.

    >>> groups(65_536, 4, 1_000, 2), groups(1_024, 4, 1_000, 66), groups(65_536, 4, 1, 1)
    (8, 1, 1)
    """
    size = 12 * points * states * problems
    return max(1, min(_MOST_GROUPS, size // _GROUP, problems // (2 * teams)))


def solve_in_one_launch(
    cupy: Any,
    problems: Sequence[Arguments],
    plan: Layout | None,
    previous: bool,
    moduli: Sequence[float] | None = None,
) -> list[Solution]:
    """Solve checked problems of one shape and method; other parameters as for ``solve_batch``."""
    return list(solutions_in_turn(cupy, problems, plan, previous, moduli))


def solutions_in_turn(
    cupy: Any,
    problems: Sequence[Arguments],
    plan: Layout | None,
    previous: bool,
    moduli: Sequence[float] | None = None,
) -> Generator[Solution, None, None]:
    """Yield the solutions of :func:`solve_in_one_launch` in order.

    Large batches are divided into groups with a launch for each. While the device solves one, the next is copied to it,
    the results of the one before are copied back, and the caller may use them.
    """
    one = problems[0]
    points, states = one.W.shape
    launch = prepare(cupy, problems, plan)
    count = groups(points, states, len(problems), launch.plan.teams)
    size = math.ceil(len(problems) / count)
    parts = [slice(begin, begin + size) for begin in range(0, len(problems), size)]
    streams = _streams(cupy.cuda.Device().id) if count > 1 else (None,)
    alive: list[Group] = []
    done = None
    try:
        for turn, part in enumerate(parts):
            own = None if moduli is None else moduli[part]
            alive.append(Group(cupy, problems[part], launch, previous, own, streams[turn % len(streams)]))
            alive[-1].load()
            # Groups compute one after the other: the blocks of a launch wait for each other on the device.
            alive[-1].launch(done)
            found = alive[0].solutions() if turn else []
            del alive[:-1]
            done = alive[-1].compare()
            yield from found
        yield from alive[0].solutions()
    except BaseException:
        for group in alive:
            group.wait()
        raise


def largest_before_shift(moduli: Sequence[float], outcomes: Array) -> Array:
    """Bound the largest ``|V|`` before each problem's shift, ``(problems,)``; ``outcomes`` are those of the device.

    Let ``c`` be the shift and ``m`` the mid-points of the changes in the last sweep. The value moved by ``m + c``, up
    to the residual, and ``m = (I - beta Q) (m + c)``. So the last change is at most ``|m|`` plus the residual.
    """
    residuals, sizes, moved = outcomes[:, 1], outcomes[:, 4], outcomes[:, 5]
    return np.asarray(sizes + (1.0 + np.array(moduli)) * (moved + residuals) + residuals)


def _once_more(cupy: Any, problem: Arguments, found: Solution, previous: bool) -> Solution:
    """Solve again from ``found``, whose choices are unreliable because much larger values were rounded."""
    left = problem.max_sweeps - found.sweeps
    if left < 1:
        return found
    again = problem._replace(V0=found.value, start="given", max_sweeps=left)
    after = solve_in_one_launch(cupy, [again], None, previous)[0]
    return replace(
        after,
        sweeps=found.sweeps + after.sweeps,
        maximising_sweeps=found.maximising_sweeps + after.maximising_sweeps,
        exact_sweeps=found.exact_sweeps + after.exact_sweeps,
        seconds={part: found.seconds[part] + spent for part, spent in after.seconds.items()},
    )
