"""Arellano's economy as it was solved: what it says, as tables, text and a file."""

from __future__ import annotations

import math
import os
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from beltline.host.models.arellano.business_cycle import PATHS, BusinessCycle, Choices, business_cycle
from beltline.host.models.arellano.calibration import ALTERNATIVES, Calibration
from beltline.host.models.model_result import ModelResult
from beltline.host.problem.arrays import Array
from beltline.host.problem.report import as_html, report
from beltline.host.results.general_result import GeneralResult
from beltline.host.results.outcome import Outcome
from beltline.host.results.services import service

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUARTERS = 4
"""Periods in a year."""

REPAY, DEFAULT, EXCLUDED = range(len(ALTERNATIVES))


@dataclass(frozen=True, eq=False)
class DefaultEconomy(ModelResult):
    """A government that may default, and the prices at which lenders break even.

    Tables are ``float64`` but for those of choices, with ``N_B`` bonds and ``N_y`` incomes; rows are today's bonds
    ``B``, or next quarter's ``B'`` where prices are meant, columns today's income.

    Parameters
    ----------
    model : Calibration
        The :class:`~beltline.host.models.arellano.model.Arellano` that was solved.
    solution : GeneralResult
        Its values and choices; the problem is that at the last prices.
    """

    archive_kind: ClassVar[str] = "arellano"

    model: Calibration
    solution: GeneralResult

    @property
    def bonds(self) -> Array:
        """The grid of bonds, ``(N_B,)``, units of the good; debt is below 0."""
        return self.model.grid

    @property
    def income(self) -> Array:
        """Income by state, ``(N_y,)``, units of the good a quarter."""
        return self.model.chain[0]

    @property
    def prices(self) -> Array:
        """``q(B', y)``, ``(N_B, N_y)``, units of the good for a bond that pays 1 next quarter."""
        found = self.solution.prices
        return np.full((self.model.bonds, self.model.incomes), np.nan) if found is None else found

    @property
    def default_probability(self) -> Array:
        """Of debt ``B'`` next quarter, given today's income, ``(N_B, N_y)``."""
        found: Array = 1.0 - self.prices * (1.0 + self.model.interest)
        return found

    @property
    def spreads(self) -> Array:
        """Interest on ``B'`` less that on a safe bond, ``(N_B, N_y)``, a year as a share: ``q**-4 - (1 + r)**4``.

        Infinite where nobody lends.
        """
        with np.errstate(divide="ignore"):
            found: Array = self.prices ** -float(QUARTERS) - (1.0 + self.model.interest) ** QUARTERS
        return found

    @property
    def value(self) -> Array:
        """Of good standing, the better of repaying and defaulting, ``(N_B, N_y)``, in utility."""
        return self.solution.value[0]

    @property
    def repay_value(self) -> Array:
        """Of repaying, ``(N_B, N_y)``, in utility; ``-inf`` where it cannot be afforded."""
        return self.solution.values[REPAY]

    @property
    def default_value(self) -> Array:
        """Of defaulting, ``(N_y,)``, in utility: what is owed no longer matters."""
        return self.solution.values[DEFAULT][self.model.zero]

    @property
    def defaults(self) -> NDArray[np.bool_]:
        """The default set, ``(N_B, N_y)``: where defaulting is better than repaying."""
        return self.solution.taken(ALTERNATIVES[DEFAULT])

    @property
    def policy(self) -> NDArray[np.int32]:
        """Index of ``B'`` where debt is repaid, ``(N_B, N_y)``; -1 in the default set."""
        return np.where(self.defaults, np.int32(-1), self.solution.policy[REPAY])

    @property
    def policy_values(self) -> Array:
        """``B'`` where debt is repaid, ``(N_B, N_y)``, units of the good; nan in the default set."""
        return np.where(self.policy >= 0, self.bonds[self.policy], np.nan)

    @property
    def consumption(self) -> Array:
        """Of a government in good standing, ``(N_B, N_y)``, units of the good."""
        bought = np.take_along_axis(self.model.costs(self.prices), np.maximum(self.policy, 0), axis=0)
        return np.where(self.defaults, self.model.default_income, self.income + self.bonds[:, None] - bought)

    @cached_property
    def reached(self) -> NDArray[np.bool_]:
        """States of good standing, ``(N_B, N_y)``, that a government without debt comes to sooner or later."""
        policy, found = self.policy, np.zeros(self.defaults.shape, bool)
        rows = np.zeros(self.model.bonds, bool)
        rows[self.model.zero] = True
        while not found[rows].all():
            found[rows] = True
            chosen = policy[rows]
            rows[chosen[chosen >= 0]] = True
        return found

    @property
    def at_ends(self) -> bool:
        """Whether such a government chooses the lowest or the highest bond: it might go on if there were more."""
        chosen = self.policy[self.reached]
        return bool(((chosen == 0) | (chosen == self.model.bonds - 1)).any())

    @property
    def success(self) -> bool:
        """Whether values and prices converged, the error bound given the prices is finite, and the grid suffices."""
        return self.solution.success and not self.at_ends

    @property
    def status(self) -> str:
        """One of :class:`~beltline.host.results.outcome.Outcome`."""
        if self.solution.success and self.at_ends:
            return Outcome.GRID.value
        return self.solution.status

    @property
    def message(self) -> str:
        """The status in a sentence or two, with what to do about it."""
        found = self.solution
        if not found.success:
            if found.status != Outcome.LIMIT:
                return found.message
            if found.price_change < found.tol:
                return f"{found.message} Raise max_sweeps: with prices that rest, values converge."
            return f"{found.message} Values and prices that move together need not converge."
        if self.at_ends:
            return (
                f"A government that begins without debt comes to an end of the grid of bonds, {self.model.limit:g} to "
                "either side, and might go on: raise limit."
            )
        moved = "left values that one more changes by" if found.verified else "changed values by"
        text = (
            f"The last of {found.sweeps:,} sweeps {moved} {found.residual:.3g} at most and prices by "
            f"{found.price_change:.3g}; the error bound is that given these prices."
        )
        least = self.model.zero - 1
        if self.defaults[least].all():
            text += (
                f" Nobody lends, as the smallest debt of the grid, {-self.bonds[least]:.3g}, is repaid at no income: "
                "if that is much, raise bonds or lower limit."
            )
        return text

    def moments(
        self,
        paths: int = PATHS,
        periods: int = 10_000,
        burn_in: int = 1_000,
        seed: int = 0,
        before_default: int | None = None,
    ) -> BusinessCycle:
        """Return moments of simulated quarters, each with a standard error.

        Every path begins in good standing without debt, and its income in the long run. Moments are of quarters in
        good standing in which debt is repaid, all paths together, but for ``defaults``, which is of all quarters. They
        and their definitions are those of :class:`~beltline.host.models.arellano.business_cycle.BusinessCycle`.

        Parameters
        ----------
        paths
            Independent paths, at least 2; standard errors come from what each contributes (the jackknife).
        periods
            Quarters of each path, at least 2.
        burn_in
            Quarters before them, which are dropped.
        seed
            Of NumPy's generator.
        before_default
            Only the quarters, that many, before each default that at least as many quarters of good standing precede:
            what a sample of data is that ends in a default. All by default.

        Raises
        ------
        ProblemError
            An argument out of range.
        """
        if not self.success:
            warnings.warn(f"moments of a result that is not solved: {self.status}", stacklevel=2)
        choices = Choices(
            policy=self.policy, zero=self.model.zero, reentry=self.model.reentry, transition=self.model.chain[1],
            income=self.income, bonds=self.bonds, prices=self.prices,
            spreads=self.spreads, consumption=self.consumption,
        )  # fmt: skip
        return business_cycle(choices, paths, periods, burn_in, seed, before_default)

    def __str__(self) -> str:
        found, model = self.solution, self.model
        which = "these prices" if found.verified else "the prices of the last sweep"
        bound = f"max |V - V*| <= {found.error_bound:.3g} given {which} (roundings counted)"
        if not math.isfinite(found.error_bound):
            bound = "none: max |V - V*| is not known"
        rows = [
            ("status", f"{self.status}: {self.message}"),
            ("residual", f"max |TV - V| = {found.residual:.3g} ({found.measured_by})"),
            ("prices", f"last change {found.price_change:.3g} (tolerance {found.tol:g})"),
            ("error bound", bound),
            ("default set", f"{self.defaults.mean():.1%} of the states of good standing, "
                            f"{self.defaults[self.reached].mean():.1%} of those that are reached from no debt"),
            ("largest debt", self._largest()),
            *self._spent(),
        ]  # fmt: skip
        title = f"Arellano's economy, {model.bonds:,} bonds x {model.incomes:,} incomes, on device {found.device}"
        return report(title, rows)

    __repr__ = __str__
    _repr_html_ = as_html

    def _largest(self) -> str:
        """What is owed at most, in the sense of the report."""
        owed = -float(self.bonds[self.reached.any(axis=1)].min())
        return f"{owed:.4g}, that is {owed / self.model.mean_income:.1%} of the mean of a quarter's income"

    def plot(self, path: str | os.PathLike[str] | None = None, kind: str = "default") -> Figure:
        """Return a figure, which a notebook shows; with ``path`` (``.png``, ``.pdf`` or ``.svg``) also write it there.

        Parameters
        ----------
        path
        kind
            ``"default"``: the default set over bonds and income. ``"prices"``: the price of bonds by how many are
            sold, at a low and a high income. ``"policy"``: the bonds that are chosen, at these incomes.

        Raises
        ------
        ProblemError
            ``path`` is no place for such a file, there is no such kind, or matplotlib is not installed.
        """
        figure: Figure = service("DefaultEconomy.plot")(self, path, kind)
        return figure
