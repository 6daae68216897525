"""The stationary distribution of the exogenous Markov chain."""

from __future__ import annotations

import numpy as np

from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError


def chain_distribution(transition: Array) -> Array:
    """Return the stationary distribution ``pi = pi Q`` of a Markov matrix, ``(N_z,)``.

    Raises
    ------
    ProblemError
        The chain has more than one stationary distribution.
    """
    states = transition.shape[0]
    equations = np.vstack([transition.T - np.eye(states), np.ones(states)])
    if np.linalg.matrix_rank(equations) < states:
        raise ProblemError("transition has more than one stationary distribution: its states fall into separate groups")
    right = np.zeros(states + 1)
    right[-1] = 1.0
    weights = np.linalg.lstsq(equations, right, rcond=None)[0].clip(min=0.0)
    return np.asarray(weights / weights.sum())
