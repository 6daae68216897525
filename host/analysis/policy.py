"""Use of a policy: checks before it is applied, one period ahead on or between grid points, headings of reports."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, shown
from beltline.host.problem.problem import Problem
from beltline.host.problem.utility import utility
from beltline.host.results.discrete_result import DiscreteResult
from beltline.host.results.general_result import GeneralResult
from beltline.host.results.result import Result

PERIODS_LIMIT = 10**8
"""Largest number of simulated periods, so that a mistyped number is refused before memory is allocated."""


@njit(cache=True)
def carried(mass: Array, policy: NDArray[np.int32], chain: Array) -> Array:
    """Return the distribution one period later: mass moves to where the policy leads, then along ``chain``."""
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
    """Return how choices between grid points are split between the two points next to them (Young 2010).

    Parameters
    ----------
    grid
        ``(N_k,)``, increasing.
    chosen
        Choices in units of the grid, of any shape.

    Returns
    -------
    below : int32 array of the shape of ``chosen``
        Index of the grid point at or below each choice, at most ``N_k - 2``.
    share : float64 array of the same shape
        Share of the mass that goes to the point above, such that the mean of the two is the choice.
    """
    below = np.clip(np.searchsorted(grid, chosen, side="right") - 1, 0, grid.size - 2).astype(np.int32)
    share: Array = np.clip((chosen - grid[below]) / np.diff(grid)[below], 0.0, 1.0)
    return below, share


@njit(cache=True)
def shared(mass: Array, below: NDArray[np.int32], share: Array, chain: Array) -> Array:
    """Return the distribution one period later, as :func:`carried`, for choices between grid points.

    Parameters
    ----------
    mass
        Probability of each state, ``(N_k, N_z)``.
    below, share
        How each choice is split between two grid points, as :func:`lottery` returns it, ``(N_k, N_z)``.
    chain
        Markov matrix of the exogenous state, ``(N_z, N_z)``.
    """
    points, states = mass.shape
    moved = np.zeros((points, states))
    for x in range(points):
        for s in range(states):
            moved[below[x, s], s] += (1.0 - share[x, s]) * mass[x, s]
            moved[below[x, s] + 1, s] += share[x, s] * mass[x, s]
    return _along(moved, chain)


def refined(problem: Problem, value: Array, policy: NDArray[np.int32]) -> Array:
    """Return an approximation of the best ``x'`` between grid points, ``(N_k, N_z)``.

    It is the maximum of the parabola through the objective at the chosen point and at its two neighbours, at most half
    way to these. The chosen point itself is returned at an end of the grid, and where a neighbour is not affordable.
    """
    x, eta = problem.grid, problem.eta
    if x.size < 3:
        return np.asarray(x[policy])
    ahead = problem.beta * value @ problem.transition.T
    at = np.clip(policy, 1, problem.points - 2)
    points = [x[at + j] for j in (-1, 0, 1)]
    objective = [utility(problem.wealth - points[j], eta) + np.take_along_axis(ahead, at + j - 1, 0) for j in range(3)]
    with np.errstate(invalid="ignore", divide="ignore"):
        left = (objective[1] - objective[0]) / (points[1] - points[0])
        right = (objective[2] - objective[1]) / (points[2] - points[1])
        curvature = (right - left) / (points[2] - points[0])
        top = (points[0] + points[1]) / 2 - left / (2 * curvature)
        inner = (policy == at) & np.isfinite(objective[0]) & np.isfinite(objective[2]) & (curvature < 0)
    low, high = (points[0] + points[1]) / 2, (points[1] + points[2]) / 2
    return np.where(inner, np.clip(top, low, high), x[policy])


def check_simple(result: object, what: str, wanted: str = "a Result") -> None:
    """Check that ``result`` is a :class:`Result`; ``what`` is what the caller computes, for messages.

    ``wanted`` says what else it could be.

    Raises
    ------
    ProblemError
        It is not, for example because the problem is of another form.
    """
    if isinstance(result, Result):
        return
    forms = {GeneralResult: "the general form", DiscreteResult: "a discrete problem"}
    form = next((form for kind, form in forms.items() if isinstance(result, kind)), "")
    if form:
        raise ProblemError(f"{what} needs a result of the simple form, and this one is of {form}")
    raise ProblemError(f"result must be {wanted}, not {shown(result)}")


def followed(result: Result, what: str) -> Problem:
    """Return the problem of ``result`` after checking that its policy can be applied for ever.

    Parameters
    ----------
    result
        A result; a warning is given if it is not solved.
    what
        What the caller computes, for messages.

    Raises
    ------
    ProblemError
        ``result`` is not a :class:`Result`, has a horizon, or has a state without a choice.
    """
    check_simple(result, what)
    problem = result.problem
    if problem.horizon is not None:
        ages = f"{problem.horizon} age{'' if problem.horizon == 1 else 's'}"
        raise ProblemError(f"{what} needs an infinite horizon, and this problem has {ages}")
    usable(result, what, stacklevel=4)
    return problem


def usable(result: Result, what: str, stacklevel: int = 3) -> None:
    """Check that every state has a choice; warn if ``result`` is not solved.

    Raises
    ------
    ProblemError
        A state has no choice.
    """
    if (result.policy < 0).any() or not (result.problem.wealth > result.policy_values).all():
        raise ProblemError(f"{what} needs a choice in every state, and this result is {result.status}")
    if not result.success:
        warnings.warn(f"{what} of a result that is not solved: {result.status}", stacklevel=stacklevel)


def heading(what: str, result: Result) -> str:
    """Return the first line of a report on ``result``; it ends with the status if the result is not solved."""
    problem = result.problem
    title = f"{what} of {problem.name}, {problem.points:,} grid points x {problem.states} states"
    return title if result.success else f"{title} ({result.status})"
