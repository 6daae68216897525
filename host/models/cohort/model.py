"""A life-cycle model of a cohort: work, retirement and death, with income risk and survival by age."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from beltline.host.models.aged import AgedModel
from beltline.host.models.cohort.calibration import Calibration
from beltline.host.models.cohort.plot import KINDS
from beltline.host.models.cohort.published import EDUCATION, PUBLISHED_AGES, SURVIVAL, SURVIVAL_BEGINS, IncomeProcess
from beltline.host.models.cohort.result import CohortResult
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, real, shown, table, whole
from beltline.host.problem.grids import GRID_SIZE_LIMIT
from beltline.host.problem.memory import check_tables
from beltline.host.problem.model_parameters import chain_size, parameter
from beltline.host.results.result import Result

OLDEST = 150
"""Highest age that a model can have."""


@dataclass(frozen=True)
class Cohort(Calibration, AgedModel[CohortResult]):
    """A cohort. :func:`beltline.cohort` makes it, checks its parameters and explains them."""

    kinds: ClassVar[tuple[str, ...]] = KINDS
    called: ClassVar[str] = "a cohort"

    def of_ages(self, solution: Result) -> CohortResult:
        """Return the solution of the model, made from the result of its problem."""
        return CohortResult(self, solution)


def cohort(
    grid: int = 1000,
    states: int = 7,
    education: str = "high school",
    first: int = 21,
    retirement: int = 65,
    last: int = 100,
    beta: float = 0.96,
    eta: float = 2.0,
    interest: float = 0.02,
    bequest: float = 0.0,
    luxury: float = 20.0,
    rho: float = 1.0,
    high: float = 2000.0,
    power: float = 3.0,
    income: ArrayLike | None = None,
    survival: ArrayLike | None = None,
    replacement: float | None = None,
    sigma: float | None = None,
    transitory: float | None = None,
) -> Cohort:
    """Set up the life cycle of a cohort: income risk while working, a pension, and death at an uncertain age.

    A person of age ``t`` with assets ``a >= 0`` and income state ``s`` solves::

        V_t(a, s) = max over a' >= 0 of  U((1 + interest) a + y_t(s) - a')
                    +  beta (survival_t E[V_(t+1)(a', s') | s] + (1 - survival_t) bequest U(luxury + (1 + interest) a'))

    with CRRA utility. While the person works, ``ln y_t = ln income_t + z_t + e_t`` with ``z_t = rho z_(t-1) + u_t``,
    ``u_t ~ N(0, sigma**2)`` and ``e_t ~ N(0, transitory**2)``. After retirement ``y_t`` is ``replacement`` times the
    last year's income without ``e``. Everybody starts without assets and dies at the age ``last`` at the latest.
    Rouwenhorst's method discretises ``z``, with a grid for each age.

    ``bl.solve`` returns a :class:`~beltline.CohortResult` with choices and distribution by age, without simulation.
    Income and survival default to Cocco, Gomes and Maenhout (2005), in thousands of dollars of 1992; no portfolios.

    Parameters
    ----------
    grid : int
        Number of grid points of assets, from 2.
    states : int
        Number of states of ``z``, 1 to ``CHAIN_LIMIT``; the transitory shock ``e`` has three.
    education : str
        Whose income: ``"no high school"``, ``"high school"`` or ``"college"``.
    first, retirement, last : int
        First age, last age of work, and last age. Published incomes cover ages 20 to 65, published survival 20 to 100.
    beta : float
        Discount factor of a year, above 0 and below 1; survival is taken into account in addition.
    eta : float
        Relative risk aversion, above 0 and at most 16; 1 is log utility.
    interest : float
        Interest rate of a year, above -1.
    bequest : float
        Weight of bequests in utility, from 0 (no bequest motive).
    luxury : float
        Amount added to bequests in their utility, above 0: the larger, the more bequests are a luxury (De Nardi 2004).
    rho : float
        Autocorrelation of ``z``, above -1 and at most 1 (a random walk).
    high : float
        Highest assets of the grid, above 0, in units of the good.
    power : float
        Exponent of the grid's spacing, from 1; larger values put more points near 0 (:func:`beltline.grid_polynomial`).
    income : (retirement - first + 1,) array, optional
        Income without shocks at each age of work, above 0; by default that of ``education``.
    survival : (last - first,) array, optional
        Probability of surviving to the next age, above 0 and at most 1; by default of Cocco, Gomes and Maenhout.
    replacement : float, optional
        Pension, as a share of the last year's income without ``e``, above 0; by default that of ``education``.
    sigma, transitory : float, optional
        Standard deviations of ``u``, above 0, and of ``e``, from 0 (no such shock); by default those of ``education``.

    Returns
    -------
    Cohort
        A model for :func:`beltline.solve`.

    Raises
    ------
    ProblemError
        An argument is out of range, or the tables do not fit into the memory of this computer.

    Sources
    -------
    Cocco, Gomes and Maenhout (2005), Review of Financial Studies 18(2), 491-533. De Nardi (2004), Review of Economic
    Studies 71(3), 743-768. Fella, Gallipoli and Pan (2019), Review of Economic Dynamics 34, 183-201.

    Examples
    --------
    >>> import beltline as bl
    >>> people = bl.solve(bl.cohort(grid=60, states=3), progress=False)
    >>> people.paths().mean["assets"].shape
    (80,)
    """
    process = _process(education)
    first, retirement, last = _ages(first, retirement, last)
    replacement = process.replacement if replacement is None else replacement
    sigma = math.sqrt(process.permanent) if sigma is None else sigma
    transitory = math.sqrt(process.transitory) if transitory is None else transitory
    survival = _life_table(first, last) if survival is None else survival
    income = _published(process, first, retirement) if income is None else income
    return _that_fits(
        grid=whole("grid", grid, f"a whole number from 2 to {GRID_SIZE_LIMIT}", lambda v: 2 <= v <= GRID_SIZE_LIMIT),
        states=chain_size("states", states),
        first=first,
        retirement=retirement,
        last=last,
        income=_by_age("income", income, first, retirement, math.inf),
        survival=_by_age("survival", survival, first, last - 1, 1.0),
        beta=parameter("beta", beta),
        eta=parameter("eta", eta),
        interest=real("interest", interest, "a number above -1", lambda v: -1 < v < math.inf),
        replacement=real("replacement", replacement, "a number above 0", lambda v: 0 < v < math.inf),
        rho=real("rho", rho, "a number above -1 and at most 1", lambda v: -1 < v <= 1),
        sigma=parameter("sigma", sigma),
        transitory=real("transitory", transitory, "a number from 0", lambda v: 0 <= v < math.inf),
        bequest=real("bequest", bequest, "a number from 0", lambda v: 0 <= v < math.inf),
        luxury=real("luxury", luxury, "a number above 0", lambda v: 0 < v < math.inf),
        high=real("high", high, "a number above 0", lambda v: 0 < v < math.inf),
        power=real("power", power, "a number from 1", lambda v: 1 <= v < math.inf),
    )


def _that_fits(**arguments: Any) -> Cohort:
    """Return the model with these arguments, or refuse tables that do not fit into the memory."""
    model = Cohort(**arguments)
    # The dead are one state more.
    states = model.states * model.shocks[0].size + 1
    check_tables(
        model.ages * states * (3 * model.grid + 2 * states), grid=model.grid, states=model.states, ages=model.ages
    )
    return model


def _ages(first: int, retirement: int, last: int) -> tuple[int, int, int]:
    first = whole("first", first, f"an age from 0 to {OLDEST - 1}", lambda v: 0 <= v < OLDEST)
    last = whole("last", last, f"an age above first = {first}, at most {OLDEST}", lambda v: first < v <= OLDEST)
    wanted = f"an age from first = {first} to last = {last}"
    return first, whole("retirement", retirement, wanted, lambda v: first <= v <= last), last


def _process(education: str) -> IncomeProcess:
    if not isinstance(education, str) or education not in EDUCATION:
        raise ProblemError(f"education must be one of {', '.join(map(repr, EDUCATION))}, not {shown(education)}")
    return EDUCATION[education]


def _published(process: IncomeProcess, first: int, retirement: int) -> Array:
    """Return the published income at the ages from ``first`` to ``retirement``."""
    youngest, oldest = PUBLISHED_AGES
    if first < youngest or retirement > oldest:
        raise ProblemError(
            f"published incomes cover ages {youngest} to {oldest}, but first = {first} and retirement = {retirement}: "
            f"pass income"
        )
    return process.income(np.arange(first, retirement + 1, dtype=np.float64))


def _life_table(begins: int, ends: int) -> tuple[float, ...]:
    oldest = SURVIVAL_BEGINS + len(SURVIVAL)
    if begins < SURVIVAL_BEGINS or ends > oldest:
        raise ProblemError(
            f"the life table has ages from {SURVIVAL_BEGINS} to {oldest}, not from first = {begins} to last = {ends}: "
            f"pass survival"
        )
    return SURVIVAL[begins - SURVIVAL_BEGINS : ends - SURVIVAL_BEGINS]


def _by_age(name: str, values: ArrayLike, begins: int, ends: int, most: float) -> tuple[float, ...]:
    found: Array = table(name, values, 1)
    if found.size != ends - begins + 1:
        raise ProblemError(
            f"{name} must have one number for each age from {begins} to {ends}, {ends - begins + 1}, not {found.size}"
        )
    wrong = ~((found > 0) & (found <= most))
    if wrong.any():
        where = int(np.argmax(wrong))
        wanted = "above 0" if most == math.inf else f"above 0 and at most {most:g}"
        raise ProblemError(f"{name} must be {wanted}, but at age {begins + where} it is {found[where]:.6g}")
    return tuple(found.tolist())
