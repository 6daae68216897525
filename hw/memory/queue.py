"""Queues: a short one in registers, and a deep one in memory."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.memory.ram import READ_LATENCY, Ram

DEEP_CLOCKS = READ_LATENCY + 1
"""Clocks in which a word goes through the memory of a deep queue, and from one head to the next."""


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
    """``depth`` words of ``width`` bits and one more, ``head``, in a register of its own. A word a clock.

    A word that is pushed is the head two clocks later, at the earliest.

    Attributes
    ----------
    push, data, ready
        Where ``ready`` is low a push does nothing.
    head_valid, head, pop
        ``pop`` where ``head_valid`` is low does nothing.
    """

    def __init__(self, width: int, depth: int) -> None:
        self.depth = depth
        super().__init__(_ports(width))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # The newest word is the first, so that the oldest is at `level - 1`.
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
    """``depth`` words of ``width`` bits in a memory, and one more, ``head``, in a register. A word in ``DEEP_CLOCKS``.

    A word that is pushed is the head ``DEEP_CLOCKS + 1`` clocks later, at the earliest.

    Parameters
    ----------
    width
        Bits of a word.
    depth
        A power of two.

    Attributes
    ----------
    push, data, ready, head_valid, head, pop
        As those of :class:`Queue`. A head that is popped less than ``DEEP_CLOCKS`` behind the last one leaves a gap.
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
        # All words in the memory, and those that can be read.
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
