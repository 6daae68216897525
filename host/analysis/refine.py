"""Policies between grid points of a problem that is solved on its grid, and bounds on the error of the grid.

A policy on a grid is a step function of the state, and its value has kinks at the steps. They are of the order of the
grid step squared, but change slopes, and so the best choice between points, by the order of the step itself. One
maximisation given that value therefore leaves steps in the policy. For this reason the operator that chooses between
points,

    (T_I v)(x, s) = max over X_0 <= y <= X_n, y < W(x, s) of  U(W(x, s) - y)  +  (I E v)(y, s),

is iterated from the value on the grid until the values converge. With a horizon it is applied once for each age, from
the value after the last age. ``E v`` is ``beta sum_s' Q(s, s') v(., s')`` on the grid, and ``I`` interpolates it by
monotone cubics (:func:`beltline.host.analysis.between.monotone_cubics`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from beltline.gpu_ref.methods import shifts
from beltline.host.analysis.between import Choices, Pieces, evaluate, maximise, monotone_cubics
from beltline.host.analysis.grid_error import bounds, bounds_of_ages
from beltline.host.analysis.policy import check_smooth, followed, usable
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, real, whole
from beltline.host.problem.problem import Problem
from beltline.host.problem.report import Report, as_html, as_text, report
from beltline.host.results.dataset import check_xarray, unit
from beltline.host.results.outcome import Outcome
from beltline.host.results.result import Result
from beltline.host.results.services import service

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

MAX_STEPS = 100
"""Default of ``max_steps``: the largest number of sweeps that maximise."""

EVALUATIONS = 50
"""Number of policy evaluation sweeps after each sweep that maximises."""

STEPS_LIMIT = 10_000
"""Largest ``max_steps``."""

PROOFS = {
    "concave": "for every W that is concave and non-decreasing between grid points",
    "monotone": "for every W that is non-decreasing between grid points; W is not concave, so this bound is coarse",
}
"""For which functions ``W(x, s)`` without a grid the bounds of each proof hold."""

AFTER = {"concave": "likewise after the last age", "monotone": "the value after the last age monotone between them"}
"""With a horizon: for which values after the last age the bounds hold."""


@dataclass(frozen=True, eq=False)
class Refined:
    """Policy between grid points, and bounds on the error of the grid; :func:`beltline.refine` returns it.

    Two errors are distinguished. ``error_bound`` is the error of the solver: how far the value of ``result`` may be
    from the exact solution on the grid. ``grid_error`` is the error of grid and solver together: how far it may be from
    the solution of the problem without a grid. Both are proven bounds. ``choice`` and ``value`` rest on interpolation;
    it is proven that ``value`` differs from the solution without a grid by at most ``value_error``.

    Parameters
    ----------
    result : Result
        The solution on the grid.
    choice : (N_k, N_z) float64 array
        The best ``x'``, in units of the grid, from its first to its last point and below cash on hand. With a horizon
        this and the other arrays are ``(T, N_k, N_z)``, the ages of ``result``, the first age first.
    value : (N_k, N_z) float64 array
        Value of these choices, in units of utility, given monotone cubics between grid points. With an infinite horizon
        it is that of the last sweep, plus for each state the mid-point of the bounds on what further sweeps would add.
    lower, upper : (N_k, N_z) float64 array
        Proven bounds on the value of the problem without a grid, at each grid point, rounding errors included
        (:mod:`beltline.host.analysis.grid_error`).
    proof : str
        ``"concave"`` or ``"monotone"``: which property of ``W`` the bounds use.
    success : bool
        Whether the values converged within ``tol`` (or all ages are done) and ``result`` is solved.
    status : str
        How the refinement ended, one of :class:`~beltline.host.results.outcome.Outcome`.
    message : str
        The status in a sentence.
    change : float
        Half the range over ``x`` of the change of the value in the last sweep, in the state where it is largest, in
        units of utility; 0 with a horizon.
    tol : float
        Tolerance.
    steps : int
        Number of sweeps that maximise; with a horizon the number of ages.
    seconds : float
        Wall-clock seconds of the host computer.

    Examples
    --------
    >>> import beltline as bl
    >>> refined = bl.refine(bl.solve(bl.rbc(grid=257), progress=False))
    >>> refined.choice.shape, bool(refined.error_bound < refined.grid_error)
    ((257, 4), True)
    """

    result: Result
    choice: Array
    value: Array
    lower: Array
    upper: Array
    proof: str
    success: bool
    status: str
    message: str
    change: float
    tol: float
    steps: int
    seconds: float

    @property
    def problem(self) -> Problem:
        """The problem that was solved."""
        return self.result.problem

    @property
    def consumption(self) -> Array:
        """Consumption ``W(x, s) - choice``, of the shape of ``choice``, in units of the good."""
        return np.asarray(self.problem.wealth - self.choice)

    @property
    def error_bound(self) -> float:
        """Bound on the distance of the value of ``result`` from the exact solution on the grid, in utility."""
        return self.result.error_bound

    @property
    def grid_error(self) -> float:
        """Bound on the distance of the value of ``result`` from the solution without a grid, in utility."""
        return _furthest(self.result.value, self.lower, self.upper)

    @property
    def value_error(self) -> float:
        """Bound on the distance of ``value`` from the solution without a grid, in utility."""
        return _furthest(self.value, self.lower, self.upper)

    def _report(self) -> Report:
        problem = self.problem
        moved = float(np.abs(self.choice - self.result.choice).max())
        work = ("steps", f"{self.steps:,}, last change {self.change:.3g} (tolerance {self.tol:g})")
        ages, proof = "", PROOFS[self.proof]
        if problem.horizon is not None:
            work = ("ages", f"{self.steps:,}, one maximisation each")
            ages, proof = f", {problem.horizon} ages", f"{proof}; {AFTER[self.proof]}"
        rows = [
            ("status", f"{self.status}: {self.message}"),
            work,
            (
                "choices",
                f"at most {moved:.3g} from those on the grid, whose widest step is {np.diff(problem.grid).max():.3g}",
            ),
            ("on the grid", f"max |V - V*| <= {self.error_bound:.3g}, V* exact on the grid"),
            ("without it", f"max |V - V^c| <= {self.grid_error:.3g}, V^c without a grid, {proof}"),
            ("refined value", f"max |v - V^c| <= {self.value_error:.3g}, by the same bounds"),
            ("this computer", f"{self.seconds:.2f} s"),
        ]
        size = f"{problem.points:,} grid points x {problem.states} states{ages}"
        return report(f"Choices between grid points of {problem.name}, {size}", rows)

    __str__ = __repr__ = as_text
    _repr_html_ = as_html

    def to_xarray(self) -> Dataset:
        """Return an ``xarray.Dataset`` of ``result`` with choice, consumption, value and bounds of the refinement.

        Names are those of :meth:`beltline.Result.to_xarray`, and ``refined_choice``, ``refined_consumption``,
        ``refined_value``, ``lower`` and ``upper``.

        Raises
        ------
        ProblemError
            The package xarray is not installed.
        """
        check_xarray()
        good = unit(self.problem)
        dataset = self.result.to_xarray()
        tables = {
            "refined_choice": (self.choice, f"best {self.problem.asset} of the next period, between grid points", good),
            "refined_consumption": (self.consumption, "consumption of that choice", good),
            "refined_value": (self.value, "value with choices between grid points", "utility"),
            "lower": (self.lower, "lower bound on the value without a grid", "utility"),
            "upper": (self.upper, "upper bound on the value without a grid", "utility"),
        }
        for name, (table, long_name, units) in tables.items():
            dataset[name] = (dataset["value"].dims, table, {"long_name": long_name, "units": units})
        # These two describe a file of the result alone.
        for name in ("about", "checksum"):
            del dataset.attrs[name]
        return dataset

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw consumption and saving, refined and on the grid; with a horizon those of the first age.

        Parameters
        ----------
        path : str or path, optional
            Also write the figure to this file, which ends in ``.png``, ``.pdf`` or ``.svg``.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which a notebook displays.

        Raises
        ------
        ProblemError
            A figure cannot be written to ``path``, or Matplotlib is not installed.
        """
        figure: Figure = service("Refined.plot")(self, path)
        return figure


