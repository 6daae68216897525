"""The retirement model of Iskhakov, Jorgensen, Rust and Schjerning (2017)."""

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
from beltline.host.problem.memory import check_tables
from beltline.host.problem.model_parameters import parameter
from beltline.host.problem.problem import HORIZON_LIMIT
from beltline.host.results.result import Result


@dataclass(frozen=True)
class Retirement(Calibration, AgedModel[RetirementResult]):
    """The retirement model. :func:`beltline.retirement` makes it, checks its parameters and explains them."""

    kinds: ClassVar[tuple[str, ...]] = KINDS
    called: ClassVar[str] = "the retirement model"

    def of_ages(self, solution: Result) -> RetirementResult:
        """Return the solution of the model, made from the result of its problem."""
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
    """Set up the retirement model of Iskhakov, Jorgensen, Rust and Schjerning (2017), for a given number of ages.

    A worker with wealth ``M`` works or retires for ever, and consumes ``c <= M``::

        V_t(M)   = max(W_t(M), R_t(M))
        W_t(M)   = max over c of  ln c - disutility + beta V_(t+1)((1 + interest) (M - c) + wage)
        R_t(M)   = max over c of  ln c + beta R_(t+1)((1 + interest) (M - c))

    The wage of an age is paid at the next one. The value after the last age is 0.

    ``bl.solve(bl.retirement(...))`` returns a :class:`~beltline.RetirementResult`. Default parameters are those of the
    paper's figure 2, except the grid: it is uniform in ``ln M`` below and above ``M = wage``, which is a grid point, so
    that a worker who saves nothing consumes exactly ``M``. A retired person who saves nothing has ``low`` at the next
    age; otherwise consumption at the lowest grid point would have to be 0. Only the poorest retired are affected.

    Parameters
    ----------
    grid : int
        Number of grid points of wealth, from 3.
    ages : int
        Number of ages, 1 to ``HORIZON_LIMIT``.
    wage : float
        Wage of one age, above ``low``, in units of the good.
    disutility : float
        Disutility of working at one age, in units of utility, from 0.
    beta : float
        Discount factor from age to age, above 0 and below 1.
    interest : float
        Interest rate from age to age, above -1.
    taste : float
        Scale of extreme value taste shocks to working and retiring, in units of utility, from 0 (no shocks).
    low, high : float
        Lowest and highest wealth of the grid, in units of the good.

    Returns
    -------
    Retirement
        A model for :func:`beltline.solve`.

    Raises
    ------
    ProblemError
        An argument is out of range, or the tables do not fit into the memory of this computer.

    Sources
    -------
    Iskhakov, Jorgensen, Rust and Schjerning (2017), "The endogenous grid method for discrete-continuous dynamic choice
    models with (or without) taste shocks", Quantitative Economics 8(2), 317-365.

    Examples
    --------
    >>> import beltline as bl
    >>> lives = bl.solve(bl.retirement(grid=500, ages=10), progress=False)
    >>> bool(abs(lives.threshold[0] / lives.closed_form().threshold(1) - 1) < 0.05)
    True
    """
    low = real("low", low, "a number above 0", lambda v: 0 < v < math.inf)
    wage = real("wage", wage, f"a number above low = {low:g}", lambda v: low < v < math.inf)
    from_zero = "a number from 0"
    model = Retirement(
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
    check_tables(21 * model.grid, grid=model.grid)
    return model
