"""A search stage of the assembly line: three candidates, or four in the last stage."""

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
"""Segment comparisons, winner, recursion."""

CLAMP_CLOCKS = 1
"""What the last stage adds: the value is cut to 64 bits."""


@njit(cache=True)
def next_position(h, o1, f1, o2, f2, o3, f3):  # type: ignore[no-untyped-def]
    """``2 h + j*`` (compiled code only).

    ``o`` are the objectives of candidates 1, 2, 3 and ``f`` whether they are feasible. ``j*`` by the set of maximal
    feasible candidates: {1} or none 0, {1, 2} 1, {2} or {1, 2, 3} 2, {2, 3} 3, {3} 4; {1, 3}, which no concave
    objective has, 0. Peri (2019), appendix C, with ties among infeasible candidates going left.
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
    """Stage ``number`` (from 1) of a line for ``2**index_bits`` points and up to ``states`` exogenous states.

    Candidates are the points ``step (h + j)``, ``step = 2**(index_bits - number - 1)``, ``j = 1, 2, 3``, in the last
    stage (``number = index_bits - 1``) ``j = 0, 1, 2, 3``.
    """

    index_bits: int
    states: int
    number: int
    multiplier: Multiplier = Multiplier.DSP48E2

    @property
    def last(self) -> bool:
        return self.number == self.index_bits - 1

    @property
    def step_bits(self) -> int:
        """``log2`` of the distance between candidates."""
        return self.index_bits - self.number - 1

    @property
    def place_bits(self) -> int:
        """Bits of ``h``, a place of the stage's own memory."""
        return self.number + 1

    @property
    def state_bits(self) -> int:
        return (self.states - 1).bit_length()

    @property
    def candidates(self) -> tuple[int, ...]:
        return tuple(range(0 if self.last else 1, BANKS))

    @property
    def grid_memory(self) -> BanksParameters:
        return BanksParameters(1 << (self.number - 1), 0, lanes=WORD_BYTES)

    @property
    def value_memory(self) -> BanksParameters:
        return BanksParameters(1 << (self.number - 1), self.state_bits + 1)

    @property
    def value_read(self) -> int:
        """Clock in which ``EV`` is addressed."""
        return self.grid_memory.latency + EvaluatorParameters(self.multiplier).ev_time - self.value_memory.latency

    @property
    def latency(self) -> int:
        """Clocks from a state's entry to its exit; a state enters every clock."""
        objective = self.grid_memory.latency + EvaluatorParameters(self.multiplier).latency
        return objective + DECISION_CLOCKS + (CLAMP_CLOCKS if self.last else 0)


def shared_ports(index_bits: int, states: int) -> dict[str, wiring.Member]:
    """Ports that carry the same words to every stage: constants, writes of ``X`` and ``EV``, ping-pong half."""
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
    """Ports of a line: states go in, the best choice and its value come out; ``live`` where it is folded."""
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
    """Ports of a stage.

    Parameters
    ----------
    index_bits, states
        Of the line.
    in_bits, out_bits
        Of ``in_h`` and ``out_h``; ``out_bits`` is None for the last stage, from which the result comes.
    live
        Whether what goes in and out may be no state: a folded stage.
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
    """Keep the broadcast writes of every ``2**step_bits``-th point, a clock later.

    ``grid`` and ``values`` have the write port of :class:`beltline.hw.line.banks.Banks`. A reset does not undo a write
    of the host's that was taken.
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
    """:class:`StageParameters` in gateware. Fixed latency, one state a clock, no ready.

    In goes a state (``wealth``, ``state`` its exogenous index, ``h``); out comes the same state with the next ``h``, or
    from the last stage ``index`` and ``value``. ``over`` flags a state of which a candidate's utility left the range;
    ``infeasible`` one without a feasible candidate in the last stage, ``saturated`` one whose value had to be cut.
    Writes of ``X`` and ``EV`` are broadcast to all stages with the full index; each keeps its own points. ``x_write``
    has a bit for each byte of the word.
    ``half`` is the half of the ping-pong ``EV`` memory that is read; the other one is written.
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

        # The wealth waits for X in registers; everything else that passes goes round in RAM.
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
