"""Random discrete programs of every kind against the best of all policies in exact arithmetic."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import beltline as bl
from oracle import bellman as oracle

BETAS = (0.0, 0.5, 0.9, 0.999, 1 - 1e-7, 1 - 1e-9, 1.0)


def drawn(rng: np.random.Generator) -> tuple[Any, Any, float]:
    """Draw rewards ``(n, m)`` and transitions with probabilities that are exact in binary.

    There are ties and near ties, classes of states that do not lead to each other, states that none leads to, ends,
    penalties of many sizes, and states without an action.
    """
    n, m = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    R = rng.integers(-4, 3, (n, m)) / 2.0
    Q = rng.multinomial(int(rng.choice([1, 2, 8])), rng.dirichlet(np.full(n, 0.5)), (n, m)).astype(float)
    if rng.random() < 0.4:
        Q[np.tril(np.ones((n, n)), -1).astype(bool)[:, None, :].repeat(m, 1)] = 0.0
    Q[Q.sum(axis=2) == 0.0, -1] = 1.0
    Q = np.floor(Q / Q.sum(axis=2, keepdims=True) * 64.0) / 64.0
    Q[..., -1] += 1.0 - Q.sum(axis=2)
    if rng.random() < 0.5:
        R[-1], Q[-1] = 0.0, np.eye(n)[-1]
    kind = rng.random((n, m))
    R[kind < 0.1] = -(10.0 ** rng.choice([3, 6, 10, 16, 20])) * rng.choice([1.0, 1.0, 1.0, -1.0])
    R[(kind >= 0.1) & (kind < 0.2)] += rng.choice([2.0**-52, 1e-12, 1e-8])
    R[(kind >= 0.2) & (kind < 0.3)] = -np.inf
    if rng.random() < 0.2:
        R[rng.integers(n)] = -np.inf
    beta = float(rng.choice(BETAS))
    if beta == 1.0 and rng.random() < 0.8:
        R[R > 0.0] *= -1.0
    return R, Q, beta


def check(
    seen: Counter[str], seed: object, tables: tuple[Any, Any, float], exact: Any, after: Any, value: Any, bound: Any,
    policy: Any, status: Any,
) -> None:  # fmt: skip
    """Check value, bounds, choices and what is said of them in all states, given exact values of now and ``after``."""
    R, Q, beta = tables
    for i, true in enumerate(exact):
        if true == -np.inf:
            assert (value[i], policy[i], bound[i]) == (-np.inf, -1, 0.0), (seed, i)
            seen["lost"] += 1
            continue
        assert abs(Fraction(value[i]) - true) <= Fraction(bound[i]), (seed, i, value[i], float(true), bound[i])
        worth = oracle.worth_of_actions(R[i], Q[i], beta, after)
        own, best = worth[policy[i]], max(worth)
        assert status[i] >= 0, (seed, i)
        if status[i] == 1:
            # Actions with the same distribution of the next state are one choice.
            others = (w for w, row in zip(worth, Q[i], strict=True) if (row != Q[i, policy[i]]).any())
            assert own > max(others, default=-np.inf), (seed, i)
        rows = beta * (Q[i, policy[i]] + Q[i, worth.index(best)])
        errors, sizes = (rows[rows > 0.0] @ np.abs(each[rows > 0.0]) for each in (bound, np.array(after, float)))
        assert best - own <= 2.0 * errors + 1e-15 * (abs(float(own)) + sizes), (seed, i)
        seen["only best" if status[i] == 1 else "tied"] += 1
    seen["solved"] += 1


def solve_and_check(seen: Counter[str], seed: int) -> None:
    """Draw a program, solve it with an infinite horizon or a few ages, and check everything."""
    rng = np.random.default_rng(seed)
    R, Q, beta = tables = drawn(rng)
    if rng.random() < 0.25:
        ages = int(rng.integers(1, 5))
        start = np.where(rng.random(len(R)) < 0.2, -np.inf, rng.integers(-2, 3, len(R)) * 1.0)
        if (R == -np.inf).all():
            return
        problem = bl.from_discrete_dp(R, Q, beta, horizon=ages, start=start)
        result = bl.solve(problem)
        found = bl.certify(problem, result.value, result.policy)
        after = [v if v == -np.inf else Fraction(v) for v in start]
        for age in reversed(range(ages)):
            now = [max(oracle.worth_of_actions(*each, beta, after)) for each in zip(R, Q, strict=True)]
            # Values after this age have the errors of the next one, which are at most those of this one.
            of = (each[age] for each in (result.value, found.error_bound_by_state, result.policy, found.status))
            check(seen, (seed, age), tables, now, after, *of)
            after = now
        seen["ages"] += 1
        seen["failed"] += not result.success
        return
    exact = oracle.best_of_all_policies(R, Q, beta)
    infinite = beta == 1.0 and any(v != v or v == np.inf for v in exact)
    try:
        problem = bl.from_discrete_dp(R, Q, beta)
        result = bl.solve(problem)
    except bl.ProblemError:
        result = None
    if result is None:
        # Nothing can be done, a value is infinite, or one is minus infinity for want of an end.
        lost = oracle.best_of_all_policies(R, Q, min(beta, 0.5)) == -np.inf
        assert lost.all() or infinite or (beta == 1.0 and (exact[~lost] == -np.inf).any()), seed
        seen["refused"] += 1
        return
    seen["failed"] += not result.success
    if infinite or not np.isfinite(result.error_bound):
        assert not result.success, (seed, exact)
        return
    found = bl.certify(problem, result.value, result.policy)
    check(seen, seed, tables, exact, exact, result.value, found.error_bound_by_state, result.policy, found.status)
    if beta == 1.0:
        none = result.value == -np.inf
        own = np.arange(len(R)), np.maximum(result.policy, 0)
        followed = oracle.policy_value(R[own], Q[own], beta, none)
        off = [float(abs(a - b)) / (1.0 + float(abs(b))) for a, b in zip(followed[~none], exact[~none], strict=True)]
        assert max(off) <= 1e-9, (seed, followed)
        seen["ending"] += 1


@pytest.mark.parametrize("first", range(0, 600, 200))
def test_values_bounds_and_choices_of_random_programs(first: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(first, first + 200):
        solve_and_check(seen, seed)
    wanted = ("lost", "only best", "tied", "solved", "ages", "ending", "refused")
    assert min(seen[each] for each in wanted) > 2, seen
    # A right solution may be too inexact beside values that are 0.
    assert seen["failed"] <= 1, seen
