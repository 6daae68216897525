"""Stationary masses, of a population that enters and leaves too, compared with iteration and with cases by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

import beltline as bl
from beltline.host.analysis.long_run import renewed
from beltline.host.analysis.policy import Policy
from beltline.host.analysis.stationary import _balanced, _one_class, stationary_mass


@pytest.mark.parametrize("seed", range(8))
def test_the_mass_is_the_limit_of_iteration(seed: int) -> None:
    random = np.random.default_rng(seed)
    step = 0.9 * random.dirichlet(np.ones(12), 12) * (random.random((12, 12)) < 0.4)
    entering = random.random(12) * (random.random(12) < 0.5)
    wanted = np.zeros(12)
    for _ in range(600):
        wanted = wanted @ step + entering
    found = renewed(csr_matrix(step), entering)
    assert found is not None
    assert found == pytest.approx(wanted, rel=1e-9, abs=1e-12)
    # What leaves equals what enters.
    assert found @ (1.0 - step.sum(axis=1)) == pytest.approx(entering.sum(), rel=1e-12)


def test_there_is_none_where_some_never_leave() -> None:
    entering = np.array([1.0, 0.0, 0.0, 0.0])
    step = np.array([[0.0, 0.9, 0.1, 0.0], [0.0, 0.9, 0.1, 0.0], [0.0, 0.2, 0.8, 0.0], [0.0, 0.0, 0.0, 1.0]])
    assert renewed(csr_matrix(step), entering) is None
    step[2] = 0.0
    # 0.9 come to the second state in the first period, and a tenth leaves in each: x = 0.9 + 0.9 x.
    assert renewed(csr_matrix(step), entering) == pytest.approx([1.0, 9.0, 0.1 + 0.1 * 9.0, 0.0], rel=1e-12)


def test_the_stationary_mass_of_a_policy_is_that_of_its_dense_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = np.array([[0.9, 0.1], [0.2, 0.8]])
    # Choices go one point down in the first state and up in the second, which is a random walk on all points.
    on_grid = Policy.single(np.array([[0, 1], [0, 2], [1, 3], [2, 3]], np.int32), chain)
    share = np.array([[0.0, 0.7], [0.5, 0.25], [0.5, 1.0], [0.3, 1.0]])
    between = replace(on_grid, choice=np.array([[[0, 0], [0, 1], [1, 2], [2, 2]]], np.int32), share=share[None])
    for limit in (40_000, 0):
        monkeypatch.setattr("beltline.host.analysis.long_run.SOLVED_STATES", limit)
        for policy in (on_grid, between):
            mass = stationary_mass(policy)
            wanted = np.linalg.matrix_power(policy.matrix().toarray(), 1 << 14)[0]
            assert mass.ravel() == pytest.approx(wanted, abs=1e-11)
            assert policy.forward(mass) == pytest.approx(mass, abs=1e-13)
            assert mass.sum(axis=(0, 1)) == pytest.approx([2 / 3, 1 / 3], rel=1e-14)
    halves = Policy.single(np.array([[0, 1], [0, 1], [2, 3], [2, 3]], np.int32), chain)
    with pytest.raises(bl.ProblemError, match=r"^the long run depends on the start: "):
        stationary_mass(halves)
    alone = Policy.single(np.zeros((3, 1), np.int32), np.ones((1, 1)))
    assert stationary_mass(alone).ravel().tolist() == [1.0, 0.0, 0.0]


def drawn(random: np.random.Generator) -> Policy:
    """Return a policy of few alternatives and regimes whose choices often stay, go to an end or lie between points."""
    regimes, points, states = (int(random.integers(low, high)) for low, high in ((1, 3), (2, 40), (1, 4)))
    count = regimes + int(random.integers(0, 3))
    shape = (count, points, states)
    regime = np.concatenate([np.arange(regimes), random.integers(0, regimes, count - regimes)])
    near = np.arange(points)[:, None] + random.integers(-3, 4, shape)
    choice = np.clip(np.where(random.random(shape) < 0.1, 0, near), 0, points - 2).astype(np.int32)
    share = np.where(random.random(shape) < 0.4, random.random(shape), random.integers(0, 2, shape) * 1.0)
    weight = random.exponential(1.0, shape) * (random.random(shape) < 0.8) + 1e-3
    total = np.stack([weight[regime == r].sum(axis=0) for r in range(regimes)])
    chain = random.dirichlet(np.full(states, 0.5), (count if count > 2 else 1, states)) * np.ones((count, 1, 1))
    mix = random.dirichlet(np.full(regimes, 0.7), count)
    return Policy(regime.astype(np.intp), choice, weight / total[regime], chain, mix, share)


def test_masses_of_random_policies_solve_their_equations() -> None:
    """Also where groups are empty, states transient, and regimes are never entered; one class is never said of two."""
    random, seen = np.random.default_rng(1), {True: 0, False: 0}
    for _ in range(300):
        policy = drawn(random)
        matrix = policy.matrix()
        number, label = connected_components(matrix, directed=True, connection="strong")
        start, end = matrix.nonzero()
        closed = number - np.unique(label[start[label[start] != label[end]]]).size
        tables = policy.regime, policy.choice, policy.shares, policy.probability, policy.chain, policy.mix
        one = any(_one_class(*tables, s) for s in range(policy.choice.shape[2]))
        assert closed == 1 or not one
        seen[one] += 1
        if closed > 1:
            with pytest.raises(bl.ProblemError, match=r"^the long run depends on the start: "):
                stationary_mass(policy)
            continue
        mass = stationary_mass(policy)
        assert (mass >= 0.0).all()
        assert mass.sum() == pytest.approx(1.0, abs=1e-12)
        assert np.abs(policy.forward(mass) - mass).sum() < 1e-11
        even = np.full(mass.swapaxes(1, 2).shape, 1.0 / mass.size)
        moves = (np.ascontiguousarray(table.swapaxes(1, 2)) for table in tables[1:4])
        if _balanced(policy.regime, *moves, policy.chain, policy.mix, np.empty(0), even, 400):
            assert even.swapaxes(1, 2) == pytest.approx(mass, abs=1e-9)
    assert min(seen.values()) > 20


def test_a_state_without_a_choice_is_in_no_class() -> None:
    policy = Policy.single(np.array([[0], [-1]], np.int32), np.ones((1, 1)))
    for probability in (policy.probability, np.zeros((1, 2, 1))):
        assert not _one_class(policy.regime, policy.choice, policy.shares, probability, policy.chain, policy.mix, 0)
