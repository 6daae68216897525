"""Shifts from the mid-point of each exogenous state's changes: the extremes of a lane, and their sum over all lanes.

In a build with ``midpoints`` a shift follows from the mid-point between the smallest and the largest change of each
exogenous state, over all points of the grid, in place of the change at the middle point. Then the change that remains
after the shift is half the spread, the least that any shift can leave, and which bounds the distance from the solution:
the bounds of MacQueen (1966) and Porteus (1971) for each exogenous state.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from amaranth.hdl import Array, Cat, Module, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from numpy.typing import NDArray

from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline, Term, Timed
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.shift import ShiftParameters

_HALF = WIDTH // 2

LANE_CLOCKS = 2
"""Clocks from the number of a word in :class:`Midpoints` to that word at a lane's output: a register on either side."""

ADD_CLOCKS = 2
"""Clocks of the adder of a mid-point."""

EXTREMES_CLOCKS = 2
"""Clocks from a change until :class:`Extremes` includes it."""


def midpoints(value: NDArray[np.int64], before: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the mid-points of a sweep's changes, bit by bit: int64, ``(N_z,)``, in units of value.

    ``value`` and ``before`` are those after and before the sweep, int64, ``(N_k, N_z)``. A change is taken modulo
    ``2**64``.
    """
    change = value - before
    return np.asarray((change.min(axis=0) >> 1) + (change.max(axis=0) >> 1), dtype=np.int64)


def shift_clocks(build: SweepParameters, states: int, joined: int) -> int:
    """Return the clocks from the end of a pass until the shifts of the next one are known.

    ``states`` is ``N_z`` of the problem, and ``joined`` as for :class:`MidpointsParameters`.
    """
    of_midpoints = MidpointsParameters(build, joined).clocks(states) if build.midpoints else 0
    return of_midpoints + ShiftParameters(build).clocks(states) + 1


def offset(word: Value) -> Value:
    """Return a signed word as an unsigned one of the same order."""
    return Cat(word[:-1], ~word[-1])


@dataclass(frozen=True)
class MidpointsParameters:
    """Parameters of the mid-points: ``(smallest >> 1) + (largest >> 1)`` of the changes of each exogenous state.

    Parameters
    ----------
    build
        Sizes of the engine.
    joined
        Clocks in which the largest of a word of all lanes is found
        (:func:`beltline.hw.sweep.trees.largest_norm_clocks`).
    """

    build: SweepParameters
    joined: int

    def clocks(self, states: int) -> int:
        """Return the clocks from ``start`` to ``done``, for ``states`` exogenous states."""
        return 2 * states + LANE_CLOCKS + self.joined + ADD_CLOCKS


class Extremes(wiring.Component):
    """Accumulates the largest and the smallest change of each exogenous state in a lane.

    Latency: ``EXTREMES_CLOCKS``. Throughput: a change in every clock. Contract: ``valid`` without ``ready``; ``clear``
    is raised only while no change is in the pipeline. Each extreme is stored in two halves that are updated one clock
    apart, as in :class:`beltline.hw.arithmetic.norm.Norm`.

    Attributes
    ----------
    clear : in, 1 bit
        Forgets all changes.
    valid : in, 1 bit
        High in clocks with a change.
    state : in, ``state_bits``
        Its exogenous state.
    change : in, signed 64 bits
        The change, in units of value.
    place : in, ``state_bits + 1``
        The word to read: ``2 * s`` for the largest change of state ``s``, ``2 * s + 1`` for its smallest.
    word : out, unsigned 64 bits
        That word, a clock later: ``change + 2**63`` for the largest, the complement of that for the smallest, so that
        the largest word of all lanes belongs to the extreme of them all; 0 if there was no change.
    """

    def __init__(self, build: SweepParameters) -> None:
        self.build = build
        super().__init__(
            {
                "clear": In(1),
                "valid": In(1),
                "state": In(build.state_bits),
                "change": In(signed(WIDTH)),
                "place": In(build.state_bits + 1),
                "word": Out(WIDTH),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        words = []
        above = Signal(WIDTH)
        lower = Signal(_HALF, reset_less=True)
        m.d.comb += above.eq(offset(self.change))
        m.d.sync += lower.eq(above)
        for s in range(self.build.states):
            for name, word, last in (("largest", above, lower), ("smallest", ~above, ~lower)):
                high, low = Signal(_HALF, name=f"{name}{s}_high"), Signal(_HALF, name=f"{name}{s}_low")
                replace, compare = Signal(name=f"{name}{s}_replace"), Signal(name=f"{name}{s}_compare")
                m.d.sync += [replace.eq(0), compare.eq(0)]
                with m.If(self.valid & (self.state == s)):
                    with m.If(word[_HALF:] > high):
                        m.d.sync += [high.eq(word[_HALF:]), replace.eq(1)]
                    with m.Elif(word[_HALF:] == high):
                        m.d.sync += compare.eq(1)
                with m.If(replace | (compare & (last[:_HALF] > low))):
                    m.d.sync += low.eq(last)
                with m.If(self.clear):
                    m.d.sync += [high.eq(0), low.eq(0)]
                words.append(Cat(low, high))
        m.d.sync += self.word.eq(Array(words)[self.place])
        return m


class Midpoints(wiring.Component):
    """Reads the extremes of all lanes, word by word, and computes the mid-point of each exogenous state.

    Latency: ``parameters.clocks(states)`` clocks from ``start`` to ``done``. Formula: :class:`MidpointsParameters`.
    Contract: ``start`` is not raised again before ``done``.

    Attributes
    ----------
    start : in, 1 bit
        Begins; the extremes of all lanes are final.
    states : in, 5 bits
        ``N_z`` of the problem.
    place : out, ``state_bits + 1``
        The word that all lanes are to send, see :class:`Extremes`.
    reading : out, 1 bit
        High in clocks with a ``place``.
    word : in, unsigned 64 bits
        The largest of these words, ``LANE_CLOCKS + parameters.joined`` clocks after its ``place``.
    sample_valid, sample_state, sample : out, 1 bit, ``state_bits``, signed 64 bits
        An exogenous state and the mid-point of its changes, in units of value.
    done : out, 1 bit
        High in the clock of the last mid-point.
    """

    def __init__(self, parameters: MidpointsParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        super().__init__(
            {
                "start": In(1),
                "states": In(5),
                "place": Out(build.state_bits + 1),
                "reading": Out(1),
                "word": In(WIDTH),
                "sample_valid": Out(1),
                "sample_state": Out(build.state_bits),
                "sample": Out(signed(WIDTH)),
                "done": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        place, reading = Signal.like(self.place), Signal()
        last, ends = Signal(self.parameters.build.state_bits), Signal()
        m.d.comb += [self.place.eq(place), self.reading.eq(reading), ends.eq(place == Cat(1, last))]
        m.d.sync += last.eq(self.states - 1)
        with m.If(reading):
            m.d.sync += place.eq(place + 1)
            with m.If(ends):
                m.d.sync += reading.eq(0)
        with m.If(self.start):
            m.d.sync += [place.eq(0), reading.eq(1)]
        arrives = LANE_CLOCKS + self.parameters.joined
        # Of every two words the first is the largest change, the second the smallest.
        largest = p.delay(p.input(self.word), 1).value
        halves = (Timed(offset(word)[1:].as_signed(), arrives) for word in (largest, ~self.word))
        middle = p.total([Term(half) for half in halves], WIDTH, signed=True)
        assert middle.time == arrives + ADD_CLOCKS
        m.d.comb += [
            self.sample.eq(middle.value),
            self.sample_valid.eq(p.valid(p.input(reading & place[0]), middle.time)),
            self.sample_state.eq(p.delay(p.input(place), middle.time).value[1:]),
            self.done.eq(p.valid(p.input(reading & ends), middle.time)),
        ]
        return m
