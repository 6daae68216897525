"""Euler equation errors: how far the policy is from the first-order condition of the model without a grid.

The policy is exact on its grid. These errors show what the grid itself costs. Without a grid, the first-order condition
between two periods is

    U'(c(x, s))  =  beta sum_s' Q(s, s') W_x(x', s') U'(c(x', s')),        c(x, s) = W(x, s) - x',

where ``x'`` is the policy and ``W_x = dW/dx`` the marginal cash on hand of the asset. The error is the relative
difference between consumption and the consumption that the right-hand side implies (Judd 1992):

    e(x, s)  =  1 - (beta sum_s' Q(s, s') W_x(x', s') c(x', s')^-eta)^(-1/eta) / c(x, s).

``log10 |e| = -3`` is a mistake of one dollar in every thousand dollars spent. A positive error means that consumption
is too high.
"""

from __future__ import annotations

import itertools
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beltline.host.analysis.policy import check_smooth, heading, usable
from beltline.host.analysis.refine import Refined
from beltline.host.analysis.simulation import simulate
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError
from beltline.host.problem.problem import Problem
from beltline.host.problem.report import as_html
from beltline.host.problem.utility import marginal_utility
from beltline.host.results.result import Result

SMALLEST = 2.0**-53
"""Smallest absolute error in logarithms: one rounding error of double precision, so that no logarithm is infinite."""


def euler_errors(result: Result | Refined) -> Array:
    """Return the Euler equation error of every state, as a share of consumption.

    The error is::

        e(x, s) = 1 - (beta sum_s' Q(s, s') W_x(x', s') c(x', s')^-eta)^(-1/eta) / c(x, s)

    where ``x'`` is the policy, ``c(x, s) = W(x, s) - x'`` and ``W_x = dW/dx``. A positive error means that consumption
    is too high; ``-0.001`` means that it is 0.1% too low.

    Parameters
    ----------
    result : Result or Refined
        A solution of a problem that has ``marginal_wealth``. A warning says so if it is not solved. For choices between
        grid points, consumption and ``dW/dx`` of the next period are interpolated linearly.

    Returns
    -------
    (N_k, N_z) float64 array
        With a horizon ``(T - 1, N_k, N_z)``, the first age first; the last age has no next period. An entry is nan
        where the lowest ``x'`` is chosen and a lower one would be better: there the constraint binds and the equation
        does not hold. At the highest ``x'`` the error is reported, because only the grid ends there, not the model.

    Raises
    ------
    ProblemError
        ``result`` is of another type, its problem has no ``marginal_wealth``, or a state has no choice.

    Sources
    -------
    Judd (1992), "Projection methods for solving aggregate growth models", Journal of Economic Theory 58(2), 410-452.

    Examples
    --------
    >>> import numpy as np
    >>> import beltline as bl
    >>> errors = bl.euler_errors(bl.solve(bl.rbc(grid=64), progress=False))
    >>> errors.shape, bool(np.nanmax(np.abs(errors)) < 0.1)
    ((64, 4), True)
    """
    if not isinstance(result, Refined):
        check_smooth(result, "an Euler equation error", "a Result or a Refined")
    problem = result.problem
    if problem.marginal_wealth is None:
        raise ProblemError("an Euler equation error needs the problem's marginal_wealth, dW/dx, which it does not have")
    if isinstance(result, Refined):
        if problem.horizon is None:
            return errors_between(problem, problem.marginal_wealth, result.choice)
        pairs = itertools.pairwise(result.choice)
        return np.stack([errors_between(problem, problem.marginal_wealth, now, then) for now, then in pairs])
    usable(result, "an Euler equation error")
    consumption = problem.wealth - result.choice
    if problem.horizon is None:
        return _errors(problem, problem.marginal_wealth, consumption, consumption, result.policy)
    errors = np.empty((problem.horizon - 1, problem.points, problem.states))
    for age in range(problem.horizon - 1):
        errors[age] = _errors(
            problem, problem.marginal_wealth, consumption[age], consumption[age + 1], result.policy[age]
        )
    return errors


def _errors(problem: Problem, marginal_wealth: Array, now: Array, following: Array, policy: NDArray[np.int32]) -> Array:
    ahead = problem.beta * ((marginal_wealth * marginal_utility(following, problem.eta)) @ problem.transition.T)
    wanted = np.take_along_axis(ahead, policy.astype(np.intp), axis=0) ** (-1 / problem.eta)
    errors = 1 - wanted / now
    errors[(policy == 0) & (errors < 0)] = np.nan
    return np.asarray(errors)


