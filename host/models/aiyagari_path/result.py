"""The path of Aiyagari's economy after a shock: what it says, as tables by date, text and a file."""

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
from beltline.host.problem.report import as_html, report
from beltline.host.results import archive
from beltline.host.results.files import check_target
from beltline.host.results.outcome import GRID_END_SHARE
from beltline.host.results.services import service

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".npz",)
"""File types that paths are saved as."""

KIND = "aiyagari_path"
"""Of an archive."""

PATH_TOLERANCE = 1e-6
"""Largest ``excess`` of a market that clears, at any date, as a share of what firms rent."""

REST_TOLERANCE = 1e-4
"""The same at the date after the last, where the path counts as at rest."""

TABLES = {
    "capital": ("dates",),
    "excess": ("dates and one",),
    "value": ("dates", "grid points", "states"),
    "choice": ("dates", "grid points", "states"),
    "distribution": ("dates and one", "grid points", "states"),
}
"""Arrays of a path by name, and what they are sizes of."""


@dataclass(frozen=True)
class Rest:
    """A steady state in numbers.

    Parameters
    ----------
    productivity, interest, wage : float
        Prices net and a period, and of a unit of labour.
    capital : float
        A head, units of the good: what households hold.
    excess : float
        What they hold over what firms rent, less 1.
    """

    productivity: float
    interest: float
    wage: float
    capital: float
    excess: float


