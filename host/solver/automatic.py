"""Solves for which no device is named: on a free board, or else on a GPU if it saves time, or else on the processor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from beltline.host.devices.base import DeviceError, Progress
from beltline.host.problem.checks import ProblemError
from beltline.host.problem.discrete import DiscreteProblem
from beltline.host.problem.problem import Problem
from beltline.host.results.result import Result
from beltline.host.solver.judgement import tightened
from beltline.host.solver.options import UNNAMED, SolveOptions
from beltline.host.solver.reference import solve_reference
from beltline.host.solver.rules import OF_GENERAL, boards, check_unnamed, without_gpu
from beltline.host.solver.session import Session
from beltline.host.solver.solve_discrete import solve_discrete
from beltline.host.solver.solve_general import solve_general
from beltline.sim.progress import reporting


def solve_automatic(
    problem: Problem, options: SolveOptions, more: dict[str, Any], progress: Progress | Literal[False] | None
) -> Result:
    """Solve a problem of the simple form on the first device that succeeds, by the method that suits it.

    Arguments as in :func:`beltline.host.solver.solve.solve`. If a method is named, it is one of the processor or a GPU,
    and boards are not tried.

    Raises
    ------
    ProblemError
        An option is wrong, or needs a device or a method to be named.
    """
    check_unnamed(options.method, more)
    failures = []
    for name, where in boards() if options.method is None and not more else ():
        result, failed = _on_board(name, where, problem, options, progress)
        if result is not None and result.success:
            return replace(result, chosen=f"{name}: chosen because the board is present and free")
        failures.append(f"{name} failed: {failed}")
    with reporting(progress) as report:
        result = solve_in_double(problem, options, UNNAMED, more, report)
    return replace(result, chosen="; ".join([result.chosen, *(failures or ["no board is ready"])]))


def of_general_form(problem: Problem, more: Mapping[str, Any]) -> bool:
    """Return whether the solver of the general form is needed: prices that move make the cost ``x'`` another one."""
    return problem.general or any(more.get(name) is not None for name in OF_GENERAL)


def solve_in_double(
    problem: Problem | DiscreteProblem,
    options: SolveOptions,
    device: str,
    more: dict[str, Any],
    report: Progress | None,
) -> Any:
    """Solve a problem of any form in double precision on ``"cpu"`` or ``"gpu"``; ``"auto"`` chooses one of them."""

    def solve(options: SolveOptions) -> Any:
        if isinstance(problem, DiscreteProblem):
            return solve_discrete(problem, options, device, more, report)
        if of_general_form(problem, more):
            return solve_general(problem, options, "cpu" if device == UNNAMED else device, more, report)
        if device == UNNAMED:
            return _on_processors(problem, options, more, report)
        return solve_reference(problem, options, device, dict(more), report)

    options = options.of(problem)
    # With another tolerance prices would move on.
    return solve(options) if more.get("update") is not None else tightened(problem, options, solve)


def _on_processors(problem: Problem, options: SolveOptions, more: dict[str, Any], report: Progress | None) -> Result:
    """Solve on a GPU if it saves time and succeeds, or else on the processor."""
    why = without_gpu(problem)
    if not why:
        try:
            result = solve_reference(problem, options, "gpu", dict(more), report)
            if result.success:
                return _with_reason(result, f"a GPU saves time with {problem.points * problem.states:,} states")
            why = f"gpu failed: {result.message}"
        except (DeviceError, ProblemError) as error:
            why = f"gpu failed: {error}"
    return _with_reason(solve_reference(problem, options, "cpu", more, report), why)


def _with_reason(result: Result, why: str) -> Result:
    """Return ``result`` with the reason ``why`` for its device added to its field ``chosen``."""
    chosen = result.chosen or f"{result.device}, {result.method}: the method was named"
    return replace(result, chosen=f"{chosen}; {why}")


def _on_board(
    name: str,
    where: dict[str, Any],
    problem: Problem,
    options: SolveOptions,
    progress: Progress | Literal[False] | None,
) -> tuple[Result | None, str]:
    """Solve on a board; return the result (None after an error) and its message, which says what failed."""
    try:
        with Session(name, progress, **where) as session:
            result = session.solve_with(problem, options, progress)
    except (DeviceError, ProblemError) as error:
        return None, str(error)
    return result, result.message
