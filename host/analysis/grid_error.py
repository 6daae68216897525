"""How far a value on a grid is from that of the problem without one: bounds that are computed and proven.

The problem without a grid, of value ``V^c``, has the same chain, ``beta``, ``eta`` and ends of the grid, a choice
anywhere between them, and cash on hand ``W`` that agrees with the table at grid points. Two sets of bounds are computed
at grid points. Both rest on an operator that is monotone and discounts: if a sweep from ``v`` gains at least ``m(s)``
at every ``x``, then ``V^c >= v + (1 - beta Q)^-1 m``, and if it gains at most ``M(s)``, then
``V^c <= v + (1 - beta Q)^-1 M``.

``"concave"``, where ``W`` is concave on the grid: for every ``W`` that is concave and does not fall between the points
either. Let ``v`` be concave and linear between points, and ``T`` the operator without a grid. ``F(w, s)``, the largest
``U(w - y) + E v(y, s)``, is concave in ``w``, as the objective is concave in both; so ``T v = F(W(x, s), s)`` is
concave in ``x``. It lies above the lines from point to point, as ``v`` lies on its own: the least gain is at a grid
point. And it lies below its tangents, whose slope is ``U'(c)`` times that of ``W``: its ``marginal_wealth``, where the
problem has it; in any case ``W`` rises beyond a point no faster than the chord that ends there, and falls short before
it no slower than the chord that begins there. So the gain in a cell is at most that where the two tangents meet. Both
bounds are off by what lines between points are off: the order of the step squared.

``"monotone"``, for every ``W`` that does not fall. Choices from the grid are among all, so the value on the grid, less
its error bound, is a bound from below. And ``V^c`` does not fall in ``x``, so saving ``y`` is worth no more than paying
for the grid point below ``y`` and getting the one above: one sweep with ``V`` a point ahead gives ``M``. That bound is
off by what a step costs each period.

With ages a sweep is that of one age, and what it gains adds up backwards instead: if the value of the next age is at
least ``v + m(s)`` and a sweep from ``v`` gains at least ``m'(s)`` over this age's ``v'``, then this age's value is at
least ``v' + m' + beta Q m``; and at most likewise. The value after the last age agrees with ``start`` at grid points.
``"concave"`` then asks that of ``start``, too, and holds for every such value that is concave and does not fall between
them; its tangents are chords of ``start``. ``"monotone"`` holds for every one without a turn between two grid points:
there it is at most the larger of its two ends, and the values of all ages before do not fall in ``x``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from beltline.gpu_ref.exact import divide_and_conquer
from beltline.gpu_ref.methods import DOUBLE, largest_value, sweep_rounding
from beltline.host.analysis.between import maximise, straight
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
        With ages ``(T, N_k, N_z)``. Units of utility; the rounding of double precision is counted.
    proof : str
        ``"concave"`` or ``"monotone"``, see the module's text.
    """

    lower: Array
    upper: Array
    proof: str


def bounds(problem: Problem, value: Array, error_bound: float, near: Array) -> Bounds:
    """Bound the value of the problem without a grid.

    Parameters
    ----------
    problem
        With an infinite horizon.
    value : (N_k, N_z) array
        On the grid.
    error_bound
        Of ``value`` against the solution on the grid.
    near : (N_k, N_z) array
        Any table, from which the sweeps begin: the nearer to ``V^c``, the closer are the bounds.
    """
    lower = value - error_bound
    most = _monotone(problem, near)
    if not concave_wealth(problem):
        return Bounds(lower, most, "monotone")
    least, other = _concave(problem, near)
    return Bounds(np.maximum(lower, least), np.minimum(most, other), "concave")


def bounds_of_ages(problem: Problem, value: Array, error_bound: float) -> Bounds:
    """Bound the value of the problem without a grid, age by age.

    Parameters
    ----------
    problem
        With a finite horizon.
    value : (T, N_k, N_z) array
        On the grid, the last age last; fewer ages are the last ones.
    error_bound
        Of ``value`` against the solution on the grid.
    """
    lower = value - error_bound
    most = _monotone_ages(problem, value.shape[0])
    rises = bool((np.diff(problem.start, axis=0) >= 0).all())
    if not (rises and concave_wealth(problem) and _concave_table(problem.grid, problem.start)):
        return Bounds(lower, most, "monotone")
    least, other = _concave_ages(problem, value.shape[0])
    return Bounds(np.maximum(lower, least), np.minimum(most, other), "concave")


