"""A search stage of the assembly line, which compares three candidates, or four in the last stage.

The search is a recursion on a position ``h``. Stage ``n`` looks at every ``step``-th grid point, where ``step`` halves
from each stage to the next, and compares the candidates ``step (h + j)``. Its decision ``j*`` gives the position of the
next stage, ``2 h + j*``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.compiled import njit
from beltline.hw.arithmetic.decision import Order, choose, move
from beltline.hw.arithmetic.evaluator import EvaluatorInstance, EvaluatorParameters
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline, Timed
from beltline.hw.arithmetic.utility import CONSTANTS, UtilityPorts
from beltline.hw.interface.parameters import Multiplier
from beltline.hw.interface.windows import WORD_BYTES
from beltline.hw.line.banks import BANKS, Banks, BanksParameters
from beltline.hw.memory.ram import delay_line

DECISION_CLOCKS = 3
"""Clocks from the objectives to the next position: comparison of segments, comparison of objectives, recursion."""

CLAMP_CLOCKS = 1
"""Further clocks of the last stage, in which the value is saturated to 64 bits."""


@njit(cache=True)
def next_position(h, o1, f1, o2, f2, o3, f3):  # type: ignore[no-untyped-def]
    """Return the position ``2 h + j*`` of the next stage; for calls from compiled code only.

    ``j*`` depends on the set of feasible candidates with the highest objective:

    ==========================  ====
    best candidates             j*
    ==========================  ====
    {1}, or none is feasible    0
    {1, 2}                      1
    {2} or {1, 2, 3}            2
    {2, 3}                      3
    {3}                         4
    {1, 3} (not single-peaked)  0
    ==========================  ====

    Source: Peri (2019), appendix C; here infeasible candidates lead to the left.

    Parameters
    ----------
    h
        Position in this stage.
    o1, o2, o3
        Objectives of candidates 1, 2 and 3, as pairs of upper 64 bits and lowest bit.
    f1, f2, f3
        Whether they are feasible.
    """
    ge12 = not f2 or (f1 and o1 >= o2)
    ge13 = not f3 or (f1 and o1 >= o3)
    ge21 = not f1 or (f2 and o2 >= o1)
    ge23 = not f3 or (f2 and o2 >= o3)
    ge31 = not f1 or (f3 and o3 >= o1)
    ge32 = not f2 or (f3 and o3 >= o2)
    if not f1 and not f2 and not f3:
        return 2 * h
    best1, best2, best3 = ge12 and ge13, ge21 and ge23, ge31 and ge32
    if best2:
        return 2 * h + (2 if best1 == best3 else (1 if best1 else 3))
    return 2 * h + (0 if best1 else 4)


@dataclass(frozen=True)
class StageParameters:
    """Parameters of a stage.

    Its candidates are the grid points ``step (h + j)`` with ``step = 2**(index_bits - number - 1)`` and
    ``j = 1, 2, 3``; in the last stage (``number = index_bits - 1``) ``j = 0, 1, 2, 3``.

    Parameters
    ----------
    index_bits
        The line searches ``2**index_bits`` grid points.
    states
        Largest number of exogenous states.
    number
        Number of the stage, from 1.
    multiplier
        The chip's multiplier.
    """

    index_bits: int
    states: int
    number: int
    multiplier: Multiplier = Multiplier.DSP48E2

    @property
    def last(self) -> bool:
        """Whether the stage is the last one of its line."""
        return self.number == self.index_bits - 1

    @property
    def step_bits(self) -> int:
        """Logarithm to base 2 of the distance of candidates, in grid points."""
        return self.index_bits - self.number - 1

    @property
    def place_bits(self) -> int:
        """Bits of a position ``h``, which is also the number of a place in the stage's memories."""
        return self.number + 1

    @property
    def state_bits(self) -> int:
        """Bits of the number of an exogenous state."""
        return (self.states - 1).bit_length()

    @property
    def candidates(self) -> tuple[int, ...]:
        """Numbers ``j`` of the candidates."""
        return tuple(range(0 if self.last else 1, BANKS))

    @property
    def grid_memory(self) -> BanksParameters:
        """Memory of the grid points of the stage."""
        return BanksParameters(1 << (self.number - 1), 0, lanes=WORD_BYTES)

    @property
    def value_memory(self) -> BanksParameters:
        """Memory of their expectations, in two halves, of which one is read while the other is written."""
        return BanksParameters(1 << (self.number - 1), self.state_bits + 1)

    @property
    def value_read(self) -> int:
        """Clocks from the entry of a state to the read of its expectations."""
        return self.grid_memory.latency + EvaluatorParameters(self.multiplier).ev_time - self.value_memory.latency

    @property
    def latency(self) -> int:
        """Clocks from the entry of a state to its exit, 61 with ``DSP48E2``, 62 in the last stage."""
        objective = self.grid_memory.latency + EvaluatorParameters(self.multiplier).latency
        return objective + DECISION_CLOCKS + (CLAMP_CLOCKS if self.last else 0)


