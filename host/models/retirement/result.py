"""The retirement model as it was solved: what it says, as tables, text and a file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from beltline.host.models.model_result import ModelResult
from beltline.host.models.retirement.calibration import ALTERNATIVES, Calibration
from beltline.host.models.retirement.closed_form import ClosedForm
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError
from beltline.host.problem.report import as_html, report
from beltline.host.results.general_result import GeneralResult
from beltline.host.results.outcome import Outcome
from beltline.host.results.services import service

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORK, RETIRE, REST = range(len(ALTERNATIVES))

TAKEN = 1e-6
"""Probability above which somebody takes an alternative."""


@dataclass(frozen=True, eq=False)
class RetirementResult(ModelResult):
    """What workers and retired people do at every age and wealth, and what it is worth.

    Tables are ``float64`` unless said otherwise, ``(T, N_M)``: rows are ages, the first age first, columns are wealth.

    Parameters
    ----------
    model : Calibration
        The :class:`~beltline.host.models.retirement.model.Retirement` that was solved.
    solution : GeneralResult
        Its values and choices.
    """

    archive_kind: ClassVar[str] = "retirement"

    model: Calibration
    solution: GeneralResult

    @property
    def wealth(self) -> Array:
        """The grid of wealth, ``(N_M,)``, units of the good."""
        return self.model.wealth

    @property
    def value(self) -> Array:
        """Of a worker, before his taste shocks are known, in utility."""
        return self.solution.value[:, 0, :, 0]

    @property
    def retired_value(self) -> Array:
        """Of one who is retired, in utility."""
        return self.solution.value[:, 1, :, 0]

    @property
    def work_value(self) -> Array:
        """Of working at this age, without the taste shock, in utility."""
        return self.solution.values[:, WORK, :, 0]

    @property
    def retire_value(self) -> Array:
        """Of retiring at this age, without the taste shock, in utility."""
        return self.solution.values[:, RETIRE, :, 0]

    @property
    def retires(self) -> NDArray[np.bool_]:
        """Where retiring is better than working but for taste shocks; of equals, a worker works."""
        return self.solution.taken(ALTERNATIVES[RETIRE])[..., 0]

    @property
    def retirement_probability(self) -> Array:
        """That a worker retires at this age; 0 or 1 without taste shocks."""
        return self.solution.probabilities[:, RETIRE, :, 0]

    @property
    def work_consumption(self) -> Array:
        """Of a worker who works on, units of the good."""
        works, _ = self.model.costs
        # Kept as a difference of costs: who saves nothing consumes all wealth, to the last bit.
        return self.wealth - (works[self.solution.policy[:, WORK, :, 0]] - works[self.model.paid])

    @property
    def retired_consumption(self) -> Array:
        """Of one who is retired or retires at this age, units of the good."""
        _, rests = self.model.costs
        return self.wealth - rests[self.solution.policy[:, REST, :, 0]]

    @property
    def consumption(self) -> Array:
        """Of a worker, units of the good; with taste shocks the mean over them."""
        chance = self.retirement_probability
        return np.where(chance > 0, chance * self.retired_consumption, 0.0) + (1.0 - chance) * self.work_consumption

    @property
    def threshold(self) -> Array:
        """By age, ``(T,)``: the lowest wealth on the grid from which on :attr:`retires` holds; nan where it does not
        hold at the highest.
        """
        found = np.full(self.model.ages, np.nan)
        for age, retires in enumerate(self.retires):
            if retires[-1]:
                works = np.flatnonzero(~retires)
                found[age] = self.wealth[works[-1] + 1 if works.size else 0]
        return found

    @property
    def at_top(self) -> bool:
        """Whether somebody with less comes to the highest wealth, and might come to more if there were more."""
        highest = self.solution.policy == self.model.grid - 1
        return bool((highest & (self.solution.probabilities > TAKEN))[:, :, :-1].any())

    @property
    def success(self) -> bool:
        """Whether all ages are solved, every choice being proven best on the grid, and the grid suffices."""
        return self.solution.success and not self.at_top

    @property
    def status(self) -> str:
        """One of :class:`~beltline.host.results.outcome.Outcome`."""
        if self.solution.success and self.at_top:
            return Outcome.GRID.value
        return self.solution.status

    @property
    def message(self) -> str:
        """The status in a sentence or two, with what to do about it."""
        if self.solution.success and self.at_top:
            return f"Somebody saves up to the highest wealth, {self.model.high:g}, and might go on: raise high."
        return self.solution.message

    def closed_form(self) -> ClosedForm:
        """Return the solution of the same model for any wealth, exact to rounding, which taste shocks do not have.

        Raises
        ------
        ProblemError
            There are taste shocks.
        """
        model = self.model
        if model.taste > 0:
            raise ProblemError(f"with taste shocks there is no closed form, and taste is {model.taste:g}")
        return ClosedForm(model.ages, model.wage, model.disutility, model.beta, model.interest)

    def __str__(self) -> str:
        found, model = self.solution, self.model
        rows = [
            ("status", f"{self.status}: {self.message}"),
            ("error bound", self._bound()),
            ("retires", self._from()),
            *self._spent(),
        ]
        shocks = f", taste shocks of {model.taste:g}" if model.taste > 0 else ""
        title = f"Retirement, {model.grid:,} grid points x {model.ages} ages{shocks}, on device {found.device}"
        return report(title, rows)

    __repr__ = __str__
    _repr_html_ = as_html

    def _from(self) -> str:
        """From which wealth, in the sense of the report."""
        # At the last age nobody works: it is paid at the next.
        shown = sorted({1, max(1, self.model.ages - 1)})
        return ", ".join(
            f"at age {age} from a wealth of {self.threshold[age - 1]:.4g}"
            if np.isfinite(self.threshold[age - 1])
            else f"at age {age} at no wealth up to {self.model.high:g}"
            for age in shown
        )

    def plot(self, path: str | os.PathLike[str] | None = None, kind: str = "consumption") -> Figure:
        """Return a figure, which a notebook shows; with ``path`` (``.png``, ``.pdf`` or ``.svg``) also write it there.

        Parameters
        ----------
        path
        kind
            ``"consumption"``: a worker's consumption by wealth at three ages. ``"threshold"``: the wealth from which
            workers retire, by age. ``"probability"``: that of retiring by wealth, at three ages.

        Raises
        ------
        ProblemError
            ``path`` is no place for such a file, there is no such kind, or matplotlib is not installed.
        """
        figure: Figure = service("RetirementResult.plot")(self, path, kind)
        return figure
