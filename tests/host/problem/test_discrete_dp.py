"""Discrete problems: accepted forms, refused ones, and the conversion back."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import beltline as bl
from support.discrete import by_brute_force, savings, storage

R, Q, BETA = storage(2, 3)
S, A = np.nonzero(R > -np.inf)


def test_transitions_of_what_cannot_be_taken_are_not_looked_at() -> None:
    impossible = R == -np.inf
    wild = np.where(impossible[:, :, None], np.nan, Q)
    expected = by_brute_force(R, Q, BETA)[0]
    np.testing.assert_allclose(bl.solve(bl.from_discrete_dp(R, wild, BETA)).value, expected, rtol=1e-12)
    every = np.argwhere(np.ones(R.shape, bool))
    rows = wild.reshape(-1, 6)
    made = bl.from_discrete_dp(R.reshape(-1), rows, BETA, every[:, 0], every[:, 1])
    np.testing.assert_allclose(bl.solve(made).value, expected, rtol=1e-12)


def test_transitions_that_do_not_factor_are_named_where_factors_are_asked_for() -> None:
    R, Q, beta, *_ = savings(6)
    assert bl.from_discrete_dp(R, Q, beta, endog_size=6).shape == (6, 2)
    with pytest.raises(bl.ProblemError, match=r"^endog_size must be a whole number that divides the 12 states, not 5$"):
        bl.from_discrete_dp(R, Q, beta, endog_size=5)
    bent = Q.copy()
    # State 8 is grid point 4 with the first income: action 2 leads to 4 and 5.
    bent[8, 2, 4:6] = 0.8, 0.2
    sentence = (
        "with endog_size = 6 an action must choose the next endogenous state, and one Markov chain must govern the 2 "
        "exogenous states, but Q[8, 2, 4] is 0.8 instead of 0.9; leave out endog_size, and any Q is accepted"
    )
    with pytest.raises(bl.ProblemError, match=f"^{re.escape(sentence)}$"):
        bl.from_discrete_dp(R, bent, beta, endog_size=6)
    bent = Q.copy()
    bent[8, 2, 4:8] = 0.45, 0.05, 0.45, 0.05
    with pytest.raises(bl.ProblemError, match=r"but Q\[8, 2, 4\] is 0\.45 instead of 0\.9;"):
        bl.from_discrete_dp(R, bent, beta, endog_size=6)
    s, a = np.nonzero(R > -np.inf)
    with pytest.raises(bl.ProblemError, match=r"but Q\[\d+, 4\] is 0\.45 instead of 0\.9;"):
        bl.from_discrete_dp(R[s, a], bent[s, a], beta, s, a, endog_size=6)
    assert bl.solve(bl.from_discrete_dp(R, bent, beta)).success


CHAIN = np.array([[0.9, 0.1], [0.2, 0.8]])


def test_what_does_not_fit_the_memory_is_refused_before_anything_is_asked_for() -> None:
    with pytest.raises(bl.ProblemError, match=r"^a discrete program of \d[\d,]+ pairs of a state and an action needs "):
        bl.from_factors(10**6, CHAIN, reward=lambda k, z, a: pytest.fail("asked"), beta=0.9)


def test_what_messages_advise_solves_the_problems_that_they_refuse() -> None:
    grid = np.linspace(1.0, 6.0, 40)
    wealth = 12.0 - grid[:, None] + np.array([0.0, 0.5])
    given: dict[str, Any] = {"grid": grid, "beta": 0.95, "eta": 2.0}
    with pytest.raises(bl.ProblemError, match=r": solve it as a discrete program, bl\.from_factors, "):
        bl.Problem(**given, wealth=wealth, transition=CHAIN)
    reward = -1.0 / np.maximum(wealth[:, :, None] - grid, 1e-3)
    assert bl.solve(bl.from_factors(40, CHAIN, reward=reward, beta=0.95)).success
    for rounded in (np.float32([[0.1, 0.9], [0.7, 0.3]]), np.array([[1 / 3, 2 / 3], [0.5, 0.5]]).round(2) - 0.001):
        with pytest.raises(bl.ProblemError, match=r"pass Q / Q\.sum\(-1, keepdims=True\) of Q in float64$"):
            bl.Problem(**given, wealth=1.1 * grid[:, None] + CHAIN[0], transition=rounded)
        Q = np.float64(rounded)
        bl.Problem(**given, wealth=1.1 * grid[:, None] + CHAIN[0], transition=Q / Q.sum(-1, keepdims=True))


def general_problem() -> bl.Problem:
    """Return a problem with two regimes, a bound, a lottery over regimes, and an alternative given by its value."""
    grid = np.linspace(0.0, 4.0, 12)
    wealth = 1.02 * grid[:, None] + [0.5, 1.2]
    return bl.Problem(
        grid=grid, wealth=wealth, transition=CHAIN, start=np.zeros((12, 2)), beta=0.9, eta=2.0,
        alternatives=[
            bl.Alternative(name="work", regime="in", leads_to={"in": 0.9, "out": 0.1}),
            bl.Alternative(name="quit", regime="in", leads_to="out", kappa=1.3),
            bl.Alternative(name="sell", regime="in", value=-12.0 - 1.0 / (1.0 + wealth)),
            bl.Alternative(name="rest", regime="out", high=np.maximum(np.arange(12), 2), wealth=wealth - 0.05),
        ],
    )  # fmt: skip


def whole_tables(arrays: tuple[Any, ...]) -> tuple[Any, Any, float]:
    """Return the problem in product form, from the form of state-action pairs."""
    rewards, rows, beta, s, a = arrays
    R, Q = np.full((rows.shape[1], a.max() + 1), -np.inf), np.zeros((rows.shape[1], a.max() + 1, rows.shape[1]))
    R[s, a], Q[s, a] = rewards, rows.toarray()
    return R, Q, beta


def test_problems_of_every_form_have_the_value_of_their_discrete_dp() -> None:
    for problem in (bl.rbc(grid=16), general_problem()):
        solved = bl.solve(problem)
        assert solved.success
        arrays = bl.to_discrete_dp(problem)
        value, _ = by_brute_force(*whole_tables(arrays))
        np.testing.assert_allclose(value[: solved.value.size], solved.value.reshape(-1), atol=1e-8)
        again = bl.solve(bl.from_discrete_dp(*arrays))
        assert again.success
        np.testing.assert_allclose(again.value, value, atol=1e-9)
    # In the last problem each alternative is taken in some state, and there is one state more than its tables have.
    assert set(np.unique(solved.alternative)) == {0, 1, 2, 3}
    assert value.size == solved.value.size + 1
    assert value[-1] == 0.0


def test_there_and_back_are_the_same_tables() -> None:
    R, Q, beta, *_ = savings(8)
    again = whole_tables(bl.to_discrete_dp(bl.from_discrete_dp(R, Q, beta)))
    np.testing.assert_array_equal(again[0], R)
    np.testing.assert_array_equal(again[1][R > -np.inf], Q[R > -np.inf])
    assert again[2] == beta


def test_a_sparse_matrix_for_each_action_gives_the_same() -> None:
    rng = np.random.default_rng(0)
    R, Q = rng.normal(size=(30, 4)), rng.dirichlet(np.ones(30), size=(30, 4))
    R[3, 1] = -np.inf
    whole = bl.solve(bl.from_discrete_dp(R, Q, 0.9), progress=False)
    parts = bl.solve(bl.from_discrete_dp(R, [sparse.csr_matrix(Q[:, a]) for a in range(4)], 0.9), progress=False)
    assert np.array_equal(whole.value, parts.value)
    assert np.array_equal(whole.policy, parts.policy)


def _beyond(matrix: Any, part: str, value: int) -> Any:
    getattr(matrix, part)[0 if part != "indptr" else 1] = value
    return matrix


@pytest.mark.parametrize(
    ("form", "part", "value"),
    [(form, part, value) for form in ("csr", "csc") for part in ("indices", "indptr") for value in (-5, 7)]
    + [("coo", part, value) for part in ("row", "col") for value in (-5, 7)],
)
def test_a_sparse_matrix_whose_indices_are_wrong_is_refused(form: str, part: str, value: int) -> None:
    """SciPy reads and writes memory by them without a check."""
    rows = np.array([[0.5, 0.5], [0.0, 1.0], [0.0, 1.0], [0.5, 0.5]])
    with pytest.raises(bl.ProblemError, match="^Q must be a valid sparse matrix, and SciPy says: "):
        bl.from_discrete_dp(
            np.arange(4.0), _beyond(sparse.csr_matrix(rows).asformat(form), part, value), 0.9,
            s_indices=[0, 0, 1, 1], a_indices=[0, 1, 0, 1],
        )  # fmt: skip
    wrong = _beyond(sparse.csr_matrix(rows[:2]).asformat(form), part, value)
    with pytest.raises(bl.ProblemError, match=r"^Q\[1\] must be a valid sparse matrix, and SciPy says: "):
        bl.from_discrete_dp(np.ones((2, 2)), [sparse.csr_matrix(rows[2:]), wrong], 0.9)
