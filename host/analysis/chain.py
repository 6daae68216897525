"""The stationary distribution of the exogenous Markov chain."""

from __future__ import annotations

import numpy as np

from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError


def chain_distribution(transition: Array) -> Array:
    """Return the stationary distribution ``pi = pi Q`` of a Markov matrix, ``(N_z,)``.

    States that the chain leaves permanently have probability 0. The others are eliminated one after the other, as by
    Grassmann, Taksar and Heyman (1985), "Regenerative analysis and steady state distributions for Markov chains",
    Operations Research 33: without differences, so that every probability has a small relative error even if the chain
    hardly ever changes its state. The diagonal is not used, as the rows sum to 1.

    Raises
    ------
    ProblemError
        The chain has more than one stationary distribution.

    Examples
    --------
    >>> chain_distribution(np.array([[1.0, 1e-20], [3e-20, 1.0]])).round(12)
    array([0.75, 0.25])
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    count, group = connected_components(csr_array(transition > 0.0), connection="strong")
    today, tomorrow = np.nonzero(transition > 0.0)
    left = np.unique(group[today[group[today] != group[tomorrow]]])
    closed = np.setdiff1d(np.arange(count), left)
    if closed.size > 1:
        raise ProblemError("transition has more than one stationary distribution: its states fall into separate groups")
    own = np.flatnonzero(group == closed[0])
    found = np.zeros(transition.shape[0])
    found[own] = _by_elimination(transition[np.ix_(own, own)])
    return found


def _by_elimination(transition: Array) -> Array:
    """Return the stationary distribution of a chain in which every state leads to every other."""
    rates = transition.astype(np.float64)
    states = rates.shape[0]
    for k in range(states - 1):
        # Leave out state k: what enters it goes on to the later states.
        rates[k + 1 :, k] /= rates[k, k + 1 :].sum()
        rates[k + 1 :, k + 1 :] += np.outer(rates[k + 1 :, k], rates[k, k + 1 :])
    weights = np.ones(states)
    for k in range(states - 2, -1, -1):
        weights[k] = weights[k + 1 :] @ rates[k + 1 :, k]
        # In a chain of many states the first weights could be too large for a number.
        weights[k:] /= weights[k:].sum()
    return np.asarray(weights / weights.sum())
