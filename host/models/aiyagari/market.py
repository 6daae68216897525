"""The market of capital of one or several types of households, and the interest rate that clears it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from beltline.host.models.aiyagari.calibration import Calibration
from beltline.host.models.equilibrium.households import UnsolvedError
from beltline.host.models.equilibrium.search import Search, Start, Trial
from beltline.host.models.equilibrium.setup import Named, Setup
from beltline.host.problem.arrays import Array
from beltline.host.problem.problem import Problem
from beltline.host.results.outcome import Outcome
from beltline.host.solver.solve import solve

MAX_RATES = 100
"""Largest number of interest rates that are tried in each part of the search."""


def capital_market(economies: Sequence[Calibration], shares: Array, productivity: float = 1.0) -> Setup:
    """Return the economy of households of several types, of which the first pays for the capital of firms."""
    firms = economies[0]

    def household(prices: Any) -> tuple[Problem, ...]:
        wage = firms.wage(prices.interest, prices.productivity)
        return tuple(economy.at(prices.interest, wage) for economy in economies)

    def gap(aggregates: Any, prices: Any) -> float:
        """Return the rate at which firms would demand what is supplied, less the rate."""
        supply = aggregates.assets
        return min(firms.rate(supply, prices.productivity) - prices.interest, 1.0) if supply > 0 else 1.0

    return Setup(household, {"capital": gap}, ("interest",), Named(productivity=productivity), weights=shares)


def excess_supply(economy: Calibration, trial: Trial) -> float:
    """Return the excess supply of capital as a share of demand."""
    return float(trial.aggregates.assets / economy.capital(trial.prices.interest, trial.prices.productivity) - 1)


def first_value(kind: int, problem: Problem, last: Array | None) -> Array:
    """Return the last value between grid points; at first that of choices from the grid."""
    return solve(problem, device="cpu", verify=False, progress=False).value if last is None else last


def capital_search(
    economies: Sequence[Calibration], shares: Array, productivity: float, tol: float, start: Start,
    report: Callable[[str], None] | None,
) -> Search:  # fmt: skip
    """Return a search for the interest rate between its bounds."""
    top = 1 / max(economy.beta for economy in economies) - 1
    setup = capital_market(economies, shares, productivity)
    return Search(setup, tol, start, report, [-economies[0].delta], [top])


def clear(search: Search, economies: Sequence[Calibration]) -> Trial:
    """Find the interest rate at which households supply the capital that firms demand."""
    firms, top = economies[0], 1 / max(economy.beta for economy in economies) - 1
    try:
        return search.clear([0.9 * top], MAX_RATES)
    except UnsolvedError as unsolved:
        highest = max(search.trials, key=lambda trial: float(trial.prices.interest), default=None)
        if unsolved.status != Outcome.MARKET or highest is None or highest.excess[0] <= 0:
            raise
        # On an infinite grid, supply rises without bound as the rate approaches 1/beta - 1.
        of = " of the most patient type" if len(economies) > 1 else ""
        why = "the grid ends too early, so raise high."
        if firms.states == 1:
            why = "with one state incomes are certain, and households save at no rate below 1/beta - 1, so raise "
            why += "states."
        prices = highest.prices
        raise UnsolvedError(
            Outcome.MARKET,
            f"Just below 1/beta - 1{of} the supply of capital is {highest.aggregates.assets:.4g} and demand "
            f"{firms.capital(prices.interest, prices.productivity):.4g}: {why}",
        ) from None
