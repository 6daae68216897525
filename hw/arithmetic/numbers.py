"""The number formats: signed 64-bit fixed point, and unsigned fractions of 64 bits for ``beta Q``.

A quantity ``x`` is held as the integer nearest to ``x * 2**fraction`` (ties to even). The two kinds, *money* and
*value*, differ only in where the host puts the binary point. Nothing wraps: what does not fit becomes the nearest
number that does, and the caller is told.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

WIDTH = 64
"""Bits of money and of value."""

MAXIMUM = 2**63 - 1
MINIMUM = -(2**63)

ETA_LIMIT = 16.0
"""Largest risk aversion: ``1 - eta`` must fit the 5 integer bits of the utility unit's ``a``."""


@dataclass(frozen=True)
class Fixed:
    """Signed 64-bit fixed point with ``fraction`` fraction bits (0 to 62): one unit is ``2**-fraction``.

    Raises
    ------
    ValueError
        ``fraction`` out of range.
    """

    fraction: int

    def __post_init__(self) -> None:
        if not 0 <= self.fraction <= 62:
            raise ValueError(f"fraction bits must be from 0 to 62, not {self.fraction}")

    @property
    def unit(self) -> float:
        """The value of one unit in the last place."""
        return float(2.0**-self.fraction)

    def convert(self, values: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Nearest fixed-point numbers to float64 ``values``, and where they had to be saturated.

        Rounding is to nearest, ties to even, and exact: scaling by a power of two does not round, and a
        double of magnitude 2**52 or more has no fraction to round. Infinities saturate.

        Raises
        ------
        ValueError
            A value is NaN.
        """
        with np.errstate(over="ignore"):
            scaled = np.rint(np.ldexp(np.asarray(values, dtype=np.float64), self.fraction))
        if np.isnan(scaled).any():
            raise ValueError("NaN has no fixed-point form")
        high = scaled >= 2.0**63
        low = scaled < -(2.0**63)
        saturated = high | low
        fixed = np.where(saturated, 0.0, scaled).astype(np.int64)
        fixed = np.where(high, MAXIMUM, np.where(low, MINIMUM, fixed)).astype(np.int64)
        return fixed, saturated

    def encode(self, values: ArrayLike) -> NDArray[np.int64]:
        """Like :meth:`convert`, for values that must fit.

        Raises
        ------
        OverflowError
            A value does not fit; the message names the first one.
        """
        fixed, saturated = self.convert(values)
        if saturated.any():
            first = float(np.asarray(values, dtype=np.float64)[saturated].flat[0])
            raise OverflowError(f"{first!r} does not fit 64 bits with {self.fraction} fraction bits")
        return fixed

    def decode(self, fixed: ArrayLike) -> NDArray[np.float64]:
        """The float64 nearest to each fixed-point number (ties to even)."""
        return np.ldexp(np.asarray(fixed, dtype=np.int64).astype(np.float64), -self.fraction)


def encode_fraction(values: ArrayLike) -> NDArray[np.uint64]:
    """Nearest unsigned 64-bit fractions (unit ``2**-64``) to float64 ``values`` in ``[0, 1)``.

    A double below 1 scaled by ``2**64`` is below ``2**64``, so only values under ``2**-11`` have anything to round.

    Raises
    ------
    ValueError
        A value is NaN or outside ``[0, 1)``; the message names the first one.
    """
    array = np.asarray(values, dtype=np.float64)
    bad = ~((array >= 0.0) & (array < 1.0))
    if bad.any():
        raise ValueError(f"beta Q must lie in [0, 1), not {float(array[bad].flat[0])!r}")
    return np.rint(np.ldexp(array, 64)).astype(np.uint64)
