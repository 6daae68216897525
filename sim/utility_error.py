"""Errors of the utility unit against a correctly rounded oracle.

``python -m beltline.sim.utility_error`` prints the worst ones for every ``eta``. The oracle is MPFR (gmpy2, a
dependency of development) with 128 bits, and knows nothing of the unit but its specification.
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
"""Fraction bits of money and of value."""

OPERANDS = 32_768
"""Operands for every ``eta`` and format: more than a million in all."""

PRECISION = 128
TOP = 2.0**63
BORDER = 2.0**-53
"""Within this, relative, of the end of the range either flag may be up."""

EXTREMES = (-(2**63), -(2**62), -1, 0, 1, 2, 3, 2**31, 2**32 - 1, 2**32, 2**61 - 1, 2**61, 2**62, 2**63 - 1)


@dataclass(frozen=True)
class Worst:
    """The worst of many operands.

    ``allowed``: error over the specified one, which is a unit of value, or ``2**-50`` of the exact utility where that
    is more; ``units``: error in units of value, of utilities below ``2**48`` units; ``excess``: what goes beyond the
    half unit of the rounding, over the exact utility, of utilities from ``2**56`` units; ``proven``: the same over what
    :func:`excess_bound` grants, of all; ``wrong_flags``: operands whose flags are wrong.
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
    """What :class:`beltline.hw.arithmetic.utility.UtilityParameters` grants beyond half a unit to utilities of ``size``
    units.
    """
    relative = np.log(2) * (abs(1 - eta) * 2**-57.7 + 2**-57.4) + 2**-60.5
    return size * relative + (2.0 ** (value - 57) if eta == 1 else 0.0)


def operands(rng: np.random.Generator, count: int, eta: float, money: int, value: int) -> NDArray[np.int64]:
    """Some ``count`` consumptions: over the whole range, around 1, with utilities over the whole range; and at the
    edges of the logarithm's table, at powers of two, at the extremes.
    """
    constants = UtilityConstants.of(eta, money, value)
    a, b = constants.a / 2**A_FRACTION, constants.b / 2**B_FRACTION
    share = count // 4
    wide = rng.uniform(0, 63, share)
    usual = money + rng.normal(0, 2, share)
    reached = usual if constants.log else (rng.uniform(-2, 63, share) - b) / a
    logarithms = np.clip(np.concatenate([wide, usual, reached]), 0, 62.99)
    drawn = np.exp2(logarithms).astype(np.int64)
    cells = rng.integers(1 << 10, 1 << 11, count - 3 * share) << rng.integers(0, 52, count - 3 * share)
    edges = cells + rng.integers(-1, 2, cells.size)
    powers = [2**k + d for k in range(2, 63) for d in (-1, 0, 1)]
    return np.concatenate([drawn, edges, np.array([*powers, *EXTREMES], dtype=np.int64)])


def exact_utility(c: int, eta: float, money: int, value: int) -> gmpy2.mpfr:
    """The utility of ``c > 0`` in units of value, to the precision of gmpy2's context."""
    consumption = gmpy2.mul_2exp(gmpy2.mpfr(c), 64) / gmpy2.mpfr(2) ** (64 + money)
    power = 1 - gmpy2.mpfr(eta)
    exact = gmpy2.log(consumption) if eta == 1 else consumption**power / power
    return gmpy2.mul_2exp(exact, value)


def worst_error(c: NDArray[np.int64], eta: float, money: int, value: int) -> Worst:
    """What the model makes of the consumptions ``c``, by the oracle's measure."""
    u, feasible, over = UtilityParameters().model(c, UtilityConstants.of(eta, money, value))
    wrong = int((feasible & (c <= 0)).sum() + (over & ~feasible).sum() + (over & (u != 2**63 - 1)).sum())
    positive = c > 0
    u, feasible, over = u[positive], feasible[positive], over[positive]
    excess = np.empty(u.size)
    exact = np.empty(u.size)
    with gmpy2.context(gmpy2.get_context(), precision=PRECISION):
        for k, (consumption, found) in enumerate(zip(c[positive].tolist(), u.tolist(), strict=True)):
            wanted = exact_utility(consumption, eta, money, value)
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
    """The worst of all :data:`FORMATS`, ``count`` operands of each, the same at every call."""
    rng = np.random.default_rng(int(eta * 10))
    worst = Worst(0, 0.0, 0.0, 0.0, 0.0, 0)
    for money, value in FORMATS:
        worst |= worst_error(operands(rng, count, eta, money, value), eta, money, value)
    return worst


def table(found: dict[float, Worst]) -> str:
    """``found`` as a table of Markdown."""
    lines = [
        "| eta | error / allowed | units, below 2^48 | beyond rounding, from 2^56 | beyond rounding / proven |",
        "|---|---|---|---|---|",
    ]
    for eta, worst in found.items():
        excess = f"2^{np.log2(worst.excess):.2f}" if worst.excess > 0 else "none"
        lines.append(f"| {eta:g} | {worst.allowed:.4f} | {worst.units:.4f} | {excess} | {worst.proven:.3f} |")
    return "\n".join(lines)


def main() -> int:
    """Print the table; 1 where a flag is wrong or an error above what is allowed."""
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
