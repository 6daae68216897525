"""Which sweeps of a run are proven, if the host does not ask for a proof of each."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

FEWEST = 9
"""Sweeps without a proof that follow the first proof of a run, or a proof that moved a choice."""

BITS = 8
"""Bits of the number of such sweeps. It is doubled after every other proof, as long as it fits."""


def after_proof(interval: int, moved: bool) -> int:
    """Return how many sweeps without a proof follow a proof; software model of :class:`Intervals`.

    Parameters
    ----------
    interval
        Number that followed the proof before it; 0 before the first proof of a run.
    moved
        Whether the proof moved a choice.
    """
    if moved or not interval:
        return FEWEST
    return 2 * interval if 2 * interval < 1 << BITS else interval


class Intervals(wiring.Component):
    """Chooses the sweeps that are proven: all, or if ``sparse`` a few of them.

    The first sweep is proven, and every sweep that may be the last. Between these, a proof is followed by
    :data:`FEWEST` sweeps without one if it moved a choice, and else by twice as many as the proof before it. Policy
    evaluation sweeps are counted, and not proven.

    Latency: the outputs change in the clock after ``ended``. Throughput: a pass per clock. Contract: all inputs are
    those of the pass that ends, in the clock with ``ended``.

    Attributes
    ----------
    ended : in, 1 bit
        A pass ends.
    sparse : in, 1 bit
        Not every sweep needs a proof.
    prologue, evaluates : in, 1 bit each
        The pass was the prologue of a run, or a policy evaluation sweep.
    moved : in, 1 bit
        The proof of this sweep moved a choice.
    may_end : in, 1 bit
        The next sweep may be the last of the run, or is the first.
    next_proves : out, 1 bit
        With ``ended``: the next sweep is proven, unless it is a policy evaluation sweep.
    proves : out, 1 bit
        The same, from the clock after ``ended``.
    """

    def __init__(self) -> None:
        flags = ("ended", "sparse", "prologue", "evaluates", "moved", "may_end")
        super().__init__({**{name: In(1) for name in flags}, "next_proves": Out(1), "proves": Out(1, init=1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        interval, left = Signal(BITS), Signal(BITS)
        after, remain = Signal(BITS), Signal(BITS)
        m.d.comb += [
            after.eq(Mux(self.moved | (interval == 0), FEWEST, Mux(interval[-1], interval, interval << 1))),
            remain.eq(Mux(self.proves & ~self.evaluates, after, left - (left != 0))),
            self.next_proves.eq(~self.sparse | self.may_end | (remain == 0)),
        ]
        with m.If(self.ended):
            m.d.sync += self.proves.eq(self.next_proves)
            with m.If(self.prologue):
                m.d.sync += [interval.eq(0), left.eq(0)]
            with m.Else():
                m.d.sync += left.eq(remain)
                with m.If(self.proves & ~self.evaluates):
                    m.d.sync += interval.eq(after)
        return m
