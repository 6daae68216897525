"""Conditions on parameters that several models have in common, such as ``beta`` and ``eta``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, real, whole
from beltline.hw.arithmetic.numbers import ETA_LIMIT

CHAIN_LIMIT = 1024
"""Largest number of states of a chain, so that a mistyped size is refused before memory is allocated."""

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
"""The condition on each parameter: in words, and as a function of the value."""


def parameter(name: str, value: Any) -> float:
    """Return ``value`` as a float if it satisfies the condition that :data:`RULES` has for ``name``.

    Raises
    ------
    ProblemError
        The value does not satisfy the condition.
    """
    return real(name, value, *RULES[name])


def chain_size(name: str, value: Any) -> int:
    """Return ``value``, a number of states, as an int if it is from 1 to ``CHAIN_LIMIT``.

    Raises
    ------
    ProblemError
        The value is out of this range.
    """
    return whole(name, value, f"a whole number from 1 to {CHAIN_LIMIT}", lambda v: 1 <= v <= CHAIN_LIMIT)


def levels(what: str, logs: Array, causes: str) -> Array:
    """Return ``exp(logs)`` if all of them are numbers above 0.

    Parameters
    ----------
    what
        What the logarithms are of, for the message, such as ``"productivity"``.
    logs : (n,) array
        Logarithm of the level in each state.
    causes
        Parameters that can make a level too large or too small, such as ``"sigma, rho or width"``.

    Raises
    ------
    ProblemError
        A level is too large or too small for double precision.
    """
    with np.errstate(over="ignore", under="ignore"):
        found: Array = np.exp(logs)
    bad = ~((found > 0.0) & np.isfinite(found))
    if bad.any():
        raise ProblemError(
            f"{what} must be a number above 0 in every state, but exp({logs[bad][0]:.4g}) is 0 or infinite "
            f"in double precision: change {causes}"
        )
    return found
