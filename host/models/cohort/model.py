"""A life-cycle model of a cohort: work, retirement and death, with income risk and survival by age."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from beltline.host.models.aged import AgedModel
from beltline.host.models.cohort.calibration import Calibration
from beltline.host.models.cohort.published import EDUCATION, PUBLISHED_AGES, SURVIVAL, SURVIVAL_BEGINS, IncomeProcess
from beltline.host.models.cohort.result import CohortResult
from beltline.host.models.model_result import reading
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError
from beltline.host.problem.model_parameters import one_of


@dataclass(frozen=True, kw_only=True)
class Cohort(Calibration, AgedModel[CohortResult]):
    """The life cycle of a cohort: income risk while working, a pension, and death at an uncertain age.

    A person of age ``t`` with assets ``a >= 0`` and income state ``s`` solves::

        V_t(a, s) = max over a' >= 0 of  U((1 + interest) a + y_t(s) - a')
                    +  beta (survival_t E[V_(t+1)(a', s') | s] + (1 - survival_t) bequest U(luxury + (1 + interest) a'))

    with CRRA utility. While the person works, ``ln y_t = ln income_t + z_t + e_t`` with ``z_t = rho z_(t-1) + u_t``,
    ``u_t ~ N(0, sigma**2)`` and ``e_t ~ N(0, transitory**2)``. After retirement ``y_t`` is ``replacement`` times the
    last year's income without ``e``. Everybody starts without assets and dies at the age ``last`` at the latest.
    Rouwenhorst's method discretises ``z``, with a grid for each age.

    ``bl.solve`` returns a :class:`~beltline.CohortResult` with choices and distribution by age, without simulation.
    Income and survival default to Cocco, Gomes and Maenhout (2005), in thousands of dollars of 1992; no portfolios.

    :func:`beltline.cohort` makes it, with published income and survival where they are not given.

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

    kinds: ClassVar[tuple[str, ...]] = tuple(CohortResult.figures)
    called: ClassVar[str] = "a cohort"
    solution: ClassVar[Any] = CohortResult


def cohort(
    grid: int = 1000,
    states: int = 7,
    education: str = "high school",
    first: int = 21,
    retirement: int = 65,
    last: int = 100,
    *,
    income: ArrayLike | None = None,
    survival: ArrayLike | None = None,
    **parameters: Any,
) -> Cohort:
    """Set up a :class:`~beltline.host.models.cohort.model.Cohort`, with published income and survival.

    Parameters
    ----------
    grid, states, first, retirement, last
        As of :class:`~beltline.host.models.cohort.model.Cohort`.
    education : str
        Whose income: ``"no high school"``, ``"high school"`` or ``"college"``.
    income : (retirement - first + 1,) array, optional
        Income without shocks at each age of work; by default that of ``education``.
    survival : (last - first,) array, optional
        Probability of surviving to the next age; by default of Cocco, Gomes and Maenhout (2005).
    **parameters
        The other parameters of a cohort; ``replacement``, ``sigma`` and ``transitory`` are by default those of
        ``education``.

    Raises
    ------
    ProblemError
        An argument is out of range, or the tables do not fit into the memory of this computer.

    Examples
    --------
    >>> import beltline as bl
    >>> bl.cohort(grid=60, education="college").replacement
    0.9389
    """
    process = EDUCATION[one_of(EDUCATION)("education", education)]
    ages: dict[str, Any] = {"first": first, "retirement": retirement, "last": last}
    Cohort.check_ages(**ages)
    published: dict[str, Any] = {
        "survival": _life_table(first, last) if survival is None else survival,
        "income": _published(process, first, retirement) if income is None else income,
        "replacement": process.replacement,
        "sigma": math.sqrt(process.permanent),
        "transitory": math.sqrt(process.transitory),
    }
    given = {name: value for name, value in parameters.items() if value is not None}
    return Cohort(grid=grid, states=states, **ages, **published | given)


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


read = reading(CohortResult, Cohort)
