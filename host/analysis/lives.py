"""Simulated life cycles of problems with a horizon."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beltline.host.analysis.chain import chain_distribution
from beltline.host.analysis.policy import by_alternative, check_result, heading, policy_of, usable
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, whole
from beltline.host.problem.report import as_html
from beltline.host.results.result import Result

LIVES_LIMIT = 10**7
"""Largest number of people times ages, so that a mistyped number is refused before memory is allocated."""


@dataclass(frozen=True, eq=False)
class Lives:
    """Simulated life cycles of many people; ``print`` shows the means by age.

    Parameters
    ----------
    points, states : (people, T) int32 arrays
        Index of the asset's grid point and of the exogenous state of each person at each age; the points are -1 after
        an alternative that ends the problem.
    regimes, alternatives : (people, T) int32 arrays
        Number of the regime of each person, and of the alternative that is taken.
    series : dict of str to (people, T) float64 array
        Consumption and other variables by name, as :meth:`beltline.Result.variables` names them; nan where there is no
        choice.
    at_top : int
        How often, over all people and ages, the highest grid point was chosen; if this is not rare, the grid is too
        short.
    seed : int
        Seed of the random numbers.
    title : str
        Heading of reports and figures.
    """

    points: NDArray[np.int32]
    states: NDArray[np.int32]
    regimes: NDArray[np.int32]
    alternatives: NDArray[np.int32]
    series: dict[str, Array]
    at_top: int
    seed: int
    title: str

    def __str__(self) -> str:
        people, ages = self.points.shape
        width = max(len(name) for name in self.series)
        heads = "".join(f"{f'age {age + 1}':>11}" for age in range(ages))
        rows = [
            f"  {name:<{width}}" + "".join(f"{mean:>11.4f}" for mean in np.nanmean(table, axis=0))
            for name, table in self.series.items()
        ]
        note = f"  Means of {people:,} lives, seed {self.seed}."
        if self.at_top:
            note += f" The highest grid point was chosen {self.at_top:,} times: the grid may end too early."
        return "\n".join([self.title, f"  {'':<{width}}{heads}", *rows, note])

    __repr__ = __str__
    _repr_html_ = as_html


def life_paths(result: Result, people: int = 10_000, seed: int = 0, start: int = 0) -> Lives:
    """Simulate the lives of many people with the policies of all ages.

    Everybody starts in the first regime at grid point ``start``. The first exogenous state is drawn from the stationary
    distribution of the Markov chain, that of the first age if it depends on age.

    Parameters
    ----------
    result : Result
        A solution with a horizon, all of whose ages were solved.
    people : int
        Number of people, at least 1; times the number of ages at most ``LIVES_LIMIT``.
    seed : int
        Seed of NumPy's default random generator.
    start : int
        Index of the grid point at which everybody's first age begins.

    Returns
    -------
    Lives

    Raises
    ------
    ProblemError
        An argument is out of range, or the result has no horizon or not all of its ages.

    Examples
    --------
    >>> import beltline as bl
    >>> people = bl.life_paths(bl.solve(bl.life_cycle(grid=100, states=3), progress=False), people=50)
    >>> people.series["consumption"].shape
    (50, 10)
    """
    check_result(result, "a simulation of lives")
    problem = result.problem
    if problem.horizon is None:
        raise ProblemError("life_paths needs a problem with a horizon, and this one has none: use simulate")
    usable(result, "a simulation")
    ages = result.policy.shape[0]
    if ages != problem.horizon:
        raise ProblemError(f"a simulation needs all {problem.horizon} ages, and of this result only {ages} were solved")
    most = LIVES_LIMIT // ages
    people = whole("people", people, f"a whole number from 1 to {most}", lambda v: 1 <= v <= most)
    seed = whole("seed", seed, "a whole number that is not negative", lambda v: v >= 0)
    last = problem.points - 1
    start = whole("start", start, f"a whole number from 0 to {last}", lambda v: 0 <= v <= last)
    random = np.random.default_rng(seed)
    draws = random.random((ages, people))
    chain = problem.transition if problem.transition.ndim == 2 else problem.transition[0]
    s = np.minimum(np.searchsorted(np.cumsum(chain_distribution(chain)), draws[0], side="right"), problem.states - 1)
    r, x = np.zeros(people, np.intp), np.full(people, start)
    lives = np.full((4, people, ages), -1, np.int32)
    for age in range(ages):
        policy = policy_of(result, age)
        order, taken = policy.by_regime()
        place = np.searchsorted(policy.regime[order], r)
        if order.size > 1:
            last_one, chance = np.searchsorted(policy.regime[order], r, side="right") - 1, random.random(people)
            for _ in range(order.size):
                place += (place < last_one) & (chance >= taken[place, x, s])
        d, here = order[place], x >= 0
        lives[0, here, age], lives[1, here, age] = r[here], d[here]
        lives[2, here, age], lives[3, here, age] = x[here], s[here]
        if age + 1 < ages:
            x = np.where(here, policy.choice[d, x, s], -1)
            s = np.minimum(
                (np.cumsum(policy.chain, axis=2)[d, s] <= draws[age + 1, :, None]).sum(axis=1), problem.states - 1
            )
            if len(problem.regimes) > 1:
                moves = np.cumsum(policy.mix, axis=1)[d] <= random.random(people)[:, None]
                r = np.minimum(moves.sum(axis=1), len(problem.regimes) - 1)
    regimes, alternatives, points, states = lives
    at = (np.arange(ages), alternatives, points, states)
    chosen = result.tables.policy[at]
    gone = (points < 0) | (chosen < 0)
    series = {name: np.where(gone, np.nan, table[at]) for name, table in by_alternative(result).items()}
    at_top = int((chosen[points >= 0] == last).sum())
    return Lives(points, states, regimes, alternatives, series, at_top, seed, heading("Lives", result))
