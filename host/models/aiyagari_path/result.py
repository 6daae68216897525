"""The solved transition path of the Aiyagari economy: tables by date, report and file."""

from __future__ import annotations

import math
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from beltline.host.analysis.inequality import gini
from beltline.host.analysis.policy import lottery
from beltline.host.models.aiyagari_path.calibration import Calibration
from beltline.host.problem.arrays import Array
from beltline.host.problem.report import Report, as_html, as_text, report
from beltline.host.results import archive
from beltline.host.results.files import check_target
from beltline.host.results.outcome import GRID_END_SHARE
from beltline.host.results.services import service

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".npz",)
"""File name endings that ``save`` of a path accepts."""

KIND = "aiyagari_path"
"""Kind of content of an archive that holds a path."""

PATH_TOLERANCE = 1e-6
"""Largest ``excess`` of a date, in absolute value, at which its market counts as cleared, as a share of demand."""

REST_TOLERANCE = 1e-4
"""Largest ``excess`` of the date after the last, at which the path counts as having reached the steady state."""

TABLES = {
    "capital": ("dates",),
    "excess": ("dates and one",),
    "value": ("dates", "grid points", "states"),
    "choice": ("dates", "grid points", "states"),
    "distribution": ("dates and one", "grid points", "states"),
}
"""Arrays of a path by name, and what their axes are."""


@dataclass(frozen=True)
class Rest:
    """Prices and capital of a steady state.

    Parameters
    ----------
    productivity : float
        Productivity.
    interest, wage : float
        Net interest rate of a period, and wage of a unit of labour.
    capital : float
        Capital per head that households supply, in units of the good.
    excess : float
        Excess supply of capital as a share of demand.
    """

    productivity: float
    interest: float
    wage: float
    capital: float
    excess: float


