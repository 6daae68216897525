"""The proof of a sweep: every choice is the best of the bracket between its neighbours' choices, or is repaired.

The theorem (``docs/sweep-engine.md``) then says that every choice is the best of all candidates, whatever the values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beltline.hw.arithmetic.objective import raised_status
from beltline.hw.arithmetic.utility_constants import UtilityConstants
from beltline.hw.interface.registers import Status
from beltline.hw.sweep.clocks import Dealt
from beltline.hw.sweep.software_passes import walk_all
from beltline.hw.sweep.software_proof import bracket_all, divide_all

ROUNDS = 4
"""Rounds of neighbours, after which choices that still move are found by divide and conquer.

A block of points whose walks ended on the wrong peak shrinks by a point a round from its ends; measured on savings with
jumps, more rounds cost as much as they save, and fewer make problems divide that four rounds prove."""


@dataclass(frozen=True, eq=False)
class Round:
    """What a round of a proof did.

    Parameters
    ----------
    lowest
        int64, ``(N_k, N_z)``: the lowest candidate of each bracket.
    widths
        int64, ``(N_k, N_z)``: candidates that were evaluated for each state.
    cuts
        bool, ``(N_k, N_z)``: the search ended at a candidate that is not feasible.
    moved
        bool, ``(N_k, N_z)``: states whose bracket had a better candidate, which were walked from there.
    levels
        Passes of the round: 1 for one of neighbours, and those of divide and conquer.
    counts, probes
        Of these walks, as in :class:`beltline.hw.sweep.clocks.SweepLog`.
    evaluations
        Of brackets and walks.
    """

    lowest: NDArray[np.int64]
    widths: NDArray[np.int64]
    cuts: NDArray[np.bool_]
    moved: NDArray[np.bool_]
    levels: int
    counts: NDArray[np.int64]
    probes: NDArray[np.int32]
    evaluations: int


def distances(points: int) -> Iterator[int]:
    """Distances of divide and conquer: 0, then powers of two from the largest below ``points`` down to 1."""
    yield 0
    for exponent in reversed(range((points - 1).bit_length())):
        yield 1 << exponent


def near(moved: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The states that moved, and their neighbours at the next points: bool, ``(N_k, N_z)``."""
    asked = moved.copy()
    asked[1:] |= moved[:-1]
    asked[:-1] |= moved[1:]
    return asked


@dataclass(eq=False)
class Proof:
    """Rounds over the choices of a sweep until none moves.

    A round reads the choices of the round before, so its results depend neither on lanes nor on time. Where choices
    still move after ``ROUNDS`` of them, one by divide and conquer finds all anew; where they move even after as many
    rounds behind that, which takes objectives that differ by no more than the rounding of utility, nothing is proven.

    Parameters
    ----------
    dealt
        States to lanes and walkers.
    x, w, ev, constants
        As those of :func:`beltline.hw.sweep.software_passes.walk_all`.
    choices, kept, value
        Of the sweep, every state feasible; written where a choice moves.
    room
        Probes of a walker that are logged.

    Attributes
    ----------
    rounds
        What each did.
    proven
        Whether every choice is the best of its bracket, and none is below that of the point before.
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
    room: int = 0

    def __post_init__(self) -> None:
        self.rounds: list[Round] = []
        self.status = Status(0)
        asked = np.ones(self.choices.shape, np.bool_)
        while asked.any() and len(self.rounds) <= 2 * ROUNDS:
            asked = self._divide() if len(self.rounds) == ROUNDS else self._neighbours(asked)
        self.proven = not asked.any() and bool((np.diff(self.choices, axis=0) >= 0).all())

    @property
    def moved(self) -> NDArray[np.bool_]:
        """The states that were walked from a better candidate: bool, ``(N_k, N_z)``."""
        return np.logical_or.reduce([one.moved for one in self.rounds])

    def _neighbours(self, asked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """A round over the brackets of ``asked``, and those that the next must look at."""
        found, of_round = np.empty_like(self.choices), self._of_round()
        tables = self.x, self.w, self.ev, self.constants.words
        bracket_all(*tables, self.choices, self.kept, asked, found, *of_round)
        moved, _ = self._walk(found, 1, *of_round)
        return near(moved)

    def _divide(self) -> NDArray[np.bool_]:
        """All choices anew, by divide and conquer, and the states that the next round must look at."""
        found, of_round = np.empty_like(self.choices), self._of_round()
        tables = self.x, self.w, self.ev, self.constants.words
        levels = list(distances(found.shape[0]))
        for distance in levels:
            divide_all(*tables, distance, found, *of_round)
        # What was found is the best of its bracket, unless a walk goes on from there.
        _, on = self._walk(found, len(levels), *of_round)
        return near(on)

    def _of_round(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_], NDArray[np.uint8]]:
        shape = self.choices.shape
        lowest, widths = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        return lowest, widths, np.zeros(shape, np.bool_), np.zeros(shape[0], np.uint8)

    def _walk(
        self,
        found: NDArray[np.int64],
        levels: int,
        lowest: NDArray[np.int64],
        widths: NDArray[np.int64],
        cuts: NDArray[np.bool_],
        flags: NDArray[np.uint8],
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Walk from ``found`` where it is another choice; where it is, and where the walk goes on from there."""
        walk = self.dealt.walk
        moved = found != self.choices
        moves = np.zeros((walk.build.lanes, walk.contexts), np.int64)
        choices = found.copy()
        given = self.x, self.w, self.ev, self.constants, moved, found, choices, self.kept, self.value, moves
        done = walk_all(self.dealt, *given, exact=True, room=self.room)
        if self.room and done.counts.max() > self.room:
            choices = found.copy()
            self.room = int(done.counts.max())
            given = (*given[:6], choices, *given[7:])
            done = walk_all(self.dealt, *given, exact=True, room=self.room)
        self.choices[:] = choices
        self.status |= raised_status(flags) | done.status
        evaluations = int(widths.sum()) + done.evaluations
        self.rounds.append(Round(lowest, widths, cuts, moved, levels, done.counts, done.probes, evaluations))
        return moved, choices != found
