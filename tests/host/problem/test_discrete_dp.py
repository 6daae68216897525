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
PAIRS: tuple[Any, ...] = (R[S, A], Q[S, A], BETA, S, A)


def changed(table: Any, where: Any, value: float) -> Any:
    table = np.array(table)
    table[where] = value
    return table


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((R, None, BETA), "Q must be an array of real numbers, not None"),
        ((R, Q), "beta must be a number from 0 and below 1, as the horizon is infinite, not None"),
        ((R, Q, 1.0), "beta must be a number from 0 and below 1, as the horizon is infinite, not 1.0"),
        ((changed(R, (0, 1), np.nan), Q, BETA),
         "R must be finite, or -inf where an action cannot be taken, but R[0, 1] is nan"),
        ((np.ma.masked_equal(R, R[0, 1]), Q, BETA),
         "R must be an array of real numbers, -inf where an action cannot be taken, not one whose entry [0, 1] is "
         "masked"),
        ((R, np.ma.masked_array(Q, changed(np.zeros(Q.shape), (3, 1, 2), 1)), BETA),
         "Q must be an array of real numbers, not one whose entry [3, 1, 2] is masked"),
        ((*PAIRS[:3], S, np.ma.masked_array(A, changed(np.zeros(A.shape), 2, 1))),
         "a_indices must be an array of whole numbers, not one whose entry [2] is masked"),
        ((R[:, :, None], Q, BETA), "R must have shape (n, m), or (L,) with s_indices and a_indices, not (6, 3, 1)"),
        (([[1.0], [1.0, 2.0]], Q, BETA), "R must be an array of real numbers, not a ragged sequence"),
        ((R, Q[:5], BETA), "Q must have shape (6, 3, 6), as R has (6, 3), not (5, 3, 6)"),
        ((R, sparse.eye_array(6), BETA),
         "Q must have shape (6, 3, 6), as R has (6, 3), and not be a sparse matrix of shape (6, 6)"),
        ((R, changed(Q, (3, 1, 2), -0.25), BETA), "Q[3, 1, 2] must not be negative, and is -0.25"),
        ((R, changed(Q, (3, 1, 2), 0.26), BETA), "Q[3, 1] must sum to 1 within 1e-12, not to 1.01"),
        ((R, changed(Q, (3, 1, 2), np.nan), BETA), "Q must be finite, but Q[3, 1, 2] is nan"),
        ((changed(R, 4, -np.inf), Q, BETA),
         "every state must have an action, and state 4 has none with a reward above -inf"),
        ((R, Q, BETA, S, A), "s_indices and a_indices need an R of shape (L,), one reward per pair, not (6, 3)"),
        (PAIRS[:3], f"s_indices must be {S.size} whole numbers, one for each of the pairs of R, not None"),
        ((*PAIRS[:3], S, changed(A, 2, -1)), "a_indices must be from 0 to 2147483647, but a_indices[2] is -1"),
        ((*PAIRS[:3], changed(S, -1, 6), A), f"s_indices must be from 0 to 5, but s_indices[{S.size - 1}] is 6"),
        ((*PAIRS[:3], changed(S, 1, 0), changed(A, 1, 0)),
         "pairs must differ, but pairs 0 and 1 are both action 0 in state 0"),
        ((PAIRS[0], changed(PAIRS[1], (5, 3), 0.5), *PAIRS[2:]), "row 5 of Q must sum to 1 within 1e-12, not to 1.25"),
        ((PAIRS[0], Q[S, A][:-1], *PAIRS[2:]),
         f"Q must have shape ({S.size}, n), one row for each of the pairs of R, not ({S.size - 1}, 6)"),
    ],
)  # fmt: skip
def test_refusals_of_discrete_dp(arguments: tuple[Any, ...], sentence: str) -> None:
    with pytest.raises(bl.ProblemError) as error:
        bl.from_discrete_dp(*arguments)
    assert str(error.value) == sentence


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


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"endog_size": 0}, "endog_size must be a whole number from 1 to 2147483647, not 0"),
        ({"exog_chain": CHAIN[:1]},
         "exog_chain must be square, one row and one column per exogenous state, not (1, 2)"),
        ({"exog_chain": [[1.1, -0.1], [0.0, 1.0]]}, "exog_chain[0, 1] must not be negative, and is -0.1"),
        ({"exog_chain": [[1.0, 0.0], [0.0, 0.5]]}, "row 1 of exog_chain must sum to 1 within 1e-12, not to 0.5"),
        ({"num_actions": 4}, "endog_next must be given where num_actions = 4 is above endog_size = 3"),
        ({"reward": None}, "reward must be an array or a function, not None"),
        ({"reward": np.zeros((3, 2))}, "reward must have shape (3, 2, 3), one axis each for k, z and a, not (3, 2)"),
        ({"reward": lambda k, z, a: 0.0}, "reward must have shape (3, 2, 3), one axis each for k, z and a, not ()"),
        ({"reward": lambda k, z, a: 1.0 if k > 0 else 0.0},
         "reward must take arrays of k, z and a; wrap a function of single numbers: numpy.vectorize(reward)"),
        ({"reward": changed(np.zeros((3, 2, 3)), (2, 1, 0), np.inf)},
         "reward must be finite, or -inf where an action cannot be taken, but reward[2, 1, 0] is inf"),
        ({"reward": np.ma.masked_array(np.zeros((3, 2, 3)), changed(np.zeros((3, 2, 3)), (2, 1, 0), 1))},
         "reward must be an array, not one whose entry [2, 1, 0] is masked"),
        ({"reward": lambda k, z, a: np.ma.masked_array(0.0 * a, a == 1)},
         "reward must be an array, not one whose entry [0, 0, 1] is masked"),
        ({"endog_next": np.full((3, 2, 3), 3)}, "endog_next must be from 0 to 2, but endog_next[0, 0, 0] is 3"),
        ({"endog_next": np.zeros((3, 2, 3))}, "endog_next must be made of whole numbers, not of type float64"),
        ({"feasible": np.zeros((3, 2, 3))}, "feasible must be made of True and False, not of type float64"),
        ({"feasible": changed(np.ones((3, 2, 3), bool), (1, 1), False)},
         "every state must have an action, and endogenous state 1, exogenous state 1 has none with a reward "
         "above -inf"),
        ({"beta": 1.5}, "beta must be a number from 0 and below 1, as the horizon is infinite, not 1.5"),
    ],
)  # fmt: skip
def test_what_are_no_factors(arguments: dict[str, Any], sentence: str) -> None:
    given: dict[str, Any] = {"endog_size": 3, "exog_chain": CHAIN, "reward": np.zeros((3, 2, 3)), "beta": 0.9}
    with pytest.raises(bl.ProblemError) as error:
        bl.from_factors(**(given | arguments))
    assert str(error.value) == sentence


