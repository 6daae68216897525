"""How far a log-sum of values that are not exactly known may be off, and the probabilities that belong to it.

``S = sigma log sum_d exp(v_d / sigma)`` rises in every ``v_d``, so where each may be off by ``e_d``, ``S`` lies between
its values at ``v - e`` and at ``v + e``. By Jensen's inequality the second is the farther one:
``S(v + e) - S(v) = sigma log(1 + sum_d p_d (exp(e_d / sigma) - 1))`` with the probabilities ``p_d = exp((v_d - S) /
sigma)``. So an alternative that nobody chooses may be as uncertain as it likes, as long as it stays one. Probability
``p_d`` is largest where ``v_d`` is largest and all others are least, and the reverse.

Values are taken relative to the largest of them, whose differences are exact but for a unit in the last place even
where ``sigma`` is tiny beside them.
"""

from __future__ import annotations

import math

import numpy as np

from beltline.compiled import njit
from beltline.gpu_ref.tables import Array

_MORE = 1.001
"""What covers the roundings of exponentials and logarithms here."""

_FARTHER = 1.0 + 1e-9
"""What covers those of sums with an error: a value so far off that it does not is far below the largest, too."""

_HUGE = 700.0
"""Exponents from which on an exponential counts as infinite."""


@njit(cache=True)
def _exp(exponent: float) -> float:
    return math.exp(exponent) if exponent < _HUGE else np.inf


@njit(cache=True)
def growth(below: float, error: float, sigma: float) -> float:
    """By how much ``exp(below / sigma)`` may grow where ``below``, which is at most 0, may be larger by ``error``."""
    if below == -np.inf:
        return 0.0
    if error <= sigma:
        return math.exp(below / sigma) * math.expm1(error / sigma)
    return _exp((below + _FARTHER * error) / sigma) - math.exp(below / sigma)


@njit(cache=True)
def reach(grown: float, total: float, highest: float, count: int, sigma: float) -> float:
    """How far a log-sum may be off.

    Parameters
    ----------
    grown, total
        Sums of :func:`growth` and of ``exp(below / sigma)``.
    highest
        The largest ``below + error``.
    count
        How many alternatives there are.
    sigma
        Scale of the taste shocks, units of utility, above 0.

    Example
    -------
    >>> reach(growth(0.0, 0.5, 1.0), 1.0, 0.5, 1, 1.0)
    0.5005
    """
    if grown < np.inf:
        return _MORE * sigma * math.log1p(grown / total)
    return _MORE * (highest + sigma * math.log(count))


@njit(cache=True)
def extremes(below: Array, errors: Array, d: int, sigma: float) -> tuple[float, float]:
    """The least and the largest probability of alternative ``d``, where values may be off by ``errors``.

    Both arrays are ``(n,)``; of ``below`` the largest is 0. Those of ``-inf`` are no choice.
    """
    if below[d] == -np.inf:
        return 0.0, 0.0
    least = most = 1.0
    for other in range(below.size):
        if other != d and below[other] > -np.inf:
            gap, error = below[other] - below[d], _FARTHER * (errors[other] + errors[d])
            least += _exp((gap + error) / sigma)
            most += _exp((gap - error) / sigma)
    return 1.0 / least, 1.0 / most
