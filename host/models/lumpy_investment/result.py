"""Lumpy investment as it was solved: what it says, as tables, text and a file."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from beltline.host.analysis.long_run import long_run
from beltline.host.models.lumpy_investment.calibration import ALTERNATIVES, Calibration
from beltline.host.models.model_result import ModelResult
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError
from beltline.host.problem.report import as_html, report
from beltline.host.results import archive, discrete_record
from beltline.host.results.discrete_result import DiscreteResult
from beltline.host.results.files import check_target
from beltline.host.results.outcome import Outcome
from beltline.host.results.services import service

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

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
    "sd_rate": "sd of the investment rate",
    "serial_correlation": "correlation of the investment rate with that of the year before",
    "productivity_correlation": "correlation of the investment rate with log productivity",
    "aggregate_rate": "aggregate investment / aggregate capital",
}
"""Every moment, and what a table calls it."""

SHARES = ("mean_rate", "inaction", "spikes", "negative", "negative_spikes", "aggregate_rate")
"""Those that a report tells."""


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
    solution : GeneralResult or DiscreteResult
        Its values and choices; the latter with a convex cost.
    """

    archive_kind: ClassVar[str] = "lumpy_investment"

    model: Calibration
    solution: Any

    @property
    def capital(self) -> Array:
        """The grid of capital, ``(N_k,)``, units of the good."""
        return self.model.capital

    @property
    def productivity(self) -> Array:
        """By state, ``(N_z,)``."""
        return self.model.chain[0]

    @property
    def _discrete(self) -> bool:
        """Whether the solution is one of a discrete problem."""
        return isinstance(self.solution, DiscreteResult)

    @property
    def value(self) -> Array:
        """Of the firm, units of the good."""
        found: Array = self.solution.value if self._discrete else self.solution.value[0]
        return found

    @property
    def adjusts(self) -> NDArray[np.bool_]:
        """Where adjusting is better than keeping; of equals, a firm keeps."""
        found: NDArray[np.bool_]
        if self._discrete:
            found = self.policy != self.model.kept[:, None]
        else:
            found = self.solution.taken(ALTERNATIVES[ADJUST])
        return found

    @property
    def policy(self) -> NDArray[np.int32]:
        """Index of the next capital."""
        found: NDArray[np.int32]
        if self._discrete:
            found = np.maximum(self.solution.policy, 0).astype(np.int32)
        else:
            found = np.where(self.adjusts, self.solution.policy[ADJUST], self.solution.policy[KEEP])
        return found

    @cached_property
    def _wanted(self) -> NDArray[np.intp]:
        """Index of :attr:`target`, by productivity."""
        if not self._discrete:
            return self.solution.policy[ADJUST, 0].astype(np.intp)
        worth = self.model.beta * self.value @ self.model.chain[1].T - self.capital[:, None]
        return np.argmax(worth, axis=0)

    @property
    def target(self) -> Array:
        """By productivity, ``(N_z,)``: the next capital of a firm that adjusts, whatever it has; with a convex cost
        the one that it would choose if neither cost were paid in this period, which the firm only approaches.
        """
        return self.capital[self._wanted]

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
        points = np.arange(self.model.points)[:, None] - steps - self._wanted
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

        Notes
        -----
        Correlations are nan where there is nothing that moves.
        """
        mass, rate = self.distribution, self.investment_rate
        owned = mass * self.capital[:, None]
        productivity, chain = self.model.chain
        # Of the next year, expected from each state of this one.
        ahead = np.take_along_axis(rate @ chain.T, self.policy.astype(np.intp), axis=0)
        mean, log = float((mass * rate).sum()), np.log(productivity)
        spread = math.sqrt(max(float((mass * (rate - mean) ** 2).sum()), 0.0))
        shock = log - float((mass * log).sum())
        spread_shock = math.sqrt(float((mass * shock**2).sum()))
        with_past = float((mass * (rate - mean) * (ahead - mean)).sum())
        with_shock = float((mass * (rate - mean) * shock).sum())
        return {
            "mean_rate": mean,
            "inaction": float(mass[~self.adjusts].sum()),
            "spikes": float(mass[rate > SPIKE].sum()),
            "negative": float(mass[rate < 0.0].sum()),
            "negative_spikes": float(mass[rate < -SPIKE].sum()),
            "sd_rate": spread,
            "serial_correlation": with_past / spread**2 if spread > 0.0 else math.nan,
            "productivity_correlation": with_shock / (spread * spread_shock) if spread * spread_shock else math.nan,
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
        wanted = "aimed at" if self._discrete else "adjusted to"
        band = f"{self.lower[middle]:.4g} to {self.upper[middle]:.4g}, {wanted} {self.target[middle]:.4g}"
        rows = [
            ("status", f"{self.status}: {self.message}"),
            ("error bound", self._bound()),
            ("band", f"capital {band}, at a productivity of {self.productivity[middle]:.4g}"),
        ]
        if self._long_run[1]:
            of = self.moments()
            shares = ", ".join(f"{MOMENTS[name]} {of[name]:.1%}" for name in SHARES)
            rows.append(("long run", shares))
        rows += [
            *self._spent(),
        ]
        return report(
            f"Lumpy investment, {model.points:,} grid points x {model.states} states, on device {found.device}", rows
        )

    __repr__ = __str__
    _repr_html_ = as_html

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write everything to ``path``, whole or not at all, for :func:`beltline.load`; return the path.

        ``.npz``: the arrays of the solution, and ``about``, JSON with everything else. ``.nc``, without a convex cost
        only: netCDF-4 of :meth:`to_xarray`.

        Raises
        ------
        ProblemError
            ``path`` is no place for such a file, or what writes netCDF is not installed.
        OSError
            The disk refused; nothing is left behind.
        """
        if not self._discrete:
            return super().save(path)
        target = check_target("out", path, discrete_record.SUFFIXES)
        facts, arrays = discrete_record.answers_of(self.solution)
        archive.write(target, self.archive_kind, {**self._parts(), "solution": facts}, arrays)
        return target

    def to_xarray(self) -> Dataset:
        """Return the solution as an ``xarray.Dataset``, as ``solution.to_xarray()``; with a convex cost the endogenous
        state is capital, and the exogenous one productivity.

        Raises
        ------
        ProblemError
            xarray is not installed.
        """
        if not self._discrete:
            return super().to_xarray()
        found: Dataset = self.solution.to_xarray().assign_coords(
            endogenous=("endogenous", self.capital, {"long_name": "capital k", "units": "units of the good"}),
            exogenous=("exogenous", self.productivity, {"long_name": "productivity z", "units": "1"}),
        )
        return found

    def plot(self, path: str | os.PathLike[str] | None = None, kind: str = "band") -> Figure:
        """Return a figure, which a notebook shows; with ``path`` (``.png``, ``.pdf`` or ``.svg``) also write it there.

        Parameters
        ----------
        path
        kind
            ``"band"``: the capital that is kept, and that which is adjusted to, by productivity. ``"hazard"``: the
            share of firms that adjust, and how many firms there are, by capital gap. ``"investment"``: the investment
            rate by capital, at a low, the middle and a high productivity.

        Raises
        ------
        ProblemError
            ``path`` is no place for such a file, there is no such kind, or matplotlib is not installed.
        """
        figure: Figure = service("LumpyInvestmentResult.plot")(self, path, kind)
        return figure
