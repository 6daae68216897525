"""Aiyagari's economy after an unexpected change of productivity: its parameters and its prices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from beltline.host.models.aiyagari.calibration import Calibration as Stationary
from beltline.host.problem.arrays import Array


@dataclass(frozen=True)
class Calibration:
    """Parameters of the path, whose meaning :func:`beltline.aiyagari_path` says, and what follows from them.

    Parameters
    ----------
    economy : Stationary
        Aiyagari's economy, whose productivity was 1 and was expected to remain so.
    productivity : tuple of float
        At each date.
    after : float
        After the last of them, for good.
    """

    economy: Stationary
    productivity: tuple[float, ...]
    after: float

    @property
    def periods(self) -> int:
        """Number of dates, ``T``."""
        return len(self.productivity)

    def output(self, capital: Array) -> Array:
        """Output a head at each date, ``(T,)``, with capital a head of each date."""
        found: Array = np.array(self.productivity) * capital**self.economy.alpha
        return found

    def prices(self, capital: Array) -> tuple[Array, Array]:
        """The interest rate and the wage at each date, ``(T,)`` each, with capital a head of each date."""
        output = self.output(capital)
        alpha = self.economy.alpha
        return alpha * output / capital - self.economy.delta, (1.0 - alpha) * output
