"""The solved economy of Hopenhayn and Rogerson (1993): numbers, tables."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import diags

from beltline.host.analysis.long_run import renewed
from beltline.host.analysis.policy import Policy
from beltline.host.models.hopenhayn_rogerson.calibration import BEFORE, Calibration
from beltline.host.models.model_result import SolutionResult
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError
from beltline.host.results.facts import ANY_NUMBER, COUNT, MEASURE, NUMBER, POSITIVE
from beltline.host.results.fields import Declared, contained, fact, parts
from beltline.host.results.outcome import GRID_END_SHARE, Outcome
from beltline.host.results.result import Result

ENTRY_TOLERANCE = 1e-6
"""Largest difference between the value of entry and its cost, error bound included, as a share of the cost."""

MASS_TOLERANCE = 1e-9
"""Largest total variation distance between two periods of a distribution that counts as stationary, per firm."""

LABOUR_TOLERANCE = 1e-6
"""Largest difference between labour supply and demand, as a share of demand."""


def share(part: float, whole: float) -> float:
    """Return ``part / whole``, or nan if ``whole`` is 0."""
    return part / whole if whole else math.nan


@dataclass(frozen=True)
class Step(Declared):
    """One solve of a firm's problem in the search for the price."""

    tau: float = fact(MEASURE, "Firing cost; 0 for the economy that determines the cost of entry")
    price: float = fact(POSITIVE, "Price of the good", "units of the wage")
    entry_value: float = fact(NUMBER, "Value of an entrant before the cost of entry", "units of the wage")
    sweeps: int = fact(COUNT, "Number of sweeps")
    seconds: float = fact(MEASURE, "Wall-clock time of the host computer", "seconds")


