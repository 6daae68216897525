"""The objective of one candidate: utility of what is left, plus the expected value."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from amaranth.hdl import Cat, ClockSignal, Const, Elaboratable, Instance, Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.compiled import njit
from beltline.hw.arithmetic import utility
from beltline.hw.arithmetic.numbers import MAXIMUM, WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline, Term, Timed
from beltline.hw.arithmetic.utility_constants import A_BITS, B_BITS, SHIFT_BITS
from beltline.hw.interface.parameters import Multiplier

OBJECTIVE_BITS = WIDTH + 1

MODULE = "beltline_evaluator"
"""Name of the Verilog module that every stage instances: generated once, compiled once."""

_INPUTS = {"wealth": signed(WIDTH), "x": signed(WIDTH), "ev": signed(WIDTH)}
_OUTPUTS = {"objective": signed(OBJECTIVE_BITS), "feasible": 1, "over": 1}


@njit(cache=True)
def consumption_word(wealth, x):  # type: ignore[no-untyped-def]
    """``(c, excess)``: ``wealth - x``, its low 63 bits where it exceeds ``2**63 - 1`` (compiled code only)."""
    # Signed overflow is undefined to the compiler, which would drop the tests below.
    c = np.int64(np.uint64(wealth) - np.uint64(x))
    if wealth >= 0 and x < 0 and c < 0:
        return c & MAXIMUM, True
    if wealth < 0 and x >= 0 and c >= 0:
        return -1, False
    return c, False


@dataclass(frozen=True)
class EvaluatorParameters:
    """``O = U(wealth - x) + ev``, exact in 65 bits after the utility's rounding.

    ``feasible`` as in :class:`beltline.hw.arithmetic.utility.UtilityParameters`; ``over`` also where ``wealth - x``
    exceeds ``2**63 - 1``.
    """

    multiplier: Multiplier = Multiplier.DSP48E2

    @property
    def latency(self) -> int:
        """Clocks from ``wealth`` and ``x`` to the objective; new operands enter every clock."""
        return _times(self.multiplier)[1]

    @property
    def ev_time(self) -> int:
        """Clocks by which ``ev`` comes later than ``wealth`` and ``x``."""
        return _times(self.multiplier)[0]


def _build(p: Pipeline, wealth: Timed, x: Timed, ports: utility.UtilityPorts, ev: Signal) -> tuple[Timed, Timed, Timed]:
    difference = p.total([Term(wealth), Term(x, negative=True)], WIDTH + 1)
    operand = difference.map(lambda value: Cat(value[: WIDTH - 1], value[WIDTH]))
    excess = p.compute(lambda value: value[WIDTH - 1] & ~value[WIDTH], difference)
    u, feasible, over = utility.build(p, operand, ports)
    over = p.compute(lambda a, b: a | b, over, excess)
    objective = p.total([Term(u), Term(Timed(ev, u.time))], OBJECTIVE_BITS, signed=True)
    return (
        objective,
        p.delay(feasible, objective.time - feasible.time),
        p.delay(over, objective.time - over.time),
    )


@functools.cache
def _times(multiplier: Multiplier) -> tuple[int, int]:
    ports = utility.UtilityPorts(
        Signal(A_BITS),
        Signal(B_BITS),
        Signal(),
        Signal(),
        Signal(SHIFT_BITS),
    )
    word = Timed(Const(0, signed(WIDTH)), 0)
    p = Pipeline(multiplier=multiplier)
    difference = p.total([Term(word), Term(word, negative=True)], WIDTH + 1)
    ev_time = difference.time + utility.UtilityParameters(multiplier).latency
    return ev_time, _build(Pipeline(multiplier=multiplier), word, word, ports, Signal(signed(WIDTH)))[0].time


class Evaluator(wiring.Component):
    """:class:`EvaluatorParameters` in gateware. Fixed latency, new operands every clock; carries no valid of its own.

    ``ev`` enters ``ev_time`` clocks after the ``wealth`` and ``x`` it belongs to.
    """

    def __init__(self, parameters: EvaluatorParameters) -> None:
        self.parameters = parameters
        super().__init__(
            {
                **utility.CONSTANTS,
                **{name: In(shape) for name, shape in _INPUTS.items()},
                **{name: Out(shape) for name, shape in _OUTPUTS.items()},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m, self.parameters.multiplier)
        ports = utility.UtilityPorts.of(self)
        objective, feasible, over = _build(p, p.input(self.wealth), p.input(self.x), ports, self.ev)
        m.d.comb += [
            self.objective.eq(objective.value),
            self.feasible.eq(feasible.value),
            self.over.eq(over.value),
        ]
        return m


class EvaluatorInstance(Elaboratable):
    """An instance of the Verilog module of :class:`Evaluator`, with the same ports.

    Amaranth elaborates a component anew wherever it is used. A machine has up to 46 evaluators; as instances they
    are generated once, and a simulator compiles them once.
    """

    def __init__(self, constants: utility.UtilityPorts) -> None:
        self._constants = constants
        self.wealth = Signal(signed(WIDTH))
        self.x = Signal(signed(WIDTH))
        self.ev = Signal(signed(WIDTH))
        self.objective = Signal(signed(OBJECTIVE_BITS))
        self.feasible = Signal()
        self.over = Signal()

    def elaborate(self, platform: object) -> Instance:
        return Instance(
            MODULE,
            i_clk=ClockSignal(),
            **{f"i_{name}": getattr(self._constants, name) for name in utility.CONSTANTS},
            **{f"i_{name}": getattr(self, name) for name in _INPUTS},
            **{f"o_{name}": getattr(self, name) for name in _OUTPUTS},
        )
