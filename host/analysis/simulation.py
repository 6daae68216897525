"""Simulated paths and lives of people who follow a policy.

The asset moves between grid points: where a choice lies between two of them, a person goes to either, such that the
mean is the choice (Young 2010), so that many people have the distribution of
:func:`beltline.stationary_distribution`. With ``choices="grid"`` it follows ``x' = X[policy(x, s)]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit, prange
from beltline.host.analysis.policy import (
    PERIODS_LIMIT,
    Policy,
    by_alternative,
    chain_of,
    check_result,
    followed,
    heading,
    policies_by_age,
    policy_of,
)
from beltline.host.analysis.refine import Refined, answer_of
from beltline.host.analysis.stationary import stationary_mass
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, shown, whole
from beltline.host.problem.problem import Problem
from beltline.host.problem.report import as_html
from beltline.host.results.result import Result

LIVES_LIMIT = 10**7
"""Largest number of people times ages, so that a mistyped number is refused before memory is allocated."""

BLOCK = 10**6
"""Number of people times periods for which random numbers are drawn at once."""


@njit(parallel=True, cache=True)
def _follow(
    choice: NDArray[np.int32], share: Array, taken: Array, first: NDArray[np.int64], chain: Array, mix: Array,
    draws: Array, start: NDArray[np.int32], path: NDArray[np.int32],
) -> None:  # fmt: skip
    """Fill the rows regime, alternative, point and state of ``path``, ``(4, people, T)``, as far as each life goes.

    Policies have an axis of ages, of length 1 if they do not depend on age; ``taken``, ``chain`` and ``mix`` are
    cumulative; regime ``r`` has the alternatives ``first[r]`` to ``first[r + 1]``. ``start`` has regime, point and
    state of each person.
    """
    for i in prange(draws.shape[1]):
        r, x, s = start[0, i], start[1, i], start[2, i]
        for t in range(draws.shape[2]):
            age = min(t, choice.shape[0] - 1)
            d = first[r]
            while d + 1 < first[r + 1] and not draws[1, i, t] < taken[age, d, x, s]:
                d += 1
            path[0, i, t], path[1, i, t], path[2, i, t], path[3, i, t] = r, d, x, s
            above = draws[3, i, t] < share[age, d, x, s]
            x = choice[age, d, x, s]
            if x < 0:
                break
            x += np.int32(above)
            s = np.int32(min(np.searchsorted(chain[age, d, s], draws[0, i, t], side="right"), chain.shape[3] - 1))
            r = np.int32(min(np.searchsorted(mix[age, d], draws[2, i, t], side="right"), mix.shape[2] - 1))


@dataclass(frozen=True, eq=False)
class Simulation:
    """Simulated paths; ``print`` shows the means, with a horizon by age.

    Arrays are ``(periods,)`` for one path and ``(agents, periods)`` for several; with a horizon periods are ages.

    Parameters
    ----------
    points, states : int32 arrays
        Index of the asset's grid point and of the exogenous state in each period; -1 after an alternative that ends the
        problem.
    regimes, alternatives : int32 arrays
        Number of the regime at the start of each period and of the alternative that is taken; likewise.
    series : dict of str to float64 array
        Consumption and other variables by name, as :meth:`beltline.Result.variables` names them; the asset is that at
        the start of the period. nan where there is no choice.
    burn_in : int
        Number of periods that were simulated before and dropped.
    seed : int
        Seed of the random numbers.
    at_top : int
        How often, over all people and periods, the highest grid point was chosen; if this is not rare, the grid is too
        short.
    title : str
        Heading of reports and figures.
    by_age : bool
        Whether periods are ages.
    """

    points: NDArray[np.int32]
    states: NDArray[np.int32]
    regimes: NDArray[np.int32]
    alternatives: NDArray[np.int32]
    series: dict[str, Array]
    burn_in: int
    seed: int
    at_top: int
    title: str
    by_age: bool

    def __str__(self) -> str:
        width = max(len(name) for name in self.series)
        agents = self.points.size // self.points.shape[-1]
        tables = {name: table.reshape(agents, -1) for name, table in self.series.items()}
        if self.by_age:
            heads = [f"age {age + 1}" for age in range(self.points.shape[-1])]
            rows = {name: np.nanmean(table, axis=0) for name, table in tables.items()}
            note = f"  Means of {agents:,} lives, seed {self.seed}."
        else:
            heads = ["mean", "std"]
            rows = {name: np.array([np.nanmean(table), np.nanstd(table)]) for name, table in tables.items()}
            note = f"  {agents:,} path{'s' * (agents > 1)} of {self.points.shape[-1]:,} periods, seed {self.seed}."
        lines = [f"  {name:<{width}}" + "".join(f"{mean:>11.4f}" for mean in row) for name, row in rows.items()]
        if self.at_top:
            note += f" The highest grid point was chosen {self.at_top:,} times: the grid may end too early."
        return "\n".join([self.title, f"  {'':<{width}}" + "".join(f"{head:>11}" for head in heads), *lines, note])

    __repr__ = __str__
    _repr_html_ = as_html

    def to_frame(self) -> Any:
        """Return the panel as a ``pandas.DataFrame``: a row for each person and period.

        Columns are ``agent``, ``period``, ``point``, ``state``, ``regime``, ``alternative`` and the series.

        Raises
        ------
        ProblemError
            The package pandas is not installed.
        """
        try:
            from pandas import DataFrame  # type: ignore[import-untyped,unused-ignore]
        except ImportError:
            raise ProblemError(
                "to_frame needs pandas: install it with pip install pandas, or use the arrays of series"
            ) from None
        periods = self.points.shape[-1]
        who, when = np.divmod(np.arange(self.points.size), periods)
        numbers = {"point": self.points, "state": self.states, "regime": self.regimes}
        tables: dict[str, Any] = {**numbers, "alternative": self.alternatives, **self.series}
        return DataFrame({"agent": who, "period": when} | {name: table.ravel() for name, table in tables.items()})


def simulate(
    result: Result | Refined,
    periods: int | None = None,
    burn_in: int | None = None,
    seed: int = 0,
    start: tuple[int, ...] | None = None,
    agents: int | None = None,
    choices: str | None = None,
    physical: Any = None,
) -> Simulation:
    """Simulate people who follow the policy: one path, or many.

    Parameters
    ----------
    result : Result or Refined
        A solution. With a horizon everybody lives through all ages (:func:`beltline.life_paths`).
    periods : int, optional
        Number of periods to return, at least 1; by default 10,000 for one path, 100 for several.
    burn_in : int, optional
        Number of periods to simulate before these and drop, from 0; by default 1,000 for one path, 0 for several.
    seed : int
        Seed of NumPy's default random generator; the same seed gives the same path of the exogenous state.
    start : (int, int) or (int, int, int), optional
        Index of the grid point, of the exogenous state and of the regime of the first period. By default one path
        starts in the middle of the first two, in regime 0, and several in states drawn from the stationary
        distribution.
    agents : int, optional
        Number of people. Without it one path is simulated, and arrays have no axis of people.
    choices : str, optional
        ``"continuous"``, the default, or ``"grid"``, as in :func:`beltline.stationary_distribution`.
    physical : (N_z, N_z) array, optional
        Markov matrix that the exogenous state follows, as there.

    Returns
    -------
    Simulation

    Raises
    ------
    ProblemError
        An argument is out of range, a state has no choice, the problem is discrete, or the only path comes to an
        alternative that ends the problem.

    Examples
    --------
    >>> import beltline as bl
    >>> result = bl.solve(bl.rbc(grid=64), progress=False)
    >>> bl.simulate(result, periods=500).series["output"].shape
    (500,)
    >>> bl.simulate(result, agents=20, periods=50).series["output"].shape
    (20, 50)
    """
    answer = answer_of(result, choices)
    if getattr(getattr(answer, "problem", None), "horizon", None) is not None:
        for name, value in {"periods": periods, "burn_in": burn_in, "start": start}.items():
            if value is not None:
                raise ProblemError(f"{name} needs an infinite horizon; life_paths simulates all ages of this problem")
        people = 10_000 if agents is None else count_of("agents", agents, LIVES_LIMIT // answer.problem.horizon)
        return life_paths(answer, people, seed, 0, choices, physical)
    problem = followed(answer, "a simulation")
    alone = agents is None
    periods, burn_in, seed = check_draws(
        (10_000 if alone else 100) if periods is None else periods,
        (1_000 if alone else 0) if burn_in is None else burn_in, seed,
    )  # fmt: skip
    most = PERIODS_LIMIT // (burn_in + periods)
    if agents is not None:
        agents = count_of("agents", agents, most)
    policy, random = policy_of(answer, physical=chain_of(problem, physical)), np.random.default_rng(seed)
    count = 1 if agents is None else agents
    if start is None and agents is not None:
        mass = stationary_mass(policy)
        drawn = np.searchsorted(np.cumsum(mass), random.random(count) * mass.sum(), side="right")
        begin = np.array(np.unravel_index(np.minimum(drawn, mass.size - 1), mass.shape), np.int32)
    else:
        begin = np.tile(np.array(_first(problem, start), np.int32)[:, None], count)
    path = follow([policy], random, begin, burn_in + periods)
    reached = int((path[1, 0] >= 0).sum()) - 1
    if alone and policy.choice[tuple(path[1:, 0, reached])] < 0:
        name = answer.alternatives[path[1, 0, reached]]
        raise ProblemError(f"the path ends in period {reached:,}, in which {name!r} is taken, which ends the problem")
    return _simulation(answer, [policy], path[:, :, burn_in:], burn_in, seed, "Simulation", alone)


def _first(problem: Problem, start: Any) -> tuple[int, int, int]:
    """Return regime, point and state of ``start``, checked; by default the middle of the grid and of the states."""
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
    return r, x, s


def life_paths(
    result: Result | Refined,
    people: int = 10_000,
    seed: int = 0,
    start: int = 0,
    choices: str | None = None,
    physical: Any = None,
) -> Simulation:
    """Simulate the lives of many people with the policies of all ages.

    Everybody starts in the first regime at grid point ``start``. The first exogenous state is drawn from the stationary
    distribution of the Markov chain, that of the first age if it depends on age.

    Parameters
    ----------
    result : Result or Refined
        A solution with a horizon, all of whose ages were solved.
    people : int
        Number of people, at least 1; times the number of ages at most ``LIVES_LIMIT``.
    seed : int
        Seed of NumPy's default random generator.
    start : int
        Index of the grid point at which everybody's first age begins.
    choices : str, optional
        ``"continuous"``, the default, or ``"grid"``, as in :func:`beltline.stationary_distribution`.
    physical : (N_z, N_z) array, optional
        Markov matrix that the exogenous state follows, as there.

    Returns
    -------
    Simulation
        Arrays are ``(people, T)``.

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
    answer = answer_of(result, choices)
    check_result(answer, "a simulation of lives")
    problem: Problem = answer.problem
    endless = "life_paths needs a problem with a horizon, and this one has none: use simulate"
    policies, first, start = policies_by_age(answer, "a simulation", endless, start, physical)
    ages = len(policies)
    people = count_of("people", people, LIVES_LIMIT // ages)
    seed = whole("seed", seed, "a whole number that is not negative", lambda v: v >= 0)
    random = np.random.default_rng(seed)
    begin = np.zeros((3, people), np.int32)
    begin[1] = start
    begin[2] = np.minimum(np.searchsorted(np.cumsum(first), random.random(people), side="right"), problem.states - 1)
    path = follow(policies, random, begin, ages)
    return _simulation(answer, policies, path, 0, seed, "Lives", False)


def count_of(name: str, value: Any, most: int) -> int:
    """Return the number of people to simulate, after checking it."""
    return whole(name, value, f"a whole number from 1 to {most}", lambda v: 1 <= v <= most)


def follow(
    policies: Sequence[Policy], random: np.random.Generator | Array, start: NDArray[np.int32], periods: int
) -> NDArray[np.int32]:
    """Follow policies, one or those of all ages, for some periods.

    ``start``, ``(3, people)``, has regime, grid point and exogenous state of each person. Uniform random numbers, for
    the next exogenous state, the alternative, the next regime and the lottery of each period, are drawn from
    ``random``, or are it, ``(4, people, periods)``.

    Returns the paths, ``(4, people, periods)``: regime, alternative, point and state; -1 after an alternative without a
    choice, which ends a life.
    """
    order, first = policies[0].by_regime()[0], policies[0].regime
    first = np.searchsorted(first[order], np.arange(policies[0].mix.shape[1] + 1))
    taken = np.stack([one.by_regime()[1] for one in policies])
    chain, mix = (np.cumsum([getattr(one, name)[order] for one in policies], axis=-1) for name in ("chain", "mix"))
    choice = np.stack([one.choice[order] for one in policies]).astype(np.int32)
    share = np.stack([one.shares[order] for one in policies])
    people = start.shape[1]
    path = np.full((4, people, periods), -1, np.int32)
    block = max(1, BLOCK // periods)
    for begin in range(0, people, block):
        part = slice(begin, begin + block)
        count = min(block, people - begin)
        draws = random.random((4, count, periods)) if isinstance(random, np.random.Generator) else random[:, part]
        found = np.full((4, count, periods), -1, np.int32)
        _follow(choice, share, taken, first, chain, mix, draws, np.ascontiguousarray(start[:, part]), found)
        path[:, part] = found
    path[1] = np.where(path[1] >= 0, order[path[1]], -1)
    return path


def _simulation(
    answer: Result | Refined, policies: Sequence[Policy], path: NDArray[np.int32], burn_in: int, seed: int, what: str,
    alone: bool,
) -> Simulation:  # fmt: skip
    """Return the simulation with these paths, ``(4, people, periods)``; ``alone`` leaves out the axis of people."""
    problem, last = answer.problem, answer.problem.points - 1
    aged = problem.horizon is not None
    regimes, alternatives, points, states = (part[0] if alone else part for part in path.copy())
    at: Any = (alternatives, points, states)
    if aged:
        at = (np.arange(path.shape[2]), *at)
    # After the end of a life the indices are -1, and what is found there is not used.
    chosen = np.stack([one.choice + (one.shares >= 1.0) for one in policies])
    chosen = (chosen if aged else chosen[0])[at]
    gone = (points < 0) | (chosen < 0)
    series = {name: np.where(gone, np.nan, table[at]) for name, table in by_alternative(answer).items()}
    at_top = int((chosen[~gone] == last).sum())
    title = heading(what, answer)
    return Simulation(points, states, regimes, alternatives, series, burn_in, seed, at_top, title, aged)


def check_draws(periods: int, burn_in: int, seed: int, least: int = 1) -> tuple[int, int, int]:
    """Check the length of a simulated path, from ``least``, the periods dropped before it, and the seed."""
    wanted = f"a whole number from {{}} to {PERIODS_LIMIT}"
    return (
        whole("periods", periods, wanted.format(least), lambda v: least <= v <= PERIODS_LIMIT),
        whole("burn_in", burn_in, wanted.format(0), lambda v: 0 <= v <= PERIODS_LIMIT),
        whole("seed", seed, "a whole number that is not negative", lambda v: v >= 0),
    )
