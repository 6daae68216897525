"""Hopenhayn and Rogerson's economy as it was solved: what it says, as numbers, tables, text and a file."""

from __future__ import annotations

import math
import os
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from beltline.host.models.hopenhayn_rogerson.calibration import BEFORE, Calibration
from beltline.host.models.hopenhayn_rogerson.firms import ahead, stationary, survival
from beltline.host.models.model_result import ModelResult
from beltline.host.problem.arrays import Array
from beltline.host.problem.report import as_html, report
from beltline.host.results.general_result import GeneralResult
from beltline.host.results.outcome import GRID_END_SHARE, Outcome
from beltline.host.results.services import service

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENTRY_TOLERANCE = 1e-6
"""Largest difference of the value of entry and its cost, as a share of the cost, with what the values may be off."""

MASS_TOLERANCE = 1e-9
"""Largest share of firms that a period moves of a distribution that counts as stationary."""

LABOUR_TOLERANCE = 1e-6
"""Largest difference of the labour that households supply and firms employ, as a share of the latter."""


def share(part: float, whole: float) -> float:
    """``part / whole``, nan where there is no whole."""
    return part / whole if whole else math.nan


@dataclass(frozen=True)
class Step:
    """A firm's problem that was solved in the search for the price.

    Parameters
    ----------
    tau : float
        0 for the economy that sets the cost of entry.
    price : float
    entry_value : float
        What an entrant is worth, before the cost of entry, units of the wage.
    sweeps : int
    seconds : float
        Of this computer.
    """

    tau: float
    price: float
    entry_value: float
    sweeps: int
    seconds: float


