"""All messages of refused problems, in full, and problems that are accepted."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import beltline as bl
from support.fakes import problem, tables

GOOD = tables(5, 2)


def edited(name: str, index: Any, value: float) -> dict[str, Any]:
    table: NDArray[np.float64] = np.array(GOOD[name], dtype=np.float64)
    table[index] = value
    return {name: table}


GRID = np.array(GOOD["grid"])

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"beta": 1.0}, "beta must be a number above 0 and below 1, not 1.0"),
    ({"beta": 1.5}, "beta must be a number above 0 and below 1, not 1.5"),
    ({"beta": 0}, "beta must be a number above 0 and below 1, not 0"),
    ({"beta": np.float64("nan")}, "beta must be a number above 0 and below 1, not nan"),
    ({"beta": "0.9"}, "beta must be a number above 0 and below 1, not '0.9'"),
    ({"beta": True}, "beta must be a number above 0 and below 1, not True"),
    ({"beta": np.array([0.9])}, "beta must be a number or have shape (2,) or (T, 2), not (1,)"),
    ({"beta": 0.9 + 0j}, "beta must be a number above 0 and below 1, not (0.9+0j)"),
    ({"beta": None}, "beta must be a number above 0 and below 1, not None"),
    ({"eta": -2}, "eta must be a number from 0 to 16, not -2"),
    ({"eta": 16.5}, "eta must be a number from 0 to 16, not 16.5"),
    ({"eta": float("inf")}, "eta must be a number from 0 to 16, not inf"),
    ({"eta": float("nan")}, "eta must be a number from 0 to 16, not nan"),
    ({"horizon": 0}, "horizon must be a whole number from 1 to 65536, or None for an infinite horizon, not 0"),
    ({"horizon": 2.5}, "horizon must be a whole number from 1 to 65536, or None for an infinite horizon, not 2.5"),
    ({"horizon": True}, "horizon must be a whole number from 1 to 65536, or None for an infinite horizon, not True"),
    ({"horizon": 10**9}, "horizon must be a whole number from 1 to 65536, or None for an infinite horizon, not 10"),
    (
        edited("grid", 3, GRID[2]),
        f"grid must be strictly increasing, but grid[3] = {GRID[2]:.17g} is not above grid[2] = {GRID[2]:.17g}",
    ),
    ({"grid": GRID[::-1]}, f"grid must be strictly increasing, but grid[1] = {GRID[3]:.17g} is not above grid[0]"),
    (edited("grid", 2, np.nan), "grid must be finite, but grid[2] is nan"),
    ({"grid": [1.0]}, "grid must have at least 2 points, not 1"),
    ({"grid": []}, "grid must have at least 2 points, not 0"),
    ({"grid": 3.0}, "grid must be a one-dimensional array, not one of shape ()"),
    ({"grid": [GRID]}, "grid must be a one-dimensional array, not one of shape (1, 5)"),
    ({"grid": ["a", "b"]}, "grid must be a one-dimensional array of real numbers, not of type <U1"),
    ({"grid": GRID + 1j}, "grid must be a one-dimensional array of real numbers, not of type complex128"),
    ({"grid": [True, False]}, "grid must be a one-dimensional array of real numbers, not of type bool"),
    ({"grid": [None, 1.0]}, "grid must be a one-dimensional array of real numbers, not of type object"),
    ({"grid": [[1.0], [2.0, 3.0]]}, "grid must be a one-dimensional array of real numbers, not a ragged sequence"),
    (edited("transition", (1, 0), -0.1), "transition must not be negative, but transition[1, 0] is -0.1"),
    (
        {"transition": [[0.5, 0.5], [0.5, 0.4]]},
        "rows of transition must sum to 1 within 1e-12, but row 1 sums to 0.9",
    ),
    (
        {"transition": [[0.5, 0.5 + 1e-11], [0.5, 0.5]]},
        "rows of transition must sum to 1 within 1e-12, but row 0 sums to 1.00000000001",
    ),
    (edited("transition", (0, 1), np.inf), "transition must be finite, but transition[0, 1] is inf"),
    (
        {"transition": np.ones((2, 1))},
        "transition must be square, one row and one column per exogenous state, not of shape (2, 1)",
    ),
    (
        {"transition": np.ones((0, 0))},
        "transition must be square, one row and one column per exogenous state, not of shape (0, 0)",
    ),
    (
        {"transition": [[1.0]]},
        "wealth must have one row per grid point and one column per exogenous state, shape (5, 1), not (5, 2)",
    ),
    (
        {"start": np.zeros((2, 5))},
        "start must have one row per grid point and one column per exogenous state, shape (5, 2), not (2, 5)",
    ),
    (edited("wealth", (4, 1), -np.inf), "wealth must be finite, but wealth[4, 1] is -inf"),
    (edited("wealth", (2, 1), 1.0), "wealth must not fall as the grid rises, but wealth[2, 1] = 1 is below"),
    (
        {"wealth": np.array(GOOD["wealth"]) - [0.0, 3.0]},
        "must exceed grid[0] = ",
    ),
    (
        {"wealth": np.full((5, 2), GRID[0])},
        f"wealth[0, 0] = {GRID[0]:.17g} must exceed grid[0] = {GRID[0]:.17g}, or no choice is affordable in that state",
    ),
    (edited("start", (0, 0), np.nan), "start must be finite, but start[0, 0] is nan"),
    ({"start": "zero"}, "start must be a two-dimensional array of real numbers, not of type <U4"),
    ({"name": 3}, "name must be a string, not 3"),
    ({"labels": ["a"]}, "labels must name all 2 exogenous states, not 1"),
    ({"labels": [1, 2]}, "labels must be a sequence of strings, not [1, 2]"),
    ({"labels": "ab"}, "labels must be a sequence of strings, not 'ab'"),
    ({"shock": 3}, "shock must be a string, not 3"),
    ({"name": "a\x1b[2J"}, r"name must have no control characters, not 'a\x1b[2J'"),
    ({"labels": ["low", "high\n"]}, r"labels[1] must have no control characters, not 'high\n'"),
    ({"asset": "k\u202e"}, r"asset must have no control characters, not 'k\u202e'"),
    ({"parameters": {"\x07": 1.0}}, r"the name of parameters['\x07'] must have no control characters, not '\x07'"),
    (
        {"output": np.ones((5, 3))},
        "output must have one row per grid point and one column per exogenous state, shape (5, 2), not (5, 3)",
    ),
    ({"output": np.full((5, 2), np.inf)}, "output must be finite, but output[0, 0] is inf"),
    (
        {"marginal_wealth": [1.0, 2.0]},
        "marginal_wealth must be a two-dimensional array, not one of shape (2,)",
    ),
    (
        {"marginal_wealth": np.array([[1.0, 1.0]] * 3 + [[1.0, 0.0]] * 2)},
        "marginal_wealth must be above 0, but marginal_wealth[3, 1] is 0",
    ),
    (
        {"shock_values": [1.0]},
        "shock_values must have one value for each of the 2 exogenous states, not 1",
    ),
    ({"shock_values": 1.0}, "shock_values must be a one-dimensional array, not one of shape ()"),
    ({"parameters": 3}, "parameters must be a mapping of names to numbers, not 3"),
    ({"parameters": {1: 2.0}}, "names of parameters must be strings, not 1"),
    ({"parameters": {"alpha": "a"}}, "parameters['alpha'] must be a finite number, not 'a'"),
    ({"parameters": {"alpha": float("nan")}}, "parameters['alpha'] must be a finite number, not nan"),
]


@pytest.mark.parametrize(("changes", "sentence"), REFUSED, ids=[str(i) for i in range(len(REFUSED))])
def test_refusal(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(bl.ProblemError, match=re.escape(sentence)) as caught:
        bl.Problem(**(GOOD | changes))  # type: ignore[arg-type]
    text = str(caught.value)
    assert "\n" not in text
    assert "np." not in text
    assert len(text) < 220


def test_problem_error_is_value_error() -> None:
    assert issubclass(bl.ProblemError, ValueError)


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
