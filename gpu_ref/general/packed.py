"""The tables of a general problem as compiled sweeps read them: all alternatives stacked, exogenous states first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit
from beltline.gpu_ref.general.candidates import Indexes, windows
from beltline.gpu_ref.general.form import Tables
from beltline.gpu_ref.tables import Array

SEARCHED, FORCED, TABLE = 0, 1, 2
"""Kinds of alternatives: with candidates, with one candidate in every state, without any."""


class Packed(NamedTuple):
    """Tables of all alternatives, and what sweeps keep of them; arrays that compiled code may take as they are.

    Attributes
    ----------
    kind, regime
        ``(N_d,)``: :data:`SEARCHED`, :data:`FORCED` or :data:`TABLE`; the regime that it is of.
    wealth, cost
        ``(N_d, N_z, N_k)``, ``float64``, units of money; of a table ``wealth`` is its value, units of utility.
    low, high, first, last
        ``(N_d, N_z, N_k)``, ``int32``: bounds on ``x'``, and their
        :func:`~beltline.gpu_ref.general.candidates.windows`.
    whole
        ``(N_d, N_z)``: whether every state is allowed every ``x'``.
    reach
        ``(N_d, 2)``: the lowest and the highest ``x'`` that any state may take.
    transition, beta, kappa, mix
        ``(N_d, N_z, N_z)``, ``(N_d, N_z)``, ``(N_d, N_z)`` and ``(N_d, N_r)``, ``float64``.
    leads_to
        ``(N_d,)``: the one regime to which it leads, -1 where it leads to several.
    tags, known
        ``(N_d, N_z, N_k, 4)``, ``int32`` and ``float64``: utilities that sweeps have computed, in units of utility, and
        the ``x'`` that they are of, -1 where there is none; of what is forced, the first ``N_k`` numbers of ``known``.
    stale
        ``(N_d, N_z)``: whether ``tags`` is of other tables than these.
    far
        ``(N_d, N_z)``: whether the last sweep has moved so many choices that the next may, too.
    moving
        ``(N_d, N_z)``: whether the tables are new since the last sweep; utilities are not worth keeping then.
    """

    kind: NDArray[np.int64]
    regime: NDArray[np.int64]
    wealth: Array
    cost: Array
    low: Indexes
    high: Indexes
    first: Indexes
    last: Indexes
    whole: NDArray[np.bool_]
    reach: NDArray[np.int64]
    transition: Array
    beta: Array
    kappa: Array
    mix: Array
    leads_to: NDArray[np.int64]
    tags: Indexes
    known: Array
    stale: NDArray[np.bool_]
    far: NDArray[np.bool_]
    moving: NDArray[np.bool_]


def empty(alternatives: int, regimes: int, grid: int, states: int) -> Packed:
    """Room for tables; each alternative is then given to :func:`put`."""
    of_state, of_all = (alternatives, states), (alternatives, states, grid)
    return Packed(
        kind=np.full(alternatives, TABLE),
        regime=np.zeros(alternatives, np.int64),
        wealth=np.full(of_all, np.nan),
        cost=np.full(of_all, np.nan),
        low=np.full(of_all, -1, np.int32),
        high=np.full(of_all, -1, np.int32),
        first=np.empty(of_all, np.int32),
        last=np.empty(of_all, np.int32),
        whole=np.zeros(of_state, np.bool_),
        reach=np.zeros((alternatives, 2), np.int64),
        transition=np.zeros((alternatives, states, states)),
        beta=np.zeros(of_state),
        kappa=np.zeros(of_state),
        mix=np.zeros((alternatives, regimes)),
        leads_to=np.full(alternatives, -1),
        # Memory that no sweep touches costs nothing.
        tags=np.empty((*of_all, 4), np.int32),
        known=np.empty((*of_all, 4)),
        stale=np.ones(of_state, np.bool_),
        far=np.zeros(of_state, np.bool_),
        moving=np.ones(of_state, np.bool_),
    )


@njit(cache=True)
def _taken(given: NDArray[np.float64], kept: NDArray[np.float64], changed: NDArray[np.bool_]) -> None:
    """Copy ``given``, ``(N_k, N_z)``, into ``kept``, ``(N_z, N_k)``, and mark the exogenous states that differ."""
    for x in range(kept.shape[1]):
        for s in range(kept.shape[0]):
            if given[x, s] != kept[s, x]:
                kept[s, x] = given[x, s]
                changed[s] = True


def put(packed: Packed, d: int, regime: int, tables: Tables | Array, before: Tables | Array | None = None) -> None:
    """Put the tables of alternative ``d`` in; a table without a choice is its value, ``(N_k, N_z)``.

    ``before`` are those that it had: an array that is the same object is not looked at again.
    """
    packed.regime[d] = regime
    changed = np.zeros(packed.stale.shape[1], np.bool_)
    if not isinstance(tables, Tables):
        _taken(tables, packed.wealth[d], changed)
        return
    old = before if isinstance(before, Tables) else (None,) * len(tables)
    new = {name for name, one, other in zip(tables._fields, tables, old, strict=True) if one is not other}
    bounded = np.zeros_like(changed)
    for names, marks in ((("wealth", "cost"), changed), (("low", "high"), bounded)):
        for name in new.intersection(names):
            _taken(getattr(tables, name), getattr(packed, name)[d], marks)
    packed.stale[d] |= changed | bounded
    packed.moving[d] |= changed | bounded
    if bounded.any():
        low, high = packed.low[d], packed.high[d]
        alike = bool((low == low[0]).all() and (high == high[0]).all())
        packed.first[d, 0], packed.last[d, 0] = windows(low[0], high[0])
        for s in range(1, changed.size):
            ends = (packed.first[d, 0], packed.last[d, 0]) if alike else windows(low[s], high[s])
            packed.first[d, s], packed.last[d, s] = ends
        packed.whole[d] = (low.max(axis=1) == 0) & (high.min(axis=1) == tables.low.shape[0] - 1)
        packed.kind[d] = FORCED if (packed.low[d] == packed.high[d]).all() else SEARCHED
        packed.reach[d] = packed.low[d].min(), packed.high[d].max()
    for name in new.intersection(("transition", "beta", "kappa", "mix")):
        getattr(packed, name)[d] = getattr(tables, name)
    if "mix" in new:
        sole = np.flatnonzero(tables.mix)
        packed.leads_to[d] = sole[0] if sole.size == 1 and tables.mix[sole[0]] == 1.0 else -1


def pack(given: Sequence[tuple[int, Tables | Array]], regimes: int) -> Packed:
    """Tables of alternatives, each with its regime."""
    first = given[0][1]
    grid, states = (first.wealth if isinstance(first, Tables) else first).shape
    packed = empty(len(given), regimes, grid, states)
    for d, (regime, tables) in enumerate(given):
        put(packed, d, regime, tables)
    return packed