@dataclass(frozen=True, eq=False)
class FirmEconomy(ModelResult):
    """Firms that pay firing costs, enter and exit, and the price at which entry is worth its cost.

    Tables are ``(N_n, N_z)`` and of firms that produce in this period: rows are the workers ``n`` of the last period,
    columns the productivity ``z`` of this one. Masses are for one household. The wage is 1.

    Parameters
    ----------
    model : Calibration
        The :class:`~beltline.host.models.hopenhayn_rogerson.model.HopenhaynRogerson` that was solved.
    price : float
        Of the good, in units of the wage.
    entry_cost : float
        Of an entrant, units of the good; the fixed cost of its first period is part of it. nan where the economy
        without firing costs, which sets it, is not solved.
    disutility : float
        Of labour, ``A`` of ``ln c - A N``; set by the same economy, and nan with it.
    solution : GeneralResult
        Values and choices of firms at that price.
    steps : tuple of Step
        Of the search for the price.
    """

    archive_kind: ClassVar[str] = "hopenhayn_rogerson"

    model: Calibration
    price: float
    entry_cost: float
    disutility: float
    solution: GeneralResult
    steps: tuple[Step, ...]

    @property
    def workers(self) -> Array:
        """The grid of workers of a firm, ``(N_n,)``."""
        return self.model.workers

    @property
    def productivity(self) -> Array:
        """``z`` by state, ``(N_z,)``."""
        return self.model.chain[0]

    @cached_property
    def _best(self) -> NDArray[np.intp]:
        """Number of the best alternative of a firm that produces."""
        return self.solution.values[: len(self.model.producing)].argmax(axis=0)

    @property
    def value(self) -> Array:
        """Of a firm that produces in this period, in units of the wage, firing costs of the period paid."""
        found: Array = self.solution.values[: len(self.model.producing)].max(axis=0)
        return found

    @cached_property
    def policy(self) -> NDArray[np.int32]:
        """Index of the workers ``n'`` of this period."""
        return np.take_along_axis(self.solution.policy, self._best[None], axis=0)[0]

    @property
    def policy_values(self) -> Array:
        """The workers ``n'`` themselves."""
        return self.workers[self.policy]

    @property
    def bands(self) -> Array:
        """Fewest and most workers that firms of each productivity keep as they are, ``(N_z, 2)``; nan where none do."""
        same = self.policy == np.arange(self.model.grid)[:, None]
        low = np.where(same, self.workers[:, None], np.inf).min(axis=0)
        high = np.where(same, self.workers[:, None], -np.inf).max(axis=0)
        return np.where(same.any(axis=0), np.stack([low, high]), math.nan).T

    @property
    def exits(self) -> NDArray[np.bool_]:
        """Where a firm exits: at the end of this period, before it sees the productivity of the next, or, with
        ``exits="after"``, now, without producing. An entrant produces once in any case.
        """
        if self.model.exits == BEFORE:
            return self._best >= 2
        return self.solution.taken("exit")

    @cached_property
    def _rules(self) -> tuple[NDArray[np.int32], NDArray[np.bool_], NDArray[np.bool_], Array]:
        """Policy, where firms do not exit at the end of the period and at its beginning, and the chain."""
        never = np.ones_like(self.exits)
        before = self.model.exits == BEFORE
        stays, produces = (~self.exits, never) if before else (never, ~self.exits)
        return self.policy, stays, produces, self.solution.problem.transition

    @cached_property
    def _density(self) -> Array | None:
        """Mass of firms for a mass of 1 of entrants; none where some firms never exit."""
        return stationary(*self._rules, self.model.entry)

    def _sum(self, table: Array | float = 1.0) -> float:
        """Of a table over all firms, for a mass of 1 of entrants; nan where there is no distribution."""
        return math.nan if self._density is None else float((self._density * table).sum())

    @cached_property
    def _output(self) -> float:
        """What firms produce, for a mass of 1 of entrants, units of the good."""
        return self._sum(np.take_along_axis(self.model.output(), self.policy, axis=0))

    @property
    def employment_each(self) -> float:
        """Labour that firms employ, for a mass of 1 of entrants."""
        return self._sum(self.policy_values)

    @property
    def consumption_each(self) -> float:
        """What is left to consume for a mass of 1 of entrants: output less fixed costs and the cost of entry."""
        return self._output - self.model.fixed_cost * (self._sum() - 1.0) - self.entry_cost

    @property
    def entrants(self) -> float:
        """Mass of entrants of a period, at which households want to consume what is left to consume."""
        return share(1.0, self.disutility * self.price * self.consumption_each)

    @cached_property
    def distribution(self) -> Array:
        """Mass of firms that produce in each state; nan where some firms never exit."""
        shape = self.policy.shape
        return np.full(shape, math.nan) if self._density is None else self._density * self.entrants

    @property
    def firms(self) -> float:
        """Mass of firms that produce."""
        return self._sum() * self.entrants

    @property
    def employment(self) -> float:
        """Labour that firms employ, per household."""
        return self.employment_each * self.entrants

    @property
    def output(self) -> float:
        """What firms produce, fixed costs included, units of the good."""
        return self._output * self.entrants

    @property
    def consumption(self) -> float:
        """Output less fixed costs and costs of entry, units of the good."""
        return self.consumption_each * self.entrants

    @property
    def average_size(self) -> float:
        """Workers of a firm that produces."""
        return share(self.employment, self.firms)

    @property
    def entrant_size(self) -> float:
        """Workers of an entrant, on average."""
        return float(self.model.entry @ self.policy_values[0])

    @property
    def entrant_hiring(self) -> float:
        """Share of entrants in the workers that are hired in a period."""
        return share(self.entrant_size, self.jobs_created * self.employment_each)

    @property
    def entrant_hazard(self) -> float:
        """Share of entrants that produce once and not in the next period."""
        return float(self.model.entry @ (1.0 - survival(*self._rules)[0]))

    @property
    def exit_rate(self) -> float:
        """Share of the firms that produce in a period and not in the next."""
        return share(self._sum(1.0 - survival(*self._rules)), self._sum())

    @property
    def jobs_created(self) -> float:
        """Share of employment in a period: workers hired by firms that grow, entrants among them."""
        hired = np.maximum(self.policy_values - self.workers[:, None], 0.0)
        return share(self._sum(hired), self.employment_each)

    @property
    def jobs_destroyed(self) -> float:
        """Share of employment in a period: workers dismissed by firms that shrink or exit."""
        gone = np.maximum(self.workers[:, None] - self.policy_values, 0.0)
        gone = gone + (1.0 - survival(*self._rules)) * self.policy_values
        return share(self._sum(gone), self.employment_each)

    @property
    def layoff_costs(self) -> float:
        """Firing costs of a period, as a share of wages."""
        return self.model.tau * self.jobs_destroyed

    @property
    def entry_value(self) -> float:
        """What an entrant is worth, before the cost of entry, units of the wage."""
        return float(self.model.entry @ self.value[0]) + self.price * self.model.fixed_cost

    @property
    def entry_gap(self) -> float:
        """By how much an entrant is worth more than entry costs, as a share of the cost."""
        return share(self.entry_value, self.price * self.entry_cost) - 1.0

    @property
    def mass_moves(self) -> float:
        """Share of firms that a period moves of the distribution, in total variation."""
        if self._density is None:
            return math.inf
        moved = ahead(self._density, *self._rules, self.model.entry) - self._density
        return 0.5 * float(np.abs(moved).sum()) / self._sum()

    @property
    def labour_gap(self) -> float:
        """By how much households supply more labour than firms employ, as a share of the latter.

        They consume what they want, ``1 / (A p)``, and work for what profits and firing costs, which they get, do not
        pay. Profits are worked out from what firms are worth: in a stationary economy a period pays the interest on the
        worth of firms, and what entrants add to it. So values, choices, distribution and price must all fit.
        """
        model = self.model
        costs = self.price * (self.entry_cost - model.fixed_cost)
        worth = self._sum(self.value) - model.tau * self._sum((1.0 - survival(*self._rules)) * self.policy_values)
        entering = self.entry_value - self.price * model.fixed_cost
        profits = (1.0 - model.beta) * worth + model.beta * entering - costs
        consumed = share(1.0, self.disutility * self.entrants)
        return share(consumed - profits, self.employment_each) - self.layoff_costs - 1.0

    @property
    def utility(self) -> float:
        """``ln c - A N`` of a period."""
        # There is nothing to consume where nothing is solved.
        consumed = math.log(self.consumption) if self.consumption > 0.0 else math.nan
        return consumed - self.disutility * self.employment

    @property
    def welfare(self) -> float:
        """Consumption-equivalent: the share of its consumption to which households of the economy without firing costs
        would go down, with its hours, rather than live in this one.
        """
        # There the price is 1, and so consumption 1 / A.
        return self.disutility * math.exp(self.utility + self.disutility * self.model.employment)

    @property
    def at_top(self) -> float:
        """Share of employment in firms that choose the highest grid point: they might grow if there were more."""
        top = self.policy == self.model.grid - 1
        return share(self._sum(np.where(top, self.policy_values, 0.0)), self.employment_each)

    @property
    def success(self) -> bool:
        """Whether firms' choices are proven, the distribution is stationary, entry is worth its cost, the labour market
        clears and the grid suffices.
        """
        return self._verdict[0] is Outcome.SOLVED

    @property
    def status(self) -> str:
        """One of :class:`~beltline.host.results.outcome.Outcome`."""
        return self._verdict[0].value

    @property
    def message(self) -> str:
        """The status in a sentence, with what to do about it."""
        return self._verdict[1]

    @cached_property
    def _verdict(self) -> tuple[Outcome, str]:
        found, price = self.solution, f"at price {self.price:.6g}"
        if found.problem.parameters["tau"] != self.model.tau:
            price = "without firing costs, where the cost of entry is set"
        if not found.success:
            return Outcome.FIRM, f"A firm's problem is not solved {price}: {found.message}"
        if not self.mass_moves <= MASS_TOLERANCE:
            why = "some firms never exit, so raise fixed_cost or variance"
            if self._density is not None:
                why = f"a period still moves {self.mass_moves:.3g} of them"
            return Outcome.DISTRIBUTION, f"There is no stationary distribution of firms {price}: {why}."
        if not self.employment_each > 0.0:
            return Outcome.MARKET, f"No firm employs anybody {price}: raise grid."
        # What the values may be off counts as well.
        doubt = share(found.error_bound, self.price * self.entry_cost)
        if not abs(self.entry_gap) + doubt <= ENTRY_TOLERANCE:
            return Outcome.MARKET, (
                f"An entrant is worth {self.entry_value:.9g} {price}, and entry costs "
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
                f"{self.model.high:g}, where at most {GRID_END_SHARE:.2%} may: raise high."
            )
        return Outcome.SOLVED, f"Entry is worth its cost at price {self.price:.6f}, after {len(self.steps)} steps."

    def __str__(self) -> str:
        found, model = self.solution, self.model
        rows = [("status", f"{self.status}: {self.message}")]
        if not math.isnan(self.entry_cost):
            rows += self._rows()
        rows += [
            ("value", f"{found.status}: max |V - V*| <= {found.error_bound:.3g} at this price (roundings counted)"),
            ("sweeps", f"{sum(step.sweeps for step in self.steps):,} for {len(self.steps)} problems of a firm"),
            ("this computer", f"{sum(step.seconds for step in self.steps):.2f} s"),
        ]
        size = f"{model.grid:,} grid points x {model.states} states"
        return report(f"Hopenhayn and Rogerson's economy, tau = {model.tau:g}, {size}, on device {found.device}", rows)

    def _rows(self) -> list[tuple[str, str]]:
        """What the report says of an economy whose costs are known."""
        model = self.model
        return [
            ("price", f"{self.price:.6f} of the good, the wage being 1; 1 without firing costs"),
            ("consumption", f"{self.consumption:.5f}, {100 / self.price:.2f}% of that without firing costs"),
            ("employment", f"{self.employment:.5f}, {100 * self.employment / model.employment:.2f}% of that"),
            ("welfare", f"worth {100 * self.welfare:.2f}% of consumption without firing costs"),
            ("jobs", f"turnover {self.jobs_created:.2%} of employment; firing costs {self.layoff_costs:.2%} of wages"),
            ("firms", f"{self.average_size:.2f} workers, entrants {self.entrant_size:.2f}; exit rate "
                      f"{self.exit_rate:.2%}, decided on {model.exits} the shock"),
            ("free entry", f"value of entry less its cost: {self.entry_gap:+.1e} of the cost, which is "
                           f"{self.entry_cost:.5f} units of the good"),
            ("distribution", f"a period moves {self.mass_moves:.1e} of the firms; jobs destroyed less created: "
                             f"{self.jobs_destroyed - self.jobs_created:+.1e} of employment"),
            ("labour", f"supply less demand: {self.labour_gap:+.1e} of demand"),
            ("top of grid", f"{self.at_top:.2g} of employment (at most {GRID_END_SHARE:g})"),
        ]  # fmt: skip

    __repr__ = __str__
    _repr_html_ = as_html

    def _parts(self) -> dict[str, Any]:
        return {
            "economy": {
                "model": asdict(self.model),
                "price": self.price,
                "entry_cost": self.entry_cost,
                "disutility": self.disutility,
                "steps": [asdict(step) for step in self.steps],
            }
        }

    def plot(self, path: str | os.PathLike[str] | None = None, kind: str = "regions") -> Figure:
        """Return a figure, which a notebook shows; with ``path`` (``.png``, ``.pdf`` or ``.svg``) also write it there.

        Parameters
        ----------
        path
        kind
            ``"regions"``: where firms hire, keep their workers, fire and exit. ``"policy"``: workers of this period by
            those of the last, at some productivities. ``"distribution"``: of firms and of employment, by size.

        Raises
        ------
        ProblemError
            ``path`` is no place for such a file, there is no such kind, or matplotlib is not installed.
        """
        figure: Figure = service("FirmEconomy.plot")(self, path, kind)
        return figure
