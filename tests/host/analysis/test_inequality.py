"""Gini coefficients and Lorenz curves of results, and the messages for wrong arguments."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.host.analysis.inequality import percentiles
from support.fakes import problem


@pytest.fixture(scope="module")
def savings() -> bl.Result:
    return bl.solve(bl.aiyagari(grid=300, states=3).problem(0.03), tol=1e-6, device="cpu", progress=False)


def test_a_result_has_the_inequality_of_its_long_run(savings: bl.Result) -> None:
    mass = bl.stationary_distribution(savings)
    everybody = bl.gini(np.broadcast_to(savings.problem.grid[:, None], mass.shape), mass)
    assert bl.gini(savings) == pytest.approx(everybody, rel=1e-12)
    assert 0.3 < everybody < 0.8
    people, share = bl.lorenz(savings)
    np.testing.assert_array_equal(people, bl.lorenz(savings.problem.grid, mass.sum(axis=1))[0])
    assert (people[-1], share[-1]) == (1.0, 1.0)


def test_refusals(savings: bl.Result) -> None:
    economy = bl.solve(bl.aiyagari(grid=60, states=3), tol=1e-3, device="cpu", progress=False)
    own = "; Economy has an attribute gini and a method lorenz"
    ages = bl.solve(problem(16, 2, horizon=3), device="cpu", progress=False)
    refused: list[tuple[tuple[Any, ...], str]] = [
        ((economy,), f"values must be an array of numbers or a Result, not of type Economy{own}"),
        (("rich",), "values must be an array of numbers or a Result, not 'rich'"),
        ((savings.problem,), "values must be an array of numbers or a Result, not of type Problem"),
        (([1.0], "all"), "mass must be an array of real numbers, not 'all'"),
        ((savings, [1.0]), "mass must be None if values is a result, whose stationary distribution is used"),
        ((ages,), "a stationary distribution needs an infinite horizon, and this problem has 3 ages"),
        (([],), "values must be at least one number, not an empty array of shape (0,)"),
        (([1.0, -1.0],), "values must be finite and not negative, but values[1] is -1.0"),
    ]
    for call in (bl.gini, bl.lorenz):
        for arguments, sentence in refused:
            with pytest.raises(bl.ProblemError, match="^" + re.escape(sentence) + "$"):
                call(*arguments)


def test_percentiles_are_the_lowest_values_that_reach_a_share() -> None:
    values, mass = [[3.0, 1.0], [2.0, 9.0]], [[0.2, 0.5], [0.3, 0.0]]
    assert percentiles(values, mass, [0.0, 0.5, 0.51, 0.8, 0.81, 1.0]).tolist() == [1, 1, 2, 2, 3, 3]
    many = np.random.default_rng(1).normal(size=10_001)
    found = percentiles(many, np.ones(many.size), [0.1, 0.5, 0.9])
    assert found == pytest.approx(np.quantile(many, [0.1, 0.5, 0.9]), abs=1e-3)


def test_lorenz_and_gini() -> None:
    people, share = bl.lorenz([3.0, 1.0, 0.0, 0.0])
    assert people.tolist() == [0.0, 0.5, 0.75, 1.0]
    assert share.tolist() == [0.0, 0.0, 0.25, 1.0]
    assert bl.gini([3.0, 1.0, 0.0, 0.0]) == pytest.approx(0.625, rel=1e-15)
    assert bl.gini(np.ones(7)) == pytest.approx(0.0, abs=1e-15)
    assert bl.gini([1, 3], mass=[2, 1]) == pytest.approx(bl.gini([1, 1, 3]))
    # The Gini coefficient of an exponential distribution is 1/2; weights replace a sample.
    levels = np.linspace(0, 40, 40_001)
    assert bl.gini(levels, np.exp(-levels)) == pytest.approx(0.5, abs=1e-3)
    for arguments, sentence in (
        (([1.0, -1.0],), "values must be finite and not negative, but values[1] is -1.0"),
        (([1.0], [1.0, 2.0]), "mass must have the shape of values, (1,), not (2,)"),
        (([0.0, 0.0],), "at least one of values with positive mass must be above 0, or shares are not defined"),
    ):
        with pytest.raises(bl.ProblemError, match=f"^{re.escape(sentence)}$"):
            bl.gini(*arguments)
