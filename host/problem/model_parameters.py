"""Parameters that several models have, each under the same rule in all of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, real, whole
from beltline.hw.arithmetic.numbers import ETA_LIMIT

CHAIN_LIMIT = 1024
"""Largest chain that is built, so that a mistyped size is refused and not allocated."""

_SHARE: tuple[str, Callable[[float], bool]] = "a number above 0 and below 1", lambda v: 0 < v < 1
_POSITIVE: tuple[str, Callable[[float], bool]] = "a number above 0", lambda v: 0 < v < math.inf

RULES: dict[str, tuple[str, Callable[[float], bool]]] = {
    "alpha": _SHARE,
    "beta": _SHARE,
    "eta": (f"a number above 0 and at most {ETA_LIMIT:g}", lambda v: 0 < v <= ETA_LIMIT),
    "rho": ("a number above -1 and below 1", lambda v: -1 < v < 1),
    "sigma": _POSITIVE,
    "width": _POSITIVE,
}
"""What is wanted of each, and whether a number is that."""


def parameter(name: str, value: Any) -> float:
    """Return ``value`` as a float if it is what :data:`RULES` want of that name; else ``ProblemError``."""
    return real(name, value, *RULES[name])


def chain_size(name: str, value: Any) -> int:
    """Return ``value`` as an int if it is a number of states from 1 to ``CHAIN_LIMIT``; else ``ProblemError``."""
    return whole(name, value, f"a whole number from 1 to {CHAIN_LIMIT}", lambda v: 1 <= v <= CHAIN_LIMIT)


def levels(what: str, logs: Array, causes: str) -> Array:
    """Return ``exp(logs)`` if all of them are numbers above 0.

    Parameters
    ----------
    what
        Of which they are the logarithms, such as ``"productivity"``.
    logs
        By state.
    causes
        Parameters that make it too large or too small, such as ``"sigma, rho or width"``.

    Raises
    ------
    ProblemError
        One of them is too large or too small for double precision.
    """
    with np.errstate(over="ignore", under="ignore"):
        found: Array = np.exp(logs)
    bad = ~((found > 0.0) & np.isfinite(found))
    if bad.any():
        raise ProblemError(
            f"{what} must be a number above 0 in every state, but exp({logs[bad][0]:.4g}) is none in double "
            f"precision: change {causes}"
        )
    return found
