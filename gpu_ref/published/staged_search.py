"""The staged search of the assembly line, in double precision: three candidates per stage, four in the last.

Source: Peri (2019), "A Hardware Approach to Value Function Iteration", CU Boulder working paper 19-01, appendix C. On
``N_k = 2^p`` points, stage ``n = 1 .. p-1`` has ``step(n) = 2^(p-n-1)`` and compares the candidates ``step(n) (h(n) +
j)``, ``j = 1, 2, 3``. The last stage compares ``j = 0 .. 3``, and its lowest maximiser is the result. ``h(1) = 0`` and
``h(n+1) = 2 h(n) + j*(n)``, where ``j*`` follows from the set of maximal candidates:

===================== ====================== ======================
maximal candidates    ``rule="published"``   ``rule="corrected"``
===================== ====================== ======================
{1}                   0                      0
{1, 2}                1                      1
{2} or {1, 2, 3}      2                      2
{2, 3}                3                      3
{3}                   4                      4
{1, 3}                0                      0
all infeasible        2: they tie at -inf    0: go left
===================== ====================== ======================

{1, 3} does not occur with a concave objective. If three candidates are infeasible, the published rule leads into the
infeasible half of the grid, and no later stage comes back. This can happen in the first stage only: if candidate 1 of a
stage is feasible, so is candidate 1 of the next, because it lies below a feasible maximiser. So with single-peaked
objectives and ``N_k >= 8`` the published rule is wrong in exactly the states with a feasible choice and ``W(x, s) <=
X[N_k / 4]``, whatever ``V`` is, and finds no choice at all for them.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beltline.compiled import njit, njit_inlined, prange
from beltline.gpu_ref.methods import Solution
from beltline.gpu_ref.published import iteration
from beltline.gpu_ref.tables import Array, check_tables, expectation
from beltline.gpu_ref.utility import crra

Rule = Literal["published", "corrected"]

BATCH = 1 << 17
"""States searched in one call of compiled code, a fraction of a second; Python can handle Ctrl-C between calls."""


@njit_inlined
def _objective(wealth: float, choice: float, future: float, eta: float) -> float:
    """Return the objective of a choice, ``-inf`` if it is not affordable."""
    if choice < wealth:
        return crra(wealth - choice, eta) + future
    return -np.inf


@njit(parallel=True, cache=True)
def _search(X: Array, W: Array, ev: Array, eta: float, left: bool, value: Array, policy: NDArray[np.int32]) -> None:
    """Search all states of these rows; ``left`` is whether the corrected rule applies."""
    grid, states = X.size, W.shape[1]
    for t in prange(W.size):
        x = t // states
        s = t % states
        wealth = W[x, s]
        h = 0
        step = grid // 4
        while step > 1:
            i = step * (h + 1)
            one = _objective(wealth, X[i], ev[s, i], eta)
            i += step
            two = _objective(wealth, X[i], ev[s, i], eta)
            i += step
            three = _objective(wealth, X[i], ev[s, i], eta)
            best = max(one, two, three)
            if best == -np.inf:
                j = 0 if left else 2
            elif two == best:
                j = 2
                if one == best and three != best:
                    j = 1
                elif three == best and one != best:
                    j = 3
            elif one == best:
                j = 0
            else:
                j = 4
            h = 2 * h + j
            step //= 2
        best = -np.inf
        index = -1
        for i in range(h, h + 4):
            objective = _objective(wealth, X[i], ev[s, i], eta)
            if objective > best:
                best = objective
                index = i
        value[x, s] = best
        policy[x, s] = index


def search(X: Array, W: Array, ev: Array, eta: float, rule: Rule, value: Array, policy: NDArray[np.int32]) -> None:
    """Search all states in batches; nothing is checked.

    ``ev`` as returned by :func:`beltline.gpu_ref.tables.expectation`; ``value`` and ``policy``, ``(N_k, N_z)``
    ``float64`` and ``int32``, are filled; other arguments as for :func:`sweep`.
    """
    size = max(1, BATCH // W.shape[1])
    for first in range(0, W.shape[0], size):
        rows = slice(first, first + size)
        _search(X, W[rows], ev, eta, rule == "corrected", value[rows], policy[rows])


def sweep(
    X: ArrayLike, W: ArrayLike, Q: ArrayLike, V: ArrayLike, beta: float, eta: float, rule: Rule = "corrected"
) -> tuple[Array, NDArray[np.int32]]:
    """Sweep once by the staged search; exact if every objective has a single peak and ``rule`` is ``"corrected"``.

    Arguments and results as in :mod:`beltline.gpu_ref`, with ``N_k`` a power of two from 4. If the last stage finds no
    candidate of finite value, the value is ``-inf`` and the policy ``-1``; under the published rule this happens also
    in states that have one.

    Raises
    ------
    ValueError
        The tables break a condition of :mod:`beltline.gpu_ref`, ``N_k`` is no power of two from 4, or ``rule`` is
        unknown.
    """
    X, W, Q, V = check_tables(X, W, Q, V, beta, eta)
    check_rule(X.size, rule)
    value = np.empty(W.shape)
    policy = np.empty(W.shape, dtype=np.int32)
    search(X, W, expectation(Q, V, beta), eta, rule, value, policy)
    return value, policy


def check_rule(points: int, rule: str) -> None:
    """Raise ``ValueError`` if ``points``, the ``N_k``, is no power of two from 4, or ``rule`` is unknown."""
    if points < 4 or points & (points - 1):
        raise ValueError(f"the staged search needs a power of two from 4 as N_k, not {points}")
    if rule not in ("published", "corrected"):
        raise ValueError(f"rule must be 'published' or 'corrected', not {rule!r}")


def solve(
    X: ArrayLike,
    W: ArrayLike,
    Q: ArrayLike,
    V0: ArrayLike,
    beta: float,
    eta: float,
    epsilon: float,
    max_sweeps: int = 100_000,
    rule: Rule = "corrected",
) -> Solution:
    """Solve by the staged search in every sweep.

    Arguments and errors as for :func:`beltline.gpu_ref.published.iteration.solve` and :func:`sweep`. The error bound
    holds if every objective has a single peak and ``rule`` is ``"corrected"``.
    """

    def searched(X: Array, W: Array, Q: Array, V: Array, beta: float, eta: float) -> tuple[Array, NDArray[np.int32]]:
        value, policy = np.empty(W.shape), np.empty(W.shape, np.int32)
        search(X, W, expectation(Q, V, beta), eta, rule, value, policy)
        return value, policy

    check_rule(np.size(X), rule)
    return iteration.solve(X, W, Q, V0, beta, eta, epsilon, max_sweeps, searched)
