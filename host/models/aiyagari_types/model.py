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
from beltline.host.models.aiyagari_path.period import Household
from beltline.host.models.aiyagari_path.result import PATH_TOLERANCE
from beltline.host.models.aiyagari_path.steady_state import SteadyState, UnsolvedError, first_value, steady_state
from beltline.host.models.aiyagari_types.calibration import TYPES_LIMIT, Calibration
from beltline.host.models.aiyagari_types.result import TypesEconomy
from beltline.host.models.base import Model
from beltline.host.models.model_result import reading
from beltline.host.problem.checks import real
from beltline.host.problem.model_parameters import RISK_AVERSION, SHARE, count
from beltline.host.problem.problem import Problem
from beltline.host.results.outcome import GRID_END_SHARE, Outcome
from beltline.host.solver.options import UNNAMED
from beltline.sim.progress import reporting


@dataclass(frozen=True)
class AiyagariTypes(Calibration, Model):
    """An economy with several types. :func:`beltline.aiyagari_types` makes it and explains its parameters."""

    kinds: ClassVar[tuple[str, ...]] = tuple(TypesEconomy.figures)
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
        found: SteadyState | None = None
        status, message = Outcome.SOLVED, ""
        households = [Household.of(economy) for economy in self.economies]
        values = [first_value(household.problem) for household in households]
        with reporting(progress) as report:
            try:
                found = steady_state(households, self.shares, 1.0, values, tol, report)
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
            distribution=none if found is None else found.distributions,
            success=status == Outcome.SOLVED,
            status=status.value,
            message=message,
            steps=0 if found is None else found.steps,
            seconds=time.perf_counter() - begin,
            sweeps=0 if found is None else found.sweeps,
            residual=math.nan if found is None else found.residual,
        )

    def _verdict(self, found: SteadyState) -> tuple[Outcome, str]:
        """Return how the search ended, given that it found a rate, and the message."""
        if not abs(found.excess) <= PATH_TOLERANCE:
            return Outcome.MARKET, (
                f"At r = {found.interest:.4%} the market does not clear: excess supply is {found.excess:+.2e} of "
                f"demand, and at most {PATH_TOLERANCE:g} is allowed: raise grid above {self.economy.grid:,}, or lower "
                f"tol."
            )
        highest = [float(mass[period.choice >= self.economy.high].sum())
                   for mass, period in zip(found.distributions, found.periods, strict=True)]  # fmt: skip
        top = float(self.shares @ highest)
        if top > GRID_END_SHARE:
            return Outcome.GRID, (
                f"{top:.2%} of households choose the highest assets, {self.economy.high:g}, and at most "
                f"{GRID_END_SHARE:.2%} may: raise high."
            )
        return Outcome.SOLVED, (
            f"The market clears at a capital of {found.capital:.6g} per head, with an excess of "
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
    size = np.size(betas)
    preferences: dict[str, Any] = {
        "betas": betas,
        "etas": np.full(size, RISK_AVERSION("eta", eta)) if etas is None else etas,
        "weights": np.full(size, 1.0 / max(size, 1)) if weights is None else weights,
    }
    return AiyagariTypes(aiyagari(grid=grid, high=high, **economy), **preferences)


read = reading(TypesEconomy, AiyagariTypes)
