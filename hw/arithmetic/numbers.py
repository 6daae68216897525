"""Number formats: signed 64-bit fixed point for amounts and values, unsigned 64-bit fractions for ``beta Q``.

A quantity ``x`` is represented by the integer nearest to ``x * 2**fraction`` (ties to even). *Amounts* (wealth, grid
points, consumption) and *values* (utilities, value functions) have the same format; the host chooses the binary point
of each. Numbers out of range are saturated and reported; none wraps around.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

WIDTH = 64
"""Bits of an amount and of a value."""

MAXIMUM = 2**63 - 1
"""Largest signed 64-bit integer."""

MINIMUM = -(2**63)
"""Lowest signed 64-bit integer."""

ETA_LIMIT = 16.0
"""Largest risk aversion: ``1 - eta`` must fit the 5 integer bits of the utility unit's ``a``."""


@dataclass(frozen=True)
class Fixed:
    """Signed 64-bit fixed point with ``fraction`` fraction bits (0 to 62): one unit is ``2**-fraction``.

    Raises
    ------
    ValueError
        ``fraction`` is not from 0 to 62.
    """

    fraction: int

    def __post_init__(self) -> None:
        if not 0 <= self.fraction <= 62:
            raise ValueError(f"fraction bits must be from 0 to 62, not {self.fraction}")

    @property
    def unit(self) -> float:
        """The quantity that one unit in the last place represents, ``2**-fraction``."""
        return float(2.0**-self.fraction)

    def convert(self, values: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Convert float64 ``values`` to the nearest fixed-point numbers; saturate those that are out of range.

        Rounding is to nearest, ties to even, and happens once: scaling by a power of two is exact, and a double of
        magnitude 2**52 or more is an integer. Infinities are saturated.

        Returns
        -------
        fixed, saturated
            int64 and bool, of the shape of ``values``.

        Raises
        ------
        ValueError
            A value is NaN.
        """
        with np.errstate(over="ignore"):
            scaled = np.rint(np.ldexp(np.asarray(values, dtype=np.float64), self.fraction))
        if np.isnan(scaled).any():
            raise ValueError(f"values must be numbers, but entry {int(np.argmax(np.isnan(scaled)))} is NaN")
        high = scaled >= 2.0**63
        low = scaled < -(2.0**63)
        saturated = high | low
        fixed = np.where(saturated, 0.0, scaled).astype(np.int64)
        fixed = np.where(high, MAXIMUM, np.where(low, MINIMUM, fixed)).astype(np.int64)
        return fixed, saturated

    def encode(self, values: ArrayLike) -> NDArray[np.int64]:
        """Convert as :meth:`convert` does, and raise an error where a value is out of range.

        Raises
        ------
        ValueError
            A value is NaN.
        OverflowError
            A value is out of range; the message names the first one.
        """
        fixed, saturated = self.convert(values)
        if saturated.any():
            first = float(np.asarray(values, dtype=np.float64)[saturated].flat[0])
            raise OverflowError(f"{first!r} does not fit 64 bits with {self.fraction} fraction bits")
        return fixed

    def decode(self, fixed: ArrayLike) -> NDArray[np.float64]:
        """Return the float64 nearest to each fixed-point number (ties to even), of the same shape."""
        return np.ldexp(np.asarray(fixed, dtype=np.int64).astype(np.float64), -self.fraction)


def encode_fraction(values: ArrayLike) -> NDArray[np.uint64]:
    """Convert float64 ``values`` in ``[0, 1)`` to the nearest unsigned 64-bit fractions (unit ``2**-64``).

    A double below 1 times ``2**64`` is below ``2**64``, so none overflows; only values below ``2**-11`` are rounded.

    Raises
    ------
    ValueError
        A value is NaN or outside ``[0, 1)``; the message names the first one.
    """
    array = np.asarray(values, dtype=np.float64)
    bad = ~((array >= 0.0) & (array < 1.0))
    if bad.any():
        where = int(np.argmax(bad))
        raise ValueError(f"beta Q must lie in [0, 1), but entry {where} is {float(array.flat[where])!r}")
    return np.rint(np.ldexp(array, 64)).astype(np.uint64)
