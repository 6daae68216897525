"""How the states of a problem are dealt to lanes and searches, and the log of a sweep, from which its clocks follow.

In names, ``context`` is the number of a search in its lane, and ``probe`` stands for one evaluation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beltline.hw.interface.parameters import ROW_WORDS
from beltline.hw.sweep.parameters import SHARED_STATES
from beltline.hw.sweep.search.parameters import SearchParameters

OFF_GRID = -1
"""Index of an evaluation in a log whose candidate is not on the grid."""


@dataclass(frozen=True)
class Dealt:
    """Assignment of the states of a problem to lanes, and within a lane to the searches that share its evaluator.

    Parameters
    ----------
    search
        Parameters of the build's local search.
    grid, states
        ``N_k`` and ``N_z`` of the problem.
    """

    search: SearchParameters
    grid: int
    states: int

    @property
    def lane_shift(self) -> int:
        """``c``: lane ``l`` has the points ``l 2**c`` to ``(l + 1) 2**c - 1``."""
        return (ROW_WORDS * self.search.build.local_rows(self.grid)).bit_length() - 1

    @property
    def part_shift(self) -> int:
        """Each search has ``2**part_shift`` points of its lane, in one exogenous state."""
        return max(0, self.lane_shift - self.search.part_bits)

    @property
    def used(self) -> int:
        """Number of lanes that have points."""
        return ((self.grid - 1) >> self.lane_shift) + 1

    @property
    def shares(self) -> bool:
        """Whether the lanes share the brackets of the first and the last point before the rounds of a proof."""
        return self.search.build.general and self.used > 1 and self.states <= SHARED_STATES * self.used

    def points(self, lane: int) -> int:
        """Return the number of points of lane number ``lane``, 0 if the problem ends before it."""
        return min(max(self.grid - (lane << self.lane_shift), 0), 1 << self.lane_shift)

    @property
    def firsts(self) -> NDArray[np.int64]:
        """The first point of each lane that has points: int64, ``(used,)``."""
        return np.arange(0, self.grid, 1 << self.lane_shift)


@dataclass(frozen=True, eq=False)
class SweepLog:
    """Log of a sweep, from which its clocks follow.

    Parameters
    ----------
    dealt
        Assignment of states to lanes and searches.
    choices
        int64, ``(N_k, N_z)``: choices before the sweep, which the check reads; 0 in the first sweep of a run.
    searched
        bool, ``(N_k, N_z)``: states that were searched.
    counts
        int64, ``(lanes, contexts)``: number of evaluations of each search.
    probes
        int32, ``(lanes * contexts, m)`` with ``m`` at least the largest count: the evaluations of each search, in
        order. Each is ``2 * index + last``: ``index`` is the candidate, or ``OFF_GRID``, and ``last`` is 1 in the last
        evaluation of a state.
    unchecked
        bool, ``(lanes,)``: lanes that search all their states without a check.
    """

    dealt: Dealt
    choices: NDArray[np.int64]
    searched: NDArray[np.bool_]
    counts: NDArray[np.int64]
    probes: NDArray[np.int32]
    unchecked: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Round:
    """Log of a round of a proof (:class:`beltline.hw.sweep.proof.Proof`), from which its clocks follow.

    Parameters
    ----------
    divide, odd
        Whether the round was by divide and conquer; 1 if it examined the states of odd points (or, by divide and
        conquer, of the first points of lanes), 0 if of even points (or of all other points).
    ends
        bool, ``(lanes,)``: lanes that examined only their first and last point.
    lowest, highest
        int64, ``(N_k, N_z)``: brackets that were evaluated. ``lowest`` is -1 for states whose bracket was not, because
        check or local search had already compared all its candidates, or it was the choice alone in a round that
        divides, or the round did not examine the state.
    moved
        bool, ``(N_k, N_z)``: states with a better candidate in the bracket, which were repaired from there.
    counts, probes
        Evaluations of these repairs, as in :class:`SweepLog`.
    states
        int64: exogenous states that scans read, in order.
    shared
        All lanes evaluated the brackets of the first and the last point, before the rounds.
    """

    divide: bool
    odd: int
    ends: NDArray[np.bool_]
    lowest: NDArray[np.int64]
    highest: NDArray[np.int64]
    moved: NDArray[np.bool_]
    counts: NDArray[np.int64]
    probes: NDArray[np.int32]
    states: NDArray[np.int64]
    shared: bool = False


def scanned(limits: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the exogenous states that scans read; ``limits`` are lowest and highest candidates.

    They are int64, ``(2, 1, N_z)`` or ``(2, N_k, N_z)``. A state with a single candidate at all points is skipped,
    unless the one before it was.
    """
    forced = limits[0].min(axis=0) == limits[1].max(axis=0)
    states = []
    state = int(forced[0] and forced.size > 1)
    while state < forced.size:
        states.append(state)
        state += 1 + int(state + 1 < forced.size and forced[state + 1])
    return np.array(states, np.int64)
