"""Proven bounds on the difference between the value on a grid and the value of the problem without a grid.

The problem without a grid, with value ``V^c``, has the same chain, ``beta``, ``eta`` and ends of the grid; its choice
is any number between these ends, and its cash on hand ``W`` equals the table at grid points. Two kinds of bounds at
grid points are computed. Both use that the Bellman operator is monotone and discounts: if a sweep from ``v`` adds at
least ``m(s)`` at every ``x``, then ``V^c >= v + (1 - beta Q)^-1 m``, and if it adds at most ``M(s)``, then
``V^c <= v + (1 - beta Q)^-1 M``. What a sweep adds is called its gain.

``"concave"`` is used if ``W`` is concave on the grid; the bounds hold for every ``W`` that is also concave and
non-decreasing between the points. Let ``v`` be concave and piecewise linear, and ``T`` the operator without a grid.
``F(w, s)``, the maximum of ``U(w - y) + E v(y, s)``, is concave in ``w``, because the objective is jointly concave; so
``T v = F(W(x, s), s)`` is concave in ``x``. It lies above its own linear interpolation, and ``v`` equals its own: the
least gain is at a grid point. It lies below its tangents, whose slope is ``U'(c)`` times the slope of ``W``. The latter
is ``marginal_wealth`` if the problem has it; otherwise ``W`` rises to the right of a point at most as fast as the chord
that ends there, and falls to the left of it at least as fast as the chord that begins there. So the gain in a cell is
at most that where the two tangents intersect. Both bounds are as accurate as linear interpolation: their error is of
the order of the step squared.

``"monotone"`` holds for every non-decreasing ``W``. The choices on the grid are a subset of all, so the value on the
grid, less its error bound, is a lower bound. For the upper bound, ``V^c`` is non-decreasing in ``x``, so saving ``y``
is worth no more than to pay for the grid point below ``y`` and to receive the one above: one sweep with ``V`` shifted
by one point gives ``M``. The error of this bound is that of one step in each period.

With a horizon a sweep is that of one age, and gains add up backwards: if the value of the next age is at least ``v +
m(s)``, and a sweep from ``v`` exceeds this age's ``v'`` by at least ``m'(s)``, then this age's value is at least ``v' +
m' + beta Q m``; upper bounds likewise. The value after the last age equals ``start`` at grid points. ``"concave"`` then
requires that ``start`` is concave and non-decreasing too, and holds for every such function between grid points; its
tangents are chords of ``start``. ``"monotone"`` holds for every value after the last age that is monotone between two
grid points: there it is at most the larger of its two ends, and the values of all earlier ages are non-decreasing in
``x``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from beltline.gpu_ref.exact import divide_and_conquer
from beltline.gpu_ref.methods import largest_value, sweep_rounding
from beltline.gpu_ref.utility import DOUBLE
from beltline.host.analysis.between import Between, straight
from beltline.host.problem.arrays import Array
from beltline.host.problem.concavity import START_ROUNDING, concave_majorant
from beltline.host.problem.problem import Problem
from beltline.host.problem.utility import marginal_utility, slope_noise, slope_rise


@dataclass(frozen=True, eq=False)
class Bounds:
    """Bounds on the value of the problem without a grid, at grid points.

    Parameters
    ----------
    lower, upper : (N_k, N_z) float64 array
        In units of utility, rounding errors included; with a horizon ``(T, N_k, N_z)``.
    proof : str
        ``"concave"`` or ``"monotone"``; see the head of this module.
    """

    lower: Array
    upper: Array
    proof: str


def bounds(problem: Problem, value: Array, error_bound: float, near: Array) -> Bounds:
    """Bound the value of the problem without a grid.

    Parameters
    ----------
    problem
        A problem with an infinite horizon.
    value : (N_k, N_z) array
        Its value on the grid.
    error_bound
        Bound on the error of ``value`` as a solution on the grid.
    near : (N_k, N_z) array
        Any table, from which the sweeps start; the closer it is to ``V^c``, the tighter are the bounds.
    """
    lower = value - error_bound
    most = _monotone(problem, near)
    if not concave_wealth(problem):
        return Bounds(lower, most, "monotone")
    least, other = _concave(problem, near)
    return Bounds(np.maximum(lower, least), np.minimum(most, other), "concave")


def bounds_of_ages(problem: Problem, value: Array, error_bound: float) -> Bounds:
    """Bound the value of the problem without a grid at each age.

    Parameters
    ----------
    problem
        A problem with a finite horizon.
    value : (T, N_k, N_z) array
        Its value on the grid, the last age last. A shorter array holds the last ages.
    error_bound
        Bound on the error of ``value`` as a solution on the grid.
    """
    lower = value - error_bound
    most = _monotone_ages(problem, value.shape[0])
    rises = bool((np.diff(problem.start, axis=0) >= 0).all())
    if not (rises and concave_wealth(problem) and _concave_table(problem.grid, problem.start)):
        return Bounds(lower, most, "monotone")
    least, other = _concave_ages(problem, value.shape[0])
    return Bounds(np.maximum(lower, least), np.minimum(most, other), "concave")


def concave_wealth(problem: Problem) -> bool:
    """Return whether ``W`` is concave on the grid, up to rounding errors."""
    return _concave_table(problem.grid, problem.wealth)


def _concave_table(grid: Array, table: Array) -> bool:
    noise = slope_noise(grid, 1.0)[:, None] * START_ROUNDING * np.abs(table).max()
    return bool((slope_rise(grid, table) <= noise).all())


def _lifted(problem: Problem, value: Array, gain: Array, rounding: float) -> Array:
    """Return ``value + (1 - beta Q)^-1 (gain + rounding)``, where ``gain`` has one number for each exogenous state."""
    if not np.isfinite(gain + rounding).all():
        return np.full(value.shape, np.copysign(np.inf, rounding))
    ahead = np.eye(problem.states) - problem.beta * problem.transition
    # The rounding error of the solution is of the order of the condition number, which 1 - beta bounds.
    lift = np.linalg.solve(ahead, gain + rounding)
    slip = 8 * problem.states * DOUBLE / (1 - problem.beta) * float(np.abs(lift).max())
    return np.asarray(value + lift + np.copysign(slip, rounding))


def _monotone(problem: Problem, value: Array) -> Array:
    ev = problem.beta * problem.transition @ value.T
    ahead = np.ascontiguousarray(np.concatenate([ev[:, 1:], ev[:, -1:]], axis=1))
    swept, policy = np.empty(problem.wealth.shape), np.empty(problem.wealth.shape, np.int32)
    divide_and_conquer(problem.grid, problem.wealth, ahead, problem.eta, swept, policy)
    return _lifted(problem, value, (swept - value).max(axis=0), _rounding(problem, swept, value))


def _monotone_ages(problem: Problem, ages: int) -> Array:
    upper = np.empty((ages, *problem.wealth.shape))
    ahead, policy = problem.start, np.empty(problem.wealth.shape, np.int32)
    for age in reversed(range(ages)):
        larger = np.maximum(ahead, np.concatenate([ahead[1:], ahead[-1:]]))
        ev = np.ascontiguousarray(problem.beta * (problem.transition @ larger.T))
        divide_and_conquer(problem.grid, problem.wealth, ev, problem.eta, upper[age], policy)
        upper[age] += _rounding(problem, upper[age], larger)
        ahead = upper[age]
    return upper


def _concave(problem: Problem, near: Array) -> tuple[Array, Array]:
    value = concave_majorant(near, problem.grid)
    swept, price, rounding, of_wealth = _swept(problem, value)
    most = _largest_gain(problem, value, swept, price)
    lower = _lifted(problem, value, (swept - value).min(axis=0), -rounding)
    return lower, _lifted(problem, value, most, rounding + of_wealth)


def _concave_ages(problem: Problem, ages: int) -> tuple[Array, Array]:
    lower, upper = (np.empty((ages, *problem.wealth.shape)) for _ in range(2))
    start = problem.start
    value = concave_majorant(start, problem.grid)
    chords = np.diff(start, axis=0) / np.diff(problem.grid)[:, None]
    least, most = (start - value).min(axis=0), _gain_between(problem.grid, value, start, *_beside(chords))
    for age in reversed(range(ages)):
        swept, price, rounding, of_wealth = _swept(problem, value)
        least, most = _discounted(problem, least, -1.0), _discounted(problem, most, 1.0)
        lower[age], upper[age] = swept + least - rounding, swept + most + rounding
        value = concave_majorant(swept, problem.grid)
        least = least + (swept - value).min(axis=0) - rounding
        most = most + _largest_gain(problem, value, swept, price) + rounding + of_wealth
    return lower, upper


def _swept(problem: Problem, value: Array) -> tuple[Array, Array, float, float]:
    """Return a sweep from ``value``, its marginal utilities, and rounding errors: of the sweep, and due to ``W``."""
    found = Between(problem, pieces=straight).improve(value[None])
    price = marginal_utility(problem.wealth - found.choice[0], problem.eta)
    # The chords of cash on hand are treated as exact, so that the rounding of its entries is added here.
    of_wealth = 8 * DOUBLE * float((price * np.abs(problem.wealth)).max())
    return found.value[0], price, _rounding(problem, found.value[0], value), of_wealth


def _discounted(problem: Problem, shift: Array, side: float) -> Array:
    """Return ``beta Q shift``, ``(N_z,)``, with its rounding error added on that ``side``; infinite if ``shift`` is."""
    if not np.isfinite(shift).all():
        return np.full(shift.shape, np.copysign(np.inf, side))
    ahead = problem.beta * problem.transition @ shift
    slip = 8 * problem.states * DOUBLE * float(np.abs(shift).max())
    return np.asarray(ahead + np.copysign(slip, side))


def _rounding(problem: Problem, swept: Array, value: Array) -> float:
    """Return the rounding error of a sweep; each level of divide and conquer may miss a maximum by two more."""
    largest = max(largest_value(swept), largest_value(value))
    levels = problem.points.bit_length()
    return 2 * (1 + levels) * sweep_rounding(largest, problem.states, problem.eta)


def _largest_gain(problem: Problem, value: Array, swept: Array, price: Array) -> Array:
    """Return the largest gain of each state, ``(N_z,)``, at the points and where the tangents of a cell intersect."""
    steepest, flattest = _beside(np.diff(problem.wealth, axis=0) / np.diff(problem.grid)[:, None])
    if problem.marginal_wealth is not None:
        steepest = np.minimum(steepest, problem.marginal_wealth[:-1])
        flattest = np.maximum(flattest, problem.marginal_wealth[1:])
    return _gain_between(problem.grid, value, swept, price[:-1] * steepest, price[1:] * flattest)


def _beside(chords: Array) -> tuple[Array, Array]:
    """Return for each cell the slopes of the chords before and after it; infinite and 0 at the ends of the grid."""
    none = np.zeros((1, chords.shape[1]))
    return np.concatenate([none + np.inf, chords[:-1]]), np.concatenate([chords[1:], none])


def _gain_between(grid: Array, value: Array, swept: Array, rising: Array, falling: Array) -> Array:
    """Return the largest gain as :func:`_largest_gain`, given the slopes of the tangents at the ends of each cell."""
    steps = np.diff(grid)[:, None]
    # An infinite slope gives no tangent; that the value is non-decreasing still holds.
    falling = np.where(np.isfinite(falling), falling, 0.0)
    below = swept[1:] - falling * steps
    with np.errstate(invalid="ignore", divide="ignore"):
        meet = np.where(np.isfinite(rising), (below - swept[:-1]) / (rising - falling), 0.0)
    meet = np.clip(np.nan_to_num(meet, nan=0.0), 0.0, steps)
    line = value[:-1] + meet * np.diff(value, axis=0) / steps
    left = np.where(np.isfinite(rising), swept[:-1] + np.where(np.isfinite(rising), rising, 0.0) * meet, np.inf)
    inside = np.minimum(left, below + falling * meet) - line
    # Rounding may misplace the intersection a little, so both ends count as well.
    ends = swept - value
    return np.asarray(np.maximum(inside.max(axis=0), ends.max(axis=0)))
