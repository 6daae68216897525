"""Aiyagari's economy with households of several kinds as it was solved: numbers, text and a file."""

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
from beltline.host.problem.report import as_html, report
from beltline.host.results import archive
from beltline.host.results.files import check_target
from beltline.host.results.outcome import GRID_END_SHARE
from beltline.host.results.services import service

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".npz",)
"""File types that economies are saved as."""

KIND = "aiyagari_types"
"""Of an archive."""

TABLES = ("value", "choice", "distribution")
"""Arrays of an economy, ``(kinds, N_k, N_z)``."""


@dataclass(frozen=True, eq=False)
class TypesEconomy:
    """Aiyagari's economy with households of several kinds, at the interest rate that clears its market.

    Arrays are ``float64``; where there is no economy they are nan.

    Parameters
    ----------
    model : Calibration
        The :class:`~beltline.host.models.aiyagari_types.model.AiyagariTypes` that was solved.
    interest : float
        Net, a period.
    excess : float
        What all households hold over what firms rent, less 1.
    value : (n, N_k, N_z) array
        Of each kind, in utility.
    choice : (n, N_k, N_z) array
        Assets that each keeps, between grid points, units of the good.
    distribution : (n, N_k, N_z) array
        Share of the households of each kind in each state; adds up to 1 for each.
    success : bool
        Whether every kind's values settle, its distribution is unique and stationary, the market clears (``excess`` at
        most :data:`~beltline.host.models.aiyagari_path.result.PATH_TOLERANCE` in size) and the grid is long enough
        (``at_top`` at most :data:`~beltline.host.results.outcome.GRID_END_SHARE`).
    status : str
        One of :class:`~beltline.host.results.outcome.Outcome`: ``"solved"``, or which part is not.
    message : str
        The status in a sentence, with what to do about it.
    steps : int
        Interest rates that were tried.
    seconds : float
        Of this computer.
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
        """Of a unit of labour."""
        return self.model.economy.wage(self.interest)

    @property
    def held(self) -> Array:
        """Assets a head of each kind, ``(n,)``, units of the good."""
        found: Array = self.distribution.sum(axis=2) @ self.assets
        return found

    @property
    def capital(self) -> float:
        """Capital a head that all households hold, units of the good."""
        return float(self.model.shares @ self.held)

    @property
    def output(self) -> float:
        """``K**alpha``, a head, units of the good."""
        return float(self.capital**self.model.economy.alpha)

    @property
    def consumption(self) -> Array:
        """A head of each kind, ``(n,)``, units of the good."""
        units, _ = self.model.economy.labour()
        wealth = (1.0 + self.interest) * self.assets[:, None] + self.wage * units
        found: Array = (self.distribution * (wealth - self.choice)).sum(axis=(1, 2))
        return found

    @property
    def wealth_shares(self) -> Array:
        """Share of all wealth that is each kind's, ``(n,)``; adds up to 1."""
        return np.asarray(self.model.shares * self.held / self.capital)

    @property
    def households(self) -> Array:
        """Share of all households at each grid point of assets, ``(N_k,)``; adds up to 1."""
        found: Array = self.model.shares @ self.distribution.sum(axis=2)
        return found

    @property
    def gini(self) -> float:
        """The Gini coefficient of wealth among all households."""
        return gini(self.assets, self.households)

    @property
    def ginis(self) -> Array:
        """The same within each kind, ``(n,)``; nan where it holds nothing."""
        return np.array([
            gini(self.assets, mass.sum(axis=1)) if held > 0 else math.nan
            for mass, held in zip(self.distribution, self.held, strict=True)
        ])  # fmt: skip

    def lorenz(self) -> tuple[Array, Array]:
        """The Lorenz curve of wealth among all, as :func:`beltline.host.analysis.inequality.lorenz` returns it."""
        return lorenz(self.assets, self.households)

    @property
    def at_limit(self) -> Array:
        """Share of each kind that keeps nothing, ``(n,)``."""
        found: Array = (self.distribution * (self.choice <= 0.0)).sum(axis=(1, 2))
        return found

    @property
    def at_top(self) -> float:
        """Share of all households that keep the highest assets: they might keep more."""
        highest = (self.distribution * (self.choice >= self.assets[-1])).sum(axis=(1, 2))
        return float(self.model.shares @ highest)

    def __str__(self) -> str:
        model = self.model
        rows = [("status", f"{self.status}: {self.message}")]
        if math.isfinite(self.interest):
            top = 1 / model.economy.beta - 1
            rows += [
                ("interest", f"{self.interest:.4%} a period, 1/beta - 1 of the most patient = {top:.4%}"),
                ("capital", f"{self.capital:.5f} a head, wage {self.wage:.5f}, output {self.output:.5f}"),
                ("wealth", f"Gini {self.gini:.4f}"),
                ("market", f"excess {self.excess:+.1e} of what firms rent (at most {PATH_TOLERANCE:g} in size)"),
                ("top of grid", f"kept by {self.at_top:.2g} of households (at most {GRID_END_SHARE:g})"),
            ]
            each = zip(
                model.names, model.weights, self.wealth_shares, self.held, self.ginis, self.at_limit, strict=True
            )
            rows += [
                (f"kind {number}", f"{name}: {weight:.1%} of households, {share:.1%} of wealth, {held:.4f} a head, "
                                   f"Gini {within:.4f}; {limit:.1%} keep nothing")
                for number, (name, weight, share, held, within, limit) in enumerate(each, start=1)
            ]  # fmt: skip
        rows.append(("this computer", f"{self.seconds:.2f} s, {self.steps} interest rates"))
        size = f"{model.economy.grid:,} grid points x {model.economy.states} states"
        return report(f"Aiyagari's economy with {len(model.betas)} kinds of households, {size}, on device cpu", rows)

    __repr__ = __str__
    _repr_html_ = as_html

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the economy to ``path`` (``.npz``), whole or not at all, for :func:`beltline.load`; return the path.

        Raises
        ------
        ProblemError
            ``path`` is no place for such a file.
        OSError
            The disk refused; nothing is left behind.
        """
        target = check_target("out", path, SUFFIXES)
        facts = {"model": asdict(self.model)} | {
            name: getattr(self, name)
            for name in ("interest", "excess", "success", "status", "message", "steps", "seconds")
        }
        archive.write(target, KIND, facts, {name: getattr(self, name) for name in TABLES})
        return target

    def plot(self, path: str | os.PathLike[str] | None = None, kind: str = "shares") -> Figure:
        """Return a figure, which a notebook shows; with ``path`` (``.png``, ``.pdf`` or ``.svg``) also write it there.

        Parameters
        ----------
        path
        kind
            ``"shares"``: how many households each kind is, and how much of all wealth is theirs. ``"lorenz"``: the
            Lorenz curve of wealth among all.

        Raises
        ------
        ProblemError
            ``path`` is no place for such a file, there is no such kind, or matplotlib is not installed.
        """
        figure: Figure = service("TypesEconomy.plot")(self, path, kind)
        return figure
