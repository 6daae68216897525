"""What takes the place of an accelerated way to solve that failed: one that rests on less, and the message says so."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from beltline.host.results.outcome import Outcome
from beltline.host.results.result import Result
from beltline.host.solver.fixed_point import modulus, value_bounds
from beltline.host.solver.options import SolveOptions

EXACT = ("grid", "monotone", "warm")
"""Methods in double precision that rest on nothing but plain sweeps, each of them exact."""


def plain(options: SolveOptions) -> SolveOptions:
    """The options for plain sweeps of a machine from the problem's own start."""
    return replace(options, method=None, start="given")


def astray(result: Result) -> bool:
    """Whether a machine's run failed as it does where shifts or another problem's values led it astray."""
    return result.status in (Outcome.SATURATED, Outcome.NOT_VERIFIED)


def or_plain(result: Result, again: Callable[[], Result], what: str = "shifted ones") -> Result:
    """``result`` of a machine, or where it went :func:`astray` that of ``again``, plain sweeps, if they succeed.

    ``what`` names in the message what plain sweeps took the place of.
    """
    if not astray(result):
        return result
    other = again()
    if not other.success:
        return result
    return replace(other, message=f"{other.message} Plain sweeps took the place of {what}: {result.message}")


def or_warm(result: Result, max_sweeps: int, again: Callable[[], Result]) -> Result:
    """``result`` of a solver in double precision, or that of ``again``, which solves by ``warm``, where that is better.

    It is where a method failed that rests on more than ``warm`` does; one that ended at the sweep limit, only where the
    limit leaves ``warm`` as many sweeps as the contraction makes it take at most.
    """
    if not _falls_back(result, max_sweeps):
        return result
    other = again()
    if not other.success:
        return result
    timing = {part: result.timing.get(part, 0.0) + spent for part, spent in other.timing.items()}
    why = result.message[:1].lower() + result.message[1:]
    message = f"{other.message} Method 'warm' took the place of {result.method!r}, which had failed: {why}"
    return replace(other, message=message, timing=timing)


def _falls_back(result: Result, max_sweeps: int) -> bool:
    if result.success or result.method in EXACT:
        return False
    if result.status == Outcome.NOT_VERIFIED:
        return True
    if result.status != Outcome.LIMIT:
        return False
    low, high = value_bounds(result.problem)
    needed = 1.0 + math.log(min(result.tol / (2.0 * (high - low)), 1.0)) / math.log(modulus(result.problem))
    return max_sweeps >= needed
