"""The solved economy of Aiyagari (1994)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from beltline.host.analysis.inequality import gini, lorenz
from beltline.host.analysis.policy import carried, lottery
from beltline.host.models.aiyagari.calibration import Calibration
from beltline.host.models.equilibrium.households import CUBICS
from beltline.host.models.equilibrium.search import MARKET_TOLERANCE
from beltline.host.models.model_result import SearchResult
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError
from beltline.host.results.facts import ANY_NUMBER, COUNT, MEASURE, NUMBER, SECONDS, TEXTS
from beltline.host.results.fields import Declared, array, contained, fact, parts
from beltline.host.results.outcome import GRID_END_SHARE
from beltline.host.results.result import Result


@dataclass(frozen=True)
class Step(Declared):
    """One step of the search for the interest rate."""

    interest: float = fact(NUMBER, "Interest rate of the step")
    supply: float = fact(MEASURE, "Capital per head that households supply in the stationary distribution")
    demand: float = fact(MEASURE, "Capital per head that firms demand")
    sweeps: int = fact(COUNT, "Sweeps that maximise: of a device on the grid, of a processor between grid points")
    clocks: int = fact(COUNT, "Clock cycles of the household's problem; 0 in double precision")
    solving: float = fact(MEASURE, "Wall-clock time of the household's problem on the host computer", "seconds")
    spreading: float = fact(MEASURE, "Wall-clock time of the stationary distribution", "seconds")
    moved: tuple[str, ...] = fact(
        TEXTS, "Tables and registers that were written to the device for the step; empty in double precision"
    )


@dataclass(frozen=True, eq=False, repr=False)
class Economy(SearchResult):
    """The economy of Aiyagari (1994) at the interest rate that clears its capital market.

    ``model`` is the :class:`~beltline.host.models.aiyagari.model.Aiyagari` that was solved, and ``household`` the
    :class:`~beltline.Result` of the household's problem at that rate with choices from the grid. The distribution
    follows from ``continuous_choice``; a file of an earlier version has none, and its distribution follows from the
    choices on the grid. It is solved if the household's problem is, the stationary distribution is
    unique, the market clears (``excess`` is at most
    :data:`~beltline.host.models.equilibrium.search.MARKET_TOLERANCE` in absolute value) and the grid is long enough
    (``at_top`` is at most
    :data:`~beltline.host.results.outcome.GRID_END_SHARE`).

    Examples
    --------
    >>> import beltline as bl
    >>> economy = bl.solve(bl.aiyagari(grid=400, states=3), progress=False)
    >>> economy.success, economy.distribution.shape, bool(0 < economy.gini < 1)
    (True, (400, 3), True)
    """

    archive_kind: ClassVar[str] = "aiyagari"
    names: ClassVar[tuple[str, str]] = ("model", "household")
    group: ClassVar[str] = "economy"
    figures: ClassVar[dict[str, str]] = {
        "market": "supply of and demand for capital at the interest rates of the search",
        "distribution": "distribution of wealth",
        "lorenz": "Lorenz curve of wealth",
        "policy": "value and policy of the household",
    }

    model: Calibration
    interest: float = fact(NUMBER, "Net interest rate of a period; 0.03 is 3%")
    household: Result = contained()
    distribution: Array = array(
        "assets", "state", text="Share of households in each state in the stationary distribution; adds up to 1"
    )
    steps: tuple[Step, ...] = parts(Step, "Steps of the search for the interest rate; the last one is the equilibrium")
    continuous_choice: Array | None = array(
        "assets", "state", text="Assets that households choose for the next period, between grid points",
        unit="units of the good", optional=True,
    )  # fmt: skip

    @property
    def sweeps(self) -> int:
        """Number of sweeps of all households' problems."""
        return sum(step.sweeps for step in self.steps)

    @property
    def method(self) -> str:
        """Solution method of the household's problem."""
        return self.household.method

    @property
    def timing(self) -> dict[str, float]:
        """Wall-clock seconds of the host computer for households' problems and for distributions."""
        return {
            "households": sum(step.solving for step in self.steps),
            "distributions": sum(step.spreading for step in self.steps),
        }

    @property
    def residual(self) -> float:
        """Largest ``|TV - V|`` of the household's problem at the last rate."""
        return self.household.residual

    @property
    def error_bound(self) -> float:
        """Proven upper bound on the error of the household's value at the last rate."""
        return self.household.error_bound

    @property
    def wage(self) -> float:
        """Wage of a unit of labour."""
        return self.model.wage(self.interest)

    @property
    def capital(self) -> float:
        """Capital per head that households supply."""
        return self.steps[-1].supply

    @property
    def output(self) -> float:
        """Output per head, ``K**alpha``."""
        return self.capital**self.model.alpha

    @property
    def saving_rate(self) -> float:
        """Saving rate ``delta K / Y``: investment, which replaces depreciated capital, as a share of output."""
        return self.model.delta * self.capital ** (1 - self.model.alpha)

    @property
    def excess(self) -> float:
        """Excess supply of capital as a share of demand."""
        return self.steps[-1].supply / self.steps[-1].demand - 1

    @property
    def choices(self) -> Array:
        """The choices that the distribution follows from: ``continuous_choice``, or those on the grid."""
        return self.household.choice if self.continuous_choice is None else self.continuous_choice

    @property
    def moves(self) -> float:
        """Total variation distance between ``distribution`` and the distribution one period later."""
        problem = self.household.problem
        below, share = lottery(problem.grid, self.choices)
        ahead = carried(self.distribution, below, problem.transition, share)
        return 0.5 * float(np.abs(ahead - self.distribution).sum())

    @property
    def at_limit(self) -> float:
        """Share of households that choose zero assets."""
        return float(self.distribution[self.choices <= 0.0].sum())

    @property
    def at_top(self) -> float:
        """Share of households that choose the highest assets; if it is not small, the grid is too short."""
        return float(self.distribution[self.choices >= self.household.problem.grid[-1]].sum())

    def lorenz(self) -> tuple[Array, Array]:
        """Return the Lorenz curve of wealth in the form of :func:`beltline.lorenz`."""
        return lorenz(self.household.problem.grid, self.distribution.sum(axis=1))

    @property
    def gini(self) -> float:
        """Gini coefficient of wealth; nan if all wealth is 0."""
        return math.nan if self.capital == 0 else gini(self.household.problem.grid, self.distribution.sum(axis=1))

    def _title(self) -> str:
        problem = self.household.problem
        size = f"{problem.points:,} grid points x {problem.states} states"
        return f"Aiyagari's economy, {size}, on device {self.household.device}"

    def _rows(self) -> list[tuple[str, str]]:
        household, steps = self.household, self.steps
        rows = [
            ("interest", f"{self.interest:.4%} a period, 1/beta - 1 = {1 / self.model.beta - 1:.4%}"),
            ("capital", f"{self.capital:.5f} per head, wage {self.wage:.5f}, output {self.output:.5f}"),
            ("saving rate", f"{self.saving_rate:.2%} of output"),
            ("wealth", f"Gini {self.gini:.4f}; {self.at_limit:.2%} of households choose zero assets"),
            ("top of grid", f"chosen by a share of {self.at_top:.2g} (at most {GRID_END_SHARE:g})"),
            ("distribution", f"sum 1 {self.distribution.sum() - 1:+.1e}; changes by {self.moves:.1e} in a period"),
            ("choices", "between grid points" if self.continuous_choice is not None else "grid points"),
            ("market", f"excess supply {self.excess:+.1e} of demand (at most {MARKET_TOLERANCE:g} in absolute value)"),
            ("household", f"{household.status}: max |V - V*| <= {household.error_bound:.3g}"),
            ("sweeps", f"{self.sweeps:,} in {len(steps)} steps: {steps[0].sweeps:,} at first, "
                       f"{steps[-1].sweeps:,} at last"),
        ]  # fmt: skip
        if steps[-1].moved:
            rows.append(("written", f"to the device at the last step: {', '.join(steps[-1].moved)}"))
        if household.clocks_source:
            clocks = sum(step.clocks for step in steps)
            rows.append(("clocks", f"{clocks:,} in all ({household.clocks_source})"))
        return rows

    def _sizes(self) -> dict[str, int]:
        return {"assets": self.model.grid, "state": self.model.states}

    def _check_file(self) -> None:
        super()._check_file()
        mass = self.distribution
        if not (np.isfinite(mass).all() and (mass >= 0).all()):
            raise ProblemError("shares of households must be finite and not negative")
        if not self.steps:
            raise ProblemError("its solution has no steps")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CubicsResult(SearchResult):
    """A solution of which only choices between grid points are known; its model has an Aiyagari economy."""

    seconds: float = fact(MEASURE, "Wall-clock time of the host computer", "seconds")
    sweeps: int = fact(COUNT, "Number of sweeps that maximise, of all problems; 0 if not known", default=0)
    residual: float = fact(
        ANY_NUMBER, "Largest change of a value of a steady state in its last sweep; nan if not known", default=math.nan
    )
    timing: dict[str, float] = fact(
        SECONDS, "Wall-clock time of the host computer by part of the solve", "seconds", default=dict
    )

    method: ClassVar[str] = CUBICS

    if TYPE_CHECKING:

        @property
        def model(self) -> Any: ...

    def validate(self) -> None:
        """Complete the times of a file of an earlier version, which had no parts."""
        if not self.timing:
            object.__setattr__(self, "timing", {"solve": self.seconds})

    @property
    def assets(self) -> Array:
        """The grid of assets, ``(N_k,)``, units of the good."""
        grid: Array = self.model.economy.assets
        return grid

    def _coordinates(self) -> dict[str, Any]:
        return {"assets": ("assets", self.assets, {"long_name": "assets a", "units": "units of the good"})}