def test_what_does_not_fit_the_memory_is_refused_before_anything_is_asked_for() -> None:
    with pytest.raises(bl.ProblemError, match=r"^a discrete program of \d[\d,]+ pairs of a state and an action needs "):
        bl.from_factors(10**6, CHAIN, reward=lambda k, z, a: pytest.fail("asked"), beta=0.9)


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


TWO = [bl.Alternative(name="stay"), bl.Alternative(name="go", beta=0.8)]


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"horizon": 3}, "a discrete dynamic program must have an infinite horizon, but problem 'small' has 3 ages"),
        ({"taste": 0.1}, "a discrete dynamic program must have no taste shocks, but problem 'small' has taste = 0.1"),
        (
            {"alternatives": TWO},
            "a discrete dynamic program must have one beta, but problem 'small' has betas from 0.8 to 0.9",
        ),
    ],
)
def test_what_has_no_discrete_dp(more: dict[str, Any], sentence: str) -> None:
    problem = bl.Problem(
        grid=[0.0, 1.0], wealth=[[2.0], [3.0]], transition=[[1.0]], start=np.zeros((2, 1)), beta=0.9, eta=1.0,
        name="small", **more,
    )  # fmt: skip
    with pytest.raises(bl.ProblemError) as error:
        bl.to_discrete_dp(problem)
    assert str(error.value) == sentence
    with pytest.raises(bl.ProblemError, match=r"^problem must be a Problem or a DiscreteProblem, not None$"):
        bl.to_discrete_dp(None)  # type: ignore[arg-type]
