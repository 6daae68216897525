"""Simulated paths of a policy on its grid.

The asset follows ``x' = X[policy(x, s)]`` and the exogenous state its Markov chain. Nothing is interpolated, so that
the path is that of the solution on the grid.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit
from beltline.host.analysis.policy import PERIODS_LIMIT, followed
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, shown, whole
from beltline.host.results.result import Result
from beltline.host.results.variables import variables


@njit(cache=True)
def _follow(
    policy: NDArray[np.int32], cumulative: Array, draws: Array, x: int, s: int,
    points: NDArray[np.int32], states: NDArray[np.int32],
) -> None:  # fmt: skip
    last = cumulative.shape[0] - 1
    for t in range(draws.size):
        points[t] = x
        states[t] = s
        x = policy[x, s]
        s = min(np.searchsorted(cumulative[s], draws[t], side="right"), last)


@dataclass(frozen=True, eq=False)
class Simulation:
    """A simulated path.

    Parameters
    ----------
    points, states : (periods,) int32 arrays
        Index of the asset's grid point and of the exogenous state in each period.
    series : dict of str to (periods,) float64 array
        Consumption and other variables by name, as :meth:`beltline.Result.variables` names them; the asset is that at
        the start of the period.
    burn_in : int
        Number of periods that were simulated before and dropped.
    seed : int
        Seed of the random numbers.
    """

    points: NDArray[np.int32]
    states: NDArray[np.int32]
    series: dict[str, Array]
    burn_in: int
    seed: int


def simulate(
    result: Result,
    periods: int = 10_000,
    burn_in: int = 1_000,
    seed: int = 0,
    start: tuple[int, int] | None = None,
) -> Simulation:
    """Simulate one path of the economy: the policy with a random path of the exogenous state.

    Parameters
    ----------
    result : Result
        A solution with an infinite horizon.
    periods : int
        Number of periods to return, at least 1.
    burn_in : int
        Number of periods to simulate before these and drop, from 0.
    seed : int
        Seed of NumPy's default random generator; the same seed gives the same path of the exogenous state.
    start : (int, int), optional
        Index of the grid point and of the exogenous state of the first period; by default the middle of both.

    Returns
    -------
    Simulation

    Raises
    ------
    ProblemError
        An argument is out of range, the result has a horizon, or a state has no choice.

    Examples
    --------
    >>> import beltline as bl
    >>> path = bl.simulate(bl.solve(bl.rbc(grid=64), progress=False), periods=500)
    >>> path.series["output"].shape
    (500,)
    """
    problem = followed(result, "a simulation")
    periods, burn_in, seed = _draws(periods, burn_in, seed)
    if start is None:
        start = (problem.points // 2, problem.states // 2)
    if not isinstance(start, tuple | list) or len(start) != 2:
        raise ProblemError(f"start must be the indices of a grid point and an exogenous state, not {shown(start)}")
    x, s = (
        whole(f"start[{i}]", start[i], f"a whole number from 0 to {size - 1}", lambda v, size=size: 0 <= v < size)  # type: ignore[misc]
        for i, size in enumerate((problem.points, problem.states))
    )
    total = burn_in + periods
    points, states = np.empty(total, np.int32), np.empty(total, np.int32)
    draws = np.random.default_rng(seed).random(total)
    _follow(result.policy, np.cumsum(problem.transition, axis=1), draws, x, s, points, states)
    points, states = points[burn_in:].copy(), states[burn_in:].copy()
    series = {name: table[points, states] for name, table in variables(result).items()}
    return Simulation(points, states, series, burn_in, seed)


def _draws(periods: int, burn_in: int, seed: int) -> tuple[int, int, int]:
    wanted = f"a whole number from {{}} to {PERIODS_LIMIT}"
    return (
        whole("periods", periods, wanted.format(1), lambda v: 1 <= v <= PERIODS_LIMIT),
        whole("burn_in", burn_in, wanted.format(0), lambda v: 0 <= v <= PERIODS_LIMIT),
        whole("seed", seed, "a whole number that is not negative", lambda v: v >= 0),
    )
