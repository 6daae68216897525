"""Simulated paths of a policy on its grid.

``x' = X[policy(x, s)]``, with the exogenous state on its chain: nothing is interpolated, so that what is measured is
what was solved. Tables of a period are those of :mod:`beltline.host.results.variables`.
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
def _walk(
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
        Grid point of ``x`` and exogenous state in each period.
    series : dict of str to (periods,) float64 array
        ``output``, ``consumption``, ``investment``, the asset at the start of the period and the shock, by name; those
        that the problem knows.
    burn_in : int
        Periods before, which are dropped.
    seed : int
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
    """Follow the policy along one random path of the exogenous chain.

    Parameters
    ----------
    result
        With an infinite horizon.
    periods
        Periods to keep, at least 1.
    burn_in
        Periods before them, which are dropped.
    seed
        Of NumPy's default generator: the same seed gives the same path of the exogenous state.
    start
        Grid point and exogenous state of the first period; the middle of both by default.

    Raises
    ------
    ProblemError
        An argument out of range, or a result whose policy cannot be followed for ever.
    """
    problem = followed(result, "a simulation")
    periods, burn_in, seed = _draws(periods, burn_in, seed)
    if start is None:
        start = (problem.points // 2, problem.states // 2)
    if not isinstance(start, tuple | list) or len(start) != 2:
        raise ProblemError(f"start must be a grid point and an exogenous state, not {shown(start)}")
    x, s = (
        whole(f"start[{i}]", start[i], f"a whole number from 0 to {size - 1}", lambda v, size=size: 0 <= v < size)  # type: ignore[misc]
        for i, size in enumerate((problem.points, problem.states))
    )
    total = burn_in + periods
    points, states = np.empty(total, np.int32), np.empty(total, np.int32)
    draws = np.random.default_rng(seed).random(total)
    _walk(result.policy, np.cumsum(problem.transition, axis=1), draws, x, s, points, states)
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
