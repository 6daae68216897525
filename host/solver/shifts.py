"""The weights with which a sweep engine extrapolates values between sweeps (method ``"shift"``)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.checks import ProblemError


def shift_weights(transition: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the weights ``beta Q (I - beta Q)^-1 / 2**SCALE`` of a sweep engine, as fixed-point numbers.

    They are computed in double precision. This is accurate enough: sweeps that follow correct the error of a weight.
    :class:`beltline.hw.sweep.shift.ShiftParameters` describes their use.

    Parameters
    ----------
    transition : (N_z, N_z) uint64 array
        ``beta Q`` in units of ``2**-64``.

    Returns
    -------
    (N_z, N_z) uint64 array
        Weights in units of ``2**-64``.

    Raises
    ------
    ProblemError
        ``beta`` is so close to 1 that a row of weights sums to ``2**SCALE`` or more.
    """
    # Imported here because loading it takes a while.
    from beltline.hw.sweep.shift import SCALE

    q = transition.astype(np.float64) * 2.0**-64
    largest = float(q.sum(axis=1).max())
    # The largest sum of a row of weights.
    if not largest < 1 or largest / (1 - largest) >= 2**SCALE:
        raise ProblemError(
            f"method 'shift' needs beta times the largest sum of a row of transition below "
            f"{1 - 1 / (2**SCALE + 1):.6f}, not {largest}: leave method out"
        )
    weights = np.linalg.solve(np.eye(q.shape[0]) - q, q)
    # Rounding can make a weight of zero negative.
    return np.rint(np.ldexp(np.maximum(weights, 0.0), 64 - SCALE)).astype(np.uint64)
