"""Trees of registers that join a word of every lane: flags, sums of flags, and the largest norm."""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Cat, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.norm import BELOW_CLOCKS, below
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.sweep.parameters import SweepParameters

FAN = 8
"""Number of words that one level of a tree of registers joins."""


def join_clocks(build: SweepParameters) -> int:
    """Return the levels of a tree that joins words of all lanes, ``FAN`` to a level and one clock each: at least 2."""
    return max(2, -(-build.lane_bits // (FAN.bit_length() - 1)))


def joined(p: Pipeline, words: list[Value], join: Callable[[list[Value]], ValueLike], clocks: int) -> Value:
    """Return all words joined by ``join``, in a tree with a register after every ``FAN`` words; latency ``clocks``."""
    for _ in range(clocks):
        words = [p.register(join(words[k : k + FAN]), 0).value for k in range(0, len(words), FAN)]
    return words[0]


def any_of(flags: list[Value]) -> Value:
    """Return whether any of the flags is high."""
    return Cat(*flags).any()


def all_of(flags: list[Value]) -> Value:
    """Return whether all of the flags are high."""
    return Cat(*flags).all()


def largest_norm_clocks(build: SweepParameters) -> int:
    """Return the latency of :class:`LargestNorm`: an input register, and two clocks for each level of its tree."""
    return 2 * build.lane_bits + 1


class LargestNorm(wiring.Component):
    """Finds the largest of the lanes' norms in a tree of comparators, and whether all are below a threshold.

    Latency: ``clocks`` clocks to ``norm``, and ``below_clocks`` to ``below``, which does not wait for the tree.
    Contract: an output is valid that number of clocks after the last change of an input; while inputs change ``norm``
    is undefined.

    Attributes
    ----------
    norms : in, unsigned 64 bits for each lane
        Largest absolute change of a value in each lane, in units of value.
    epsilon : in, unsigned 64 bits
        The threshold, in units of value.
    norm : out, unsigned 64 bits
        The largest of them.
    below : out, 1 bit
        All of them are below ``epsilon``.
    """

    def __init__(self, build: SweepParameters) -> None:
        self.build = build
        super().__init__(
            {"norms": In(WIDTH).array(build.lanes), "epsilon": In(WIDTH), "norm": Out(WIDTH), "below": Out(1)}
        )

    @property
    def clocks(self) -> int:
        """Clocks from the inputs to ``norm``."""
        return largest_norm_clocks(self.build)

    @property
    def below_clocks(self) -> int:
        """Clocks from the inputs to ``below``: an input register, the comparison of each lane's norm, and a tree."""
        return 1 + BELOW_CLOCKS + join_clocks(self.build)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        half = WIDTH // 2
        norms: list[Value] = []
        for number, norm in enumerate(self.norms):
            part = Signal(WIDTH, name=f"norm{number}")
            m.d.sync += part.eq(norm)
            norms.append(part)
        flags: list[Value] = [below(m, norm, self.epsilon) for norm in norms]
        m.d.comb += self.below.eq(joined(Pipeline(m), flags, all_of, join_clocks(self.build)))
        while len(norms) > 1:
            larger: list[Value] = []
            for a, b in zip(norms[::2], norms[1::2], strict=True):
                above, equal, low = Signal(), Signal(), Signal()
                best = Signal(WIDTH)
                m.d.sync += [
                    above.eq(a[half:] > b[half:]),
                    equal.eq(a[half:] == b[half:]),
                    low.eq(a[:half] > b[:half]),
                    best.eq(Mux(above | (equal & low), a, b)),
                ]
                larger.append(best)
            norms = larger
        m.d.comb += self.norm.eq(norms[0])
        return m
