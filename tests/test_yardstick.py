"""The yardstick finds what it is for: worse values, choices, bounds, outcomes and times."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from yardstick import __main__ as command
from yardstick.compare import too_slow, violations
from yardstick.problems import Entry
from yardstick.reading import Answer, read
from yardstick.records import load

import beltline as bl

RECORDED = load(command.FOLDER / "cpu.npz")


def _recorded(name: str) -> tuple[Entry, Answer, Answer]:
    kind, number = name.split("-")
    entry, old = Entry(kind, int(number)), RECORDED[name]
    new = copy.deepcopy(old)
    new.problem = entry.made
    return entry, old, new


@pytest.mark.parametrize("name", ["savings-4", "general-3", "default-0", "taste-2", "discrete-1"])
def test_a_change_is_found(name: str) -> None:
    entry, old, new = _recorded(name)
    assert violations(entry, old, new) == []
    for fact, value in {"status": "infeasible", "success": False, "error_bound": 1.0, "check": 0}.items():
        new = copy.deepcopy(old)
        new.facts[fact] = value
        assert len(violations(entry, old, new)) == 1, fact
    new = copy.deepcopy(old)
    new.value.flat[0] += 3.0 * old.facts["error_bound"] + 1e-9 * np.abs(old.value).max()
    assert violations(entry, old, new)[0].startswith("value differs by")


@pytest.mark.parametrize("name", ["savings-4", "general-3", "default-0", "discrete-1"])
def test_a_worse_choice_is_found(name: str) -> None:
    entry, old, new = _recorded(name)
    where = np.unravel_index(int(np.argmax(old.policy)), old.policy.shape)
    new.policy[where] = 0
    assert "1 of 1 other choices are worse" in violations(entry, old, new)[-1]


def test_a_tie_is_no_violation() -> None:
    X = np.array([1.0, 2.0, 4.0])
    made = bl.Problem(grid=X, wealth=X[:, None] + 5.0, transition=[[1.0]], start=X[:, None] * 2, beta=0.5, eta=0.0,
                      horizon=1)  # fmt: skip
    entry = Entry("linear", 0)
    object.__setattr__(entry, "made", made)
    old = read(bl.solve(made, progress=False))
    old.facts["check"] = 0
    new = copy.deepcopy(old)
    new.policy[...] = 2 - new.policy
    assert (old.policy != new.policy).any()
    assert violations(entry, old, new) == []


@pytest.mark.parametrize(
    ("factor", "ms", "found"), [(1.1, 50.0, set()), (1.3, 1.0, {"eta"}), (4.0, 50.0, {"eta", "eta-0"})]
)
def test_times(factor: float, ms: float, found: set[str]) -> None:
    rows: list[Any] = []
    for number in range(3):
        entry, old, new = _recorded(f"eta-{number}")
        new.facts |= {"time": old.facts["time"] * factor, "ms": ms if number == 0 else 1.0}
        rows.append((entry, old, new))
    assert set(too_slow(rows)[1]) == found
