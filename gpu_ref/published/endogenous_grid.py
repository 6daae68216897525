"""The endogenous grid method, for comparison: the best method for problems that are smooth and concave.

Source: Carroll (2006), "The method of endogenous gridpoints for solving dynamic stochastic optimization problems",
Economics Letters 91. The method solves the Euler equation without a search: for each ``x'`` of the grid, the
consumption at which ``x'`` is optimal is ``c = (beta E[U'(c(x', s')) W'(x', s')])^(-1/eta)``, and it is optimal for
cash on hand ``c + x'``. Interpolating these pairs linearly at ``W(x, s)`` gives the next consumption function.

Choices may lie between grid points, so this is not the table problem: its value exceeds that of the best grid choice by
an amount of the order of the squared step, and its policy is rounded to the grid at the end. The method needs ``W'(x,
s)``: pass it as ``marginal``; by default it is approximated by differences of the table, with an error of the order of
the squared step. It cannot handle kinks in ``W`` or ``V0``, nor constraints that bind elsewhere than at the ends of the
grid.
"""

from __future__ import annotations

import math
import time

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beltline.compiled import njit, njit_inlined, prange
from beltline.gpu_ref.methods import Solution, check_limits, shifts
from beltline.gpu_ref.tables import Array, check_tables
from beltline.gpu_ref.threads import threads, threads_for
from beltline.gpu_ref.utility import crra_utility

CHUNK = 1024
"""Grid points that a thread takes at a time."""


def marginal_wealth(X: Array, W: Array, marginal: ArrayLike | None) -> Array:
    """Return ``W'(x, s)``, ``(N_k, N_z)``: as given, or by differences of second order.

    Raises
    ------
    ValueError
        ``marginal`` has another shape than ``W`` or is not positive everywhere, or there are fewer than 3 grid points.
    """
    if marginal is None:
        if X.size < 3:
            raise ValueError(f"without marginal, the endogenous grid method needs at least 3 grid points, not {X.size}")
        slope = np.gradient(W, X, axis=0, edge_order=2)
    else:
        slope = np.ascontiguousarray(marginal, dtype=np.float64)
        if slope.shape != W.shape:
            raise ValueError(f"marginal must have shape {W.shape}, not {slope.shape}")
    if not (slope > 0.0).all():
        x, s = np.argwhere(~(slope > 0.0))[0]
        raise ValueError(
            f"the endogenous grid method needs wealth that rises in x, but W' is {slope[x, s]} at grid point {x}, "
            f"state {s}"
        )
    return np.ascontiguousarray(slope)


@njit_inlined
def _power(c: float, power: float) -> float:
    """Return ``c ** power``; common powers are computed by divisions and roots, which is faster."""
    if power == -2.0:
        return 1.0 / (c * c)
    if power == -0.5:
        return 1.0 / math.sqrt(c)
    if power == -1.0:
        return 1.0 / c
    return math.pow(c, power)


@njit(parallel=True, cache=True)
def _step(
    X: Array, W: Array, slope: Array, Q: Array, beta: float, eta: float, c: Array, cash: Array, new_c: Array
) -> float:
    """Make one step from consumption ``c`` to ``new_c``, both ``(N_z, N_k)``; return the largest change.

    ``cash``, ``(N_z, N_k)``, receives the cash on hand at which each grid point is the optimal choice.
    """
    states, grid = W.shape
    chunks = (grid + CHUNK - 1) // CHUNK
    for chunk in prange(chunks):
        marginal = np.empty(states)
        for x in range(chunk * CHUNK, min((chunk + 1) * CHUNK, grid)):
            for s in range(states):
                marginal[s] = beta * _power(c[s, x], -eta) * slope[s, x]
            for s in range(states):
                total = 0.0
                for t in range(states):
                    total += Q[s, t] * marginal[t]
                cash[s, x] = X[x] + _power(total, -1.0 / eta)
    changes = np.zeros(states * chunks)
    for task in prange(states * chunks):
        s = task // chunks
        begin = task % chunks * CHUNK
        on_hand = cash[s]
        j = np.searchsorted(on_hand, W[s, begin], side="right") - 1
        most = 0.0
        for x in range(begin, min(begin + CHUNK, grid)):
            wealth = W[s, x]
            while j + 1 < grid and on_hand[j + 1] <= wealth:
                j += 1
            if j < 0:
                chosen = X[0]
            elif j + 1 == grid:
                chosen = X[grid - 1]
            else:
                share = (wealth - on_hand[j]) / (on_hand[j + 1] - on_hand[j])
                chosen = X[j] + share * (X[j + 1] - X[j])
            new = wealth - chosen
            most = max(most, abs(new - c[s, x]))
            new_c[s, x] = new
        changes[task] = most
    return changes.max()


@njit(parallel=True, cache=True)
def _place(X: Array, W: Array, c: Array, cell: NDArray[np.int32], share: Array) -> None:
    """Find the grid point at or below each choice, and the share of the way from there to the next."""
    states, grid = W.shape
    for task in prange(states * grid):
        s, x = task // grid, task % grid
        chosen = W[s, x] - c[s, x]
        j = min(max(np.searchsorted(X, chosen, side="right") - 1, 0), grid - 2)
        cell[s, x] = j
        share[s, x] = min(max((chosen - X[j]) / (X[j + 1] - X[j]), 0.0), 1.0)


