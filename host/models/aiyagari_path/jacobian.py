"""Derivatives of the supply of capital at every date with respect to capital, and so prices, at every other date.

In a steady state the response of choices to a price ``u`` dates ahead does not depend on the date, so one backward pass
gives all responses of choices. Their effect on the distribution is then propagated with the policy of the steady state,
by iterating backwards on what a household is expected to save (the fake-news algorithm of Auclert, Bardoczy, Rognlie
and Straub 2021).
"""

from __future__ import annotations

import numpy as np

from beltline.host.models.aiyagari_path.calibration import Calibration
from beltline.host.models.aiyagari_path.period import Household
from beltline.host.models.aiyagari_path.steady_state import SteadyState
from beltline.host.problem.arrays import Array

STEP = 1e-4
"""Relative change of capital for the finite differences."""


def jacobian(model: Calibration, household: Household, steady: SteadyState) -> Array:
    """Return ``d A_t / d K_s``, ``(T, T)``, around a steady state.

    ``A_t`` is what households save at date ``t``, and ``K_s`` the capital that firms use at date ``s``, from which both
    prices follow.

    Parameters
    ----------
    model
        Calibration of the path, which gives the number of dates ``T``.
    household
        The household.
    steady
        The steady state of the productivity after the last date.

    Sources
    -------
    Auclert, Bardoczy, Rognlie and Straub (2021), "Using the sequence-space Jacobian to solve and estimate
    heterogeneous-agent models", Econometrica 89(5), 2375-2408.
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
