"""Brute force in extended precision: objectives, values and solutions of small problems of any form.

Imports nothing of the project: problems are read by their attributes only.
"""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

LONG = np.longdouble
EPS = float(np.finfo(LONG).eps)


def simple(X: Any, W: Any, Q: Any, beta: float, eta: float, horizon: int | None = None) -> Any:
    """Return a problem of one alternative whose choice ``x'`` costs ``X``, as a form."""
    W = np.asarray(W, float)
    low = np.zeros(W.shape, int)
    tables = SimpleNamespace(
        wealth=W, cost=np.repeat(np.asarray(X, float)[:, None], W.shape[1], axis=1), low=low, high=low + len(W) - 1,
        mix=np.ones(1), transition=np.asarray(Q, float), beta=np.full(W.shape[1], beta), kappa=np.zeros(W.shape[1]),
    )  # fmt: skip
    one = SimpleNamespace(regime=0, wealth=W, at=lambda age: tables)
    shape = (1, *W.shape)
    return SimpleNamespace(alternatives=(one,), shape=shape, eta=eta, sigma=0.0, negative=False, horizon=horizon)


def utility(c: Any, eta: float) -> Any:
    """Return CRRA utility of consumption above 0, or consumption itself if ``eta`` is 0."""
    c = np.asarray(c, LONG)
    if eta == 0.0:
        return c
    return np.log(c) if eta == 1.0 else c ** (1 - LONG(eta)) / (1 - LONG(eta))


def fixed(form: Any, d: int, age: int = 0) -> Any:
    """Return the utility of each candidate of an alternative, ``(N_k, N_z, N_k)``, -inf where it is not allowed."""
    tables = form.alternatives[d].at(age)
    c = np.asarray(tables.wealth, LONG)[:, :, None] - np.asarray(tables.cost, LONG).T[None]
    candidates = np.arange(c.shape[2])
    allowed = (tables.low[:, :, None] <= candidates) & (candidates <= tables.high[:, :, None])
    if not form.negative:
        allowed &= c > 0
    return np.where(allowed, utility(np.where(allowed, c, 1), form.eta), -np.inf)


def objectives(form: Any, d: int, V: Any, age: int = 0, known: Any = None) -> Any:
    """Return the objectives of an alternative given ``V``, ``(N_r, N_k, N_z)``: ``(N_k, N_z, N_k)``.

    They are -inf where a candidate is not allowed. An alternative without a choice has its table of values as its only
    candidate: ``(N_k, N_z, 1)``. ``known`` may have the utilities, :func:`fixed`.
    """
    one = form.alternatives[d]
    tables = one.at(age)
    if not hasattr(one, "wealth"):
        return np.asarray(tables, LONG)[:, :, None]
    V = np.asarray(V, LONG)
    future = np.einsum("r,st,rkt->sk", *(np.asarray(t, LONG) for t in (tables.mix, tables.transition)), V)
    future = future * np.asarray(tables.beta, LONG)[:, None] + np.asarray(tables.kappa, LONG)[:, None]
    return (fixed(form, d, age) if known is None else known) + future[None]


class Swept(NamedTuple):
    """One sweep: ``value`` ``(N_r, N_k, N_z)``, ``values``, ``policy`` and ``probabilities`` ``(N_d, N_k, N_z)``, and
    the number of the best alternative, ``choice``, as ``value``. Of equals the lowest ``x'`` and alternative are taken;
    ``policy`` is -1 where none is allowed.
    """

    value: Any
    values: Any
    policy: Any
    choice: Any
    probabilities: Any


def swept(form: Any, V: Any, age: int = 0) -> Swept:
    """Search all candidates of all states, given ``V``."""
    best, policy = _best(form, V, age)
    for d, one in enumerate(form.alternatives):
        policy[d][~np.isfinite(best[d]) if hasattr(one, "wealth") else ...] = -1
    of = [[d for d, one in enumerate(form.alternatives) if one.regime == r] for r in range(form.shape[0])]
    choice = np.stack([np.array(own)[best[own].argmax(axis=0)] for own in of])
    return Swept(_combined(form, best), best, policy, choice, _chances(form, best))


def applied(form: Any, V: Any, age: int = 0) -> Any:
    """Return ``TV``, ``(N_r, N_k, N_z)``."""
    return _combined(form, _best(form, V, age)[0])


def _best(form: Any, V: Any, age: int = 0, known: Any = None) -> tuple[Any, Any]:
    """Return the best objective of each alternative, ``(N_d, N_k, N_z)``, and its candidate."""
    count = len(form.alternatives)
    own = [objectives(form, d, V, age, None if known is None else known[d]) for d in range(count)]
    return np.stack([each.max(axis=2) for each in own]), np.stack([each.argmax(axis=2) for each in own])


