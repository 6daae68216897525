"""Conditions on parameters that several models have in common, such as ``beta`` and ``eta``."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, real, whole, word
from beltline.host.problem.grids import GRID_SIZE_LIMIT
from beltline.hw.arithmetic.numbers import ETA_LIMIT

CHAIN_LIMIT = 1024
"""Largest number of states of a chain, so that a mistyped size is refused before memory is allocated."""

Check = Callable[[str, Any], Any]
"""A function of name and value of a parameter that returns the value as it is kept, or raises ``ProblemError``."""


SIZE_LIMIT = 1e100
"""The size of parameters other than 0 is at most this, at least its inverse, so that products of powers are finite."""


def number(wanted: str, holds: Callable[[float], bool]) -> Check:
    """Return the check of a number: its condition in words, and as a function."""

    def check(name: str, value: Any) -> float:
        found = real(name, value, wanted, holds)
        if found and not 1 / SIZE_LIMIT <= abs(found) <= SIZE_LIMIT:
            raise ProblemError(
                f"{name} must be {wanted}, in size from {1 / SIZE_LIMIT:g} to {SIZE_LIMIT:g}, not {found}"
            )
        return found

    return check


def count(low: int, high: int) -> Check:
    """Return the check of a whole number from ``low`` to ``high``."""
    return lambda name, value: whole(
        name, value, f"a whole number from {low} to {high}", lambda number: low <= number <= high
    )


def one_of(words: Collection[str]) -> Check:
    """Return the check of a word that must be one of ``words``."""
    return lambda name, value: word(name, value, words)


SHARE = number("a number above 0 and below 1", lambda v: 0 < v < 1)
FINITE = number("a finite number", math.isfinite)
POSITIVE = number("a number above 0", lambda v: 0 < v < math.inf)
FROM_ZERO = number("a number from 0", lambda v: 0 <= v < math.inf)
FROM_ONE = number("a number from 1", lambda v: 1 <= v < math.inf)
TO_ONE = number("a number from 0 to 1", lambda v: 0 <= v <= 1)
RATE = number("a number above -1", lambda v: -1 < v < math.inf)
AUTOCORRELATION = number("a number above -1 and below 1", lambda v: -1 < v < 1)
RISK_AVERSION = number(f"a number above 0 and at most {ETA_LIMIT:g}", lambda v: 0 < v <= ETA_LIMIT)
DEPRECIATION = number("a number above 0 and at most 1", lambda v: 0 < v <= 1)
CHAIN_SIZE = count(1, CHAIN_LIMIT)
GRID_SIZE = count(2, GRID_SIZE_LIMIT)
"""Checks of parameters that several models have."""


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


def fixed(table: Array) -> Array:
    """Return a table of a model after making it read-only."""
    table.flags.writeable = False
    return table
