"""Problems of the general form: which are accepted, and how errors are reported."""

from __future__ import annotations

import copy
import pickle
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.gpu_ref.cuda.device import available

GRID = np.linspace(0, 10, 40)
WEALTH = 1 + 1.02 * GRID[:, None] + np.array([0.0, 1.0])
TABLES: dict[str, Any] = {
    "grid": GRID,
    "wealth": WEALTH,
    "transition": np.array([[0.9, 0.1], [0.2, 0.8]]),
    "start": np.zeros((40, 2)),
    "beta": 0.95,
    "eta": 2.0,
}
CAREER = (
    bl.Alternative(name="work", regime="worker"),
    bl.Alternative(name="retire", regime="worker", leads_to="retired", wealth=WEALTH + 0.1),
    bl.Alternative(name="rest", regime="retired"),
)


@pytest.mark.parametrize(
    "more",
    [
        {"cost": 0.98 * GRID},
        {"low": 0, "high": 30},
        {"alternatives": CAREER},
        {"alternatives": [bl.Alternative(name="save")], "taste": 0.1},
        {"eta": 0},
        {"eta": 0, "negative": True},
        {"beta": [0.9, 0.95]},
        {"horizon": 3, "beta": 1.01},
        {"horizon": 3, "wealth": np.stack([WEALTH] * 3)},
        {"horizon": 3, "transition": np.stack([np.eye(2)] * 3)},
    ],
)
def test_what_makes_a_problem_general(more: dict[str, Any]) -> None:
    assert not bl.Problem(**TABLES).general
    problem = bl.Problem(**(TABLES | more))
    assert problem.general
    no_machine = "a machine takes beta times the probability of a state up to 1, and "
    which = "a cost|alternatives|high|eta = 0|beta by state|beta of 1 or more|(wealth|transition) by age"
    but = f"problem '.*' has ({which})(, taste)?, which device '.*' (takes|supports only) with "
    said = f"({no_machine}|{but})"
    with pytest.raises(bl.ProblemError, match=f"^{said}"):
        bl.solve(problem, device="emulator")
    if available():
        with pytest.raises(bl.DeviceError, match="^device 'gpu' cannot be used: "):
            bl.solve(problem, device="gpu")


def test_mappings_are_copied() -> None:
    chances = {"good": 0.5, "bad": 0.5}
    alternative = bl.Alternative(name="repay", regime="good", leads_to=chances)
    chances["good"], chances["bad"] = 0.9, 0.1
    assert alternative.leads_to == {"good": 0.5, "bad": 0.5}
    travelled = pickle.loads(pickle.dumps(alternative))
    assert travelled.chances() == {"good": 0.5, "bad": 0.5}
    for one in (alternative, travelled, copy.deepcopy(alternative)):
        with pytest.raises(TypeError, match="does not support item assignment"):
            one.leads_to["good"] = 0.9  # type: ignore[index]


def test_tables_are_copies() -> None:
    cost, wealth = 0.98 * GRID, WEALTH + 0.1
    move = bl.Alternative(name="move", wealth=wealth)
    problem = bl.Problem(**TABLES, cost=cost, alternatives=[move])
    cost[:], wealth[:] = 0.0, 0.0
    assert (problem.cost == 0.98 * GRID).all()
    assert (problem.alternatives[0].wealth == WEALTH + 0.1).all()
    with pytest.raises(ValueError, match="read-only"):
        problem.cost[0] = 1.0  # type: ignore[index]


def test_regimes_are_in_the_order_in_which_they_are_named() -> None:
    assert bl.Problem(**TABLES).regimes == ("",)
    assert bl.Problem(**TABLES, alternatives=CAREER).regimes == ("worker", "retired")


def test_every_state_has_an_affordable_alternative() -> None:
    with pytest.raises(bl.ProblemError, match=r"has no alternative in state \[0, 0\]: .* costs 99 more than wealth"):
        bl.Problem(**TABLES, cost=GRID + 100)
    poor = bl.Alternative(name="rest", regime="retired", wealth=WEALTH - 2)
    with pytest.raises(bl.ProblemError, match=r"^regime 'retired' has no alternative in state \[0, 0\]"):
        bl.Problem(**TABLES, alternatives=[*CAREER[:2], poor])


def test_messages_name_the_alternatives_without_a_value_and_those_that_cannot_be_afforded() -> None:
    nothing = bl.Alternative(name="exit", value=np.full((40, 2), -np.inf))
    poor = bl.Alternative(name="rest", wealth=WEALTH - 2)
    begin = "regime 0 has no alternative in state [0, 0]: "
    costs = "of 'rest', the cheapest choice in bounds costs 1 more than wealth, and consumption must be positive"
    for alternatives, sentence in (
        ([nothing], "the value of 'exit' is -inf there"),
        ([nothing, poor], f"{costs}; the value of 'exit' is -inf there"),
        ([poor], costs),
    ):
        with pytest.raises(bl.ProblemError, match="^" + re.escape(begin + sentence) + "$"):
            bl.Problem(**TABLES, alternatives=alternatives)


