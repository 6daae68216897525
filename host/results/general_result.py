"""The solution of a problem of the general form, as data and as text."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.general import ONLY_ALTERNATIVE
from beltline.host.problem.problem import Problem
from beltline.host.problem.report import as_html, report
from beltline.host.results.machine_rows import machine_rows
from beltline.host.results.services import service

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset


@dataclass(frozen=True, eq=False)
class GeneralResult:
    """Values and choices of every regime and alternative, and what is known about them.

    With a horizon every array has ages as its first axis, the first age first; ages that were not reached are ``nan``
    and -1. Regimes are in the order of ``problem.regimes``, alternatives in that of ``alternatives``.

    Parameters
    ----------
    value : (N_r, N_k, N_z) float64 array
        ``V(x, s)`` of each regime, in utility.
    values : (N_d, N_k, N_z) float64 array
        Of each alternative; ``-inf`` where it cannot be taken.
    policy : (N_d, N_k, N_z) int32 array
        Index of the best ``x'`` under each alternative, the lowest of equals; -1 where it cannot be taken or has no
        choice.
    choice : (N_r, N_k, N_z) int32 array
        Number of the best alternative, the first of equals.
    probabilities : (N_d, N_k, N_z) float64 array
        Of taking each alternative in its regime; 0 or 1 without taste shocks.
    success : bool
        Converged or finished, every choice being proven best and, unless that was turned off, verified.
    status : str
        One of :class:`~beltline.host.results.outcome.Outcome`.
    message : str
        The status in a sentence.
    sweeps : int
        That maximise; ages with a horizon.
    residual : float
        Largest ``|TV - V|`` of ``value``, or with a horizon ``|TV_next - V|`` of any age, recomputed by a second, exact
        search; with ``verify=False`` the largest change of ``value`` in the solver's last sweep, 0 with a horizon.
    error_bound : float
        Bound on the largest ``|V - V*|`` with roundings, ``V*`` being the exact solution on the grid; with prices that
        move, given the prices of the last sweep.
    verified : bool
        Whether residual and bound were recomputed, and every choice proven by a search that is not the solver's.
    tol : float
    evaluations : int
        Objectives that were computed in all sweeps; 0 for a machine, which does not tell.
    searched : int
        Exogenous states of alternatives whose candidates have no order that fits their bounds, so that they are
        searched in full.
    timing : dict of str to float
        Seconds of this computer for ``open``, ``solve`` and ``verify``.
    device, method : str
    problem : Problem
    prices : array or None
        As ``update`` last returned them.
    price_change : float
        Largest change of the prices in the last sweep, in their units.
    clocks : int
        Of the machine that solved it, 0 for solvers in double precision, which have none.
    clocks_source : str
        Where they come from, empty where there are none.
    money_bits, value_bits : int or None
        Fraction bits of the run; None in double precision.
    build_hash : int
        Content hash of the gateware build, 0 where there is none.
    """

    value: NDArray[np.float64]
    values: NDArray[np.float64]
    policy: NDArray[np.int32]
    choice: NDArray[np.int32]
    probabilities: NDArray[np.float64]
    success: bool
    status: str
    message: str
    sweeps: int
    residual: float
    error_bound: float
    verified: bool
    tol: float
    evaluations: int
    searched: int
    timing: dict[str, float]
    device: str
    method: str
    problem: Problem
    prices: NDArray[np.float64] | None = None
    price_change: float = 0.0
    clocks: int = 0
    clocks_source: str = ""
    money_bits: int | None = None
    value_bits: int | None = None
    build_hash: int = 0

    @property
    def measured_by(self) -> str:
        """Where residual and bound are from, in a few words."""
        if self.verified:
            return "recomputed by a second, exact search"
        if self.clocks_source:
            return "device's own, not verified"
        return "of the solver's last sweep, which is exact; not verified by a second pass"

    @property
    def regimes(self) -> tuple[str, ...]:
        """Names of the regimes."""
        return self.problem.regimes

    @property
    def alternatives(self) -> tuple[str, ...]:
        """Names of the alternatives."""
        return tuple(one.name for one in self.problem.alternatives) or (ONLY_ALTERNATIVE,)

    @property
    def policy_values(self) -> NDArray[np.float64]:
        """The best ``x'`` itself under each alternative, in units of the grid; nan where there is none."""
        return np.where(self.policy >= 0, self.problem.grid[self.policy], np.nan)

    def taken(self, alternative: str) -> NDArray[np.bool_]:
        """Where an alternative is the best of its regime, ``(N_k, N_z)``, with a horizon ``(T, N_k, N_z)``.

        Raises
        ------
        ValueError
            There is no such alternative.

        Examples
        --------
        >>> result.taken("default").mean()  # doctest: +SKIP
        0.21
        """
        if alternative not in self.alternatives:
            known = ", ".join(map(repr, self.alternatives))
            raise ValueError(f"alternative must be one of {known}, not {alternative!r}")
        number = self.alternatives.index(alternative)
        regime = self.regimes.index(self.problem.alternatives[number].regime) if self.problem.alternatives else 0
        where: NDArray[np.bool_] = self.choice[..., regime, :, :] == number
        return where

    def __str__(self) -> str:
        problem = self.problem
        ages = "" if problem.horizon is None else f", {problem.horizon} ages"
        states = problem.points * problem.states * len(self.alternatives) * max(1, self.sweeps)
        rows = [("status", f"{self.status}: {self.message}"), ("sweeps", f"{self.sweeps:,}")]
        rows.append(("residual", f"max |TV - V| = {self.residual:.3g} ({self.measured_by})"))
        if self.prices is not None:
            rows.append(
                ("prices", f"last change {self.price_change:.3g}; the bound is that given the prices of the last sweep")
            )
        bound = f"max |V - V*| <= {self.error_bound:.3g} (roundings counted)"
        if not math.isfinite(self.error_bound):
            bound = "none: max |V - V*| is not known"
        work = f"{self.evaluations:,} evaluations, {self.evaluations / states:.3g} a state, alternative and sweep"
        if self.searched:
            work += f"; {self.searched} columns searched in full"
        by = [("method", f"{self.method}, {work}"), ("numbers", "double precision")]
        if self.clocks_source:
            by = machine_rows(self.clocks, self.clocks_source, self.money_bits, self.value_bits)
        rows += [
            ("error bound", bound),
            ("taken", self._shares()),
            *by,
            ("this computer", ", ".join(f"{name} {spent:.2f} s" for name, spent in self.timing.items())),
        ]
        size = f"{problem.points:,} grid points x {problem.states} states{ages}"
        return report(f"{problem.name}, {size}, on device {self.device}", rows)

    __repr__ = __str__
    _repr_html_ = as_html

    def _shares(self) -> str:
        parts = [f"{name} in {self.taken(name).mean():.1%}" for name in self.alternatives]
        return f"{', '.join(parts)} of the states of its regime"

    def to_xarray(self) -> Dataset:
        """Return everything as an ``xarray.Dataset`` with dimensions ``age`` (with a horizon), ``regime``,
        ``alternative``, the asset and ``state``; a file of it is one that :func:`beltline.load` reads.

        Raises
        ------
        ProblemError
            xarray is not installed.
        """
        dataset: Dataset = service("GeneralResult.to_xarray")(self)
        return dataset

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the result and its problem to ``path``, whole or not at all, and return the path.

        ``.npz``: arrays under their names here, the problem's tables, those of the alternatives as
        ``alternative0_wealth`` and so on, and ``about``, JSON with everything else. ``.nc``: netCDF-4 of
        :meth:`to_xarray`.

        Raises
        ------
        ProblemError
            ``path`` is no place for such a file, or what writes netCDF is not installed.
        OSError
            The disk refused; nothing is left behind.
        """
        written: Path = service("GeneralResult.save")(self, path)
        return written

    def plot(self, path: str | os.PathLike[str] | None = None, kind: str = "regions") -> Figure:
        """Return a figure, which a notebook shows; with ``path`` (``.png``, ``.pdf`` or ``.svg``) also write it there.

        Parameters
        ----------
        path
        kind
            ``"regions"``: where each alternative is taken, a panel a regime. ``"policy"``: value and choice of each
            regime, on a ground that is shaded by the alternative that is taken, in the middle exogenous state. With a
            horizon, of the first age.

        Raises
        ------
        ProblemError
            ``path`` is no place for such a file, matplotlib is not installed, or there is no such figure.
        """
        figure: Figure = service("GeneralResult.plot")(self, path, kind)
        return figure
