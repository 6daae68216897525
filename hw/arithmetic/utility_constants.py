"""What the utility unit is told of a problem: constants of ``eta`` and of the binary points.

Apart from the unit, because a host that drives a board makes them without gateware or compiler.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from beltline.hw.arithmetic.numbers import ETA_LIMIT
from beltline.hw.interface.registers import UtilityForm

A_FRACTION = 59
A_BITS = 64
B_FRACTION = 58
B_BITS = 72
SHIFT_BITS = 6
VALUE_BITS_LIMIT = 52
"""Most fraction bits of value for which the error bound holds at ``eta = 1``."""

MONEY_BITS_LIMIT = 90
"""Most fraction bits of money: ``|ln c|`` of a unit, ``money ln 2``, must stay below the 64 of its magnitude at ``eta =
1``; ``b`` has room for far more."""


@dataclass(frozen=True)
class UtilityConstants:
    """What the unit must be told of ``eta`` and of the binary points.

    With ``C`` the integer consumption, of ``money`` fraction bits, and utility in ``value`` fraction bits,

    - ``eta != 1``: ``U = sign * 2**(a log2(C) + b)``, ``a = 1 - eta``, ``b = value - a money - log2|a|``;
    - ``eta = 1``: ``U = (A log2(C) + B) 2**value``, ``A = ln 2``, ``B = -A money``, with the rounded ``A`` in both, so
      that its error is multiplied by ``log2 c``, which is small, and not by ``log2 C``.

    ``a``: signed, 64 bits, 59 of fraction; ``b``: signed, 72 bits, 58 of fraction; ``negative``: ``eta > 1``;
    ``log``: ``eta = 1``; ``shift``: ``58 - value``, used for ``eta = 1``.
    """

    a: int
    b: int
    negative: bool
    log: bool
    shift: int

    @classmethod
    def of(cls, eta: float, money: int, value: int) -> UtilityConstants:
        """The constants for a float64 ``eta`` in (0, 16] and the fraction bits of money (0 to 90) and value (0 to 52).

        ``a`` is exact where ``eta`` is at least 2**-6, ``b`` is rounded to nearest.

        Raises
        ------
        ValueError
            An argument out of range.
        """
        if not 0.0 < eta <= ETA_LIMIT:
            raise ValueError(f"eta must lie in (0, {ETA_LIMIT:g}], not {eta!r}")
        for name, bits, most in (("money", money, MONEY_BITS_LIMIT), ("value", value, VALUE_BITS_LIMIT)):
            if not 0 <= bits <= most:
                raise ValueError(f"fraction bits of {name} must be from 0 to {most}, not {bits}")
        # Imported here: a solve in double precision has no use for it, and it takes a tenth of a second.
        import mpmath

        with mpmath.workdps(60):
            if eta == 1.0:
                a = int(mpmath.nint(mpmath.ldexp(mpmath.log(2), A_FRACTION)))
                b = int(mpmath.nint(mpmath.ldexp(-mpmath.mpf(a) * money, B_FRACTION - A_FRACTION)))
                return cls(a, b, negative=False, log=True, shift=B_FRACTION - value)
            exact = 1 - Fraction(eta)
            power = mpmath.mpf(exact.numerator) / exact.denominator
            a = round(exact * 2**A_FRACTION)
            b = int(mpmath.nint(mpmath.ldexp(value - power * money - mpmath.log(abs(power), b=2), B_FRACTION)))
        return cls(a, b, negative=eta > 1.0, log=False, shift=B_FRACTION - value)

    @classmethod
    def from_registers(cls, settings: Mapping[str, int]) -> UtilityConstants:
        """The constants in registers ``UTILITY_A``, ``UTILITY_B`` and ``UTILITY_FORM``, by their names."""
        form = UtilityForm.of(settings["UTILITY_FORM"])
        return cls(settings["UTILITY_A"], settings["UTILITY_B"], form.negative, form.log, form.shift)

    @property
    def registers(self) -> dict[str, int]:
        """What :meth:`from_registers` takes."""
        form = UtilityForm(self.negative, self.log, self.shift)
        return {"UTILITY_A": self.a, "UTILITY_B": self.b, "UTILITY_FORM": form.word}

    @property
    def words(self) -> tuple[np.int64, np.uint64, np.uint64, bool, bool, np.uint64]:
        """The constants as the compiled model takes them: ``a``, ``b`` in two words, flags, shift."""
        b = self.b % 2**128
        return (
            np.int64(self.a),
            np.uint64(b >> 64),
            np.uint64(b % 2**64),
            self.negative,
            self.log,
            np.uint64(self.shift),
        )
