"""The economy of Aiyagari (1994) with several types of households, who differ in patience or risk aversion."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from beltline.host.analysis.inequality import gini, lorenz
from beltline.host.models.aiyagari.model import (
    Aiyagari,
    aiyagari,
    capital_search,
    clear,
    excess_supply,
    first_value,
    in_shares,
)
from beltline.host.models.aiyagari.result import CubicsResult
from beltline.host.models.aiyagari_path.model import check_arguments
from beltline.host.models.base import Model
from beltline.host.models.equilibrium.economy import verdict
from beltline.host.models.equilibrium.households import UnsolvedError
from beltline.host.models.equilibrium.search import MARKET_TOLERANCE, Trial
from beltline.host.models.model_result import reading
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, place, real, table
from beltline.host.problem.model_parameters import RISK_AVERSION, SHARE, Check, count
from beltline.host.problem.problem import Problem
from beltline.host.results.facts import ANY_NUMBER, COUNT
from beltline.host.results.fields import Declared, array, fact, parameter
from beltline.host.results.outcome import GRID_END_SHARE, Outcome
from beltline.host.solver.options import UNNAMED
from beltline.sim.progress import reporting

TYPES_LIMIT = 1000
"""Largest number of types, so that a mistyped number is refused before memory is allocated."""


def _each(rule: Check) -> Check:
    def check(name: str, values: Any) -> tuple[float, ...]:
        given = table(name, values, 1)
        if not 1 <= given.size <= TYPES_LIMIT:
            raise ProblemError(f"{name} must have one number for each of 1 to {TYPES_LIMIT} types, not {given.size}")
        return tuple(rule(place(name, (i,)), value) for i, value in enumerate(given.tolist()))

    return check


def _numbers(name: str, values: Any) -> tuple[float, ...]:
    return tuple(table(name, values, 1).tolist())


@dataclass(frozen=True, eq=False, repr=False)
class TypesEconomy(CubicsResult):
    """The Aiyagari economy with several types of households, at the interest rate that clears its capital market.

    Arrays are float64; they are nan if no equilibrium was found. ``n`` is the number of types.

    ``model`` is the :class:`~beltline.host.models.aiyagari_types.model.AiyagariTypes` that was solved. It is solved if
    the values of every type converged, its stationary distribution is unique, the market clears (``excess`` is at most
    :data:`~beltline.host.models.equilibrium.search.MARKET_TOLERANCE` in absolute value) and the grid is long enough
    (``at_top`` is at most :data:`~beltline.host.results.outcome.GRID_END_SHARE`).

    Examples
    --------
    >>> import beltline as bl
    >>> model = bl.aiyagari_types(grid=100, states=3, betas=[0.93, 0.96], weights=[0.8, 0.2])
    >>> bl.solve(model, progress=False).choice.shape
    (2, 100, 3)
    """

    archive_kind: ClassVar[str] = "aiyagari_types"
    names: ClassVar[tuple[str, str]] = ("model", "")
    figures: ClassVar[dict[str, str]] = {
        "shares": "share of each type among households and in wealth",
        "lorenz": "Lorenz curve of wealth among all households",
    }

    model: AiyagariTypes
    interest: float = fact(ANY_NUMBER, "Net interest rate of a period")
    excess: float = fact(ANY_NUMBER, "Excess supply of capital as a share of demand")
    value: Array = array("type", "assets", "state", text="Value of each type", unit="units of utility")
    choice: Array = array(
        "type", "assets", "state", text="Assets that each type chooses for the next period, between grid points",
        unit="units of the good",
    )  # fmt: skip
    distribution: Array = array(
        "type", "assets", "state", text="Share of the households of each type in each state; adds up to 1 for each type"
    )
    steps: int = fact(COUNT, "Number of interest rates that were tried")

    @property
    def wage(self) -> float:
        """Wage of a unit of labour."""
        return self.model.economy.wage(self.interest)

    @property
    def mean_assets(self) -> Array:
        """Mean assets of each type, ``(n,)``, in units of the good."""
        return self.distribution.sum(axis=2) @ self.assets

    @property
    def capital(self) -> float:
        """Capital per head that all households supply, in units of the good."""
        return float(self.model.shares @ self.mean_assets)

    @property
    def output(self) -> float:
        """Output per head, ``K**alpha``, in units of the good."""
        return float(self.capital**self.model.economy.alpha)

    @property
    def consumption(self) -> Array:
        """Consumption per head of each type, ``(n,)``, in units of the good."""
        units, _ = self.model.economy.labour()
        wealth = (1.0 + self.interest) * self.assets[:, None] + self.wage * units
        return (self.distribution * (wealth - self.choice)).sum(axis=(1, 2))

    @property
    def wealth_shares(self) -> Array:
        """Share of each type in total wealth, ``(n,)``; adds up to 1."""
        return np.asarray(self.model.shares * self.mean_assets / self.capital)

    @property
    def households(self) -> Array:
        """Share of all households at each grid point of assets, ``(N_k,)``; adds up to 1."""
        return self.model.shares @ self.distribution.sum(axis=2)

    @property
    def gini(self) -> float:
        """Gini coefficient of wealth among all households."""
        return gini(self.assets, self.households)

    @property
    def ginis(self) -> Array:
        """Gini coefficient of wealth within each type, ``(n,)``; nan if it has none."""
        return np.array([
            gini(self.assets, mass.sum(axis=1)) if mean > 0 else math.nan
            for mass, mean in zip(self.distribution, self.mean_assets, strict=True)
        ])  # fmt: skip

    def lorenz(self) -> tuple[Array, Array]:
        """Return the Lorenz curve of wealth among all households, in the form of :func:`beltline.lorenz`."""
        return lorenz(self.assets, self.households)

    @property
    def at_limit(self) -> Array:
        """Share of each type that chooses zero assets, ``(n,)``."""
        return (self.distribution * (self.choice <= 0.0)).sum(axis=(1, 2))

    @property
    def at_top(self) -> float:
        """Share of all households that choose the highest assets; if it is not small, raise ``high``."""
        highest = (self.distribution * (self.choice >= self.assets[-1])).sum(axis=(1, 2))
        return float(self.model.shares @ highest)

    def _title(self) -> str:
        economy, types = self.model.economy, len(self.model.betas)
        size = f"{economy.grid:,} grid points x {economy.states} states"
        return f"Aiyagari's economy with {types} types of households, {size}, on device cpu"

    def _rows(self) -> list[tuple[str, str]]:
        model, rows = self.model, [("steps", f"{self.steps} interest rates")]
        if math.isfinite(self.interest):
            top = 1 / model.economy.beta - 1
            rows += [
                ("interest", f"{self.interest:.4%} a period, 1/beta - 1 of the most patient type = {top:.4%}"),
                ("capital", f"{self.capital:.5f} per head, wage {self.wage:.5f}, output {self.output:.5f}"),
                ("wealth", f"Gini {self.gini:.4f}"),
                (
                    "market",
                    f"excess supply {self.excess:+.1e} of demand (at most {MARKET_TOLERANCE:g} in absolute value)",
                ),
                ("top of grid", f"chosen by a share of {self.at_top:.2g} (at most {GRID_END_SHARE:g})"),
            ]
            each = zip(
                model.names, model.weights, self.wealth_shares, self.mean_assets, self.ginis, self.at_limit,
                strict=True,
            )  # fmt: skip
            rows += [
                (f"type {number}", f"{name}: {weight:.1%} of households, {share:.1%} of wealth, {mean:.4f} per head, "
                                   f"Gini {within:.4f}; {limit:.1%} choose zero assets")
                for number, (name, weight, share, mean, within, limit) in enumerate(each, start=1)
            ]  # fmt: skip
        return rows

    def _sizes(self) -> dict[str, int]:
        economy = self.model.economy
        return {"type": len(self.model.betas), "assets": economy.grid, "state": economy.states}


@dataclass(frozen=True)
class AiyagariTypes(Declared, Model):
    """An economy with several types. :func:`beltline.aiyagari_types` makes it and explains its parameters."""

    kinds: ClassVar[tuple[str, ...]] = tuple(TypesEconomy.figures)
    finds_prices: ClassVar[bool] = True

    economy: Aiyagari = parameter(
        ..., lambda _, economy: economy,
        "An Aiyagari economy with the ``beta`` of the most patient type and the ``eta`` of the first type", of=Aiyagari,
    )  # fmt: skip
    betas: tuple[float, ...] = parameter(..., _each(SHARE), "Discount factor of each type")
    etas: tuple[float, ...] = parameter(..., _each(RISK_AVERSION), "Relative risk aversion of each type")
    weights: tuple[float, ...] = parameter(..., _numbers, "Share of each type among all households; they add up to 1")

    def validate(self) -> None:
        """Check that there is a number for each type and that weights add up to 1; set preferences of the economy."""
        for name in ("etas", "weights"):
            count = len(getattr(self, name))
            if count != len(self.betas):
                raise ProblemError(f"{name} must have one number for each of the {len(self.betas)} types, not {count}")
        if min(self.weights) <= 0 or abs(sum(self.weights) - 1.0) > 1e-12:
            raise ProblemError(
                f"weights must be above 0 and add up to 1, but the lowest is {min(self.weights):.6g} and their sum "
                f"{sum(self.weights):.15g}"
            )
        object.__setattr__(self, "economy", replace(self.economy, beta=max(self.betas), eta=self.etas[0]))

    @property
    def economies(self) -> tuple[Aiyagari, ...]:
        """The economy with the preferences of each type."""
        return tuple(replace(self.economy, beta=beta, eta=eta) for beta, eta in zip(self.betas, self.etas, strict=True))

    @property
    def shares(self) -> Array:
        """Share of each type among all households, ``(n,)``."""
        return np.array(self.weights)

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each type in reports and figures: the preferences in which types differ."""
        several = [("beta", self.betas), ("eta", self.etas)]
        shown = [(name, values) for name, values in several if len(set(values)) > 1] or several[:1]
        return tuple(
            ", ".join(f"{name} {values[kind]:.4g}" for name, values in shown) for kind in range(len(self.betas))
        )

    def problem(self) -> Problem:
        """Return the household's problem of the first type, at the interest rate of :meth:`Aiyagari.problem`."""
        return self.economies[0].problem()

    def solve(self, tol: float = 1e-10, device: str = UNNAMED, progress: Any = None, **more: Any) -> TypesEconomy:
        """Find the interest rate at which all households together supply the capital that firms demand.

        Households choose between grid points, as in :func:`beltline.aiyagari_path`.

        Parameters
        ----------
        tol : float
            Tolerance of the values of every type, in units of utility.
        device : str
            ``"cpu"`` or ``"auto"``, which is the same.
        progress
            As in :func:`beltline.solve`.

        Returns
        -------
        TypesEconomy
            If the market does not clear, ``success`` is false and ``message`` gives the reason.

        Raises
        ------
        ProblemError
            An argument is out of range, or is not supported here.
        KeyboardInterrupt
            The user stopped the solve.
        """
        tol = check_arguments("an economy with several types of households", tol, device, progress, more)
        begin = time.perf_counter()
        found: Trial | None = None
        status, message = Outcome.SOLVED, ""
        with reporting(progress) as report:
            search = capital_search(self.economies, self.shares, 1.0, tol, first_value, report)
            try:
                found = clear(search, self.economies)
                status, message = verdict(in_shares([self.economy], found), search.setup)
            except UnsolvedError as unsolved:
                status, message = unsolved.status, str(unsolved)
        none = np.full((len(self.betas), self.economy.grid, self.economy.states), np.nan)
        return TypesEconomy(
            model=self,
            interest=math.nan if found is None else float(found.prices.interest),
            excess=math.nan if found is None else excess_supply(self.economy, found),
            value=none if found is None else np.stack([period.value for period in found.periods]),
            choice=none if found is None else np.stack([period.choice for period in found.periods]),
            distribution=none if found is None else np.stack(found.masses),
            success=status == Outcome.SOLVED,
            status=status.value,
            message=message,
            steps=0 if found is None else len(search.trials),
            seconds=time.perf_counter() - begin,
            timing=search.timing,
            sweeps=0 if found is None else sum(trial.sweeps for trial in search.trials),
            residual=math.nan if found is None else found.change,
        )


