"""Choices between grid points, for a problem that is solved on its grid, and how far the grid is from none.

A policy on the grid is a staircase, and its value bends with every stair: by the order of the step squared, which moves
slopes, and so the best choice between points, by the order of the step itself. One maximisation on that value therefore
leaves stairs. So the operator that chooses between points,

    (T_I v)(x, s) = max over X_0 <= y <= X_n, y < W(x, s) of  U(W(x, s) - y)  +  (I E v)(y, s),

is iterated from the value on the grid until its values settle; with ages it is applied once an age, from the value
after the last. ``E v`` is ``beta sum_s' Q(s, s') v(., s')`` on the grid
and ``I`` draws a monotone cubic through it (:func:`beltline.host.analysis.between.monotone_cubics`).
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
from beltline.host.analysis.policy import followed, usable
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, real, whole
from beltline.host.problem.problem import Problem
from beltline.host.problem.report import as_html, report
from beltline.host.results.dataset import check_xarray, unit
from beltline.host.results.general_result import GeneralResult
from beltline.host.results.outcome import Outcome
from beltline.host.results.result import Result
from beltline.host.results.services import service

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

MAX_STEPS = 100
"""Sweeps that maximise at most, by default."""

EVALUATIONS = 50
"""Policy evaluation sweeps after each that maximises."""

STEPS_LIMIT = 10_000
"""Largest ``max_steps``."""

PROOFS = {
    "concave": "for every W that is concave and does not fall between grid points",
    "monotone": "for every W that does not fall between grid points; W is not concave, so this is a coarse bound",
}
"""What the bounds of each proof hold for."""

AFTER = {"concave": "also after the last age", "monotone": "without turns between them after the last age"}
"""And, with ages, which values after the last."""


@dataclass(frozen=True, eq=False)
class Refined:
    """Choices between grid points, and bounds on what the grid costs; made by :func:`refine`.

    Two errors are kept apart. ``error_bound`` is that of the solver: how far the value of ``result`` may be from the
    exact solution on the grid. ``grid_error`` is that of the grid and the solver together: how far it may be from the
    problem without a grid. Both are proven; ``choice`` and ``value`` are the solution of an interpolation, whose own
    error is only estimated, but for what ``lower`` and ``upper`` say about ``value``.

    Parameters
    ----------
    result : Result
        From which it came.
    choice : (N_k, N_z) float64 array
        The best ``x'``, in units of the grid, from its first point to its last, below cash on hand. With a horizon this
        and the other tables are ``(T, N_k, N_z)``, the ages of ``result``, the first age first.
    value : (N_k, N_z) float64 array
        What it is worth where the value ahead is a monotone cubic between grid points, units of utility: the last
        sweep of that operator, with the mid-point of what is left to come added to each state's values where there is
        no horizon.
    lower, upper : (N_k, N_z) float64 array
        Bounds at each grid point on the value of the problem without a grid, rounding included
        (:mod:`beltline.host.analysis.grid_error`).
    proof : str
        ``"concave"`` or ``"monotone"``: what the bounds rest on.
    success : bool
        The values settled within ``tol``, or all ages are done, and ``result`` is solved.
    status : str
        One of :class:`~beltline.host.results.outcome.Outcome`.
    message : str
        The status in a sentence.
    change : float
        Half the spread over ``x`` of what the last sweep changed, in the state where it is largest, units of utility;
        0 with a horizon.
    tol : float
        The tolerance asked for.
    steps : int
        Sweeps that maximised; ages with a horizon.
    seconds : float
        Of this computer.
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
        """That was solved."""
        return self.result.problem

    @property
    def consumption(self) -> Array:
        """``W(x, s) - choice``, of its shape, units of the good, above 0."""
        return np.asarray(self.problem.wealth - self.choice)

    @property
    def error_bound(self) -> float:
        """Of ``result``: how far its value may be from the exact solution on the grid, in utility."""
        return self.result.error_bound

    @property
    def grid_error(self) -> float:
        """Bound on how far the value of ``result`` is from that of the problem without a grid, in utility."""
        return _furthest(self.result.value, self.lower, self.upper)

    @property
    def value_error(self) -> float:
        """Bound on how far ``value`` is from that of the problem without a grid, in utility."""
        return _furthest(self.value, self.lower, self.upper)

    def __str__(self) -> str:
        problem = self.problem
        moved = float(np.abs(self.choice - self.result.policy_values).max())
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

    __repr__ = __str__
    _repr_html_ = as_html

    def to_xarray(self) -> Dataset:
        """Return choice, consumption, value and bounds as an ``xarray.Dataset``, beside those of ``result``.

        Names are those of :meth:`Result.to_xarray`, and ``refined_choice``, ``refined_consumption``, ``refined_value``,
        ``lower`` and ``upper``.

        Raises
        ------
        ProblemError
            xarray is not installed.
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
        # They describe a file of the result alone.
        for name in ("about", "checksum"):
            del dataset.attrs[name]
        return dataset

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Return a figure of consumption and saving, refined and on the grid; with ``path`` also write it there.

        With a horizon, of the first age.

        Raises
        ------
        ProblemError
            ``path`` is no place for a figure (``.png``, ``.pdf`` or ``.svg``), or matplotlib is not installed.
        """
        figure: Figure = service("Refined.plot")(self, path)
        return figure


def _furthest(value: Array, lower: Array, upper: Array) -> float:
    return float(np.maximum(upper - value, value - lower).max())


def refine(result: Result, tol: float | None = None, max_steps: int | None = None) -> Refined:
    """Find the best choices between grid points of a problem that is solved on its grid, and what the grid costs.

    From the value on the grid, the Bellman operator with choices between the points is iterated until its values
    settle. Each maximisation looks at every interval that could hold the best choice, so that it is right at kinks and
    jumps, where objectives have several peaks; what it takes for the value between two points is a monotone cubic. With
    a horizon there is nothing to settle: each age is one such maximisation, the last first.

    Parameters
    ----------
    result
        Of a problem of the simple form. If it is not solved a warning says so.
    tol
        Units of utility: it ends where a sweep changes the values of no state by more than this, shifts of a whole
        state apart. By default that of ``result``. Not with a horizon.
    max_steps
        Sweeps that maximise at most, from 1 to :data:`STEPS_LIMIT`, by default :data:`MAX_STEPS`; after each come
        :data:`EVALUATIONS` of policy evaluation. Not with a horizon.

    Returns
    -------
    Refined
        With ``success=False`` where the values do not settle: the cubics make the operator no contraction. Its bounds
        hold all the same.

    Raises
    ------
    ProblemError
        An argument out of range, a result of the general form, or a state without a choice.

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
    if isinstance(result, GeneralResult):
        raise ProblemError(
            "a refinement needs a result of the simple form, and this one is of the general form: solve it again on a "
            "finer grid to see what the grid costs"
        )
    if isinstance(result, Result) and result.problem.horizon is not None:
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
    """As :func:`refine` with a horizon; ``given`` are the options that need an infinite one."""
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
    """Iterate the operator with choices between grid points from ``value`` until it settles, as :func:`refine` says.

    Returns the last choices, the value with the mid-point of what is left added, the last change, and the steps.
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
        return False, result.status, f"The values settled, but the result on the grid is not solved: {result.message}"
    return True, Outcome.CONVERGED.value, "The values of choices between grid points settled within the tolerance."
