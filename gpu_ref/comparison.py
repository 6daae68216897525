"""What a comparison of a result with an exact sweep takes and returns (:mod:`beltline.gpu_ref.compare`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Allowed(NamedTuple):
    """Tolerances: how far a result may be from the exact sweep.

    Attributes
    ----------
    change
        For reasons other than rounding, units of utility. A policy may lose twice that.
    value, share
        Rounding of the result itself: an absolute part, units of utility, and a part relative to ``|U|``.
    c_rounding
        Rounding of consumption, units of consumption.
    times
        Number of sweeps whose rounding is allowed for.
    """

    change: float
    value: float = 0.0
    share: float = 0.0
    c_rounding: float = 0.0
    times: float = 4.0


class Compared(NamedTuple):
    """Outcome of a comparison.

    Attributes
    ----------
    residual
        Largest ``|TV - value|``, units of utility.
    rounding
        Bound on the distance of the sweep here from the one in exact arithmetic, units of utility.
    missed
        Number of states whose error exceeds the tolerance.
    state
        The first of them, ``x N_z + s``; -1 if no state is wrong.
    amount
        Its error, units of utility.
    policy
        Choices of the exact sweep, ``(N_k, N_z)``, ``int32``; ``None`` if they are those of the result.
    """

    residual: float
    rounding: float
    missed: int
    state: int
    amount: float
    policy: NDArray[np.int32] | None = None
