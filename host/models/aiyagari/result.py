"""Aiyagari's economy as it was solved: what it says, as numbers, text and a file."""

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
"""File types that economies are saved as."""

KIND = "aiyagari"
"""Of an archive."""

MARKET_TOLERANCE = 0.01
"""Largest ``excess`` of a market that clears, as a share of what firms rent."""


@dataclass(frozen=True)
class Step:
    """A step of the search for the interest rate.

    Parameters
    ----------
    interest : float
    supply, demand : float
        Capital a head that households hold in the long run, and that firms rent.
    sweeps, clocks : int
        Of the household's problem; no clocks in double precision.
    solving, spreading : float
        Seconds of this computer for the household and for the distribution.
    moved : tuple of str
        Tables and registers that were written for it; empty in double precision.
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
    """Aiyagari's economy at the interest rate that clears its market.

    Parameters
    ----------
    model : Calibration
        The :class:`~beltline.host.models.aiyagari.model.Aiyagari` that was solved.
    interest : float
        Net, a period.
    household : Result
        At that rate.
    distribution : (N_k, N_z) float64 array
        Share of households in each state in the long run; adds up to 1.
    success : bool
        Whether the household is solved, the distribution is unique and stationary, the market clears (``excess`` at
        most :data:`MARKET_TOLERANCE` in size) and the grid is long enough (``at_top`` at most
        :data:`~beltline.host.results.outcome.GRID_END_SHARE`).
    status : str
        One of :class:`~beltline.host.results.outcome.Outcome`: ``"solved"``, or which part of the economy is not.
    message : str
        The status in a sentence, with what to do about it.
    steps : tuple of Step
        Of the search; the last is the economy itself.
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
        """Of a unit of labour."""
        return self.model.wage(self.interest)

    @property
    def capital(self) -> float:
        """Capital a head that households hold."""
        return self.steps[-1].supply

    @property
    def output(self) -> float:
        """``K**alpha``, a head."""
        return self.capital**self.model.alpha

    @property
    def saving_rate(self) -> float:
        """``delta K / Y``: what replaces capital, as a share of output."""
        return self.model.delta * self.capital ** (1 - self.model.alpha)

    @property
    def excess(self) -> float:
        """By how much households hold more than firms rent, as a share of the latter: what the grid's steps leave."""
        return self.steps[-1].supply / self.steps[-1].demand - 1

    @property
    def moves(self) -> float:
        """Total variation that a period still moves of the distribution."""
        ahead = np.zeros_like(self.distribution)
        policy = np.maximum(self.household.policy, 0)
        np.add.at(ahead, (policy, np.arange(policy.shape[1])), self.distribution)
        return 0.5 * float(np.abs(ahead @ self.household.problem.transition - self.distribution).sum())

    @property
    def at_limit(self) -> float:
        """Share of households that choose no assets at all."""
        return float(self.distribution[self.household.policy == 0].sum())

    @property
    def at_top(self) -> float:
        """Share of households that choose the highest grid point: they might leave it if there were more."""
        return float(self.distribution[self.household.policy == self.household.problem.points - 1].sum())

    def lorenz(self) -> tuple[Array, Array]:
        """The Lorenz curve of wealth, as :func:`beltline.host.analysis.inequality.lorenz` returns it."""
        return lorenz(self.household.problem.grid, self.distribution.sum(axis=1))

    @property
    def gini(self) -> float:
        """The Gini coefficient of wealth; nan where nobody holds any."""
        return math.nan if self.capital == 0 else gini(self.household.problem.grid, self.distribution.sum(axis=1))

    def __str__(self) -> str:
        household, steps = self.household, self.steps
        problem = household.problem
        rows = [
            ("status", f"{self.status}: {self.message}"),
            ("interest", f"{self.interest:.4%} a period, 1/beta - 1 = {1 / self.model.beta - 1:.4%}"),
            ("capital", f"{self.capital:.5f} a head, wage {self.wage:.5f}, output {self.output:.5f}"),
            ("saving rate", f"{self.saving_rate:.2%} of output"),
            ("wealth", f"Gini {self.gini:.4f}; {self.at_limit:.2%} of households choose none"),
            ("top of grid", f"chosen by {self.at_top:.2g} of them (at most {GRID_END_SHARE:g})"),
            ("mass", f"1 {self.distribution.sum() - 1:+.1e}; a period moves {self.moves:.1e} of it"),
            ("market", f"excess {self.excess:+.2e} of what firms rent (at most {MARKET_TOLERANCE:g} in size)"),
            ("household", f"{household.status}: max |V - V*| <= {household.error_bound:.3g}"),
            ("sweeps", f"{sum(step.sweeps for step in steps):,} in {len(steps)} steps: {steps[0].sweeps:,} at first, "
                       f"{steps[-1].sweeps:,} at last"),
        ]  # fmt: skip
        if steps[-1].moved:
            rows.append(("written", f"at the last step: {', '.join(steps[-1].moved)}"))
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
        """Write the economy to ``path`` (``.npz``), whole or not at all, for :func:`beltline.load`;
        return the path.

        Raises
        ------
        ProblemError
            ``path`` is no place for such a file.
        OSError
            The disk refused; nothing is left behind.
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
        """Return a figure, which a notebook shows; with ``path`` (``.png``, ``.pdf`` or ``.svg``) also write it there.

        Parameters
        ----------
        path
        kind
            ``"market"``: what households hold and what firms rent, at the rates of the search. ``"distribution"``: of
            wealth. ``"lorenz"``: its Lorenz curve. ``"policy"``: the household's value and policy.

        Raises
        ------
        ProblemError
            ``path`` is no place for such a file, there is no such kind, or matplotlib is not installed.
        """
        figure: Figure = service("Economy.plot")(self, path, kind)
        return figure
