"""Solve problems of one shape in one launch on the current device (``sweeps.cu``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from beltline.gpu_ref.cuda.device import Clock, fetch, processors, refuse, room
from beltline.gpu_ref.cuda.device_tables import Tables, memory
from beltline.gpu_ref.cuda.exact_sweeps import settle
from beltline.gpu_ref.cuda.kernels import (
    COARSE,
    PLAIN,
    PUBLISHED,
    RULES,
    WARM,
    exact_kernels,
    extremes_kernel,
    kind_of,
    search_of,
    shared_bytes,
    sweeps_kernel,
)
from beltline.gpu_ref.cuda.layout import Layout, layout
from beltline.gpu_ref.cuda.start import ROWS_OF_BLOCKS, Start
from beltline.gpu_ref.methods import Arguments, Solution, error_bound, modulus, needs_restart
from beltline.gpu_ref.tables import Array


@dataclass(frozen=True)
class _Launch:
    """The compiled kernel, and how it is launched."""

    kernel: Any
    plan: Layout
    shared: int
    near: bool


def _prepare(cupy: Any, problems: Sequence[Arguments], search: int, plan: Layout | None) -> _Launch:
    """Choose the layout if none is given, and compile the kernel."""
    points, states = problems[0].W.shape
    if plan is None:
        plan = layout(points, states, len(problems), processors(cupy), local=search in (WARM, PLAIN))
    rule, eta = RULES[problems[0].rule], kind_of([problem.eta for problem in problems])
    kernel = sweeps_kernel(cupy.cuda.Device().id, search, rule, eta, states, plan.points, plan.threads, plan.resident)
    shared = shared_bytes(search, states, plan.points, plan.threads, plan.resident)
    tables = 16 * states * (points + 2)
    near = plan.blocks == 1 and (shared + tables + 1024) * plan.resident <= room()
    return _Launch(kernel, plan, shared + tables * near, near)


class _Choices:
    """Equidistant choices, with the grid points below them and the weights of the points above."""

    def __init__(self, X: np.ndarray[Any, np.dtype[np.float64]], count: int) -> None:
        self.choices = np.linspace(X[0], X[-1], count)
        self.left = np.clip(np.searchsorted(X, self.choices, side="right") - 1, 0, max(X.size - 2, 0)).astype(np.int32)
        if X.size > 1:
            self.weight = (self.choices - X[self.left]) / (X[self.left + 1] - X[self.left])
        else:
            self.weight = np.zeros(count)


def solve_in_one_launch(
    cupy: Any, problems: Sequence[Arguments], plan: Layout | None, previous: bool
) -> list[Solution]:
    """Solve checked problems of one shape and method; ``plan`` and ``previous`` as for ``solve_batch``."""
    one = problems[0]
    points, states = one.W.shape
    search = search_of(one)
    local = search in (WARM, PLAIN)
    launch = _prepare(cupy, problems, search, plan)
    plan = launch.plan
    start = Start(cupy, problems)
    # If single peaks are in doubt, the last sweep is repeated exactly, so a local search stores the values from which
    # it started.
    keeps = previous or local
    refuse(cupy, memory(points, states, len(problems), previous=keeps, teams=plan.teams) + start.memory())
    device = cupy.cuda.Device().id
    for kind in {kind_of([problem.eta]) for problem in problems} if local else ():
        exact_kernels(device, kind)

    clock = Clock(cupy)
    clock.restart()
    tables = Tables(cupy, problems, plan, keeps, launch.near)
    start.allocate()
    coarse = _Choices(one.X, one.options["choices"]) if search == COARSE else None
    extra: tuple[Any, ...] = (np.int32(0), np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0))
    if coarse is not None:
        room = cupy.empty((states, coarse.choices.size))
        extra = (
            np.int32(coarse.choices.size),
            cupy.asarray(coarse.choices),
            cupy.asarray(coarse.left),
            cupy.asarray(coarse.weight),
            room,
        )
    clock.lap("allocate")
    tables.load()
    start.load()
    clock.lap("load")
    guessed = start.work(tables)
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
            tables.words,
            tables.expectations,
            tables.parts,
            np.int32(one.rule == "spans"),
            np.int32(guessed),
            np.int32(launch.near),
            *extra,
        ),
        shared_mem=launch.shared,
    )
    extremes_kernel(device)(
        (min(_MOST_BLOCKS, -(-points * states // 256)), min(len(problems), ROWS_OF_BLOCKS)),
        (256,),
        (tables.rows, np.int32(len(problems)), np.int64(points * states)),
    )
    outcomes = tables.outcome.get()
    largest = _largest(problems, outcomes) if one.rule in ("span", "spans") else np.zeros(len(problems))
    settled: dict[int, Solution] = {}
    for i, problem in enumerate(problems):
        if local and outcomes[i, 3]:
            settled[i] = settle(cupy, problem, tables, i, outcomes[i])
    clock.lap("solve")
    values = fetch(tables.value)
    policies = fetch(tables.policy)
    befores = fetch(tables.previous) if previous else None
    clock.lap("read")
    seconds = {part: spent / len(problems) for part, spent in clock.seconds.items()}
    solutions = []
    for i, problem in enumerate(problems):
        if i in settled:
            solutions.append(replace(settled[i], seconds=seconds))
            continue
        sweeps, residual, converged, doubt, _, _, known = outcomes[i].tolist()
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
            )
        )
        if needs_restart(problem, known, residual, float(largest[i])):
            solutions[i] = _once_more(cupy, problem, solutions[i], previous)
    return solutions


_MOST_BLOCKS = 128
"""Most blocks that look for the largest values of a problem."""


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
