"""Work or retire for good: the model of Iskhakov, Jorgensen, Rust and Schjerning (2017)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from beltline.host.models.aged import AgedModel
from beltline.host.models.retirement.calibration import Calibration
from beltline.host.models.retirement.plot import KINDS
from beltline.host.models.retirement.result import RetirementResult
from beltline.host.problem.checks import real, whole
from beltline.host.problem.grids import GRID_SIZE_LIMIT
from beltline.host.problem.model_parameters import parameter
from beltline.host.problem.problem import HORIZON_LIMIT
from beltline.host.results.general_result import GeneralResult


@dataclass(frozen=True)
class Retirement(Calibration, AgedModel[RetirementResult]):
    """The retirement model; made by :func:`retirement`, which checks the parameters and says what they are."""

    kinds: ClassVar[tuple[str, ...]] = KINDS
    called: ClassVar[str] = "the retirement model"

    def of_ages(self, solution: GeneralResult) -> RetirementResult:
        """Return the result, made from that of the problem."""
        return RetirementResult(self, solution)


def retirement(
    grid: int = 20_000,
    ages: int = 20,
    wage: float = 20.0,
    disutility: float = 1.0,
    beta: float = 0.98,
    interest: float = 0.0,
    taste: float = 0.0,
    low: float = 0.1,
    high: float = 400.0,
) -> Retirement:
    """Return the retirement model of Iskhakov, Jorgensen, Rust and Schjerning (2017), for as many ages.

    With wealth ``M`` a worker consumes ``c <= M`` and works, which costs ``disutility`` and pays ``wage`` at the next
    age, ``M' = (1 + interest) (M - c) + wage``; or he retires for good, ``M' = (1 + interest) (M - c)``. Utility of
    consumption is ``ln c``, and nothing is left behind.

    ``bl.solve(bl.retirement(...))`` returns a :class:`~beltline.RetirementResult`. Defaults are the paper's, of its
    figure 2; the grid is ours: even steps of ``ln M`` with ``M = wage`` among them, so that a worker who saves nothing
    consumes ``M`` exactly. A retired person who leaves nothing has ``low`` at the next age, without which the lowest
    grid point could consume nothing; that is within reach of the poorest retired only.

    Parameters
    ----------
    grid
        Number of grid points of wealth, from 3.
    ages
        Number of ages, 1 to ``HORIZON_LIMIT``.
    wage
        Of a period of work, above ``low``, units of the good.
    disutility
        Of a period of work, in utility, from 0.
    beta
        Discount factor from age to age, above 0 and below 1.
    interest
        From age to age, above -1.
    taste
        Scale of taste shocks (extreme value) over working and retiring, in utility, from 0; 0 is none.
    low, high
        Lowest and highest wealth, units of the good.

    Raises
    ------
    ProblemError
        An argument out of range, in one sentence.

    Examples
    --------
    >>> lives = bl.solve(bl.retirement(grid=2000))  # doctest: +SKIP
    >>> lives.threshold[0], lives.closed_form().threshold(1)  # doctest: +SKIP

    Sources
    -------
    Iskhakov, Jorgensen, Rust and Schjerning (2017), "The endogenous grid method for discrete-continuous dynamic choice
    models with (or without) taste shocks", Quantitative Economics 8(2), 317-365.
    """
    low = real("low", low, "a number above 0", lambda v: 0 < v < math.inf)
    wage = real("wage", wage, f"a number above low = {low:g}", lambda v: low < v < math.inf)
    from_zero = "a number from 0"
    return Retirement(
        grid=whole("grid", grid, f"a whole number from 3 to {GRID_SIZE_LIMIT}", lambda v: 3 <= v <= GRID_SIZE_LIMIT),
        ages=whole("ages", ages, f"a whole number from 1 to {HORIZON_LIMIT}", lambda v: 1 <= v <= HORIZON_LIMIT),
        wage=wage,
        disutility=real("disutility", disutility, from_zero, lambda v: 0 <= v < math.inf),
        beta=parameter("beta", beta),
        interest=real("interest", interest, "a number above -1", lambda v: -1 < v < math.inf),
        taste=real("taste", taste, from_zero, lambda v: 0 <= v < math.inf),
        low=low,
        high=real("high", high, f"a number above wage = {wage:g}", lambda v: wage < v < math.inf),
    )
