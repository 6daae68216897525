"""The solved economy of Aiyagari (1994): numbers, report and file."""

from __future__ import annotations

import math
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from beltline.host.analysis.inequality import gini, lorenz
from beltline.host.models.aiyagari.calibration import Calibration
from beltline.host.problem.arrays import Array
from beltline.host.problem.report import as_html
from beltline.host.results import archive, record
from beltline.host.results.files import check_target
from beltline.host.results.outcome import GRID_END_SHARE
from beltline.host.results.result import Result
from beltline.host.results.services import service

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".npz",)
"""File name endings that ``save`` of an economy accepts."""

KIND = "aiyagari"
"""Kind of content of an archive that holds an economy."""

MARKET_TOLERANCE = 0.01
"""Largest ``excess``, in absolute value, at which the market counts as cleared, as a share of demand."""


@dataclass(frozen=True)
class Step:
    """One step of the search for the interest rate.

    Parameters
    ----------
    interest : float
        Interest rate of the step.
    supply, demand : float
        Capital per head that households supply in the stationary distribution, and that firms demand.
    sweeps, clocks : int
        Sweeps and clock cycles of the household's problem; ``clocks`` is 0 in double precision.
    solving, spreading : float
        Wall-clock seconds of the host computer for the household's problem and for the stationary distribution.
    moved : tuple of str
        Tables and registers that were written to the device for the step; empty in double precision.
    """

    interest: float
    supply: float
    demand: float
    sweeps: int
    clocks: int
    solving: float
    spreading: float
    moved: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Economy:
    """The economy of Aiyagari (1994) at the interest rate that clears its capital market.

    Parameters
    ----------
    model : Calibration
        The :class:`~beltline.host.models.aiyagari.model.Aiyagari` that was solved.
    interest : float
        Net interest rate of a period; 0.03 is 3%.
    household : Result
        Solution of the household's problem at that rate.
    distribution : (N_k, N_z) float64 array
        Share of households in each state in the stationary distribution; adds up to 1.
    success : bool
        Whether the household's problem is solved, the stationary distribution is unique, the market clears (``excess``
        is at most :data:`MARKET_TOLERANCE` in absolute value) and the grid is long enough (``at_top`` is at most
        :data:`~beltline.host.results.outcome.GRID_END_SHARE`).
    status : str
        ``"solved"``, or which part of the economy is not; one of :class:`~beltline.host.results.outcome.Outcome`.
    message : str
        The status in a sentence and, after a failure, what to do.
    steps : tuple of Step
        Steps of the search for the interest rate; the last one is the equilibrium.

    Examples
    --------
    >>> import beltline as bl
    >>> economy = bl.solve(bl.aiyagari(grid=400, states=3), progress=False)
    >>> economy.success, economy.distribution.shape, bool(0 < economy.gini < 1)
    (True, (400, 3), True)
    """

    model: Calibration
    interest: float
    household: Result
    distribution: Array
    success: bool
    status: str
    message: str
    steps: tuple[Step, ...]

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
        """Excess supply of capital as a share of demand; the choice from grid points leaves a small one."""
        return self.steps[-1].supply / self.steps[-1].demand - 1

    @property
    def moves(self) -> float:
        """Total variation distance between ``distribution`` and the distribution one period later."""
        ahead = np.zeros_like(self.distribution)
        policy = np.maximum(self.household.policy, 0)
        np.add.at(ahead, (policy, np.arange(policy.shape[1])), self.distribution)
        return 0.5 * float(np.abs(ahead @ self.household.problem.transition - self.distribution).sum())

    @property
    def at_limit(self) -> float:
        """Share of households that choose zero assets."""
        return float(self.distribution[self.household.policy == 0].sum())

    @property
    def at_top(self) -> float:
        """Share of households that choose the highest grid point; if it is not small, the grid is too short."""
        return float(self.distribution[self.household.policy == self.household.problem.points - 1].sum())

    def lorenz(self) -> tuple[Array, Array]:
        """Return the Lorenz curve of wealth in the form of :func:`beltline.lorenz`."""
        return lorenz(self.household.problem.grid, self.distribution.sum(axis=1))

    @property
    def gini(self) -> float:
        """Gini coefficient of wealth; nan if all wealth is 0."""
        return math.nan if self.capital == 0 else gini(self.household.problem.grid, self.distribution.sum(axis=1))

    def __str__(self) -> str:
        household, steps = self.household, self.steps
        problem = household.problem
        rows = [
            ("status", f"{self.status}: {self.message}"),
            ("interest", f"{self.interest:.4%} a period, 1/beta - 1 = {1 / self.model.beta - 1:.4%}"),
            ("capital", f"{self.capital:.5f} per head, wage {self.wage:.5f}, output {self.output:.5f}"),
            ("saving rate", f"{self.saving_rate:.2%} of output"),
            ("wealth", f"Gini {self.gini:.4f}; {self.at_limit:.2%} of households choose zero assets"),
            ("top of grid", f"chosen by a share of {self.at_top:.2g} (at most {GRID_END_SHARE:g})"),
            ("distribution", f"sum 1 {self.distribution.sum() - 1:+.1e}; changes by {self.moves:.1e} in a period"),
            ("market", f"excess supply {self.excess:+.2e} of demand (at most {MARKET_TOLERANCE:g} in absolute value)"),
            ("household", f"{household.status}: max |V - V*| <= {household.error_bound:.3g}"),
            ("sweeps", f"{sum(step.sweeps for step in steps):,} in {len(steps)} steps: {steps[0].sweeps:,} at first, "
                       f"{steps[-1].sweeps:,} at last"),
        ]  # fmt: skip
        if steps[-1].moved:
            rows.append(("written", f"to the device at the last step: {', '.join(steps[-1].moved)}"))
        if household.clocks_source:
            clocks = sum(step.clocks for step in steps)
            rows.append(("clocks", f"{clocks:,} in all ({household.clocks_source})"))
        spent = sum(step.solving for step in steps), sum(step.spreading for step in steps)
        rows.append(("this computer", f"households {spent[0]:.2f} s, distributions {spent[1]:.2f} s"))
        size = f"{problem.points:,} grid points x {problem.states} states"
        title = f"Aiyagari's economy, {size}, on device {household.device}"
        return "\n".join([title, *(f"  {name:<14}{text}" for name, text in rows)])

    __repr__ = __str__
    _repr_html_ = as_html

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Save the economy to a ``.npz`` file that :func:`beltline.load` reads; return its path.

        The file is written completely or not at all.

        Raises
        ------
        ProblemError
            A file of this name cannot be written there.
        OSError
            The system could not write the file; an existing file is unchanged.
        """
        target = check_target("out", path, SUFFIXES)
        facts = {
            "economy": {
                "model": asdict(self.model),
                "interest": self.interest,
                "success": self.success,
                "status": self.status,
                "message": self.message,
                "steps": [asdict(step) for step in self.steps],
            },
            **record.facts_of(self.household),
        }
        archive.write(target, KIND, facts, record.arrays_of(self.household) | {"distribution": self.distribution})
        return target

    def plot(self, path: str | os.PathLike[str] | None = None, kind: str = "market") -> Figure:
        """Draw the economy.

        Parameters
        ----------
        path : str or path, optional
            Also write the figure to this file, which ends in ``.png``, ``.pdf`` or ``.svg``.
        kind : str
            ``"market"`` (default): supply of and demand for capital at the interest rates of the search.
            ``"distribution"``: distribution of wealth. ``"lorenz"``: Lorenz curve of wealth. ``"policy"``: value and
            policy of the household.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which a notebook displays.

        Raises
        ------
        ProblemError
            A figure cannot be written to ``path``, there is no figure ``kind``, or Matplotlib is not installed.
        """
        figure: Figure = service("Economy.plot")(self, path, kind)
        return figure