def _furthest(value: Array, lower: Array, upper: Array) -> float:
    return float(np.maximum(upper - value, value - lower).max())


def refine(result: Result, tol: float | None = None, max_steps: int | None = None) -> Refined:
    """Find the best choices between grid points of a solved problem, and bound the error that its grid causes.

    From the value on the grid, the Bellman operator with choices between grid points is iterated until the values
    converge; with a horizon it is applied once for each age. The value between two points is a monotone cubic. Each
    maximisation examines every interval that could contain the best choice, so that it is also correct at kinks and
    jumps, where an objective has several local maxima.

    Parameters
    ----------
    result : Result
        Solution of a problem of the simple form. A warning says so if it is not solved.
    tol : float, optional
        The iteration ends when, in every exogenous state, the change of the value is the same for all ``x`` within
        this, in units of utility (uniform changes of a state do not affect choices). By default the ``tol`` of
        ``result``. Not accepted with a horizon.
    max_steps : int, optional
        Largest number of sweeps that maximise, from 1 to :data:`STEPS_LIMIT`; by default :data:`MAX_STEPS`. After each
        of them come :data:`EVALUATIONS` policy evaluation sweeps. Not accepted with a horizon.

    Returns
    -------
    Refined
        Its ``success`` is false if the values did not converge, which can occur because with cubics the operator is not
        a contraction. Its bounds hold nevertheless.

    Raises
    ------
    ProblemError
        An argument is out of range, the result is of the general form, or a state has no choice.

    Sources
    -------
    Fritsch and Butland (1984), "A method for constructing local monotone piecewise cubic interpolants", SIAM Journal on
    Scientific and Statistical Computing 5(2), 300-304. MacQueen (1966), "A modified dynamic programming method for
    Markovian decision problems", Journal of Mathematical Analysis and Applications 14(1), 38-43.

    Examples
    --------
    >>> import beltline as bl
    >>> result = bl.solve(bl.rbc(grid=257), device="cpu", progress=False)
    >>> refined = bl.refine(result)
    >>> bool(refined.success and refined.consumption.min() > 0)
    True
    """
    check_smooth(result, "a refinement")
    if result.problem.horizon is not None:
        return _refined_ages(result, {"tol": tol, "max_steps": max_steps})
    problem = followed(result, "a refinement")
    max_steps = MAX_STEPS if max_steps is None else max_steps
    tol = result.tol if tol is None else real("tol", tol, "a number above 0", lambda v: 0 < v < float("inf"))
    wanted = f"a whole number from 1 to {STEPS_LIMIT}"
    max_steps = whole("max_steps", max_steps, wanted, lambda v: 1 <= v <= STEPS_LIMIT)
    begin = time.perf_counter()
    choices, value, change, steps = settle(problem, result.value, monotone_cubics, tol, max_steps)
    found = bounds(problem, result.value, result.error_bound, value)
    success, status, message = _ended(result, change, tol, steps)
    return Refined(
        result=result,
        choice=choices.choice,
        value=value,
        lower=found.lower,
        upper=found.upper,
        proof=found.proof,
        success=success,
        status=status,
        message=message,
        change=change,
        tol=tol,
        steps=steps,
        seconds=time.perf_counter() - begin,
    )