def errors_between(problem: Problem, marginal_wealth: Array, choice: Array, then: Array | None = None) -> Array:
    """Return the errors of :func:`euler_errors` for any policy.

    Parameters
    ----------
    problem
        The problem.
    marginal_wealth
        ``dW/dx``, ``(N_k, N_z)``.
    choice
        The policy ``x'``, ``(N_k, N_z)``, in units of the grid; it may lie between grid points.
    then
        The policy of the next period, by default the same.
    """
    grid, eta = problem.grid, problem.eta
    now = problem.wealth - choice
    following = now if then is None else problem.wealth - then
    ahead = np.zeros(choice.shape)
    for s in range(problem.states):
        for t in range(problem.states):
            slope, consumption = (np.interp(choice[:, s], grid, table[:, t]) for table in (marginal_wealth, following))
            ahead[:, s] += problem.transition[s, t] * slope * marginal_utility(consumption, eta)
    errors = 1 - (problem.beta * ahead) ** (-1 / eta) / now
    errors[(choice <= grid[0]) & (errors < 0)] = np.nan
    return np.asarray(errors)


def log10_errors(errors: Array) -> Array:
    """Return ``log10 |e|``, where errors below ``SMALLEST`` count as ``SMALLEST``; nan where ``e`` is nan."""
    return np.asarray(np.log10(np.maximum(np.abs(errors), SMALLEST)))


@dataclass(frozen=True)
class Errors:
    """Statistics of Euler equation errors over a set of states: the whole grid, or the states of a simulated path.

    Parameters
    ----------
    mean : float
        Mean of ``log10 |e|``.
    log10_mean : float
        ``log10`` of the mean of ``|e|``.
    largest : float
        Largest ``log10 |e|``.
    states : int
        Number of states with an error.
    binding : int
        Number of states that are left out because the constraint binds there.
    """

    mean: float
    log10_mean: float
    largest: float
    states: int
    binding: int


def summary(errors: Array) -> Errors:
    """Return the :class:`Errors` of an array of errors of any shape; all nan if the constraint binds in every state."""
    counted = errors[~np.isnan(errors)]
    binding = errors.size - counted.size
    if not counted.size:
        return Errors(float("nan"), float("nan"), float("nan"), 0, binding)
    logs = log10_errors(counted)
    mean = np.log10(max(float(np.abs(counted).mean()), SMALLEST))
    return Errors(float(logs.mean()), float(mean), float(logs.max()), counted.size, binding)


@dataclass(frozen=True)
class EulerReport:
    """Euler equation errors on the grid and along a simulated path; ``print`` shows them as a table.

    Parameters
    ----------
    grid : Errors
        Over all states of the grid, each counted once.
    path : Errors
        Over the periods of the path, so that states count as often as the economy visits them.
    periods, burn_in, seed : int
        Length of the path, periods dropped before it, and seed of its random numbers.
    title : str
        Heading of the report.
    """

    grid: Errors
    path: Errors
    periods: int
    burn_in: int
    seed: int
    title: str

    def __str__(self) -> str:
        heads = ("mean", "log10 of mean", "largest")
        about = f"{self.periods:,} periods after {self.burn_in:,}, seed {self.seed}"
        lines = [self.title, f"  {'log10 |e|, e as a share of consumption':<46}" + "".join(f"{h:>15}" for h in heads)]
        for name, errors in (("every state of the grid", self.grid), (about, self.path)):
            numbers = (errors.mean, errors.log10_mean, errors.largest)
            lines.append(f"  {name:<46}" + "".join(f"{number:>15.3f}" for number in numbers))
            if errors.binding:
                lines.append(f"    left out, as the constraint binds there: {errors.binding:,}")
        return "\n".join(lines)

    __repr__ = __str__
    _repr_html_ = as_html


def euler_report(result: Result | Refined, periods: int = 10_000, burn_in: int = 1_000, seed: int = 0) -> EulerReport:
    """Report Euler equation errors on the whole grid and along one simulated path, as Aldrich et al. (2011) do.

    Parameters
    ----------
    result : Result or Refined
        A solution with an infinite horizon of a problem that has ``marginal_wealth``.
    periods, burn_in, seed : int
        Length of the path, periods that are dropped before it, and seed of its random numbers; see
        :func:`beltline.simulate`.

    Returns
    -------
    EulerReport

    Raises
    ------
    ProblemError
        As :func:`beltline.euler_errors` and :func:`beltline.simulate`.

    Examples
    --------
    >>> import beltline as bl
    >>> report = bl.euler_report(bl.solve(bl.rbc(grid=64), progress=False), periods=1000)
    >>> report.grid.states, report.path.states
    (256, 1000)
    """
    errors = euler_errors(result)
    with warnings.catch_warnings():
        # euler_errors has given the warning already.
        warnings.simplefilter("ignore")
        grid = "grid" if isinstance(result, Result) else None
        path = simulate(result, periods, burn_in, seed, choices=grid)
    along = errors[path.points, path.states]
    return EulerReport(
        grid=summary(errors),
        path=summary(along),
        periods=along.size,
        burn_in=path.burn_in,
        seed=path.seed,
        title=heading("Euler equation errors", result),
    )
