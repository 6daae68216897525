"""How fast an iteration converges: whether it is slow, ends in rounding errors, and how many sweeps it still needs."""

from __future__ import annotations

import math

import numpy as np

from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.utility import DOUBLE

SLOW, SLOW_SWEEPS = 0.9, 3
"""An iteration is slow if each of this number of sweeps in a row has left more than this share of the change before."""

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

    def rounded(self, value: Array) -> bool:
        """Return whether more sweeps do not lower the change, which may be rounding errors of ``(N_r, N_z, N_k)``."""
        if not self.slow:
            return False
        return self._changes[-1] <= ROUNDINGS * rounding(value)

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
