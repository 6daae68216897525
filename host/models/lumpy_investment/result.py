"""The solved problem of a firm with adjustment costs: tables."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from beltline.host.analysis.long_run import long_run
from beltline.host.models.lumpy_investment.calibration import ALTERNATIVES, Calibration
from beltline.host.models.model_result import SolutionResult
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError
from beltline.host.problem.discrete import DiscreteProblem

KEEP, ADJUST = range(len(ALTERNATIVES))

SPIKE = 0.2
"""Investment rates above this, in absolute value, count as spikes."""

FIRMS = 1e-9
"""Share of firms below which a state counts as empty."""

MOMENTS = {
    "mean_rate": "mean investment rate",
    "inaction": "share of firms that do not adjust",
    "spikes": f"share with investment above {SPIKE:.0%}",
    "negative": "share with negative investment",
    "negative_spikes": f"share with investment below -{SPIKE:.0%}",
    "sd_rate": "sd of the investment rate",
    "serial_correlation": "correlation of the investment rate with that of the year before",
    "productivity_correlation": "correlation of the investment rate with log productivity",
    "aggregate_rate": "aggregate investment / aggregate capital",
}
"""Name of every moment, and its label in tables."""

SHARES = ("mean_rate", "inaction", "spikes", "negative", "negative_spikes", "aggregate_rate")
"""Moments that the report shows."""


@dataclass(frozen=True)
class Hazard:
    """Adjustment hazard: the share of firms that adjust, by capital gap.

    Parameters
    ----------
    gap : (n,) array
        Log of depreciated capital less log of the target capital, increasing; rounded to multiples of a period's
        depreciation.
    adjusts : (n,) array
        Share of the firms with this gap that adjust.
    firms : (n,) array
        Share of all firms with this gap in the stationary distribution; adds up to 1.
    """

    gap: Array
    adjusts: Array
    firms: Array


@dataclass(frozen=True, eq=False, repr=False)
class LumpyInvestmentResult(SolutionResult):
    """Value and choices of a firm by capital and productivity, and the stationary distribution of firms.

    Arrays are float64 unless noted, ``(N_k, N_z)``: rows are capital at the beginning of a period, columns
    productivity.

    ``model`` is the :class:`~beltline.host.models.lumpy_investment.model.LumpyInvestment` that was solved, and
    ``solution`` the :class:`~beltline.Result` of its problem: with a convex cost it is a discrete one.

    Examples
    --------
    >>> import beltline as bl
    >>> firm = bl.solve(bl.lumpy_investment(steps=4, states=5), progress=False)
    >>> firm.adjusts.shape == firm.distribution.shape, round(float(firm.distribution.sum()), 9)
    (True, 1.0)
    """

    archive_kind: ClassVar[str] = "lumpy_investment"
    figures: ClassVar[dict[str, str]] = {
        "band": "capital at which firms do not adjust, and target capital, by productivity",
        "hazard": "share of firms that adjust, and share of all firms, by capital gap",
        "investment": "investment rate by capital, at a low, the middle and a high productivity",
    }

    model: Calibration
    solution: Any

    @property
    def capital(self) -> Array:
        """The grid of capital, ``(N_k,)``, in units of the good."""
        return self.model.capital

    @property
    def productivity(self) -> Array:
        """Productivity by state, ``(N_z,)``."""
        return self.model.chain[0]

    @property
    def _discrete(self) -> bool:
        """Whether the model was solved as a discrete problem."""
        return isinstance(self.solution.problem, DiscreteProblem)

    @property
    def value(self) -> Array:
        """Value of the firm, in units of the good."""
        found: Array = self.solution.value if self._discrete else self.solution.tables.value[0]
        return found

    @property
    def adjusts(self) -> NDArray[np.bool_]:
        """Where adjusting is better than doing nothing; a firm that is indifferent does nothing."""
        found: NDArray[np.bool_]
        if self._discrete:
            found = self.policy != self.model.depreciated[:, None]
        else:
            found = self.solution.taken(ALTERNATIVES[ADJUST])
        return found

    @property
    def policy(self) -> NDArray[np.int32]:
        """Index of the capital of the next period."""
        found: NDArray[np.int32]
        if self._discrete:
            found = np.maximum(self.solution.policy, 0).astype(np.int32)
        else:
            found = np.where(self.adjusts, self.solution.tables.policy[ADJUST], self.solution.tables.policy[KEEP])
        return found

    @cached_property
    def _target(self) -> NDArray[np.intp]:
        """Index of :attr:`target`, by productivity."""
        if not self._discrete:
            return self.solution.tables.policy[ADJUST, 0].astype(np.intp)
        objective = self.model.beta * self.value @ self.model.chain[1].T - self.capital[:, None]
        return np.argmax(objective, axis=0)

    @property
    def target(self) -> Array:
        """Target capital by productivity, ``(N_z,)``, in units of the good.

        Without a convex cost it is the next capital of every firm that adjusts. With one it is the capital that a firm
        would choose if it paid no adjustment cost in this period; firms adjust only part of the way.
        """
        return self.capital[self._target]

    @property
    def lower(self) -> Array:
        """Lowest capital at which firms do not adjust, by productivity, ``(N_z,)``; nan if all adjust."""
        return self._inaction(0)

    @property
    def upper(self) -> Array:
        """Highest capital at which firms do not adjust, by productivity, ``(N_z,)``; nan if all adjust."""
        return self._inaction(-1)

    def _inaction(self, end: int) -> Array:
        inactive = [np.flatnonzero(~column) for column in self.adjusts.T]
        return np.array([self.capital[rows[end]] if rows.size else np.nan for rows in inactive])

    @property
    def investment_rate(self) -> Array:
        """Investment as a share of capital at the beginning of the period; 0 where firms do not adjust."""
        rate = self.capital[self.policy] / self.capital[:, None] - (1.0 - self.model.delta)
        return np.where(self.adjusts, rate, 0.0)

    @cached_property
    def _long_run(self) -> tuple[Array, bool]:
        even = np.full(self.policy.shape, 1.0 / self.policy.size)
        mass, _, unique = long_run(self.policy, self.model.chain[1], even)
        return mass, unique

    @property
    def distribution(self) -> Array:
        """Share of firms in each state in the stationary distribution; adds up to 1.

        Raises
        ------
        ProblemError
            The stationary distribution is not unique.
        """
        mass, unique = self._long_run
        if not unique:
            raise ProblemError("the stationary distribution of firms is not unique: use more steps")
        return mass

    def hazard(self) -> Hazard:
        """Return the adjustment hazard under the stationary distribution.

        Raises
        ------
        ProblemError
            The stationary distribution is not unique.
        """
        mass, steps = self.distribution, self.model.steps
        points = np.arange(self.model.points)[:, None] - steps - self._target
        periods = (points + steps // 2) // steps
        lowest = int(periods.min())
        firms: Array = np.bincount((periods - lowest).ravel(), mass.ravel()).astype(np.float64)
        adjust = np.bincount((periods - lowest).ravel(), (mass * self.adjusts).ravel())
        there = firms > 0.0
        gap: Array = (np.flatnonzero(there) + lowest).astype(np.float64) * -math.log1p(-self.model.delta)
        return Hazard(gap, adjust[there] / firms[there], firms[there])

    def moments(self) -> dict[str, float]:
        """Return moments of investment under the stationary distribution, computed without simulation.

        Returns
        -------
        dict of str to float
            The moments that :data:`MOMENTS` lists; correlations are nan if a series is constant.

        Raises
        ------
        ProblemError
            The stationary distribution is not unique.
        """
        mass, rate = self.distribution, self.investment_rate
        owned = mass * self.capital[:, None]
        productivity, chain = self.model.chain
        # Investment rate of the next year, expected in each state of this year.
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
        """Whether firms reach an end of the grid: the highest capital, or one that cannot depreciate further."""
        mass, _ = self._long_run
        stuck = mass[: self.model.steps][~self.adjusts[: self.model.steps]].sum() > FIRMS
        ends = (self.policy == 0) | (self.policy == self.model.points - 1)
        return bool(stuck or mass[ends].sum() > FIRMS)

    @property
    def _flaw(self) -> str:
        if not self.at_ends:
            return ""
        return (
            f"Firms reach an end of the grid of capital, {self.model.low:g} to {self.model.high:g}, and might go "
            "beyond it: lower low or raise high."
        )

    def _title(self) -> str:
        size = f"{self.model.points:,} grid points x {self.model.states} states"
        return f"Lumpy investment, {size}, on device {self.solution.device}"

    def _rows(self) -> list[tuple[str, str]]:
        model = self.model
        middle = model.states // 2
        target = "target" if self._discrete else "adjusted to"
        band = f"{self.lower[middle]:.4g} to {self.upper[middle]:.4g}, {target} {self.target[middle]:.4g}"
        rows = [
            self._bound(),
            ("inaction", f"at capital from {band}, at a productivity of {self.productivity[middle]:.4g}"),
        ]
        if self._long_run[1]:
            of = self.moments()
            shares = ", ".join(f"{MOMENTS[name]} {of[name]:.1%}" for name in SHARES)
            rows.append(("long run", shares))
        return [*rows, *self._spent()]

    @classmethod
    def _problem_of(cls, model: Any) -> Any:
        return model.discrete_problem() if model.convex > 0.0 else model.problem()

    def _coordinates(self) -> dict[str, Any]:
        if not self._discrete:
            return {}
        return {
            "endogenous": ("endogenous", self.capital, {"long_name": "capital k", "units": "units of the good"}),
            "exogenous": ("exogenous", self.productivity, {"long_name": "productivity z", "units": "1"}),
        }
