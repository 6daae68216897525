"""Discrete dynamic programs from the arrays of QuantEcon's ``DiscreteDP``; QuantEcon need not be installed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beltline.host.problem.checks import ProblemError, first, numbers_of, place, shown, whole
from beltline.host.problem.discrete import (
    INDEX_LIMIT,
    NOTHING,
    DiscreteProblem,
    check_chances,
    discounting,
)
from beltline.host.problem.memory import memory_as_problem_error
from beltline.host.problem.problem import ROW_SUM_TOLERANCE

ENTRIES_PER_STEP = 2**24
"""Number of entries of a dense ``Q`` that are copied to a sparse matrix at once, about."""


def from_discrete_dp(
    R: Any,
    Q: Any = None,
    beta: Any = None,
    s_indices: ArrayLike | None = None,
    a_indices: ArrayLike | None = None,
    *,
    endog_size: int | None = None,
    horizon: int | None = None,
    start: ArrayLike | None = None,
    name: str = "discrete problem",
) -> DiscreteProblem:
    """Make a discrete dynamic program from the arguments of QuantEcon's ``DiscreteDP``, or from a ``DiscreteDP``.

    Both of its forms are accepted: the product form, with arrays over all states and actions, and the form by pairs,
    with one entry for each feasible pair of a state and an action. Transitions may be any. Pairs that have the same
    distribution of the next state (as when an action chooses the next endogenous state) are recognized, and each such
    expectation is computed once.

    Parameters
    ----------
    R : (n, m) array, or (L,) array, or DiscreteDP
        Product form: reward of action ``a`` in state ``i``, in units of utility; ``-inf`` where it cannot be taken. By
        pairs: the reward of each pair. A state without an action that can be taken has the value minus infinity, and so
        have states all of whose actions may lead to such states; no action is taken that may. A ``DiscreteDP`` brings
        ``Q``, ``beta`` and the indices with it; these must then be left out.
    Q : (n, m, n) array, or list of m (n, n) scipy.sparse matrices, or (L, n) array or scipy.sparse matrix
        Probabilities of the next state; in a list, one matrix for each action, with a row for each state. Those of an
        action that cannot be taken are ignored.
    beta : float
        Discount factor, at least 0 and at most 1; with a horizon any number from 0. With 1 and an infinite horizon
        every state must be able to reach, with probability 1, an end: a state that stays where it is for a reward of 0,
        or several states that lead to each other only, for 0. The value is then the largest sum of expected rewards.
    s_indices, a_indices : (L,) array of int, optional
        By pairs: state and action of each pair, in any order.
    endog_size : int, optional
        ``N_k``, the number of endogenous states, if a state is a pair of an endogenous and an exogenous state: state
        ``i`` is then ``(i // N_z, i % N_z)`` with ``N_z = n / N_k``. Tables of the solution have shape ``(N_k, N_z)``.
        Each row of ``Q`` must then combine one next endogenous state with the row of one exogenous Markov matrix.
    horizon : int, optional
        Number of ages ``T`` of a problem with a finite horizon, at most 65,536. By default the horizon is infinite.
    start : (n,) array, or (N_k, N_z) with ``endog_size``, optional
        With a horizon the value after the last age, in units of utility, ``-inf`` where one may not end; by default 0.
    name : str
        Name in reports and messages.

    Returns
    -------
    DiscreteProblem
        For ``bl.solve``. Its solution has tables of shape ``(n,)``, or ``(N_k, N_z)`` with ``endog_size``, with a
        horizon after an axis of ages.

    Raises
    ------
    ProblemError
        Shapes do not agree, a reward is not a number, a row of ``Q`` is not a distribution, a state has no pair, no
        value is finite, a state cannot surely reach an end with ``beta = 1``, ``Q`` does not have the structure that
        ``endog_size`` requires, or the problem does not fit in memory. The message is one sentence about the first
        error found.

    Examples
    --------
    The example of Puterman (2005), section 3.1, in the product form and by pairs:

    >>> import beltline as bl
    >>> R, Q = [[5, 10], [-1, -float("inf")]], [[(0.5, 0.5), (0, 1)], [(0, 1), (0.5, 0.5)]]
    >>> bl.solve(bl.from_discrete_dp(R, Q, 0.95)).value.round(8)
    array([ -8.57142857, -20.        ])
    >>> pairs = bl.from_discrete_dp([5, 10, -1], [(0.5, 0.5), (0, 1), (0, 1)], 0.95, [0, 0, 1], [0, 1, 0])
    >>> bl.solve(pairs).policy
    array([0, 0])

    A game that ends in state 1, where each try costs 1 and succeeds with probability 1/4:

    >>> bl.solve(bl.from_discrete_dp([[-1], [0]], [[(0.75, 0.25)], [(0, 1)]], 1)).value
    array([-4.,  0.])
    """
    from beltline.gpu_ref.discrete.program import check_pairs, distinct, numbered, program_of

    if Q is None and all(hasattr(R, each) for each in ("R", "Q", "beta", "s_indices", "a_indices")):
        if beta is not None or s_indices is not None or a_indices is not None:
            raise ProblemError("beta, s_indices and a_indices are taken from the DiscreteDP and must not be given")
        R, Q, beta, s_indices, a_indices = R.R, R.Q, R.beta, R.s_indices, R.a_indices
    rewards = _rewards(R)
    with memory_as_problem_error():
        check_pairs(rewards.size)
        made = _product if rewards.ndim == 2 else _by_pairs
        pairs = made(rewards, Q, s_indices, a_indices)
        _check_finite(pairs)
        check_chances(pairs.chances, pairs.entry, pairs.row)
        states = pairs.chances.shape[1]
        shape = (states,) if endog_size is None else _factors(pairs, endog_size)
        beta, horizon, start = discounting(beta, horizon, start, shape)
        lotteries, lottery = distinct(pairs.chances)
        number, lotteries, group = numbered(pairs.state, lottery, lotteries)
        program = program_of(pairs.state, pairs.action, pairs.reward, number, lotteries, beta, group, horizon is None)
        return DiscreteProblem(program, shape, name, horizon, start)


@dataclass(frozen=True)
class _Pairs:
    """The feasible pairs, and how messages name them.

    Attributes
    ----------
    state, action, reward
        ``(L,)``.
    chances
        ``(L, n)`` sparse: the probabilities of the next state.
    number
        ``(L,)``: position of each pair in the caller's arrays by pairs; None in the product form.
    matrices
        Whether the caller's ``Q`` is a list of matrices, one for each action.
    """

    state: NDArray[np.int64]
    action: NDArray[np.int64]
    reward: NDArray[np.float64]
    chances: Any
    number: NDArray[np.int64] | None
    matrices: bool = False

    def entry(self, pair: int, to: int) -> str:
        """Return how messages name a probability: its place in the caller's ``Q``."""
        if self.matrices:
            return place(f"Q[{self.action[pair]}]", (int(self.state[pair]), to))
        if self.number is None:
            return place("Q", (int(self.state[pair]), int(self.action[pair]), to))
        return place("Q", (int(self.number[pair]), to))

    def row(self, pair: int) -> str:
        """Return how messages name the distribution of a pair: its place in the caller's ``Q``."""
        if self.matrices:
            return f"row {self.state[pair]} of Q[{self.action[pair]}]"
        if self.number is None:
            return place("Q", (int(self.state[pair]), int(self.action[pair])))
        return f"row {self.number[pair]} of Q"


def _rewards(R: Any) -> NDArray[np.float64]:
    given = numbers_of("R", R, "an array of real numbers, -inf where an action cannot be taken")
    if given.ndim not in (1, 2) or not given.size:
        raise ProblemError(f"R must have shape (n, m), or (L,) with s_indices and a_indices, not {given.shape}")
    rewards = given.astype(np.float64)
    bad = ~(np.isfinite(rewards) | (rewards == -np.inf))
    if bad.any():
        where = first(bad)
        raise ProblemError(
            f"R must be finite, or -inf where an action cannot be taken, but {place('R', where)} is {rewards[where]}"
        )
    if not (rewards > -np.inf).any():
        raise ProblemError(NOTHING)
    return rewards


def _product(R: NDArray[np.float64], Q: Any, s_indices: Any, a_indices: Any) -> _Pairs:
    """Return the feasible pairs of arguments in the product form."""
    from scipy import sparse

    if s_indices is not None or a_indices is not None:
        raise ProblemError(f"s_indices and a_indices need an R of shape (L,), one reward per pair, not {R.shape}")
    n, m = R.shape
    wanted = f"Q must have shape {(n, m, n)}, as R has {(n, m)}"
    if sparse.issparse(Q):
        raise ProblemError(f"{wanted}, or be a list of {m} sparse matrices, and not one of shape {Q.shape}")
    if isinstance(Q, list | tuple) and any(map(sparse.issparse, Q)):
        return _of_matrices(R, Q)
    given = numbers_of("Q", Q)
    if given.shape != (n, m, n):
        raise ProblemError(f"{wanted}, not {given.shape}")
    state, action = np.nonzero(R > -np.inf)
    step = max(1, ENTRIES_PER_STEP // max(1, n))
    parts = [
        sparse.csr_array(given[state[p : p + step], action[p : p + step]].astype(np.float64))
        for p in range(0, state.size, step)
    ]
    return _Pairs(state, action, R[state, action], sparse.vstack(parts, format="csr"), None)


def _of_matrices(R: NDArray[np.float64], Q: Any) -> _Pairs:
    """Return the feasible pairs of the product form with a sparse matrix for each action."""
    from scipy import sparse

    n, m = R.shape
    wanted = f"Q must be a list of {m} sparse matrices of shape {(n, n)}, one for each action of R"
    if len(Q) != m:
        raise ProblemError(f"{wanted}, not of {len(Q)}")
    for a, each in enumerate(Q):
        if not sparse.issparse(each) or each.shape != (n, n) or each.dtype.kind not in "iuf":
            raise ProblemError(f"{wanted}, but Q[{a}] is {shown(each)}")
    state, action = np.nonzero(R > -np.inf)
    # Rows of one action after another, of which those of each state are then taken together.
    chances = sparse.vstack([_rows(f"Q[{a}]", each) for a, each in enumerate(Q)], format="csr")[action * n + state]
    chances.sum_duplicates()
    chances.eliminate_zeros()
    return _Pairs(state, action, R[state, action], chances, None, True)


def _by_pairs(R: NDArray[np.float64], Q: Any, s_indices: Any, a_indices: Any) -> _Pairs:
    """Return the feasible pairs of arguments in the form by pairs."""
    from scipy import sparse

    given = Q if sparse.issparse(Q) else numbers_of("Q", Q)
    if given.ndim != 2 or given.shape[0] != R.size or not given.shape[1]:
        raise ProblemError(f"Q must have shape ({R.size}, n), one row for each of the pairs of R, not {given.shape}")
    if given.dtype.kind not in "iuf":
        raise ProblemError(f"Q must be made of real numbers, not of type {given.dtype}")
    state = _indices("s_indices", s_indices, R.size, given.shape[1] - 1)
    action = _indices("a_indices", a_indices, R.size, INDEX_LIMIT)
    order = np.lexsort((action, state))
    twice = np.flatnonzero((np.diff(state[order]) == 0) & (np.diff(action[order]) == 0))
    if twice.size:
        one, other = sorted(order[twice[0] : twice[0] + 2].tolist())
        raise ProblemError(
            f"pairs must differ, but pairs {one} and {other} are both action {action[one]} in state {state[one]}"
        )
    missing = np.bincount(state, minlength=given.shape[1]) == 0
    if missing.any():
        raise ProblemError(
            f"every state must have a pair, with a reward of -inf if it has no action, and state {np.argmax(missing)} "
            "has none"
        )
    number = order[R[order] > -np.inf]
    chances = _rows("Q", given)
    chances.sum_duplicates()
    chances.eliminate_zeros()
    return _Pairs(state[number], action[number], R[number], chances[number], number)


def _rows(name: str, given: Any) -> Any:
    """Return a copy of a matrix as a sparse array by rows, after checking its indices, which SciPy trusts."""
    from scipy import sparse

    try:
        if hasattr(given, "check_format"):
            given.check_format(full_check=True)
        elif sparse.issparse(given) and given.format == "coo":
            given = sparse.coo_array((given.data, (given.row, given.col)), shape=given.shape)
        return sparse.csr_array(given, dtype=np.float64, copy=True)
    except ValueError as error:
        raise ProblemError(f"{name} must be a valid sparse matrix, and SciPy says: {error}") from None


def _indices(name: str, given: Any, count: int, most: int) -> NDArray[np.int64]:
    wanted = f"{count} whole numbers, one for each of the pairs of R"
    found = numbers_of(name, given, wanted, "iu")
    if found.shape != (count,):
        raise ProblemError(f"{name} must be {wanted}, not {shown(given)}")
    out = (found < 0) | (found > most)
    if out.any():
        where = first(out)
        raise ProblemError(f"{name} must be from 0 to {most}, but {place(name, where)} is {found[where]}")
    return found.astype(np.int64)


def _check_finite(pairs: _Pairs) -> None:
    bad = np.flatnonzero(~np.isfinite(pairs.chances.data))
    if bad.size:
        row = int(np.searchsorted(pairs.chances.indptr, bad[0], side="right")) - 1
        to = int(pairs.chances.indices[bad[0]])
        raise ProblemError(f"Q must be finite, but {pairs.entry(row, to)} is {pairs.chances.data[bad[0]]}")


def _factors(pairs: _Pairs, endog_size: Any) -> tuple[int, int]:
    """Return ``(N_k, N_z)`` after checking that ``Q`` has the structure that ``endog_size`` requires.

    Every row of ``Q`` must be one next endogenous state combined with a row of one exogenous Markov matrix.
    """
    from scipy import sparse

    states = pairs.chances.shape[1]
    n_k = whole(
        "endog_size",
        endog_size,
        f"a whole number that divides the {states} states",
        lambda v: v > 0 and states % v == 0,
    )
    n_z = states // n_k
    # A row's first entry gives its next endogenous state (every row has an entry), and the first pair of an exogenous
    # state gives that state's row of the Markov matrix. All other entries are compared with what follows from these.
    rows = pairs.chances
    following = rows.indices[rows.indptr[:-1]] // n_z
    z = pairs.state % n_z
    known, where = np.unique(z, return_index=True)
    chain = np.zeros((n_z, n_z))
    for each, pair in zip(known.tolist(), where.tolist(), strict=True):
        own = slice(rows.indptr[pair], rows.indptr[pair + 1])
        inside = rows.indices[own] // n_z == following[pair]
        chain[each, rows.indices[own][inside] % n_z] = rows.data[own][inside]
    chosen = np.nonzero(chain[z])
    wanted = sparse.csr_array((chain[z][chosen], (chosen[0], following[chosen[0]] * n_z + chosen[1])), shape=rows.shape)
    off = abs(rows - wanted)
    at, to = (off > ROW_SUM_TOLERANCE).nonzero()
    if at.size:
        pair = int(at.min())
        j = int(to[at == pair].min())
        raise ProblemError(
            f"with endog_size = {n_k} an action must choose the next endogenous state, and one Markov chain must "
            f"govern the {n_z} exogenous {'state' if n_z == 1 else 'states'}, but {pairs.entry(pair, j)} is "
            f"{rows[pair, j]:.6g} instead of {wanted[pair, j]:.6g}; leave out endog_size, and any Q is accepted"
        )
    return n_k, n_z
