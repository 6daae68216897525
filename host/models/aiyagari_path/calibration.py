"""Parameters and prices of the Aiyagari economy after an unexpected change of productivity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from beltline.host.models.aiyagari.calibration import Calibration as Stationary
from beltline.host.problem.arrays import Array


@dataclass(frozen=True)
class Calibration:
    """Parameters of the transition path, which :func:`beltline.aiyagari_path` explains, and the prices that follow.

    Parameters
    ----------
    economy : Stationary
        The Aiyagari economy, whose productivity was 1 and was expected to remain 1.
    productivity : tuple of float
        Productivity at each date.
    after : float
        Productivity after the last of these dates, for ever.
    """

    economy: Stationary
    productivity: tuple[float, ...]
    after: float

    @property
    def periods(self) -> int:
        """Number of dates, ``T``."""
        return len(self.productivity)

    def output(self, capital: Array) -> Array:
        """Return output per head at each date, ``(T,)``, given capital per head at each date."""
        found: Array = np.array(self.productivity) * capital**self.economy.alpha
        return found

    def prices(self, capital: Array) -> tuple[Array, Array]:
        """Return the interest rate and the wage at each date, ``(T,)`` each, given capital per head at each date."""
        output = self.output(capital)
        alpha = self.economy.alpha
        return alpha * output / capital - self.economy.delta, (1.0 - alpha) * output
