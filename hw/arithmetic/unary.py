"""Base class of units that map one word to another with a fixed latency."""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.pipeline import Pipeline, Timed
from beltline.hw.interface.parameters import Multiplier


class Unary(wiring.Component):
    """A component around a datapath of one operand and one result.

    Latency: that of the datapath, fixed. Throughput: one operand in every clock. Contract: ``valid`` without ``ready``;
    ``result_valid`` is ``operand_valid``, delayed by the latency.

    Parameters
    ----------
    operand_bits, result_bits
        Widths of the unsigned operand and result.
    build
        Function that adds the datapath to a pipeline and returns its result.
    multiplier
        The chip's multiplier.

    Attributes
    ----------
    operand : in, ``operand_bits`` bits
        The operand.
    operand_valid : in, 1 bit
        High in clocks with an operand.
    result : out, ``result_bits`` bits
        The result.
    result_valid : out, 1 bit
        High in clocks with the result of an operand.
    """

    def __init__(
        self,
        operand_bits: int,
        result_bits: int,
        build: Callable[[Pipeline, Timed], Timed],
        multiplier: Multiplier = Multiplier.DSP48E2,
    ) -> None:
        self._build = build
        self._multiplier = multiplier
        super().__init__(
            {
                "operand": In(operand_bits),
                "operand_valid": In(1),
                "result": Out(result_bits),
                "result_valid": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m, self._multiplier)
        result = self._build(p, p.input(self.operand))
        m.d.comb += self.result.eq(result.value)
        m.d.comb += self.result_valid.eq(p.valid(p.input(self.operand_valid), result.time))
        return m