def aiyagari_types(
    grid: int = 400,
    types: int = 3,
    beta: float = 0.96,
    spread: float = 0.01,
    eta: float = 3.0,
    betas: ArrayLike | None = None,
    etas: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    *,
    high: float = 100.0,
    **economy: Any,
) -> AiyagariTypes:
    """Set up the Aiyagari economy with several types of households, who differ in patience or risk aversion.

    A household keeps its type for ever. All types have the same Markov chain of labour and face the same prices; their
    problem is that of :func:`beltline.aiyagari`. In equilibrium the mean assets of all households, the sum of ``weight
    * mean assets`` over the types, equal the capital that firms demand.

    ``bl.solve(bl.aiyagari_types(...))`` returns a :class:`~beltline.TypesEconomy`.

    Parameters
    ----------
    grid : int
        Number of grid points of assets, from 2; households choose between them.
    types : int
        Number of types, from 1.
    beta, spread : float
        Discount factors of the types are evenly spaced from ``beta - spread`` to ``beta + spread``. All must be above 0
        and below 1, and ``spread`` at least 0.
    eta : float
        Relative risk aversion of all types, above 0 and at most 16.
    betas : (n,) array, optional
        Discount factor of each type, in place of ``types``, ``beta`` and ``spread``.
    etas : (n,) array, optional
        Relative risk aversion of each type, in place of ``eta``.
    weights : (n,) array, optional
        Share of each type among all households, above 0, adding up to 1; by default all are equal.
    high : float
        Highest assets of the grid, above 0, in units of the good.
    **economy
        The other parameters of :func:`beltline.aiyagari`.

    Returns
    -------
    AiyagariTypes
        A model for :func:`beltline.solve`.

    Raises
    ------
    ProblemError
        An argument is out of range, or the tables do not fit into the memory of this computer.

    Sources
    -------
    Aiyagari (1994), "Uninsured idiosyncratic risk and aggregate saving", Quarterly Journal of Economics 109(3),
    659-684. Carroll, Slacalek, Tokuoka and White (2017), "The distribution of wealth and the marginal propensity to
    consume", Quantitative Economics 8(3), 977-1020.

    Examples
    --------
    >>> import beltline as bl
    >>> model = bl.aiyagari_types(grid=100, states=3, betas=[0.93, 0.96], weights=[0.8, 0.2])
    >>> economy = bl.solve(model, progress=False)
    >>> economy.success, bool(economy.wealth_shares[1] > 0.2)
    (True, True)
    """
    if betas is None:
        number_of_types = count(1, TYPES_LIMIT)("types", types)
        middle = SHARE("beta", beta)
        margin = min(middle, 1 - middle)
        wanted = f"a number from 0 and below {margin:.6g}, so that all betas are above 0 and below 1"
        betas = [middle]
        if number_of_types > 1:
            half = real("spread", spread, wanted, lambda v: 0 <= v < margin and 0 < middle - v and middle + v < 1)
            betas = np.linspace(middle - half, middle + half, number_of_types)
    size = table("betas", betas, 1).size
    preferences: dict[str, Any] = {
        "betas": betas,
        "etas": np.full(size, RISK_AVERSION("eta", eta)) if etas is None else etas,
        "weights": np.full(size, 1.0 / max(size, 1)) if weights is None else weights,
    }
    return AiyagariTypes(aiyagari(grid=grid, high=high, **economy), **preferences)


read = reading(TypesEconomy, AiyagariTypes)
