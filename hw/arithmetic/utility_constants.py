"""Constants of the utility unit, from risk aversion ``eta`` and the binary points.

They have a module of their own because a host that drives a board computes them without gateware or compiler.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from beltline.hw.arithmetic.numbers import ETA_LIMIT
from beltline.hw.interface.registers import UtilityForm

A_FRACTION = 59
"""Fraction bits of ``a``."""

A_BITS = 64
"""Bits of ``a``."""

B_FRACTION = 58
"""Fraction bits of ``b``."""

B_BITS = 72
"""Bits of ``b``."""

SHIFT_BITS = 6
"""Bits of ``shift``."""

VALUE_BITS_LIMIT = 52
"""Largest number of fraction bits of value for which the error bound holds at ``eta = 1``."""

AMOUNT_BITS_LIMIT = 90
"""Largest number of fraction bits of an amount. At ``eta = 1``, ``|ln c|`` of the smallest amount, ``amount ln 2``,
must stay below 64, the range of the logarithm's magnitude; ``b`` has range for far more."""


@dataclass(frozen=True)
class UtilityConstants:
    """Run-time constants of the utility unit.

    Let ``C`` be the integer that represents consumption with ``amount`` fraction bits, and let the utility have
    ``value`` fraction bits. Then

    - other ``eta``: ``U = sign * 2**(a log2(C) + b)`` with ``a = 1 - eta``, ``b = value - a amount - log2|a|``;
    - ``eta = 0``: ``U = c``, linear, with ``amount = value``, so that ``U`` is ``C`` itself. Consumption may be
      negative if ``negative`` says so; otherwise only positive consumption is feasible.
    - ``eta = 1``: ``U = (A log2(C) + B) 2**value`` with ``A = ln 2``, ``B = -A amount``. ``B`` is computed from the
      rounded ``A``, so that the rounding error of ``A`` is multiplied by ``log2 c``, which is small, and not by
      ``log2 C``.

    Attributes
    ----------
    a
        ``a`` or ``A``: signed, 64 bits, 59 of them fraction.
    b
        ``b`` or ``B``: signed, 72 bits, 58 of them fraction.
    negative
        Whether ``eta > 1``: utilities are negative. With ``linear``: whether consumption, and so utility, may be.
    log
        Whether ``eta = 1``.
    shift
        ``58 - value``; used only for ``eta = 1``.
    linear
        Whether ``eta = 0``. The other constants but ``negative`` are then not used. Only the sweep engine with
        alternatives has linear utility.
    """

    a: int
    b: int
    negative: bool
    log: bool
    shift: int
    linear: bool = False

    @classmethod
    def of(cls, eta: float, amount: int, value: int, negative: bool = False) -> UtilityConstants:
        """Return the constants for a risk aversion and two number formats.

        Parameters
        ----------
        eta
            Relative risk aversion, in [0, 16]. ``a`` is exact where it is at least 2**-6; ``b`` is rounded to nearest.
        amount
            Fraction bits of amounts, 0 to 90.
        value
            Fraction bits of values, 0 to 52; with ``eta = 0`` equal to ``amount``.
        negative
            Whether consumption may be negative, which needs ``eta = 0``.

        Raises
        ------
        ValueError
            An argument is out of range.
        """
        if not 0.0 <= eta <= ETA_LIMIT:
            raise ValueError(f"eta must lie in [0, {ETA_LIMIT:g}], not {eta!r}")
        if negative and eta != 0.0:
            raise ValueError(f"eta must be 0 where consumption may be negative, not {eta!r}")
        for name, bits, most in (("amount", amount, AMOUNT_BITS_LIMIT), ("value", value, VALUE_BITS_LIMIT)):
            if not 0 <= bits <= most:
                raise ValueError(f"fraction bits of {name} must be from 0 to {most}, not {bits}")
        if eta == 0.0:
            if amount != value:
                raise ValueError(
                    f"fraction bits of amount and value must be equal with eta = 0, not {amount} and {value}"
                )
            return cls(0, 0, negative=negative, log=False, shift=B_FRACTION - value, linear=True)
        # Imported here because it takes a tenth of a second and a solve in double precision does not need it.
        import mpmath

        with mpmath.workdps(60):
            if eta == 1.0:
                a = int(mpmath.nint(mpmath.ldexp(mpmath.log(2), A_FRACTION)))
                b = int(mpmath.nint(mpmath.ldexp(-mpmath.mpf(a) * amount, B_FRACTION - A_FRACTION)))
                return cls(a, b, negative=False, log=True, shift=B_FRACTION - value)
            exact = 1 - Fraction(eta)
            power = mpmath.mpf(exact.numerator) / exact.denominator
            a = round(exact * 2**A_FRACTION)
            b = int(mpmath.nint(mpmath.ldexp(value - power * amount - mpmath.log(abs(power), b=2), B_FRACTION)))
        return cls(a, b, negative=eta > 1.0, log=False, shift=B_FRACTION - value)

    @classmethod
    def from_registers(cls, settings: Mapping[str, int], linear: bool) -> UtilityConstants:
        """Return the constants, given the contents of registers ``UTILITY_A``, ``UTILITY_B`` and ``UTILITY_FORM``.

        ``linear`` says whether the build takes linear utility; otherwise it ignores the bit that asks for it.
        """
        form = UtilityForm.of(settings["UTILITY_FORM"])
        return cls(
            settings["UTILITY_A"], settings["UTILITY_B"], form.negative, form.log, form.shift, form.linear and linear
        )

    @property
    def registers(self) -> dict[str, int]:
        """Contents of the registers, by name, as :meth:`from_registers` takes them."""
        form = UtilityForm(self.negative, self.log, self.shift, self.linear)
        return {"UTILITY_A": self.a, "UTILITY_B": self.b, "UTILITY_FORM": form.word}

    @property
    def words(self) -> tuple[np.int64, np.uint64, np.uint64, bool, bool, np.uint64, bool]:
        """The constants as the compiled model takes them, ``a``, high and low 64 bits of ``b``, ``negative``, ``log``,
        ``shift``, ``linear``.
        """
        b = self.b % 2**128
        return (
            np.int64(self.a),
            np.uint64(b >> 64),
            np.uint64(b % 2**64),
            self.negative,
            self.log,
            np.uint64(self.shift),
            self.linear,
        )
