"""Replacement of accelerated sweeps of the accelerator, if they failed, by plain ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

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
