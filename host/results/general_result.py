"""The result of a problem of the general form: values and choices of every regime and alternative."""

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
from beltline.host.problem.report import Report, as_html, as_text, report
from beltline.host.results.machine_rows import machine_rows
from beltline.host.results.services import service

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset


@dataclass(frozen=True, eq=False)
class GeneralResult:
    """Value, policy and choice of alternative of a problem of the general form, with a bound on their error.

    :func:`beltline.solve` returns it for problems with alternatives, costs, bounds on the choice or other parts of the
    general form (``docs/general-form.md``). Shapes below are those of an infinite horizon. With a horizon ``T`` every
    array has the ages as its first axis, the first age first; ages that were not reached have ``nan`` and -1.

    Parameters
    ----------
    value : (N_r, N_k, N_z) float64 array
        ``V(x, s)`` of each regime, in units of utility; regimes in the order of :attr:`regimes`.
    values : (N_d, N_k, N_z) float64 array
        Value of taking each alternative, in the order of :attr:`alternatives`; ``-inf`` where it cannot be taken. With
        an infinite horizon that of an alternative that was not chosen may be off by more than ``error_bound``, but if
        ``success`` is true by less than ``error_bound + tol``, plus on a machine the rounding of its numbers.
    policy : (N_d, N_k, N_z) int32 array
        Index in ``problem.grid`` of the best ``x'`` under each alternative, the lowest if several are best; -1 where
        the alternative cannot be taken or has no choice of ``x'``.
    choice : (N_r, N_k, N_z) int32 array
        Number of the best alternative of each regime, the first if several are best.
    probabilities : (N_d, N_k, N_z) float64 array
        Probability of each alternative in its regime; 0 or 1 without taste shocks.
    success : bool
        Whether the solve converged (or finished all ages) and every choice was proven best; unless ``verify`` was
        False, by a second search.
    status : str
        How the solve ended, one of :class:`~beltline.host.results.outcome.Outcome`.
    message : str
        The status in a sentence.
    sweeps : int
        Number of sweeps that maximise; with a horizon the number of ages.
    residual : float
        Largest ``|TV - V|`` of ``value``, or with a horizon largest difference between the value of an age and one
        recomputed from the next age, by a second, exact search. With ``verify=False`` the largest change of ``value``
        in the solver's last sweep, 0 with a horizon.
    error_bound : float
        Proven upper bound on the largest ``|V - V*|``, rounding errors included, where ``V*`` is the exact solution on
        the grid. If prices are updated in each sweep, ``V*`` is the solution at the prices of the last sweep.
    verified : bool
        Whether ``residual`` and ``error_bound`` were recomputed and every choice was proven by a second search that is
        independent of the solver's.
    tol : float
        Tolerance of the solve.
    evaluations : int
        Number of candidates ``x'`` whose objective was computed, in all sweeps; 0 for a machine, which does not count
        them.
    searched : int
        Number of pairs of an alternative and an exogenous state in which every candidate is searched, because no order
        of the candidates fits their bounds.
    timing : dict of str to float
        Wall-clock seconds of the host computer for ``open``, ``solve`` and ``verify``.
    device, method : str
        Device and solution method.
    problem : Problem
        The problem that was solved; after a solve with ``update``, with the tables of the last sweep.
    prices : array or None
        Prices that ``update`` returned last.
    price_change : float
        Largest change of the prices in the last sweep, in their units.
    clocks : int
        Clock cycles of the machine; 0 for solvers in double precision.
    clocks_source : str
        Whether ``clocks`` was counted by hardware, counted in simulation or computed by a formula; empty for solvers in
        double precision.
    amount_bits, value_bits : int or None
        Fraction bits of the fixed-point format for amounts of the good and for values; None in double precision.
    build_hash : int
        Content hash of the gateware build; 0 without one.
    proven : bool
        Whether a machine proved, in its own fixed-point numbers, that every choice of its last sweep (or, with a
        horizon, of all ages) is the best on the grid: bit ``PROVEN`` of its status.

    Examples
    --------
    >>> import numpy as np
    >>> import beltline as bl
    >>> grid = np.linspace(0.0, 5.0, 50)
    >>> wealth = grid[:, None] + 1.0
    >>> wait, invest = bl.Alternative(name="wait"), bl.Alternative(name="invest", wealth=1.1 * wealth - 0.2)
    >>> problem = bl.Problem(grid=grid, wealth=wealth, transition=np.eye(1), beta=0.9, eta=2.0,
    ...                      alternatives=[wait, invest])
    >>> result = bl.solve(problem, progress=False)
    >>> result.success, result.value.shape, result.policy.shape, result.choice.shape
    (True, (1, 50, 1), (2, 50, 1), (1, 50, 1))
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
    amount_bits: int | None = None
    value_bits: int | None = None
    build_hash: int = 0
    proven: bool = False

    @property
    def measured_by(self) -> str:
        """Where ``residual`` and ``error_bound`` come from, as text for reports."""
        if self.verified:
            return "recomputed by a second, exact search"
        if self.clocks_source:
            return "of the device, not verified"
        return "of the solver's last sweep, which is exact; not verified by a second pass"

    @property
    def regimes(self) -> tuple[str, ...]:
        """Names of the regimes, in the order of the first axis of ``value``."""
        return self.problem.regimes

    @property
    def alternatives(self) -> tuple[str, ...]:
        """Names of the alternatives, in the order of the first axis of ``policy``."""
        return tuple(one.name for one in self.problem.alternatives) or (ONLY_ALTERNATIVE,)

    @property
    def policy_values(self) -> NDArray[np.float64]:
        """The best ``x'`` under each alternative in units of the grid, of the shape of ``policy``; nan where none."""
        return np.where(self.policy >= 0, self.problem.grid[self.policy], np.nan)

    def taken(self, alternative: str) -> NDArray[np.bool_]:
        """Return where an alternative is the best of its regime.

        Parameters
        ----------
        alternative
            Name of an alternative, one of :attr:`alternatives`.

        Returns
        -------
        (N_k, N_z) bool array, with a horizon (T, N_k, N_z)

        Raises
        ------
        ValueError
            ``alternative`` is not the name of an alternative.

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

    def _report(self) -> Report:
        problem = self.problem
        ages = "" if problem.horizon is None else f", {problem.horizon} ages"
        states = problem.points * problem.states * len(self.alternatives) * max(1, self.sweeps)
        rows = [("status", f"{self.status}: {self.message}"), ("sweeps", f"{self.sweeps:,}")]
        rows.append(("residual", f"max |TV - V| = {self.residual:.3g} ({self.measured_by})"))
        if self.prices is not None:
            rows.append(
                ("prices", f"last change {self.price_change:.3g}; the error bound is for the prices of the last sweep")
            )
        bound = f"max |V - V*| <= {self.error_bound:.3g} (including rounding errors)"
        if not math.isfinite(self.error_bound):
            bound = "none: max |V - V*| is not known"
        per = self.evaluations / states
        work = f"{self.evaluations:,} evaluations, {per:.3g} per state, alternative and sweep"
        if self.searched:
            work += f"; {self.searched} columns (an alternative and an exogenous state) searched in full"
        by = [("method", f"{self.method}, {work}"), ("numbers", "double precision")]
        if self.clocks_source:
            by = machine_rows(self.clocks, self.clocks_source, self.amount_bits, self.value_bits, self.proven)
        rows += [
            ("error bound", bound),
            ("taken", self._shares()),
            *by,
            ("this computer", ", ".join(f"{name} {spent:.2f} s" for name, spent in self.timing.items())),
        ]
        size = f"{problem.points:,} grid points x {problem.states} states{ages}"
        return report(f"{problem.name}, {size}, on device {self.device}", rows)

    __str__ = __repr__ = as_text
    _repr_html_ = as_html

    def _shares(self) -> str:
        parts = [f"{name} in {self.taken(name).mean():.1%}" for name in self.alternatives]
        return f"{', '.join(parts)} of the states of its regime"

    def to_xarray(self) -> Dataset:
        """Return the result and the tables of the problem as an ``xarray.Dataset``.

        Dimensions are ``age`` (with a horizon), ``regime``, ``alternative``, the asset under its name and ``state``.
        :func:`beltline.load` can read a netCDF file of the dataset.

        Raises
        ------
        ProblemError
            The package xarray is not installed.
        """
        dataset: Dataset = service("GeneralResult.to_xarray")(self)
        return dataset

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Save the result and its problem to a file that :func:`beltline.load` reads.

        The file is written completely or not at all.

        Parameters
        ----------
        path : str or path
            Name that ends in ``.npz`` (arrays under their names here, the tables of the problem, those of the
            alternatives as ``alternative0_wealth`` and so on, and ``about``, JSON with everything else) or ``.nc``
            (netCDF-4 of :meth:`to_xarray`).

        Returns
        -------
        pathlib.Path
            The path of the file.

        Raises
        ------
        ProblemError
            A file of this name cannot be written there, or a package that writes netCDF is not installed.
        OSError
            The system could not write the file; an existing file is unchanged.
        """
        written: Path = service("GeneralResult.save")(self, path)
        return written

    def plot(self, path: str | os.PathLike[str] | None = None, kind: str = "regions") -> Figure:
        """Draw the result.

        Parameters
        ----------
        path : str or path, optional
            Also write the figure to this file, which ends in ``.png``, ``.pdf`` or ``.svg``.
        kind : str
            ``"regions"`` (default): where each alternative is taken, one panel for each regime. ``"policy"``: value and
            choice of each regime in the middle exogenous state; the background shows the alternative that is taken.
            With a horizon both show the first age.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which a notebook displays.

        Raises
        ------
        ProblemError
            A figure cannot be written to ``path``, Matplotlib is not installed, or there is no figure ``kind``.
        """
        figure: Figure = service("GeneralResult.plot")(self, path, kind)
        return figure
