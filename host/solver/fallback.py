"""Replacement of an accelerated method that failed by a more robust one; the message of the result says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from beltline.gpu_ref.timing import timed
from beltline.host.devices.base import Progress
from beltline.host.problem.problem import Problem
from beltline.host.results.outcome import Outcome
from beltline.host.results.result import Result
from beltline.host.solver.options import SolveOptions

if TYPE_CHECKING:
    from beltline.gpu_ref.general.solution import Solution

BRACKETS, STEPS = "brackets", 20
"""Method of the general form that replaces one that is slow, and its policy evaluation steps after each sweep."""

SLOW = 1000
"""A method that has not converged after this number of sweeps or more counts as slow."""


def plain(options: SolveOptions) -> SolveOptions:
    """Return the options for plain sweeps of the accelerator from the problem's own ``start``."""
    return replace(options, method=None, start="given")


def failed(result: Result) -> bool:
    """Return whether a run failed in a way that extrapolation, or the values of another problem, can cause."""
    return result.status in (Outcome.SATURATED, Outcome.NOT_VERIFIED)


def or_plain(result: Result, again: Callable[[], Result], what: str = "shifted ones") -> Result:
    """Return the result of the accelerator or, if it :func:`failed`, that of plain sweeps if they succeed.

    Parameters
    ----------
    result
    again
        Solves by plain sweeps.
    what
        What plain sweeps replace, for the message.
    """
    if not failed(result):
        return result
    other = again()
    if not other.success:
        return result
    return replace(other, message=f"{other.message} Plain sweeps replaced {what}, which had failed: {result.message}")


def or_other(result: Result, method: str, solve: Callable[[str], Result]) -> Result:
    """Return the result of a solver in double precision or, if it failed, that of another method if it succeeds.

    Parameters
    ----------
    result
    method
        The other method, such as ``warm``. It is tried after any failure of a different one: that may have begun from a
        bad first guess, needed more sweeps, or missed a maximum, so that its failure does not tell whether the other
        method fails, too.
    solve
        Solves by a method.
    """
    if result.success or result.method == method:
        return result
    other = solve(method)
    if not other.success:
        return result
    timing = {part: result.timing.get(part, 0.0) + spent for part, spent in other.timing.items()}
    why = result.message[:1].lower() + result.message[1:]
    message = f"{other.message} Method {method!r} replaced {result.method!r}, which had failed: {why}"
    return replace(other, message=message, timing=timing)


def by_brackets(problem: Problem, options: SolveOptions, report: Progress | None) -> tuple[Solution, dict[str, float]]:
    """Solve as a problem of the general form, which evaluates policies by a linear system if sweeps are slow.

    Returns
    -------
    solution, timing
        Of one regime and alternative; seconds of the parts.

    Raises
    ------
    MemoryError
        The problem does not fit into the memory of this computer; nothing was allocated.
    """
    # Here, because it compiles.
    from beltline.gpu_ref.general.solve import solve

    def report_sweep(sweeps: int, change: float) -> None:
        if report:
            report(f"sweep {sweeps:,}, largest change of V {change:.2e}")

    timing: dict[str, float] = {}
    with timed(timing, "solve"):
        found = solve(
            problem.form, problem.start[None], tol=options.tol, max_sweeps=options.max_sweeps, steps=STEPS,
            progress=report_sweep,
        )  # fmt: skip
    return found, timing
