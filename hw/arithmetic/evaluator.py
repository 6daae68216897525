"""The objective of one candidate: utility of consumption plus expected discounted value."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from amaranth.hdl import Cat, ClockSignal, Const, Elaboratable, Instance, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.compiled import njit
from beltline.hw.arithmetic import utility
from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM, WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline, Term, Timed
from beltline.hw.arithmetic.utility_constants import A_BITS, B_BITS, SHIFT_BITS
from beltline.hw.interface.parameters import Multiplier

OBJECTIVE_BITS = WIDTH + 1
"""Width of an objective, signed: the sum of two signed 64-bit numbers."""

MODULE = "beltline_evaluator"
"""Name of the Verilog module that every stage instantiates: it is generated once and compiled once."""

_INPUTS = {"wealth": signed(WIDTH), "x": signed(WIDTH), "ev": signed(WIDTH)}
_OUTPUTS = {"objective": signed(OBJECTIVE_BITS), "feasible": 1, "over": 1}


@njit(cache=True)
def consumption_word(wealth, x):  # type: ignore[no-untyped-def]
    """Return consumption ``wealth - x`` of one candidate, for calls from compiled code only.

    Parameters
    ----------
    wealth, x
        int64.

    Returns
    -------
    c, excess
        int64 and bool. Where ``wealth - x`` exceeds ``2**63 - 1``, ``c`` has its low 63 bits and ``excess`` is true.
        Where it is below ``-2**63``, ``c`` is ``-2**63``, which is infeasible also where consumption may be negative.
    """
    # The subtraction is unsigned because signed overflow is undefined: the compiler would drop the tests below.
    c = np.int64(np.uint64(wealth) - np.uint64(x))
    if wealth >= 0 and x < 0 and c < 0:
        return c & MAXIMUM, True
    if wealth < 0 and x >= 0 and c >= 0:
        return np.int64(MINIMUM), False
    return c, False


@dataclass(frozen=True)
class EvaluatorParameters:
    """Parameters of the evaluator, which computes the objective ``O = U(wealth - x) + ev`` of one candidate.

    With linear utility ``U`` is ``wealth - x`` itself, without an error. Otherwise ``U`` is that of
    :class:`beltline.hw.arithmetic.utility.UtilityParameters`, with its error bound. The sum is exact in 65 bits.
    ``feasible`` and ``over`` are those of the utility; ``over`` is also set where ``wealth - x`` exceeds
    ``2**63 - 1``.

    Parameters
    ----------
    multiplier
        The chip's multiplier. It changes the latency and no result.
    linear
        Whether utility may be linear, which does not change the latency.
    """

    multiplier: Multiplier = Multiplier.DSP48E2
    linear: bool = False

    @property
    def latency(self) -> int:
        """Clocks from ``wealth`` and ``x`` to the objective, 53 with ``DSP48E2``. New operands enter in every clock."""
        return _times(self.multiplier)[1]

    @property
    def ev_time(self) -> int:
        """Clocks after ``wealth`` and ``x`` in which ``ev`` must be applied, 51 with ``DSP48E2``."""
        return _times(self.multiplier)[0]


def _build(p: Pipeline, wealth: Timed, x: Timed, ports: utility.UtilityPorts, ev: Signal) -> tuple[Timed, Timed, Timed]:
    """Add the datapath to ``p``; returns objective, ``feasible`` and ``over``, all in the same clock."""
    difference = p.total([Term(wealth), Term(x, negative=True)], WIDTH + 1)
    operand = difference.map(lambda value: Cat(value[: WIDTH - 1], value[WIDTH]))
    excess = p.compute(lambda value: value[WIDTH - 1] & ~value[WIDTH], difference)
    u, feasible, over = utility.build(p, operand, ports)
    if ports.linear is not None:
        curved = u, feasible, over
        u, feasible, over = _linear(p, difference, operand, (ports.linear, ports.negative), curved)
    over = p.compute(lambda a, b: a | b, over, excess)
    objective = p.total([Term(u), Term(Timed(ev, u.time))], OBJECTIVE_BITS, signed=True)
    return (
        objective,
        p.delay(feasible, objective.time - feasible.time),
        p.delay(over, objective.time - over.time),
    )


def _linear(
    p: Pipeline, difference: Timed, operand: Timed, kind: tuple[Signal, Signal], curved: tuple[Timed, Timed, Timed]
) -> tuple[Timed, Timed, Timed]:
    """Return the results of the utility unit, ``curved``, or with linear utility those of consumption itself.

    ``difference`` is consumption, signed 65 bits, and ``operand`` its low 63 bits and its sign. Consumption at or below
    ``-2**63`` is infeasible. ``kind`` are the constants ``linear`` and ``negative``.
    """
    linear, negative = kind

    def able(value: Value) -> Value:
        fits = value[WIDTH - 1] & value[: WIDTH - 1].any()
        return Mux(value[WIDTH], fits & negative, value[: WIDTH - 1].any() | negative)

    allowed = p.compute(able, difference)
    u, feasible, over = curved
    assert u.time == feasible.time == over.time
    amount = p.delay(operand, u.time - operand.time).value.as_signed()
    allowed = p.delay(allowed, u.time - allowed.time)
    return (
        Timed(Mux(linear, amount, u.value), u.time),
        Timed(Mux(linear, allowed.value, feasible.value), u.time),
        Timed(~linear & over.value, u.time),
    )


@functools.cache
def _times(multiplier: Multiplier) -> tuple[int, int]:
    """Return ``ev_time`` and ``latency`` of :class:`EvaluatorParameters`, by building the datapath without a module."""
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
    """Computes the objective ``U(wealth - x) + ev`` of one candidate in every clock.

    Latency: ``parameters.latency`` clocks from ``wealth`` and ``x`` to the outputs (53 with ``DSP48E2``). Throughput:
    one candidate in every clock. Contract: fixed latency, no ``valid`` and no ``ready``; the caller delays its own
    ``valid``. The constants must not change while candidates are in the pipeline.

    Attributes
    ----------
    a, b, negative, log, shift : in
        Constants of the utility, see :data:`beltline.hw.arithmetic.utility.CONSTANTS`.
    linear : in, 1 bit
        Only with ``parameters.linear``: utility is consumption; with ``negative`` this may be negative.
    wealth : in, signed 64 bits
        Cash on hand of the state, an amount.
    x : in, signed 64 bits
        Cost of the candidate: the grid point that is saved, an amount.
    ev : in, signed 64 bits
        Expected discounted value of the candidate; enters ``parameters.ev_time`` clocks after its ``wealth`` and ``x``.
    objective : out, signed 65 bits
        The objective. Undefined where ``feasible`` is low.
    feasible : out, 1 bit
        Low where consumption is not positive or its utility is at or below ``-2**63``. Where consumption may be
        negative, low only where it is at or below ``-2**63``.
    over : out, 1 bit
        High where consumption or its utility exceeds ``2**63 - 1``: ``objective`` is then not exact.
    """

    def __init__(self, parameters: EvaluatorParameters) -> None:
        self.parameters = parameters
        super().__init__(
            {
                **utility.constant_ports(parameters.linear),
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
    """An instance of the Verilog module of :class:`Evaluator`, with the same ports, latency and contract.

    Amaranth elaborates a component again for each of its uses, and a machine has up to 46 evaluators. As instances of
    one module they are generated once, and a simulator compiles them once.

    Parameters
    ----------
    constants
        Signals of the utility's constants, connected to its ports ``a``, ``b``, ``negative``, ``log`` and ``shift``,
        and to ``linear`` if there is such a signal, as in machines whose module has this port.
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
            **{f"i_{name}": signal for name, signal in self._constants.named.items()},
            **{f"i_{name}": getattr(self, name) for name in _INPUTS},
            **{f"o_{name}": getattr(self, name) for name in _OUTPUTS},
        )
