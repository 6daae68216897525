"""A cohort as it was solved: what it says, as tables, text and a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from beltline.host.models.cohort.calibration import Calibration
from beltline.host.models.cohort.paths import Paths, carry, summary
from beltline.host.models.model_result import ModelResult
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, table
from beltline.host.problem.report import as_html, report
from beltline.host.results.general_result import GeneralResult
from beltline.host.results.outcome import GRID_END_SHARE, Outcome
from beltline.host.results.services import service

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHARES = (0.1, 0.5, 0.9)
"""Percentiles of the paths, by default."""


@dataclass(frozen=True, eq=False)
class CohortResult(ModelResult):
    """What the living do at every age and what it is worth, and where the whole cohort is.

    Tables are ``float64`` unless said otherwise, ``(T, N_k, N_s)``: ages, the first one first, assets, and states of
    income of the living, pairs of the persistent part and the transitory one, the latter innermost.

    Parameters
    ----------
    model : Calibration
        The :class:`~beltline.host.models.cohort.model.Cohort` that was solved.
    solution : GeneralResult
        Its values and choices; its last exogenous state is that of the dead.
    """

    archive_kind: ClassVar[str] = "cohort"

    model: Calibration
    solution: GeneralResult

    @property
    def ages(self) -> NDArray[np.int64]:
        """In years, ``(T,)``."""
        return np.arange(self.model.first, self.model.last + 1)

    @property
    def assets(self) -> Array:
        """The grid of assets, ``(N_k,)``, units of the good."""
        return self.model.assets

    @property
    def income(self) -> Array:
        """By age and state, ``(T, N_s)``, units of the good."""
        return self.model.incomes

    @property
    def value(self) -> Array:
        """Of being alive, in utility."""
        return self.solution.value[:, 0, :, :-1]

    @property
    def policy(self) -> NDArray[np.int32]:
        """Index of the assets that are kept."""
        return self.solution.policy[:, 0, :, :-1]

    @property
    def kept(self) -> Array:
        """Assets that are kept, units of the good."""
        return self.assets[self.policy]

    @property
    def consumption(self) -> Array:
        """Units of the good."""
        return np.asarray(self.solution.problem.wealth[:, :, :-1] - self.kept)

    @cached_property
    def distribution(self) -> Array:
        """Share of the cohort in each state by age; adds up over states to the share that is alive."""
        return carry(self.policy, self.model.chain, self.model.survival, self.model.beginning)

    @property
    def alive(self) -> Array:
        """Share of the cohort that is alive by age, ``(T,)``."""
        found: Array = self.distribution.sum(axis=(1, 2))
        return found

    @property
    def bequests(self) -> Array:
        """Mean of what those leave who die at the end of each age, ``(T,)``, with interest, units of the good."""
        left = (self.distribution * self.kept).sum(axis=(1, 2)) / self.alive
        return np.asarray((1.0 + self.model.interest) * left)

    @property
    def left(self) -> float:
        """Mean of what is left behind by all of the cohort, at whatever age they die, units of the good."""
        return float(-np.diff(self.alive, append=0.0) @ self.bequests)

    def paths(self, shares: Sequence[float] = SHARES) -> Paths:
        """Return means, percentiles and inequality of the living by age.

        The distribution of the cohort is carried forward from age to age along policy and chain: nothing is drawn.

        Parameters
        ----------
        shares
            Of the percentiles, from 0 to 1.

        Raises
        ------
        ProblemError
            A share is none.
        """
        wanted = table("shares", shares, 1)
        for share in wanted.tolist():
            if not 0 <= share <= 1:
                raise ProblemError(f"shares must be from 0 to 1, not {share:.6g}")
        shape = self.policy.shape
        held = np.broadcast_to(self.assets[:, None], shape)
        tables = {
            "income": np.broadcast_to(self.income[:, None, :], shape),
            "consumption": self.consumption,
            "assets": held,
            "saving": self.kept - held,
        }
        people = f"{self.model.first} to {self.model.last}, {self.model.grid:,} grid points"
        title = f"Paths of a cohort, ages {people}{'' if self.success else f' ({self.status})'}"
        return summary(self.ages, self.distribution, tables, wanted, title)

    @property
    def at_limit(self) -> Array:
        """Share of the living who keep nothing by age, ``(T,)``."""
        return np.asarray((self.distribution * (self.policy == 0)).sum(axis=(1, 2)) / self.alive)

    @property
    def at_top(self) -> float:
        """Share of all years of life in which the highest assets are kept: more might be if there were more."""
        highest = self.policy == self.model.grid - 1
        return float((self.distribution * highest).sum() / self.distribution.sum())

    @property
    def success(self) -> bool:
        """Whether all ages are solved, every choice being proven best on the grid, and the grid suffices: ``at_top`` is
        at most :data:`~beltline.host.results.outcome.GRID_END_SHARE`.
        """
        return self.solution.success and self.at_top <= GRID_END_SHARE

    @property
    def status(self) -> str:
        """One of :class:`~beltline.host.results.outcome.Outcome`."""
        if self.solution.success and not self.success:
            return Outcome.GRID.value
        return self.solution.status

    @property
    def message(self) -> str:
        """The status in a sentence or two, with what to do about it."""
        if self.solution.success and not self.success:
            return (
                f"In {self.at_top:.2%} of all years of life the highest assets, {self.model.high:g}, are kept, where "
                f"{GRID_END_SHARE:.2%} are allowed: raise high."
            )
        return self.solution.message

    def __str__(self) -> str:
        found, model = self.solution, self.model
        rows = [("status", f"{self.status}: {self.message}"), ("error bound", self._bound())]
        if found.success:
            rows += self._lives()
        rows += self._spent()
        size = f"{model.grid:,} grid points x {model.ages} ages x {self.policy.shape[2]} states"
        return report(f"A cohort from age {model.first} to {model.last}, {size}, on device {found.device}", rows)

    __repr__ = __str__
    _repr_html_ = as_html

    def _lives(self) -> list[tuple[str, str]]:
        """Rows of the report on the cohort."""
        paths, model = self.paths(), self.model
        income, eaten, held = (paths.mean[name] for name in ("income", "consumption", "assets"))
        work = model.working
        years = float((self.alive * self.ages).sum() / self.alive.sum())
        bound = float(self.at_limit @ self.alive / self.alive.sum())
        return [
            ("income", f"highest at {self.ages[income[:work].argmax()]}, mean {income[:work].max():.2f}; at the last "
                       f"age of work, {model.retirement}, {income[work - 1]:.2f}"),
            ("consumption", f"highest at {self.ages[eaten.argmax()]}, mean {eaten.max():.2f}"),
            ("assets", f"highest at {self.ages[held.argmax()]}, mean {held.max():.2f}, "
                       f"{held.max() / income[:work].mean():.2f} years of mean income of work"),
            ("bequests", f"mean {self.left:.2f} of all of the cohort"),
            ("constraint", f"nothing is kept in {bound:.1%} of all years of life; mean age {years:.1f}"),
            ("top of grid", f"chosen in {self.at_top:.2g} of them (at most {GRID_END_SHARE:g})"),
        ]  # fmt: skip

    def plot(self, path: str | os.PathLike[str] | None = None, kind: str = "paths") -> Figure:
        """Return a figure, which a notebook shows; with ``path`` (``.png``, ``.pdf`` or ``.svg``) also write it there.

        Parameters
        ----------
        path
        kind
            ``"paths"``: means of income, consumption and assets by age, with the middle 80 %. ``"inequality"``:
            variance of log income and log consumption by age, and the Gini coefficient of assets. ``"policy"``:
            consumption by assets at four ages.

        Raises
        ------
        ProblemError
            ``path`` is no place for such a file, there is no such kind, or matplotlib is not installed.
        """
        figure: Figure = service("CohortResult.plot")(self, path, kind)
        return figure