def _refined_ages(result: Result, given: Mapping[str, float | None]) -> Refined:
    """Refine a result with a horizon; ``given`` are the options of :func:`refine` that need an infinite horizon."""
    problem = result.problem
    for name, option in given.items():
        if option is not None:
            raise ProblemError(f"{name} needs an infinite horizon, and this problem has {problem.horizon} ages")
    usable(result, "a refinement", stacklevel=4)
    begin = time.perf_counter()
    choice, value = np.empty_like(result.value), np.empty_like(result.value)
    after = problem.start
    for age in reversed(range(value.shape[0])):
        found = maximise(problem, after, monotone_cubics)
        choice[age], value[age] = found.choice, found.value
        after = found.value
    limits = bounds_of_ages(problem, result.value, result.error_bound)
    message = "Every age has choices between grid points."
    if not result.success:
        message = f"{message[:-1]}, but the result on the grid is not solved: {result.message}"
    return Refined(
        result=result,
        choice=choice,
        value=value,
        lower=limits.lower,
        upper=limits.upper,
        proof=limits.proof,
        success=result.success,
        status=result.status,
        message=message,
        change=0.0,
        tol=result.tol,
        steps=value.shape[0],
        seconds=time.perf_counter() - begin,
    )


def settle(
    problem: Problem, value: Array, pieces: Pieces, tol: float, max_steps: int
) -> tuple[Choices, Array, float, int]:
    """Iterate the operator with choices between grid points from ``value`` until it converges, as :func:`refine` says.

    Returns
    -------
    choices : Choices
        Of the last sweep.
    value : (N_k, N_z) array
        Value of the last sweep plus the mid-point of the bounds on what further sweeps would add.
    change : float
        Half the largest range over ``x`` of the last change.
    steps : int
        Number of sweeps that maximise.
    """
    for step in range(1, max_steps + 1):
        choices = maximise(problem, value, pieces)
        moved = choices.value - value
        least, most = moved.min(axis=0), moved.max(axis=0)
        change = float((most - least).max()) / 2
        value = choices.value + shifts((least + most) / 2, problem.transition, problem.beta)
        if change < tol or step == max_steps:
            break
        value = evaluate(problem, value, choices, pieces, EVALUATIONS)
    return choices, value, change, step


def _ended(result: Result, change: float, tol: float, steps: int) -> tuple[bool, str, str]:
    if not change < tol:
        advice = "pass a larger max_steps or tol, or solve on a finer grid"
        return False, Outcome.LIMIT.value, f"The values still change by {change:.3g} after {steps:,} steps: {advice}."
    if not result.success:
        return False, result.status, f"The values converged, but the result on the grid is not solved: {result.message}"
    return True, Outcome.CONVERGED.value, "The values of choices between grid points converged within the tolerance."
