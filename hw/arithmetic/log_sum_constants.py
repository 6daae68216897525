"""Constants of the log-sum unit, from the scale of taste shocks and the binary point of values.

They have a module of their own because a host that drives a board computes them without gateware or compiler.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

TERMS = 4
"""Values of which the unit takes the log-sum."""

MOST_LIFT = 63
"""Largest lift of a difference of values."""

LIFT_BITS = 6
"""Bits of ``lift``."""

SLOPE_FRACTION = 118
"""Fraction bits of ``slope``."""

SLOPE_BITS = 63
"""Bits of ``slope``."""

UNIT_FRACTION = 2
"""Fraction bits of ``unit``."""

UNIT_BITS = 64
"""Bits of ``unit``."""

_NORMAL = 56
"""The scale of shocks is shifted to at least ``2**_NORMAL`` units of value."""

_LARGEST = 62
"""The scale of shocks is below ``2**_LARGEST`` units of value."""


@dataclass(frozen=True)
class LogSumConstants:
    """Run-time constants of the log-sum unit.

    Let ``S`` be the scale of the shocks in units of value. Differences of values are shifted left by ``k = lift``, the
    smallest number from 0 with ``S 2**k >= 2**56``. Then ``slope`` is ``1 / (S 2**k ln 2)``, by which a shifted
    difference becomes a binary exponent, and ``unit`` is ``S ln 2``, the amount of value of a binary order of
    magnitude. With all three 0 the unit returns the maximum.

    Attributes
    ----------
    slope
        Unsigned, 63 bits, with 118 fraction bits; rounded to nearest, and above ``2**55``, so that its relative error
        is below ``2**-56.5``, or below ``2**-62.5`` for ``S < 2**57``.
    unit
        Unsigned, 64 bits, with 2 fraction bits; rounded to nearest, an error of an eighth of a unit of value.
    lift
        6 bits.
    """

    slope: int = 0
    unit: int = 0
    lift: int = 0

    @classmethod
    def of(cls, sigma: float, value: int) -> LogSumConstants:
        """Return the constants for a scale of the shocks and a number format.

        Parameters
        ----------
        sigma
            Scale of the shocks in units of utility, from 0. Below ``2**-7`` units of value the shocks are left out,
            because they add less than ``2**-6`` units.
        value
            Fraction bits of values.

        Raises
        ------
        ValueError
            ``sigma`` is negative, not finite, or ``2**62`` units of value or more.
        """
        if not (math.isfinite(sigma) and sigma >= 0.0):
            raise ValueError(f"sigma must be a number from 0, not {sigma!r}")
        units = Fraction(sigma) * Fraction(2) ** value
        if units >= 2**_LARGEST:
            raise ValueError(f"sigma must be below 2**{_LARGEST} units of value, and is {float(units):.6g} of them")
        if units < Fraction(2) ** (_NORMAL - MOST_LIFT):
            return cls()
        lift = 0
        while units * 2**lift < 2**_NORMAL:
            lift += 1
        # Imported here because it takes a tenth of a second and a solve in double precision does not need it.
        import mpmath

        with mpmath.workdps(60):
            of_two = mpmath.log(2) * units.numerator / units.denominator
            slope = mpmath.ldexp(1 / of_two, SLOPE_FRACTION - lift)
            return cls(int(mpmath.nint(slope)), int(mpmath.nint(mpmath.ldexp(of_two, UNIT_FRACTION))), lift)

    @classmethod
    def of_words(cls, words: Sequence[int]) -> LogSumConstants:
        """Return the constants from the words that :attr:`words` gives, modulo ``2**64``."""
        slope, unit, lift = words
        return cls(slope % 2**SLOPE_BITS, unit % 2**UNIT_BITS, lift % 2**LIFT_BITS)

    @property
    def words(self) -> tuple[int, int, int]:
        """The constants as the host loads them: ``slope``, ``unit``, ``lift``."""
        return self.slope, self.unit, self.lift


def log_sum_error(sigma: float, value_unit: float) -> float:
    """Return a bound on the error of the log-sum unit, in units of utility.

    Parameters
    ----------
    sigma
        Scale of the shocks, in units of utility.
    value_unit
        A unit of value, in units of utility.
    """
    return 0.75 * value_unit + sigma * 2.0**-56 if sigma > 0.0 else 0.0
