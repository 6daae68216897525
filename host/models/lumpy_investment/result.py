"""Lumpy investment as it was solved: what it says, as tables, text and a file."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from beltline.host.analysis.long_run import long_run
from beltline.host.models.lumpy_investment.calibration import ALTERNATIVES, Calibration
from beltline.host.models.model_result import ModelResult
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError
from beltline.host.problem.report import as_html, report
from beltline.host.results.general_result import GeneralResult
from beltline.host.results.outcome import Outcome
from beltline.host.results.services import service

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KEEP, ADJUST = range(len(ALTERNATIVES))

SPIKE = 0.2
"""Investment rate above which investment counts as a spike, and below minus which as one of sales."""

FIRMS = 1e-9
"""Share of firms that counts as somebody."""

MOMENTS = {
    "mean_rate": "mean investment rate",
    "inaction": "share of firms that keep",
    "spikes": f"share with investment above {SPIKE:.0%}",
    "negative": "share with negative investment",
    "negative_spikes": f"share with investment below -{SPIKE:.0%}",
    "aggregate_rate": "aggregate investment / aggregate capital",
}
"""Every moment, and what a report calls it."""


@dataclass(frozen=True)
class Hazard:
    """How many firms adjust, by their capital gap.

    Parameters
    ----------
    gap : (n,) array
        Log of the capital that keeping would leave, less log of the capital that adjusting would lead to; rising, in
        steps of a period's depreciation, gaps being rounded to the nearest.
    adjusts : (n,) array
        Share of the firms with that gap that adjust.
    firms : (n,) array
        Share of all firms that have that gap in the long run; adds up to 1.
    """

    gap: Array
    adjusts: Array
    firms: Array


@dataclass(frozen=True, eq=False)
class LumpyInvestmentResult(ModelResult):
    """What a firm does at every capital and productivity, and where firms are in the long run.

    Tables are ``float64`` unless said otherwise, ``(N_k, N_z)``: rows are capital at the beginning of a period, columns
    productivity.

    Parameters
    ----------
    model : Calibration
        The :class:`~beltline.host.models.lumpy_investment.model.LumpyInvestment` that was solved.
    solution : GeneralResult
        Its values and choices.
    """

    archive_kind: ClassVar[str] = "lumpy_investment"

    model: Calibration
    solution: GeneralResult

    @property
    def capital(self) -> Array:
        """The grid of capital, ``(N_k,)``, units of the good."""
        return self.model.capital

    @property
    def productivity(self) -> Array:
        """By state, ``(N_z,)``."""
        return self.model.chain[0]

    @property
    def value(self) -> Array:
        """Of the firm, units of the good."""
        return self.solution.value[0]

    @property
    def adjusts(self) -> NDArray[np.bool_]:
        """Where adjusting is better than keeping; of equals, a firm keeps."""
        return self.solution.taken(ALTERNATIVES[ADJUST])

    @property
    def policy(self) -> NDArray[np.int32]:
        """Index of the next capital."""
        found: NDArray[np.int32] = np.where(self.adjusts, self.solution.policy[ADJUST], self.solution.policy[KEEP])
        return found

    @property
    def target(self) -> Array:
        """By productivity, ``(N_z,)``: the next capital of a firm that adjusts, whatever it has."""
        return self.capital[self.solution.policy[ADJUST, 0]]

    @property
    def lower(self) -> Array:
        """By productivity, ``(N_z,)``: the lowest capital that is kept; nan where none is."""
        return self._kept(0)

    @property
    def upper(self) -> Array:
        """By productivity, ``(N_z,)``: the highest capital that is kept; nan where none is."""
        return self._kept(-1)

    def _kept(self, end: int) -> Array:
        kept = [np.flatnonzero(~column) for column in self.adjusts.T]
        return np.array([self.capital[rows[end]] if rows.size else np.nan for rows in kept])

    @property
    def investment_rate(self) -> Array:
        """Investment as a share of capital at the beginning of the period; 0 where it is kept."""
        rate = self.capital[self.policy] / self.capital[:, None] - (1.0 - self.model.delta)
        return np.where(self.adjusts, rate, 0.0)

    @cached_property
    def _long_run(self) -> tuple[Array, bool]:
        even = np.full(self.policy.shape, 1.0 / self.policy.size)
        mass, _, unique = long_run(self.policy, self.model.chain[1], even)
        return mass, unique

    @property
    def distribution(self) -> Array:
        """Share of firms in each state in the long run; adds up to 1.

        Raises
        ------
        ProblemError
            The long run depends on the start.
        """
        mass, unique = self._long_run
        if not unique:
            raise ProblemError("the long run of these firms depends on where they start: use more steps")
        return mass

    def hazard(self) -> Hazard:
        """Return how many firms adjust by their capital gap, in the long run.

        Raises
        ------
        ProblemError
            As :attr:`distribution`.
        """
        mass, steps = self.distribution, self.model.steps
        points = np.arange(self.model.points)[:, None] - steps - self.solution.policy[ADJUST, 0]
        periods = (points + steps // 2) // steps
        lowest = int(periods.min())
        firms: Array = np.bincount((periods - lowest).ravel(), mass.ravel()).astype(np.float64)
        adjust = np.bincount((periods - lowest).ravel(), (mass * self.adjusts).ravel())
        there = firms > 0.0
        gap: Array = (np.flatnonzero(there) + lowest).astype(np.float64) * -math.log1p(-self.model.delta)
        return Hazard(gap, adjust[there] / firms[there], firms[there])

    def moments(self) -> dict[str, float]:
        """Return moments of investment in the long run, without sampling; :data:`MOMENTS` says what each is.

        Raises
        ------
        ProblemError
            As :attr:`distribution`.
        """
        mass, rate = self.distribution, self.investment_rate
        owned = mass * self.capital[:, None]
        return {
            "mean_rate": float((mass * rate).sum()),
            "inaction": float(mass[~self.adjusts].sum()),
            "spikes": float(mass[rate > SPIKE].sum()),
            "negative": float(mass[rate < 0.0].sum()),
            "negative_spikes": float(mass[rate < -SPIKE].sum()),
            "aggregate_rate": float((owned * rate).sum() / owned.sum()),
        }

    @property
    def at_ends(self) -> bool:
        """Whether firms come to an end of the grid: to the highest capital, or where capital cannot depreciate."""
        mass, _ = self._long_run
        stuck = mass[: self.model.steps][~self.adjusts[: self.model.steps]].sum() > FIRMS
        ends = (self.policy == 0) | (self.policy == self.model.points - 1)
        return bool(stuck or mass[ends].sum() > FIRMS)

    @property
    def success(self) -> bool:
        """Whether the values converged, every choice being proven best on the grid, and the grid suffices."""
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
        if self.solution.success and self.at_ends:
            return (
                f"Firms come to an end of the grid of capital, {self.model.low:g} to {self.model.high:g}, and might go "
                "on: lower low or raise high."
            )
        return self.solution.message

    def __str__(self) -> str:
        found, model = self.solution, self.model
        middle = model.states // 2
        band = f"{self.lower[middle]:.4g} to {self.upper[middle]:.4g}, adjusted to {self.target[middle]:.4g}"
        rows = [
            ("status", f"{self.status}: {self.message}"),
            ("error bound", self._bound()),
            ("band", f"capital {band}, at a productivity of {self.productivity[middle]:.4g}"),
        ]
        if self._long_run[1]:
            of = self.moments()
            rows.append(("long run", ", ".join(f"{text} {of[name]:.1%}" for name, text in MOMENTS.items())))
        rows += [
            *self._spent(),
        ]
        return report(
            f"Lumpy investment, {model.points:,} grid points x {model.states} states, on device {found.device}", rows
        )

    __repr__ = __str__
    _repr_html_ = as_html

    def plot(self, path: str | os.PathLike[str] | None = None, kind: str = "band") -> Figure:
        """Return a figure, which a notebook shows; with ``path`` (``.png``, ``.pdf`` or ``.svg``) also write it there.

        Parameters
        ----------
        path
        kind
            ``"band"``: the capital that is kept, and that which is adjusted to, by productivity. ``"hazard"``: the
            share of firms that adjust, and how many firms there are, by capital gap.

        Raises
        ------
        ProblemError
            ``path`` is no place for such a file, there is no such kind, or matplotlib is not installed.
        """
        figure: Figure = service("LumpyInvestmentResult.plot")(self, path, kind)
        return figure
