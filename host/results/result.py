"""The result of a solve of the simple form: value, policy, and how accurate they are.

Other modules save, draw and label results; methods here find them with :mod:`beltline.host.results.services`.
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
from beltline.host.problem.report import Report, as_html, as_text, report
from beltline.host.results.machine_rows import machine_rows
from beltline.host.results.services import service
from beltline.host.results.variables import variables

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset


@dataclass(frozen=True, eq=False)
class Result:
    """Value and policy of a problem, with a bound on their error.

    :func:`beltline.solve` returns it for problems of the simple form::

        V(x, s) = max over x' in X, x' < W(x, s) of  U(W(x, s) - x')  +  beta * sum_s' Q(s, s') V(x', s')

    ``TV`` below is the right-hand side for a given ``V``, and ``V*`` is the exact solution on the grid.

    Parameters
    ----------
    value : (N_k, N_z) float64 array
        ``V(x, s)``, in units of utility. With a horizon ``(T, N_k, N_z)``, the first age first; the continuation value
        of the last age, ``value[T - 1]``, is ``problem.start``.
    policy : int32 array of the same shape
        Index in ``problem.grid`` of the best ``x'``, the lowest if several are best; -1 if a state has no choice, which
        occurs only where ``success`` is false.
    success : bool
        Whether the solve converged (or finished all ages), the check in double precision passed, and ``error_bound`` is
        small beside the spread of ``value`` (:mod:`beltline.host.solver.judgement`). With ``verify=False`` the check is
        made only where there is no error bound without it.
    status : str
        How the solve ended, one of :class:`~beltline.host.results.outcome.Outcome`.
    message : str
        The status in a sentence and, after a failure, what to do.
    sweeps : int
        Number of sweeps (Bellman updates of all states); with a horizon the number of ages solved.
    change : float
        Largest ``|V_n - V_(n-1)|`` of the last sweep, as the device reported it; for a solver in double precision the
        measure of its method's stopping rule.
    residual : float
        Largest ``|TV - V|`` of ``value``, recomputed by an exact search in double precision. With ``verify=False`` it
        is derived from ``change``.
    error_bound : float
        Proven upper bound on the largest ``|V - V*|``, from the contraction property and ``residual``.
    verified : bool
        Whether ``residual`` and ``error_bound`` were recomputed from ``value``. If ``success`` is true, too, every
        choice is the best on the grid, except those of the methods ``egm`` and ``interp``, which are approximations.
    tol : float
        Tolerance of the solve.
    clocks : int
        Clock cycles of the machine; 0 for solvers in double precision.
    clocks_source : str
        Whether ``clocks`` was counted by hardware, counted in simulation or computed by a formula; empty for solvers in
        double precision.
    timing : dict of str to float
        Wall-clock seconds of the host computer for ``open``, ``load``, ``solve``, ``read`` and ``verify``.
    device : str
        Name of the device that solved the problem.
    amount_bits, value_bits : int or None
        Fraction bits of the fixed-point format for amounts of the good and for values; None in double precision.
    build_hash : int
        Content hash of the gateware build; 0 without one.
    problem : Problem
        The problem that was solved.
    method : str
        Solution method of a solver in double precision; otherwise empty.
    chosen : str
        Why this device and method were chosen, if the caller did not name them; otherwise empty.
    proven : bool
        Whether a machine proved, in its own fixed-point numbers, that every choice of its last sweep (or, with a
        horizon, of all ages) is the best on the grid: bit ``PROVEN`` of its status.

    Examples
    --------
    >>> import beltline as bl
    >>> result = bl.solve(bl.rbc(grid=64), progress=False)
    >>> result.success, result.policy.shape, bool(result.error_bound < 1e-6)
    (True, (64, 4), True)
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
    amount_bits: int | None
    value_bits: int | None
    build_hash: int
    problem: Problem
    method: str = ""
    chosen: str = ""
    proven: bool = False

    @property
    def policy_values(self) -> NDArray[np.float64]:
        """The best ``x'`` in units of the grid, an array of the shape of ``policy``."""
        values: NDArray[np.float64] = self.problem.grid[self.policy]
        return values

    def variables(self) -> dict[str, NDArray[np.float64]]:
        """Return consumption and the other variables of a period by name, each an array of the shape of ``value``.

        Returns
        -------
        dict of str to float64 array
            ``consumption``; ``output`` and ``investment`` if the problem has ``output``; the asset and the shock under
            their names, such as ``capital`` and ``productivity``; and ``next_`` with the asset's name for the choice.
            States without a choice have nan.

        Examples
        --------
        >>> import beltline as bl
        >>> sorted(bl.solve(bl.rbc(grid=64), progress=False).variables())
        ['capital', 'consumption', 'investment', 'next_capital', 'output', 'productivity']
        """
        tables = variables(self) | {f"next_{self.problem.asset_name}": self.policy_values}
        chosen = self.policy >= 0
        return tables if chosen.all() else {name: np.where(chosen, table, np.nan) for name, table in tables.items()}

    def _report(self) -> Report:
        problem = self.problem
        ages = "" if problem.horizon is None else f", {problem.horizon} ages"
        rows = [
            ("status", f"{self.status}: {self.message}"),
            ("sweeps", f"{self.sweeps:,}"),
        ]
        if problem.horizon is None:
            rule = "by the method's stopping rule" if self.method else "max |V_n - V_(n-1)|"
            rows.append(("last change", f"{rule} = {self.change:.3g} (tolerance {self.tol:g})"))
        how = "recomputed in double precision by an exact search" if self.verified else "of the device, not verified"
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

    __str__ = __repr__ = as_text
    _repr_html_ = as_html

    def _bound_row(self, source: str) -> str:
        if math.isinf(self.error_bound):
            return "none: max |V - V*| is not known" + ("" if self.verified else ", verify=True measures it")
        return f"max |V - V*| <= {self.error_bound:.3g} ({source})"

    def _machine_rows(self) -> list[tuple[str, str]]:
        if not self.clocks_source:
            return [("method", self.method), ("numbers", "double precision")]
        return machine_rows(self.clocks, self.clocks_source, self.amount_bits, self.value_bits, self.proven)

    def to_xarray(self) -> Dataset:
        """Return value, policy and the tables of the problem as an ``xarray.Dataset``, with names and units.

        Dimensions are ``age`` (only with a horizon; the first age is 1), the asset under its name (``capital``, for
        example), with the grid as coordinate, and ``state``, with the labels of the exogenous states as coordinate, or
        their numbers if they have no labels. ``attrs`` holds everything else that is known about the run. Its entry
        ``about`` repeats it as JSON, and with it :func:`beltline.load` can read a netCDF file of the dataset.

        Raises
        ------
        ProblemError
            The package xarray is not installed.

        Examples
        --------
        >>> import beltline as bl
        >>> dict(bl.solve(bl.rbc(grid=64), progress=False).to_xarray().value.sizes)
        {'capital': 64, 'state': 4}
        """
        dataset: Dataset = service("Result.to_xarray")(self)
        return dataset

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Save the result and its problem to a file that :func:`beltline.load` reads.

        The file is written completely or not at all.

        Parameters
        ----------
        path : str or path
            Name that ends in ``.npz`` (arrays ``value``, ``policy``, ``policy_values`` and the tables of the problem,
            which ``numpy.load`` reads too, and ``about``, JSON with everything else) or ``.nc`` (netCDF-4 of
            :meth:`to_xarray`).

        Returns
        -------
        pathlib.Path
            The path of the file.

        Raises
        ------
        ProblemError
            A file of this name cannot be written there, or a package that writes netCDF is not installed.
        OSError
            The system could not write the file, for example because the disk is full; an existing file is unchanged.

        Examples
        --------
        >>> bl.solve(bl.rbc(grid=64)).save("rbc.npz")  # doctest: +SKIP
        PosixPath('rbc.npz')
        """
        written: Path = service("Result.save")(self, path)
        return written

    def plot(self, path: str | os.PathLike[str] | None = None, kind: str = "policy") -> Figure:
        """Draw the result.

        Parameters
        ----------
        path : str or path, optional
            Also write the figure to this file, which ends in ``.png``, ``.pdf`` or ``.svg``.
        kind : str
            ``"policy"`` (default): value and policy. ``"consumption"``: consumption against cash on hand. ``"euler"``:
            Euler equation errors on the grid. ``"distribution"``: stationary distribution of the asset. ``"irf"``:
            response to a change of the exogenous state. With a horizon also ``"ages"``, value and choice by age, and
            ``"life"``, simulated lives.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which a notebook displays.

        Raises
        ------
        ProblemError
            A figure cannot be written to ``path``, Matplotlib is not installed, or the result has no figure ``kind``.

        Examples
        --------
        >>> bl.solve(bl.rbc(grid=64)).plot("rbc.png")  # doctest: +SKIP
        """
        figure: Figure = service("Result.plot")(self, path, kind)
        return figure
