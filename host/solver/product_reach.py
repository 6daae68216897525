"""Bounds on the values of a problem with alternatives, for which a number format is chosen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.general.form import Branch
from beltline.host.problem.utility import utility
from beltline.host.solver.products import Products


class Reach(NamedTuple):
    """Bounds on the numbers that a run computes, in units of utility.

    Attributes
    ----------
    low, high
        Lower and upper bound on the values of regimes.
    all
        Bound on the absolute value of all values, utilities and expectations.
    """

    low: float
    high: float
    all: float


def reach_of(products: Sequence[Products], horizon: int | None) -> Reach:
    """Return bounds on the values of a problem after any number of sweeps.

    Let ``L`` be a lower bound on the values before a sweep. An alternative that can be taken is then worth at least
    ``u + kappa + b L``, where ``u`` is the utility of consumption with the cheapest choice and ``b = beta sum Q``. So
    ``L`` is also a lower bound after the sweep if in each state some alternative has ``u + kappa + b L >= L``. Upper
    bounds are found in the same way, but must hold for all alternatives. With taste shocks the value of a regime is at
    least that of any of its alternatives, and at most ``sigma`` times the logarithm of their number larger than all of
    them.

    Parameters
    ----------
    products
        The product states of each age, the first age first, or of all ages if no table depends on age.
    horizon
        Number of ages, or None for an infinite horizon.
    """
    keep = products[0].keeps
    tables = [one.given(one.age)[:, keep] for one in products]
    all_pays, factors = zip(*(_period(one) for one in products), strict=True)
    guesses = products[-1].start[:, ~keep]
    guesses = guesses[np.isfinite(guesses)]
    # A log-sum is at most this much larger than the maximum.
    sigma = products[0].form.sigma
    more = sigma * math.log(products[0].arrangement.largest)
    fixed = np.concatenate([table[np.isfinite(table)] for table in tables])
    low = min((float(words.min()) for words in (guesses, fixed) if words.size), default=0.0)
    high = max((float(words.max()) for words in (guesses, fixed) if words.size), default=0.0) + more

    def best(worth: NDArray[np.float64], k: int) -> float:
        """Return the lowest value of any regime, given the values ``worth`` of the product states, ``(N_k, N_p)``."""
        worth[:, keep] = tables[k]
        return float(products[k].best(worth).min())

    if horizon is None:
        (pays,), (factor,) = all_pays, factors
        low = min(low, best(pays / (1.0 - factor), 0))
        high = max(high, float(((pays + more) / (1.0 - factor)).max()))
    lowest, highest = low, high
    for age in reversed(range(horizon or 0)):
        k = age if len(products) > 1 else 0
        above = float((all_pays[k] + factors[k] * high).max())
        low, high = best(all_pays[k] + factors[k] * low, k), max(high if keep.any() else -np.inf, above + more)
        lowest, highest = min(lowest, low), max(highest, high)
    # Alternatives, utilities, expectations and ``kappa`` can be larger than the values of regimes.
    parts = [abs(lowest), abs(highest), sigma]
    for one, pays, factor in zip(products, all_pays, factors, strict=True):
        able = np.isfinite(pays)
        plain = (pays - one.kappa)[able]
        parts.append(float(np.abs(one.kappa).max()))
        if one.form.negative:
            # Of candidates that cost more, too.
            parts.append(float(np.abs(one.wealth).max() + np.abs(one.cost).max()))
        if not plain.size:
            continue
        parts.append(float(np.abs(plain).max()))
        for bound in (lowest, highest):
            parts.append(float(np.abs((pays + factor * bound)[able]).max()))
            parts.append(float(np.abs((pays - one.kappa + factor * bound)[able]).max()))
    return Reach(lowest, highest, max(parts))


def _period(products: Products) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what the cheapest choice is worth in a period, ``(N_k, N_p)``, and ``beta sum Q``, ``(N_p,)``.

    The first is ``-inf`` in states that can afford nothing, and for tables of values.
    """
    form, consumed = products.form, products.consumed
    earned = consumed if form.negative else utility(consumed, form.eta)
    pays = np.where(form.negative | (consumed > 0.0), earned + products.kappa, -np.inf)
    pays[:, products.keeps] = -np.inf
    factor = np.zeros(pays.shape[1])
    for d, one in enumerate(form.alternatives):
        if isinstance(one, Branch):
            tables = one.at(products.age)
            factor[products.of(d)] = tables.beta * tables.transition.sum(axis=1)
    return pays, factor
