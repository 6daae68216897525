"""The solved Aiyagari economy with several types of households: numbers, report and file."""

from __future__ import annotations

import math
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from beltline.host.analysis.inequality import gini, lorenz
from beltline.host.models.aiyagari_path.result import PATH_TOLERANCE
from beltline.host.models.aiyagari_types.calibration import Calibration
from beltline.host.problem.arrays import Array
from beltline.host.problem.report import Report, as_html, as_text, report
from beltline.host.results import archive
from beltline.host.results.files import check_target
from beltline.host.results.outcome import GRID_END_SHARE
from beltline.host.results.services import service

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".npz",)
"""File name endings that ``save`` of an economy accepts."""

KIND = "aiyagari_types"
"""Kind of content of an archive that holds such an economy."""

TABLES = ("value", "choice", "distribution")
"""Arrays of an economy, each ``(types, N_k, N_z)``."""


@dataclass(frozen=True, eq=False)
class TypesEconomy:
    """The Aiyagari economy with several types of households, at the interest rate that clears its capital market.

    Arrays are float64; they are nan if no equilibrium was found. ``n`` is the number of types.

    Parameters
    ----------
    model : Calibration
        The :class:`~beltline.host.models.aiyagari_types.model.AiyagariTypes` that was solved.
    interest : float
        Net interest rate of a period.
    excess : float
        Excess supply of capital as a share of demand.
    value : (n, N_k, N_z) array
        Value of each type, in units of utility.
    choice : (n, N_k, N_z) array
        Assets that each type chooses for the next period, between grid points, in units of the good.
    distribution : (n, N_k, N_z) array
        Share of the households of each type in each state; adds up to 1 for each type.
    success : bool
        Whether the values of every type converged, its stationary distribution is unique, the market clears (``excess``
        is at most :data:`~beltline.host.models.aiyagari_path.result.PATH_TOLERANCE` in absolute value) and the grid is
        long enough (``at_top`` is at most :data:`~beltline.host.results.outcome.GRID_END_SHARE`).
    status : str
        ``"solved"``, or which part of the economy is not; one of :class:`~beltline.host.results.outcome.Outcome`.
    message : str
        The status in a sentence and, after a failure, what to do.
    steps : int
        Number of interest rates that were tried.
    seconds : float
        Wall-clock seconds of the host computer.

    Examples
    --------
    >>> import beltline as bl
    >>> model = bl.aiyagari_types(grid=100, states=3, betas=[0.93, 0.96], weights=[0.8, 0.2])
    >>> bl.solve(model, progress=False).choice.shape
    (2, 100, 3)
    """

    model: Calibration
    interest: float
    excess: float
    value: Array
    choice: Array
    distribution: Array
    success: bool
    status: str
    message: str
    steps: int
    seconds: float

    @property
    def assets(self) -> Array:
        """The grid of assets, ``(N_k,)``, units of the good."""
        return self.model.economy.problem().grid

    @property
    def wage(self) -> float:
        """Wage of a unit of labour."""
        return self.model.economy.wage(self.interest)

    @property
    def mean_assets(self) -> Array:
        """Mean assets of each type, ``(n,)``, in units of the good."""
        found: Array = self.distribution.sum(axis=2) @ self.assets
        return found

    @property
    def capital(self) -> float:
        """Capital per head that all households supply, in units of the good."""
        return float(self.model.shares @ self.mean_assets)

    @property
    def output(self) -> float:
        """Output per head, ``K**alpha``, in units of the good."""
        return float(self.capital**self.model.economy.alpha)

    @property
    def consumption(self) -> Array:
        """Consumption per head of each type, ``(n,)``, in units of the good."""
        units, _ = self.model.economy.labour()
        wealth = (1.0 + self.interest) * self.assets[:, None] + self.wage * units
        found: Array = (self.distribution * (wealth - self.choice)).sum(axis=(1, 2))
        return found

    @property
    def wealth_shares(self) -> Array:
        """Share of each type in total wealth, ``(n,)``; adds up to 1."""
        return np.asarray(self.model.shares * self.mean_assets / self.capital)

    @property
    def households(self) -> Array:
        """Share of all households at each grid point of assets, ``(N_k,)``; adds up to 1."""
        found: Array = self.model.shares @ self.distribution.sum(axis=2)
        return found

    @property
    def gini(self) -> float:
        """Gini coefficient of wealth among all households."""
        return gini(self.assets, self.households)

    @property
    def ginis(self) -> Array:
        """Gini coefficient of wealth within each type, ``(n,)``; nan if it has none."""
        return np.array([
            gini(self.assets, mass.sum(axis=1)) if mean > 0 else math.nan
            for mass, mean in zip(self.distribution, self.mean_assets, strict=True)
        ])  # fmt: skip

    def lorenz(self) -> tuple[Array, Array]:
        """Return the Lorenz curve of wealth among all households, in the form of :func:`beltline.lorenz`."""
        return lorenz(self.assets, self.households)

    @property
    def at_limit(self) -> Array:
        """Share of each type that chooses zero assets, ``(n,)``."""
        found: Array = (self.distribution * (self.choice <= 0.0)).sum(axis=(1, 2))
        return found

    @property
    def at_top(self) -> float:
        """Share of all households that choose the highest assets; if it is not small, raise ``high``."""
        highest = (self.distribution * (self.choice >= self.assets[-1])).sum(axis=(1, 2))
        return float(self.model.shares @ highest)

    def _report(self) -> Report:
        model = self.model
        rows = [("status", f"{self.status}: {self.message}")]
        if math.isfinite(self.interest):
            top = 1 / model.economy.beta - 1
            rows += [
                ("interest", f"{self.interest:.4%} a period, 1/beta - 1 of the most patient type = {top:.4%}"),
                ("capital", f"{self.capital:.5f} per head, wage {self.wage:.5f}, output {self.output:.5f}"),
                ("wealth", f"Gini {self.gini:.4f}"),
                (
                    "market",
                    f"excess supply {self.excess:+.1e} of demand (at most {PATH_TOLERANCE:g} in absolute value)",
                ),
                ("top of grid", f"chosen by a share of {self.at_top:.2g} (at most {GRID_END_SHARE:g})"),
            ]
            each = zip(
                model.names, model.weights, self.wealth_shares, self.mean_assets, self.ginis, self.at_limit,
                strict=True,
            )  # fmt: skip
            rows += [
                (f"type {number}", f"{name}: {weight:.1%} of households, {share:.1%} of wealth, {mean:.4f} per head, "
                                   f"Gini {within:.4f}; {limit:.1%} choose zero assets")
                for number, (name, weight, share, mean, within, limit) in enumerate(each, start=1)
            ]  # fmt: skip
        rows.append(("this computer", f"{self.seconds:.2f} s, {self.steps} interest rates"))
        size = f"{model.economy.grid:,} grid points x {model.economy.states} states"
        return report(f"Aiyagari's economy with {len(model.betas)} types of households, {size}, on device cpu", rows)

    __str__ = __repr__ = as_text
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
        facts = {"model": asdict(self.model)} | {
            name: getattr(self, name)
            for name in ("interest", "excess", "success", "status", "message", "steps", "seconds")
        }
        archive.write(target, KIND, facts, {name: getattr(self, name) for name in TABLES})
        return target

    def plot(self, path: str | os.PathLike[str] | None = None, kind: str = "shares") -> Figure:
        """Draw the economy.

        Parameters
        ----------
        path : str or path, optional
            Also write the figure to this file, which ends in ``.png``, ``.pdf`` or ``.svg``.
        kind : str
            ``"shares"`` (default): share of each type among households and in wealth. ``"lorenz"``: Lorenz curve of
            wealth among all households.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which a notebook displays.

        Raises
        ------
        ProblemError
            A figure cannot be written to ``path``, there is no figure ``kind``, or Matplotlib is not installed.
        """
        figure: Figure = service("TypesEconomy.plot")(self, path, kind)
        return figure
