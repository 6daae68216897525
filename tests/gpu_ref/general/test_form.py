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


def test_steps_and_prices_need_an_infinite_horizon() -> None:
    with pytest.raises(ValueError, match="^steps needs an infinite horizon, not horizon = 2$"):
        solve(Form((branch(),), eta=2.0, horizon=2), steps=3)