@pytest.mark.parametrize("zero", [0, 0.0, np.int64(0), np.float64(0.0), np.zeros(40, np.int64)])
@pytest.mark.parametrize("more", [{}, {"low": 0}, {"horizon": 3}, {"alternatives": [bl.Alternative(name="save")]}])
def test_a_highest_candidate_of_0_is_a_bound(zero: Any, more: dict[str, Any], tmp_path: Path) -> None:
    """It leaves the lowest choice only: everything is consumed."""
    problem = bl.Problem(**TABLES, high=zero, **more)
    result = bl.solve(problem, tol=1e-6, device="cpu")
    assert result.success
    assert problem.general
    assert (result.policy == 0).all()
    assert np.array_equal(bl.load(result.save(tmp_path / "result.npz")).problem.high, zero)
    with pytest.raises(bl.ProblemError, match="supports only with the options lanes= and general=1"):
        bl.solve(problem, tol=1e-6, device="emulator")


@pytest.mark.parametrize(
    "more",
    [{"low": 0}, {"low": np.int64(0)}, {"taste": 0}, {"taste": np.float64(0)}]
    + [{"alternatives": none} for none in ((), [], None)]
    + [{name: None} for name in ("cost", "low", "high")],
)
def test_values_that_make_no_difference_leave_the_simple_form(more: dict[str, Any]) -> None:
    assert not bl.Problem(**TABLES, **more).general


def test_tables_none_of_whose_entries_is_masked_are_tables() -> None:
    assert (bl.Problem(**TABLES, cost=np.ma.masked_array(GRID)).cost == GRID).all()


@pytest.mark.parametrize(
    ("dear", "why"),
    [
        ({"cost": GRID + 100.2}, "the cheapest choice in bounds costs at least 88 more than wealth"),
        ({"wealth": WEALTH - 100.2}, "the cheapest choice"),
        ({"cost": GRID + 12.2, "choice": 0}, "the cheapest choice"),
        ({"cost": np.r_[[0.0] * 39, 200.0], "low": 39}, "the cheapest choice"),
        ({"value": np.full((40, 2), -np.inf)}, "its value is -inf."),
    ],
)
@pytest.mark.parametrize("taste", [0.0, 0.1])
def test_an_alternative_that_is_possible_nowhere_is_never_taken(dear: dict[str, Any], why: str, taste: float) -> None:
    save = bl.Alternative(name="save")
    given = bl.Problem(**TABLES, taste=taste, alternatives=[save, bl.Alternative(name="dear", **dear)])
    found, alone = (bl.solve(one, progress=False) for one in (given, replace(given, alternatives=[save])))
    assert found.success
    assert f"Alternative 'dear' is possible in no state: {why}" in found.message
    assert (found.alternative == 0).all()
    np.testing.assert_allclose(found.value, alone.value, rtol=1e-12)


@pytest.mark.parametrize("age", [0, 1, 2])
def test_an_alternative_that_is_affordable_at_one_age_is_accepted(age: int) -> None:
    wealth, value = np.full((3, 40, 2), -1.0), np.full((3, 40, 2), -np.inf)
    wealth[age, 39, 1], value[age, 39, 1] = 0.1, 0.0
    seldom = [bl.Alternative(name="dear", wealth=wealth), bl.Alternative(name="exit", value=value)]
    more: dict[str, Any] = {"horizon": 3, "alternatives": [bl.Alternative(name="save"), *seldom]}
    assert len(bl.Problem(**TABLES, **more).form.alternatives) == 3


def test_ages_of_messages_begin_with_1() -> None:
    wealth = np.stack([WEALTH] * 3)
    wealth[2] -= 2.0
    with pytest.raises(bl.ProblemError, match=r"^regime 0 has no alternative in state \[0, 0\] at age 3: "):
        bl.Problem(**(TABLES | {"wealth": wealth, "horizon": 3}))


@pytest.mark.parametrize("more", [{}, {"cost": GRID}])
def test_the_least_eta_is_0_and_messages_say_so(more: dict[str, Any]) -> None:
    assert bl.Problem(**(TABLES | more | {"eta": 0})).eta == 0
    with pytest.raises(bl.ProblemError, match=r"^eta must be a number from 0 to 16, not -1$"):
        bl.Problem(**(TABLES | more | {"eta": -1}))