def _combined(form: Any, best: Any) -> Any:
    """Return the value of each regime from those of its alternatives."""
    found = []
    for r in range(form.shape[0]):
        own = np.stack([best[d] for d, one in enumerate(form.alternatives) if one.regime == r])
        top = own.max(axis=0)
        if form.sigma > 0.0:
            top = top + LONG(form.sigma) * np.log(np.exp((own - top) / LONG(form.sigma)).sum(axis=0))
        found.append(top)
    return np.stack(found)


def solution(form: Any, after: Any) -> Any:
    """Return the exact value of every regime: the fixed point, or that of every age, with an axis of ages."""
    return solution_with_error(form, after)[0]


def solution_with_error(form: Any, after: Any) -> tuple[Any, Any]:
    """Return the exact value, as :func:`solution`, and an estimate of its error by state in the same shape.

    The fixed point is that of Newton's method from ``after``: residuals are in extended precision, so that steps in
    double precision are enough. What residuals and rounding leave is what the last policy makes of them.
    """
    V = np.asarray(after, LONG)
    if form.horizon is not None:
        ages, errors, error = [], [], np.zeros(V.shape, LONG)
        for age in range(form.horizon - 1, -1, -1):
            V = applied(form, V, age)
            error = error.max() * max(1.0, _largest_beta(form, age)) + 100 * EPS * np.abs(V)
            ages.append(V)
            errors.append(error)
        return np.stack(ages[::-1]), np.stack(errors[::-1])
    known = [fixed(form, d) if hasattr(one, "wealth") else None for d, one in enumerate(form.alternatives)]
    for _ in range(200):
        best, choice = _best(form, V, known=known)
        matrix = _newton(form, best, choice, V.shape)
        left = _step(matrix, _combined(form, best) - V, V)
        if left[0] is None:
            return V, left[1]
        V = V + left[0]
    raise AssertionError("Newton's method did not end")


def distance(form: Any, value: Any, after: Any = 0.0) -> float:
    """Return a lower bound on the largest distance of ``value`` from the exact one; infinity if an entry is NaN."""
    exact, error = solution_with_error(form, np.broadcast_to(np.asarray(after, LONG), form.shape))
    gap = np.abs(np.asarray(value, LONG).reshape(exact.shape) - exact) - error
    return np.inf if np.isnan(gap).any() else max(float(gap.max()), 0.0)


def _step(matrix: Any, residual: Any, V: Any) -> tuple[Any, Any]:
    """Return the step that takes ``residual`` away, None where it is rounding, and what that leaves, by state."""
    size = np.asarray(np.abs(V), float).ravel()
    # Sums of a row round as their largest terms do: those of the value, and of what it is added up from.
    rounding = 30 * EPS * (2 * size - matrix @ size)
    system, away = splu(matrix), np.asarray(residual, float).ravel()
    error = 2 * np.abs(system.solve(np.abs(away) + rounding)).reshape(V.shape)
    return (None if (np.abs(away) <= rounding).all() else system.solve(away).reshape(V.shape)), error


def _largest_beta(form: Any, age: int) -> float:
    return float(max(np.max(one.at(age).beta) for one in form.alternatives if hasattr(one, "wealth")))


def _chances(form: Any, best: Any) -> Any:
    """Return the probability of every alternative in its regime, ``(N_d, N_k, N_z)``; ties go to the first."""
    found = np.zeros(best.shape, LONG)
    for r in range(form.shape[0]):
        own = [d for d, one in enumerate(form.alternatives) if one.regime == r]
        if form.sigma > 0.0:
            chances = np.exp((best[own] - best[own].max(axis=0)) / LONG(form.sigma))
            found[own] = chances / chances.sum(axis=0)
        else:
            found[own] = np.arange(len(own))[:, None, None] == best[own].argmax(axis=0)
    return found


def _newton(form: Any, best: Any, choice: Any, shape: tuple[int, ...]) -> Any:
    """Return the identity less the derivative of ``TV``, as a sparse matrix."""
    rows, columns, entries = [np.arange(np.prod(shape))], [np.arange(np.prod(shape))], [np.ones(np.prod(shape))]
    number = np.arange(np.prod(shape)).reshape(shape)
    for d, (one, chance) in enumerate(zip(form.alternatives, _chances(form, best), strict=True)):
        if not hasattr(one, "wealth"):
            continue
        tables = one.at(0)
        beta = np.broadcast_to(tables.beta, shape[2])
        x, s = np.nonzero(chance > 0)
        weight = np.asarray(chance[x, s], float) * beta[s]
        for r in np.flatnonzero(tables.mix):
            for t in range(shape[2]):
                rows.append(number[one.regime, x, s])
                columns.append(number[r, choice[d, x, s], t])
                entries.append(-weight * tables.mix[r] * tables.transition[s, t])
    return csc_array((np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns))))


