"""Krusell and Smith's equilibrium as it was found: what it says, as numbers, text and a file."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.krusell_smith import shocks
from beltline.host.analysis.inequality import gini, lorenz
from beltline.host.models.krusell_smith.calibration import AGGREGATES, Calibration
from beltline.host.models.krusell_smith.law import forecast
from beltline.host.problem.arrays import Array
from beltline.host.problem.report import as_html, report
from beltline.host.results import archive
from beltline.host.results.files import check_target
from beltline.host.results.services import service

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KIND = "krusell_smith"
"""Of an archive."""

NEAR_TOP_SHARE = 0.01
"""Largest ``near_top`` of a grid of ``k`` that is long enough."""

SUFFIXES = (".npz",)
"""File types that equilibria are saved as."""


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """An economy that was solved, or as far as it got.

    Attributes
    ----------
    success
        Whether the law converged, the household with it, and the grids of ``k`` and ``K`` are long enough: ``near_top``
        is at most :data:`NEAR_TOP_SHARE`, and of the periods that are not discarded at most
        :data:`~beltline.host.results.outcome.GRID_END_SHARE` have ``K`` off its grid.
    status
        One of :class:`~beltline.host.results.outcome.Outcome`: ``"converged"``, ``"iteration limit"``,
        ``"household not solved"`` or ``"grid ends too early"``.
    message
        The status in a sentence.
    law
        ``(2, 2)``: ``b0`` and ``b1`` of the bad and of the good state, as estimated last.
    r2
        Of the two regressions.
    change
        Largest difference between that law and the one believed.
    tol, iterations, relaxation
    household_iterations
        Of the household in all: Euler iterations or sweeps.
    capital
        ``K`` of the last panel, ``(T + 1,)``, those of discarded periods too.
    aggregate
        Aggregate state of each period, ``(T,)``: 0 bad, 1 good.
    discard
        Periods at the beginning that neither regressions nor errors look at.
    wealth, employed
        Of each agent at the end.
    start
        Wealth of each agent at the beginning.
    grid
        Of ``k``, for ``policy``.
    policy
        ``k'``, ``(N_k, N_K, 2, 2)``: by ``k``, ``K``, aggregate state and employment.
    below, above, outside
        How often an agent of the last panel was held at an end of the grid of ``k`` which interpolation had left, and
        periods in which ``K`` was off its grid.
    household, device, interpolation, panel, seed
    timing
        Seconds by part.
    economy
        The :class:`~beltline.host.models.krusell_smith.model.KrusellSmith` that was solved.
    """

    success: bool
    status: str
    message: str
    law: Array
    r2: Array
    change: float
    tol: float
    iterations: int
    relaxation: float
    household_iterations: int
    capital: Array
    aggregate: NDArray[np.int8]
    discard: int
    wealth: NDArray[Any]
    employed: NDArray[np.uint8]
    start: NDArray[Any]
    grid: Array
    policy: Array
    below: int
    above: int
    outside: int
    household: str
    device: str
    interpolation: str
    panel: str
    seed: int
    timing: dict[str, float]
    economy: Calibration

    @property
    def forecast(self) -> Array:
        """``K`` by the law alone from the first period that is not discarded on (Den Haan 2010)."""
        return forecast(self.law, float(self.capital[self.discard]), self.aggregate[self.discard :])

    @property
    def forecast_errors(self) -> Array:
        """Gap of :attr:`forecast` from the panel's ``K`` in each of its periods, in per cent: Den Haan's dynamic
        forecast error, ``100 |ln K_forecast - ln K|``.
        """
        return 100 * np.abs(np.log(self.forecast / self.capital[self.discard :]))

    @property
    def at_top(self) -> int:
        """Agents who own the most that the grid of ``k`` allows, at the end: where there are some, it is too short."""
        return int((self.wealth >= self.wealth.dtype.type(self.grid[-1])).sum())

    @property
    def near_top(self) -> float:
        """Share of agents who own more than nine tenths of the most that the grid of ``k`` allows, at the end. Whoever
        comes near the end of the grid saves less, so that few arrive where many would go on.
        """
        return float((self.wealth > 0.9 * self.grid[-1]).mean())

    @property
    def gini(self) -> float:
        """Of wealth, at the end."""
        return gini(self.wealth)

    def lorenz(self) -> tuple[Array, Array]:
        """Lorenz curve of wealth at the end: shares of households, and of wealth."""
        return lorenz(self.wealth)

    @property
    def shocks(self) -> shocks.Shocks:
        """Those of the panel, drawn again."""
        economy = self.economy
        return shocks.draw_shocks(
            self.wealth.size, self.aggregate.size, economy.transition, economy.unemployment, self.seed
        )

    def __str__(self) -> str:
        economy, errors = self.economy, self.forecast_errors
        laws = [
            (f"law, {name}", f"ln K' = {b[0]:.6f} + {b[1]:.6f} ln K, R2 = {r2:.7f}")
            for name, b, r2 in zip(AGGREGATES, self.law, self.r2, strict=True)
        ]
        steps = "iterations" if self.household == "euler" else "sweeps"
        kept = self.capital[self.discard :]
        short = f", where the grid of k ends too soon for {self.at_top:,} agents" if self.at_top else ""
        rows = [
            ("status", f"{self.status}: {self.message}"),
            *laws,
            ("forecast error", f"{errors.max():.4f} % at most, {errors.mean():.4f} % on average (Den Haan, dynamic)"),
            ("capital", f"mean {kept.mean():.4f}, from {kept.min():.4f} to {kept.max():.4f}"),
            ("wealth", f"Gini {self.gini:.4f}, largest {self.wealth.max():.2f}{short}"),
            (
                "held",
                f"{self.below:,} times at the lower and {self.above:,} at the upper end of the grid of k, "
                f"of {self.wealth.size * self.aggregate.size:,}; {self.outside:,} periods with K off its grid",
            ),
            ("household", f"{self.household} on {self.device}, {self.household_iterations:,} {steps} in all"),
            ("panel", f"{self.interpolation} on {self.panel}, seed {self.seed}"),
            ("this computer", ", ".join(f"{name} {spent:.2f} s" for name, spent in self.timing.items())),
        ]
        size = (
            f"{self.wealth.size:,} agents, {self.aggregate.size:,} periods, grid {self.grid.size:,} x {economy.means}"
        )
        return report(f"Krusell-Smith, {size}", rows, names=16)

    __repr__ = __str__
    _repr_html_ = as_html

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write everything to ``path`` (``.npz``), whole or not at all, and return the path.

        Raises
        ------
        ProblemError
            ``path`` is no place for such a file.
        OSError
            The disk refused; nothing is left behind.
        """
        target = check_target("out", path, SUFFIXES)
        arrays = {f.name: getattr(self, f.name) for f in fields(self)}
        plain = {name: arrays.pop(name) for name in list(arrays) if not isinstance(arrays[name], np.ndarray)}
        economy = plain.pop("economy")
        made = {f.name: getattr(economy, f.name) for f in fields(economy) if f.name != "transition"}
        facts = {"result": plain, "economy": made}
        archive.write(target, KIND, facts, {**arrays, "transition": economy.transition})
        return target

    def plot(self, path: str | os.PathLike[str] | None = None, kind: str = "policy") -> Figure:
        """Return a figure, which a notebook shows; with ``path`` (``.png``, ``.pdf`` or ``.svg``) also write it there.

        ``"policy"``: surfaces of saving over ``k`` and ``K``. ``"law"``: the two regressions, and their residuals.
        ``"path"``: ``K`` of the panel and by the law alone. ``"wealth"``: distribution of wealth. ``"lorenz"``: Lorenz
        curve.

        Raises
        ------
        ProblemError
            ``path`` is no place for such a file, matplotlib is not installed, or there is no such figure.
        """
        figure: Figure = service("Equilibrium.plot")(self, path, kind)
        return figure
