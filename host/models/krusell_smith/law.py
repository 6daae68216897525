"""The law of motion ``ln K' = b0(a) + b1(a) ln K``: estimation from a panel, and forecasts."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from beltline.host.models.krusell_smith.calibration import AGGREGATES
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError


class ConstantCapital(ProblemError):
    """Aggregate capital does not vary in a state, so that its law of motion cannot be estimated."""


def regressed(aggregate: NDArray[np.int8], a: int) -> NDArray[np.bool_]:
    """Return which periods are in aggregate state ``a``; refuse fewer than three, too few to estimate a law."""
    here: NDArray[np.bool_] = aggregate == a
    if here.sum() < 3:
        raise ProblemError(
            f"{aggregate.size:,} periods are too few: {here.sum()} of them are in the {AGGREGATES[a]} state, whose law "
            f"needs 3"
        )
    return here


def regression(capital: Array, aggregate: NDArray[np.int8]) -> tuple[Array, Array]:
    """Estimate ``ln K' = b0 + b1 ln K`` for each aggregate state by least squares; return the coefficients, ``(2, 2)``,
    and the two R squared. ``capital`` has one period more than ``aggregate``.
    """
    log = np.log(capital)
    law, r2 = np.empty((2, 2)), np.empty(2)
    for a in range(2):
        here = regressed(aggregate, a)
        x, y = log[:-1][here], log[1:][here]
        if np.ptp(x) == 0:
            raise ConstantCapital(f"K is constant in the {AGGREGATES[a]} state, so that its law cannot be estimated")
        dx, dy = x - x.mean(), y - y.mean()
        slope = float(dx @ dy / (dx @ dx))
        law[a] = y.mean() - slope * x.mean(), slope
        spread = float(dy @ dy)
        r2[a] = 1 - float(((dy - slope * dx) ** 2).sum()) / spread if spread > 0 else 1.0
    return law, r2


def forecast(law: Array, start: float, aggregate: NDArray[np.int8]) -> Array:
    """Return ``K`` predicted by the law alone, from ``start`` on: one period more than ``aggregate``."""
    path = np.empty(aggregate.size + 1)
    path[0] = math.log(start)
    for t, a in enumerate(aggregate):
        path[t + 1] = law[a, 0] + law[a, 1] * path[t]
    return np.exp(path)