@dataclass(frozen=True, eq=False, repr=False)
class FirmEconomy(SolutionResult):
    """The economy of Hopenhayn and Rogerson (1993) at the price at which the value of entry equals its cost.

    Arrays ``(N_n, N_z)`` are those of firms that produce in this period: rows are the workers ``n`` of the last period,
    columns the productivity ``z`` of this one. Masses are per household. The wage is 1.

    ``model`` is the :class:`~beltline.host.models.hopenhayn_rogerson.model.HopenhaynRogerson` that was solved, and
    ``solution`` the :class:`~beltline.Result` of its problem: values and choices of firms at the price.

    Examples
    --------
    >>> import beltline as bl
    >>> economy = bl.solve(bl.hopenhayn_rogerson(tau=0.1, grid=60, states=8), progress=False)
    >>> economy.distribution.shape, bool(economy.price > 1)
    ((60, 8), True)
    """

    archive_kind: ClassVar[str] = "hopenhayn_rogerson"
    group: ClassVar[str] = "economy"
    figures: ClassVar[dict[str, str]] = {
        "regions": "where firms hire, do not change employment, fire and exit",
        "policy": "workers of this period by those of the last, at several productivities",
        "distribution": "firms and employment by size",
    }

    model: Calibration
    price: float = fact(POSITIVE, "Price of the good", "units of the wage")
    entry_cost: float = fact(
        ANY_NUMBER, "Cost of entry, which includes the fixed cost of the first period; nan if the economy without "
        "firing costs, which determines it, is not solved", "units of the good",
    )  # fmt: skip
    disutility: float = fact(ANY_NUMBER, "``A`` in the utility ``ln c - A N``; determined by the same economy")
    solution: Result = contained()
    steps: tuple[Step, ...] = parts(Step, "Steps of the search for the price")

    @property
    def sweeps(self) -> int:
        """Number of sweeps of all solves of a firm's problem."""
        return sum(step.sweeps for step in self.steps)

    @property
    def timing(self) -> dict[str, float]:
        """Wall-clock seconds of the host computer for solves at earlier prices, and for parts of the last solve."""
        return {"earlier prices": sum(step.seconds for step in self.steps[:-1]), **self.solution.timing}

    @property
    def workers(self) -> Array:
        """The grid of workers of a firm, ``(N_n,)``."""
        return self.model.workers

    @property
    def productivity(self) -> Array:
        """Productivity ``z`` by state, ``(N_z,)``."""
        return self.model.chain[0]

    @cached_property
    def _best(self) -> NDArray[np.intp]:
        """Number of the best alternative of a firm that produces."""
        return self.solution.tables.values[: len(self.model.producing)].argmax(axis=0)

    @property
    def value(self) -> Array:
        """Value of a firm that produces, after its firing costs of the period, in units of the wage."""
        return self.solution.tables.values[: len(self.model.producing)].max(axis=0)

    @cached_property
    def policy(self) -> NDArray[np.int32]:
        """Index of the workers ``n'`` that the firm chooses for this period."""
        return np.take_along_axis(self.solution.tables.policy, self._best[None], axis=0)[0]

    @property
    def policy_values(self) -> Array:
        """The workers ``n'`` that the firm chooses for this period."""
        return self.workers[self.policy]

    @property
    def bands(self) -> Array:
        """Smallest and largest employment that firms of each productivity do not change, ``(N_z, 2)``; nan if none."""
        same = self.policy == np.arange(self.model.grid)[:, None]
        low = np.where(same, self.workers[:, None], np.inf).min(axis=0)
        high = np.where(same, self.workers[:, None], -np.inf).max(axis=0)
        return np.where(same.any(axis=0), np.stack([low, high]), math.nan).T

    @property
    def exits(self) -> NDArray[np.bool_]:
        """Where a firm exits.

        With ``exits="before"`` it exits at the end of this period, before it sees the next productivity; with
        ``exits="after"`` it exits now, without producing, except an entrant, which always produces once.
        """
        if self.model.exits == BEFORE:
            return self._best >= 2
        return self.solution.taken("exit")

    @cached_property
    def _step(self) -> Any:
        """Moves of firms that produce to states in which they produce again, a sparse matrix."""
        moves, lives = Policy.single(self.policy, self.model.chain[1]).matrix(), diags(~self.exits.ravel() * 1.0)
        return (lives @ moves if self.model.exits == BEFORE else moves @ lives).tocsr()

    @cached_property
    def _leaves(self) -> Array:
        """Probability that a firm of each state does not produce in the next period."""
        return 1.0 - np.asarray(self._step.sum(axis=1)).reshape(self.policy.shape)

    @cached_property
    def _entering(self) -> Array:
        """Mass 1 of entrants by state; they have no workers."""
        mass = np.zeros(self.policy.shape)
        mass[0] = self.model.entry
        return mass

    @cached_property
    def _density(self) -> Array | None:
        """Mass of firms for a mass 1 of entrants; None if some firms never exit."""
        mass = renewed(self._step, self._entering.ravel())
        return None if mass is None else mass.reshape(self.policy.shape)

    def _sum(self, table: Array | float = 1.0) -> float:
        """Return the sum of a table over all firms, for a mass 1 of entrants; nan without a distribution."""
        return math.nan if self._density is None else float((self._density * table).sum())

    @cached_property
    def _output(self) -> float:
        """Output for a mass 1 of entrants, in units of the good."""
        return self._sum(np.take_along_axis(self.model.output(), self.policy, axis=0))

    @property
    def employment_each(self) -> float:
        """Employment for a mass 1 of entrants."""
        return self._sum(self.policy_values)

    @property
    def consumption_each(self) -> float:
        """Consumption for a mass 1 of entrants: output less fixed costs and the cost of entry."""
        return self._output - self.model.fixed_cost * (self._sum() - 1.0) - self.entry_cost

    @property
    def entrants(self) -> float:
        """Mass of entrants per period, at which the good's market clears."""
        return share(1.0, self.disutility * self.price * self.consumption_each)

    @cached_property
    def distribution(self) -> Array:
        """Mass of firms that produce, by state; nan if some firms never exit."""
        shape = self.policy.shape
        return np.full(shape, math.nan) if self._density is None else self._density * self.entrants

    @property
    def firms(self) -> float:
        """Mass of firms that produce."""
        return self._sum() * self.entrants

    @property
    def employment(self) -> float:
        """Employment per household."""
        return self.employment_each * self.entrants

    @property
    def output(self) -> float:
        """Output, of which fixed costs are paid, in units of the good."""
        return self._output * self.entrants

    @property
    def consumption(self) -> float:
        """Consumption: output less fixed costs and costs of entry, in units of the good."""
        return self.consumption_each * self.entrants

    @property
    def average_size(self) -> float:
        """Mean number of workers of a firm that produces."""
        return share(self.employment, self.firms)

    @property
    def entrant_size(self) -> float:
        """Mean number of workers of an entrant."""
        return float(self.model.entry @ self.policy_values[0])

    @property
    def entrant_hiring(self) -> float:
        """Share of entrants in all workers that are hired in a period."""
        return share(self.entrant_size, self.jobs_created * self.employment_each)

    @property
    def entrant_hazard(self) -> float:
        """Share of entrants that do not produce in the period after their first."""
        return float(self.model.entry @ self._leaves[0])

    @property
    def exit_rate(self) -> float:
        """Share of the firms that produce in a period but not in the next."""
        return share(self._sum(self._leaves), self._sum())

    @property
    def jobs_created(self) -> float:
        """Job creation of a period as a share of employment: hires of firms that grow, entrants included."""
        hired = np.maximum(self.policy_values - self.workers[:, None], 0.0)
        return share(self._sum(hired), self.employment_each)

    @property
    def jobs_destroyed(self) -> float:
        """Job destruction of a period as a share of employment: dismissals of firms that shrink or exit."""
        dismissed = np.maximum(self.workers[:, None] - self.policy_values, 0.0)
        dismissed = dismissed + self._leaves * self.policy_values
        return share(self._sum(dismissed), self.employment_each)

    @property
    def layoff_costs(self) -> float:
        """Firing costs of a period as a share of wages."""
        return self.model.tau * self.jobs_destroyed

    @property
    def entry_value(self) -> float:
        """Value of an entrant before the cost of entry, in units of the wage."""
        return float(self.model.entry @ self.value[0]) + self.price * self.model.fixed_cost

    @property
    def entry_gap(self) -> float:
        """Value of entry less its cost, as a share of the cost."""
        return share(self.entry_value, self.price * self.entry_cost) - 1.0

    @property
    def mass_moves(self) -> float:
        """Total variation distance between the distribution and that of the next period, per firm."""
        if self._density is None:
            return math.inf
        moved = self._density.ravel() @ self._step + (self._entering - self._density).ravel()
        return 0.5 * float(np.abs(moved).sum()) / self._sum()

    @property
    def labour_gap(self) -> float:
        """Labour supply less demand, as a share of demand.

        Households consume ``1 / (A p)``. They work for the part of it that is not paid by profits and firing costs,
        which they receive. Profits are computed from values: in a stationary economy they are ``1 - beta`` times the
        value of all firms, plus ``beta`` times that of entrants, less the costs of entry. So the gap is zero only if
        values, choices, distribution and price are consistent.
        """
        model = self.model
        costs = self.price * (self.entry_cost - model.fixed_cost)
        worth = self._sum(self.value) - model.tau * self._sum(self._leaves * self.policy_values)
        entering = self.entry_value - self.price * model.fixed_cost
        profits = (1.0 - model.beta) * worth + model.beta * entering - costs
        consumed = share(1.0, self.disutility * self.entrants)
        return share(consumed - profits, self.employment_each) - self.layoff_costs - 1.0

    @property
    def utility(self) -> float:
        """Utility of a period, ``ln c - A N``."""
        # Consumption is 0 if nothing is solved.
        consumed = math.log(self.consumption) if self.consumption > 0.0 else math.nan
        return consumed - self.disutility * self.employment

    @property
    def welfare(self) -> float:
        """Welfare as equivalent consumption, relative to the economy without firing costs.

        Households are indifferent between this economy and this share of their consumption, with unchanged hours, in
        the economy without firing costs. 0.98 is a loss of 2%.
        """
        # In that economy the price is 1, so that consumption is 1 / A.
        return self.disutility * math.exp(self.utility + self.disutility * self.model.employment)

    @property
    def at_top(self) -> float:
        """Share of employment in firms that choose the highest grid point; if it is not small, raise ``high``."""
        top = self.policy == self.model.grid - 1
        return share(self._sum(np.where(top, self.policy_values, 0.0)), self.employment_each)

    @property
    def success(self) -> bool:
        """Whether the economy is solved.

        Choices of firms are proven best, the distribution is stationary, the value of entry equals its cost, the labour
        market clears, and the grid is long enough.
        """
        return self._verdict[0] is Outcome.SOLVED

    @property
    def status(self) -> str:
        """How the solve ended, one of :class:`~beltline.host.results.outcome.Outcome`."""
        return self._verdict[0].value

    @property
    def message(self) -> str:
        """The status in a sentence and, after a failure, what to do."""
        return self._verdict[1]

    @cached_property
    def _verdict(self) -> tuple[Outcome, str]:
        found, price = self.solution, f"at price {self.price:.6g}"
        if found.problem.parameters["tau"] != self.model.tau:
            price = "without firing costs, which determines the cost of entry"
        if not found.success:
            return Outcome.FIRM, f"The problem of a firm is not solved {price}: {found.message}"
        if not self.mass_moves <= MASS_TOLERANCE:
            why = "some firms never exit, so raise fixed_cost or variance"
            if found.problem.parameters["tau"] > 0.0:
                why += ", or lower tau"
            if self._density is not None:
                why = f"a period still changes {self.mass_moves:.3g} of it"
            return Outcome.DISTRIBUTION, f"There is no stationary distribution of firms {price}: {why}."
        if not self.employment_each > 0.0:
            return Outcome.MARKET, f"No firm employs anybody {price}: raise grid."
        # The error bound of the values is part of the difference.
        error = share(found.error_bound, self.price * self.entry_cost)
        if math.isnan(self.entry_cost):
            return (
                Outcome.MARKET,
                f"The value of entry {price}, is known only within {found.error_bound:.3g}: lower tol.",
            )
        if not abs(self.entry_gap) + error <= ENTRY_TOLERANCE:
            return Outcome.MARKET, (
                f"The value of entry is {self.entry_value:.9g} {price}, and its cost "
                f"{self.price * self.entry_cost:.9g}; values may be off by {found.error_bound:.3g}: lower tol."
            )
        if not abs(self.labour_gap) <= LABOUR_TOLERANCE:
            return Outcome.MARKET, (
                f"The labour market does not clear {price}: supply less demand is {self.labour_gap:+.3g} of demand. "
                "Lower tol."
            )
        if not self.at_top <= GRID_END_SHARE:
            return Outcome.GRID, (
                f"{self.at_top:.2%} of employment is in firms that choose the most workers of the grid, "
                f"{self.model.high:g}, and at most {GRID_END_SHARE:.2%} may: raise high."
            )
        return Outcome.SOLVED, (
            f"The value of entry equals its cost at price {self.price:.6f}, found in {len(self.steps)} steps."
        )

    def _title(self) -> str:
        model = self.model
        size = f"{model.grid:,} grid points x {model.states} states"
        return f"Hopenhayn and Rogerson's economy, tau = {model.tau:g}, {size}, on device {self.solution.device}"

    def _rows(self) -> list[tuple[str, str]]:
        found = self.solution
        bound = f"max |V - V*| <= {found.error_bound:.3g} at this price (including rounding errors)"
        return [
            *(self._priced() if not math.isnan(self.entry_cost) else []),
            ("value", f"{found.status}: {bound}"),
            ("sweeps", f"{self.sweeps:,} for {len(self.steps)} solves of a firm's problem"),
        ]

    def _priced(self) -> list[tuple[str, str]]:
        """Return the rows of the report on an economy whose cost of entry is known."""
        model = self.model
        return [
            ("price", f"{self.price:.6f} in units of the wage; 1 without firing costs"),
            ("consumption", f"{self.consumption:.5f}, {100 / self.price:.2f}% of that without firing costs"),
            ("employment", f"{self.employment:.5f}, {100 * self.employment / model.employment:.2f}% of that"),
            ("welfare", f"equivalent to {100 * self.welfare:.2f}% of consumption without firing costs"),
            ("jobs", f"turnover {self.jobs_created:.2%} of employment; firing costs {self.layoff_costs:.2%} of wages"),
            ("firms", f"{self.average_size:.2f} workers, entrants {self.entrant_size:.2f}; exit rate "
                      f"{self.exit_rate:.2%}, decided on {model.exits} the shock"),
            ("free entry", f"value of entry less its cost: {self.entry_gap:+.1e} of the cost, which is "
                           f"{self.entry_cost:.5f} units of the good"),
            ("distribution", f"changes by {self.mass_moves:.1e} in a period; jobs destroyed less created: "
                             f"{self.jobs_destroyed - self.jobs_created:+.1e} of employment"),
            ("labour", f"supply less demand: {self.labour_gap:+.1e} of demand"),
            ("top of grid", f"a share of {self.at_top:.2g} of employment (at most {GRID_END_SHARE:g})"),
        ]  # fmt: skip

    def _check_file(self) -> None:
        super()._check_file()
        if "tau" not in self.solution.problem.parameters:
            raise ProblemError("parameters of its problem have no 'tau'")
