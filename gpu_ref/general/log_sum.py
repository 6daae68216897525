"""Error bounds of a log-sum when values are known up to an error.

``S = sigma log sum_d exp(v_d / sigma)`` rises in every ``v_d``. So if each ``v_d`` may be off by ``e_d``, ``S`` lies
between its values at ``v - e`` and at ``v + e``. By Jensen's inequality the upper one is farther away::

    S(v + e) - S(v) = sigma log(1 + sum_d p_d (exp(e_d / sigma) - 1)),    p_d = exp((v_d - S) / sigma)

So an alternative with negligible probability adds nothing, however uncertain its value, as long as the probability
stays negligible at ``v_d + e_d``.

Values are passed relative to the largest of them. These differences are exact up to one unit in the last place, even if
``sigma`` is tiny compared with the values.
"""

from __future__ import annotations

import math

import numpy as np

from beltline.compiled import njit

_ROUND_UP = 1.001
"""Factor that covers the rounding of the exponentials and logarithms here."""

_ROUND_UP_GAP = 1.0 + 1e-9
"""Factor on an error that covers the rounding of a value plus that error. If it does not, the value is far below the
largest one, and has no effect.
"""

_OVERFLOW = 700.0
"""Exponentials of this and more count as infinite."""


@njit(cache=True)
def _exp(exponent: float) -> float:
    """Return ``exp(exponent)``, infinite from :data:`_OVERFLOW` on."""
    return math.exp(exponent) if exponent < _OVERFLOW else np.inf


@njit(cache=True)
def growth(below: float, error: float, sigma: float) -> float:
    """Return by how much ``exp(below / sigma)`` grows if ``below``, at most 0, is larger by ``error``."""
    if below == -np.inf:
        return 0.0
    if error <= sigma:
        return math.exp(below / sigma) * math.expm1(error / sigma)
    return _exp((below + _ROUND_UP_GAP * error) / sigma) - math.exp(below / sigma)


@njit(cache=True)
def log_sum_error(total_growth: float, total: float, highest: float, count: int, sigma: float) -> float:
    """Bound the error of a log-sum.

    Parameters
    ----------
    total_growth, total
        Sums over alternatives of :func:`growth` and of ``exp(below / sigma)``.
    highest
        The largest ``below + error``.
    count
        Number of alternatives.
    sigma
        Scale of the taste shocks, units of utility, above 0.

    Example
    -------
    >>> log_sum_error(growth(0.0, 0.5, 1.0), 1.0, 0.5, 1, 1.0)
    0.5005
    """
    if total_growth < np.inf:
        return _ROUND_UP * sigma * math.log1p(total_growth / total)
    return _ROUND_UP * (highest + sigma * math.log(count))
