"""Work or retire permanently: the model of Iskhakov, Jorgensen, Rust and Schjerning (2017) and its solution."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from beltline.host.models.base import AgedModel
from beltline.host.models.model_result import SolutionResult, reading
from beltline.host.models.retirement.closed_form import ClosedForm
from beltline.host.problem.alternative import Alternative
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, real
from beltline.host.problem.grids import GRID_SIZE_LIMIT
from beltline.host.problem.memory import check_tables
from beltline.host.problem.model_parameters import FROM_ZERO, POSITIVE, RATE, SHARE, count, fixed
from beltline.host.problem.problem import HORIZON_LIMIT, Problem
from beltline.host.results.fields import Declared, parameter
from beltline.host.results.result import Result

WORKER, RETIRED = "worker", "retired"
"""Names of the regimes."""

ALTERNATIVES = ("work", "retire", "rest")
"""Names of the alternatives; the first two are those of a worker."""


WORK, RETIRE, REST = range(len(ALTERNATIVES))

TAKEN = 1e-6
"""Probability above which an alternative counts as taken."""


@dataclass(frozen=True, eq=False, repr=False)
class RetirementResult(SolutionResult):
    """Value and choices of workers and retired people at every age and wealth.

    Arrays are float64 unless noted, ``(T, N_M)``: rows are ages, the first age first, columns are wealth.

    ``model`` is the :class:`~beltline.host.models.retirement.model.Retirement` that was solved, and ``solution`` the
    :class:`~beltline.Result` of its problem.

    Examples
    --------
    >>> import beltline as bl
    >>> lives = bl.solve(bl.retirement(grid=500, ages=10), progress=False)
    >>> lives.consumption.shape, lives.threshold.shape
    ((10, 500), (10,))
    """

    archive_kind: ClassVar[str] = "retirement"
    figures: ClassVar[dict[str, str]] = {
        "consumption": "consumption of a worker by wealth, at three ages",
        "threshold": "wealth from which workers retire, by age",
        "probability": "probability of retiring by wealth, at three ages",
    }

    model: Retirement
    solution: Result

    @property
    def wealth(self) -> Array:
        """The grid of wealth, ``(N_M,)``, in units of the good."""
        return self.model.wealth

    @property
    def value(self) -> Array:
        """Value of a worker before the taste shocks are known, in units of utility."""
        return self.solution.tables.value[:, 0, :, 0]

    @property
    def retired_value(self) -> Array:
        """Value of a retired person, in units of utility."""
        return self.solution.tables.value[:, 1, :, 0]

    @property
    def work_value(self) -> Array:
        """Value of working at this age, without the taste shock, in units of utility."""
        return self.solution.tables.values[:, WORK, :, 0]

    @property
    def retire_value(self) -> Array:
        """Value of retiring at this age, without the taste shock, in units of utility."""
        return self.solution.tables.values[:, RETIRE, :, 0]

    @property
    def retires(self) -> NDArray[np.bool_]:
        """Where retiring is better than working, taste shocks left aside; a worker who is indifferent works."""
        return self.solution.taken(ALTERNATIVES[RETIRE])[..., 0]

    @property
    def retirement_probability(self) -> Array:
        """Probability that a worker retires at this age; 0 or 1 without taste shocks."""
        return self.solution.tables.probabilities[:, RETIRE, :, 0]

    @property
    def work_consumption(self) -> Array:
        """Consumption of a worker who works at this age, in units of the good."""
        works, _ = self.model.costs
        # Computed as a difference of costs, so that a worker who saves nothing consumes exactly all wealth.
        return self.wealth - (works[self.solution.tables.policy[:, WORK, :, 0]] - works[self.model.paid])

    @property
    def retired_consumption(self) -> Array:
        """Consumption of a person who is retired or retires at this age, in units of the good."""
        _, rests = self.model.costs
        return self.wealth - rests[self.solution.tables.policy[:, REST, :, 0]]

    @property
    def consumption(self) -> Array:
        """Consumption of a worker, in units of the good; with taste shocks the mean over them."""
        retires = self.retirement_probability
        return np.where(retires > 0, retires * self.retired_consumption, 0.0) + (1.0 - retires) * self.work_consumption

    @property
    def threshold(self) -> Array:
        """Lowest wealth of the grid from which on workers retire, by age, ``(T,)``; nan if they work at the highest."""
        found = np.full(self.model.ages, np.nan)
        for age, retires in enumerate(self.retires):
            if retires[-1]:
                works = np.flatnonzero(~retires)
                found[age] = self.wealth[works[-1] + 1 if works.size else 0]
        return found

    @property
    def at_top(self) -> bool:
        """Whether the highest wealth is chosen from a lower one, so that the grid may be too short."""
        highest = self.solution.tables.policy == self.model.grid - 1
        return bool((highest & (self.solution.tables.probabilities > TAKEN))[:, :, :-1].any())

    @property
    def _flaw(self) -> str:
        if not self.at_top:
            return ""
        return f"Some people choose the highest wealth, {self.model.high:g}, and might choose more: raise high."

    def closed_form(self) -> ClosedForm:
        """Return the closed-form solution of the same model, for any wealth.

        Raises
        ------
        ProblemError
            The model has taste shocks, with which there is no closed form.
        """
        model = self.model
        if model.taste > 0:
            raise ProblemError(f"with taste shocks there is no closed form, and taste is {model.taste:g}")
        return ClosedForm(model.ages, model.wage, model.disutility, model.beta, model.interest)

    def _title(self) -> str:
        model = self.model
        shocks = f", taste shocks of {model.taste:g}" if model.taste > 0 else ""
        return f"Retirement, {model.grid:,} grid points x {model.ages} ages{shocks}, on device {self.solution.device}"

    def _rows(self) -> list[tuple[str, str]]:
        return [self._bound(), ("retires", self._from()), *self._spent()]

    def _from(self) -> str:
        """Return the wealth from which workers retire, as text for the report."""
        # At the last age all workers retire, because the wage would be paid at the next.
        shown = sorted({1, max(1, self.model.ages - 1)})
        return ", ".join(
            f"at age {age} from a wealth of {self.threshold[age - 1]:.4g}"
            if np.isfinite(self.threshold[age - 1])
            else f"at age {age} at no wealth up to {self.model.high:g}"
            for age in shown
        )


@dataclass(frozen=True)
class Retirement(Declared, AgedModel[RetirementResult]):
    """The retirement model of Iskhakov, Jorgensen, Rust and Schjerning (2017), for a given number of ages.

    A worker with wealth ``M`` works or retires for ever, and consumes ``c <= M``::

        V_t(M)   = max(W_t(M), R_t(M))
        W_t(M)   = max over c of  ln c - disutility + beta V_(t+1)((1 + interest) (M - c) + wage)
        R_t(M)   = max over c of  ln c + beta R_(t+1)((1 + interest) (M - c))

    The wage of an age is paid at the next one. The value after the last age is 0.

    ``bl.solve(bl.retirement(...))`` returns a :class:`~beltline.RetirementResult`. Default parameters are those of the
    paper's figure 2, except the grid: it is uniform in ``ln M`` below and above ``M = wage``, which is a grid point, so
    that a worker who saves nothing consumes exactly ``M``. A retired person who saves nothing has ``low`` at the next
    age; otherwise consumption at the lowest grid point would have to be 0. Only the poorest retired are affected.

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

    kinds: ClassVar[tuple[str, ...]] = tuple(RetirementResult.figures)
    called: ClassVar[str] = "the retirement model"
    solution: ClassVar[Any] = RetirementResult

    grid: int = parameter(20_000, count(3, GRID_SIZE_LIMIT), "Number of grid points of wealth, from 3")
    ages: int = parameter(20, count(1, HORIZON_LIMIT), "Number of ages, 1 to ``HORIZON_LIMIT``")
    wage: float = parameter(20.0, POSITIVE, "Wage of one age, above ``low``", "units of the good")
    disutility: float = parameter(1.0, FROM_ZERO, "Disutility of working at one age, from 0", "units of utility")
    beta: float = parameter(0.98, SHARE, "Discount factor from age to age, above 0 and below 1")
    interest: float = parameter(0.0, RATE, "Interest rate from age to age, above -1")
    taste: float = parameter(
        0.0, FROM_ZERO, "Scale of extreme value taste shocks to working and retiring, from 0 (no shocks)",
        "units of utility",
    )  # fmt: skip
    low: float = parameter(0.1, POSITIVE, "Lowest wealth of the grid, above 0", "units of the good")
    high: float = parameter(400.0, POSITIVE, "Highest wealth of the grid", "units of the good")

    def validate(self) -> None:
        """Check that the wage is on the grid, and that the tables fit into the memory."""
        real("wage", self.wage, f"a number above low = {self.low:g}", lambda v: v > self.low)
        real("high", self.high, f"a number above wage = {self.wage:g}", lambda v: v > self.wage)
        check_tables(21 * self.grid, grid=self.grid)

    @property
    def paid(self) -> int:
        """Index of the grid point that equals the wage, which is the next wealth of a worker who saves nothing."""
        share = np.log(self.wage / self.low) / np.log(self.high / self.low)
        return min(max(round((self.grid - 1) * float(share)), 1), self.grid - 2)

    @cached_property
    def wealth(self) -> Array:
        """The grid of wealth ``M``, ``(grid,)``, in units of the good; it contains the wage."""
        below = np.geomspace(self.low, self.wage, self.paid + 1)
        return fixed(np.append(below, np.geomspace(self.wage, self.high, self.grid - self.paid)[1:]))

    @property
    def costs(self) -> tuple[Array, Array]:
        """Cost of each wealth of the next age for a worker and for a retired person, ``(grid,)`` each, in goods."""
        works = self.wealth / (1.0 + self.interest)
        rests = works.copy()
        rests[0] = 0.0
        return works, rests

    def problem(self) -> Problem:
        """Return the model as a problem of the general form."""
        works, rests = self.costs
        wealth = self.wealth[:, None]
        return Problem(
            grid=self.wealth,
            wealth=wealth,
            cost=rests,
            transition=np.eye(1),
            beta=self.beta,
            eta=1.0,
            horizon=self.ages,
            taste=self.taste,
            alternatives=[
                Alternative(
                    name=ALTERNATIVES[0], regime=WORKER, wealth=wealth + works[self.paid], cost=works, low=self.paid,
                    kappa=-self.disutility,
                ),
                Alternative(name=ALTERNATIVES[1], regime=WORKER, leads_to=RETIRED),
                Alternative(name=ALTERNATIVES[2], regime=RETIRED),
            ],
            name="retirement",
            asset="wealth M",
            parameters={"wage": self.wage, "disutility": self.disutility, "interest": self.interest},
        )  # fmt: skip


retirement = Retirement

read = reading(RetirementResult, Retirement)
