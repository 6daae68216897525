"""What takes the place of an accelerated way to solve that failed: one that rests on less, and the message says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from beltline.host.results.outcome import Outcome
from beltline.host.results.result import Result
from beltline.host.solver.options import SolveOptions


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


def or_warm(result: Result, again: Callable[[], Result]) -> Result:
    """``result`` of a solver in double precision, or where it failed that of ``again``, by ``warm``, if it succeeds.

    Whatever the reason of the failure and whatever the limit of sweeps: another method may be led astray by its start,
    sweep more slowly, or search where it should not, so nobody can say before whether ``warm`` fails too.
    """
    if result.success or result.method == "warm":
        return result
    other = again()
    if not other.success:
        return result
    timing = {part: result.timing.get(part, 0.0) + spent for part, spent in other.timing.items()}
    why = result.message[:1].lower() + result.message[1:]
    message = f"{other.message} Method 'warm' took the place of {result.method!r}, which had failed: {why}"
    return replace(other, message=message, timing=timing)