@dataclass(frozen=True, eq=False)
class TransitionPath:
    """Aiyagari's economy at every date after an unexpected change of productivity.

    At date 0 all learn how productivity will be from then on; before, it was 1 and was expected to remain so. Arrays by
    date, ``(T,)``, are ``float64``; where there is no path they are nan.

    Parameters
    ----------
    model : Calibration
        The :class:`~beltline.host.models.aiyagari_path.model.AiyagariPath` that was solved.
    initial, final : Rest
        The steady state before the shock, and that of the productivity after the last date.
    capital : (T,) float64 array
        A head at the beginning of each date, units of the good: what firms rent; the first is the initial one.
    excess : (T + 1,) float64 array
        What households hold at the beginning of each date over what firms rent, less 1. The last is of the date after
        the path, where firms rent what they do in the final steady state.
    value : (T, N_k, N_z) float64 array
        Of households, in utility.
    choice : (T, N_k, N_z) float64 array
        Assets that they keep, between grid points, units of the good.
    distribution : (T + 1, N_k, N_z) float64 array
        Share of households in each state at the beginning of each date; adds up to 1.
    success : bool
        Whether both steady states are solved, ``excess`` of every date is at most :data:`PATH_TOLERANCE` in size and of
        the date after the last at most :data:`REST_TOLERANCE`, and the grid is long enough (``at_top`` at most
        :data:`~beltline.host.results.outcome.GRID_END_SHARE`).
    status : str
        One of :class:`~beltline.host.results.outcome.Outcome`: ``"solved"``, or which part is not.
    message : str
        The status in a sentence, with what to do about it.
    steps : tuple of float
        The largest excess of any date of the path at each step of the search for prices.
    seconds : float
        Of this computer.
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
        """By date, ``(T,)``."""
        return np.array(self.model.productivity)

    @property
    def interest(self) -> Array:
        """Net, by date, ``(T,)``."""
        return self.model.prices(self.capital)[0]

    @property
    def wage(self) -> Array:
        """Of a unit of labour by date, ``(T,)``."""
        return self.model.prices(self.capital)[1]

    @property
    def output(self) -> Array:
        """A head by date, ``(T,)``, units of the good."""
        return self.model.output(self.capital)

    @property
    def household_consumption(self) -> Array:
        """Of each household by date, ``(T, N_k, N_z)``, units of the good."""
        units, _ = self.model.economy.labour()
        wealth = (1.0 + self.interest)[:, None, None] * self.assets[:, None] + self.wage[:, None, None] * units
        return np.asarray(wealth - self.choice)

    @property
    def consumption(self) -> Array:
        """A head by date, ``(T,)``, units of the good."""
        found: Array = (self.distribution[:-1] * self.household_consumption).sum(axis=(1, 2))
        return found

    @property
    def investment(self) -> Array:
        """A head by date, ``(T,)``, units of the good: what households keep less what is left of capital."""
        kept = (self.distribution[:-1] * self.choice).sum(axis=(1, 2))
        return np.asarray(kept - (1.0 - self.model.economy.delta) * self.capital)

    @property
    def resources(self) -> Array:
        """Output less consumption and investment by date, ``(T,)``, as a share of output: 0 where markets clear."""
        return np.asarray((self.output - self.consumption - self.investment) / self.output)

    @property
    def euler_errors(self) -> Array:
        """Mean size of Euler equation errors by date, ``(T - 1,)``, as shares of consumption, of households that keep
        something: by how much consumption misses what next date's, linear between grid points, asks for.
        """
        economy, eaten = self.model.economy, self.household_consumption
        _, chain = economy.labour()
        columns = np.arange(chain.shape[0])
        found = np.empty(self.model.periods - 1)
        for date in range(found.size):
            below, share = lottery(self.assets, self.choice[date])
            # What is eaten tomorrow in each state of tomorrow, (N_k, N_z, N_z'), by who is where today.
            ahead = (1.0 - share)[..., None] * eaten[date + 1][below] + share[..., None] * eaten[date + 1][below + 1]
            worth = (chain[columns] * ahead**-economy.eta).sum(axis=2)
            wanted = (economy.beta * (1.0 + self.interest[date + 1]) * worth) ** (-1.0 / economy.eta)
            free = self.distribution[date] * (self.choice[date] > 0.0)
            found[date] = (free * np.abs(1.0 - wanted / eaten[date])).sum() / free.sum()
        return found

    @property
    def gini(self) -> Array:
        """The Gini coefficient of wealth at the beginning of each date, ``(T + 1,)``."""
        return np.array([gini(self.assets, mass.sum(axis=1)) for mass in self.distribution])

    @property
    def at_top(self) -> float:
        """Largest share of households, at any date, that keep the highest assets: they might keep more."""
        highest = self.choice >= self.assets[-1]
        return float((self.distribution[:-1] * highest).sum(axis=(1, 2)).max())

    @property
    def largest_excess(self) -> float:
        """The largest ``excess`` of any date of the path, in size."""
        return float(np.abs(self.excess[:-1]).max())

    def __str__(self) -> str:
        model, before, after = self.model, self.initial, self.final
        rows = [("status", f"{self.status}: {self.message}")]
        if math.isfinite(self.largest_excess):
            peak = int(np.abs(self.capital / before.capital - 1).argmax())
            rows += [
                ("before", f"r = {before.interest:.4%}, wage {before.wage:.5f}, capital {before.capital:.5f} a head, "
                           f"excess {before.excess:+.1e}"),
                ("after", f"r = {after.interest:.4%}, wage {after.wage:.5f}, capital {after.capital:.5f} a head, "
                          f"excess {after.excess:+.1e}; productivity {after.productivity:.6g}"),
                ("capital", f"furthest from before at date {peak}, {self.capital[peak] / before.capital - 1:+.3%}"),
                ("rates", f"{self.interest[0]:.4%} at date 0, {self.interest.min():.4%} to {self.interest.max():.4%}"),
                ("consumption", f"{self._moved(self.consumption)} at date 0"),
                ("market", f"largest excess {self.largest_excess:.1e} of what firms rent, at date "
                           f"{int(np.abs(self.excess[:-1]).argmax())} (at most {PATH_TOLERANCE:g} at any)"),
                ("rest", f"after the last date excess {self.excess[-1]:+.1e} (at most {REST_TOLERANCE:g} in size)"),
                ("resources", f"largest gap {np.abs(self.resources).max():.1e} of output"),
                ("Euler errors", f"mean {self.euler_errors.max():.1e} of consumption at the worst date"),
                ("top of grid", f"kept by {self.at_top:.2g} of households (at most {GRID_END_SHARE:g})"),
            ]  # fmt: skip
        rows += [
            ("steps", ", ".join(f"{step:.1e}" for step in self.steps)),
            ("this computer", f"{self.seconds:.2f} s"),
        ]
        size = f"{model.periods} dates, {model.economy.grid:,} grid points x {model.economy.states} states"
        return report(f"A path of Aiyagari's economy, {size}, on device cpu", rows)

    __repr__ = __str__
    _repr_html_ = as_html

    def _moved(self, series: Array) -> str:
        """What a series of goods a head is at date 0, over what it was before."""
        before = self.initial
        eaten = (
            before.productivity * before.capital**self.model.economy.alpha - self.model.economy.delta * before.capital
        )
        return f"{series[0] / eaten - 1:+.3%}"

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the path to ``path`` (``.npz``), whole or not at all, for :func:`beltline.load`; return the path.

        Raises
        ------
        ProblemError
            ``path`` is no place for such a file.
        OSError
            The disk refused; nothing is left behind.
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
        """Return a figure, which a notebook shows; with ``path`` (``.png``, ``.pdf`` or ``.svg``) also write it there.

        Parameters
        ----------
        path
        kind
            ``"path"``: productivity and capital, output and consumption, wage, and interest rate by date, from the
            steady state before. ``"inequality"``: the Gini coefficient of wealth by date. ``"market"``: the excess of
            every date.

        Raises
        ------
        ProblemError
            ``path`` is no place for such a file, there is no such kind, or matplotlib is not installed.
        """
        figure: Figure = service("TransitionPath.plot")(self, path, kind)
        return figure
