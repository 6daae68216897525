"""RAM blocks and multipliers of a machine by arithmetic, before anything is synthesised.

What is synthesised is counted by :mod:`beltline.constraints.area`. This is quick, and is what the sizes of
:data:`BOARDS` were chosen by.
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
"""Words and bits of a RAMB36 (UG473, UG573: with a port for reading and one for writing)."""

ULTRA_SHAPE = (4096, 72)
"""Words and bits of an UltraRAM (UG573)."""

DSPS = {Multiplier.DSP48E2: 56, Multiplier.DSP48E1: 60, Multiplier.MULT18X18D: 83}
"""Multipliers of an evaluator, as Yosys counts them."""

TABLES = 21
"""Halves of a RAMB36 that the tables of an evaluator take, likewise."""


@dataclass(frozen=True)
class Blocks:
    """Evaluators, RAMB36, UltraRAMs and multipliers of a machine."""

    evaluators: int
    bram: int
    uram: int
    dsp: int


def _instances(fragment: Fragment) -> Iterator[Instance]:
    if isinstance(fragment, Instance):
        yield fragment
    for child, *_ in fragment.subfragments:
        yield from _instances(child)


def block_rams(width: int, depth: int) -> int:
    """RAMB36 of a RAM: the fewest in which all of its words are side by side or one behind the other."""
    return min(-(-width // bits) * -(-depth // words) for words, bits in BLOCK_SHAPES)


def ultra_rams(width: int, depth: int) -> int:
    """UltraRAMs of a RAM."""
    words, bits = ULTRA_SHAPE
    return -(-width // bits) * -(-depth // words)


@functools.cache
def blocks(parameters: MachineParameters) -> Blocks:
    """What a machine takes for a chip with the multipliers that it is built for.

    RAMs that are shallower than a block RAM are counted as LUTs, which is what tools make of them.
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
