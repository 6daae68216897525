"""The Aiyagari economy with several types of households, who differ in patience or risk aversion."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from beltline.host.models.aiyagari.model import aiyagari
from beltline.host.models.aiyagari_path.model import check_arguments
from beltline.host.models.aiyagari_path.result import PATH_TOLERANCE
from beltline.host.models.aiyagari_path.steady_state import UnsolvedError
from beltline.host.models.aiyagari_types.calibration import Calibration
from beltline.host.models.aiyagari_types.plot import KINDS
from beltline.host.models.aiyagari_types.population import Population, clear
from beltline.host.models.aiyagari_types.result import SUFFIXES, TypesEconomy
from beltline.host.models.base import Model
from beltline.host.problem.checks import ProblemError, place, real, table, whole
from beltline.host.problem.model_parameters import RULES, parameter
from beltline.host.problem.problem import Problem
from beltline.host.results.outcome import GRID_END_SHARE, Outcome
from beltline.host.solver.options import UNNAMED
from beltline.sim.progress import reporting

TYPES_LIMIT = 1000
"""Largest number of types, so that a mistyped number is refused before memory is allocated."""


@dataclass(frozen=True)
class AiyagariTypes(Calibration, Model):
    """An economy with several types. :func:`beltline.aiyagari_types` makes it and explains its parameters."""

    suffixes: ClassVar[tuple[str, ...]] = SUFFIXES
    kinds: ClassVar[tuple[str, ...]] = KINDS
    finds_prices: ClassVar[bool] = True

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
        found: Population | None = None
        steps, status, message = 0, Outcome.SOLVED, ""
        with reporting(progress) as report:
            try:
                found, steps = clear(self, tol, report)
            except UnsolvedError as unsolved:
                status, message = unsolved.status, str(unsolved)
        if found is not None:
            status, message = self._verdict(found)
        none = np.full((len(self.betas), self.economy.grid, self.economy.states), np.nan)
        return TypesEconomy(
            model=self,
            interest=math.nan if found is None else found.interest,
            excess=math.nan if found is None else found.excess,
            value=none if found is None else np.stack([period.value for period in found.periods]),
            choice=none if found is None else np.stack([period.choice for period in found.periods]),
            distribution=none if found is None else found.distribution,
            success=status == Outcome.SOLVED,
            status=status.value,
            message=message,
            steps=steps,
            seconds=time.perf_counter() - begin,
        )

    def _verdict(self, found: Population) -> tuple[Outcome, str]:
        """Return how the search ended, given that it found a rate, and the message."""
        if not abs(found.excess) <= PATH_TOLERANCE:
            return Outcome.MARKET, (
                f"At r = {found.interest:.4%} the market does not clear: excess supply is {found.excess:+.2e} of "
                f"demand, and at most {PATH_TOLERANCE:g} is allowed: raise grid above {self.economy.grid:,}, or lower "
                f"tol."
            )
        highest = [float(mass[period.choice >= self.economy.high].sum())
                   for mass, period in zip(found.distribution, found.periods, strict=True)]  # fmt: skip
        top = float(self.shares @ highest)
        if top > GRID_END_SHARE:
            return Outcome.GRID, (
                f"{top:.2%} of households choose the highest assets, {self.economy.high:g}, and at most "
                f"{GRID_END_SHARE:.2%} may: raise high."
            )
        return Outcome.SOLVED, (
            f"The market clears at a capital of {self.shares @ found.mean_assets:.6g} per head, with an excess of "
            f"{abs(found.excess):.1e}."
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
    states: int = 7,
    alpha: float = 0.36,
    delta: float = 0.08,
    rho: float = 0.6,
    sigma: float = 0.2,
    width: float = 3.0,
    high: float = 100.0,
    power: float = 3.0,
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
    states, alpha, delta, rho, sigma, width, high, power
        As in :func:`beltline.aiyagari`.

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
        count = whole("types", types, f"a whole number from 1 to {TYPES_LIMIT}", lambda v: 1 <= v <= TYPES_LIMIT)
        middle = parameter("beta", beta)
        margin = min(middle, 1 - middle)
        wanted = f"a number from 0 and below {margin:.6g}, so that all betas are above 0 and below 1"
        betas = [middle]
        if count > 1:
            half = real("spread", spread, wanted, lambda v: 0 <= v < margin and 0 < middle - v and middle + v < 1)
            betas = np.linspace(middle - half, middle + half, count)
    patience = _each("betas", betas, "beta")
    aversion = _each("etas", np.full(len(patience), parameter("eta", eta)) if etas is None else etas, "eta")
    shares = table("weights", np.full(len(patience), 1.0 / len(patience)) if weights is None else weights, 1)
    for name, given in (("etas", aversion), ("weights", shares)):
        if len(given) != len(patience):
            raise ProblemError(f"{name} must have one number for each of the {len(patience)} types, not {len(given)}")
    if not (shares > 0).all() or abs(float(shares.sum()) - 1.0) > 1e-12:
        raise ProblemError(f"weights must be above 0 and add up to 1, but the lowest is {shares.min():.6g} and their "
                           f"sum {shares.sum():.15g}")  # fmt: skip
    economy = aiyagari(
        grid=grid, states=states, beta=max(patience), eta=aversion[0], alpha=alpha, delta=delta, rho=rho, sigma=sigma,
        width=width, high=high, power=power,
    )  # fmt: skip
    return AiyagariTypes(economy, patience, aversion, tuple(shares.tolist()))


def _each(name: str, given: ArrayLike, rule: str) -> tuple[float, ...]:
    found = table(name, given, 1)
    if not 1 <= found.size <= TYPES_LIMIT:
        raise ProblemError(f"{name} must have one number for each of 1 to {TYPES_LIMIT} types, not {found.size}")
    return tuple(real(place(name, (i,)), value, *RULES[rule]) for i, value in enumerate(found.tolist()))
