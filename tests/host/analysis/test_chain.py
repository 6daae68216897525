"""The stationary distribution of a Markov chain, against fractions and the limit of its powers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import beltline as bl
from beltline.host.analysis.chain import chain_distribution
from beltline.host.problem.arrays import Array


def exact(transition: Array) -> list[Fraction]:
    """Return the stationary distribution of an irreducible chain whose diagonal follows from the other entries."""
    states = transition.shape[0]
    rates = [
        [Fraction(float(transition[i, j])) if i != j else Fraction(0) for j in range(states)] for i in range(states)
    ]
    for i in range(states):
        rates[i][i] = -sum(rates[i], Fraction(0))
    # Solve pi A = 0 with sum 1: the last equation is replaced by the sum.
    rows = [[rates[j][i] for j in range(states)] + [Fraction(0)] for i in range(states - 1)]
    rows.append([Fraction(1)] * (states + 1))
    for k in range(states):
        pivot = next(i for i in range(k, states) if rows[i][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [entry / rows[k][k] for entry in rows[k]]
        for i in range(states):
            if i != k and rows[i][k]:
                rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]


@settings(derandomize=True, deadline=None, max_examples=80)
@given(seed=st.integers(0, 2**32 - 1), states=st.integers(1, 6), scale=st.sampled_from([1e-1, 1e-9, 1e-15, 1e-40]))
def test_every_probability_has_a_small_relative_error(seed: int, states: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    transition = rng.uniform(0.0, 1.0, (states, states)) * scale ** rng.uniform(0.0, 1.0, (states, states))
    transition *= rng.random((states, states)) < 0.8
    # A ring leads from every state to every other.
    transition[np.arange(states), (np.arange(states) + 1) % states] += scale
    np.fill_diagonal(transition, 0.0)
    transition /= max(1.0, 1.01 * transition.sum(axis=1).max())
    np.fill_diagonal(transition, 1.0 - transition.sum(axis=1))
    found, wanted = chain_distribution(transition), exact(transition)
    assert found == pytest.approx([float(one) for one in wanted], rel=1e-13, abs=0.0)
    assert found.sum() == pytest.approx(1.0, rel=1e-15)


def test_states_that_are_left_have_no_probability() -> None:
    transition = np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.9, 0.1, 0.0], [0.0, 0.3, 0.7, 0.0], [0.1, 0.0, 0.0, 0.9]])
    assert chain_distribution(transition) == pytest.approx([0.0, 0.75, 0.25, 0.0], rel=1e-15)
    assert chain_distribution(np.array([[1.0]])).tolist() == [1.0]
    # A cycle, whose powers do not converge.
    assert chain_distribution(np.roll(np.eye(5), 1, axis=1)).tolist() == pytest.approx([0.2] * 5)


@pytest.mark.parametrize("separate", [np.eye(2), np.array([[1.0, 0.0, 0.0], [0.2, 0.5, 0.3], [0.0, 0.0, 1.0]])])
def test_separate_groups_are_refused(separate: Array) -> None:
    sentence = "transition has more than one stationary distribution: its states fall into separate groups"
    with pytest.raises(bl.ProblemError, match=f"^{sentence}$"):
        chain_distribution(separate)


def test_rare_changes_are_no_separate_groups() -> None:
    """The mean of a shock of rates 1e-15 and 3e-15, as the moments of a result print it."""
    X = np.linspace(1.0, 2.0, 5)
    transition = np.array([[1 - 1e-15, 1e-15], [3e-15, 1 - 3e-15]])
    problem = bl.Problem(
        grid=X, wealth=X[:, None] + np.array([0.1, 2.0]), transition=transition, start=np.zeros((5, 2)), beta=0.9,
        eta=2.0, output=X[:, None] + np.array([0.0, 1.0]), shock_values=[0.0, 1.0],
    )  # fmt: skip
    found = bl.stationary_distribution(bl.solve(problem, device="cpu", progress=False))
    assert found.sum(axis=0) == pytest.approx([0.75, 0.25], abs=1e-12)
    economy = bl.aiyagari(grid=50, states=3, rho=0.985)
    labour, chain = economy.labour()
    assert chain_distribution(chain) @ labour == pytest.approx(1.0, rel=1e-14)
