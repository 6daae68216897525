"""Parameters and prices of the Aiyagari economy after an unexpected change of productivity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from beltline.host.models.aiyagari.model import Aiyagari
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, table
from beltline.host.problem.model_parameters import POSITIVE
from beltline.host.results.fields import Declared, parameter

PERIODS_LIMIT = 10_000
"""Largest number of dates, so that a mistyped number is refused before memory is allocated."""


def levels_by_date(name: str, values: Any) -> tuple[float, ...]:
    """Return levels above 0, one for each of up to ``PERIODS_LIMIT`` dates, as a tuple."""
    given = table(name, values, 1)
    if not 1 <= given.size <= PERIODS_LIMIT:
        raise ProblemError(f"{name} must have 1 to {PERIODS_LIMIT} dates, not {given.size}")
    if not (given > 0).all():
        date = int(np.argmax(given <= 0))
        raise ProblemError(f"{name} must be above 0, but at date {date} it is {given[date]:.6g}")
    return tuple(given.tolist())


@dataclass(frozen=True)
class Calibration(Declared):
    """Parameters of the transition path, and the prices that follow."""

    economy: Aiyagari = parameter(
        ..., lambda _, economy: economy,
        "The Aiyagari economy, whose productivity was 1 and was expected to remain 1", of=Aiyagari,
    )  # fmt: skip
    productivity: tuple[float, ...] = parameter(..., levels_by_date, "Productivity at each date")
    after: float = parameter(..., POSITIVE, "Productivity after the last of these dates, for ever")

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
