"""Measure the rows of the bench's table one after the other."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref import cpu
from beltline.gpu_ref.exact import exact_sweep
from beltline.gpu_ref.memory import check_memory
from beltline.gpu_ref.published import endogenous_grid, grid_search, interpolation, staged_search, staged_search_cuda
from beltline.host.bench import energy
from beltline.host.bench.rows import EPSILON, OTHER, Row
from beltline.host.models.rbc import rbc
from beltline.host.problem.checks import ProblemError
from beltline.host.problem.problem import Problem
from beltline.host.problem.utility import utility
from beltline.host.results.result import Result
from beltline.host.solver.solve import solve
from beltline.hw.interface.parameters import CLOCK_HZ, ROW_WORDS

REPEATS, ENOUGH = 3, 0.1
"""Least number of repetitions of a solve, and least seconds. One more is made first and dropped, because caches are
then cold and the clock frequency is low."""

QUICK = 2.0
"""Seconds up to which a solve is repeated."""

COMPILES = 10.0
"""A first call that takes this many times as long as calls on the grid before has probably compiled."""

BATCH = 1000
"""Number of calibrations of a batch on a GPU."""

Report = Callable[[str], None]

BASELINES: dict[str, Callable[..., Any]] = {
    "grid": partial(grid_search.solve, interval=1),
    "grid+howard": grid_search.solve,
    "binary": staged_search.solve,
    "interp": interpolation.solve,
    "egm": endogenous_grid.solve,
}
"""Published methods, as the table calls them, and the functions that solve by them on the processor."""

APPROXIMATE = ("interp", "egm")
"""Those whose solution is not that of the grid."""


@dataclass(frozen=True)
class Answer:
    """The solution that rows are compared with: that of method ``warm`` on the processor."""

    value: NDArray[np.float64]
    policy: NDArray[np.int32]
    error_bound: float


def method_label(method: str, options: dict[str, Any]) -> str:
    """Return what the table calls a method with its options."""
    return " ".join([method, *(f"{name}={value}" for name, value in options.items())])


def judge(
    problem: Problem, value: NDArray[np.float64], policy: NDArray[np.int32], bound: float, answer: Answer, own: bool
) -> tuple[float, int, float, bool]:
    """Compare a solution with the reference; return ``(residual, policy differences, value difference, agrees)``.

    A row agrees if its value is within the sum of both error bounds of the reference, and each choice that differs has
    the same objective within this sum. Approximate methods (``own``) have another fixed point and are not judged.
    """
    best, _ = exact_sweep(problem.grid, problem.wealth, problem.transition, value, problem.beta, problem.eta)
    residual = float(np.abs(best - value).max())
    gap = float(np.abs(value - answer.value).max())
    differs = np.argwhere(policy != answer.policy)
    agrees = True
    if not own:
        slack = bound + answer.error_bound
        ahead = problem.beta * (answer.value @ problem.transition.T)
        agrees = gap <= slack
        for x, s in differs:
            one, other = (
                float(utility(problem.wealth[x, s] - problem.grid[p], problem.eta) + ahead[p, s])
                for p in (policy[x, s], answer.policy[x, s])
            )
            agrees &= abs(one - other) <= slack
    return residual, len(differs), gap, bool(agrees)


class Bench:
    """The rows measured so far, with their problems and reference solutions.

    Parameters
    ----------
    report
        A function that is called with a line of text after each solve.
    budget
        Largest expected time of a solve, in seconds.
    grids
        Numbers of grid points.
    deadline
        Time after which nothing more is started, as of ``time.perf_counter``.
    """

    def __init__(self, report: Report, budget: float, grids: Sequence[int], deadline: float) -> None:
        self.report = report
        self.budget = budget
        self.grids = sorted(grids)
        self.deadline = deadline
        self.rows: list[Row] = []
        self.notes: list[str] = []
        self.problems: dict[int, Problem] = {}
        self.answers: dict[int, Answer] = {}

    def problem(self, grid: int) -> Problem:
        if grid not in self.problems:
            self.problems[grid] = rbc(grid=grid)
        return self.problems[grid]

    def answer(self, grid: int) -> Answer:
        if grid not in self.answers:
            given = self.problem(grid)
            found = cpu.solve(*_tables(given), epsilon=EPSILON)
            self.answers[grid] = Answer(found.value, found.policy, found.error_bound)
        return self.answers[grid]

    def late(self, seconds: float = 0.0) -> bool:
        """Return whether what takes this many seconds would end after the deadline; False before the first row."""
        return bool(self.rows) and time.perf_counter() + seconds > self.deadline

    def by_grid(self, device: str, label: str, one: Callable[[int], Row], growth: float, budget: float) -> None:
        """Time ``one`` on larger and larger grids while the next is expected to fit the budget and the deadline."""
        last: tuple[int, float] | None = None
        for grid in self.grids:
            if last is None and self.late():
                self.notes.append(f"{device} {label}: no time was left in the run")
                return
            if last is not None:
                expected = last[1] * (grid / last[0]) ** growth
                over = self.late(expected * (REPEATS + 1 if expected < QUICK else 1))
                if expected > budget or over:
                    why = "do not fit in the time of the run" if over else "would take too long"
                    self.notes.append(f"{device} {label}: grids above {last[0]:,} points {why}")
                    return
            begin = time.perf_counter()
            try:
                row = one(grid)
            except ProblemError as error:
                self.notes.append(f"{device} {label}: {error}")
                return
            modelled = row.kind == "modelled"
            last = grid, time.perf_counter() - begin if modelled else row.total
            self.rows.append(row)
            self.report(f"{device} {label}: {grid:,} points in {row.total:.3g} s{', modelled' if modelled else ''}")


def _tables(given: Problem) -> tuple[Any, Any, Any, Any, float, float]:
    return given.grid, given.wealth, given.transition, given.start, given.beta, given.eta


def _medians(runs: list[dict[str, float]]) -> dict[str, float]:
    return {
        part: statistics.median(run.get(part, 0.0) for run in runs) for part in ("allocate", "load", "solve", "read")
    }


def _solved(problem: Problem, device: str, method: str, options: dict[str, Any]) -> tuple[Any, str, dict[str, float]]:
    """Solve by a method of ``bl.solve`` or a baseline; return the result, why it failed, and the times of its parts."""
    if method in BASELINES:
        run = BASELINES[method] if device == "cpu" else staged_search_cuda.solve
        found = run(*_tables(problem), epsilon=EPSILON, **options)
        return found, "" if found.converged else "sweep limit", found.seconds
    result = solve(problem, tol=EPSILON, device=device, method=method, progress=False, **options)
    failed = "" if result.success else result.status
    if result.method != method:
        failed = f"{result.status}; solved by method {result.method}"
    return result, failed, result.timing


def _row(
    device: str, method: str, given: Problem, result: Any, part: dict[str, float],
    judged: tuple[float, int, float, bool], kind: str, note: str, call: float, joules: float = math.nan,
) -> Row:  # fmt: skip
    """Return the row of a ``result``, with the seconds of its parts, and what :func:`judge` found."""
    residual, differences, gap, agrees = judged
    return Row(
        device,
        method,
        given.points,
        given.states,
        result.sweeps,
        **dict.fromkeys(("allocate", "load", "read"), math.nan) | part,
        total=sum(part.values()),
        per_sweep=part["solve"] / result.sweeps,
        ratio=math.nan,
        residual=residual,
        error_bound=result.error_bound,
        policy_differences=differences,
        value_difference=gap,
        agrees=agrees,
        kind=kind,
        note=note,
        call=call,
        joules=joules,
    )


def reference_row(bench: Bench, device: str, method: str, options: dict[str, Any], grid: int) -> Row:
    """Return the row of one method in double precision on a processor or a GPU, as a user calls it."""
    given = bench.problem(grid)
    label = method_label(method, options)
    before = next((row.call for row in reversed(bench.rows) if (row.device, row.method) == (device, label)), 0.0)
    runs: list[dict[str, float]] = []
    meter = energy.meter(device)
    begin = time.perf_counter()
    while True:
        if len(runs) <= 1:
            # What the first call loads or compiles takes energy, too.
            meter.start()
            metered = 0
        called = time.perf_counter()
        result, failed, timing = _solved(given, device, method, options)
        runs.append(timing | {"call": time.perf_counter() - called})
        metered += 1
        # A first call that takes much longer than calls on the grid before may have compiled, so it does not count.
        if runs[-1]["call"] > QUICK and (len(runs) > 1 or runs[-1]["call"] < COMPILES * before):
            del runs[:-1]
            break
        if len(runs) > REPEATS and time.perf_counter() - begin > ENOUGH:
            del runs[0]
            break
    joules = meter.joules() / metered
    part = _medians(runs)
    own = method in APPROXIMATE
    policy = result.policy
    if method == "interp":
        policy = interpolation.nearest(given.grid, interpolation.candidates(given.grid, options["choices"]))[policy]
    judged = judge(given, result.value, policy, result.error_bound, bench.answer(grid), own)
    call = statistics.median(run["call"] for run in runs)
    note = failed or (OTHER if own else "")
    return _row(
        device, label, given, result, part, (*judged[:3], judged[3] and not failed), "measured", note, call, joules
    )


def machine_row(bench: Bench, device: str, grid: int, tol: float) -> Row:
    """Return the row of the assembly line as emulated on this computer; also add the modelled row of a chip."""
    given = bench.problem(grid)
    result, call, around, joules = _on_machine(given, tol, device, {})
    part = {name: result.timing.get(name, 0.0) for name in ("load", "solve", "read")}
    part["allocate"] = result.timing.get("open", 0.0)
    answer = bench.answer(grid)
    if tol > EPSILON:
        found = cpu.solve(*_tables(given), epsilon=tol)
        answer = Answer(found.value, found.policy, found.error_bound)
    judged = judge(given, result.value, result.policy, result.error_bound, answer, own=False)
    source = "counted in simulation" if device == "rtl" else "formula"
    coarse = f", epsilon {tol:g}" if tol > EPSILON else ""
    bench.rows.append(_fpga_row("line", given, result, judged, source, around, coarse))
    note = "emulation of the machine on this computer" + coarse
    row = _row(device, "line", given, result, part, judged, "simulation", note, call, joules)
    return replace(row, total=row.total - row.allocate)


def _on_machine(given: Problem, tol: float, device: str, options: dict[str, Any]) -> tuple[Result, float, float, float]:
    """Solve on a machine; return the result, seconds from call to return, seconds outside open and solve, and joules.

    A quick solve is repeated and the shortest is reported, since the first call of a process loads compiled code.
    """
    meter = energy.meter(device)
    shortest, around, joules = math.inf, math.inf, math.nan
    for _ in range(REPEATS):
        meter.start()
        begin = time.perf_counter()
        result = solve(given, tol=tol, device=device, progress=False, **options)
        call = time.perf_counter() - begin
        if call < shortest:
            shortest, joules = call, meter.joules()
        around = min(around, call - result.timing.get("open", 0.0) - result.timing["solve"])
        if call > QUICK:
            break
    return result, shortest, around, joules


def _fpga_row(
    method: str,
    given: Problem,
    result: Result,
    judged: tuple[float, int, float, bool],
    source: str,
    around: float,
    more: str = "",
) -> Row:
    """Return the row of a run on a chip, with times modelled from its clock cycles.

    ``around`` is the time, in seconds, that this computer takes before and after the solve.
    """
    modelled = result.clocks / CLOCK_HZ
    note = (
        f"{result.clocks:,} clocks ({source}) at {CLOCK_HZ / 1e6:g} MHz{more}; {1e3 * around:.3g} ms of this computer "
        "around them, in the model's buffers"
    )
    return _row("fpga", method, given, result, {"solve": modelled}, judged, "modelled", note, modelled + around)


def sweep_label(method: str | None) -> str:
    """Return what the table calls the sweep engine, with method ``"shift"`` or without."""
    return f"sweep {method} start=coarse" if method else "sweep"


def sweep_row(bench: Bench, grid: int, method: str | None) -> Row:
    """Return the row of the sweep engine with up to 64 lanes: emulated, its clocks from the clock model."""
    given = bench.problem(grid)
    lanes = min(64, grid // ROW_WORDS)
    options: dict[str, Any] = {"lanes": lanes} | ({"method": method, "start": "coarse"} if method else {})
    result, _, around, _ = _on_machine(given, EPSILON, "emulator", options)
    judged = judge(given, result.value, result.policy, result.error_bound, bench.answer(grid), own=False)
    return _fpga_row(sweep_label(method), given, result, judged, "clock model", around, f", {lanes} lanes")


def batch_row(bench: Bench, cuda: Any, grid: int) -> Row:
    """Return the row of one problem of a batch on a GPU: the time of the batch divided by ``BATCH``."""
    given = bench.problem(grid)
    # Value, wealth and start in double precision and the policy, both for the input and the output.
    check_memory(BATCH * grid * given.states * 36, f"a batch of {BATCH:,} problems of {grid:,} points")
    problems = [_tables(rbc(grid=grid, eta=1.5 + i / BATCH)) for i in range(BATCH)]
    runs = []
    meter = energy.meter("gpu")
    for turn in range(REPEATS + 1):
        if turn <= 1:
            # The first compiles.
            meter.start()
        begin = time.perf_counter()
        found = cuda.solve_batch(problems, EPSILON, method="shift", start="coarse")
        wall = time.perf_counter() - begin
        parts = ("allocate", "load", "solve", "read")
        runs.append({part: sum(one.seconds.get(part, 0.0) for one in found) for part in parts} | {"wall": wall})
    joules = meter.joules() / (REPEATS * BATCH)
    # The first run compiles.
    del runs[0]
    part = {name: seconds / BATCH for name, seconds in _medians(runs).items()}
    middle = found[BATCH // 2]
    judged = judge(given, middle.value, middle.policy, middle.error_bound, bench.answer(grid), own=False)
    agrees = judged[3] and all(one.converged for one in found)
    label = f"shift start=coarse, batch of {BATCH:,}, each"
    note = "eta from 1.5 to 2.5; judged at eta = 2; the call is one of solve_batch, not verified"
    call = statistics.median(run["wall"] for run in runs) / BATCH
    return _row("gpu", label, given, middle, part, (*judged[:3], agrees), "measured", note, call, joules)


def compile_models() -> None:
    """Run the software models of both engines once, so that compilation is not part of any time."""
    engines: tuple[dict[str, Any], ...] = ({}, {"lanes": 2}, {"lanes": 2, "method": "shift"})
    for options in engines:
        solve(rbc(grid=16), tol=0.1, device="emulator", progress=False, **options)
