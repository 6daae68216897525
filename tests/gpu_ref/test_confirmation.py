"""Confirm policies in one pass: whatever the pass confirms, the proven sweep finds, too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.gpu_ref.comparison import Confirmed
from beltline.gpu_ref.confirmation import (
    CHUNK_REPAIRS,
    MAX_GAP,
    MAX_REPAIRS,
    confirmed,
)
from beltline.gpu_ref.tables import expectation
from beltline.gpu_ref.utility import crra_utility
from oracle import bellman
from support.concave_problems import random_problem
from support.proven_sweep import proven_sweep


def drawn(seed: int, points: int, states: int = 3) -> tuple[Any, ...]:
    return random_problem(np.random.default_rng(seed), points, states).arguments


def confirm(tables: tuple[Any, ...], value: Any, policy: Any, change: float = 0.0) -> Confirmed | None:
    return confirmed(*tables, value, np.ascontiguousarray(policy, np.int32), change)


def losses(tables: tuple[Any, ...], policy: Any) -> Any:
    """Return by how much the choices of a policy are worse than those of an exact sweep."""
    X, W, Q, V, beta, eta = tables
    with np.errstate(invalid="ignore"):
        own = crra_utility(W - X[policy], eta) + expectation(Q, V, beta)[np.arange(W.shape[1]), policy]
    return proven_sweep(*tables).value - own


@pytest.mark.parametrize("points", [2, 30, 511, 512, 513, 1300])
def test_an_exact_sweep_is_confirmed(points: int) -> None:
    for seed in range(8):
        tables = drawn(seed, points)
        sweep = proven_sweep(*tables)
        found = confirm(tables, sweep.value, sweep.policy)
        assert found is not None
        assert found.residual == 0.0
        assert found.rounding <= 4.0 * sweep.slack + 1e-12 * np.abs(sweep.value).max()
        if (tables[0][-1] < tables[1]).all():
            # The sweep adds an excess for candidates that cannot be afforded; the pass does not.
            assert found.rounding >= 0.999 * sweep.slack


@pytest.mark.parametrize("kind", ["general", "ties"])
def test_the_rounding_is_that_of_full_search_in_extended_precision(kind: str) -> None:
    for seed in range(40):
        problem = random_problem(np.random.default_rng(seed), kind=kind)
        X, W, Q, V, beta, eta = tables = problem.arguments
        sweep = proven_sweep(*tables)
        if (sweep.policy < 0).any():
            continue
        found = confirm(tables, sweep.value, sweep.policy)
        assert found is not None
        assert (
            np.abs(bellman.applied(bellman.simple(X, W, Q, beta, eta), V[None])[0] - sweep.value).max()
            <= found.rounding
        )


def test_small_margins_add_up_over_pieces_as_row_by_row() -> None:
    """If all candidates are equally good up to rounding, the excess grows from row to row, across pieces."""
    points = 1300
    X, W = np.linspace(1.0, 1.0 + 1e-7, points), np.linspace(3.0, 3.0 + 1e-7, points)[:, None]
    tables = X, W, np.eye(1), 1.0 / (3.0 - X)[:, None] / 0.9, 0.9, 2.0
    sweep = proven_sweep(*tables)
    ev = expectation(tables[2], tables[3], 0.9)[0]
    least, most = ev.min(), ev.max()
    worst = 0.0
    for side in (1, -1):
        rows = range(points)[::side]
        excess = -np.inf
        for x in rows:
            value, own = sweep.value[x, 0], sweep.policy[x, 0]
            before = sweep.policy[x - side, 0] if 0 <= x - side < points else -1
            end = before if before >= 0 else (0 if side == 1 else points - 1)
            margin = value - (-1.0 / (W[x, 0] - X[end]) + ev[end])
            error = 2.0**-53 * (5.0 * max(abs(value - least), abs(value - most)) + 5.0 * max(abs(least), abs(most)))
            worst = max(worst, error + max(0.0, excess - margin))
            if own != before:
                excess = max(2.0 * error, excess - margin + 2.0 * error)
    found = confirm(tables, sweep.value, sweep.policy)
    assert found is not None
    assert worst > 8.0 * error
    assert 0.999 * worst <= found.rounding <= 4.0 * worst


@pytest.mark.parametrize("side", [-1, 1])
def test_a_value_that_is_that_of_a_worse_choice_is_not_confirmed(side: int) -> None:
    """A wrong choice between those of its neighbours is not confirmed, although only the objective shows that it is
    wrong.
    """
    planted = 0
    for seed in range(30):
        X, W, Q, V, beta, eta = tables = drawn(seed, 60)
        sweep = proven_sweep(*tables)
        ev = expectation(Q, V, beta)
        for x, s in ((x, s) for x in range(1, 59) for s in range(3)):
            other = sweep.policy[x, s] + side
            if not sweep.policy[x - 1, s] <= other <= sweep.policy[x + 1, s] or X[other] >= W[x, s]:
                continue
            value, policy = sweep.value.copy(), sweep.policy.copy()
            policy[x, s] = other
            value[x, s] = crra_utility(W[x, s] - X[other], eta) + ev[s, other]
            loss = sweep.value[x, s] - value[x, s]
            # Skip ties, and losses that are too large ever to be confirmed.
            if not 0.0 < loss < 0.5 * MAX_GAP * max(-value.min(), value.max()):
                continue
            planted += 1
            assert confirm(tables, value, policy, 0.1 * loss) is None
            found = confirm(tables, value, policy, 2.0 * loss)
            assert found is not None
            assert found.residual == loss
            break
    assert planted > 10


@pytest.mark.parametrize("seed", range(12))
def test_faults_are_seen_as_by_the_sweep(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tables = drawn(seed, 600)
    sweep = proven_sweep(*tables)
    kinds = set()
    for _ in range(6):
        value, policy = sweep.value.copy(), sweep.policy.copy()
        for _ in range(rng.integers(1, 4)):
            x, s = rng.integers(600), rng.integers(3)
            if rng.random() < 0.5:
                value[x, s] += rng.choice([1e-12, -1e-10, 1e-8, -1e-3, np.nan])
            else:
                policy[x, s] = max(0, policy[x, s] + rng.integers(-3, 2))
        found, gap, loss = confirm(tables, value, policy, 1e-9), np.abs(sweep.value - value), losses(tables, policy)
        wrong = not (gap.max() <= 1.01e-9 and loss.max() <= 2.01e-9)
        assert (found is None) >= wrong
        assert found is None or found.residual == gap.max()
        kinds.add(wrong)
    assert True in kinds


def test_choices_of_the_sweep_before_are_repaired_be_they_few_or_many() -> None:
    tables = drawn(3, 1300)
    sweep = proven_sweep(*tables)
    generous = 1.0
    rows = np.flatnonzero(np.diff(sweep.policy[:, 0]) > 0)
    policy = sweep.policy.copy()
    # A row gets the choice of the next row, which is allowed and changes its neighbours' brackets, also across pieces.
    few = [*rows[:: rows.size // 4][:3], 511]
    policy[few, 0] = policy[np.array(few) + 1, 0]
    found = confirm(tables, sweep.value, policy, generous)
    assert found is not None
    assert found.residual == 0.0
    policy = sweep.policy.copy()
    many = rows[::2]
    assert many.size > 3 * (MAX_REPAIRS + CHUNK_REPAIRS)
    policy[many, 0] = policy[many + 1, 0]
    found = confirm(tables, sweep.value, policy, generous)
    assert found is not None
    assert found.residual == 0.0
    assert losses(tables, found.policy).max() <= 0.0
    # A policy that is wrong from end to end is not repaired.
    assert confirm(tables, sweep.value, np.zeros_like(policy), generous) is None


def smooth() -> tuple[Any, ...]:
    """Return a growth model on a grid so fine that choices rise by at most one point per row."""
    X = np.linspace(1.0, 9.0, 1600)
    W = np.stack([z * X**0.36 + 0.9 * X for z in (0.98, 1.02)], axis=1)
    return X, W, np.array([[0.9, 0.1], [0.1, 0.9]]), 2.0 * np.sqrt(W), 0.95, 1.5


@pytest.mark.parametrize("side", [-1, 1])
def test_a_choice_that_is_one_point_off_is_found_where_choices_rise_by_one(side: int) -> None:
    X, W, Q, V, beta, eta = tables = smooth()
    sweep = proven_sweep(*tables)
    found = confirm(tables, sweep.value, sweep.policy)
    assert found is not None
    assert found.residual == 0.0
    assert found.rounding >= sweep.slack
    ev = expectation(Q, V, beta)
    rises = np.diff(sweep.policy, axis=0)
    assert set(np.unique(rises)) == {0, 1}
    # A whole piece whose choices rise towards one neighbour and not towards the other.
    ends = rises[519:1000], rises[520:1001]
    tried = 0
    offs = np.argwhere((ends[0] == (side == -1)) & (ends[1] == (side == 1)))
    for x, s in zip(offs[:, 0] + 520, offs[:, 1], strict=True):
        value, policy = sweep.value.copy(), sweep.policy.copy()
        policy[x, s] += side
        value[x, s] = crra_utility(W[x, s] - X[policy[x, s]], eta) + ev[s, policy[x, s]]
        loss = sweep.value[x, s] - value[x, s]
        if loss > 1e-13:
            tried += 1
            assert confirm(tables, value, policy, 0.1 * loss) is None
    assert tried > 10


def test_choices_of_a_sweep_before_are_repaired_where_choices_rise_by_one() -> None:
    tables = smooth()
    sweep = proven_sweep(*tables)
    policy, rises = sweep.policy.copy(), np.diff(sweep.policy, axis=0)
    rng = np.random.default_rng(4)
    value = sweep.value + rng.uniform(-1e-3, 1e-3, sweep.value.shape)
    for side, (before, after) in {-1: (1, 0), 1: (0, 1)}.items():
        offs = np.argwhere((rises[:-1] == before) & (rises[1:] == after))[side % 3 :: 4]
        policy[offs[:, 0] + 1, offs[:, 1]] += side
    wrong = policy != sweep.policy
    assert wrong.sum() > 2 * MAX_REPAIRS
    given = policy.copy()
    generous = 1.0
    found = confirm(tables, value, policy, generous)
    assert found is not None
    np.testing.assert_array_equal(policy, given)
    assert found.residual == np.abs(sweep.value - value).max()
    assert sweep.slack <= found.rounding < 1e-10
    # A stretch one point too low: what its first row should choose is between its bounds only after the second.
    for s in range(2):
        first, last = np.flatnonzero(rises[600:, s] == 0)[:2] + 600
        policy = sweep.policy.copy()
        policy[first : last + 1, s] -= 1
        assert set(np.diff(policy[:, s])) == {0, 1}
        exact = confirm(tables, sweep.value, policy, generous)
        assert exact is not None
        assert exact.residual == 0.0
    # What a repaired choice loses counts, also where all rows of a piece are smooth.
    policy = sweep.policy.copy()
    policy[520:1000] = given[520:1000]
    loss = float(losses(tables, policy).max())
    assert confirm(tables, sweep.value, policy, loss) is not None
    assert confirm(tables, sweep.value, policy, 0.4 * loss) is None


def test_inputs_that_cannot_be_confirmed() -> None:
    tables = drawn(5, 40)
    sweep = proven_sweep(*tables)
    for change in ({"falls": -1}, {"unaffordable": 39}):
        policy = sweep.policy.copy()
        policy[20, 1] = next(iter(change.values()))
        assert confirm(tables, sweep.value, policy, 1e9) is None
    spoilt = tables[3].copy()
    spoilt[7, 2] = -np.inf
    assert confirm((*tables[:3], spoilt, *tables[4:]), sweep.value, sweep.policy) is None


@pytest.mark.parametrize("general", [False, True])
@pytest.mark.parametrize("scale", [1e6, 1e12, 1e100])
@pytest.mark.parametrize("eta", [0.3, 0.43, 0.01])
def test_bounds_of_an_eta_below_one_half(eta: float, scale: float, general: bool) -> None:
    # 1 - eta is rounded, which changes a large utility by more than all other roundings.
    grid, wealth, beta = np.array([1.0, 1.7, 2.3]) * scale, np.array([[2.9], [3.8], [5.1]]) * scale, 1e-6
    more: dict[str, Any] = {"alternatives": [bl.Alternative(name="only")]} if general else {}
    problem = bl.Problem(
        grid=grid, wealth=wealth, transition=[[1.0]], start=np.zeros((3, 1)), beta=beta, eta=eta, **more
    )
    result = bl.solve(problem, progress=False)
    assert result.success
    assert bellman.distance(problem.form, result.value) <= result.error_bound
