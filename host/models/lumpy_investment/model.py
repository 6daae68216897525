"""Lumpy investment: a firm that pays a fixed and a convex cost if it adjusts its capital."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from beltline.host.analysis.moments import statistics
from beltline.host.analysis.policy import Policy
from beltline.host.analysis.stationary import stationary_mass
from beltline.host.models.base import Model
from beltline.host.models.model_result import SolutionResult, reading
from beltline.host.problem.alternative import Alternative
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, real, table
from beltline.host.problem.discrete import DiscreteProblem, from_factors
from beltline.host.problem.grids import GRID_SIZE_LIMIT
from beltline.host.problem.markov import tauchen
from beltline.host.problem.memory import check_tables
from beltline.host.problem.model_parameters import (
    AUTOCORRELATION,
    CHAIN_SIZE,
    FROM_ZERO,
    POSITIVE,
    SHARE,
    count,
    fixed,
    levels,
)  # fmt: skip
from beltline.host.problem.problem import Problem
from beltline.host.results.fields import Declared, array, parameter
from beltline.host.solver.options import UNNAMED
from beltline.host.solver.solve import solve
from beltline.host.solver.solve_general import DEVICES, check_device

ALTERNATIVES = ("keep", "adjust")
"""Names of the alternatives."""


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


@dataclass(frozen=True, eq=False)
class Hazard(Declared):
    """Adjustment hazard: the share of firms that adjust, by capital gap."""

    gap: Array = array(
        "gap", text="Log of depreciated capital less log of the target capital, increasing; rounded to multiples of a "
        "period's depreciation",
    )  # fmt: skip
    adjusts: Array = array("gap", text="Share of the firms with this gap that adjust")
    firms: Array = array("gap", text="Share of all firms with this gap in the stationary distribution; adds up to 1")


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

    model: LumpyInvestment
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
        return self.solution.value if self._discrete else self.solution.tables.value[0]

    @property
    def adjusts(self) -> NDArray[np.bool_]:
        """Where adjusting is better than doing nothing; a firm that is indifferent does nothing."""
        if self._discrete:
            return self.policy != self.model.depreciated[:, None]
        return self.solution.taken(ALTERNATIVES[ADJUST])

    @property
    def policy(self) -> NDArray[np.int32]:
        """Index of the capital of the next period."""
        if self._discrete:
            return np.maximum(self.solution.policy, 0).astype(np.int32)
        return np.where(self.adjusts, self.solution.tables.policy[ADJUST], self.solution.tables.policy[KEEP])

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
        rows = [np.flatnonzero(~column) for column in self.adjusts.T]
        return np.array([self.capital[inactive[end]] if inactive.size else np.nan for inactive in rows])

    @property
    def investment_rate(self) -> Array:
        """Investment as a share of capital at the beginning of the period; 0 where firms do not adjust."""
        rate = self.capital[self.policy] / self.capital[:, None] - (1.0 - self.model.delta)
        return np.where(self.adjusts, rate, 0.0)

    @cached_property
    def distribution(self) -> Array:
        """Share of firms in each state in the stationary distribution; adds up to 1.

        Raises
        ------
        ProblemError
            The stationary distribution is not unique.
        """
        return stationary_mass(Policy.single(self.policy, self.model.chain[1]))[0]

    @cached_property
    def _mass(self) -> Array | None:
        """:attr:`distribution`; None if it is not unique."""
        try:
            return self.distribution
        except ProblemError:
            return None

    def hazard(self) -> Hazard:
        """Return the adjustment hazard under :attr:`distribution`."""
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
        """Return the moments of investment that :data:`MOMENTS` lists, under :attr:`distribution`, without simulation.

        Correlations are nan if a series is constant.
        """
        mass, rate = self.distribution, self.investment_rate
        owned, moves = mass * self.capital[:, None], Policy.single(self.policy, self.model.chain[1])
        mean, sd, serial, with_shock = statistics(
            {"rate": rate, "shock": np.log(self.productivity) + np.zeros_like(rate)},
            {"rate": 0.0, "shock": 0.0},
            lambda values: float((mass * values).sum()),
            lambda values: moves.ahead(values[None])[0],
            "shock",
        )
        return {
            "mean_rate": mean["rate"],
            "inaction": float(mass[~self.adjusts].sum()),
            "spikes": float(mass[rate > SPIKE].sum()),
            "negative": float(mass[rate < 0.0].sum()),
            "negative_spikes": float(mass[rate < -SPIKE].sum()),
            "sd_rate": sd["rate"],
            "serial_correlation": serial["rate"],
            "productivity_correlation": with_shock["rate"],
            "aggregate_rate": float((owned * rate).sum() / owned.sum()),
        }

    @property
    def at_ends(self) -> bool:
        """Whether firms reach an end of the grid: the highest capital, or one that cannot depreciate further."""
        if (mass := self._mass) is None:
            return False
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
        inaction = f"at capital from {band}, at a productivity of {self.productivity[middle]:.4g}"
        rows = [self._bound(), ("inaction", inaction)]
        if self._mass is not None:
            of = self.moments()
            rows.append(("long run", ", ".join(f"{MOMENTS[name]} {of[name]:.1%}" for name in SHARES)))
        return [*rows, *self._spent()]

    @classmethod
    def _problem_of(cls, model: Any) -> Any:
        return model.discrete_problem() if model.convex > 0.0 else model.problem()

    def _coordinates(self) -> dict[str, Any]:
        about = {"endogenous": (self.capital, "capital k", "units of the good"),
                 "exogenous": (self.productivity, "productivity z", "1")}  # fmt: skip
        return {name: (name, table, {"long_name": text, "units": unit})
                for name, (table, text, unit) in about.items() if self._discrete}  # fmt: skip


@dataclass(frozen=True)
class LumpyInvestment(Declared, Model):
    """A firm that pays a fixed and a convex cost if it adjusts its capital; a period is a year.

    With capital ``k`` and productivity ``z`` the firm solves::

        V(k, z) = a z k**alpha + max(beta E[V((1 - delta) k, z') | z],
                                     max over k' of  -i - fixed - convex / 2 (i / k)**2 k + beta E[V(k', z') | z])
        i = k' - (1 - delta) k,    ln z' = rho ln z + e,    e ~ N(0, sigma**2)

    The first alternative is to do nothing. Productivity is discretised by :func:`beltline.tauchen`. ``a`` is such that
    the firm would own a capital of 1 without shocks and adjustment costs; this is the unit of the good. The grid of
    capital is geometric, so that depreciated capital is a grid point. Arrays are read-only, ``N_k`` grid points of
    capital by ``N_z`` states.

    ``bl.solve(bl.lumpy_investment(...))`` returns a :class:`~beltline.LumpyInvestmentResult`. The default parameters
    are round numbers for a plant and are not estimated.

    Raises
    ------
    ProblemError
        An argument is out of range, or the tables do not fit into the memory of this computer.

    Sources
    -------
    Caballero and Engel (1999), "Explaining investment dynamics in U.S. manufacturing: a generalized (S,s) approach",
    Econometrica 67(4), 783-826. Cooper and Haltiwanger (2006), "On the nature of capital adjustment costs", Review of
    Economic Studies 73(3), 611-633.

    Examples
    --------
    >>> import beltline as bl
    >>> firm = bl.solve(bl.lumpy_investment(steps=4, states=5), progress=False)
    >>> firm.success, bool((firm.lower < firm.upper).all())
    (True, True)
    """

    kinds: ClassVar[tuple[str, ...]] = tuple(LumpyInvestmentResult.figures)

    steps: int = parameter(
        8, count(1, GRID_SIZE_LIMIT), "Number of grid points by which capital falls in a period through depreciation, "
        "at least 1; a larger number is a finer grid",
    )  # fmt: skip
    states: int = parameter(11, CHAIN_SIZE, "Number of productivity states, 1 to ``CHAIN_LIMIT``")
    beta: float = parameter(0.95, SHARE, "Discount factor, above 0 and below 1")
    alpha: float = parameter(0.6, SHARE, "Exponent of capital in profits, above 0 and below 1")
    delta: float = parameter(0.07, SHARE, "Depreciation rate, above 0 and below 1")
    rho: float = parameter(0.9, AUTOCORRELATION, "Autocorrelation of log productivity, above -1 and below 1")
    sigma: float = parameter(0.1, POSITIVE, "Standard deviation of its shock, above 0")
    fixed: float = parameter(0.01, FROM_ZERO, "Fixed cost of adjusting, from 0", "units of the good")
    convex: float = parameter(
        0.0, FROM_ZERO, "Coefficient of the convex cost, from 0. With a convex cost the firm's problem is solved as a "
        "discrete problem on the processor; time and memory grow with the square of the number of grid points, and "
        "``steps=4`` is a good choice",
    )  # fmt: skip
    width: float = parameter(
        3.0, POSITIVE, "Half-width of the grid of log productivity in unconditional standard deviations, above 0"
    )
    low: float = parameter(
        0.02, POSITIVE, "Lowest capital, above 0; the lowest grid point is ``low`` or less than one step below"
    )
    high: float = parameter(50.0, POSITIVE, "Highest capital of the grid, above 0")

    def validate(self) -> None:
        """Check the grid, that the tables fit into the memory, and the chain."""
        real("high", self.high, f"a number above low = {self.low:g}", lambda v: v > self.low)
        points = self.points
        if not self.steps < points <= GRID_SIZE_LIMIT:
            raise ProblemError(
                f"the grid from low = {self.low:g} to high = {self.high:g} must have more than steps = {self.steps} "
                f"points and at most {GRID_SIZE_LIMIT:,}, not {points:,}"
            )
        check_tables(13 * points * self.states, points=points, states=self.states)
        _ = self.chain

    @property
    def points(self) -> int:
        """Number of grid points of capital."""
        periods = math.log(self.high / self.low) / -math.log1p(-self.delta)
        return math.ceil(self.steps * periods - 1e-9) + 1

    @cached_property
    def capital(self) -> Array:
        """The grid of capital ``k``, ``(N_k,)``; a period's depreciation lowers capital by :attr:`steps` points."""
        found: Array = self.high * (1.0 - self.delta) ** (np.arange(1 - self.points, 1) / -self.steps)
        return fixed(found)

    @cached_property
    def chain(self) -> tuple[Array, Array]:
        """Productivity by state, ``(N_z,)``, and its Markov matrix, ``(N_z, N_z)``."""
        logs, transition = tauchen(self.states, self.rho, self.sigma, width=self.width)
        return fixed(levels("productivity", logs, "rho, sigma or width")), fixed(transition)

    @property
    def scale(self) -> float:
        """Factor ``a`` of profits; without shocks and adjustment costs a firm would own a capital of 1."""
        return (1.0 / self.beta - 1.0 + self.delta) / self.alpha

    @cached_property
    def profit(self) -> Array:
        """Profit of a period before investment, ``(N_k, N_z)``, in units of the good."""
        found: Array = self.scale * self.chain[0] * self.capital[:, None] ** self.alpha
        return fixed(found)

    @cached_property
    def depreciated(self) -> NDArray[np.int64]:
        """Index of the next capital of a firm that does nothing, ``(N_k,)``; the lowest capital does not depreciate."""
        return np.maximum(np.arange(self.points) - self.steps, 0)

    def problem(self) -> Problem:
        """Return the firm's problem in the general form.

        Raises
        ------
        ProblemError
            There is a convex cost, which depends on both ``k`` and ``k'``; use :meth:`discrete_problem`.
        """
        if self.convex > 0.0:
            raise ProblemError(
                f"the general form has no cost that depends on both capital and next capital, and convex is "
                f"{self.convex:g}: use discrete_problem()"
            )
        productivity, transition = self.chain
        capital = self.capital
        return Problem(
            grid=capital,
            wealth=self.profit,
            cost=np.zeros_like(self.profit),
            transition=transition,
            beta=self.beta,
            eta=0.0,
            negative=True,
            alternatives=[
                Alternative(name=ALTERNATIVES[0], choice=self.depreciated),
                Alternative(
                    name=ALTERNATIVES[1],
                    wealth=self.profit + (1.0 - self.delta) * capital[:, None] - self.fixed,
                    cost=capital,
                ),
            ],
            name="lumpy investment",
            asset="capital k",
            shock="productivity z",
            shock_values=productivity,
            parameters={
                "alpha": self.alpha, "delta": self.delta, "rho": self.rho, "sigma": self.sigma, "fixed": self.fixed,
                "width": self.width,
            },
        )  # fmt: skip

    def discrete_problem(self) -> DiscreteProblem:
        """Return the firm's problem as a discrete dynamic program, with or without a convex cost.

        State ``x`` is grid point ``x`` of capital, and action ``a`` the choice of grid point ``a`` for the next period.
        The action :attr:`depreciated` is to do nothing, which costs nothing.

        Raises
        ------
        ProblemError
            The pairs of capital and next capital do not fit into the memory.
        """
        capital, depreciated, profit = self.capital, self.depreciated, self.profit

        def reward(k: NDArray[np.int64], z: NDArray[np.int64], a: NDArray[np.int64]) -> Array:
            cost: Array = np.where(a == depreciated[k], 0.0, self.adjustment(capital[k], capital[a]))
            return profit[k, z] - cost

        return from_factors(
            self.points, self.chain[1], reward=reward, beta=self.beta, name="lumpy investment with a convex cost"
        )

    def adjustment(self, capital: Array, following: Array) -> Array:
        """Return the cost of going from ``capital`` to ``following``: investment, fixed and convex cost."""
        capital = table("capital", capital, above=0.0)
        invested = table("following", following, shape=capital.shape) - (1.0 - self.delta) * capital
        return table("the cost of following", invested + self.fixed + 0.5 * self.convex * invested**2 / capital)

    def solve(
        self, tol: float = 1e-9, device: str = UNNAMED, progress: Any = None, **more: Any
    ) -> LumpyInvestmentResult:
        """Solve the firm's problem.

        Without a convex cost it is a problem of the general form, solved by exact sweeps; with one it is a discrete
        problem, solved by policy iteration over all pairs of capital and next capital.

        Parameters
        ----------
        tol : float
            The iteration ends when the largest change of the value is below it, in units of the good.
        device : str
            ``"cpu"`` or, without a convex cost, ``"gpu"``; by default ``"auto"``, which takes the processor.
        progress, **more
            As :func:`beltline.solve` has them for such a problem, except ``update``.

        Returns
        -------
        LumpyInvestmentResult

        Raises
        ------
        ProblemError, KeyboardInterrupt
            As :func:`beltline.solve`.
        """
        device = check_device("lumpy investment", device)
        if "update" in more:
            raise ProblemError("update must not be given: lumpy investment has no prices to update")
        if self.convex > 0.0 and device != DEVICES[0]:
            raise ProblemError(
                f"lumpy investment with a convex cost is solved on device {DEVICES[0]!r}, not on {device!r}"
            )
        problem: Any = self.discrete_problem() if self.convex > 0.0 else self.problem()
        solution: Any = solve(problem, tol=tol, device=device, progress=progress, **more)
        return LumpyInvestmentResult(self, solution)


lumpy_investment = LumpyInvestment

read = reading(LumpyInvestmentResult, LumpyInvestment)
