"""The shell of a unit that maps one word to another."""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.pipeline import Pipeline, Timed
from beltline.hw.interface.parameters import Multiplier


class Unary(wiring.Component):
    """A datapath of one operand and one result as a unit of its own.

    Fixed latency, one operand a clock, no ready: ``result_valid`` comes out as ``operand_valid`` went in.

    Parameters
    ----------
    operand_bits, result_bits
        Widths of the unsigned operand and result.
    build
        Adds the datapath to a pipeline.
    multiplier
        What the chip multiplies with.
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
