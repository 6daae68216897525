"""Exact maximisation for any value function, concave or not, in ``O(N_k log N_k)`` per exogenous state.

Only the monotonicity of the policy is used.

*Theorem.* If ``W`` is non-decreasing in ``x``, the lowest maximiser is non-decreasing in ``x``, whatever ``V`` is.

*Proof.* Fix ``s``, and let ``O(x, i) = U(W(x, s) - X_i) + EV_i``. Candidates with ``EV_i = -inf`` win in no state, and
which candidates these are does not depend on ``x``, so leave them out. Take ``x < y``, let ``j`` be the lowest
maximiser at ``x``, and suppose that the lowest maximiser at ``y`` is ``i < j``. Candidate ``i`` is feasible at ``x``
because ``X_i < X_j < W(x)``, and ``j`` is feasible at ``y`` because ``W(x) <= W(y)``: all four objectives are finite.
``U`` is concave and ``W(x) - X_j < W(x) - X_i``, so adding ``W(y) - W(x) >= 0`` to both consumptions raises the utility
of the first by at least as much as that of the second::

    U(W(y) - X_j) - U(W(x) - X_j)  >=  U(W(y) - X_i) - U(W(x) - X_i)

(increasing differences). Therefore ``O(y, j) - O(y, i) >= O(x, j) - O(x, i)``, where the right side is positive because
``j`` is the *lowest* maximiser at ``x``. So ``i`` is no maximiser at ``y``, a contradiction. States without a feasible
candidate have the lowest ``x``, because a higher ``x`` can afford at least as much. Sources: Topkis (1978), "Minimizing
a submodular function on a lattice", Operations Research 26; Milgrom and Shannon (1994), "Monotone comparative statics",
Econometrica 62; for divide and conquer, Gordon and Qiu (2018), "A divide and conquer algorithm for exploiting policy
function monotonicity", Quantitative Economics 9.

*Rounding.* The proof is about real numbers. Computed objectives have errors of about one unit in the last place, so
where two candidates differ by less, the lowest *computed* maximiser can fall in ``x``, and the search then returns the
other candidate with its computed objective. By the inequality above, a bound that is optimal to within ``e`` in its own
row costs the rows that it bounds at most ``e``. So the value is below that of full search by at most a few units in the
last place for each of the ``log2 N_k`` levels, and the policies can differ only in such near ties.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beltline.compiled import njit, prange
from beltline.gpu_ref.tables import Array, check_tables, expectation
from beltline.gpu_ref.threads import threads, threads_for
from beltline.gpu_ref.utility import crra


@njit(parallel=True, cache=True)
def _level(X: Array, W: Array, ev: Array, eta: float, step: int, value: Array, policy: NDArray[np.int32]) -> None:
    # With grid points numbered from 1, the rows of a level are the odd multiples of `step`. Their neighbours at that
    # distance are even multiples, which earlier levels have solved.
    """Search all rows of one level, each between the choices of its two neighbours at distance ``step``."""
    grid, states = W.shape
    rows = (grid // step + 1) // 2
    for t in prange(rows * states):
        row = (2 * (t // states) + 1) * step - 1
        s = t % states
        wealth = W[row, s]
        low = max(policy[row - step, s], 0) if row - step >= 0 else 0
        high = policy[row + step, s] if row + step < grid else X.size - 1
        best = -np.inf
        index = -1
        for i in range(low, high + 1):
            if not X[i] < wealth:
                break
            objective = crra(wealth - X[i], eta) + ev[s, i]
            if objective > best:
                best = objective
                index = i
        value[row, s] = best
        policy[row, s] = index


@njit(cache=True)
def _levels(X: Array, W: Array, ev: Array, eta: float, step: int, value: Array, policy: NDArray[np.int32]) -> None:
    """Search all levels, from the widest ``step`` to 1."""
    while step:
        _level(X, W, ev, eta, step, value, policy)
        step //= 2


def exact_sweep(
    X: ArrayLike, W: ArrayLike, Q: ArrayLike, V: ArrayLike, beta: float, eta: float
) -> tuple[Array, NDArray[np.int32]]:
    """Sweep exactly by divide and conquer on the monotone policy; ``V`` need not be concave.

    The middle row is searched in full; its choice limits the search of the rows below and above it; and so on, level by
    level. The intervals of a level overlap only at their ends, so a level takes at most ``N_k`` evaluations plus one
    for each of its rows, and there are ``log2 N_k`` levels. The rows of a level and all exogenous states run in
    parallel.

    Arguments, results and errors as in :mod:`beltline.gpu_ref`; also raises ``ValueError`` if ``W`` falls in ``x``. The
    module's docstring has the proof, and what rounding does to near ties.
    """
    X, W, Q, V = check_tables(X, W, Q, V, beta, eta, ordered=True)
    value = np.empty(W.shape)
    policy = np.empty(W.shape, dtype=np.int32)
    divide_and_conquer(X, W, expectation(Q, V, beta), eta, value, policy)
    return value, policy


def divide_and_conquer(X: Array, W: Array, ev: Array, eta: float, value: Array, policy: NDArray[np.int32]) -> None:
    """Fill ``value`` and ``policy``, ``(N_k, N_z)``, from checked tables and their expectation, ``(N_z, N_k)``."""
    with threads(threads_for(W.size)):
        _levels(X, W, ev, eta, 1 << (X.size.bit_length() - 1), value, policy)
