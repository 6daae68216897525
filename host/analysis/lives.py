"""Simulated lives of finitely many ages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beltline.host.analysis.chain import chain_distribution
from beltline.host.analysis.policy import heading, usable
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, shown, whole
from beltline.host.problem.report import as_html
from beltline.host.results.result import Result
from beltline.host.results.variables import variables

LIVES_LIMIT = 10**7
"""Largest number of ages times people that are simulated, so that a mistyped number is refused and not allocated."""


@dataclass(frozen=True, eq=False)
class Lives:
    """Simulated lives.

    Parameters
    ----------
    points, states : (people, T) int32 arrays
        Grid point of ``x`` and exogenous state of each person at each age.
    series : dict of str to (people, T) float64 array
        By name, as :meth:`beltline.host.results.result.Result.variables`; those that the problem knows.
    at_top : int
        Ages of people at which the highest ``x'`` was chosen: more might have been, but the grid ends there.
    seed : int
    title : str
        Heading of reports and figures.
    """

    points: NDArray[np.int32]
    states: NDArray[np.int32]
    series: dict[str, Array]
    at_top: int
    seed: int
    title: str

    def __str__(self) -> str:
        people, ages = self.points.shape
        width = max(len(name) for name in self.series)
        heads = "".join(f"{f'age {age + 1}':>11}" for age in range(ages))
        rows = [
            f"  {name:<{width}}" + "".join(f"{mean:>11.4f}" for mean in table.mean(axis=0))
            for name, table in self.series.items()
        ]
        note = f"  Means of {people:,} lives, seed {self.seed}."
        if self.at_top:
            note += f" The highest grid point was chosen {self.at_top:,} times: the grid may end too early."
        return "\n".join([self.title, f"  {'':<{width}}{heads}", *rows, note])

    __repr__ = __str__
    _repr_html_ = as_html


def life_paths(result: Result, people: int = 10_000, seed: int = 0, start: int = 0) -> Lives:
    """Follow the policies of all ages from the first, for many people.

    Everybody begins at grid point ``start``, with an exogenous state drawn from the chain's stationary distribution.

    Parameters
    ----------
    result
        With a horizon, all of whose ages were solved.
    people
        At least 1, and with the ages at most ``LIVES_LIMIT`` in all.
    seed
        Of NumPy's default generator.
    start
        Grid point of everybody's first age.

    Raises
    ------
    ProblemError
        An argument out of range, or a result without ages.
    """
    if not isinstance(result, Result):
        raise ProblemError(f"result must be a Result, not {shown(result)}")
    problem = result.problem
    if problem.horizon is None:
        raise ProblemError("lives have a last age, and this problem has none: use simulate")
    usable(result, "a simulation")
    ages = result.policy.shape[0]
    if ages != problem.horizon:
        raise ProblemError(f"a life needs all {problem.horizon} ages, and of this result only {ages} were solved")
    most = LIVES_LIMIT // ages
    people = whole("people", people, f"a whole number from 1 to {most}", lambda v: 1 <= v <= most)
    seed = whole("seed", seed, "a whole number that is not negative", lambda v: v >= 0)
    last = problem.points - 1
    start = whole("start", start, f"a whole number from 0 to {last}", lambda v: 0 <= v <= last)
    draws = np.random.default_rng(seed).random((ages, people))
    cumulative = np.cumsum(problem.transition, axis=1)
    first = np.cumsum(chain_distribution(problem.transition))
    points, states = np.empty((people, ages), np.int32), np.empty((people, ages), np.int32)
    x = np.full(people, start)
    s = np.minimum(np.searchsorted(first, draws[0], side="right"), problem.states - 1)
    for age in range(ages):
        points[:, age], states[:, age] = x, s
        if age + 1 < ages:
            x = result.policy[age, x, s]
            s = np.minimum((cumulative[s] <= draws[age + 1, :, None]).sum(axis=1), problem.states - 1)
    at = (np.arange(ages), points, states)
    series = {name: np.ascontiguousarray(table[at]) for name, table in variables(result).items()}
    at_top = int((result.policy[at] == last).sum())
    return Lives(points, states, series, at_top, seed, heading("Lives", result))
