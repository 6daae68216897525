"""Objectives in integers, of which two neighbours often tie for the best."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.problem import Problem
from beltline.host.solver.fixed_point import fixed_point
from beltline.hw.arithmetic.expectation import ExpectationParameters
from beltline.hw.arithmetic.utility import UtilityParameters
from beltline.hw.arithmetic.utility_constants import UtilityConstants
from support.concave_problems import random_problem


class Search(NamedTuple):
    """One state's search: its wealth, the tables, its exogenous state, and the lowest of the best candidates."""

    wealth: np.int64
    x: NDArray[np.int64]
    ev: NDArray[np.int64]
    state: int
    constants: UtilityConstants
    lowest: int
    tied: bool


def searches(seed: int, points: int = 20, states: int = 2) -> Iterator[Search]:
    """Yield the searches of a sweep whose objectives have a single peak, or one of two neighbours."""
    drawn = random_problem(np.random.default_rng(seed), points, states, kind="ties")
    problem = Problem(
        grid=drawn.X, wealth=drawn.W, transition=drawn.Q, start=drawn.V0, beta=drawn.beta, eta=drawn.eta, horizon=1
    )
    image = fixed_point(problem, 1.0)
    ev, saturated = ExpectationParameters(states).model(image.start, image.transition)
    assert not saturated
    for (_, s), wealth in np.ndenumerate(image.wealth):
        u, feasible, over = UtilityParameters().model(wealth - image.grid, image.constants)
        assert not over.any()
        able = [int(a) + int(b) for a, b, good in zip(u, ev[:, s], feasible, strict=True) if good]
        lowest = able.index(max(able))
        rises = [b > a for a, b in itertools.pairwise(able)]
        if rises != sorted(rises, reverse=True) or able.count(max(able)) > 2:
            continue
        yield Search(wealth, image.grid, ev, s, image.constants, lowest, able.count(max(able)) == 2)
