"""Replacement of an accelerated method that failed by a more robust one; the message of the result says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from beltline.gpu_ref.timing import added
from beltline.host.results.outcome import Outcome
from beltline.host.results.result import Result
from beltline.host.solver.options import SolveOptions


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
    why = result.message[:1].lower() + result.message[1:]
    message = f"{other.message} Method {method!r} replaced {result.method!r}, which had failed: {why}"
    return replace(other, message=message, timing=added(result.timing, other.timing))
