"""The search for capital at every date, and so for prices, at which supply equals demand."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from beltline.host.models.aiyagari_path.calibration import Calibration
from beltline.host.models.aiyagari_path.jacobian import jacobian
from beltline.host.models.aiyagari_path.period import Household, Period
from beltline.host.models.aiyagari_path.steady_state import SteadyState
from beltline.host.problem.arrays import Array

SMALLEST_STEP = 1 / 64
"""Smallest fraction of a Newton step that is tried before the search is given up."""


@dataclass(frozen=True, eq=False)
class Guess:
    """Choices and distributions of households, given a guess of capital at every date.

    Parameters
    ----------
    capital : (T,) float64 array
        The guess: capital per head that firms use at each date, in units of the good; the first entry is given.
    supply : (T + 1,) float64 array
        Capital per head that households supply at the beginning of each date, and after the last date.
    periods : tuple of T Period
        Value and choices of households at each date.
    distribution : (T + 1, N_k, N_z) float64 array
        Share of households in each state at each date.
    excess : (T + 1,) float64 array
        Excess supply as a share of demand; after the last date demand is that of the final steady state.
    """

    capital: Array
    supply: Array
    periods: tuple[Period, ...]
    distribution: Array
    excess: Array

    @property
    def largest(self) -> float:
        """Largest absolute ``excess`` of the dates of the path; infinite if one is not a number."""
        found = float(np.abs(self.excess[:-1]).max())
        return found if math.isfinite(found) else math.inf


def respond(
    model: Calibration, household: Household, initial: SteadyState, final: SteadyState, capital: Array
) -> Guess:
    """Return what households choose at the prices that follow from ``capital``.

    Choices are computed backwards from the value of the ``final`` steady state, and distributions forwards from that of
    the ``initial`` one.
    """
    interest, wage = model.prices(capital)
    ahead = final.period.value
    periods: list[Period] = []
    for date in reversed(range(model.periods)):
        period = household.choose(float(interest[date]), float(wage[date]), ahead)
        periods.insert(0, period)
        ahead = period.value
    mass = np.empty((model.periods + 1, *ahead.shape))
    mass[0] = initial.distribution
    for date, period in enumerate(periods):
        mass[date + 1] = period.carry(mass[date], household.chain)
    supply: Array = mass.sum(axis=2) @ household.assets
    demand = np.append(capital, model.economy.capital(final.interest, final.productivity))
    return Guess(capital, supply, tuple(periods), mass, supply / demand - 1.0)


def clear(
    model: Calibration,
    household: Household,
    initial: SteadyState,
    final: SteadyState,
    tolerance: float,
    max_steps: int,
    report: Callable[[str], None] | None,
) -> tuple[Guess, tuple[float, ...]]:
    """Find capital at every date by Newton's method, with the Jacobian of the final steady state.

    A step that would increase the largest excess is halved. The excess of the date after the last is not part of the
    equations: only a longer path can reduce it.

    Returns
    -------
    guess : Guess
        The best guess.
    steps : tuple of float
        Largest absolute excess after each evaluation, that of the first guess included.
    """
    slopes = jacobian(model, household, final)[:-1, 1:] - np.eye(model.periods - 1)
    begin = initial.capital
    # The first guess covers half of the distance to the new steady state in about ten dates.
    fade: Array = 0.93 ** np.arange(model.periods, dtype=np.float64)
    best = respond(model, household, initial, final, final.capital + (begin - final.capital) * fade)
    steps = [best.largest]

    share = 1.0
    while best.largest > tolerance and len(steps) <= max_steps and share >= SMALLEST_STEP:
        if report is not None:
            report(f"path, step {len(steps)}: largest excess supply {best.largest:.2e} of demand")
        missing = best.supply[1:-1] - best.capital[1:]
        capital = best.capital.copy()
        capital[1:] -= share * np.linalg.solve(slopes, missing)
        if (capital <= 0).any():
            share /= 2
            continue
        found = respond(model, household, initial, final, capital)
        steps.append(found.largest)
        if found.largest < best.largest:
            best, share = found, 1.0
        else:
            share /= 2
    return best, tuple(steps)
