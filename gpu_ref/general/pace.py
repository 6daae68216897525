"""How fast an iteration converges: whether it is slow, ends in rounding errors, and how many sweeps it still needs."""

from __future__ import annotations

import math

import numpy as np

from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.utility import DOUBLE

SLOW, SLOW_SWEEPS = 0.9, 3
"""An iteration is slow if each of this number of sweeps in a row has left more than this share of the change before."""

PATIENCE = 50
"""After this number of such sweeps it may be rounding of the largest values that keeps the change from falling."""

RECENT = 10
"""Number of sweeps whose changes an estimate uses."""

ROUNDINGS = 4.0
"""A change of up to this many times the rounding of an expectation may be rounding alone."""


class Pace:
    """Records the change of each sweep."""

    def __init__(self) -> None:
        self._changes: list[float] = []
        self._slow = 0

    def add(self, change: float) -> None:
        """Record the change of a sweep, units of utility."""
        self._slow = self._slow + 1 if self._changes and change > SLOW * self._changes[-1] else 0
        self._changes = [*self._changes[-RECENT:], change]

    @property
    def slow(self) -> bool:
        """Whether the last sweeps have hardly lowered the change."""
        return self._slow >= SLOW_SWEEPS

    @property
    def stalled(self) -> bool:
        """Whether the last sweep has hardly lowered the change."""
        return self._slow > 0

    def rounded(self, value: Array, before: Array) -> bool:
        """Return whether more sweeps do not lower the change from ``before``, which may be rounding errors.

        Both are ``(N_r, N_z, N_k)``. Each state's change is compared with the rounding of its own value, or of one of
        typical size, so that a few large values do not hide what is left in others. After :data:`PATIENCE` sweeps that
        hardly lower the change it may be rounding of the largest.
        """
        if not self.slow or not self._changes[-1] <= ROUNDINGS * rounding(value):
            return False
        if self._slow >= PATIENCE:
            return True
        size = np.abs(value)
        typical = float(np.quantile(size, 0.25, method="lower"))
        own = ROUNDINGS * rounding(np.ones((*value.shape[:2], 1))) * np.maximum(size, typical)
        return bool((np.abs(value - before) <= own).all())

    def more(self, tol: float) -> int | None:
        """Estimate how many more sweeps lower the change below ``tol``; ``None`` if it does not fall."""
        if not self._changes or not 0.0 < self._changes[-1] < self._changes[0]:
            return None
        first, last, count = self._changes[0], self._changes[-1], len(self._changes) - 1
        return max(1, math.ceil(math.log(last / tol) / math.log(first / last) * count))


def rounding(value: Array) -> float:
    """Return about the rounding error of an expectation of values of this size, ``(N_r, N_z, N_k)``."""
    regimes, states, _ = value.shape
    return (states + regimes + 6) * DOUBLE * float(np.abs(value).max())
