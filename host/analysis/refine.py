"""Choices between grid points of a problem that is solved on its grid, and bounds on the error of the grid.

A policy on a grid is a step function of the state, and its value has kinks at the steps. They are of the order of the
grid step squared, but change slopes, and so the best choice between points, by the order of the step itself. One
maximisation given that value therefore leaves steps in the policy. For this reason the operator that chooses between
points, for one alternative

    (T_I v)(x, s) = max over X_0 <= y <= X_n, y < W(x, s) of  U(W(x, s) - y)  +  (I E v)(y, s),

is iterated from the value on the grid until the values converge. ``E v`` is ``beta sum_s' Q(s, s') v(., s')`` on the
grid, and ``I`` interpolates it by monotone cubics (:func:`beltline.host.analysis.between.monotone_cubics`). After each
maximisation the choices are evaluated, nearly (:meth:`beltline.host.analysis.between.Between.evaluate`): this is
Newton's method, and converges like it. With a horizon the operator is applied once for each age, from the value after
the last age. Costs and bounds of choices, alternatives, regimes and taste shocks are those of the problem; between grid
points costs are linear.
"""

from __future__ import annotations

import os
import time
import warnings
import weakref
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from beltline.host.analysis.between import Between, Choices
from beltline.host.analysis.grid_error import Bounds, bounds, bounds_of_ages
from beltline.host.analysis.policy import by_alternative, check_result, usable
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, real, whole, word
from beltline.host.problem.discrete import DiscreteProblem
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

ROUNDING = 4e-16
"""Change of values, as a share of the largest, that is rounding."""

FAST = 0.02
"""Share of the change before that a change may be, if values are to count as converged at the first below ``tol``."""

SLOW = 4
"""Number of sweeps in which the change must halve; otherwise choices are no longer evaluated."""

STEPS_LIMIT = 10_000
"""Largest ``max_steps``."""

PROOFS = {
    "concave": "for every W that is concave and non-decreasing between grid points",
    "monotone": "for every W that is non-decreasing between grid points; W is not concave, so this bound is coarse",
    "": "not bounded from above: that is proven for a single choice that costs x' only",
}
"""For which functions ``W(x, s)`` without a grid the bounds of each proof hold."""

AFTER = {"concave": "likewise after the last age", "monotone": "the value after the last age monotone between them"}
"""With a horizon: for which values after the last age the bounds hold."""


