"""Which points of a lane need their expectations anew, and their values in order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from numpy.typing import NDArray

from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.memory.queue import Queue
from beltline.hw.memory.ram import READ_LATENCY, Ram
from beltline.hw.sweep.parameters import SweepParameters

NOTES = 16
"""Points whose notes are one word."""

_NOTE_BITS = NOTES.bit_length() - 1
_AHEAD = 8
"""Words that are read before they are needed: more than the clocks of a read and of the queue."""


@dataclass(frozen=True)
class PatchParameters:
    """Notes of a lane's points, one bit each, and a pass over the states of those that are noted.

    A state a clock; a word of ``NOTES`` points takes a clock more, and so does a point without a note that lies before
    the last one of its word.

    Parameters
    ----------
    build
        Of the engine.
    """

    build: SweepParameters

    @property
    def begin(self) -> int:
        """Clocks from ``start`` to the first clock that :meth:`clocks` counts."""
        return 1 + READ_LATENCY + 2

    def clocks(self, notes: NDArray[np.bool_], states: int) -> int:
        """Clocks from ``start`` to the last one in which it is busy.

        Parameters
        ----------
        notes
            bool, ``(points,)``: those of a pass with ``force`` are all true.
        states
            The problem's ``N_z``.
        """
        total = self.begin
        for first in range(0, notes.size, NOTES):
            (noted,) = np.nonzero(notes[first : first + NOTES])
            if noted.size:
                total += noted.size * states + int(noted[-1]) + 1 - noted.size
            total += 1
        return total


class Patch(wiring.Component):
    """:class:`PatchParameters` in gateware.

    Attributes
    ----------
    clear, note_valid, note
        After ``clear`` the notes of all points come in order, before ``start``.
    start, force, points, states
        ``start`` begins a pass over the points that are noted, or with ``force`` over all. There is at least one point.
        All but ``start`` must stand to the end, ``points`` from the first note on.
    busy
        From the clock behind ``start``.
    valid, position, point, state, last
        A state: its number in the lane, its point, its exogenous state, and whether it is the point's last one.
    """

    def __init__(self, parameters: PatchParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        super().__init__(
            {
                "clear": In(1),
                "note_valid": In(1),
                "note": In(1),
                "start": In(1),
                "force": In(1),
                "points": In(build.point_bits + 1),
                "states": In(5),
                "busy": Out(1),
                "valid": Out(1),
                "position": Out(build.position_bits),
                "point": Out(build.point_bits + 1),
                "state": Out(4),
                "last": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        build = self.parameters.build
        word_count = -(-(1 << build.point_bits) // NOTES)
        m.submodules.notes = notes = Ram(NOTES, word_count)
        m.submodules.words = words = Queue(NOTES, _AHEAD)

        # Notes gather in a word, which is written when it is full or the points end.
        number = Signal(build.point_bits + 1)
        gathered, word = Signal(NOTES), Signal(NOTES)
        low = number[:_NOTE_BITS]
        m.d.comb += word.eq(Mux(low == 0, 0, gathered) | (self.note << low))
        with m.If(self.note_valid):
            m.d.sync += [gathered.eq(word), number.eq(number + 1)]
        with m.If(self.clear):
            m.d.sync += number.eq(0)
        m.d.comb += [
            notes.write.eq(self.note_valid & (low.all() | (number == self.points - 1))),
            notes.write_address.eq(number[_NOTE_BITS:]),
            notes.write_data.eq(word),
        ]

        # Words are read as long as there is room for them in the queue.
        last_word = Signal(build.point_bits + 1)
        m.d.comb += last_word.eq((self.points - 1)[_NOTE_BITS:])
        left = Signal(build.point_bits + 1)
        on_the_way = Signal(range(_AHEAD + 1))
        read, pop = Signal(), Signal()
        m.d.comb += read.eq((left != 0) & (on_the_way != _AHEAD))
        m.d.sync += on_the_way.eq(on_the_way + read - pop)
        with m.If(read):
            m.d.sync += [left.eq(left - 1), notes.read_address.eq(notes.read_address + 1)]
        with m.If(self.start):
            m.d.sync += [left.eq(last_word + 1), notes.read_address.eq(0)]
        m.d.comb += [
            words.push.eq(p.valid(p.input(read), READ_LATENCY)),
            words.data.eq(notes.read_data),
            words.pop.eq(pop),
        ]

        # One word after the other, point by point; what lies behind the last note of a word is passed over.
        step = Signal(_NOTE_BITS + 1)
        of_word = Signal(range(word_count))
        base, following = Signal(build.position_bits), Signal(build.position_bits)
        state = self.state
        here, rest = Signal(), Signal()
        noted = Cat(words.head | self.force.replicate(NOTES), 0)
        m.d.comb += [
            self.point.eq(Cat(step[:_NOTE_BITS], of_word) + (step[-1] << _NOTE_BITS)),
            here.eq(Array(noted)[step]),
            rest.eq(Cat(noted[k] & (step <= k) for k in range(NOTES)).any() & (self.point != self.points)),
            pop.eq(words.head_valid & ~rest),
            self.valid.eq(words.head_valid & rest & here),
            self.last.eq(state == self.states - 1),
            following.eq(base + (self.states << _NOTE_BITS)),
        ]
        with m.If(pop):
            m.d.sync += [step.eq(0), of_word.eq(of_word + 1), base.eq(following), self.position.eq(following)]
            with m.If(of_word == last_word):
                m.d.sync += self.busy.eq(0)
        with m.Elif(self.valid):
            m.d.sync += [self.position.eq(self.position + 1), state.eq(state + 1)]
            with m.If(self.last):
                m.d.sync += [state.eq(0), step.eq(step + 1)]
        with m.Elif(words.head_valid):
            m.d.sync += [self.position.eq(self.position + self.states), step.eq(step + 1)]
        with m.If(self.start):
            m.d.sync += [self.busy.eq(1), step.eq(0), of_word.eq(0), base.eq(0), self.position.eq(0), state.eq(0)]
        return m
