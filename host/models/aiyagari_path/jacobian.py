"""How what households hold at every date answers to capital, and so prices, at every other: to first order.

In a steady state the answer to a price ``u`` dates ahead is the same at any date, so that one backward pass has all
answers of choices. What they do to the distribution is carried on by the policy of the steady state, which is done once
for all of them by carrying back what a household will hold (the fake-news algorithm of Auclert, Bardoczy, Rognlie and
Straub 2021).
"""

from __future__ import annotations

import numpy as np

from beltline.host.models.aiyagari_path.calibration import Calibration
from beltline.host.models.aiyagari_path.period import Household
from beltline.host.models.aiyagari_path.steady_state import SteadyState
from beltline.host.problem.arrays import Array

STEP = 1e-4
"""Change of capital, as a share of it, of which answers are differences."""


def jacobian(model: Calibration, household: Household, steady: SteadyState) -> Array:
    """Return ``d A_t / d K_s``, ``(T, T)``: of what households keep at date ``t`` with respect to the capital that
    firms have at date ``s``, around a steady state, where both prices follow from it.

    Parameters
    ----------
    model
    household
    steady
        That of the productivity after the last date.

    Sources
    -------
    Auclert, Bardoczy, Rognlie and Straub (2021), "Using the sequence-space Jacobian to solve and estimate
    heterogeneous-agent models", Econometrica 89(5), 2375-2408.
    """
    dates, steps = model.periods, np.diff(household.assets)
    mass, chain, rest = steady.distribution, household.chain, steady.period
    bent = steady.capital * (1.0 + STEP)
    alpha, output = model.economy.alpha, steady.productivity * bent**model.economy.alpha
    prices = alpha * output / bent - model.economy.delta, (1.0 - alpha) * output
    # Choices u dates before capital is another one, less those where it never is, which are the same at every date.
    kept, moved = np.empty(dates), np.empty((dates, *mass.shape))
    ahead = household.choose(*prices, rest.value)
    for u in range(dates):
        change = (ahead.choice - rest.choice) / (steady.capital * STEP)
        kept[u] = float((mass * change).sum())
        # Mass that goes up by a share of a cell, from its lower end to its upper one.
        flow = mass * change / steps[rest.below]
        shifted = np.zeros_like(mass)
        np.add.at(shifted, (rest.below, np.arange(chain.shape[0])), -flow)
        np.add.at(shifted, (rest.below + 1, np.arange(chain.shape[0])), flow)
        moved[u] = shifted @ chain
        ahead = household.choose(steady.interest, steady.wage, ahead.value)
    news = np.empty((dates, dates))
    news[0] = kept
    will_keep = rest.choice
    for t in range(1, dates):
        news[t] = np.tensordot(moved, will_keep, axes=2)
        expected = will_keep @ chain.T
        columns = np.arange(chain.shape[0])
        below, above = expected[rest.below, columns], expected[rest.below + 1, columns]
        will_keep = (1.0 - rest.share) * below + rest.share * above
    found = news.copy()
    for t in range(1, dates):
        found[t, 1:] += found[t - 1, :-1]
    return found
