"""Third pass of a sweep in a lane: lists the states of all points whose expectations must be computed again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from numpy.typing import NDArray

from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.memory.queue import Queue
from beltline.hw.memory.ram import READ_LATENCY, Ram
from beltline.hw.sweep.parameters import SweepParameters

NOTES = 16
"""Notes in a word of the notes' memory, one bit for each point."""

NOTE_BITS = NOTES.bit_length() - 1
_AHEAD = 8
"""Words that are read ahead. More than the latency of memory and queue, so that a word is ready in every clock."""


@dataclass(frozen=True)
class PatchParameters:
    """Parameters of the patch, which stores a bit (*note*) for each point of a lane, and lists states of noted points.

    A pass takes a clock for each state of a noted point, a clock for each point without a note that comes before the
    last noted point of its word, and a clock for each word of ``NOTES`` points.

    Parameters
    ----------
    build
        Sizes of the engine.
    """

    build: SweepParameters

    @property
    def begin(self) -> int:
        """Clocks from ``start`` until the first word of notes is processed."""
        return 1 + READ_LATENCY + 2

    def clocks(self, notes: NDArray[np.bool_], states: int, lane_shift: int) -> int:
        """Return the clocks of the longest pass of any lane, from ``begin`` to the last one in which ``busy`` is high.

        Parameters
        ----------
        notes
            bool, ``(N_k,)``: the notes; all true for a pass with ``force``.
        states
            ``N_z`` of the problem.
        lane_shift
            A lane has ``2**lane_shift`` points.
        """
        words = np.zeros((-(-notes.size // NOTES), NOTES), np.bool_)
        words.ravel()[: notes.size] = notes
        noted = words.sum(axis=1)
        behind = np.where(noted, NOTES - words[:, ::-1].argmax(axis=1), 0)
        clocks = noted * (states - 1) + behind + 1
        return int(np.add.reduceat(clocks, np.arange(0, clocks.size, max(1, (1 << lane_shift) // NOTES))).max())


class Patch(wiring.Component):
    """Stores notes of points, and lists the states of the noted points in table order.

    Throughput: :class:`PatchParameters`. Contract: ``clear``, then the notes of all points in order, then ``start``. No
    ``ready``: neither notes nor states can be delayed. ``force``, ``points`` and ``states`` must not change until
    ``busy`` falls, ``points`` from the clock before the first note on.

    Attributes
    ----------
    clear : in, 1 bit
        The next note is that of the first point.
    note_valid : in, 1 bit
        High in clocks with a note.
    note : in, 1 bit
        The note of the next point.
    start : in, 1 bit
        Begins a pass over the noted points.
    force : in, 1 bit
        The pass lists all points, noted or not.
    points : in, ``point_bits + 1`` bits
        Number of points in the lane, at least 1.
    last_turn : in, ``turn_bits``
        Only in a general build, whose expectation takes its multipliers in turn: two states are ``last_turn + 1``
        clocks apart or more, and ``force`` is always high.
    states : in, ``count_bits``
        ``N_z`` of the problem.
    busy : out, 1 bit
        High from the clock after ``start`` to the end of the pass.
    valid : out, 1 bit
        High in clocks with a state.
    position : out, ``position_bits`` bits
        The state's position within the lane, ``point * N_z + state``.
    point : out, ``point_bits + 1`` bits
        Its point within the lane.
    state : out, ``state_bits``, at least 4
        Its exogenous state.
    last : out, 1 bit
        It is the last state of its point.
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
                "states": In(build.count_bits),
                "busy": Out(1),
                "valid": Out(1),
                "position": Out(build.position_bits),
                "point": Out(build.point_bits + 1),
                "state": Out(max(4, build.state_bits)),
                "last": Out(1),
                **({"last_turn": In(build.turn_bits)} if build.general else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        build = self.parameters.build
        word_count = -(-(1 << build.point_bits) // NOTES)
        m.submodules.notes = notes = Ram(NOTES, word_count)
        m.submodules.words = words = Queue(NOTES, _AHEAD)

        # Notes are collected in a word, which is written after its last note or that of the last point.
        # A register for the last point keeps the subtraction out of the path to the memory's write enable.
        # Its name is explicit, since Python 3.11 and 3.12 would find different ones: a comprehension below reads it.
        number, last_point = Signal(build.point_bits + 1), Signal(build.point_bits + 1, name="$signal")
        m.d.sync += last_point.eq(self.points - 1)
        gathered, word = Signal(NOTES), Signal(NOTES)
        low = number[:NOTE_BITS]
        m.d.comb += word.eq(Mux(low == 0, 0, gathered) | (self.note << low))
        with m.If(self.note_valid):
            m.d.sync += [gathered.eq(word), number.eq(number + 1)]
        with m.If(self.clear):
            m.d.sync += number.eq(0)
        m.d.comb += [
            notes.write.eq(self.note_valid & (low.all() | (number == last_point))),
            notes.write_address.eq(number[NOTE_BITS:]),
            notes.write_data.eq(word),
        ]
        # Read words while there is space for them in the queue.
        last_word = Signal(build.point_bits + 1)
        m.d.comb += last_word.eq(last_point[NOTE_BITS:])
        left = Signal(build.point_bits + 1)
        on_the_way = Signal(range(_AHEAD + 1))
        read, pop = Signal(), Signal()
        m.d.comb += read.eq((left != 0) & (on_the_way != _AHEAD))
        m.d.sync += on_the_way.eq(on_the_way + read - pop)
        with m.If(read):
            m.d.sync += [left.eq(left - 1), notes.read_address.eq(notes.read_address + 1)]
        with m.If(self.start):
            m.d.sync += [left.eq(last_word + 1), notes.read_address.eq(0)]
        # Points after the last one count as not noted, so that no number of a point is compared later.
        is_last = p.delay(p.input(left == 1), READ_LATENCY).value
        # The first point of a word is one of the lane's.
        inside = Cat(Const(1, 1), *(~is_last | (k <= last_point[:NOTE_BITS]) for k in range(1, NOTES)))
        m.d.comb += [
            words.push.eq(p.valid(p.input(read), READ_LATENCY)),
            words.data.eq((notes.read_data | self.force.replicate(NOTES)) & inside),
            words.pop.eq(pop),
        ]

        # Process the words in order, point by point; skip the points after the last note of a word.
        # ``step`` points of the word are finished, those with bits in ``passed``; ``present`` is the next one's bit.
        step, passed, present = Signal(NOTE_BITS + 1), Signal(NOTES), Signal(NOTES, init=1)
        of_word = Signal(range(word_count))
        base, following = Signal(build.position_bits), Signal(build.position_bits)
        state = self.state
        here, rest = Signal(), Signal()
        m.d.comb += [
            # With ``step`` at NOTES the word has no state left, and the next one begins in this clock.
            self.point.eq(Cat(step[:NOTE_BITS], of_word)),
            here.eq((words.head & present).any()),
            rest.eq((words.head & ~passed).any()),
            pop.eq(words.head_valid & ~rest),
            self.valid.eq(words.head_valid & here),
            self.last.eq(state == self.states - 1),
            following.eq(base + (self.states << NOTE_BITS)),
        ]
        if build.general:
            pause = Signal(build.turn_bits)
            m.d.comb += self.valid.eq(words.head_valid & here & (pause == 0))
            with m.If(self.valid):
                m.d.sync += pause.eq(self.last_turn)
            with m.Elif(pause != 0):
                m.d.sync += pause.eq(pause - 1)
        begin = [step.eq(0), passed.eq(0), present.eq(1)]
        advance = [step.eq(step + 1), passed.eq(Cat(1, passed)), present.eq(present << 1)]
        with m.If(pop):
            m.d.sync += [*begin, of_word.eq(of_word + 1), base.eq(following), self.position.eq(following)]
            with m.If(of_word == last_word):
                m.d.sync += self.busy.eq(0)
        with m.Elif(self.valid):
            m.d.sync += [self.position.eq(self.position + 1), state.eq(state + 1)]
            with m.If(self.last):
                m.d.sync += [*advance, state.eq(0)]
        with m.Elif(words.head_valid & ~here):
            m.d.sync += [*advance, self.position.eq(self.position + self.states)]
        with m.If(self.start):
            m.d.sync += [*begin, self.busy.eq(1), of_word.eq(0), base.eq(0), self.position.eq(0), state.eq(0)]
        return m