@dataclass(frozen=True, eq=False)
class Refined:
    """Choices between grid points, and bounds on the error of the grid: what ``bl.solve(..., choices="continuous")``
    and :func:`beltline.refine` return.

    Every function that analyses a :class:`~beltline.Result` takes it, and follows its choices.

    Two errors are distinguished. ``error_bound`` is the error of the solver: how far the value of ``result`` may be
    from the exact solution on the grid. ``grid_error`` is the error of grid and solver together: how far it may be from
    the solution of the problem without a grid. Both are proven bounds. ``choice`` and ``value`` rest on interpolation;
    it is proven that ``value`` differs from the solution without a grid by at most ``value_error``.

    Parameters
    ----------
    result : Result
        The solution on the grid.
    choice : float64 array of the shape of ``result.value``
        The best ``x'`` of the best alternative, in units of the grid, from its first to its last point, such that
        consumption is above 0; nan without one. Shapes are those of ``result``: ``(N_k, N_z)``, with a horizon ages
        come first.
    value : float64 array of the same shape
        Value of these choices, in units of utility, given monotone cubics between grid points. With an infinite horizon
        and a single alternative it is that of the last sweep, plus for each state the mid-point of the bounds on what
        further sweeps would add.
    success : bool
        Whether the values converged within ``tol`` (or all ages are done) and ``result`` is solved.
    status : str
        How the refinement ended, one of :class:`~beltline.host.results.outcome.Outcome`.
    message : str
        The status in a sentence.
    change : float
        Change of the value in the last sweep, in units of utility: with a single alternative half its range over ``x``,
        in the state where it is largest; with several the largest; 0 with a horizon.
    tol : float
        Tolerance.
    steps : int
        Number of sweeps that maximise; with a horizon the number of ages.
    seconds : float
        Wall-clock seconds of the host computer.
    policies : tuple of Choices
        For each age, or once, the choices of every alternative
        (:class:`beltline.host.analysis.between.Choices`).
    alternative : int32 array of the shape of ``value``, or None
        Number of the best alternative, as in ``result``.

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
    success: bool
    status: str
    message: str
    change: float
    tol: float
    steps: int
    seconds: float
    policies: tuple[Choices, ...]
    alternative: NDArray[np.int32] | None = None

    @classmethod
    def of(cls, result: Result) -> Refined:
        """Return the refinement of ``result``, as :func:`beltline.refine` does."""
        return refine(result)

    @property
    def problem(self) -> Problem:
        """The problem that was solved."""
        problem: Problem = self.result.problem
        return problem

    @property
    def alternatives(self) -> tuple[str, ...]:
        """Names of the alternatives, in the order of their numbers in ``alternative``."""
        return self.result.alternatives

    @property
    def consumption(self) -> Array:
        """Consumption of the best choice, of the shape of ``choice``, in units of the good; nan without one."""
        spent = by_alternative(self)["consumption"]
        if self.alternative is None:
            return spent[..., 0, :, :]
        number = self.alternative if len(self.result.regimes) > 1 else self.alternative[..., None, :, :]
        found = np.take_along_axis(spent, np.maximum(number, 0).astype(np.intp), axis=-3)
        return np.where(np.isnan(self.choice), np.nan, found.reshape(self.choice.shape))

    @cached_property
    def bounds(self) -> Bounds:
        """Proven bounds on the value of the problem without a grid (:mod:`beltline.host.analysis.grid_error`)."""
        result, problem = self.result, self.problem
        if problem.general:
            return Bounds(result.value - result.error_bound, np.full(result.value.shape, np.inf), "")
        if problem.horizon is not None:
            return bounds_of_ages(problem, result.value, result.error_bound)
        return bounds(problem, result.value, result.error_bound, self.value)

    @property
    def lower(self) -> Array:
        """Proven lower bound on the value without a grid at each grid point, of the shape of ``value``."""
        return self.bounds.lower

    @property
    def upper(self) -> Array:
        """Proven upper bound, likewise; infinite where none is known."""
        return self.bounds.upper

    @property
    def proof(self) -> str:
        """Which property of ``W`` the bounds use: ``"concave"`` or ``"monotone"``; empty without an upper bound."""
        return self.bounds.proof

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
        moved = float(np.nanmax(np.abs(self.choice - self.result.choice), initial=0.0))
        work = ("steps", f"{self.steps:,}, last change {self.change:.3g} (tolerance {self.tol:g})")
        ages, proof = "", PROOFS[self.proof]
        if problem.horizon is not None:
            work = ("ages", f"{self.steps:,}, one maximisation each")
            ages = f", {problem.horizon} ages"
            proof += f"; {AFTER[self.proof]}" if self.proof else ""
        rows = [
            ("status", f"{self.status}: {self.message}"),
            work,
            (
                "choices",
                f"at most {moved:.3g} from those on the grid, whose widest step is {np.diff(problem.grid).max():.3g}",
            ),
            ("on the grid", f"max |V - V*| <= {self.error_bound:.3g}, V* exact on the grid"),
            ("without it", f"max |V - V^c| <= {self.grid_error:.3g}, V^c without a grid, {proof}"
                           if self.proof else f"the distance to the value without a grid is {proof}"),
            ("refined value", f"max |v - V^c| <= {self.value_error:.3g}, by the same bounds" if self.proof else
                              f"at most {np.abs(self.value - self.result.value).max():.3g} from that on the grid"),
            ("this computer", f"{self.seconds:.3g} s"),
        ]  # fmt: skip
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
        Solution of a problem on a grid. A warning says so if it is not solved.
    tol : float, optional
        The iteration ends when, in every exogenous state, the change of the value is the same for all ``x`` within
        this, in units of utility (uniform changes of a state do not affect choices); with several alternatives when it
        is smaller. By default the ``tol`` of ``result``. Not accepted with a horizon.
    max_steps : int, optional
        Largest number of sweeps that maximise, from 1 to :data:`STEPS_LIMIT`; by default :data:`MAX_STEPS`. Not
        accepted with a horizon.

    Returns
    -------
    Refined
        Its ``success`` is false if the values did not converge, which can occur because with cubics the operator is not
        a contraction. Its bounds hold nevertheless.

    Raises
    ------
    ProblemError
        An argument is out of range, the problem is discrete, or a state has no choice.

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
    check_result(result, "a refinement")
    problem: Problem = result.problem
    limits = {"tol": tol, "max_steps": max_steps}
    for name, option in limits.items():
        if option is not None and problem.horizon is not None:
            raise ProblemError(f"{name} needs an infinite horizon, and this problem has {problem.horizon} ages")
    max_steps = MAX_STEPS if max_steps is None else max_steps
    tol = result.tol if tol is None else real("tol", tol, "a number above 0", lambda v: 0 < v < float("inf"))
    wanted = f"a whole number from 1 to {STEPS_LIMIT}"
    max_steps = whole("max_steps", max_steps, wanted, lambda v: 1 <= v <= STEPS_LIMIT)
    usable(result, "a refinement")
    return _refined(result, tol, max_steps)


def _refined(result: Result, tol: float, max_steps: int) -> Refined:
    """Refine a result whose states have choices, as :func:`refine` says."""
    begin, problem, change = time.perf_counter(), result.problem, 0.0
    if problem.horizon is None:
        # Values so large that their rounding exceeds the tolerance cannot meet it.
        tol = max(tol, 2 * ROUNDING * float(np.abs(result.value).max()))
        choices, change, steps = settled(Between(problem), result.tables.value, tol, max_steps, result.tables.policy)
        backwards, values = [choices], choices.value
        success, status, message = _ended(result, change, tol, steps)
    else:
        backwards, steps = [], result.value.shape[0]
        first = problem.horizon - steps
        ahead = np.broadcast_to(problem.start, (len(problem.regimes), problem.points, problem.states))
        for age in reversed(range(steps)):
            backwards.append(Between(problem, first + age).improve(ahead, result.tables.policy[age]))
            ahead = backwards[-1].value
        values = np.stack([choices.value for choices in reversed(backwards)])
        success, status, message = result.success, result.status, "Every age has choices between grid points."
        if not result.success:
            message = f"{message[:-1]}, but the result on the grid is not solved: {result.message}"
    policies = tuple(reversed(backwards))
    best = [_best(problem, choices) for choices in policies]
    shape, several = result.value.shape, result.alternative is not None
    return Refined(
        result=result,
        choice=np.stack([choice for choice, _ in best]).reshape(shape),
        value=values.reshape(shape),
        success=success,
        status=status,
        message=message,
        change=change,
        tol=tol,
        steps=steps,
        seconds=time.perf_counter() - begin,
        policies=policies,
        alternative=np.stack([number for _, number in best]).reshape(shape) if several else None,
    )


def _best(problem: Problem, choices: Choices) -> tuple[Array, NDArray[np.int32]]:
    """Return the choice of the best alternative of each regime, and the number of that, ``(N_r, N_k, N_z)``."""
    number = np.zeros(choices.value.shape, np.int32)
    if len(choices.values) == 1:
        return choices.choice, number
    regimes = [one.regime for one in problem.form.alternatives] if problem.general else [0]
    for r in range(len(number)):
        which = np.flatnonzero(np.array(regimes) == r)
        number[r] = which[choices.values[which].argmax(axis=0)]
    return np.take_along_axis(choices.choice, number.astype(np.intp), axis=0), number


_CACHED: weakref.WeakKeyDictionary[Result, dict[str, Any]] = weakref.WeakKeyDictionary()
"""The fields of the refinement of each result that is still in use, so that several analyses compute it once.

