"""Brute force in extended precision: objectives, values and solutions of small problems of any form.

Imports nothing of the project: problems are read by their attributes only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

LONG = np.longdouble


def utility(c: Any, eta: float) -> Any:
    """Return CRRA utility of consumption above 0, or consumption itself if ``eta`` is 0."""
    c = np.asarray(c, LONG)
    if eta == 0.0:
        return c
    return np.log(c) if eta == 1.0 else c ** (1 - LONG(eta)) / (1 - LONG(eta))


def objectives(form: Any, d: int, V: Any, age: int = 0) -> Any:
    """Return the objectives of an alternative given ``V``, ``(N_r, N_k, N_z)``: ``(N_k, N_z, N_k)``.

    They are -inf where a candidate is not allowed. An alternative without a choice has its table of values as its only
    candidate: ``(N_k, N_z, 1)``.
    """
    one = form.alternatives[d]
    tables = one.at(age)
    if not hasattr(one, "wealth"):
        return np.asarray(tables, LONG)[:, :, None]
    V = np.asarray(V, LONG)
    future = np.einsum("r,st,rkt->sk", *(np.asarray(t, LONG) for t in (tables.mix, tables.transition)), V)
    future = future * np.asarray(tables.beta, LONG)[:, None] + np.asarray(tables.kappa, LONG)[:, None]
    c = np.asarray(tables.wealth, LONG)[:, :, None] - np.asarray(tables.cost, LONG).T[None]
    candidates = np.arange(c.shape[2])
    allowed = (tables.low[:, :, None] <= candidates) & (candidates <= tables.high[:, :, None])
    if not form.negative:
        allowed &= c > 0
    return np.where(allowed, utility(np.where(allowed, c, 1), form.eta) + future[None], -np.inf)


def applied(form: Any, V: Any, age: int = 0) -> Any:
    """Return ``TV``, ``(N_r, N_k, N_z)``."""
    best = [objectives(form, d, V, age).max(axis=2) for d in range(len(form.alternatives))]
    found = []
    for r in range(form.shape[0]):
        own = np.stack([best[d] for d, one in enumerate(form.alternatives) if one.regime == r])
        top = own.max(axis=0)
        if form.sigma > 0.0:
            top = top + LONG(form.sigma) * np.log(np.exp((own - top) / LONG(form.sigma)).sum(axis=0))
        found.append(top)
    return np.stack(found)


def solution(form: Any, after: Any) -> Any:
    """Return the exact value: the fixed point, or that of every age, with an axis of ages."""
    V = np.asarray(after, LONG)
    if form.horizon is not None:
        ages = []
        for age in range(form.horizon - 1, -1, -1):
            V = applied(form, V, age)
            ages.append(V)
        return np.stack(ages[::-1])
    for _ in range(20_000):
        new = applied(form, V)
        moved = np.abs(new - V).max()
        V = new
        if moved <= 1e-18 * np.abs(V).max():
            break
    return V


def pair_objectives(program: Any, V: Any) -> Any:
    """Return the objectives of all pairs of a discrete program."""
    chances = np.asarray(program.chances.toarray(), LONG)
    return np.asarray(program.reward, LONG) + LONG(program.beta) * (chances @ np.asarray(V, LONG))[program.lottery]


def program_solution(program: Any) -> Any:
    """Return the fixed point of a discrete program."""
    V = np.zeros(program.states, LONG)
    for _ in range(20_000):
        new = np.maximum.reduceat(pair_objectives(program, V), program.first[:-1])
        moved = np.abs(new - V).max()
        V = new
        if moved <= 1e-18 * np.abs(V).max():
            break
    return V
