"""Errors of the utility unit, measured against an oracle with higher precision.

``python -m beltline.sim.utility_error`` prints the largest errors for every ``eta``. The oracle is MPFR with 128 bits
(gmpy2, a development dependency). It shares no code with the unit.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import gmpy2
import numpy as np
from numpy.typing import NDArray

from beltline.hw.arithmetic.utility import UtilityParameters
from beltline.hw.arithmetic.utility_constants import A_FRACTION, B_FRACTION, UtilityConstants

ETAS = (0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
FORMATS = ((52, 48), (52, 52), (40, 52), (30, 20))
"""Pairs of fraction bits of amounts and of values."""

OPERANDS = 32_768
"""Operands for every ``eta`` and format: more than a million in total."""

PRECISION = 128
"""Bits of the oracle."""

TOP = 2.0**63
"""End of the range of utilities, in units of value."""

BORDER = 2.0**-53
"""Relative distance from the end of the range within which both values of a flag are accepted."""

EXTREMES = (-(2**63), -(2**62), -1, 0, 1, 2, 3, 2**31, 2**32 - 1, 2**32, 2**61 - 1, 2**61, 2**62, 2**63 - 1)


@dataclass(frozen=True)
class Worst:
    """Largest errors of a set of operands.

    Attributes
    ----------
    operands
        Number of operands.
    allowed
        Error divided by the specified one: a unit of value, or ``2**-50`` of the exact utility if that is larger.
    units
        Error in units of value, over utilities below ``2**48`` units.
    excess
        Error beyond half a unit, divided by the exact utility, over utilities of ``2**56`` units and more.
    proven
        Error beyond half a unit, divided by :func:`excess_bound`, over all utilities.
    wrong_flags
        Number of operands with a wrong flag.
    """

    operands: int
    allowed: float
    units: float
    excess: float
    proven: float
    wrong_flags: int

    def __or__(self, other: Worst) -> Worst:
        return Worst(
            self.operands + other.operands,
            max(self.allowed, other.allowed),
            max(self.units, other.units),
            max(self.excess, other.excess),
            max(self.proven, other.proven),
            self.wrong_flags + other.wrong_flags,
        )


def excess_bound(eta: float, value: int, size: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the proven bound on the error beyond half a unit; see
    :class:`beltline.hw.arithmetic.utility.UtilityParameters`.

    Parameters
    ----------
    eta
        Risk aversion.
    value
        Fraction bits of values.
    size
        Absolute exact utilities, in units of value; any shape.

    Returns
    -------
    ndarray
        The bounds, in units of value, of the shape of ``size``.
    """
    relative = np.log(2) * (abs(1 - eta) * 2**-57.7 + 2**-57.4) + 2**-60.5
    return size * relative + (2.0 ** (value - 57) if eta == 1 else 0.0)


def operands(rng: np.random.Generator, count: int, eta: float, amount: int, value: int) -> NDArray[np.int64]:
    """Draw consumptions for a test, in units of amount.

    A quarter each is: spread over the whole range; around 1; such that utilities are spread over the whole range; at
    edges of the logarithm's table. Numbers next to powers of two and at the ends of the range are added.

    Parameters
    ----------
    rng
        Random generator.
    count
        Number of operands that are drawn.
    eta
        Risk aversion.
    amount, value
        Fraction bits of amounts and of values.
    """
    constants = UtilityConstants.of(eta, amount, value)
    a, b = constants.a / 2**A_FRACTION, constants.b / 2**B_FRACTION
    share = count // 4
    wide = rng.uniform(0, 63, share)
    usual = amount + rng.normal(0, 2, share)
    reached = usual if constants.log else (rng.uniform(-2, 63, share) - b) / a
    logarithms = np.clip(np.concatenate([wide, usual, reached]), 0, 62.99)
    drawn = np.exp2(logarithms).astype(np.int64)
    cells = rng.integers(1 << 10, 1 << 11, count - 3 * share) << rng.integers(0, 52, count - 3 * share)
    edges = cells + rng.integers(-1, 2, cells.size)
    powers = [2**k + d for k in range(2, 63) for d in (-1, 0, 1)]
    return np.concatenate([drawn, edges, np.array([*powers, *EXTREMES], dtype=np.int64)])


