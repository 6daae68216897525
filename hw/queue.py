"""A short queue in registers."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


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
        super().__init__(
            {
                "push": In(1),
                "data": In(width),
                "ready": Out(1),
                "head_valid": Out(1),
                "head": Out(width),
                "pop": In(1),
            }
        )

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
