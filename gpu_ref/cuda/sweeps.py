"""Solve problems of one shape in one launch on the current device (``sweeps.cu``)."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from beltline.gpu_ref.comparison import Allowed, Compared
from beltline.gpu_ref.cuda.device import MOST_ACROSS, Clock, fetch, processors, refuse, room
from beltline.gpu_ref.cuda.device_confirmation import Comparisons
from beltline.gpu_ref.cuda.device_tables import Tables, memory
from beltline.gpu_ref.cuda.exact_sweeps import settle
from beltline.gpu_ref.cuda.kernels import (
    COARSE,
    PLAIN,
    PUBLISHED,
    RULES,
    WARM,
    confirm_kernels,
    exact_kernels,
    extremes_kernels,
    kind_of,
    search_of,
    shared_bytes,
    sweeps_kernel,
)
from beltline.gpu_ref.cuda.layout import Layout, layout
from beltline.gpu_ref.cuda.start import MOST_BLOCKS, Start
from beltline.gpu_ref.methods import Arguments, Solution, error_bound, modulus, needs_restart
from beltline.gpu_ref.tables import Array


@dataclass(frozen=True)
class _Launch:
    """The compiled kernels, and how the first is launched."""

    kernel: Any
    extremes: Any
    plan: Layout
    shared: int
    near: bool


def _prepare(cupy: Any, problems: Sequence[Arguments], search: int, plan: Layout | None) -> _Launch:
    """Choose the layout if none is given, and compile the kernel."""
    points, states = problems[0].W.shape
    if plan is None:
        plan = layout(points, states, len(problems), processors(cupy), local=search in (WARM, PLAIN))
    rule, eta = RULES[problems[0].rule], kind_of([problem.eta for problem in problems])
    device = cupy.cuda.Device().id
    kernel = sweeps_kernel(device, search, rule, eta, states, plan.points, plan.threads, plan.resident)
    shared = shared_bytes(search, states, plan.points, plan.threads, plan.resident)
    tables = 16 * states * (points + 2)
    near = plan.blocks == 1 and (shared + tables + 1024) * plan.resident <= room()
    return _Launch(kernel, extremes_kernels(device)[0], plan, shared + tables * near, near)


class _Choices:
    """Equidistant choices, with the grid points below them and the weights of the points above."""

    def __init__(self, X: np.ndarray[Any, np.dtype[np.float64]], count: int) -> None:
        self.choices = np.linspace(X[0], X[-1], count)
        self.left = np.clip(np.searchsorted(X, self.choices, side="right") - 1, 0, max(X.size - 2, 0)).astype(np.int32)
        if X.size > 1:
            self.weight = (self.choices - X[self.left]) / (X[self.left + 1] - X[self.left])
        else:
            self.weight = np.zeros(count)


class _Check:
    """Compare the results of a launch with exact sweeps while they are copied to the host.

    ``moduli`` are the contraction moduli of the problems; ``None`` for no comparison. There is none either if memory is
    short besides the ``needed`` bytes of the solve. If an error ends the ``with`` block of a check, it waits for the
    device: kernels and copies in progress must not write to memory that the next solve gets.
    """

    def __init__(self, cupy: Any, problems: Sequence[Arguments], moduli: Sequence[float] | None, needed: int) -> None:
        self._cupy = cupy
        self._problems = problems
        self._moduli: Sequence[float] = ()
        self._comparisons: Comparisons | None = None
        if moduli is None or len(problems) > MOST_ACROSS:
            return
        points, states = problems[0].W.shape
        try:
            refuse(cupy, needed + 8 * len(problems) * (points + points * states + states * states))
        except MemoryError:
            return
        self._moduli = moduli
        confirm_kernels(cupy.cuda.Device().id, kind_of([problem.eta for problem in problems]))

    def __enter__(self) -> _Check:
        return self

    def __exit__(self, *exception: object) -> None:
        if exception[0] is None:
            return
        with self._comparisons or contextlib.nullcontext():
            self._cupy.cuda.get_current_stream().synchronize()

    @property
    def needed(self) -> bool:
        """Whether results are to be compared, with copies of the tables that no solver can write to."""
        return len(self._moduli) > 0

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
        self._comparisons.begin({**copies, **found}, [Allowed(modulus) for modulus in self._moduli])

    def end(self) -> Sequence[Compared | None]:
        """Return the outcome of each problem, ``None`` if it may have errors or was not compared."""
        return [None] * len(self._problems) if self._comparisons is None else self._comparisons.end()


def _launch_sweeps(
    launch: _Launch, problems: Sequence[Arguments], tables: Tables, guessed: bool, coarse: tuple[Any, ...]
) -> None:
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
            np.int32(one.options.get("interval", 1)),
            at["words"],
            at["expectations"],
            at["parts"],
            np.int32(one.rule == "spans"),
            np.int32(guessed),
            np.int32(launch.near),
            *coarse,
        ),
        shared_mem=launch.shared,
    )
    launch.extremes(
        (min(MOST_BLOCKS, -(-points * states // 256)), min(len(problems), MOST_ACROSS)),
        (256,),
        (tables.rows, np.int32(len(problems)), np.int64(points * states)),
    )


def solve_in_one_launch(
    cupy: Any,
    problems: Sequence[Arguments],
    plan: Layout | None,
    previous: bool,
    moduli: Sequence[float] | None = None,
) -> list[Solution]:
    """Solve checked problems of one shape and method; other parameters as for ``solve_batch``."""
    one = problems[0]
    points, states = one.W.shape
    search = search_of(one)
    local = search in (WARM, PLAIN)
    launch = _prepare(cupy, problems, search, plan)
    start = Start(cupy, problems)
    # If single peaks are in doubt, the last sweep is repeated exactly, so a local search stores the values from which
    # it started.
    keeps = previous or local
    needed = memory(points, states, len(problems), previous=keeps, teams=launch.plan.teams)
    refuse(cupy, needed + start.memory())
    device = cupy.cuda.Device().id
    for kind in {kind_of([problem.eta]) for problem in problems} if local else ():
        exact_kernels(device, kind)

    clock = Clock(cupy)
    coarse = _Choices(one.X, one.options["choices"]) if search == COARSE else None
    settled: dict[int, Solution] = {}
    with _Check(cupy, problems, moduli, needed + start.memory()) as check:
        clock.restart()
        tables = Tables(cupy, problems, launch.plan, keeps, launch.near, check.needed, start.tables())
        extra: tuple[Any, ...] = (np.int32(0), np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0))
        if coarse is not None:
            room = cupy.empty((states, coarse.choices.size))
            given = map(cupy.asarray, (coarse.choices, coarse.left, coarse.weight))
            extra = (np.int32(coarse.choices.size), *given, room)
        clock.lap("allocate")
        tables.load()
        if check.needed:
            tables.copy()
        start.load(tables)
        clock.lap("load")
        _launch_sweeps(launch, problems, tables, start.work(tables), extra)
        check.begin(tables)
        outcomes = tables["outcome"].get()
        for i, problem in enumerate(problems):
            if local and outcomes[i, 3]:
                settled[i] = settle(cupy, problem, tables, i, outcomes[i])
        clock.lap("solve")
        values, policies = fetch(tables["value"]), fetch(tables["policy"])
        befores = fetch(tables["previous"]) if previous else None
        largest = _largest(problems, outcomes) if one.rule in ("span", "spans") else np.zeros(len(problems))
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
        sweeps, residual, converged, doubt, _, _, known, none = outcomes[i].tolist()
        interval = int(problem.options.get("interval", 1))
        bound = float("inf")
        if problem.rule != "own" and not doubt and search != PUBLISHED:
            bound = error_bound(
                residual, values[i], problem.Q, problem.beta, problem.eta, float(largest[i]), known=known
            )
        solutions.append(
            Solution(
                value=values[i],
                policy=policies[i],
                sweeps=int(sweeps),
                maximising_sweeps=(int(sweeps) + interval - 1) // interval,
                residual=residual,
                error_bound=bound,
                converged=bool(converged),
                seconds=seconds,
                method=problem.method,
                previous=befores[i] if befores is not None else None,
                choices=coarse.choices if coarse is not None else None,
                compared=compared[i],
                complete=none == 0.0,
            )
        )
        if needs_restart(problem, known, residual, float(largest[i])):
            solutions[i] = _once_more(cupy, problem, solutions[i], previous)
    return solutions


def _largest(problems: Sequence[Arguments], outcomes: Array) -> Array:
    """Bound the largest ``|V|`` before each problem's shift, ``(problems,)``; ``outcomes`` are those of the device.

    Let ``c`` be the shift and ``m`` the mid-points of the changes in the last sweep. The value moved by ``m + c``, up
    to the residual, and ``m = (I - beta Q) (m + c)``. So the last change is at most ``|m|`` plus the residual.
    """
    residuals, sizes, moved = outcomes[:, 1], outcomes[:, 4], outcomes[:, 5]
    contraction = np.array([modulus(problem.Q, problem.beta) for problem in problems])
    return np.asarray(sizes + (1.0 + contraction) * (moved + residuals) + residuals)


def _once_more(cupy: Any, problem: Arguments, found: Solution, previous: bool) -> Solution:
    """Solve again from ``found``, whose choices are unreliable because much larger values were rounded."""
    left = problem.max_sweeps - found.sweeps
    if left < 1:
        return found
    again = replace(problem, V0=found.value, start="given", max_sweeps=left)
    after = solve_in_one_launch(cupy, [again], None, previous)[0]
    return replace(
        after,
        sweeps=found.sweeps + after.sweeps,
        maximising_sweeps=found.maximising_sweeps + after.maximising_sweeps,
        exact_sweeps=found.exact_sweeps + after.exact_sweeps,
        seconds={part: found.seconds[part] + spent for part, spent in after.seconds.items()},
    )