@njit(parallel=True, cache=True)
def _evaluate(
    X: Array, here: Array, cell: NDArray[np.int32], share: Array, value: Array, slope: Array, Q: Array, beta: float,
    new_c: Array, low: Array, high: Array,
) -> None:  # fmt: skip
    """Make one policy evaluation sweep, with cubic Hermite interpolation of ``V`` by its exact slope."""
    states, grid = here.shape
    chunks = low.shape[0]
    for chunk in prange(chunks):
        low[chunk] = np.inf
        high[chunk] = -np.inf
        for s in range(states):
            for x in range(chunk * CHUNK, min((chunk + 1) * CHUNK, grid)):
                j = cell[s, x]
                t = share[s, x]
                step = X[j + 1] - X[j]
                rest = 1.0 - t
                total = 0.0
                for k in range(states):
                    level = rest * rest * (1.0 + 2.0 * t) * value[k, j] + t * t * (3.0 - 2.0 * t) * value[k, j + 1]
                    slope_part = t * rest * step * (rest * slope[k, j] - t * slope[k, j + 1])
                    total += Q[s, k] * (level + slope_part)
                new = here[s, x] + beta * total
                change = new - value[s, x]
                low[chunk, s] = min(low[chunk, s], change)
                high[chunk, s] = max(high[chunk, s], change)
                new_c[s, x] = new


class Endogenous:
    """Solve a problem by the endogenous grid method; its arrays are ``(N_z, N_k)``.

    Arguments as in :mod:`beltline.gpu_ref`, and ``slope`` as returned by :func:`marginal_wealth`.
    """

    def __init__(self, X: Array, W: Array, slope: Array, Q: Array, beta: float, eta: float) -> None:
        self.X, self.Q, self.beta, self.eta = X, Q, beta, eta
        self._tables = W, slope
        shape = W.shape[::-1]
        self._W, self._slope, self._c, self._cash, self._ahead = (np.empty(shape) for _ in range(5))
        self.sweeps = 0

    def load(self) -> None:
        """Start from the consumption that keeps ``x`` or, if that is not affordable, half of what can be spent.

        Raises
        ------
        ValueError
            A state has no choice.
        """
        self._W[:], self._slope[:] = (table.T for table in self._tables)
        stay = self._W - self.X
        self._c[:] = np.where(stay > 0.0, stay, 0.5 * (self._W - self.X[0]))
        if not (self._c > 0.0).all():
            s, x = np.argwhere(~(self._c > 0.0))[0]
            raise ValueError(
                f"the endogenous grid method needs a choice in every state, but grid point {x}, state {s} has none"
            )

    def solve(self, epsilon: float, limit: int) -> float:
        """Iterate until no consumption changes by ``epsilon`` or more; return the last change, units of consumption."""
        change = math.inf
        while change >= epsilon and self.sweeps < limit:
            change = _step(self.X, self._W, self._slope, self.Q, self.beta, self.eta, self._c, self._cash, self._ahead)
            self._c, self._ahead = self._ahead, self._c
            self.sweeps += 1
        return change

    @property
    def consumption(self) -> Array:
        """Consumption, ``(N_k, N_z)``, as far as it was solved; its choices may lie between grid points."""
        return np.ascontiguousarray(self._c.T)

    def evaluate(self, epsilon: float, limit: int) -> tuple[Array, NDArray[np.int32]]:
        """Return the value of the policy, and the policy rounded to the grid, ``(N_k, N_z)`` each.

        Policy evaluation sweeps continue until half the spread of the changes of every exogenous state is below
        ``epsilon``.
        """
        grid, states = self.X.size, self.Q.shape[0]
        cell = np.empty((states, grid), np.int32)
        share = np.empty((states, grid))
        _place(self.X, self._W, self._c, cell, share)
        consumption = np.ascontiguousarray(self._c)
        here = crra_utility(consumption, self.eta)
        value = here / (1.0 - self.beta)
        new_c = np.empty_like(value)
        slope = consumption**-self.eta * self._slope
        low = np.empty(((grid + CHUNK - 1) // CHUNK, states))
        high = np.empty_like(low)
        for _ in range(limit):
            _evaluate(self.X, here, cell, share, value, slope, self.Q, self.beta, new_c, low, high)
            value, new_c = new_c, value
            least, most = low.min(axis=0), high.max(axis=0)
            if (most - least).max() / 2.0 < epsilon:
                break
        value = value + shifts((least + most) / 2.0, self.Q, self.beta)[:, None]
        # The nearest grid point, or the one below it if the nearest is not affordable.
        policy = cell + (share > 0.5)
        policy -= (self.X[policy] >= self._W) & (policy > 0)
        return np.ascontiguousarray(value.T), np.ascontiguousarray(policy.T.astype(np.int32))


def solve(
    X: ArrayLike,
    W: ArrayLike,
    Q: ArrayLike,
    V0: ArrayLike,
    beta: float,
    eta: float,
    epsilon: float,
    max_sweeps: int = 100_000,
    marginal: ArrayLike | None = None,
) -> Solution:
    """Solve by the endogenous grid method until no consumption changes by ``epsilon`` or more.

    Arguments as in :mod:`beltline.gpu_ref`; ``V0`` is not used. ``marginal`` is ``W'(x, s)``, ``(N_k, N_z)``, by
    default computed by differences. The policy is rounded to the grid. The error, against the solution on the grid, has
    no bound.

    Raises
    ------
    ValueError
        A table breaks a condition of :mod:`beltline.gpu_ref` or of this module, or a number is out of range.
    """
    check_limits(epsilon, max_sweeps)
    X, W, Q, _ = check_tables(X, W, Q, V0, beta, eta)
    slope = marginal_wealth(X, W, marginal)
    begin = time.perf_counter()
    with threads(threads_for(W.size)):
        solver = Endogenous(X, W, slope, Q, beta, eta)
        solver.load()
        change = solver.solve(epsilon, max_sweeps)
        value, policy = solver.evaluate(epsilon, max_sweeps)
    seconds = {"solve": time.perf_counter() - begin}
    return Solution(value, policy, solver.sweeps, solver.sweeps, change, math.inf, change < epsilon, seconds)
