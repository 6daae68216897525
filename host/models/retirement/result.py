"""The solved retirement model: its tables by age."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from beltline.host.models.model_result import SolutionResult
from beltline.host.models.retirement.calibration import ALTERNATIVES, Calibration
from beltline.host.models.retirement.closed_form import ClosedForm
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError
from beltline.host.results.result import Result

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

    model: Calibration
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
