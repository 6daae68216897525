"""The clocks that a proof may take: a budget for gateware that is not there yet, from what the model's rounds did.

Check, walk and patch have a clock model that tests find equal to the gateware. The passes of a proof have none to be
compared with: what is counted here is what ``docs/sweep-engine.md`` plans for them, a term for each part, each counted
high. Walks from better candidates are those of :func:`beltline.hw.sweep.clocks.lane_clocks`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from beltline.hw.arithmetic.evaluator import EvaluatorParameters
from beltline.hw.sweep.clocks import Dealt, SweepLog, lane_clocks
from beltline.hw.sweep.datapath import join_clocks, largest_norm_clocks
from beltline.hw.sweep.parameters import HALF_WORDS
from beltline.hw.sweep.patch import NOTES
from beltline.hw.sweep.proof import Round, distances
from beltline.hw.sweep.row_buses import RowBusesParameters
from beltline.hw.sweep.walk.halves import UNLOAD_CLOCKS

WIDE = 64
"""Candidates of a bracket above which the lanes that hold them evaluate it, each its own, instead of the state's."""


def proof_clocks(dealt: Dealt, rounds: Sequence[Round], unchecked: NDArray[np.bool_]) -> int:
    """Clocks of a proof, from the end of the last lane's walk to the begin of the patch.

    Parameters
    ----------
    dealt
        States to lanes and walkers.
    rounds
        Of the proof, with the probes of their walks.
    unchecked
        bool, ``(lanes,)``: as in :class:`beltline.hw.sweep.clocks.SweepLog`. The brackets at the ends of the grid are
        evaluated while a lane checks its states, where it does.
    """
    total = 0
    for number, one in enumerate(rounds):
        shadow = np.zeros(unchecked.size, np.int64)
        if number == 0:
            points = np.array([dealt.points(lane) for lane in range(unchecked.size)])
            shadow = np.where(unchecked, 0, points * dealt.states)
        for rows in _passes(one):
            total += _pass(dealt, one, rows, shadow)
        if one.moved.any():
            total += _walks(dealt, one)
    return total


def _passes(one: Round) -> list[NDArray[np.int64]]:
    """The points of each pass of a round."""
    points = np.arange(one.widths.shape[0])
    if one.levels == 1:
        return [points]
    return [points[d :: 2 * d] if d else points[:1] for d in distances(points.size)]


def _pass(dealt: Dealt, one: Round, rows: NDArray[np.int64], shadow: NDArray[np.int64]) -> int:
    """Clocks of a pass over the brackets of these points, ``shadow`` of each lane's hidden for the ends of the grid."""
    build = dealt.walk.build
    widths, lowest = one.widths[rows], one.lowest[rows]
    at_end = ((rows == 0) | (rows == one.widths.shape[0] - 1))[:, None] & (widths > 0) & (shadow.max() > 0)
    wide = (widths > WIDE) | at_end
    narrow = (widths > 0) & ~wide
    clocks = np.zeros(build.lanes, np.int64)
    if narrow.any():
        # A lane's brackets one after the other, as fast as halves of rows come; where one ends at a candidate that
        # cannot be afforded, those behind it are under way.
        rate = max(1, build.slots // HALF_WORDS)
        lost = EvaluatorParameters(build.multiplier).latency
        spent = np.where(narrow, 2 + rate * widths + lost * one.cuts[rows], 0).sum(axis=1)
        np.add.at(clocks, rows >> dealt.lane_shift, spent)
        # Words of marks that are read.
        clocks += -(-(1 << dealt.lane_shift) // NOTES) * dealt.states
    if wide.any():
        own = _of_candidates(dealt, lowest[wide & ~at_end], widths[wide & ~at_end])
        own += np.maximum(_of_candidates(dealt, lowest[wide & at_end], widths[wide & at_end]) - shadow, 0)
        clocks += own + 2 * int(wide.sum())
    around = 3 + join_clocks(build)
    if not (narrow.any() or wide.any()):
        return around
    fetch = RowBusesParameters(build, build.inner_bits).latency + UNLOAD_CLOCKS + build.slots
    latency = fetch + EvaluatorParameters(build.multiplier).latency + largest_norm_clocks(build) + build.lane_bits + 8
    return around + latency + int(clocks.max())


def _of_candidates(dealt: Dealt, lowest: NDArray[np.int64], widths: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many candidates of these brackets each lane holds: int64, ``(lanes,)``."""
    size, lanes = 1 << dealt.lane_shift, dealt.walk.build.lanes
    edges = np.arange(lanes + 1, dtype=np.int64)[:, None] * size
    inside = np.clip(lowest + widths, edges[:-1], edges[1:]) - np.clip(lowest, edges[:-1], edges[1:])
    return np.asarray(inside.sum(axis=1))


def _walks(dealt: Dealt, one: Round) -> int:
    """Clocks of the walks of a round."""
    build = dealt.walk.build
    log = SweepLog(dealt, one.lowest, one.moved, one.counts, one.probes, np.ones(build.lanes, np.bool_))
    return 3 + int(lane_clocks(log, np.full(build.lanes, -1)).ends.max()) + join_clocks(build)
