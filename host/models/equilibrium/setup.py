"""An economy as functions: the household at given prices, and the excess of each market."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from beltline.host.analysis.policy import check_forever
from beltline.host.models.equilibrium.households import METHODS, Choose, Extra
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, plain_text, real, shown, word
from beltline.host.problem.general import extras
from beltline.host.problem.problem import Problem

Market = Callable[[Any, Any], float]
"""Excess of a market as a function of aggregates and prices."""


class UnknownNameError(ProblemError, AttributeError):
    """A function of the user reads a price or an aggregate that does not exist."""


class Named(dict[str, Any]):
    """Numbers by name, which are also attributes: ``prices["interest"]`` is ``prices.interest``."""

    def __getattr__(self, name: str) -> Any:
        if name not in self:
            raise UnknownNameError(
                f"prices, given and variables have no {name!r}; known are {', '.join(map(repr, self))}"
            )
        return self[name]


def numbers(name: str, given: Any) -> Named:
    """Return a mapping of names to finite numbers, after checking it."""
    if not isinstance(given, Mapping):
        raise ProblemError(f"{name} must be a dict of numbers by name, not {shown(given)}")
    for key in given:
        if not isinstance(key, str) or not key.isidentifier():
            raise ProblemError(f"each name of {name} must be a Python identifier, not {shown(key)}")
    return Named({key: real(f"{name}[{key!r}]", each, "a finite number", np.isfinite) for key, each in given.items()})


@dataclass(frozen=True, eq=False)
class Setup:
    """The functions of an economy; ``prices`` and ``given`` are the names of what they take.

    ``household`` returns the problem at some prices, or one for each type of households, of which ``weights`` are the
    shares. ``markets`` has the excess of each market by name. Each function gets copies, which it may change.
    """

    household: Callable[[Any], Any]
    markets: Mapping[str, Market]
    prices: tuple[str, ...]
    given: Named
    extra: Extra | None = None
    weights: Array = field(default_factory=lambda: np.ones(1))
    method: str = "cubics"

    @property
    def choose(self) -> Choose:
        """The choices at a date, given the next one."""
        return METHODS[self.method][0]

    def named(self, values: Sequence[float]) -> Named:
        """Return prices and what is given by name."""
        return Named({**dict(zip(self.prices, map(float, values), strict=True)), **self.given})

    def text(self, prices: Mapping[str, float]) -> str:
        """Return prices, without what is given, for messages."""
        return ", ".join(f"{name} = {prices[name]:.6g}" for name in self.prices)

    def problems(self, prices: Named) -> tuple[Problem, ...]:
        """Return the problem of each type at these prices.

        Raises
        ------
        ProblemError
            ``household`` returns something else.
        """
        made = self.household(Named(prices))
        problems = made if isinstance(made, tuple) else (made,)
        for problem in problems:
            if not isinstance(problem, Problem):
                raise ProblemError(f"household must return a Problem, not {shown(problem)}")
            check_forever(problem, "a household of an economy")
            for one in problem.alternatives:
                if one.value is not None:
                    raise ProblemError(f"households of an economy live for ever, and {one.name!r} ends the problem")
            if self.method == "egm" and problem.general:
                has = ", ".join(extras(problem))
                raise ProblemError(f"method 'egm' needs one choice of x' that costs x', and {problem.name} has {has}")
            if self.method == "egm" and problem.marginal_wealth is None:
                raise ProblemError(f"method 'egm' needs marginal_wealth, which {problem.name} does not have")
        return problems

    def excess(self, aggregates: Named, prices: Named) -> Array:
        """Return the excess of each market.

        Raises
        ------
        ProblemError
            A market is not a number.
        """
        found = []
        for name, market in self.markets.items():
            value = market(Named(aggregates), Named(prices))
            if not isinstance(value, int | float | np.floating | np.integer) or isinstance(value, bool):
                raise ProblemError(f"markets[{name!r}] must return a number, not {shown(value)}")
            found.append(float(value))
        return np.array(found)


def setup_of(household: Any, markets: Any, prices: Sequence[str], given: Any, variables: Any, method: Any) -> Setup:
    """Return the functions of an economy after checking them."""
    if not callable(household):
        raise ProblemError(f"household must be a function of prices that returns a Problem, not {shown(household)}")
    if callable(markets):
        markets = {"market": markets}
    if not isinstance(markets, Mapping) or not markets or not all(map(callable, markets.values())):
        raise ProblemError(
            f"markets must be a function of aggregates and prices, or a dict of them by name, not {shown(markets)}"
        )
    for name in markets:
        plain_text(f"the name of markets[{shown(name)}]", name)
    if len(markets) != len(prices):
        raise ProblemError(
            f"there must be one market for each price, and there are {len(markets)} markets ({', '.join(markets)}) and "
            f"{len(prices)} prices ({', '.join(prices)})"
        )
    if variables is not None and not callable(variables):
        raise ProblemError(
            f"variables must be a function of prices, problem and choices, or None, not {shown(variables)}"
        )
    given = numbers("given", {} if given is None else given)
    for name in given:
        if name in prices:
            raise ProblemError(f"{name!r} is in given and is a price: it can be one of them only")
    return Setup(household, dict(markets), tuple(prices), given, variables, method=word("method", method, METHODS))
