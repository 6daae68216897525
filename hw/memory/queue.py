"""First-in first-out queues in one clock domain: a short one in registers and a deep one in RAM."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.memory.ram import READ_LATENCY, Ram

DEEP_CLOCKS = READ_LATENCY + 1
"""Clocks from the write of a word into the RAM of a deep queue until it can be read, and least clocks between two pops
of a deep queue."""


def _ports(width: int) -> dict[str, wiring.Member]:
    return {
        "push": In(1),
        "data": In(width),
        "ready": Out(1),
        "head_valid": Out(1),
        "head": Out(width),
        "pop": In(1),
    }


class Queue(wiring.Component):
    """A first-in first-out queue in registers, with a registered output.

    Holds ``depth + 1`` words: ``depth`` in a shift register and the oldest one in the output register ``head``.

    Throughput: one push and one pop in every clock. Latency: a word that is pushed into an empty queue is at ``head``
    two clocks later.

    Parameters
    ----------
    width
        Bits of a word.
    depth
        Number of words in the shift register, at least 1.

    Attributes
    ----------
    push : in, 1 bit
        Adds ``data`` to the queue. Ignored while ``ready`` is low.
    data : in, ``width`` bits
        The word to add.
    ready : out, 1 bit
        High while the queue has space for a word.
    head_valid : out, 1 bit
        High while ``head`` holds a word.
    head : out, ``width`` bits
        The oldest word of the queue; a register.
    pop : in, 1 bit
        Removes the word at ``head``. Ignored while ``head_valid`` is low.
    """

    def __init__(self, width: int, depth: int) -> None:
        self.depth = depth
        super().__init__(_ports(width))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # A push shifts all words up by one place: the newest is in word 0 and the oldest in word `level - 1`.
        words = [Signal.like(self.data, name=f"word{k}", reset_less=True) for k in range(self.depth)]
        level = Signal(range(self.depth + 1))
        oldest = Signal(range(self.depth))
        pushed, moved = Signal(), Signal()
        m.d.comb += [
            self.ready.eq(level != self.depth),
            pushed.eq(self.push & self.ready),
            moved.eq((level != 0) & (self.pop | ~self.head_valid)),
        ]
        with m.If(pushed):
            m.d.sync += Cat(*words).eq(Cat(self.data, *words[:-1]))
        with m.If(pushed & ~moved):
            m.d.sync += [level.eq(level + 1), oldest.eq(level)]
        with m.Elif(moved & ~pushed):
            m.d.sync += [level.eq(level - 1), oldest.eq(Mux(level == 1, 0, level - 2))]
        with m.If(moved):
            m.d.sync += [self.head.eq(Array(words)[oldest]), self.head_valid.eq(1)]
        with m.Elif(self.pop):
            m.d.sync += self.head_valid.eq(0)
        return m


class DeepQueue(wiring.Component):
    """A first-in first-out queue in RAM, with a registered output.

    Holds ``depth + 1`` words: ``depth`` in a RAM and the oldest one in the output register ``head``.

    Throughput: one push in every clock, and one pop in ``DEEP_CLOCKS`` clocks. Latency: a word that is pushed into an
    empty queue is at ``head`` ``DEEP_CLOCKS + 1`` clocks later.

    Parameters
    ----------
    width
        Bits of a word.
    depth
        Number of words in the RAM, a power of two of at least 2.

    Raises
    ------
    ValueError
        ``depth`` is not a power of two of at least 2.

    Attributes
    ----------
    push, data, ready, head_valid, head, pop
        As those of :class:`Queue`. When a word is popped less than ``DEEP_CLOCKS`` clocks after it arrived at
        ``head``, ``head_valid`` is low until the RAM has delivered the next one.
    """

    def __init__(self, width: int, depth: int) -> None:
        if depth & (depth - 1) or depth < 2:
            raise ValueError(f"depth of a queue in memory must be a power of two of at least 2, not {depth}")
        self.depth = depth
        super().__init__(_ports(width))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        m.submodules.words = words = Ram(len(self.data), self.depth)
        # `level` counts the words in the RAM, `settled` those among them that were written early enough to be read.
        level, settled = Signal(range(self.depth + 1)), Signal(range(self.depth + 1))
        since = Signal(range(DEEP_CLOCKS))
        pushed, moved = Signal(), Signal()
        m.d.comb += [
            self.ready.eq(level != self.depth),
            pushed.eq(self.push & self.ready),
            moved.eq((settled != 0) & (since == 0) & (self.pop | ~self.head_valid)),
            words.write.eq(pushed),
            words.write_data.eq(self.data),
        ]
        m.d.sync += [
            level.eq(level + pushed - moved),
            settled.eq(settled + p.valid(p.input(pushed), DEEP_CLOCKS - 1) - moved),
            words.write_address.eq(words.write_address + pushed),
            words.read_address.eq(words.read_address + moved),
        ]
        with m.If(moved):
            m.d.sync += [self.head.eq(words.read_data), self.head_valid.eq(1), since.eq(DEEP_CLOCKS - 1)]
        with m.Else():
            with m.If(since != 0):
                m.d.sync += since.eq(since - 1)
            with m.If(self.pop):
                m.d.sync += self.head_valid.eq(0)
        return m
