"""The utility unit against a correctly rounded oracle (MPFR), and its gateware against its model."""

from __future__ import annotations

import gmpy2
import numpy as np
import pytest
from numpy.typing import NDArray

from hw.numbers import MAXIMUM
from hw.utility import CONSTANTS, Utility, UtilityConstants, UtilityParameters

ETAS = (0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
FORMATS = ((52, 48), (52, 52), (40, 52), (30, 20))
EXTREMES = [-(2**63), -(2**62), -1, 0, 1, 2, 3, 2**31, 2**32 - 1, 2**32, 2**61 - 1, 2**61, 2**62 - 1, 2**62, 2**63 - 1]


def operands(rng: np.random.Generator, count: int, money: int) -> NDArray[np.int64]:
    """Consumptions over the whole range and around 1, the neighbours of powers of two, and extremes."""
    wide = np.exp2(rng.uniform(0, 63, count // 2)).astype(np.int64)
    usual = (np.exp(rng.normal(0, 2, count - count // 2)) * 2.0**money).astype(np.int64)
    powers = np.array([2**k + d for k in range(2, 63) for d in (-1, 0, 1)], dtype=np.int64)
    return np.concatenate([wide, usual, powers, np.array(EXTREMES, dtype=np.int64)])


def worst_error(c: NDArray[np.int64], eta: float, money: int, value: int) -> tuple[float, float]:
    """Largest error of the model, in units of the allowed one (a unit of value, or ``2**-50`` relative), and in units."""
    constants = UtilityConstants.of(eta, money, value)
    u, feasible, over = UtilityParameters().model(c, constants)
    worst, worst_units = 0.0, 0.0
    with gmpy2.context(gmpy2.get_context(), precision=160):
        power = 1 - gmpy2.mpfr(eta)
        for ci, ui, good, high in zip(c.tolist(), u.tolist(), feasible.tolist(), over.tolist(), strict=True):
            if ci <= 0:
                assert not good
                continue
            consumption = gmpy2.mul_2exp(gmpy2.mpfr(ci), 0) / gmpy2.mpfr(2) ** money
            exact = gmpy2.log(consumption) if eta == 1 else consumption**power / power
            exact *= gmpy2.mpfr(2) ** value
            if not good or high:
                limit = 2**63 * (1 - 2.0**-50)
                assert exact <= -limit if not good else (exact >= limit and ui == MAXIMUM)
                continue
            error = abs(float(ui - exact))
            worst = max(worst, error / max(1.0, abs(float(exact)) * 2.0**-50))
            if abs(exact) < 2**50:
                worst_units = max(worst_units, error)
    return worst, worst_units


@pytest.mark.parametrize("eta", ETAS)
def test_error_against_oracle(eta: float, record_property: pytest.FixtureRequest) -> None:
    rng = np.random.default_rng(int(eta * 10))
    worst, units = 0.0, 0.0
    for money, value in FORMATS:
        c = operands(rng, 31_250, money)
        found = worst_error(c, eta, money, value)
        worst, units = max(worst, found[0]), max(units, found[1])
    print(f"eta {eta}: worst error {worst:.4f} of the allowed one, {units:.4f} units of value below 2^50")
    assert worst <= 0.52
