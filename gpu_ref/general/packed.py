"""Stack the tables of all alternatives for compiled sweeps, with exogenous states first."""

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
"""Kinds of alternatives: with several candidates, with exactly one candidate in every state, and without a choice."""


class Packed(NamedTuple):
    """Tables of all alternatives, and what sweeps store between calls, as arrays that compiled code takes.

    Attributes
    ----------
    kind, regime
        ``(N_d,)``: :data:`SEARCHED`, :data:`FORCED` or :data:`TABLE`; the regime to which the alternative belongs.
    wealth, cost
        ``(N_d, N_z, N_k)``, ``float64``, units of consumption. For a table without a choice ``wealth`` is its value,
        units of utility.
    low, high, first, last
        ``(N_d, N_z, N_k)``, ``int32``: bounds on ``x'``, and their
        :func:`~beltline.gpu_ref.general.candidates.windows`.
    all_allowed
        ``(N_d, N_z)``: whether every state is allowed every ``x'``.
    reach
        ``(N_d, 2)``: the lowest and the highest ``x'`` that any state may take.
    transition, beta, kappa, mix
        ``(N_d, N_z, N_z)``, ``(N_d, N_z)``, ``(N_d, N_z)`` and ``(N_d, N_r)``, ``float64``.
    leads_to
        ``(N_d,)``: the regime to which the alternative leads; -1 if there are several.
    tags, cached
        ``(N_d, N_z, N_k, 4)``, ``int32`` and ``float64``: utilities that sweeps have computed, and the ``x'`` to which
        they belong, -1 if none. For forced choices the first ``N_k`` numbers of ``cached`` hold the utilities.
    stale
        ``(N_d, N_z)``: whether the cache was filled with other tables than the present ones.
    many_moved
        ``(N_d, N_z)``: whether the last sweep changed so many choices that the next one probably will, too.
    new_tables
        ``(N_d, N_z)``: whether the tables have changed since the last sweep, in which case the cache is not used.
    """

    kind: NDArray[np.int64]
    regime: NDArray[np.int64]
    wealth: Array
    cost: Array
    low: Indexes
    high: Indexes
    first: Indexes
    last: Indexes
    all_allowed: NDArray[np.bool_]
    reach: NDArray[np.int64]
    transition: Array
    beta: Array
    kappa: Array
    mix: Array
    leads_to: NDArray[np.int64]
    tags: Indexes
    cached: Array
    stale: NDArray[np.bool_]
    many_moved: NDArray[np.bool_]
    new_tables: NDArray[np.bool_]


def empty(alternatives: int, regimes: int, grid: int, states: int) -> Packed:
    """Allocate arrays for tables; fill them with :func:`put`, one alternative after the other."""
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
        all_allowed=np.zeros(of_state, np.bool_),
        reach=np.zeros((alternatives, 2), np.int64),
        transition=np.zeros((alternatives, states, states)),
        beta=np.zeros(of_state),
        kappa=np.zeros(of_state),
        mix=np.zeros((alternatives, regimes)),
        leads_to=np.full(alternatives, -1),
        # Pages of memory that no sweep touches are never allocated.
        tags=np.empty((*of_all, 4), np.int32),
        cached=np.empty((*of_all, 4)),
        stale=np.ones(of_state, np.bool_),
        many_moved=np.zeros(of_state, np.bool_),
        new_tables=np.ones(of_state, np.bool_),
    )


@njit(cache=True)
def _copy_changed(given: NDArray[np.float64], stored: NDArray[np.float64], changed: NDArray[np.bool_]) -> None:
    """Copy ``given``, ``(N_k, N_z)``, into ``stored``, ``(N_z, N_k)``, and mark exogenous states in which they
    differed.
    """
    for s in range(stored.shape[0]):
        differs = 0
        for x in range(stored.shape[1]):
            differs += given[x, s] != stored[s, x]
            stored[s, x] = given[x, s]
        changed[s] |= differs > 0


def put(packed: Packed, d: int, regime: int, tables: Tables | Array, before: Tables | Array | None = None) -> None:
    """Write the tables of alternative ``d``; for one without a choice, ``tables`` is its value, ``(N_k, N_z)``.

    ``before`` are the tables that it had until now; arrays that are the same objects are not compared again.
    """
    packed.regime[d] = regime
    changed = np.zeros(packed.stale.shape[1], np.bool_)
    if not isinstance(tables, Tables):
        _copy_changed(tables, packed.wealth[d], changed)
        return
    old = before if isinstance(before, Tables) else (None,) * len(tables)
    new = {name for name, one, other in zip(tables._fields, tables, old, strict=True) if one is not other}
    bounded = np.zeros_like(changed)
    for names, marks in ((("wealth", "cost"), changed), (("low", "high"), bounded)):
        for name in new.intersection(names):
            _copy_changed(getattr(tables, name), getattr(packed, name)[d], marks)
    packed.stale[d] |= changed | bounded
    packed.new_tables[d] |= changed | bounded
    if bounded.any():
        low, high = packed.low[d], packed.high[d]
        alike = bool((low == low[0]).all() and (high == high[0]).all())
        packed.first[d, 0], packed.last[d, 0] = windows(low[0], high[0])
        for s in range(1, changed.size):
            ends = (packed.first[d, 0], packed.last[d, 0]) if alike else windows(low[s], high[s])
            packed.first[d, s], packed.last[d, s] = ends
        packed.all_allowed[d] = (low.max(axis=1) == 0) & (high.min(axis=1) == tables.low.shape[0] - 1)
        packed.kind[d] = FORCED if (packed.low[d] == packed.high[d]).all() else SEARCHED
        packed.reach[d] = packed.low[d].min(), packed.high[d].max()
    for name in new.intersection(("transition", "beta", "kappa", "mix")):
        getattr(packed, name)[d] = getattr(tables, name)
    if "mix" in new:
        sole = np.flatnonzero(tables.mix)
        packed.leads_to[d] = sole[0] if sole.size == 1 and tables.mix[sole[0]] == 1.0 else -1


def pack(given: Sequence[tuple[int, Tables | Array]], regimes: int) -> Packed:
    """Stack the tables of alternatives, given as pairs of regime and tables."""
    first = given[0][1]
    grid, states = (first.wealth if isinstance(first, Tables) else first).shape
    packed = empty(len(given), regimes, grid, states)
    for d, (regime, tables) in enumerate(given):
        put(packed, d, regime, tables)
    return packed
