"""Estimate of the RAM blocks and multipliers of a machine by arithmetic, without synthesis.

:mod:`beltline.constraints.area` counts them by synthesis. This estimate is quick; the sizes of the builds in
:mod:`beltline.constraints.boards` were chosen with it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

from amaranth.hdl import Fragment, Instance

from beltline.hw.arithmetic import evaluator
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.interface.parameters import MachineParameters, Multiplier
from beltline.hw.line.clocks import expectation_of
from beltline.hw.memory import ram
from beltline.hw.top.axi_machine import AxiMachine

BLOCK_SHAPES = ((512, 72), (1024, 36), (2048, 18), (4096, 9), (8192, 4), (16_384, 2), (32_768, 1))
"""Words and bits of a RAMB36 with one read port and one write port (UG473, UG573)."""

ULTRA_SHAPE = (4096, 72)
"""Words and bits of an UltraRAM (UG573)."""

DSPS = {Multiplier.DSP48E2: 56, Multiplier.DSP48E1: 60, Multiplier.MULT18X18D: 83}
"""Number of multipliers of an evaluator, after synthesis by Yosys."""

TABLES = 21
"""Number of half RAMB36 of the tables of an evaluator, after synthesis by Yosys."""


@dataclass(frozen=True)
class Blocks:
    """Numbers of evaluators, RAMB36, UltraRAMs and multipliers of a machine."""

    evaluators: int
    bram: int
    uram: int
    dsp: int


def _instances(fragment: Fragment) -> Iterator[Instance]:
    """Return all instances in a fragment and its subfragments."""
    if isinstance(fragment, Instance):
        yield fragment
    for child, *_ in fragment.subfragments:
        yield from _instances(child)


def block_rams(width: int, depth: int) -> int:
    """Return the number of RAMB36 of a RAM: the least over all shapes of a block, combined in width and depth."""
    return min(-(-width // bits) * -(-depth // words) for words, bits in BLOCK_SHAPES)


def ultra_rams(width: int, depth: int) -> int:
    """Return the number of UltraRAMs of a RAM."""
    words, bits = ULTRA_SHAPE
    return -(-width // bits) * -(-depth // words)


@functools.cache
def blocks(parameters: MachineParameters) -> Blocks:
    """Return the resources of a machine on a chip with the multipliers for which it is built.

    RAMs that are shallower than a block RAM are not counted, since tools make them of LUTs.
    """
    has_ultra = parameters.multiplier is Multiplier.DSP48E2
    bram = uram = evaluators = 0
    for instance in _instances(Fragment.get(AxiMachine(parameters), None)):
        evaluators += instance.type == evaluator.MODULE
        if instance.type != ram.MODULE:
            continue
        width, depth = int(instance.parameters["WIDTH"]), int(instance.parameters["DEPTH"])
        style = ram.style(width, depth)
        if style == "ultra" and has_ultra:
            uram += ultra_rams(width, depth)
        elif style != "auto":
            bram += block_rams(width, depth)
    wide, narrow = parameters.multiplier.value
    product = -(-WIDTH // wide) * -(-WIDTH // narrow)
    dsp = DSPS[parameters.multiplier] * evaluators + product * expectation_of(parameters).multipliers
    return Blocks(evaluators, bram + -(-TABLES * evaluators // 2), uram, dsp)
