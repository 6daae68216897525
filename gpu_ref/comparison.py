"""What the confirmation of a value and its policy returns, on a processor or a GPU."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

TIMES = 4.0
"""Number of sweeps whose rounding errors are allowed for."""


class Confirmed(NamedTuple):
    """Residual and rounding error of a value and a policy that were confirmed.

    Attributes
    ----------
    residual
        Largest distance of the value from the exact sweep, units of utility.
    rounding
        Bound on the distance of the sweep here from the one in exact arithmetic, units of utility.
    policy
        The best choices, ``(N_k, N_z)``, ``int32``; ``None`` if they are those of the result.
    """

    residual: float
    rounding: float
    policy: NDArray[np.int32] | None = None
