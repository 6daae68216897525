"""Comparison of a measured time or ratio with what is asked of it: one printed line each, and an exit status."""

from __future__ import annotations

HEADLINE = 65_536
"""Grid points of the problem of whose calls the measures are asked."""


def at_most(what: str, limit: float, measured: float, unit: str = "") -> bool:
    """Print whether the measured value is at most the limit, and return it.

    Examples
    --------
    >>> at_most("a verified call", 3.0, 1.41, "ms")
    measure  a verified call: asked at most 3 ms: measured 1.41 ms, holds
    True
    """
    unit, passed = f" {unit}" if unit else "", measured <= limit
    verdict = "holds" if passed else "does not hold"
    print(f"measure  {what}: asked at most {limit:g}{unit}: measured {measured:.4g}{unit}, {verdict}", flush=True)
    return bool(passed)
