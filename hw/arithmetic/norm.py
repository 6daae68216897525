"""Sup norm of the change of values, accumulated while they are computed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from amaranth.hdl import Cat, Module, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from numpy.typing import NDArray

from beltline.compiled import njit, prange
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline, Term

_HALF = WIDTH // 2


@njit(cache=True, parallel=True)
def _norm(after, before):  # type: ignore[no-untyped-def]
    norm = np.uint64(0)
    for k in prange(after.size):
        size = np.uint64(after[k]) - np.uint64(before[k])
        norm = max(norm, size if after[k] >= before[k] else np.uint64(0) - size)
    return norm


@dataclass(frozen=True)
class NormParameters:
    """Parameters of the sup norm ``max |after - before|`` over all pairs since ``clear``; exact, unsigned 64 bits."""

    @property
    def latency(self) -> int:
        """Clocks from a pair until ``norm`` includes it. A new pair enters in every clock."""
        return 7

    def model(self, after: NDArray[np.int64], before: NDArray[np.int64]) -> int:
        """Return the exact norm for two int64 arrays of the same shape; 0 for empty ones."""
        return int(_norm(after.reshape(-1), before.reshape(-1)))


BELOW_CLOCKS = 2
"""Clocks from a norm to whether it is below a threshold."""


def below(m: Module, norm: Value, epsilon: Value) -> Signal:
    """Add the comparison of a norm with a threshold, unsigned 64 bits each; latency ``BELOW_CLOCKS``.

    It is made in two halves, for timing. The threshold and, in the last two clocks, the norm must not change.
    """
    below_high = Signal()
    same_high = Signal()
    below_low = Signal()
    converged = Signal()
    m.d.sync += [
        below_high.eq(norm[_HALF:] < epsilon[_HALF:]),
        same_high.eq(norm[_HALF:] == epsilon[_HALF:]),
        below_low.eq(norm[:_HALF] < epsilon[:_HALF]),
        converged.eq(below_high | (same_high & below_low)),
    ]
    return converged


class Norm(wiring.Component):
    """Accumulates the sup norm of the differences of pairs of values.

    Latency: 7 clocks. Throughput: one pair in every clock. Contract: ``valid`` without ``ready``; ``clear`` is raised
    only while no pair is in the pipeline.

    The maximum is stored in two halves that are updated one clock apart, so that its feedback loop has a comparison of
    32 bits only.

    Attributes
    ----------
    clear : in, 1 bit
        Sets the norm to 0.
    after, before : in, signed 64 bits
        The new and the old value.
    valid : in, 1 bit
        High in clocks with a pair.
    norm : out, 64 bits
        The norm of all pairs since ``clear``, unsigned.
    """

    def __init__(self, parameters: NormParameters) -> None:
        self.parameters = parameters
        super().__init__(
            {
                "clear": In(1),
                "after": In(signed(WIDTH)),
                "before": In(signed(WIDTH)),
                "valid": In(1),
                "norm": Out(WIDTH),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        change = p.total([Term(p.input(self.after)), Term(p.input(self.before), negative=True)], WIDTH + 1)
        flipped = p.compute(lambda value: value ^ value[-1].replicate(WIDTH + 1), change)
        sign = p.compute(lambda value: value[-1], change)
        size = p.total([Term(flipped), Term(sign)], WIDTH)
        valid = p.valid(p.input(self.valid), size.time)

        high = Signal(_HALF)
        low = Signal(_HALF)
        replace = Signal()
        compare = Signal()
        m.d.sync += [replace.eq(0), compare.eq(0)]
        with m.If(valid):
            with m.If(size.value[_HALF:] > high):
                m.d.sync += [high.eq(size.value[_HALF:]), replace.eq(1)]
            with m.Elif(size.value[_HALF:] == high):
                m.d.sync += compare.eq(1)
        lower = p.delay(size, 1).value[:_HALF]
        with m.If(replace | (compare & (lower > low))):
            m.d.sync += low.eq(lower)
        with m.If(self.clear):
            m.d.sync += [high.eq(0), low.eq(0)]
        m.d.comb += self.norm.eq(Cat(low, high))
        return m
