"""The proof of a sweep: every choice is the best of the bracket between its neighbours' choices, or is repaired.

The theorem (``docs/sweep-engine.md``) then says that every choice is the best of all candidates, whatever the values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beltline.hw.arithmetic.objective import raised_status
from beltline.hw.arithmetic.utility_constants import UtilityConstants
from beltline.hw.interface.registers import Status
from beltline.hw.sweep.clocks import Dealt, Round
from beltline.hw.sweep.scan.parameters import LIMIT, divides, may_end, parity_of
from beltline.hw.sweep.software_passes import walk_all
from beltline.hw.sweep.software_proof import SKIPPED, bracket_all, divide_all


@dataclass(eq=False)
class Proof:
    """Rounds over the choices of a sweep until one moves none.

    Odd rounds look at the states of odd points, even ones at those of even points: each reads choices that stand, those
    of its neighbours, so its results depend neither on lanes nor on time. Where ``2 ROUNDS`` of them have not ended,
    one finds the choices of every lane anew, between those of the points beside it, by divide and conquer; then they go
    on. After ``LIMIT`` of all nothing is proven, which takes objectives that differ by no more than the rounding of
    utility.

    Parameters
    ----------
    dealt
        States to lanes and walkers.
    x, w, ev, constants
        As those of :func:`beltline.hw.sweep.software_passes.walk_all`.
    choices, kept, value
        Of the sweep; written where a choice moves.
    smooth
        bool, ``(lanes,)``: lanes of which a round has seen that choices rise by a point at most, and in which none was
        written since; changed.
    room
        Probes of a walker that are logged.

    Attributes
    ----------
    rounds
        What each did.
    proven
        Whether every choice is the best of its bracket, and none is below that of the point before.
    evaluations
        Of brackets and walks.
    status
        ``SATURATED`` where an utility left its range.
    """

    dealt: Dealt
    x: NDArray[np.int64]
    w: NDArray[np.int64]
    ev: NDArray[np.int64]
    constants: UtilityConstants
    choices: NDArray[np.int64]
    kept: NDArray[np.int64]
    value: NDArray[np.int64]
    smooth: NDArray[np.bool_]
    room: int = 0

    def __post_init__(self) -> None:
        self.rounds: list[Round] = []
        self.status = Status(0)
        self.evaluations = 0
        self.proven = False
        while len(self.rounds) < LIMIT:
            number = len(self.rounds)
            crossed = self._round(number)
            if may_end(number) and not self.rounds[-1].moved.any():
                self.proven = not crossed
                break

    @property
    def moved(self) -> NDArray[np.bool_]:
        """The states that were walked from a better candidate: bool, ``(N_k, N_z)``."""
        return np.logical_or.reduce([one.moved for one in self.rounds])

    @property
    def divided(self) -> int:
        """Rounds by divide and conquer."""
        return sum(map(divides, range(len(self.rounds))))

    def _round(self, number: int) -> bool:
        """Find better candidates, and walk from them; whether choices crossed."""
        shape = self.choices.shape
        ends = self.smooth & (not divides(number))
        steps = np.diff(self.choices, axis=0, append=self.choices[-1:])
        # From a lane to the next they may do what they like.
        steps[(1 << self.dealt.lane_shift) - 1 :: 1 << self.dealt.lane_shift] = 0
        steep = self._in_lane((steps < 0) | (steps > 1))
        lowest, highest = np.full(shape, SKIPPED, np.int64), np.zeros(shape, np.int64)
        moved, flags, crossed = np.zeros(shape, np.bool_), np.zeros(shape[0], np.uint8), np.zeros(shape[0], np.bool_)
        tables = np.atleast_2d(self.x), self.w, self.ev, self.constants.words
        results = lowest, highest, moved
        if divides(number):
            divide_all(*tables, self.dealt.lane_shift, self.choices.copy(), self.choices, *results, flags)
        else:
            bracket_all(*tables, parity_of(number), self.choices, *results, crossed, flags)
        self.status |= raised_status(flags)
        self.evaluations += int((highest - lowest + 1)[lowest != SKIPPED].sum())
        walk = self.dealt.walk
        found = self.choices.copy()
        while True:
            moves = np.zeros((walk.build.lanes, walk.contexts), np.int64)
            given = self.x, self.w, self.ev, self.constants, moved, found, self.choices, self.kept, self.value, moves
            done = walk_all(self.dealt, *given, exact=True, room=self.room)
            if not self.room or done.counts.max() <= self.room:
                break
            self.room = int(done.counts.max()) * 5 // 4
        self.status |= done.status
        self.evaluations += done.evaluations
        kind = divides(number), parity_of(number), ends
        self.rounds.append(Round(*kind, lowest, highest, moved, done.counts, done.probes))
        if not divides(number):
            self.smooth |= ~steep
        self.smooth &= ~self._in_lane(moved)
        return bool(crossed.any())

    def _in_lane(self, states: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Lanes that have one of ``states``, bool ``(N_k, N_z)``: bool, ``(lanes,)``."""
        found = np.zeros(self.smooth.shape, np.bool_)
        found[np.flatnonzero(states.any(axis=1)) >> self.dealt.lane_shift] = True
        return found