Without the result, which would otherwise stay in use for ever.
"""


def answer_of(given: Any, choices: str | None) -> Any:
    """Return what an analysis follows: choices between grid points, unless ``choices`` is ``"grid"``.

    A refinement is made of a result where that is possible. Where its values do not converge a warning says so, and the
    result is returned. What is neither a result nor a refinement is returned as it is.

    Raises
    ------
    ProblemError
        ``choices`` is neither None, ``"continuous"`` nor ``"grid"``.
    """
    if choices is not None:
        word("choices", choices, ("continuous", "grid"))
    if isinstance(given, Refined):
        return given.result if choices == "grid" else given
    if not isinstance(given, Result) or isinstance(given.problem, DiscreteProblem) or choices == "grid":
        return given
    problem = given.problem
    solved = problem.horizon in (None, given.value.shape[0]) and np.isfinite(given.value).all()
    if not solved or not (problem.general or (given.policy >= 0).all()):
        return given
    if given not in _CACHED:
        found = _refined(given, given.tol, MAX_STEPS)
        _CACHED[given] = {field.name: getattr(found, field.name) for field in fields(found) if field.name != "result"}
    found = Refined(result=given, **_CACHED[given])
    if given.success and not found.success:
        warnings.warn(f"choices on the grid are followed, because those between points failed: {found.message}",
                      stacklevel=3)  # fmt: skip
        return given
    return found


def settled(
    operator: Between, value: Array, tol: float, max_steps: int, cells: NDArray[np.int32] | None = None
) -> tuple[Choices, float, int]:
    """Iterate ``operator`` from ``value``, ``(N_r, N_k, N_z)``, until it converges, as :func:`refine` says.

    Returns the choices of the last sweep, whose value, of a single alternative, includes the mid-point of the bounds on
    what further sweeps would add; the last change; and the number of sweeps that maximise. The first search starts from
    the ``cells`` given, which affect its time only.
    """
    changes: list[float] = []
    alone = operator.chain.shape[0] == 1
    for step in range(1, max_steps + 1):
        choices = operator.improve(value, cells)
        cells = choices.below
        moved = choices.value - value
        if alone:
            # What the same change of all x adds up to is known.
            least, most = moved.min(axis=(0, 1)), moved.max(axis=(0, 1))
            middle, change = (least + most) / 2, float((most - least).max()) / 2
            ahead = operator.chain[0] @ np.linalg.solve(np.eye(middle.size) - operator.chain[0], middle)
            value, moved = value + middle + ahead, moved - middle
            choices = replace(choices, value=choices.value + ahead)
        else:
            change = float(np.abs(moved).max())
        changes.append(change)
        # Once more after the tolerance is met, unless the change falls fast: what is left is uneven, and choices follow
        # from slopes.
        before = changes[-2] if step > 1 else 0.0
        met = change < tol and (before < tol or change < FAST * before)
        if step == max_steps or met or change <= ROUNDING * float(np.abs(value).max()):
            break
        if len(changes) > SLOW and not change < changes[-SLOW - 1] / 2:
            # Near a kink evaluation can go in a circle; sweeps alone do not.
            value = choices.value
        else:
            value = operator.evaluate(choices, value, moved)
    return choices, change, step


def _ended(result: Result, change: float, tol: float, steps: int) -> tuple[bool, str, str]:
    if not change < tol:
        advice = "pass a larger max_steps or tol, or solve on a finer grid"
        return False, Outcome.LIMIT.value, f"The values still change by {change:.3g} after {steps:,} steps: {advice}."
    if not result.success:
        return False, result.status, f"The values converged, but the result on the grid is not solved: {result.message}"
    return True, Outcome.CONVERGED.value, "The values of choices between grid points converged within the tolerance."
