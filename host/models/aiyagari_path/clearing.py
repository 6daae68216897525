"""The search for capital at every date, and so for prices, at which supply equals demand, and its derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from beltline.host.models.aiyagari_path.result import Calibration
from beltline.host.models.aiyagari_path.steady_state import Household, Period, SteadyState
from beltline.host.problem.arrays import Array

STEP = 1e-4
"""Relative change of capital for the finite differences."""


def jacobian(model: Calibration, household: Household, steady: SteadyState) -> Array:
    """Return ``d A_t / d K_s``, ``(T, T)``, around the steady state of the productivity after the last date, where
    ``A_t`` is what households save at date ``t`` and ``K_s`` the capital of firms at date ``s``, from which both prices
    follow.

    In a steady state the response of choices to a price ``u`` dates ahead does not depend on the date, so one backward
    pass gives all of them. Their effect on the distribution follows by iterating backwards on what a household is
    expected to save: the fake-news algorithm of Auclert, Bardoczy, Rognlie and Straub (2021), "Using the sequence-space
    Jacobian to solve and estimate heterogeneous-agent models", Econometrica 89(5), 2375-2408.
    """
    dates, steps = model.periods, np.diff(household.assets)
    mass, chain, rest = steady.distribution, household.chain, steady.period
    higher = steady.capital * (1.0 + STEP)
    alpha, output = model.economy.alpha, steady.productivity * higher**model.economy.alpha
    prices = alpha * output / higher - model.economy.delta, (1.0 - alpha) * output
    # Response of choices u dates before a change of capital: the difference from the choices of the steady state.
    saved, moved = np.empty(dates), np.empty((dates, *mass.shape))
    ahead = household.choose(*prices, rest.value)
    for u in range(dates):
        change = (ahead.choice - rest.choice) / (steady.capital * STEP)
        saved[u] = float((mass * change).sum())
        # Mass that moves from the lower end of a cell to its upper end.
        flow = mass * change / steps[rest.below]
        shifted = np.zeros_like(mass)
        np.add.at(shifted, (rest.below, np.arange(chain.shape[0])), -flow)
        np.add.at(shifted, (rest.below + 1, np.arange(chain.shape[0])), flow)
        moved[u] = shifted @ chain
        ahead = household.choose(steady.interest, steady.wage, ahead.value)
    news = np.empty((dates, dates))
    news[0] = saved
    expected_saving = rest.choice
    for t in range(1, dates):
        news[t] = np.tensordot(moved, expected_saving, axes=2)
        expected = expected_saving @ chain.T
        columns = np.arange(chain.shape[0])
        below, above = expected[rest.below, columns], expected[rest.below + 1, columns]
        expected_saving = (1.0 - rest.share) * below + rest.share * above
    found = news.copy()
    for t in range(1, dates):
        found[t, 1:] += found[t - 1, :-1]
    return found


SMALLEST_STEP = 1 / 64
"""Smallest fraction of a Newton step that is tried before the search is given up."""


@dataclass(frozen=True, eq=False)
class Guess:
    """Choices and distributions of households, given a guess of ``capital`` per head at every date, ``(T,)``.

    ``supply`` and ``excess``, as a share of demand, are ``(T + 1,)``: at the beginning of each date and after the last,
    when demand is that of the final steady state. ``periods`` has the choices at each date, and ``distribution``, ``(T
    + 1, N_k, N_z)``, the share of households in each state.
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
    """Find capital at every date by Newton's method; return the best guess, and the largest excess after each
    evaluation.

    The Jacobian is that of the final steady state. A step that would increase the largest excess is halved. The excess
    of the date after the last is not part of the equations: only a longer path can reduce it.
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
