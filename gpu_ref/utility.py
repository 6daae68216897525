"""CRRA utility in double precision."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beltline.compiled import njit, njit_inlined, vectorize

DOUBLE = 2.0**-53
"""Largest relative error of one rounding in double precision."""

LOGARITHM = 750.0
"""Bound on ``|ln c|`` of a number in double precision, and 2 more for the division by ``1 - eta``."""


@njit(cache=True)
def power_error(eta: float, roundings: float = 4.0) -> float:
    """Bound the relative error of a utility.

    Consumption is rounded once, and the power magnifies this error by up to ``|1 - eta|``; ``roundings`` follow. Where
    ``1 - eta`` is not a number in double precision, as for most ``eta`` below 0.5, its error in the exponent makes an
    error of up to ``|ln c|`` times as much.
    """
    exponent = abs((1.0 - (1.0 - eta)) - eta)
    return DOUBLE * (abs(1.0 - eta) + roundings) + LOGARITHM * exponent


@njit_inlined
def crra(c: float, eta: float) -> float:
    """Return the utility of a positive consumption; for use in compiled loops.

    ``eta = 2`` is a division, which is correctly rounded; the C library's ``pow`` may differ from it by one unit in the
    last place. ``eta = 0`` is ``c`` itself. All solvers of this package use this function, so that they compare the
    same numbers.
    """
    if eta == 2.0:
        return -1.0 / c
    if eta == 1.0:
        return math.log(c)
    if eta == 0.0:
        return c
    return math.pow(c, 1.0 - eta) / (1.0 - eta)


@functools.cache
def _compiled() -> Any:
    """Return the function of arrays of consumption and ``eta``, compiled on first use: most solves do without it."""

    def utility(c: float, eta: float) -> float:
        return crra(c, eta) if c > 0.0 else -np.inf

    return vectorize(["float64(float64, float64)"], cache=True)(utility)


def crra_utility(consumption: ArrayLike, eta: float) -> NDArray[np.float64]:
    """Return CRRA utility, ``c^(1 - eta) / (1 - eta)``, or ``ln c`` if ``eta = 1``.

    Parameters
    ----------
    consumption
        Any shape, units of consumption. Entries that are not positive are infeasible.
    eta
        Curvature, positive.

    Returns
    -------
    numpy.ndarray
        ``float64`` in the shape of ``consumption``; ``-inf`` where infeasible. The error is that of the C library's
        ``pow`` or ``log`` (below one unit in the last place) and of one division.

    Raises
    ------
    ValueError
        ``eta`` is not positive and finite.
    """
    if not 0.0 < eta < math.inf:
        raise ValueError(f"eta must be positive and finite, not {eta}")
    return np.asarray(_compiled()(np.asarray(consumption, dtype=np.float64), eta), dtype=np.float64)
