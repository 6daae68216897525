"""Software model of the proof of a sweep, which shows that each choice is the best in its bracket, or repairs it.

The bracket of a state reaches from the choice of the point before to that of the point after. If every choice is the
lowest best one of its bracket, and choices do not fall in ``x``, each of them is the best of all candidates, whatever
the value function: the bracket theorem, ``docs/several-peaks.md``. ``docs/sweep-engine.md`` describes the
rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.hw.arithmetic.objective import raised_status
from beltline.hw.arithmetic.utility_constants import UtilityConstants
from beltline.hw.interface.registers import Status
from beltline.hw.sweep.dealt import Dealt, Round, scanned
from beltline.hw.sweep.scan.parameters import LIMIT, divides, may_end, parity_of
from beltline.hw.sweep.software_passes import search_all, whole_grid
from beltline.hw.sweep.software_proof import SKIPPED, bracket_all, divide_all, share_ends


@dataclass(eq=False)
class Proof:
    """Proves the choices of a sweep, in rounds until one moves no choice.

    Rounds examine the states of odd points and of even points in turn. A round reads only choices of the other half of
    the points, which do not change meanwhile, so its result depends neither on the lanes nor on timing. If ``2 ROUNDS``
    rounds are not enough, two rounds of divide and conquer find all choices again: first those of the first points of
    lanes, among all candidates, then those of all other points of each lane. Then the rounds continue. A proof ends
    only with a round that moves no choice and follows a round over the other points, so never with the first one, or
    the first one after divide and conquer. After ``LIMIT`` rounds in all the sweep remains unproven, which happens only
    if objectives differ by no more than the rounding of utility.

    Where lanes share the brackets of the first and the last point of the grid, they evaluate these before the rounds.
    If none of them has a better candidate, they are *confirmed*: rounds skip those of an end until a choice of its lane
    is written. Otherwise the rounds find that candidate.

    A state with a better candidate in its bracket is repaired: a local search from there determines choice, cached
    utilities and value.

    Parameters
    ----------
    dealt
        Assignment of states to lanes and searches.
    x, w, ev, constants
        Tables and constants, as in :func:`beltline.hw.sweep.software_passes.search_all`.
    choices, cached, value
        int64, ``(N_k, N_z)``, ``(N_k, N_z, 3)``, ``(N_k, N_z)``: choices, cached utilities and values of the sweep.
        Overwritten for states that are repaired.
    smooth
        bool, ``(lanes,)``: lanes in which a round found that every choice is that of the point before or one point
        above it, and in which no choice was written since. Rounds examine only their first and last point. Updated.
    room
        Evaluations of each search that are logged; 0 for no log.
    limits
        int64, ``(2, 1, N_z)`` or ``(2, N_k, N_z)``: the lowest and the highest candidate of each exogenous state, at
        all points or at each of them; by default the whole grid. Choices are among these.

    Attributes
    ----------
    rounds
        A :class:`beltline.hw.sweep.dealt.Round` for each round.
    shared
        Such a log of the evaluation of shared brackets, or ``None``.
    proven
        Whether every choice is the lowest best one of its bracket, and none is below that of the point before.
    evaluations
        Utilities that were evaluated, for brackets and repairs.
    status
        ``SATURATED`` if a utility or a value left its range.
    """

    dealt: Dealt
    x: NDArray[np.int64]
    w: NDArray[np.int64]
    ev: NDArray[np.int64]
    constants: UtilityConstants
    choices: NDArray[np.int64]
    cached: NDArray[np.int64]
    value: NDArray[np.int64]
    smooth: NDArray[np.bool_]
    room: int = 0
    limits: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        self.rounds: list[Round] = []
        self.status = Status(0)
        self.evaluations = 0
        self.proven = False
        self.shared: Round | None = None
        self._states = np.arange(self.choices.shape[1])
        if self.dealt.search.build.general:
            self._states = scanned(self._tables()[-1])
        self._confirmed = np.zeros(2, np.bool_)
        if self.dealt.shares:
            self._share()
        while len(self.rounds) < LIMIT:
            number = len(self.rounds)
            crossed = self._round(number)
            if may_end(number) and not self.rounds[-1].moved.any():
                self.proven = not crossed
                break

    @property
    def moved(self) -> NDArray[np.bool_]:
        """States that were repaired in any round: bool, ``(N_k, N_z)``."""
        return np.logical_or.reduce([one.moved for one in self.rounds])

    @property
    def divided(self) -> int:
        """Number of rounds by divide and conquer."""
        return sum(map(divides, range(len(self.rounds))))

    def _round(self, number: int) -> bool:
        """Find better candidates, repair their states; return whether a choice was below that of the point before."""
        shape = self.choices.shape
        ends = self.smooth & (not divides(number))
        steps = np.diff(self.choices, axis=0, append=self.choices[-1:])
        # Steps from one lane to the next do not matter: a round always examines the first and last point of a lane.
        steps[(1 << self.dealt.lane_shift) - 1 :: 1 << self.dealt.lane_shift] = 0
        steep = self._in_lane((steps < 0) | (steps > 1))
        lowest, highest = np.full(shape, SKIPPED, np.int64), np.zeros(shape, np.int64)
        moved, flags, crossed = np.zeros(shape, np.bool_), np.zeros(shape[0], np.uint8), np.zeros(shape[0], np.bool_)
        tables = self._tables()
        limits = tables[-1]
        results = lowest, highest, moved
        if divides(number):
            divide_all(*tables, self.dealt.lane_shift, parity_of(number) == 1, self.choices, *results, flags)
        else:
            bracket_all(*tables, parity_of(number), self._confirmed, self.choices, *results, crossed, flags)
        self.status |= raised_status(flags)
        self.evaluations += int((highest - lowest + 1)[lowest != SKIPPED].sum())
        search = self.dealt.search
        found = self.choices.copy()
        while True:
            moves = np.zeros((search.build.lanes, search.contexts), np.int64)
            given = self.x, self.w, self.ev, self.constants, moved, found, self.choices, self.cached, self.value, moves
            done = search_all(self.dealt, *given, exact=True, room=self.room, limits=limits)
            if not self.room or done.counts.max() <= self.room:
                break
            self.room = int(done.counts.max()) * 5 // 4
        self.status |= done.status
        self.evaluations += done.evaluations
        kind = divides(number), parity_of(number), ends
        self.rounds.append(Round(*kind, lowest, highest, moved, done.counts, done.probes, self._states))
        if not divides(number):
            self.smooth |= ~steep
        moved_in = self._in_lane(moved)
        self.smooth &= ~moved_in
        self._confirmed &= ~moved_in[[0, self.dealt.used - 1]]
        return bool(crossed.any())

    def _share(self) -> None:
        """Evaluate the brackets of the first and the last point, with no change of choices."""
        shape = self.choices.shape
        lowest, highest = np.full(shape, SKIPPED, np.int64), np.zeros(shape, np.int64)
        flags = np.zeros(shape[0], np.uint8)
        better = share_ends(*self._tables(), self.choices, lowest, highest, flags)
        self.status |= raised_status(flags)
        self.evaluations += int((highest - lowest + 1)[lowest != SKIPPED].sum())
        # The other point of a bracket must be in the same lane, in which a written choice is noticed.
        self._confirmed[:] = not better, not better and self.dealt.points(self.dealt.used - 1) > 1
        none = np.zeros(shape, np.bool_)
        counts = np.zeros((self.dealt.search.build.lanes, self.dealt.search.contexts), np.int64)
        probes = np.zeros((counts.size, 0), np.int32)
        of_lanes = np.zeros(counts.shape[0], np.bool_)
        self.shared = Round(False, 0, of_lanes, lowest, highest, none, counts, probes, self._states, True)

    def _tables(self) -> tuple[Any, ...]:
        """Return tables, constants and limits as the compiled functions take them."""
        limits = whole_grid(*self.choices.shape) if self.limits is None else self.limits
        return np.atleast_2d(self.x), self.w, self.ev, self.constants.words, limits

    def _in_lane(self, states: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which lanes have any of ``states``, bool ``(N_k, N_z)``: bool, ``(lanes,)``."""
        found = np.zeros(self.smooth.shape, np.bool_)
        found[np.flatnonzero(states.any(axis=1)) >> self.dealt.lane_shift] = True
        return found
