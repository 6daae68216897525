"""A transition path of the Aiyagari economy: its parameters, prices, and solution by date."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from beltline.host.analysis.inequality import gini
from beltline.host.analysis.policy import lottery
from beltline.host.models.aiyagari.model import Aiyagari
from beltline.host.models.aiyagari.result import CubicsResult
from beltline.host.models.equilibrium.search import MARKET_TOLERANCE
from beltline.host.models.equilibrium.sequence import PERIODS_LIMIT, REST_TOLERANCE
from beltline.host.models.equilibrium.transition import SHARES
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, place, table
from beltline.host.problem.model_parameters import POSITIVE
from beltline.host.results.facts import ANY_NUMBER
from beltline.host.results.fields import Declared, array, fact, parameter, parts
from beltline.host.results.outcome import GRID_END_SHARE


def levels_by_date(name: str, values: Any) -> tuple[float, ...]:
    """Return levels above 0, one for each of up to ``PERIODS_LIMIT`` dates, as a tuple."""
    given = table(name, values, 1)
    if not 1 <= given.size <= PERIODS_LIMIT:
        raise ProblemError(f"{name} must have 1 to {PERIODS_LIMIT} dates, not {given.size}")
    return tuple(POSITIVE(place(name, (date,)), level) for date, level in enumerate(given.tolist()))


@dataclass(frozen=True)
class Calibration(Declared):
    """Parameters of the transition path, and the prices that follow."""

    economy: Aiyagari = parameter(
        ..., lambda _, economy: economy,
        "The Aiyagari economy, whose productivity was 1 and was expected to remain 1", of=Aiyagari,
    )  # fmt: skip
    productivity: tuple[float, ...] = parameter(..., levels_by_date, "Productivity at each date")
    after: float = parameter(..., POSITIVE, "Productivity after the last of these dates, for ever")

    @property
    def periods(self) -> int:
        """Number of dates, ``T``."""
        return len(self.productivity)

    def output(self, capital: Array) -> Array:
        """Return output per head at each date, ``(T,)``, given capital per head at each date."""
        return np.array(self.productivity) * capital**self.economy.alpha

    def prices(self, capital: Array) -> tuple[Array, Array]:
        """Return the interest rate and the wage at each date, ``(T,)`` each, given capital per head at each date."""
        output = self.output(capital)
        alpha = self.economy.alpha
        return alpha * output / capital - self.economy.delta, (1.0 - alpha) * output


@dataclass(frozen=True)
class Rest(Declared):
    """Prices and capital of a steady state."""

    productivity: float = fact(ANY_NUMBER, "Productivity")
    interest: float = fact(ANY_NUMBER, "Net interest rate of a period")
    wage: float = fact(ANY_NUMBER, "Wage of a unit of labour")
    capital: float = fact(ANY_NUMBER, "Capital per head that households supply", "units of the good")
    excess: float = fact(ANY_NUMBER, "Excess supply of capital as a share of demand")


@dataclass(frozen=True, eq=False, repr=False)
class TransitionPath(CubicsResult):
    """The Aiyagari economy at every date after an unexpected change of productivity.

    Before date 0, productivity was 1 and was expected to remain 1. At date 0 everybody learns its future path. Arrays
    are float64; they are nan if no path was found.

    ``model`` is the :class:`~beltline.host.models.aiyagari_path.model.AiyagariPath` that was solved. It is solved if
    both steady states are, ``excess`` is at most :data:`~beltline.host.models.equilibrium.search.MARKET_TOLERANCE` in
    absolute value at every date and at most :data:`~beltline.host.models.equilibrium.sequence.REST_TOLERANCE` after
    the last, and the grid is long enough (``at_top`` is at most
    :data:`~beltline.host.results.outcome.GRID_END_SHARE`).

    Examples
    --------
    >>> import beltline as bl
    >>> path = bl.solve(bl.aiyagari_path(grid=100, states=3, shock=0.01), progress=False)
    >>> path.success, path.choice.shape, path.distribution.shape
    (True, (200, 100, 3), (201, 100, 3))
    """

    archive_kind: ClassVar[str] = "aiyagari_path"
    names: ClassVar[tuple[str, str]] = ("model", "")
    figures: ClassVar[dict[str, str]] = {
        "path": "productivity and capital, output and consumption, wage, and interest rate at each date, relative to "
        "the initial steady state",
        "inequality": "Gini coefficient of wealth at each date",
        "market": "excess supply of capital at each date",
    }

    model: Calibration
    initial: Rest = parts(Rest, "The steady state before the shock", many=False)
    final: Rest = parts(Rest, "The steady state of the productivity after the last date", many=False)
    capital: Array = array(
        "date", text="Capital per head that firms use at each date; the first is that of the initial steady state",
        unit="units of the good",
    )  # fmt: skip
    excess: Array = array(
        "beginning", text="Excess supply of capital at the beginning of each date, as a share of demand; the last is "
        "that of the date after the path, at which demand is that of the final steady state",
    )  # fmt: skip
    value: Array = array("date", "assets", "state", text="Value of households", unit="units of utility")
    choice: Array = array(
        "date", "assets", "state", text="Assets that households choose for the next date, between grid points",
        unit="units of the good",
    )  # fmt: skip
    distribution: Array = array(
        "beginning", "assets", "state", text="Share of households in each state at the beginning of each date; adds up "
        "to 1",
    )  # fmt: skip
    steps: tuple[float, ...] = fact(
        SHARES, "Largest absolute excess of the dates of the path after each step of the search for prices"
    )

    @property
    def productivity(self) -> Array:
        """Productivity at each date, ``(T,)``."""
        return np.array(self.model.productivity)

    @property
    def interest(self) -> Array:
        """Net interest rate at each date, ``(T,)``."""
        return self.model.prices(self.capital)[0]

    @property
    def wage(self) -> Array:
        """Wage of a unit of labour at each date, ``(T,)``."""
        return self.model.prices(self.capital)[1]

    @property
    def output(self) -> Array:
        """Output per head at each date, ``(T,)``, in units of the good."""
        return self.model.output(self.capital)

    @property
    def household_consumption(self) -> Array:
        """Consumption of each household at each date, ``(T, N_k, N_z)``, in units of the good."""
        units, _ = self.model.economy.labour()
        wealth = (1.0 + self.interest)[:, None, None] * self.assets[:, None] + self.wage[:, None, None] * units
        return np.asarray(wealth - self.choice)

    @property
    def consumption(self) -> Array:
        """Consumption per head at each date, ``(T,)``, in units of the good."""
        return (self.distribution[:-1] * self.household_consumption).sum(axis=(1, 2))

    @property
    def investment(self) -> Array:
        """Investment per head at each date, ``(T,)``, in units of the good: saving less undepreciated capital."""
        saved = (self.distribution[:-1] * self.choice).sum(axis=(1, 2))
        return np.asarray(saved - (1.0 - self.model.economy.delta) * self.capital)

    @property
    def resources(self) -> Array:
        """Output less consumption and investment at each date, ``(T,)``, as a share of output; 0 if markets clear."""
        return np.asarray((self.output - self.consumption - self.investment) / self.output)

    @property
    def euler_errors(self) -> Array:
        """Mean absolute Euler equation error at each date, ``(T - 1,)``, as a share of consumption.

        It is the relative difference between consumption and the consumption that the Euler equation implies, given the
        next date's consumption, interpolated linearly. Households that choose zero assets are left out.
        """
        economy, consumption = self.model.economy, self.household_consumption
        _, chain = economy.labour()
        columns = np.arange(chain.shape[0])
        found = np.empty(self.model.periods - 1)
        for date in range(found.size):
            below, share = lottery(self.assets, self.choice[date])
            # Consumption of the next date by today's state and the next state of labour, (N_k, N_z, N_z').
            following = consumption[date + 1]
            ahead = (1.0 - share)[..., None] * following[below] + share[..., None] * following[below + 1]
            marginal = (chain[columns] * ahead**-economy.eta).sum(axis=2)
            implied = (economy.beta * (1.0 + self.interest[date + 1]) * marginal) ** (-1.0 / economy.eta)
            free = self.distribution[date] * (self.choice[date] > 0.0)
            found[date] = (free * np.abs(1.0 - implied / consumption[date])).sum() / free.sum()
        return found

    @property
    def gini(self) -> Array:
        """Gini coefficient of wealth at the beginning of each date, ``(T + 1,)``."""
        return np.array([gini(self.assets, mass.sum(axis=1)) for mass in self.distribution])

    @property
    def at_top(self) -> float:
        """Largest share of households, over all dates, that choose the highest assets; if not small, raise ``high``."""
        highest = self.choice >= self.assets[-1]
        return float((self.distribution[:-1] * highest).sum(axis=(1, 2)).max())

    @property
    def largest_excess(self) -> float:
        """Largest absolute ``excess`` of the dates of the path."""
        return float(np.abs(self.excess[:-1]).max())

    def _title(self) -> str:
        model = self.model
        size = f"{model.periods} dates, {model.economy.grid:,} grid points x {model.economy.states} states"
        return f"A path of Aiyagari's economy, {size}, on device cpu"

    def _rows(self) -> list[tuple[str, str]]:
        before, after, rows = self.initial, self.final, []
        if math.isfinite(self.largest_excess):
            peak = int(np.abs(self.capital / before.capital - 1).argmax())
            rows += [
                ("before", f"r = {before.interest:.4%}, wage {before.wage:.5f}, capital {before.capital:.5f} per head, "
                           f"excess {before.excess:+.1e}"),
                ("after", f"r = {after.interest:.4%}, wage {after.wage:.5f}, capital {after.capital:.5f} per head, "
                          f"excess {after.excess:+.1e}; productivity {after.productivity:.6g}"),
                ("capital", f"farthest from before at date {peak}, {self.capital[peak] / before.capital - 1:+.3%}"),
                ("rates", f"{self.interest[0]:.4%} at date 0, {self.interest.min():.4%} to {self.interest.max():.4%}"),
                ("consumption", f"{self._moved(self.consumption)} at date 0"),
                ("market", f"largest excess supply {self.largest_excess:.1e} of demand, at date "
                           f"{int(np.abs(self.excess[:-1]).argmax())} (at most {MARKET_TOLERANCE:g} at any)"),
                ("end of path", f"excess supply {self.excess[-1]:+.1e} (at most {REST_TOLERANCE:g} in absolute value)"),
                ("resources", f"largest gap {np.abs(self.resources).max():.1e} of output"),
                ("Euler errors", f"mean {self.euler_errors.max():.1e} of consumption at the worst date"),
                ("top of grid", f"chosen by a share of {self.at_top:.2g} (at most {GRID_END_SHARE:g})"),
            ]  # fmt: skip
        return [*rows, ("steps", ", ".join(f"{step:.1e}" for step in self.steps))]

    def _moved(self, series: Array) -> str:
        """Return the change of consumption per head from the initial steady state to date 0, as text."""
        before = self.initial
        consumption = (
            before.productivity * before.capital**self.model.economy.alpha - self.model.economy.delta * before.capital
        )
        return f"{series[0] / consumption - 1:+.3%}"

    def _sizes(self) -> dict[str, int]:
        dates, economy = self.model.periods, self.model.economy
        return {"date": dates, "beginning": dates + 1, "assets": economy.grid, "state": economy.states}
