"""The search for capital, and so prices, at every date at which households hold what firms rent."""

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
"""Share of a step of the iteration below which it is given up."""


@dataclass(frozen=True, eq=False)
class Guess:
    """What households do if capital is what is guessed.

    Parameters
    ----------
    capital : (T,) float64 array
        Guessed, a head at the beginning of each date, units of the good; the first is what they hold.
    supply : (T + 1,) float64 array
        What they hold at the beginning of each date, and after the last.
    periods : tuple of T Period
        Their choices by date.
    distribution : (T + 1, N_k, N_z) float64 array
        Share of households in each state by date.
    excess : (T + 1,) float64 array
        What they hold over what firms rent, less 1; after the last date firms rent that of the new steady state.
    """

    capital: Array
    supply: Array
    periods: tuple[Period, ...]
    distribution: Array
    excess: Array

    @property
    def largest(self) -> float:
        """The largest excess of any date of the path, in size; infinity where one is not a number."""
        found = float(np.abs(self.excess[:-1]).max())
        return found if math.isfinite(found) else math.inf


def respond(
    model: Calibration, household: Household, initial: SteadyState, final: SteadyState, capital: Array
) -> Guess:
    """Return what households do at prices of ``capital``: backwards from the value of the ``final`` steady state, then
    forwards from the distribution of the ``initial`` one.
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
    rented = np.append(capital, model.economy.capital(final.interest, final.productivity))
    return Guess(capital, supply, tuple(periods), mass, supply / rented - 1.0)


def clear(
    model: Calibration,
    household: Household,
    initial: SteadyState,
    final: SteadyState,
    tolerance: float,
    max_steps: int,
    report: Callable[[str], None] | None,
) -> tuple[Guess, tuple[float, ...]]:
    """Find capital at every date, by Newton's method with the Jacobian of the final steady state.

    A step that would raise the largest excess is halved. That of the date after the last is not for prices to mend.

    Returns
    -------
    guess : Guess
        The best.
    steps : tuple of float
        The largest excess of any date of the path after each evaluation, the first guess included.
    """
    slopes = jacobian(model, household, final)[:-1, 1:] - np.eye(model.periods - 1)
    begin = initial.capital
    # Half way to the new steady state in ten dates or so, where there is another.
    fade: Array = 0.93 ** np.arange(model.periods, dtype=np.float64)
    best = respond(model, household, initial, final, final.capital + (begin - final.capital) * fade)
    steps = [best.largest]

    share = 1.0
    while best.largest > tolerance and len(steps) <= max_steps and share >= SMALLEST_STEP:
        if report is not None:
            report(f"path, step {len(steps)}: largest excess {best.largest:.2e} of what firms rent")
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
