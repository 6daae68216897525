"""A cohort: work, retirement and death, with income and survival by age."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from beltline.host.models.aged import AgedModel
from beltline.host.models.cohort.calibration import Calibration
from beltline.host.models.cohort.plot import KINDS
from beltline.host.models.cohort.published import EDUCATION, SURVIVAL, SURVIVAL_BEGINS, IncomeProcess
from beltline.host.models.cohort.result import CohortResult
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, real, shown, table, whole
from beltline.host.problem.grids import GRID_SIZE_LIMIT
from beltline.host.problem.model_parameters import chain_size, parameter
from beltline.host.results.general_result import GeneralResult

OLDEST = 150
"""Highest age of a model."""


@dataclass(frozen=True)
class Cohort(Calibration, AgedModel[CohortResult]):
    """A cohort; made by :func:`cohort`, which checks the parameters and says what they are."""

    kinds: ClassVar[tuple[str, ...]] = KINDS
    called: ClassVar[str] = "a cohort"

    def of_ages(self, solution: GeneralResult) -> CohortResult:
        """Return the result, made from that of the problem."""
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
    """Return the life cycle of a cohort: risky income while it works, a pension, and death at an uncertain age.

    With assets ``a >= 0`` at age ``t`` a person has ``(1 + interest) a + y_t`` to consume or to keep. While he works,
    ``ln y_t = ln income_t + z_t + e_t`` with ``z_t = rho z_(t-1) + u_t``, ``u_t ~ N(0, sigma**2)``, ``e_t ~ N(0,
    transitory**2)``; then ``y_t`` is ``replacement`` of ``income`` and ``z`` of the last year of work. Who keeps ``a'``
    lives on with probability ``survival_t``, and otherwise leaves it behind, which is worth ``bequest * U(luxury + (1 +
    interest) a')`` a year later. Everybody begins without assets and dies at ``last``.

    ``bl.solve(bl.cohort(...))`` returns a :class:`~beltline.CohortResult`: choices by age, and the paths of the whole
    cohort, carried forward without sampling. Incomes and survival are those of Cocco, Gomes and Maenhout (2005), so
    that the good is a thousand dollars of 1992; of their model this one has no shares.

    Parameters
    ----------
    grid
        Number of grid points of assets, from 2.
    states
        Number of states of ``z``, 1 to ``CHAIN_LIMIT``; the transitory shock has three.
    education
        Whose income: ``"no high school"``, ``"high school"`` or ``"college"``.
    first, retirement, last
        First age, last age of work and last age, in years. The cubic polynomials of income in print are of ages from 20
        to 65, the survival probabilities of ages from 20 to 100.
    beta
        Discount factor of a year, above 0 and below 1; survival comes on top of it.
    eta
        Relative risk aversion, above 0 and at most 16; 1 is log utility.
    interest
        A year, above -1.
    bequest
        Weight of what is left behind, from 0, which is none.
    luxury
        What is added to it, above 0, units of the good: the higher, the more of a luxury bequests are (De Nardi 2004).
    rho
        Persistence of ``z``, above -1 and at most 1, a random walk.
    high
        Highest assets, above 0, units of the good.
    power
        Of the grid's spacing, from 1 (:func:`~beltline.host.problem.grids.grid_polynomial`).
    income : (retirement - first + 1,) array, optional
        Income without shocks at each age of work, above 0, units of the good; by default that of ``education``.
    survival : (last - first,) array, optional
        Probability of living another year at each age but the last, above 0 and at most 1; by default the life table
        of Cocco, Gomes and Maenhout.
    replacement
        Pension as a share of permanent income in the last year of work, above 0; by default that of ``education``, and
        so are the next two.
    sigma
        Standard deviation of ``u``, above 0.
    transitory
        Standard deviation of ``e``, from 0, which is none.

    Raises
    ------
    ProblemError
        An argument out of range, in one sentence.

    Examples
    --------
    >>> bl.solve(bl.cohort()).paths().mean["assets"].max()  # doctest: +SKIP

    Sources
    -------
    Cocco, Gomes and Maenhout (2005), "Consumption and portfolio choice over the life cycle", Review of Financial
    Studies 18(2), 491-533. De Nardi (2004), "Wealth inequality and intergenerational links", Review of Economic Studies
    71(3), 743-768. Fella, Gallipoli and Pan (2019), "Markov-chain approximations for life-cycle models", Review of
    Economic Dynamics 34, 183-201.
    """
    process = _process(education)
    first = whole("first", first, f"an age from 0 to {OLDEST - 1}", lambda v: 0 <= v < OLDEST)
    last = whole("last", last, f"an age above first = {first}, at most {OLDEST}", lambda v: first < v <= OLDEST)
    wanted = f"an age from first = {first} to last = {last}"
    retirement = whole("retirement", retirement, wanted, lambda v: first <= v <= last)
    replacement = process.replacement if replacement is None else replacement
    sigma = math.sqrt(process.permanent) if sigma is None else sigma
    transitory = math.sqrt(process.transitory) if transitory is None else transitory
    if income is None:
        income = process.income(np.arange(first, retirement + 1, dtype=np.float64))
    return Cohort(
        grid=whole("grid", grid, f"a whole number from 2 to {GRID_SIZE_LIMIT}", lambda v: 2 <= v <= GRID_SIZE_LIMIT),
        states=chain_size("states", states),
        first=first,
        retirement=retirement,
        last=last,
        income=_by_age("income", income, first, retirement, math.inf),
        survival=_by_age("survival", _life_table(first, last) if survival is None else survival, first, last - 1, 1.0),
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


def _process(education: str) -> IncomeProcess:
    if not isinstance(education, str) or education not in EDUCATION:
        raise ProblemError(f"education must be one of {', '.join(map(repr, EDUCATION))}, not {shown(education)}")
    return EDUCATION[education]


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
