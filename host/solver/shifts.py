"""The weights with which a sweep engine shifts values between sweeps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.checks import ProblemError


def shift_weights(transition: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return ``beta Q (I - beta Q)^-1 / 2**SCALE`` of :class:`beltline.hw.sweep.shift.ShiftParameters`, 64 fraction
    bits.

    Computed in double precision: the engine makes what a weight leaves out good in its next sweep.

    Parameters
    ----------
    transition : (N_z, N_z) uint64 array
        ``beta Q`` in units of ``2**-64``.

    Raises
    ------
    ProblemError
        A weight is none below ``2**SCALE``, because ``beta`` is too close to 1.
    """
    # Here, because it takes a while.
    from beltline.hw.sweep.shift import SCALE

    q = transition.astype(np.float64) * 2.0**-64
    largest = float(q.sum(axis=1).max())
    # The largest sum of a row of weights.
    if not largest < 1 or largest / (1 - largest) >= 2**SCALE:
        raise ProblemError(
            f"shifts need beta times the sums of transition's rows below {1 - 1 / (2**SCALE + 1):.6f}, not {largest}"
        )
    weights = np.linalg.solve(np.eye(q.shape[0]) - q, q)
    # Rounding may leave a zero below zero.
    return np.rint(np.ldexp(np.maximum(weights, 0.0), 64 - SCALE)).astype(np.uint64)
