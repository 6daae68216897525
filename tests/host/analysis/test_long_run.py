"""Stationary masses, of a population that enters and leaves too, compared with iteration and with cases by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import beltline as bl
from beltline.host.analysis.long_run import renewed
from beltline.host.analysis.policy import Policy
from beltline.host.analysis.stationary import stationary_mass


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