@dataclass(frozen=True, eq=False)
class TransitionPath:
    """The Aiyagari economy at every date after an unexpected change of productivity.

    Before date 0, productivity was 1 and was expected to remain 1. At date 0 everybody learns its future path. Arrays
    are float64; they are nan if no path was found.

    Parameters
    ----------
    model : Calibration
        The :class:`~beltline.host.models.aiyagari_path.model.AiyagariPath` that was solved.
    initial, final : Rest
        The steady state before the shock, and that of the productivity after the last date.
    capital : (T,) float64 array
        Capital per head that firms use at each date, in units of the good; the first entry is that of the initial
        steady state.
    excess : (T + 1,) float64 array
        Excess supply of capital at the beginning of each date, as a share of demand. The last entry is that of the date
        after the path, at which demand is that of the final steady state.
    value : (T, N_k, N_z) float64 array
        Value of households, in units of utility.
    choice : (T, N_k, N_z) float64 array
        Assets that households choose for the next date, between grid points, in units of the good.
    distribution : (T + 1, N_k, N_z) float64 array
        Share of households in each state at the beginning of each date; adds up to 1.
    success : bool
        Whether both steady states are solved, ``excess`` is at most :data:`PATH_TOLERANCE` in absolute value at every
        date and at most :data:`REST_TOLERANCE` after the last, and the grid is long enough (``at_top`` is at most
        :data:`~beltline.host.results.outcome.GRID_END_SHARE`).
    status : str
        ``"solved"``, or which part of the economy is not; one of :class:`~beltline.host.results.outcome.Outcome`.
    message : str
        The status in a sentence and, after a failure, what to do.
    steps : tuple of float
        Largest absolute excess of the dates of the path after each step of the search for prices.
    seconds : float
        Wall-clock seconds of the host computer.

    Examples
    --------
    >>> import beltline as bl
    >>> path = bl.solve(bl.aiyagari_path(grid=100, states=3, shock=0.01), progress=False)
    >>> path.success, path.choice.shape, path.distribution.shape
    (True, (200, 100, 3), (201, 100, 3))
    """

    model: Calibration
    initial: Rest
    final: Rest
    capital: Array
    excess: Array
    value: Array
    choice: Array
    distribution: Array
    success: bool
    status: str
    message: str
    steps: tuple[float, ...]
    seconds: float

    @property
    def assets(self) -> Array:
        """The grid of assets, ``(N_k,)``, units of the good."""
        return self.model.economy.problem().grid

    @property
    def productivity(self) -> Array:
        """Productivity at each date, ``(T,)``."""
        return np.array(self.model.productivity)

    @property
    def interest(self) -> Array:
        """Net interest rate at each date, ``(T,)``."""
        return self.model.prices(self.capital)[0]

    @property
    def wage(self) -> Array:
        """Wage of a unit of labour at each date, ``(T,)``."""
        return self.model.prices(self.capital)[1]

    @property
    def output(self) -> Array:
        """Output per head at each date, ``(T,)``, in units of the good."""
        return self.model.output(self.capital)

    @property
    def household_consumption(self) -> Array:
        """Consumption of each household at each date, ``(T, N_k, N_z)``, in units of the good."""
        units, _ = self.model.economy.labour()
        wealth = (1.0 + self.interest)[:, None, None] * self.assets[:, None] + self.wage[:, None, None] * units
        return np.asarray(wealth - self.choice)

    @property
    def consumption(self) -> Array:
        """Consumption per head at each date, ``(T,)``, in units of the good."""
        found: Array = (self.distribution[:-1] * self.household_consumption).sum(axis=(1, 2))
        return found

    @property
    def investment(self) -> Array:
        """Investment per head at each date, ``(T,)``, in units of the good: saving less undepreciated capital."""
        saved = (self.distribution[:-1] * self.choice).sum(axis=(1, 2))
        return np.asarray(saved - (1.0 - self.model.economy.delta) * self.capital)

    @property
    def resources(self) -> Array:
        """Output less consumption and investment at each date, ``(T,)``, as a share of output; 0 if markets clear."""
        return np.asarray((self.output - self.consumption - self.investment) / self.output)

    @property
    def euler_errors(self) -> Array:
        """Mean absolute Euler equation error at each date, ``(T - 1,)``, as a share of consumption.

        It is the relative difference between consumption and the consumption that the Euler equation implies, given the
        next date's consumption, interpolated linearly. Households that choose zero assets are left out.
        """
        economy, consumption = self.model.economy, self.household_consumption
        _, chain = economy.labour()
        columns = np.arange(chain.shape[0])
        found = np.empty(self.model.periods - 1)
        for date in range(found.size):
            below, share = lottery(self.assets, self.choice[date])
            # Consumption of the next date by today's state and the next state of labour, (N_k, N_z, N_z').
            following = consumption[date + 1]
            ahead = (1.0 - share)[..., None] * following[below] + share[..., None] * following[below + 1]
            marginal = (chain[columns] * ahead**-economy.eta).sum(axis=2)
            implied = (economy.beta * (1.0 + self.interest[date + 1]) * marginal) ** (-1.0 / economy.eta)
            free = self.distribution[date] * (self.choice[date] > 0.0)
            found[date] = (free * np.abs(1.0 - implied / consumption[date])).sum() / free.sum()
        return found

    @property
    def gini(self) -> Array:
        """Gini coefficient of wealth at the beginning of each date, ``(T + 1,)``."""
        return np.array([gini(self.assets, mass.sum(axis=1)) for mass in self.distribution])

    @property
    def at_top(self) -> float:
        """Largest share of households, over all dates, that choose the highest assets; if not small, raise ``high``."""
        highest = self.choice >= self.assets[-1]
        return float((self.distribution[:-1] * highest).sum(axis=(1, 2)).max())

    @property
    def largest_excess(self) -> float:
        """Largest absolute ``excess`` of the dates of the path."""
        return float(np.abs(self.excess[:-1]).max())

    def _report(self) -> Report:
        model, before, after = self.model, self.initial, self.final
        rows = [("status", f"{self.status}: {self.message}")]
        if math.isfinite(self.largest_excess):
            peak = int(np.abs(self.capital / before.capital - 1).argmax())
            rows += [
                ("before", f"r = {before.interest:.4%}, wage {before.wage:.5f}, capital {before.capital:.5f} per head, "
                           f"excess {before.excess:+.1e}"),
                ("after", f"r = {after.interest:.4%}, wage {after.wage:.5f}, capital {after.capital:.5f} per head, "
                          f"excess {after.excess:+.1e}; productivity {after.productivity:.6g}"),
                ("capital", f"farthest from before at date {peak}, {self.capital[peak] / before.capital - 1:+.3%}"),
                ("rates", f"{self.interest[0]:.4%} at date 0, {self.interest.min():.4%} to {self.interest.max():.4%}"),
                ("consumption", f"{self._moved(self.consumption)} at date 0"),
                ("market", f"largest excess supply {self.largest_excess:.1e} of demand, at date "
                           f"{int(np.abs(self.excess[:-1]).argmax())} (at most {PATH_TOLERANCE:g} at any)"),
                ("end of path", f"excess supply {self.excess[-1]:+.1e} (at most {REST_TOLERANCE:g} in absolute value)"),
                ("resources", f"largest gap {np.abs(self.resources).max():.1e} of output"),
                ("Euler errors", f"mean {self.euler_errors.max():.1e} of consumption at the worst date"),
                ("top of grid", f"chosen by a share of {self.at_top:.2g} (at most {GRID_END_SHARE:g})"),
            ]  # fmt: skip
        rows += [
            ("steps", ", ".join(f"{step:.1e}" for step in self.steps)),
            ("this computer", f"{self.seconds:.2f} s"),
        ]
        size = f"{model.periods} dates, {model.economy.grid:,} grid points x {model.economy.states} states"
        return report(f"A path of Aiyagari's economy, {size}, on device cpu", rows)

    __str__ = __repr__ = as_text
    _repr_html_ = as_html

    def _moved(self, series: Array) -> str:
        """Return the change of consumption per head from the initial steady state to date 0, as text."""
        before = self.initial
        consumption = (
            before.productivity * before.capital**self.model.economy.alpha - self.model.economy.delta * before.capital
        )
        return f"{series[0] / consumption - 1:+.3%}"

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Save the path to a ``.npz`` file that :func:`beltline.load` reads; return the path of the file.

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
            "model": asdict(self.model),
            "initial": asdict(self.initial),
            "final": asdict(self.final),
            "success": self.success,
            "status": self.status,
            "message": self.message,
            "steps": list(self.steps),
            "seconds": self.seconds,
        }
        archive.write(target, KIND, facts, {name: getattr(self, name) for name in TABLES})
        return target

    def plot(self, path: str | os.PathLike[str] | None = None, kind: str = "path") -> Figure:
        """Draw the transition path.

        Parameters
        ----------
        path : str or path, optional
            Also write the figure to this file, which ends in ``.png``, ``.pdf`` or ``.svg``.
        kind : str
            ``"path"`` (default): productivity and capital, output and consumption, wage, and interest rate at each
            date, relative to the initial steady state. ``"inequality"``: Gini coefficient of wealth at each date.
            ``"market"``: excess supply of capital at each date.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which a notebook displays.

        Raises
        ------
        ProblemError
            A figure cannot be written to ``path``, there is no figure ``kind``, or Matplotlib is not installed.
        """
        figure: Figure = service("TransitionPath.plot")(self, path, kind)
        return figure