def concave_wealth(problem: Problem) -> bool:
    """Whether ``W`` is concave from grid point to grid point, but for its rounding."""
    return _concave_table(problem.grid, problem.wealth)


def _concave_table(grid: Array, table: Array) -> bool:
    noise = slope_noise(grid, 1.0)[:, None] * START_ROUNDING * np.abs(table).max()
    return bool((slope_rise(grid, table) <= noise).all())


def _lifted(problem: Problem, value: Array, gain: Array, rounding: float) -> Array:
    """``value + (1 - beta Q)^-1 (gain + rounding)``; ``gain`` is of each state."""
    if not np.isfinite(gain + rounding).all():
        return np.full(value.shape, np.copysign(np.inf, rounding))
    ahead = np.eye(problem.states) - problem.beta * problem.transition
    # The system's own rounding is of the order of its condition, which 1 - beta bounds.
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
    """A sweep from ``value``, its marginal utility of consumption, and roundings: but for wealth, and of wealth."""
    found = maximise(problem, value, straight)
    price = marginal_utility(problem.wealth - found.choice, problem.eta)
    # Of cash on hand, whose chords are taken for exact.
    of_wealth = 8 * DOUBLE * float((price * np.abs(problem.wealth)).max())
    return found.value, price, _rounding(problem, found.value, value), of_wealth


def _discounted(problem: Problem, shift: Array, side: float) -> Array:
    """``beta Q shift``, ``(N_z,)``, and its rounding to that ``side``; without bound where ``shift`` is anywhere."""
    if not np.isfinite(shift).all():
        return np.full(shift.shape, np.copysign(np.inf, side))
    ahead = problem.beta * problem.transition @ shift
    slip = 8 * problem.states * DOUBLE * float(np.abs(shift).max())
    return np.asarray(ahead + np.copysign(slip, side))


def _rounding(problem: Problem, swept: Array, value: Array) -> float:
    """What a sweep may be wrong by: each level of divide and conquer may miss a maximum by two roundings more."""
    largest = max(largest_value(swept), largest_value(value))
    levels = problem.points.bit_length()
    return 2 * (1 + levels) * sweep_rounding(largest, problem.states, problem.eta)


def _largest_gain(problem: Problem, value: Array, swept: Array, price: Array) -> Array:
    """The largest gain of each state, ``(N_z,)``: at the points, and in each cell where the two tangents meet."""
    steepest, flattest = _beside(np.diff(problem.wealth, axis=0) / np.diff(problem.grid)[:, None])
    if problem.marginal_wealth is not None:
        steepest = np.minimum(steepest, problem.marginal_wealth[:-1])
        flattest = np.maximum(flattest, problem.marginal_wealth[1:])
    return _gain_between(problem.grid, value, swept, price[:-1] * steepest, price[1:] * flattest)


def _beside(chords: Array) -> tuple[Array, Array]:
    """In each cell the chord before it and the one after it; the steepest there is, and 0, where there is none."""
    none = np.zeros((1, chords.shape[1]))
    return np.concatenate([none + np.inf, chords[:-1]]), np.concatenate([chords[1:], none])


def _gain_between(grid: Array, value: Array, swept: Array, rising: Array, falling: Array) -> Array:
    """As :func:`_largest_gain`, by the tangents at the lower and at the upper end of each cell."""
    steps = np.diff(grid)[:, None]
    # A slope beyond double precision says no more than that the value does not fall.
    falling = np.where(np.isfinite(falling), falling, 0.0)
    below = swept[1:] - falling * steps
    with np.errstate(invalid="ignore", divide="ignore"):
        meet = np.where(np.isfinite(rising), (below - swept[:-1]) / (rising - falling), 0.0)
    meet = np.clip(np.nan_to_num(meet, nan=0.0), 0.0, steps)
    line = value[:-1] + meet * np.diff(value, axis=0) / steps
    left = np.where(np.isfinite(rising), swept[:-1] + np.where(np.isfinite(rising), rising, 0.0) * meet, np.inf)
    inside = np.minimum(left, below + falling * meet) - line
    # Rounding may put the crossing a little beside: both ends count as well.
    ends = swept - value
    return np.asarray(np.maximum(inside.max(axis=0), ends.max(axis=0)))
