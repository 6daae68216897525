"""A life of finitely many ages: the model, and simulated lives."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beltline.host.analysis.simulation import chain_distribution, heading, usable, variables
from beltline.host.problem.checks import ProblemError, real, shown, whole
from beltline.host.problem.grids import grid_uniform
from beltline.host.problem.markov import tauchen
from beltline.host.problem.model_parameters import chain_size, parameter
from beltline.host.problem.problem import HORIZON_LIMIT, Problem
from beltline.host.results.result import Result

Array = NDArray[np.float64]

LIVES_LIMIT = 10**7
"""Largest number of ages times people that are simulated, so that a mistyped number is refused and not allocated."""


def life_cycle(
    grid: int = 1500,
    states: int = 15,
    ages: int = 10,
    beta: float = 0.97,
    eta: float = 2.0,
    interest: float = 0.07,
    wage: float = 5.0,
    rho: float = 0.99,
    sigma: float = 0.02058,
    width: float = 1.5,
    low: float = 0.1,
    high: float = 4.0,
) -> Problem:
    """Return the life cycle of a worker with assets ``x`` and productivity ``e``, who leaves nothing behind.

    Money on hand is ``W(x, e) = (1 + interest) x + wage e`` at every age; ``ln e' = rho ln e + u``, ``u ~ N(0,
    sigma**2)``, as a :func:`~beltline.host.problem.markov.tauchen` chain. The grid is uniform from ``low`` to ``high``,
    and whoever lives also keeps ``low`` at least, at the last age too. ``value`` and ``policy`` of the result have the
    age as first axis.

    Parameters
    ----------
    grid
        Number of grid points of assets, from 2.
    states
        Number of productivity states, 1 to ``CHAIN_LIMIT``.
    ages
        Number of ages, 1 to ``HORIZON_LIMIT``.
    beta
        Discount factor from age to age, above 0 and below 1.
    eta
        Relative risk aversion, above 0 and at most 16; 1 is log utility.
    interest
        Of assets from age to age, above -1.
    wage
        Of a unit of productivity, above 0, in units of the good.
    rho
        Persistence of ``ln e``, above -1 and below 1.
    sigma
        Standard deviation of the shock to ``ln e``, above 0.
    width
        Half-width of the productivity grid in unconditional standard deviations, above 0.
    low, high
        Ends of the grid, in units of the good.

    Raises
    ------
    ProblemError
        An argument out of range, in one sentence.

    Sources
    -------
    Fernandez-Villaverde and Zarruk Valencia (2018), "A practical guide to parallelization in economics", NBER working
    paper 24561. Oswald, "GPU computing with Julia" (a tutorial), whose numbers are the defaults.
    """
    states = chain_size("states", states)
    ages = whole("ages", ages, f"a whole number from 1 to {HORIZON_LIMIT}", lambda v: 1 <= v <= HORIZON_LIMIT)
    beta = parameter("beta", beta)
    eta = parameter("eta", eta)
    interest = real("interest", interest, "a number above -1", lambda v: -1 < v < math.inf)
    wage = real("wage", wage, "a number above 0", lambda v: 0 < v < math.inf)
    assets = grid_uniform(low, high, grid)
    log_e, transition = tauchen(states, rho, sigma, width=width)
    e = np.exp(log_e)
    wealth = (1 + interest) * assets[:, None] + wage * e
    if (wealth[0] <= assets[0]).any():
        raise ProblemError(
            f"the poorest worker has {wealth[0].min():.6g} to spend and must keep low = {assets[0]:.6g}: "
            f"raise wage, or lower low"
        )
    return Problem(
        grid=assets,
        wealth=wealth,
        transition=transition,
        start=np.zeros_like(wealth),
        beta=beta,
        eta=eta,
        horizon=ages,
        name="life cycle",
        asset="assets x",
        labels=tuple(f"e = {value:.4f}" for value in e),
        marginal_wealth=np.full_like(wealth, 1 + interest),
        output=wealth - assets[:, None],
        shock="productivity e",
        shock_values=e,
        parameters={
            "interest": interest, "wage": wage, "rho": float(rho), "sigma": float(sigma), "width": float(width),
        },
    )  # fmt: skip


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
