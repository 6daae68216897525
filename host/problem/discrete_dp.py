"""Problems from the arrays of QuantEcon's ``DiscreteDP``, which need not be installed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beltline.host.problem.checks import ProblemError, first, place, shown, whole
from beltline.host.problem.discrete import (
    MOST,
    DiscreteProblem,
    check_chances,
    discount,
    everyone_chooses,
    refused,
)
from beltline.host.problem.problem import ROW_SUM_TOLERANCE

ROWS = 2**24
"""Entries of a dense ``Q`` that are made sparse together."""


def from_discrete_dp(
    R: Any,
    Q: Any = None,
    beta: Any = None,
    s_indices: ArrayLike | None = None,
    a_indices: ArrayLike | None = None,
    *,
    endog_size: int | None = None,
    name: str = "discrete problem",
) -> DiscreteProblem:
    """Make a problem from what QuantEcon's ``DiscreteDP`` is made from, in either of its forms, or from one itself.

    Any transitions do. Where many pairs of a state and an action have the same distribution of the next state, as where
    an action chooses the next endogenous state, this is found, and their expectations are taken once.

    Parameters
    ----------
    R : (n, m) array, or (L,) array, or DiscreteDP
        Reward of action ``a`` in state ``i``, in units of utility, and ``-inf`` where it cannot be taken; or those of
        the pairs of ``s_indices`` and ``a_indices``. Of a ``DiscreteDP`` the rest is taken, too.
    Q : (n, m, n) array, or (L, n) array or scipy.sparse matrix
        Probabilities of the next state. Those of a pair that cannot be taken are not looked at.
    beta : float
        Discount factor, from 0 and below 1.
    s_indices, a_indices : (L,) array of int, optional
        State and action of each pair, in any order.
    endog_size : int, optional
        ``N_k``, where state ``i`` is the endogenous state ``i // N_z`` and the exogenous state ``i % N_z`` with ``N_z``
        ``n / N_k``: then tables of the solution have shape ``(N_k, N_z)``, and every row of ``Q`` must be one next
        endogenous state and the row of one exogenous chain.
    name : str

    Returns
    -------
    DiscreteProblem
        For ``bl.solve``.

    Raises
    ------
    ProblemError
        An array does not fit, a probability or a reward is none, a state has no action, or ``Q`` is not what
        ``endog_size`` says; the first fault, in one sentence.

    Examples
    --------
    Puterman (2005), section 3.1, in the product form and by pairs:

    >>> import beltline as bl
    >>> R, Q = [[5, 10], [-1, -float("inf")]], [[(0.5, 0.5), (0, 1)], [(0, 1), (0.5, 0.5)]]
    >>> bl.solve(bl.from_discrete_dp(R, Q, 0.95)).value.round(8)
    array([ -8.57142857, -20.        ])
    >>> pairs = bl.from_discrete_dp([5, 10, -1], [(0.5, 0.5), (0, 1), (0, 1)], 0.95, [0, 0, 1], [0, 1, 0])
    >>> bl.solve(pairs).policy
    array([0, 0])
    """
    from beltline.gpu_ref.discrete.program import check_pairs, distinct, numbered, program_of

    if Q is None and all(hasattr(R, each) for each in ("R", "Q", "beta", "s_indices", "a_indices")):
        if beta is not None or s_indices is not None or a_indices is not None:
            raise ProblemError(
                "beta, s_indices and a_indices are those of the DiscreteDP, and must not be given as well"
            )
        R, Q, beta, s_indices, a_indices = R.R, R.Q, R.beta, R.s_indices, R.a_indices
    beta = discount(beta)
    rewards = _rewards(R)
    with refused():
        check_pairs(rewards.size)
        made = _product if rewards.ndim == 2 else _by_pairs
        pairs = made(rewards, Q, s_indices, a_indices)
        _check_finite(pairs)
        check_chances(pairs.chances, pairs.entry, pairs.row)
        states = pairs.chances.shape[1]
        everyone_chooses(np.bincount(pairs.state, minlength=states), (states,))
        shape = (states,) if endog_size is None else _factors(pairs, endog_size)
        lotteries, lottery = distinct(pairs.chances)
        number, lotteries, group = numbered(pairs.state, lottery, lotteries)
        program = program_of(pairs.state, pairs.action, pairs.reward, number, lotteries, beta, group)
    return DiscreteProblem(program, shape, name)


@dataclass(frozen=True)
class _Pairs:
    """Pairs that can be taken; ``number`` is that of each in the arrays that were given, None in the product form."""

    state: NDArray[np.int64]
    action: NDArray[np.int64]
    reward: NDArray[np.float64]
    chances: Any
    number: NDArray[np.int64] | None

    def entry(self, pair: int, to: int) -> str:
        """What the caller calls a probability."""
        if self.number is None:
            return place("Q", (int(self.state[pair]), int(self.action[pair]), to))
        return place("Q", (int(self.number[pair]), to))

    def row(self, pair: int) -> str:
        """What the caller calls a row."""
        if self.number is None:
            return place("Q", (int(self.state[pair]), int(self.action[pair])))
        return f"row {self.number[pair]} of Q"


def _rewards(R: Any) -> NDArray[np.float64]:
    try:
        given = np.asarray(R)
    except ValueError:
        raise ProblemError("R must be an array of real numbers, not a ragged sequence") from None
    if given.dtype.kind not in "iuf":
        raise ProblemError(f"R must be an array of real numbers, not {shown(R)}")
    if given.ndim not in (1, 2) or not given.size:
        raise ProblemError(f"R must have shape (n, m), or (L,) with s_indices and a_indices, not {given.shape}")
    rewards = given.astype(np.float64)
    bad = ~(np.isfinite(rewards) | (rewards == -np.inf))
    if bad.any():
        where = first(bad)
        raise ProblemError(
            f"R must be finite, or -inf where an action cannot be taken, but {place('R', where)} is {rewards[where]}"
        )
    return rewards


def _product(R: NDArray[np.float64], Q: Any, s_indices: Any, a_indices: Any) -> _Pairs:
    """The pairs of the product form."""
    from scipy import sparse

    if s_indices is not None or a_indices is not None:
        raise ProblemError(f"s_indices and a_indices go with an R of shape (L,), not {R.shape}")
    n, m = R.shape
    wanted = f"Q must have shape {(n, m, n)}, as R has {(n, m)}"
    if sparse.issparse(Q):
        raise ProblemError(f"{wanted}, and not be a sparse matrix of shape {Q.shape}")
    given = _dense(Q)
    if given.shape != (n, m, n):
        raise ProblemError(f"{wanted}, not {given.shape}")
    state, action = np.nonzero(R > -np.inf)
    step = max(1, ROWS // max(1, n))
    parts = [
        sparse.csr_array(given[state[p : p + step], action[p : p + step]].astype(np.float64))
        for p in range(0, state.size, step)
    ]
    everyone_chooses(np.bincount(state, minlength=n), (n,))
    return _Pairs(state, action, R[state, action], sparse.vstack(parts, format="csr"), None)


def _by_pairs(R: NDArray[np.float64], Q: Any, s_indices: Any, a_indices: Any) -> _Pairs:
    """The pairs of the form by pairs."""
    from scipy import sparse

    given = Q if sparse.issparse(Q) else _dense(Q)
    if given.ndim != 2 or given.shape[0] != R.size or not given.shape[1]:
        raise ProblemError(f"Q must have shape ({R.size}, n), one row for each of the pairs of R, not {given.shape}")
    if given.dtype.kind not in "iuf":
        raise ProblemError(f"Q must be made of real numbers, not of type {given.dtype}")
    state = _indices("s_indices", s_indices, R.size, given.shape[1] - 1)
    action = _indices("a_indices", a_indices, R.size, MOST)
    order = np.lexsort((action, state))
    twice = np.flatnonzero((np.diff(state[order]) == 0) & (np.diff(action[order]) == 0))
    if twice.size:
        one, other = sorted(order[twice[0] : twice[0] + 2].tolist())
        raise ProblemError(
            f"pairs must differ, but pairs {one} and {other} are both action {action[one]} in state {state[one]}"
        )
    number = order[R[order] > -np.inf]
    chances = sparse.csr_array(given, dtype=np.float64, copy=True)
    chances.sum_duplicates()
    chances.eliminate_zeros()
    return _Pairs(state[number], action[number], R[number], chances[number], number)


def _dense(Q: Any) -> NDArray[Any]:
    try:
        given = np.asarray(Q)
    except ValueError:
        raise ProblemError("Q must be an array of real numbers, not a ragged sequence") from None
    if given.dtype.kind not in "iuf":
        raise ProblemError(f"Q must be an array of real numbers, not {shown(Q)}")
    return given


def _indices(name: str, given: Any, count: int, most: int) -> NDArray[np.int64]:
    found = np.asarray(given) if given is not None else np.empty(0)
    if given is None or found.dtype.kind not in "iu" or found.shape != (count,):
        raise ProblemError(f"{name} must be {count} whole numbers, one for each of the pairs of R, not {shown(given)}")
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
    """``(N_k, N_z)``, if every row of ``Q`` is one next endogenous state and the row of one exogenous chain."""
    from scipy import sparse

    states = pairs.chances.shape[1]
    n_k = whole(
        "endog_size",
        endog_size,
        f"a whole number that divides the {states} states",
        lambda v: v > 0 and states % v == 0,
    )
    n_z = states // n_k
    # Every row has an entry. What it should be: where its first entry is, with the chain of the first such pair.
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
            f"with endog_size = {n_k} an action must choose the next endogenous state, and one chain move the "
            f"{n_z} exogenous {'state' if n_z == 1 else 'states'}, but {pairs.entry(pair, j)} is {rows[pair, j]:.6g} "
            f"where that gives {wanted[pair, j]:.6g}; without endog_size any Q will do"
        )
    return n_k, n_z
