"""A policy that is followed: whether it can be, one period of it, and the headings of what is reported."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, shown
from beltline.host.problem.problem import Problem
from beltline.host.results.result import Result

PERIODS_LIMIT = 10**8
"""Largest number of simulated periods, so that a mistyped number is refused and not allocated."""


@njit(cache=True)
def carried(mass: Array, policy: NDArray[np.int32], chain: Array) -> Array:
    """One period on: each state's mass to where its policy takes it, then along the rows of ``chain``."""
    points, states = mass.shape
    moved = np.zeros((points, states))
    for x in range(points):
        for s in range(states):
            moved[policy[x, s], s] += mass[x, s]
    ahead = np.zeros((points, states))
    for x in range(points):
        for s in range(states):
            for t in range(states):
                ahead[x, t] += moved[x, s] * chain[s, t]
    return ahead


def followed(result: Result, what: str) -> Problem:
    """Return the problem of ``result`` if its policy can be followed for ever; warn if it is not solved.

    Raises
    ------
    ProblemError
        ``result`` is none, has ages, or a state without a choice.
    """
    if not isinstance(result, Result):
        raise ProblemError(f"result must be a Result, not {shown(result)}")
    problem = result.problem
    if problem.horizon is not None:
        ages = f"{problem.horizon} age{'' if problem.horizon == 1 else 's'}"
        raise ProblemError(f"{what} needs an infinite horizon, and this problem has {ages}")
    usable(result, what, stacklevel=4)
    return problem


def usable(result: Result, what: str, stacklevel: int = 3) -> None:
    """Warn if ``result`` is not solved.

    Raises
    ------
    ProblemError
        A state has no choice at all.
    """
    if (result.policy < 0).any() or not (result.problem.wealth > result.policy_values).all():
        raise ProblemError(f"{what} needs a choice in every state, and this result is {result.status}")
    if not result.success:
        warnings.warn(f"{what} of a result that is not solved: {result.status}", stacklevel=stacklevel)


def heading(what: str, result: Result) -> str:
    """Return the first line of a report on ``result``, which says so if that is not solved."""
    problem = result.problem
    title = f"{what} of {problem.name}, {problem.points:,} grid points x {problem.states} states"
    return title if result.success else f"{title} ({result.status})"
