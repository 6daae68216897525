"""All messages of refused problems, in full, and problems that are accepted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import beltline as bl
from support.fakes import problem, tables

GOOD = tables(5, 2)


def test_arrays_are_copied_and_locked() -> None:
    grid = np.array(GOOD["grid"])
    made = bl.Problem(**(GOOD | {"grid": grid}))  # type: ignore[arg-type]
    grid[0] = -100.0
    assert made.grid[0] != -100.0
    for table in (made.grid, made.wealth, made.transition, made.start):
        assert table.dtype == np.float64
        with pytest.raises(ValueError, match="read-only"):
            table[...] = 0.0


def test_lists_integers_and_numpy_scalars_are_taken() -> None:
    made = bl.Problem(
        grid=[1, 2, 3],  # type: ignore[arg-type]
        wealth=[[3], [4], [5]],  # type: ignore[arg-type]
        transition=[[1]],  # type: ignore[arg-type]
        start=[[0], [0], [0]],  # type: ignore[arg-type]
        beta=np.float32(0.5),
        eta=np.int64(2),  # type: ignore[arg-type]
        horizon=np.uint8(3),  # type: ignore[arg-type]
    )
    assert (made.points, made.states, made.beta, made.eta, made.horizon) == (3, 1, 0.5, 2.0, 3)


@pytest.mark.parametrize("more", [{}, {"horizon": 3}, {"taste": 0.1}])
def test_start_is_optional(more: dict[str, Any]) -> None:
    tables = {name: value for name, value in GOOD.items() if name != "start"}
    made = bl.Problem(**tables, **more)
    np.testing.assert_array_equal(made.start, np.zeros((5, 2)))
    assert not made.start.flags.writeable
    given = bl.Problem(**tables, **more, start=np.zeros((5, 2)))
    np.testing.assert_array_equal(bl.solve(made, progress=False).value, bl.solve(given, progress=False).value)


def test_rows_within_the_tolerance_are_taken() -> None:
    problem(5, 2, transition=[[0.5, 0.5 + 5e-13], [0.25, 0.75]])


def test_facts_are_taken_and_locked() -> None:
    given = {"alpha": 1, "delta": np.float64(0.5)}
    taken = problem(
        5, 2, marginal_wealth=np.ones((5, 2)), output=np.zeros((5, 2)), shock_values=(1, 2), parameters=given
    )
    assert taken.marginal_wealth is not None
    assert taken.shock_values is not None
    assert not taken.marginal_wealth.flags.writeable
    assert taken.shock_values.tolist() == [1.0, 2.0]
    assert taken.parameters == {"alpha": 1.0, "delta": 0.5}
    given["alpha"] = 9
    assert taken.parameters["alpha"] == 1.0
