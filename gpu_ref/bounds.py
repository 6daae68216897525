"""Bounds on the error of a value by state, and what they prove about choices, for problems of any form.

Let ``T`` be the Bellman operator, ``V*`` its fixed point, and ``V`` any value. A candidate ``i`` of state ``x`` has the
objective ``O(x, i)`` given ``V`` and ``O*(x, i)`` given ``V*``, and ``P_i`` is the discounted expectation under its
distribution of the next state. If ``|V - V*| <= w``, then ``|O(x, i) - O*(x, i)| <= P_i w``. So a candidate that loses
more than ``P_m w + P_i w`` to the best one, ``m``, is not the best given ``V*``, either. Let ``C(x)`` have all others.
Since the best candidates given ``V`` and given ``V*`` are in it::

    |V - V*|(x)  <=  off(x) + max over i in C(x) of  P_i |V - V*|,      off(x) >= |TV - V|(x)

The right side, ``A``, is monotone and a contraction of the same modulus ``m`` as ``T``. So every ``w`` with ``A w <=
w`` is a bound. Such ``w`` are

- ``max off / (1 - m)``, the bound that is the same in all states (Blackwell 1965), from which everything begins;
- the largest ``off`` of all states that can be reached from ``x`` by candidates in ``C``, over ``1 - m``. So states
  that no state leads to do not matter to others, however large their values and rounding errors are;
- ``A w`` for any such ``w``, and ``A w - k`` if ``A w <= w - d`` everywhere and ``k = d n / (1 - n)``, where ``n <= m``
  is the smallest modulus of a candidate (as in MacQueen 1966).

A smaller ``w`` makes ``C`` smaller, so that it can be lowered again.

A choice is *proven the only best* if it is ``m``, and every other candidate loses more than ``P_m w + max over C(x) of
P_i w`` given ``V``; then it is the only best given ``V*``. A choice ``i`` is *improvable* if it loses more than ``P_m w
+ P_i w``; then ``m`` is better than ``i`` given ``V*``. Anything else is *tied* within the bound. Losses are bounded
with the rounding errors of both objectives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.tables import Array

ROUNDS, STEPS, REACHES = 6, 20, 200
"""Largest number of times that possible candidates are found, of steps ``A w`` in each, and of steps to find which
states can be reached.
"""

ROUND_UP = 1.0 + 1e-10
"""Factor that covers the rounding of the bounds themselves."""

ONLY_BEST, TIED, IMPROVABLE = 1, 0, -1
"""What is proven of a choice."""


class Possible(Protocol):
    """The candidates ``C`` that can still be the best."""

    def expected(self, errors: Array) -> Array:
        """Return for each state the largest discounted expectation of ``errors`` under its possible candidates."""

    def reached(self, table: Array) -> Array:
        """Return for each state the largest entry among the states to which its possible candidates can lead."""


@dataclass(frozen=True, eq=False)
class Certified:
    """What is proven of a value and its choices. Arrays have the shape of the value, or of its policy.

    Attributes
    ----------
    off, error
        ``|TV - V|``, and a bound on ``|V - V*|``, by state, units of utility.
    policy, alternative
        The best choices given ``V``, the first of equals; -1 for an alternative without a choice.
    status
        :data:`ONLY_BEST`, :data:`TIED` or :data:`IMPROVABLE`.
    loss
        By how much a choice is worse than the best one given ``V``, units of utility; infinite if it is not possible.
    """

    off: Array
    error: Array
    policy: NDArray[Any]
    alternative: NDArray[Any] | None
    status: NDArray[np.int8]
    loss: Array


def uniform_bound(off: float, modulus: float) -> float:
    """Return ``off / (1 - modulus)`` rounded up; infinite unless the modulus is below 1."""
    return off / (1.0 - modulus) * ROUND_UP if modulus < 1.0 else np.inf


def bound_by_state(off: Array, modulus: float, least: float, restricted: Callable[[Array], Possible]) -> Array:
    """Bound ``|V - V*|`` by state, for an infinite horizon.

    Parameters
    ----------
    off
        Bound on ``|TV - V|``, of any shape, units of utility.
    modulus, least
        Largest modulus of a candidate, rounded up, and a lower bound on that of all.
    restricted
        Returns the candidates that are possible if ``|V - V*|`` is bounded by its argument.
    """
    bound = np.full(off.shape, uniform_bound(float(off.max()), modulus))
    if not np.isfinite(bound.flat[0]):
        return bound
    for _ in range(ROUNDS):
        possible = restricted(bound)
        found = np.minimum(bound, _reached(off, possible) / (1.0 - modulus) * ROUND_UP)
        for _ in range(STEPS):
            new = np.minimum(found, (off + possible.expected(found)) * ROUND_UP)
            moved = float((found - new).max())
            # Nothing may be gained from falls that are as small as the rounding of the bounds themselves.
            fallen = max(0.0, float((found - new).min()) - 1e-8 * float(new.max()))
            found = new - fallen * least / (1.0 - least) * (1.0 - 1e-6)
            if moved <= 0.01 * float(new.min()):
                break
        before, bound = bound, found
        if (bound >= 0.5 * before).all():
            break
    return bound


def _reached(off: Array, possible: Possible) -> Array:
    """Return the largest ``off`` that can be reached from each state; that of all states if it takes many steps."""
    found = off
    for _ in range(REACHES):
        more = np.maximum(found, possible.reached(found))
        if (more == found).all():
            return found
        found = more
    return np.full(off.shape, off.max())


def status_of(maximal: NDArray[np.bool_], gap: Array, lead: Array, own: Array, most: Array, best: Array) -> Any:
    """Return the status of choices.

    Parameters
    ----------
    maximal
        Whether a choice is the best one given ``V``.
    gap, lead
        Lower bounds on what the best choice gains over all others, and over the choice in question.
    own, most, best
        Bounds on the error of the objective of the choice, of any possible candidate, and of the best choice.
    """
    with np.errstate(invalid="ignore"):
        return np.where(maximal & (gap > best + most), ONLY_BEST, np.where(lead > best + own, IMPROVABLE, TIED)).astype(
            np.int8
        )
