"""The objective of given choices at a given value, in plain NumPy: nothing of the solvers is used."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .reading import Answer
from .simple import crra

Array = NDArray[np.float64]


def of_pairs(reward: Array, chances: Array, beta: float, V: Array, action: NDArray[np.int32]) -> Array:
    """Return the objective of one action in each state, ``(n,)``."""
    state = np.arange(reward.shape[0])
    return np.asarray(reward[state, action] + beta * chances[state, action] @ V)


def of_problem(problem: Any, V: Array, taken: Answer) -> Array:
    """Return the objective of the choices and alternatives of ``taken``, ``(ages, regimes, N_k, N_z)``.

    It is ``-inf`` where a choice is not allowed. ``V`` has the same shape; with a horizon, the value of the next age
    counts.
    """
    ages, regimes, points, states = V.shape
    start = np.broadcast_to(problem.start, (1, regimes, points, states))
    after = V if problem.horizon is None else np.concatenate([V[1:], start])
    found = np.full(V.shape, -np.inf)
    for number, one in enumerate(problem.alternatives or (None,)):
        for age in range(ages):
            where = np.nonzero(taken.alternative[age] == number)
            if one is not None and one.value is not None:
                found[age][where] = _table(one.value, age, (points, states))[where[1:]]
            else:
                found[age][where] = _branch(problem, one, age, after[age], taken.policy[age][where], where[1:])
    return found


def _table(given: Any, age: int, shape: tuple[int, ...]) -> Array:
    """Return a table at an age in full: it may be a number, by grid point only, by state, or by age."""
    table = np.asarray(given, np.float64)
    if table.ndim > len(shape):
        table = table[age]
    if table.ndim == 1 and len(shape) == 2:
        table = table[:, None]
    return np.broadcast_to(table, shape)


def _branch(problem: Any, one: Any, age: int, V: Array, policy: NDArray[np.int32], at: Any) -> Array:
    """Return the objective of an alternative in the states ``at``, in which it chooses ``policy``; ``V`` by regime."""
    k, z = at
    points, states = V.shape[1:]

    def table(name: str, default: Any = None, shape: tuple[int, ...] = (points, states)) -> Array:
        given = getattr(one, name, None)
        given = getattr(problem, name, None) if given is None else given
        return _table(default if given is None else given, age, shape)

    only = getattr(one, "choice", None)
    low, high = (table(name, end) if only is None else _table(only, age, (points, states))
                 for name, end in (("low", 0), ("high", points - 1)))  # fmt: skip
    leads = one.chances() if one is not None else {problem.regimes[0]: 1.0}
    mixed = sum((chance * V[problem.regimes.index(name)] for name, chance in leads.items()), np.zeros((points, states)))
    future = table("beta", shape=(states,)) * (mixed @ table("transition", shape=(states, states)).T)
    kappa = _table(getattr(one, "kappa", None) or 0.0 if np.ndim(getattr(one, "kappa", 0.0)) == 0 else one.kappa,
                   age, (states,))  # fmt: skip
    c = table("wealth")[k, z] - table("cost", problem.grid)[policy, z]
    utility = c if problem.eta == 0.0 else crra(c, problem.eta)
    allowed = (policy >= low[k, z]) & (policy <= high[k, z]) & ((c > 0.0) | problem.negative)
    return np.where(allowed, utility + kappa[z] + future[policy, z], -np.inf)
