"""Simulated paths of a policy on its grid.

The asset follows ``x' = X[policy(x, s)]`` and the exogenous state its Markov chain. Nothing is interpolated, so that
the path is that of the solution on the grid.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit
from beltline.host.analysis.policy import PERIODS_LIMIT, Policy, by_alternative, followed, policy_of
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, shown, whole
from beltline.host.results.result import Result


@njit(cache=True)
def _follow(
    choice: NDArray[np.int32], taken: Array, first: NDArray[np.int64], chain: Array, mix: Array, draws: Array, r: int,
    x: int, s: int, path: NDArray[np.int32],
) -> int:  # fmt: skip
    """Fill the rows regime, alternative, point and state of ``path``; return the number of periods before it ends.

    ``taken``, ``chain`` and ``mix`` are cumulative; regime ``r`` has the alternatives ``first[r]`` to ``first[r + 1]``.
    """
    for t in range(draws.shape[1]):
        d = first[r]
        while d + 1 < first[r + 1] and not draws[1, t] < taken[d, x, s]:
            d += 1
        path[0, t], path[1, t], path[2, t], path[3, t] = r, d, x, s
        x = choice[d, x, s]
        if x < 0:
            return t
        s = min(np.searchsorted(chain[d, s], draws[0, t], side="right"), chain.shape[2] - 1)
        r = min(np.searchsorted(mix[d], draws[2, t], side="right"), mix.shape[1] - 1)
    return draws.shape[1]


@dataclass(frozen=True, eq=False)
class Simulation:
    """A simulated path.

    Parameters
    ----------
    points, states : (periods,) int32 arrays
        Index of the asset's grid point and of the exogenous state in each period.
    regimes, alternatives : (periods,) int32 arrays
        Number of the regime at the start of each period and of the alternative that is taken.
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
    regimes: NDArray[np.int32]
    alternatives: NDArray[np.int32]
    series: dict[str, Array]
    burn_in: int
    seed: int


def simulate(
    result: Result,
    periods: int = 10_000,
    burn_in: int = 1_000,
    seed: int = 0,
    start: tuple[int, ...] | None = None,
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
    start : (int, int) or (int, int, int), optional
        Index of the grid point, of the exogenous state and of the regime of the first period; by default the middle of
        the first two, and regime 0.

    Returns
    -------
    Simulation

    Raises
    ------
    ProblemError
        An argument is out of range, the result has a horizon, a state has no choice, or the path comes to an
        alternative that ends the problem.

    Examples
    --------
    >>> import beltline as bl
    >>> path = bl.simulate(bl.solve(bl.rbc(grid=64), progress=False), periods=500)
    >>> path.series["output"].shape
    (500,)
    """
    problem = followed(result, "a simulation")
    periods, burn_in, seed = check_draws(periods, burn_in, seed)
    sizes = (problem.points, problem.states, len(problem.regimes))
    if start is None:
        start = (problem.points // 2, problem.states // 2)
    if not isinstance(start, tuple | list) or len(start) not in (2, 3):
        raise ProblemError(
            f"start must be the indices of grid point, exogenous state and perhaps regime, not {shown(start)}"
        )
    x, s, r = (
        whole(f"start[{i}]", each, f"a whole number from 0 to {size - 1}", lambda v, size=size: 0 <= v < size)  # type: ignore[misc]
        for i, (each, size) in enumerate(zip((*start, 0)[:3], sizes, strict=True))
    )
    policy, random = policy_of(result), np.random.default_rng(seed)
    path, reached = follow(policy, np.vstack([random.random(burn_in + periods) for _ in range(3)]), (x, s, r))
    if reached < path.shape[1]:
        name = result.alternatives[path[1, reached]]
        raise ProblemError(f"the path ends in period {reached:,}, in which {name!r} is taken, which ends the problem")
    regimes, alternatives, points, states = path[:, burn_in:].copy()
    series = {name: table[alternatives, points, states] for name, table in by_alternative(result).items()}
    return Simulation(points, states, regimes, alternatives, series, burn_in, seed)


def follow(policy: Policy, draws: Array, start: tuple[int, int, int]) -> tuple[NDArray[np.int32], int]:
    """Follow ``policy`` from a grid point, exogenous state and regime with uniform random numbers, ``(3, T)``, for the
    next exogenous state, the alternative and the next regime of each period.

    Returns the path, ``(4, T)``: regime, alternative, point and state of each period; and the period in which an
    alternative without a choice ends it, or ``T``.
    """
    order, taken = policy.by_regime()
    first = np.searchsorted(policy.regime[order], np.arange(policy.mix.shape[1] + 1))
    chain, mix = (np.cumsum(part[order], axis=-1) for part in (policy.chain, policy.mix))
    choice = np.ascontiguousarray(policy.choice[order], np.int32)
    path = np.zeros((4, draws.shape[1]), np.int32)
    x, s, r = start
    reached = _follow(choice, taken, first, chain, mix, np.ascontiguousarray(draws), r, x, s, path)
    path[1] = order[path[1]]
    return path, reached


def check_draws(periods: int, burn_in: int, seed: int, least: int = 1) -> tuple[int, int, int]:
    """Check the length of a simulated path, from ``least``, the periods dropped before it, and the seed."""
    wanted = f"a whole number from {{}} to {PERIODS_LIMIT}"
    return (
        whole("periods", periods, wanted.format(least), lambda v: least <= v <= PERIODS_LIMIT),
        whole("burn_in", burn_in, wanted.format(0), lambda v: 0 <= v <= PERIODS_LIMIT),
        whole("seed", seed, "a whole number that is not negative", lambda v: v >= 0),
    )
