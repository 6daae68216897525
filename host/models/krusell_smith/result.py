"""The solved economy of Krusell and Smith (1998): numbers, report and file."""

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
from beltline.host.problem.report import Report, as_html, as_text, report
from beltline.host.results import archive
from beltline.host.results.files import check_target
from beltline.host.results.services import service

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KIND = "krusell_smith"
"""Kind of content of an archive that holds an equilibrium."""

NEAR_TOP_SHARE = 0.01
"""Largest ``near_top`` at which the grid of ``k`` counts as long enough."""

SUFFIXES = (".npz",)
"""File name endings that ``save`` of an equilibrium accepts."""


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """The equilibrium of Krusell and Smith (1998), or the last iteration if it was not found.

    Parameters
    ----------
    success : bool
        Whether the law of motion converged, the household's problem is solved, and the grids of ``k`` and ``K`` are
        long enough: ``near_top`` is at most :data:`NEAR_TOP_SHARE`, and ``K`` is off its grid in at most a share
        :data:`~beltline.host.results.outcome.GRID_END_SHARE` of the periods that are not discarded.
    status : str
        ``"converged"``, ``"iteration limit"``, ``"household not solved"`` or ``"grid ends too early"``; see
        :class:`~beltline.host.results.outcome.Outcome`.
    message : str
        The status in a sentence.
    law : (2, 2) float64 array
        Last estimate of the law ``ln K' = b0 + b1 ln K``: ``b0`` and ``b1`` of the bad and of the good state.
    r2 : (2,) float64 array
        R squared of the two regressions.
    change : float
        Largest difference between a coefficient of ``law`` and of the law that households believed.
    tol : float
        Tolerance of ``change``.
    iterations : int
        Number of iterations on the law.
    relaxation : float
        Share of the distance to the estimate by which the law is changed in an iteration.
    household_iterations : int
        Number of iterations (or sweeps) of all household problems.
    capital : (T + 1,) float64 array
        ``K`` in the last panel, discarded periods included.
    aggregate : (T,) int8 array
        Aggregate state of each period: 0 bad, 1 good.
    discard : int
        Number of periods at the start that are not used for regressions and forecast errors.
    wealth, employed : (agents,) arrays
        Capital of each household at the end of the panel, and whether it is employed.
    start : array
        Capital of each household at the start of the panel.
    grid : (N_k,) float64 array
        Grid of ``k`` of the policy.
    policy : (N_k, N_K, 2, 2) float64 array
        ``k'`` by ``k``, ``K``, aggregate state and employment.
    below, above : int
        How often interpolation of the policy in the last panel was below or above the grid of ``k`` and was set to its
        end.
    outside : int
        Number of periods in which ``K`` was off its grid.
    household, device, interpolation, panel, seed
        The options of the solve.
    timing : dict of str to float
        Wall-clock seconds of the host computer by part.
    economy : Calibration
        The :class:`~beltline.host.models.krusell_smith.model.KrusellSmith` that was solved.

    Examples
    --------
    >>> import beltline as bl
    >>> found = bl.solve(bl.krusell_smith(), agents=1000, periods=400, progress=False)
    >>> found.success, found.law.shape, found.policy.shape
    (True, (2, 2), (100, 4, 2, 2))
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
        """``K`` predicted by the law alone, from the first period that is not discarded (Den Haan 2010)."""
        return forecast(self.law, float(self.capital[self.discard]), self.aggregate[self.discard :])

    @property
    def forecast_errors(self) -> Array:
        """Den Haan's dynamic forecast error by period, in percent: ``100 |ln K_forecast - ln K|``."""
        return 100 * np.abs(np.log(self.forecast / self.capital[self.discard :]))

    @property
    def at_top(self) -> int:
        """Number of households with the largest capital of the grid at the end; if not 0, the grid is too short."""
        return int((self.wealth >= self.wealth.dtype.type(self.grid[-1])).sum())

    @property
    def near_top(self) -> float:
        """Share of households that own more than nine tenths of the largest capital of the grid at the end.

        Near the end of the grid households save less, so that few reach it even if many would save more.
        """
        return float((self.wealth > 0.9 * self.grid[-1]).mean())

    @property
    def gini(self) -> float:
        """Gini coefficient of wealth at the end of the panel."""
        return gini(self.wealth)

    def lorenz(self) -> tuple[Array, Array]:
        """Return the Lorenz curve of wealth at the end of the panel, in the form of :func:`beltline.lorenz`."""
        return lorenz(self.wealth)

    @property
    def shocks(self) -> shocks.Shocks:
        """The shocks of the panel, drawn again from the seed."""
        economy = self.economy
        return shocks.draw_shocks(
            self.wealth.size, self.aggregate.size, economy.transition, economy.unemployment, self.seed
        )

    def _report(self) -> Report:
        economy, errors = self.economy, self.forecast_errors
        laws = [
            (f"law, {name}", f"ln K' = {b[0]:.6f} + {b[1]:.6f} ln K, R2 = {r2:.7f}")
            for name, b, r2 in zip(AGGREGATES, self.law, self.r2, strict=True)
        ]
        steps = "iterations" if self.household == "euler" else "sweeps"
        used = self.capital[self.discard :]
        short = f", {self.at_top:,} agents at the end of the grid of k" if self.at_top else ""
        rows = [
            ("status", f"{self.status}: {self.message}"),
            *laws,
            ("forecast error", f"{errors.max():.4f} % at most, {errors.mean():.4f} % on average (Den Haan, dynamic)"),
            ("capital", f"mean {used.mean():.4f}, from {used.min():.4f} to {used.max():.4f}"),
            ("wealth", f"Gini {self.gini:.4f}, largest {self.wealth.max():.2f}{short}"),
            (
                "off the grid",
                f"k {self.below:,} times below and {self.above:,} times above its grid, of "
                f"{self.wealth.size * self.aggregate.size:,}; K in {self.outside:,} periods",
            ),
            ("household", f"{self.household} on {self.device}, {self.household_iterations:,} {steps} in all"),
            ("panel", f"{self.interpolation} on {self.panel}, seed {self.seed}"),
            ("this computer", ", ".join(f"{name} {spent:.2f} s" for name, spent in self.timing.items())),
        ]
        size = (
            f"{self.wealth.size:,} agents, {self.aggregate.size:,} periods, grid {self.grid.size:,} x {economy.means}"
        )
        return report(f"Krusell-Smith, {size}", rows, names=16)

    __str__ = __repr__ = as_text
    _repr_html_ = as_html

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Save the equilibrium to a ``.npz`` file that :func:`beltline.load` reads; return its path.

        The file is written completely or not at all.

        Raises
        ------
        ProblemError
            A file of this name cannot be written there.
        OSError
            The system could not write the file; an existing file is unchanged.
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
        """Draw the equilibrium.

        Parameters
        ----------
        path : str or path, optional
            Also write the figure to this file, which ends in ``.png``, ``.pdf`` or ``.svg``.
        kind : str
            ``"policy"`` (default): surfaces of saving over ``k`` and ``K``. ``"law"``: the two regressions and their
            residuals. ``"path"``: ``K`` in the panel and as predicted by the law. ``"wealth"``: distribution of wealth.
            ``"lorenz"``: Lorenz curve of wealth.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which a notebook displays.

        Raises
        ------
        ProblemError
            A figure cannot be written to ``path``, there is no figure ``kind``, or Matplotlib is not installed.
        """
        figure: Figure = service("Equilibrium.plot")(self, path, kind)
        return figure