def shared_ports(index_bits: int, states: int) -> dict[str, wiring.Member]:
    """Return input ports that are the same for all stages of a line: constants and table writes.

    Each stage stores the grid points that it can have as candidates and ignores the others.

    Attributes
    ----------
    a, b, negative, log, shift
        Constants of the utility, see :data:`beltline.hw.arithmetic.utility.CONSTANTS`.
    x_write : in, 8 bits
        Byte strobes of a write of the grid.
    x_write_index : in, ``index_bits`` bits
        Index of the grid point to write.
    x_write_data : in, 64 bits
        The grid point, an amount.
    ev_write : in, 1 bit
        Writes an expectation into the half that is not read.
    ev_write_index, ev_write_state : in
        Its grid point and exogenous state.
    ev_write_data : in, 64 bits
        The expectation.
    half : in, 1 bit
        Half of the expectation memory that is read. Changes between passes.
    """
    return {
        **CONSTANTS,
        "x_write": In(WORD_BYTES),
        "x_write_index": In(index_bits),
        "x_write_data": In(WIDTH),
        "ev_write": In(1),
        "ev_write_index": In(index_bits),
        "ev_write_state": In(max(1, (states - 1).bit_length())),
        "ev_write_data": In(WIDTH),
        "half": In(1),
    }


def line_ports(index_bits: int, states: int, live: bool = False) -> dict[str, wiring.Member]:
    """Return the ports of a line: states enter, and the index and value of the best candidate leave.

    :class:`beltline.hw.line.line.Line` describes them. A folded line has ``in_live`` (``live=True``), which is low in
    clocks of a round without a state.
    """
    return {
        **shared_ports(index_bits, states),
        "in_valid": In(1),
        **({"in_live": In(1)} if live else {}),
        "in_wealth": In(signed(WIDTH)),
        "in_state": In(max(1, (states - 1).bit_length())),
        "out_valid": Out(1),
        "index": Out(index_bits),
        "value": Out(signed(WIDTH)),
        "infeasible": Out(1),
        "saturated": Out(1),
        "over": Out(1),
    }


def stage_ports(
    index_bits: int, states: int, in_bits: int, out_bits: int | None, live: bool = False
) -> dict[str, wiring.Member]:
    """Return the ports of a stage, which :class:`Stage` describes.

    Parameters
    ----------
    index_bits, states
        Parameters of the line.
    in_bits, out_bits
        Widths of ``in_h`` and ``out_h``; ``out_bits`` is None for the last stage, which has ports for the result.
    live
        Whether there are ports ``in_live`` and ``out_live``, which are low in clocks of a round without a state: in a
        folded stage.
    """
    state = max(1, (states - 1).bit_length())
    ports = {
        **shared_ports(index_bits, states),
        "in_valid": In(1),
        **({"in_live": In(1)} if live else {}),
        "in_wealth": In(signed(WIDTH)),
        "in_state": In(state),
        "in_h": In(in_bits),
        "out_valid": Out(1),
        **({"out_live": Out(1)} if live else {}),
        "over": Out(1),
    }
    if out_bits is None:
        results = {"index": Out(index_bits), "value": Out(signed(WIDTH)), "infeasible": Out(1), "saturated": Out(1)}
        return ports | results
    return ports | {"out_wealth": Out(signed(WIDTH)), "out_state": Out(state), "out_h": Out(out_bits)}


def write_tables(m: Module, stage: Any, grid: Any, values: Any, step_bits: int, state_bits: int) -> None:
    """Connect the broadcast table writes to the memories of a stage, which store every ``2**step_bits``-th grid point.

    The writes are delayed by one clock. The register of the host's write has no reset: a write that was accepted is
    carried out.

    Parameters
    ----------
    m
        The module of the stage.
    stage
        The stage, with :func:`shared_ports`.
    grid, values
        Its memories, with the write port of :class:`beltline.hw.line.banks.Banks`.
    step_bits
        Logarithm to base 2 of the distance of its grid points.
    state_bits
        Bits of the number of an exogenous state.
    """
    strobes = Signal(WORD_BYTES, reset_less=True)
    m.d.comb += grid.write.eq(strobes)
    m.d.sync += [
        strobes.eq(stage.x_write & (~stage.x_write_index[:step_bits].any()).replicate(WORD_BYTES)),
        grid.write_place.eq(stage.x_write_index[step_bits:]),
        grid.write_data.eq(stage.x_write_data),
        values.write.eq(stage.ev_write & ~stage.ev_write_index[:step_bits].any()),
        values.write_place.eq(stage.ev_write_index[step_bits:]),
        values.write_inner.eq(Cat(stage.ev_write_state[:state_bits], ~stage.half)),
        values.write_data.eq(stage.ev_write_data),
    ]


