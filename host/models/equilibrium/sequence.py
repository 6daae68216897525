"""Responses in sequence space: those of households to prices by date, and those of the economy to small shocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from beltline.host.models.equilibrium.economy import MarketEquilibrium
from beltline.host.models.equilibrium.households import Period, nearby
from beltline.host.models.equilibrium.setup import Named, Setup, setup_of
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, shown, table, whole
from beltline.host.problem.problem import Problem
from beltline.host.problem.report import Report, as_html, as_text, report

PERIODS_LIMIT = 10_000
"""Largest number of dates, so that a mistyped number is refused before memory is allocated."""

REST_TOLERANCE = 1e-4
"""Largest excess in a steady state, and after the last date of a path, at which it counts as one."""

STEP = 1e-6
"""Relative change of a price for finite differences."""


@dataclass(frozen=True, eq=False)
class Rest:
    """A steady state of one type of households."""

    prices: Named
    period: Period
    mass: Array
    aggregates: Named

    @classmethod
    def of(cls, setup: Setup, found: MarketEquilibrium) -> Rest:
        """Return the steady state of an equilibrium."""
        prices = setup.named([found.prices[name] for name in setup.prices])
        (problem,) = setup.problems(prices)
        period = setup.choose(problem, Period.known(problem, found.continuous_value, found.continuous_choice))
        return cls(prices, period, found.distribution, Named(found.aggregates))

    def check(self, setup: Setup, name: str) -> None:
        """Check that the functions of ``setup`` are those with which the steady state, ``name``, was found.

        Raises
        ------
        ProblemError
            They give other aggregates, or a market does not clear.
        """
        found = self.period.amounts(self.prices, setup.extra)
        for each in [*self.aggregates, *found]:
            mean = float((self.mass * found.get(each, math.nan)).sum())
            known = self.aggregates.get(each, math.nan)
            if not abs(mean - known) <= REST_TOLERANCE * max(1.0, abs(known)):
                raise ProblemError(
                    f"household and variables must be those with which {name} was found: {each} is {mean:.6g} there, "
                    f"and was {known:.6g}"
                )
        for each, excess in zip(setup.markets, setup.excess(self.aggregates, self.prices), strict=True):
            if not abs(excess) <= REST_TOLERANCE:
                raise ProblemError(
                    f"markets must be those with which {name} was found: the excess of {each} is {excess:.3g} there, "
                    f"and at most {REST_TOLERANCE:g} is allowed"
                )


Responses = dict[str, dict[str, Array]]
"""Derivatives, ``(T, T)``, by the name of an aggregate or price and that of what it responds to."""


def household_responses(setup: Setup, rest: Rest, names: Sequence[str], dates: int, both: bool = True) -> Responses:
    """Return the derivatives of every aggregate at date ``t`` with respect to each of the prices ``names`` at ``s``.

    In a steady state the response of choices to a price ``u`` dates ahead does not depend on the date, so one backward
    pass gives all of them. Their effect on the distribution follows by iterating backwards on what a household is
    expected to have and do: the fake-news algorithm of Auclert, Bardoczy, Rognlie and Straub (2021). Responses are
    differences of a small change, with ``both`` in both directions.
    """
    mass, period = rest.mass, rest.period
    tables = period.amounts(rest.prices, setup.extra)
    step, unmoved = period.policy.matrix(), period.carry(mass)
    # What is expected of each state, after each number of dates.
    expected = np.empty((dates - 1, mass.size, len(tables)))
    expected[0] = np.stack([table.ravel() for table in tables.values()], axis=1)
    for t in range(1, dates - 1):
        expected[t] = step @ expected[t - 1]
    again = nearby(period.problem, period, setup.choose)
    found: Responses = {each: {} for each in tables}
    for name in names:
        size = STEP * max(abs(rest.prices[name]), 1e-2)
        now = {each: np.zeros(dates) for each in tables}
        moved = np.zeros((dates, mass.size))
        for change, weight in ((size, 0.5), (-size, 0.5)) if both else ((size, 1.0),):
            prices, ahead = Named({**rest.prices, name: rest.prices[name] + change}), period
            (problem,) = setup.problems(prices)
            choose = nearby(problem, period, setup.choose)
            for u in range(dates):
                ahead = choose(ahead)
                for each, now_has in ahead.amounts(prices, setup.extra).items():
                    now[each][u] += weight / change * float((mass * (now_has - tables[each])).sum())
                moved[u] += weight / change * (ahead.carry(mass) - unmoved).ravel()
                choose, prices = again, rest.prices
        for k, each in enumerate(tables):
            news = np.concatenate([now[each][None], expected[:, :, k] @ moved.T])
            for t in range(1, dates):
                news[t, 1:] += news[t - 1, :-1]
            found[each][name] = news
    return found


def market_slopes(setup: Setup, rest: Rest) -> dict[str, Array]:
    """Return the derivatives of every excess with respect to each aggregate and price by name, ``a.`` and ``p.``."""

    def slope(kind: int, name: str) -> Array:
        at = rest.aggregates, rest.prices
        size, ends = STEP * max(abs(at[kind][name]), 1e-2), list[Array]()
        for change in (size, -size):
            moved = [*at]
            moved[kind] = Named({**at[kind], name: at[kind][name] + change})
            ends.append(setup.excess(*moved))
        return (ends[0] - ends[1]) / (2.0 * size)

    found = {f"a.{name}": slope(0, name) for name in rest.aggregates}
    return found | {f"p.{name}": slope(1, name) for name in rest.prices}


def market_jacobian(slopes: Mapping[str, Array], aggregates: Responses, name: str, dates: int) -> Array:
    """Return the derivatives of the excess of all markets and dates, ``(M T, T)``, with respect to a price by date,
    given those of ``aggregates``.
    """
    found: Array = np.asarray(np.kron(slopes[f"p.{name}"][:, None], np.eye(dates)), np.float64)
    for each, by in aggregates.items():
        if slopes[f"a.{each}"].any():
            found += np.kron(slopes[f"a.{each}"][:, None], by[name])
    return found


@dataclass(frozen=True, eq=False)
class SequenceJacobian:
    """Responses around a steady state; :func:`beltline.sequence_jacobian` returns it.

    Parameters
    ----------
    household : dict of dict of (T, T) array
        ``household["assets"]["interest"][t, s]`` is the derivative of an aggregate at date ``t`` with respect to a
        price, or to something given, at date ``s``, which households know at date 0.
    market : dict of (M T, T) array
        Derivatives of the excess of all markets, those of the first first, with respect to each price by date, as
        households respond.
    prices, shocks : tuple of str
        Names of the prices that markets determine, and of what is given.
    predetermined : tuple of str
        Prices that are given at date 0.
    """

    household: dict[str, dict[str, Array]]
    market: dict[str, Array]
    prices: tuple[str, ...]
    shocks: tuple[str, ...]
    predetermined: tuple[str, ...]

    @property
    def periods(self) -> int:
        """Number of dates, ``T``."""
        return next(iter(self.market.values())).shape[1]

    def responses(self, shocks: Mapping[str, Array]) -> dict[str, Array]:
        """Return the responses of prices and aggregates in general equilibrium, to first order.

        Parameters
        ----------
        shocks : dict of (T,) array
            Change of what is given by name at each date, announced at date 0.

        Returns
        -------
        dict of (T,) array
            Change of each price and aggregate by name from the steady state.

        Raises
        ------
        ProblemError
            A shock has an unknown name or a wrong shape, or the markets do not determine the prices.
        """
        excess = np.zeros(next(iter(self.market.values())).shape[0])
        changes: dict[str, Array] = {}
        for name, path in paths_of(shocks, self.shocks).items():
            if path.shape != (self.periods,):
                raise ProblemError(f"shocks[{name!r}] must have shape ({self.periods},), not {path.shape}")
            changes[name] = path
            excess += self.market[name] @ path
        slopes = np.concatenate([self.market[name] for name in self.prices], axis=1)
        found = -solved(slopes, excess, free_dates(self.prices, self.predetermined, self.periods))
        changes |= dict(zip(self.prices, np.split(found, len(self.prices)), strict=True))
        return changes | {
            each: sum((by[name] @ change for name, change in changes.items()), np.zeros(self.periods))
            for each, by in self.household.items()
        }

    def _report(self) -> Report:
        aggregates, inputs = ", ".join(self.household), ", ".join(self.market)
        return report("Responses in sequence space", [
            ("of", aggregates), ("to", inputs), ("dates", f"{self.periods}"), ("prices", ", ".join(self.prices)),
        ])  # fmt: skip

    __str__ = __repr__ = as_text
    _repr_html_ = as_html


def paths_of(shocks: Any, given: Sequence[str]) -> dict[str, Array]:
    """Return shocks by date, after checking that they are arrays of names that are given."""
    if not isinstance(shocks, Mapping) or not shocks:
        raise ProblemError(f"shocks must be a dict of arrays by date, of names that are given, not {shown(shocks)}")
    for name in shocks:
        if name not in given:
            known = ", ".join(given) or "nothing: pass given to bl.equilibrium"
            raise ProblemError(f"shocks has {shown(name)}, and what is given is {known}")
    return {name: table(f"shocks[{name!r}]", path, 1) for name, path in shocks.items()}


def free_dates(prices: tuple[str, ...], predetermined: tuple[str, ...], dates: int) -> Array:
    """Return which of the prices by date are unknown, ``(M T,)``: all but predetermined ones at date 0."""
    free = np.ones((len(prices), dates), bool)
    free[[name in predetermined for name in prices], 0] = False
    return free.ravel()


def solved(slopes: Array, excess: Array, free: Array) -> Array:
    """Return the solution of linear equations for the free prices by date; others are 0, and so are their markets."""
    found = np.zeros(excess.size)
    try:
        found[free] = np.linalg.solve(slopes[np.ix_(free, free)], excess[free])
    except np.linalg.LinAlgError:
        found[:] = np.nan
    if not np.isfinite(found).all():
        raise ProblemError(
            "the markets of all dates do not determine the prices of all dates: if a price of date 0 is known before, "
            "such as the return on assets chosen earlier, name it in predetermined"
        )
    return found


def predetermined_of(names: object, prices: tuple[str, ...]) -> tuple[str, ...]:
    """Return names of prices after checking them."""
    found = (names,) if isinstance(names, str) else names
    if not isinstance(found, tuple | list):
        raise ProblemError(f"predetermined must be the name of a price, or a tuple of them, not {shown(names)}")
    for name in found:
        if not isinstance(name, str) or name not in prices:
            raise ProblemError(f"predetermined has {shown(name)}, and the prices are {', '.join(prices)}")
    return tuple(found)


def check_equilibrium(name: str, found: object) -> MarketEquilibrium:
    """Return an equilibrium after checking that it is one, and solved."""
    if not isinstance(found, MarketEquilibrium):
        raise ProblemError(f"{name} must be the result of bl.equilibrium, not {shown(found)}")
    if not found.success:
        raise ProblemError(f"{name} must be solved, and is not: {found.message}")
    return found


def sequence_jacobian(
    household: Callable[[Any], Problem],
    markets: Callable[[Any, Any], float] | Mapping[str, Callable[[Any, Any], float]],
    at: MarketEquilibrium,
    periods: int = 300,
    *,
    predetermined: str | tuple[str, ...] = (),
    variables: Callable[[Any, Problem, Array], Mapping[str, Array]] | None = None,
) -> SequenceJacobian:
    """Compute how an economy responds to small announced changes of prices, and of what is given, at every date.

    Parameters
    ----------
    household, markets, variables
        As in :func:`beltline.equilibrium`.
    at : MarketEquilibrium
        The steady state.
    periods : int
        Number of dates, from 2; responses after them are neglected.
    predetermined : str or tuple of str
        Prices that are known before date 0, such as the return on assets chosen earlier. They do not respond at date 0,
        and the market in the same place of ``markets`` must clear then in any case.

    Returns
    -------
    SequenceJacobian
        Responses of households, and, by its method ``responses``, of the economy.

    Raises
    ------
    ProblemError
        An argument is wrong, or ``at`` is not solved.

    Sources
    -------
    Auclert, Bardoczy, Rognlie and Straub (2021), "Using the sequence-space Jacobian to solve and estimate
    heterogeneous-agent models", Econometrica 89(5), 2375-2408.

    Examples
    --------
    >>> import numpy as np
    >>> import beltline as bl
    >>> grid = bl.grid_polynomial(0.0, 60.0, 80, 3.0)
    >>> def household(p):
    ...     wealth = p.gross * grid[:, None] + p.wage * np.array([0.5, 1.5])
    ...     return bl.Problem(grid=grid, wealth=wealth, transition=[[0.8, 0.2], [0.2, 0.8]], beta=0.95, eta=2.0,
    ...                       asset="assets a")
    >>> def market(a, p):
    ...     return a.assets / 4 - 1 - 50 * (1.04 - p.gross)
    >>> at = bl.equilibrium(household, market, {"gross": 1.03}, given={"wage": 1.0},
    ...                     bounds={"gross": (0.9, 1 / 0.95)}, progress=False)
    >>> found = bl.sequence_jacobian(household, market, at, periods=40)
    >>> found.household["consumption"]["wage"].shape, found.responses({"wage": 0.9 ** np.arange(40)})["gross"].shape
    ((40, 40), (40,))
    """
    check_equilibrium("at", at)
    dates = whole("periods", periods, f"a whole number from 2 to {PERIODS_LIMIT}", lambda v: 2 <= v <= PERIODS_LIMIT)
    setup = setup_of(household, markets, at.model.prices, at.model.given, variables, at.model.method)
    fixed = predetermined_of(predetermined, setup.prices)
    rest = Rest.of(setup, at)
    rest.check(setup, "at")
    slopes = market_slopes(setup, rest)
    of = household_responses(setup, rest, tuple(rest.prices), dates)
    market = {name: market_jacobian(slopes, of, name, dates) for name in rest.prices}
    return SequenceJacobian(of, market, setup.prices, tuple(setup.given), fixed)
