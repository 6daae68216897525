"""The tables of a discrete dynamic program: pairs of state and action, and the lotteries to which they lead."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from beltline.gpu_ref.memory import check_memory
from beltline.gpu_ref.tables import Array

Integers = NDArray[np.integer[Any]]

DOUBLE = 2.0**-53
"""Largest relative error of one rounding."""

SMALLEST = 2.0**-1074
"""Smallest number above 0, of which a product that is not a normal number may be off by half."""

BYTES = 64
"""Upper bound on the bytes that a pair takes while a program is built, in addition to its lotteries."""


@dataclass(frozen=True, eq=False)
class Program:
    """A discrete dynamic program, built by :func:`program_of`.

    Attributes
    ----------
    reward
        ``(L,)``, ``float64``: reward of every pair, units of utility. State ``i`` has the pairs from ``first[i]`` to
        ``first[i + 1] - 1``, at least one.
    first
        ``(n + 1,)``, ``int64``.
    lottery
        ``(L,)``, ``int32``: lottery of each pair; rises strictly within a state.
    action
        ``(L,)``, unsigned: the caller's number of each pair's action.
    chances
        ``(K, n)``, sparse rows: the lotteries. No entry is negative.
    beta
        Discount factor.
    order, begin
        ``(n,)`` and ``(G + 1,)``, ``int64``: the states by groups, no two of which share a lottery. Group ``g`` has the
        states ``order[begin[g]:begin[g + 1]]``, in rising order.
    lost
        ``(n,)``, ``bool``: the states with the value minus infinity. They have one pair, which stays. With an infinite
        horizon it has the reward 0, and no pair of another state leads there; otherwise it has minus infinity.
    """

    reward: Array
    first: NDArray[np.int64]
    lottery: NDArray[np.int32]
    action: Integers
    chances: Any
    beta: float
    order: NDArray[np.int64]
    begin: NDArray[np.int64]
    lost: NDArray[np.bool_]

    @property
    def states(self) -> int:
        """Number of states, ``n``."""
        return self.first.size - 1

    @property
    def pairs(self) -> int:
        """Number of pairs, ``L``."""
        return self.reward.size

    @property
    def groups(self) -> int:
        """Number of groups, ``G``."""
        return self.begin.size - 1

    @cached_property
    def modulus(self) -> float:
        """Contraction modulus, rounded up: ``beta`` times the largest sum of a lottery."""
        return float(self.beta * self.chances.sum(axis=1).max() * (1.0 + (self.width + 2) * DOUBLE))

    @cached_property
    def rate(self) -> float:
        """``1 - beta`` times the largest sum of a lottery, in double precision."""
        return 1.0 - self.beta * float(self.chances.sum(axis=1).max())

    @cached_property
    def even(self) -> bool:
        """Whether all lotteries sum to the same, up to a tenth of :attr:`rate`."""
        sums = self.chances.sum(axis=1)
        return bool(self.rate > 0.0 and self.beta * np.ptp(sums) <= 0.1 * self.rate)

    @cached_property
    def width(self) -> int:
        """Largest number of next states of a lottery."""
        return int(np.diff(self.chances.indptr).max())

    def expected(self, V: Array) -> Array:
        """Return ``beta P V``, ``(K,)``, for a value ``(n,)``, which may have minus infinity."""
        found: Array = self.beta * (self.chances @ V) if self.beta else np.zeros(self.chances.shape[0])
        return found

    @cached_property
    def state(self) -> NDArray[np.int64]:
        """State of every pair, ``(L,)``."""
        return np.repeat(np.arange(self.states), np.diff(self.first))

    def rounding(self, V: Array, best: Array) -> float:
        """Bound the distance of the computed ``T V``, ``best``, from the exact one in any state, units of utility.

        An expectation over ``w`` next states takes ``w`` products and sums and one product by ``beta``; adding the
        reward rounds once more. Products near the smallest number are rounded to a multiple of it.
        """
        size = float(np.abs(V).max())
        relative = (self.width + 2) * DOUBLE * self.modulus * size * 1.01 + DOUBLE * 1.01 * float(np.abs(best).max())
        return relative + (self.width + 2) * SMALLEST


def check_pairs(count: int) -> None:
    """Refuse more pairs than fit into free memory.

    Raises
    ------
    MemoryError
        They do not fit; the message says how much memory is needed and how much is free.
    """
    check_memory(BYTES * count, f"a discrete program of {count:,} pairs of a state and an action")


def next_states(chain: Array, points: int) -> Any:
    """Return the lotteries of actions that choose the next endogenous state while a chain moves the exogenous one.

    Parameters
    ----------
    chain
        ``(N_z, N_z)``, transition matrix.
    points
        ``N_k``.

    Returns
    -------
    sparse array
        ``(N_z N_k, N_k N_z)``: row ``z N_k + k'`` leads to the states ``k' N_z + z'``.
    """
    states = chain.shape[0]
    z, to = np.nonzero(chain)
    rows = (z * points)[:, None] + np.arange(points)
    columns = np.arange(points) * states + to[:, None]
    shape = states * points, points * states
    return sparse.csr_array((np.repeat(chain[z, to], points), (rows.ravel(), columns.ravel())), shape=shape)


def distinct(rows: Any) -> tuple[Any, NDArray[np.int64]]:
    """Return the different rows of a sparse matrix, and for each row the number of the one that equals it.

    ``rows`` must have sorted indices and no zeros. Rows are distinguished by their product with random numbers, and
    then compared entry by entry: if two different rows have the same product, every row counts as different.
    """
    keys = rows @ np.random.default_rng(0).random(rows.shape[1])
    _, where, which = np.unique(keys, return_index=True, return_inverse=True)
    if where.size == rows.shape[0]:
        return rows, np.arange(rows.shape[0])
    found = rows[where]
    again = found[which]
    if all(np.array_equal(getattr(again, name), getattr(rows, name)) for name in ("indptr", "indices", "data")):
        return found, which.astype(np.int64)
    return rows, np.arange(rows.shape[0])


def numbered(state: Integers, lottery: Integers, chances: Any) -> tuple[Integers, Any, NDArray[np.int64]]:
    """Assign numbers to lotteries by groups that share no state, in a group by the mean number of the next state.

    Parameters
    ----------
    state, lottery
        ``(L,)``: of every pair.
    chances
        ``(K, n)``, the lotteries.

    Returns
    -------
    lottery
        ``(L,)``, with the new numbers.
    chances
        In the new order.
    group
        ``(n,)``, the group of each state.
    """
    count, states = chances.shape
    links = sparse.coo_array(
        (np.ones(state.size, np.int8), (state, states + lottery)), shape=(states + count, states + count)
    )
    group = connected_components(links, directed=False)[1].astype(np.int64)
    order = np.lexsort((chances @ np.arange(states, dtype=np.float64), group[states:]))
    number = np.empty(count, np.int64)
    number[order] = np.arange(count)
    return number[lottery], chances[order], group[:states]


def lost_states(state: Integers, lottery: Integers, chances: Any, forever: bool) -> NDArray[np.bool_]:
    """Return the states without a pair, ``(n,)``; ``forever`` also those whose every pair may lead to such a state.

    The value of the latter is minus infinity, too: whatever is chosen, a state without an action may be reached.
    """
    lost: NDArray[np.bool_] = np.bincount(state, minlength=chances.shape[1]) == 0
    while forever and lost.any():
        left = state[~(chances @ lost.astype(np.float64) > 0.0)[lottery]]
        more = np.bincount(left, minlength=lost.size) == 0
        if (more == lost).all():
            break
        lost = more
    return lost


def program_of(
    state: Integers,
    action: Integers,
    reward: Array,
    lottery: Integers,
    chances: Any,
    beta: float,
    group: Integers | None = None,
    forever: bool = True,
) -> Program:
    """Arrange pairs of state and action as a program; nothing is checked.

    Parameters
    ----------
    state, action, reward, lottery
        ``(L,)``: the pairs, in any order; rewards are finite. Of several actions of a state that lead to one lottery
        only the best is used, the lowest of equals.
    chances
        ``(K, n)``, sparse rows.
    beta
        Discount factor, from 0.
    group
        ``(n,)``: the same number for states that may share a lottery; by default all states are one group.
    forever
        Whether the horizon is infinite, so that actions which may lead to a state without one are never taken.
    """
    states = chances.shape[1]
    group = np.zeros(states, np.int64) if group is None else group
    lost = lost_states(state, lottery, chances, forever and beta > 0.0)
    if lost.any():
        alone = np.flatnonzero(lost)
        new = chances.shape[0] + np.arange(alone.size)
        may = ~lost[state]
        if forever and beta > 0.0:
            may &= (chances @ lost.astype(np.float64) == 0.0)[lottery]
        state, action = np.append(state[may], alone), np.append(action[may], np.zeros(alone.size, action.dtype))
        reward, lottery = (
            np.append(reward[may], np.full(alone.size, 0.0 if forever else -np.inf)),
            np.append(lottery[may], new),
        )
        chances = sparse.vstack([chances, sparse.eye_array(states, format="csr")[alone]], format="csr")
        # Each is a group of its own, so that the order of the lotteries of others remains.
        group = np.where(lost, group.max() + 1 + np.arange(states), group)
    step = np.diff(state)
    if not ((step > 0) | ((step == 0) & (np.diff(lottery) > 0))).all():
        order = np.lexsort((action, -reward, lottery, state))
        state, action, reward, lottery = state[order], action[order], reward[order], lottery[order]
        keep = np.append(True, (np.diff(state) > 0) | (np.diff(lottery) > 0))
        state, action, reward, lottery = state[keep], action[keep], reward[keep], lottery[keep]
    first = np.zeros(states + 1, np.int64)
    np.cumsum(np.bincount(state, minlength=states), out=first[1:])
    by_group = np.argsort(group, kind="stable")
    begin = np.flatnonzero(np.append(True, np.diff(group[by_group]) != 0))
    tables = (
        np.ascontiguousarray(reward, np.float64),
        first,
        lottery.astype(np.int32),
        action.astype(np.min_scalar_type(int(action.max()))),
        chances,
        beta,
        by_group.astype(np.int64),
        np.append(begin, states).astype(np.int64),
        lost,
    )
    for table in tables:
        if isinstance(table, np.ndarray):
            table.flags.writeable = False
    return Program(*tables)