class Stage(wiring.Component):
    """Compares the candidates of a state and passes it to the next stage with its new position.

    Latency: ``parameters.latency`` clocks (61 with ``DSP48E2``, 62 in the last stage). Throughput: one state in every
    clock. Contract: ``valid`` without ``ready``; tables and constants do not change while states are in the pipeline.

    Attributes
    ----------
    in_valid : in, 1 bit
        High in clocks with a state.
    in_wealth : in, signed 64 bits
        Cash on hand of the state, an amount.
    in_state : in, ``state_bits`` bits, at least 1
        Its exogenous state.
    in_h : in, ``place_bits`` bits
        Its position ``h``.
    out_valid : out, 1 bit
        High in clocks with a result: ``in_valid``, delayed by the latency.
    out_wealth, out_state : out
        The same state; not in the last stage.
    out_h : out, ``place_bits + 1`` bits
        Its position in the next stage; not in the last stage.
    index : out, ``index_bits`` bits
        Index of the best candidate; in the last stage.
    value : out, signed 64 bits
        Its objective, saturated; ``-2**63`` if no candidate is feasible; in the last stage.
    infeasible : out, 1 bit
        No candidate is feasible; in the last stage.
    saturated : out, 1 bit
        ``value`` was saturated; in the last stage.
    over : out, 1 bit
        The consumption or utility of a candidate is out of range.
    others : in
        See :func:`shared_ports`.
    """

    def __init__(self, parameters: StageParameters) -> None:
        self.parameters = parameters
        places = None if parameters.last else parameters.place_bits + 1
        super().__init__(stage_ports(parameters.index_bits, parameters.states, parameters.place_bits, places))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        parameters = self.parameters
        latency = parameters.latency
        decided = latency - 1 - (CLAMP_CLOCKS if parameters.last else 0)
        m.submodules.grid = grid = Banks(parameters.grid_memory)
        m.submodules.values = values = Banks(parameters.value_memory)

        write_tables(m, self, grid, values, parameters.step_bits, parameters.state_bits)

        # The wealth is delayed in registers until the grid points are read; the rest of the state, in RAM.
        x_time = parameters.grid_memory.latency
        wealth = p.delay(p.input(self.in_wealth), x_time)
        width = parameters.state_bits + parameters.place_bits
        passing = delay_line(m, Cat(self.in_state[: parameters.state_bits], self.in_h), width, parameters.value_read)
        state = Timed(passing[: parameters.state_bits], parameters.value_read)
        h = Timed(passing[parameters.state_bits :], parameters.value_read)
        m.d.comb += [
            grid.h.eq(self.in_h),
            values.h.eq(h.value),
            values.inner.eq(Cat(state.value, self.half)),
        ]

        ports = UtilityPorts.of(self)
        objectives: list[Timed] = []
        feasible: list[Timed] = []
        over: list[Value] = []
        objective_time = x_time + EvaluatorParameters(parameters.multiplier).latency
        for j in parameters.candidates:
            evaluator = EvaluatorInstance(ports)
            m.submodules[f"evaluator{j}"] = evaluator
            m.d.comb += [
                evaluator.wealth.eq(wealth.value),
                evaluator.x.eq(getattr(grid, f"word{j}")),
                evaluator.ev.eq(getattr(values, f"word{j}")),
            ]
            objectives.append(Timed(evaluator.objective, objective_time))
            feasible.append(Timed(evaluator.feasible, objective_time))
            over.append(evaluator.over)

        def at_decision(word: Timed) -> Value:
            return p.delay(word, decided - word.time).value

        order = Order(p, objectives, feasible)
        valid = p.input(self.in_valid)
        m.d.comb += self.out_valid.eq(p.valid(valid, latency))
        over_time = Timed(Cat(*over).any() & p.valid(valid, objective_time), objective_time)
        m.d.comb += self.over.eq(p.valid(over_time, latency))
        if parameters.last:
            best = choose(p, order, objectives, p.delay(h, decided - h.time))
            ok = p.valid(valid, decided + 1)
            m.d.sync += [
                self.value.eq(best.value),
                self.index.eq(best.index),
                self.infeasible.eq(best.none & ok),
                self.saturated.eq(best.outside & ok),
            ]
        else:
            search = [order.wins_or_ties(k) for k in range(len(objectives))]
            m.d.sync += self.out_h.eq(Cat(Const(0, 1), at_decision(h)) + move(search))
            m.d.comb += self.out_state.eq(p.delay(state, latency - state.time).value)
            m.d.comb += self.out_wealth.eq(delay_line(m, wealth.value, WIDTH, latency - wealth.time).as_signed())
        return m
