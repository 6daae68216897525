"""Tables of a general problem: each error is reported in one sentence, before any work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from beltline.gpu_ref.general import Branch, Form, Outside, solve

GRID = np.linspace(0.0, 3.0, 4)[:, None] + np.zeros((1, 2))


def with_one(table: np.ndarray, where: tuple[int, ...], value: float) -> np.ndarray:
    table = np.array(table, float)
    table[where] = value
    return table


def branch(**changed: Any) -> Branch:
    fields: dict[str, Any] = {
        "name": "save", "regime": 0, "wealth": 1.0 + GRID, "cost": GRID, "transition": np.eye(2), "beta": 0.9,
    }  # fmt: skip
    return Branch(**{**fields, **changed})


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"name": ""}, "the name of an alternative must be a string that is not empty, not ''"),
        ({"regime": -1}, "alternative 'save': regime must be a whole number from 0, not -1"),
        ({"wealth": np.ones(4)}, r"wealth must have shape (N_k, N_z) or (T, N_k, N_z), not (4,)"),
        ({"wealth": "much"}, "alternative 'save': wealth must be made of numbers, not 'much'"),
        ({"wealth": with_one(GRID, (2, 1), np.nan)}, "alternative 'save': wealth[2, 1] is nan, not finite"),
        ({"cost": GRID[:3]}, "alternative 'save': cost must have shape (4, 2) or (T, 4, 2), not (3, 2)"),
        ({"cost": with_one(GRID, (3, 0), np.inf)}, "alternative 'save': cost[3, 0] is inf, not finite"),
        ({"transition": np.eye(3)}, "transition must have shape (2, 2) or (T, 2, 2), not (3, 3)"),
        ({"transition": [[1.5, -0.5], [0, 1]]}, "alternative 'save': transition[0, 1] = -0.5 is negative"),
        ({"transition": [[1, 0], [0.4, 0.5]]}, "alternative 'save': row [1] of transition sums to 0.9, not 1"),
        ({"beta": [0.9, 0.0]}, "alternative 'save': beta[1] is 0.0, not positive"),
        ({"beta": [0.9, np.nan]}, "alternative 'save': beta[1] is nan, not finite"),
        ({"beta": np.ones(3)}, "alternative 'save': beta must be a number or have shape (2,) or (T, 2), not (3,)"),
        ({"kappa": np.inf}, "alternative 'save': kappa[0] is inf, not finite"),
        ({"mix": -1}, "alternative 'save': mix names regime -1, but regimes are numbered from 0"),
        ({"mix": [0.5, 0.4]}, "alternative 'save': mix sums to 0.9, not 1"),
        ({"mix": [1.5, -0.5]}, "alternative 'save': mix[1] = -0.5 is negative"),
        ({"mix": [[1.0]]}, "mix must be the number of a regime or have shape (N_r,), not (1, 1)"),
        ({"low": 4}, "alternative 'save': low[0, 0] is 4, not an index from 0 to 3"),
        ({"high": with_one(GRID, (1, 0), 1.5)}, "alternative 'save': high[1, 0] is 1.5, not an index from 0 to 3"),
        ({"low": np.zeros(4)}, "alternative 'save': low must be an index or have shape (4, 2), not (4,)"),
        (
            {"high": with_one(GRID, (2, 0), 0)},
            "alternative 'save': high must not fall in x, but high[2, 0] = 0 follows high[1, 0] = 1",
        ),
        ({"low": 2, "high": GRID}, "alternative 'save': low[0, 0] = 2 is above high[0, 0] = 0"),
    ],
)
def test_a_fault_of_an_alternative_is_one_sentence(changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError) as fault:
        branch(**changed)
    assert str(fault.value).endswith(sentence)
    assert "\n" not in str(fault.value)


AGED = np.stack([1.0 + GRID] * 3)


@pytest.mark.parametrize(
    ("alternatives", "rest", "sentence"),
    [
        ([], {}, "alternatives must hold at least one alternative, not none"),
        ([branch(), branch()], {}, "names of alternatives must differ, but 2 are called 'save'"),
        ([branch(regime=1, mix=1)], {}, "regime 0 has no alternative, though regime 1 has one"),
        ([branch(mix=1)], {}, "alternative 'save': mix names regime 1, but regimes are 0 to 0"),
        (
            [branch(mix=[0.5, 0.5])],
            {},
            "alternative 'save': mix must have shape (1,), one for each regime, not (2,)",
        ),
        (
            [branch(), Outside("exit", 0, np.zeros((3, 2)))],
            {},
            "alternative 'exit': its tables have (N_k, N_z) = (3, 2), but those of 'save' have (4, 2)",
        ),
        (
            [branch(wealth=with_one(1.0 + GRID, (2, 1), 0.5))],
            {},
            "alternative 'save': wealth must not fall in x, but wealth[2, 1] = 0.5 follows wealth[1, 1] = 2.0: "
            "solve it as a discrete program, bl.from_factors, which takes any reward of x, x' and s",
        ),
        ([branch()], {"eta": -0.5}, "eta must be 0 or more and finite, not -0.5"),
        ([branch()], {"eta": np.nan}, "eta must be 0 or more and finite, not nan"),
        ([branch()], {"sigma": -1.0}, "sigma must be 0 or more and finite, not -1.0"),
        ([branch()], {"negative": True}, "negative consumption needs eta = 0, not eta = 2.0"),
        ([branch()], {"eta": "two"}, "eta must be made of numbers, not 'two'"),
        ([branch(), 3], {}, "alternatives[1] must be a Branch or an Outside, not 3"),
        ([branch()], {"horizon": 0}, "horizon must be a whole number from 1 or None, not 0"),
        ([branch()], {"horizon": True}, "horizon must be a whole number from 1 or None, not True"),
        (
            [branch(beta=[0.5, 1.0])],
            {},
            "alternative 'save': beta[1] is 1.0: without a horizon it must be below 1",
        ),
        (
            [branch(wealth=AGED)],
            {},
            "alternative 'save': wealth has an axis of 3 ages, which needs a horizon",
        ),
        ([branch(wealth=AGED)], {"horizon": 2}, "alternative 'save': wealth has 3 ages, but horizon is 2"),
        (
            [branch(low=2), branch(name="also", cost=GRID + 2.0)],
            {},
            "regime 0 has no alternative in state [0, 0]: of 'save', 'also', the cheapest choice in bounds costs 1 "
            "more than wealth, and consumption must be positive",
        ),
        (
            [branch(wealth=AGED - np.array([0.0, 1.0, 0.0])[:, None, None])],
            {"horizon": 3},
            "regime 0 has no alternative in state [0, 0] at age 2: of 'save', the cheapest choice in bounds costs 0 "
            "more than wealth, and consumption must be positive",
        ),
    ],
)
def test_a_fault_of_a_problem_is_one_sentence(alternatives: list[Any], rest: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError) as fault:
        Form(tuple(alternatives), **{"eta": 2.0, **rest})
    assert str(fault.value) == sentence


def test_an_outside_option_may_be_missing_in_a_state_but_is_a_number() -> None:
    table = with_one(np.zeros((4, 2)), (1, 1), -np.inf)
    Form((branch(), Outside("exit", 0, table)), eta=2.0)
    with pytest.raises(ValueError, match=r"^regime 0 has no alternative in state \[1, 1\]"):
        Form((Outside("exit", 0, table),), eta=2.0)
    with pytest.raises(ValueError, match=r"^alternative 'exit': value\[1, 1\] is nan, neither finite nor -inf$"):
        Outside("exit", 0, with_one(table, (1, 1), np.nan))


def test_tables_are_copied() -> None:
    wealth = 1.0 + GRID
    one = branch(wealth=wealth)
    wealth[:] = -5.0
    assert (one.wealth == 1.0 + GRID).all()


def test_a_beta_above_one_needs_ages() -> None:
    assert solve(Form((branch(beta=1.5),), eta=2.0, horizon=2)).success


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"start": np.zeros((4, 2))}, "start must have shape (1, 4, 2), (N_r, N_k, N_z), not (4, 2)"),
        ({"start": np.full((1, 4, 2), -np.inf)}, "start[0, 0, 0] is -inf, not finite"),
        ({"tol": np.nan}, "tol must be 0 or more and finite, not nan"),
        ({"max_sweeps": 0}, "max_sweeps must be a whole number from 1, not 0"),
        ({"steps": -1}, "steps must be a whole number from 0, not -1"),
    ],
)
def test_a_fault_of_a_solve_is_one_sentence(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError) as fault:
        solve(Form((branch(),), eta=2.0), **arguments)
    assert str(fault.value) == sentence


def test_steps_and_prices_need_an_infinite_horizon() -> None:
    with pytest.raises(ValueError, match="^steps needs an infinite horizon, not horizon = 2$"):
        solve(Form((branch(),), eta=2.0, horizon=2), steps=3)