def pairs_solution(R: Any, Q: Any, beta: float) -> tuple[Any, Any]:
    """Return the fixed point of a discrete program, ``(n,)``, by policy iteration, and its error by state.

    Rewards ``R``, ``(n, m)``, are -inf where an action cannot be taken; ``Q`` is ``(n, m, n)``.
    """
    n, rows = len(R), np.arange(len(R))
    R, chances, V = np.asarray(R, LONG), np.asarray(Q, LONG), np.zeros(n, LONG)
    for _ in range(300):
        worth = R + LONG(beta) * (chances @ V)
        policy = worth.argmax(axis=1)
        step, error = _step(csc_array(np.eye(n) - beta * Q[rows, policy]), worth[rows, policy] - V, V)
        if step is None:
            return V, error
        V = V + step
    raise AssertionError("policy iteration did not end")


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


def best_of_all_policies(R: Any, Q: Any, beta: float) -> Any:
    """Return the exact value of a discrete program, ``(n,)``: the largest of all its policies, in fractions.

    Rewards ``(n, m)`` are -inf where an action cannot be taken. Without discounting a value may be infinite, or nan if
    a sum of rewards has no limit.
    """
    possible = [np.flatnonzero(row > -np.inf) for row in R]
    none = np.array([not each.size for each in possible])
    best = np.full(len(R), Fraction(0))
    best[:] = -np.inf
    for which in np.ndindex(*(max(1, each.size) for each in possible)):
        actions = [each[k] if each.size else 0 for each, k in zip(possible, which, strict=True)]
        rows = np.arange(len(R)), np.array(actions)
        value = policy_value(R[rows], Q[rows], beta, none)
        best = np.where([a != a or a > b for a, b in zip(value, best, strict=True)], value, best)
    return best


def policy_value(reward: Any, chances: Any, beta: float, none: Any) -> Any:
    """Return the exact value of a policy, minus infinity where it may lead to a state without an action, ``none``.

    Without discounting the states of a class that is never left have an infinite value unless their mean reward is 0,
    nan if it is 0 and some rewards are not, and 0 otherwise; states that lead to several such values have nan.
    """
    n = len(reward)
    reached = np.linalg.matrix_power(np.eye(n) + (chances > 0), n) > 0
    value = np.full(n, Fraction(0))
    ends: set[int] = set()
    for i in range(n):
        members = np.flatnonzero(reached[i])
        if none[members].any() if beta else none[i]:
            value[i] = -np.inf
        elif beta == 1.0 and reached[np.ix_(members, members)].all():
            ends.add(i)
            if reward[members].any():
                shares = _stationary(chances[np.ix_(members, members)])
                mean = sum(a * Fraction(r) for a, r in zip(shares, reward[members], strict=True))
                value[i] = np.inf if mean > 0 else -np.inf if mean < 0 else np.nan
    for i in set(range(n)) - ends if beta == 1.0 else ():
        kinds = {value[j] for j in ends if reached[i, j] and isinstance(value[j], float)}
        if kinds and value[i] != -np.inf:
            value[i] = kinds.pop() if len(kinds) == 1 else np.nan
    left = [i for i in range(n) if i not in ends and not isinstance(value[i], float)]
    system = [[int(i == j) - Fraction(beta) * Fraction(chances[i, j]) for j in left] for i in left]
    value[left] = _solved(system, [Fraction(reward[i]) for i in left])
    return value


def _stationary(chances: Any) -> list[Fraction]:
    """Return the exact stationary distribution of an irreducible chain."""
    n = len(chances)
    system = [[Fraction(chances[j, i]) - int(i == j) for j in range(n)] for i in range(n - 1)] + [[Fraction(1)] * n]
    return _solved(system, [Fraction(0)] * (n - 1) + [Fraction(1)])


def _solved(system: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """Solve a linear system in fractions."""
    rows = [[*row, r] for row, r in zip(system, right, strict=True)]
    for k in range(len(rows)):
        pivot = next(i for i in range(k, len(rows)) if rows[i][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [each / rows[k][k] for each in rows[k]]
        for i in range(len(rows)):
            if i != k and rows[i][k]:
                rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]


def worth_of_actions(rewards: Any, rows: Any, beta: float, after: Any) -> list[Any]:
    """Return what the actions of a state are worth, ``(m,)``, given the value ``after``, in fractions."""
    found: list[Any] = []
    for reward, row in zip(rewards, rows, strict=True):
        to = np.flatnonzero(row) if beta else []
        if reward == -np.inf or any(after[j] == -np.inf for j in to):
            found.append(-np.inf)
        else:
            found.append(Fraction(reward) + Fraction(beta) * sum(Fraction(row[j]) * after[j] for j in to))
    return found