def exact_utility(c: int, eta: float, amount: int, value: int) -> gmpy2.mpfr:
    """Return the utility of ``c > 0``, in units of value, with the precision of gmpy2's context."""
    consumption = gmpy2.mul_2exp(gmpy2.mpfr(c), 64) / gmpy2.mpfr(2) ** (64 + amount)
    power = 1 - gmpy2.mpfr(eta)
    exact = gmpy2.log(consumption) if eta == 1 else consumption**power / power
    return gmpy2.mul_2exp(exact, value)


def worst_error(c: NDArray[np.int64], eta: float, amount: int, value: int) -> Worst:
    """Return the largest errors of the unit's model for the consumptions ``c``, int64 ``(n,)``, in units of amount."""
    u, feasible, over = UtilityParameters().model(c, UtilityConstants.of(eta, amount, value))
    wrong = int((feasible & (c <= 0)).sum() + (over & ~feasible).sum() + (over & (u != 2**63 - 1)).sum())
    positive = c > 0
    u, feasible, over = u[positive], feasible[positive], over[positive]
    excess = np.empty(u.size)
    exact = np.empty(u.size)
    with gmpy2.context(gmpy2.get_context(), precision=PRECISION):
        for k, (consumption, found) in enumerate(zip(c[positive].tolist(), u.tolist(), strict=True)):
            wanted = exact_utility(consumption, eta, amount, value)
            excess[k] = abs(found - wanted) - 0.5
            exact[k] = wanted
    wrong += int((~feasible & (exact > -TOP * (1 - BORDER))).sum() + (over & (exact < TOP * (1 - BORDER))).sum())
    inside = feasible & ~over
    wrong += int((inside & (np.abs(exact) > TOP * (1 + BORDER))).sum())
    excess, size = excess[inside], np.abs(exact[inside])
    small, large = size < 2.0**48, size >= 2.0**56
    return Worst(
        operands=c.size,
        allowed=float(((excess + 0.5) / np.maximum(1.0, size * 2.0**-50)).max(initial=0)),
        units=float((excess[small] + 0.5).max(initial=0)),
        excess=float((excess[large] / size[large]).max(initial=0)),
        proven=float((excess / excess_bound(eta, value, size)).max(initial=0)),
        wrong_flags=wrong,
    )


def worst_of(eta: float, count: int = OPERANDS) -> Worst:
    """Return the largest errors over all :data:`FORMATS`, with ``count`` operands each, the same in every call."""
    rng = np.random.default_rng(int(eta * 10))
    worst = Worst(0, 0.0, 0.0, 0.0, 0.0, 0)
    for amount, value in FORMATS:
        worst |= worst_error(operands(rng, count, eta, amount, value), eta, amount, value)
    return worst


def table(found: dict[float, Worst]) -> str:
    """Return the Markdown table of the largest errors by ``eta``."""
    lines = [
        "| eta | error / allowed | units, below 2^48 | beyond rounding, from 2^56 | beyond rounding / proven |",
        "|---|---|---|---|---|",
    ]
    for eta, worst in found.items():
        excess = f"2^{np.log2(worst.excess):.2f}" if worst.excess > 0 else "none"
        lines.append(f"| {eta:g} | {worst.allowed:.4f} | {worst.units:.4f} | {excess} | {worst.proven:.3f} |")
    return "\n".join(lines)


def main() -> int:
    """Print the table; returns exit code 1 if a flag is wrong or an error is larger than specified or proven, else
    0.
    """
    found = {}
    for eta in ETAS:
        if sys.stderr.isatty():
            print(f"eta {eta:g} ...", end="\r", file=sys.stderr, flush=True)
        found[eta] = worst_of(eta)
    print(table(found))
    print(f"{sum(worst.operands for worst in found.values())} operands")
    return int(any(worst.wrong_flags or worst.allowed > 1 or worst.proven > 1 for worst in found.values()))


if __name__ == "__main__":
    raise SystemExit(main())
