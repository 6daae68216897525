"""A policy that is followed: whether it can be, between grid points, one period, and the headings of reports."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, shown
from beltline.host.problem.problem import Problem
from beltline.host.problem.utility import utility
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
    return _along(moved, chain)


@njit(cache=True)
def _along(mass: Array, chain: Array) -> Array:
    points, states = mass.shape
    ahead = np.zeros((points, states))
    for x in range(points):
        for s in range(states):
            for t in range(states):
                ahead[x, t] += mass[x, s] * chain[s, t]
    return ahead


def lottery(grid: Array, chosen: Array) -> tuple[NDArray[np.int32], Array]:
    """Return the grid point at or below each choice, at most the last but one, and the share that :func:`shared` sends
    to the point above, so that the mean is the choice (Young 2010); both of the shape of ``chosen``.
    """
    below = np.clip(np.searchsorted(grid, chosen, side="right") - 1, 0, grid.size - 2).astype(np.int32)
    share: Array = np.clip((chosen - grid[below]) / np.diff(grid)[below], 0.0, 1.0)
    return below, share


@njit(cache=True)
def shared(mass: Array, below: NDArray[np.int32], share: Array, chain: Array) -> Array:
    """As :func:`carried` where choices lie between grid points: ``share`` of each mass goes to the point above.

    Parameters
    ----------
    mass
        Of each state, ``(N_k, N_z)``.
    below
        The grid point at or below each choice, at most ``N_k - 2``; of the same shape.
    share
        From 0 to 1, so that the mean of the two points is the choice: a lottery (Young 2010).
    chain
        ``(N_z, N_z)``.
    """
    points, states = mass.shape
    moved = np.zeros((points, states))
    for x in range(points):
        for s in range(states):
            moved[below[x, s], s] += (1.0 - share[x, s]) * mass[x, s]
            moved[below[x, s] + 1, s] += share[x, s] * mass[x, s]
    return _along(moved, chain)


def refined(problem: Problem, value: Array, policy: NDArray[np.int32]) -> Array:
    """Return the best ``x'`` off the grid, ``(N_k, N_z)``.

    It is the top of the parabola through the objective of the chosen point and of its neighbours, at most half way to
    these; the point itself at an end of the grid, and where a neighbour cannot be afforded.
    """
    x, eta = problem.grid, problem.eta
    if x.size < 3:
        return np.asarray(x[policy])
    ahead = problem.beta * value @ problem.transition.T
    at = np.clip(policy, 1, problem.points - 2)
    place = [x[at + j] for j in (-1, 0, 1)]
    worth = [utility(problem.wealth - place[j], eta) + np.take_along_axis(ahead, at + j - 1, 0) for j in range(3)]
    with np.errstate(invalid="ignore", divide="ignore"):
        left = (worth[1] - worth[0]) / (place[1] - place[0])
        right = (worth[2] - worth[1]) / (place[2] - place[1])
        bend = (right - left) / (place[2] - place[0])
        top = (place[0] + place[1]) / 2 - left / (2 * bend)
        inner = (policy == at) & np.isfinite(worth[0]) & np.isfinite(worth[2]) & (bend < 0)
    low, high = (place[0] + place[1]) / 2, (place[1] + place[2]) / 2
    return np.where(inner, np.clip(top, low, high), x[policy])


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
