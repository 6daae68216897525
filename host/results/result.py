"""What a solve returns: value, policy, and what is known about them, as data and as text.

Files, figures and labelled arrays are made by parts that know results, which :mod:`beltline.host.results.services`
finds.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.problem import Problem
from beltline.host.problem.report import as_html, report
from beltline.host.results.machine_rows import machine_rows
from beltline.host.results.services import service
from beltline.host.results.variables import variables

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset


@dataclass(frozen=True, eq=False)
class Result:
    """Value, policy, and what is known about them.

    Parameters
    ----------
    value : (N_k, N_z) float64 array
        ``V(x, s)`` in utility. With a horizon ``(T, N_k, N_z)``, the first age first: ``value[T - 1]`` is the last
        age's, whose continuation is the problem's ``start``.
    policy : int32 array of the same shape
        Index of the best ``x'``; the lowest, where several are best.
    success : bool
        Converged or finished and, unless that was turned off, verified.
    status : str
        One of :class:`~beltline.host.results.outcome.Outcome`.
    message : str
        The status in a sentence, with what to do about it.
    sweeps : int
    change : float
        Largest ``|V_n - V_(n-1)|`` of the last sweep, as the device reported it.
    residual : float
        Largest ``|TV - V|`` of ``value``, recomputed by an exact double-precision sweep; with ``verify=False`` what the
        device's ``change`` implies.
    error_bound : float
        Bound on the largest ``|V - V*|`` (contraction bound, from ``residual``), ``V*`` being the exact solution on the
        grid.
    verified : bool
        Whether residual and bound were recomputed from ``value``.
    tol : float
        The tolerance asked for.
    clocks : int
        Clocks of the machine, 0 for solvers in double precision, which have none.
    clocks_source : str
        Where they come from, empty where there are none.
    timing : dict of str to float
        Seconds of this computer for ``open``, ``load``, ``solve``, ``read`` and ``verify``.
    device : str
    money_bits, value_bits : int or None
        Fraction bits of the run; None in double precision.
    build_hash : int
        Content hash of the gateware build, 0 where there is none.
    problem : Problem
    method : str
        Of a solver in double precision.
    chosen : str
        Why this device and method, where they were not named; otherwise empty.
    """

    value: NDArray[np.float64]
    policy: NDArray[np.int32]
    success: bool
    status: str
    message: str
    sweeps: int
    change: float
    residual: float
    error_bound: float
    verified: bool
    tol: float
    clocks: int
    clocks_source: str
    timing: dict[str, float]
    device: str
    money_bits: int | None
    value_bits: int | None
    build_hash: int
    problem: Problem
    method: str = ""
    chosen: str = ""

    @property
    def policy_values(self) -> NDArray[np.float64]:
        """The best ``x'`` itself, in units of the grid."""
        values: NDArray[np.float64] = self.problem.grid[self.policy]
        return values

    def variables(self) -> dict[str, NDArray[np.float64]]:
        """Return the tables of a period by economic name, each of the shape of ``value``.

        ``consumption``, and ``output`` and ``investment`` where the problem knows its output; the asset and the shock
        by their own names (``capital``, ``productivity``), and ``next_`` and the asset's name for the choice. What has
        no choice is nan.
        """
        tables = variables(self) | {f"next_{self.problem.asset_name}": self.policy_values}
        chosen = self.policy >= 0
        return tables if chosen.all() else {name: np.where(chosen, table, np.nan) for name, table in tables.items()}

    def __str__(self) -> str:
        problem = self.problem
        ages = "" if problem.horizon is None else f", {problem.horizon} ages"
        rows = [
            ("status", f"{self.status}: {self.message}"),
            ("sweeps", f"{self.sweeps:,}"),
        ]
        if problem.horizon is None:
            rule = "by the method's stopping rule" if self.method else "max |V_n - V_(n-1)|"
            rows.append(("last change", f"{rule} = {self.change:.3g} (tolerance {self.tol:g})"))
        how = "recomputed in double precision by an exact search" if self.verified else "device's own, not verified"
        bound = "contraction bound" if self.verified else how
        rows += [
            ("residual", f"max |TV - V| = {self.residual:.3g} ({how})"),
            ("error bound", self._bound_row(bound)),
            *self._machine_rows(),
            *([("chosen", self.chosen)] if self.chosen else []),
            ("this computer", ", ".join(f"{name} {spent:.2f} s" for name, spent in self.timing.items())),
        ]
        size = f"{problem.points:,} grid points x {problem.states} states{ages}"
        return report(f"{problem.name}, {size}, on device {self.device}", rows)

    __repr__ = __str__
    _repr_html_ = as_html

    def _bound_row(self, source: str) -> str:
        if math.isinf(self.error_bound):
            return "none: max |V - V*| is not known" + ("" if self.verified else ", verify=True measures it")
        return f"max |V - V*| <= {self.error_bound:.3g} ({source})"

    def _machine_rows(self) -> list[tuple[str, str]]:
        if not self.clocks_source:
            return [("method", self.method), ("numbers", "double precision")]
        return machine_rows(self.clocks, self.clocks_source, self.money_bits, self.value_bits)

    def to_xarray(self) -> Dataset:
        """Return value, policy and the problem's tables as an ``xarray.Dataset``, with units and names on everything.

        Dimensions are ``age`` (with a horizon, first age 1), the asset under its own name (``capital``, for example),
        whose coordinate is the grid, and ``state``, whose coordinate is the labels, or numbers where there are none.
        ``attrs`` has all that is known about the run; its entry ``about`` is the same as JSON, and makes a file of the
        dataset one that :func:`beltline.load` reads.

        Raises
        ------
        ProblemError
            xarray is not installed.
        """
        dataset: Dataset = service("Result.to_xarray")(self)
        return dataset

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the result and its problem to ``path``, whole or not at all, and return the path.

        ``.npz``: the arrays ``value``, ``policy``, ``policy_values`` and the problem's tables can be read with
        ``numpy.load``; ``about`` is JSON with everything else. ``.nc``: netCDF-4 of :meth:`to_xarray`.

        Raises
        ------
        ProblemError
            ``path`` is no place for such a file, or what writes netCDF is not installed.
        OSError
            The disk refused; nothing is left behind.
        """
        written: Path = service("Result.save")(self, path)
        return written

    def plot(self, path: str | os.PathLike[str] | None = None, kind: str = "policy") -> Figure:
        """Return a figure, which a notebook shows; with ``path`` (``.png``, ``.pdf`` or ``.svg``) also write it there.

        Parameters
        ----------
        path
        kind
            ``"policy"``: value and policy. ``"euler"``: Euler equation errors on the grid. ``"distribution"``: the
            stationary distribution of the asset. ``"irf"``: the response to a step of the exogenous state. With a
            horizon, ``"ages"``: value and choice by age, and ``"life"``: simulated lives.

        Raises
        ------
        ProblemError
            ``path`` is no place for such a file, matplotlib is not installed, or the result has no such figure.
        """
        figure: Figure = service("Result.plot")(self, path, kind)
        return figure
