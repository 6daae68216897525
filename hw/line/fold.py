"""The folded line: fewer physical stages, each of which serves several of the assembly line's in turn.

The search, its candidates and its bits are those of :mod:`beltline.hw.line.line`. States go round in a physical stage:
a *round* of ``K`` states makes its first stage of the search, then all make the second, and so on, so that the pipeline
is full although a state waits for its own decision. The tables exist once in a physical stage
(:mod:`beltline.hw.line.prime_banks`).
"""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring

from beltline.hw.arithmetic.decision import ORDER_CLOCKS, Order, choose, move
from beltline.hw.arithmetic.evaluator import EvaluatorInstance, EvaluatorParameters
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline, Timed
from beltline.hw.arithmetic.utility import UtilityPorts
from beltline.hw.interface.parameters import MachineParameters, Multiplier
from beltline.hw.interface.windows import WORD_BYTES
from beltline.hw.line.prime_banks import PrimeBanks, PrimeBanksParameters
from beltline.hw.line.stage import line_ports, shared_ports, stage_ports, write_tables
from beltline.hw.memory.ram import READ_LATENCY, Ram, delay_line

CANDIDATES = 4

_PLACE_TIME = READ_LATENCY + 1
"""Clocks from a slot's state to the places of its candidates."""

_MOVE_CLOCKS = 2
"""Behind the order: the move, and the place that it leads to; or the winner, and the cut to 64 bits."""


@dataclass(frozen=True)
class FoldedStageParameters:
    """A physical stage for the stages ``first`` to ``last`` (from 1) of a line for ``2**index_bits`` points.

    A state takes ``slots`` clocks a stage: three candidates (four in stage ``index_bits - 1``) with 1, 2 or 4
    evaluators.
    """

    index_bits: int
    states: int
    first: int
    last: int
    evaluators: int
    multiplier: Multiplier = Multiplier.DSP48E2

    @property
    def final(self) -> bool:
        """Whether the last stage of the line is among its stages."""
        return self.last == self.index_bits - 1

    @property
    def stages(self) -> range:
        return range(self.first, self.last + 1)

    @property
    def step_bits(self) -> int:
        """``log2`` of the distance between the points that it keeps."""
        return self.index_bits - self.last - 1

    @property
    def place_bits(self) -> int:
        return self.last + 1

    @property
    def state_bits(self) -> int:
        return (self.states - 1).bit_length()

    @property
    def units(self) -> tuple[int, ...]:
        """The evaluators, by the candidates' number modulo ``evaluators``."""
        return tuple(range(1 if self.evaluators == CANDIDATES and not self.final else 0, self.evaluators))

    def slots(self, number: int) -> int:
        """Clocks that a state takes in stage ``number``."""
        return CANDIDATES // self.evaluators if number == self.index_bits - 1 else -(-3 // self.evaluators)

    @property
    def grid_memory(self) -> PrimeBanksParameters:
        return PrimeBanksParameters(self.place_bits, 0, self.evaluators, lanes=WORD_BYTES)

    @property
    def value_memory(self) -> PrimeBanksParameters:
        return PrimeBanksParameters(self.place_bits, self.state_bits + 1, self.evaluators)

    @property
    def evaluator(self) -> EvaluatorParameters:
        return EvaluatorParameters(self.multiplier)

    @property
    def grid_time(self) -> int:
        """Clock of a slot in which its grid points are there."""
        return _PLACE_TIME + self.grid_memory.latency

    @property
    def decided(self) -> int:
        """Clock of a state's last slot in which the next place, or the result, is there."""
        return self.grid_time + self.evaluator.latency + ORDER_CLOCKS + _MOVE_CLOCKS

    @property
    def least_round(self) -> int:
        """States that a round needs, so that the first has its decision when the last has made its slots."""
        return 1 + -(-self.decided // self.slots(0))

    @property
    def round_slots(self) -> int:
        """Clocks that a round takes, for each of its states."""
        return sum(self.slots(number) for number in self.stages)

    def latency(self, round_states: int) -> int:
        """Clocks from the entry of a round's first state to its exit."""
        before = sum(self.slots(number) for number in self.stages[:-1])
        return 1 + round_states * before + self.slots(self.last) - 1 + self.decided


@dataclass(frozen=True)
class FoldedLineParameters:
    """``fold`` stages of the line in each physical stage: the same search, at a fraction of the size and speed.

    ``round_states`` states enter one after the other, every ``round_clocks``; ``round_clocks / round_states`` is what a
    state takes: the slots of the physical stage that has most of them. With one physical stage for a grid of ``2**p``
    points those are ``3 (p - 1) + 1`` with one evaluator, ``2 (p - 1)`` with two and ``p - 1`` with four.
    """

    index_bits: int
    states: int
    fold: int
    evaluators: int
    multiplier: Multiplier = Multiplier.DSP48E2

    @classmethod
    def of(cls, machine: MachineParameters) -> FoldedLineParameters:
        return cls(machine.index_bits, machine.states, machine.fold, machine.evaluators, machine.multiplier)

    @property
    def stages(self) -> list[FoldedStageParameters]:
        """The physical stages."""
        count = self.index_bits - 1
        return [
            FoldedStageParameters(
                self.index_bits,
                self.states,
                first,
                min(first + self.fold - 1, count),
                self.evaluators,
                self.multiplier,
            )
            for first in range(1, count + 1, self.fold)
        ]

    @property
    def round_states(self) -> int:
        return max(stage.least_round for stage in self.stages)

    @property
    def round_clocks(self) -> int:
        return self.round_states * max(stage.round_slots for stage in self.stages)

    @property
    def interval(self) -> int:
        """Least clocks between two results."""
        return self.stages[-1].slots(self.index_bits - 1)

    def last_exit(self, count: int) -> int:
        """Clocks from the entry of the first state to the result of the last of ``count``."""
        rounds, place = divmod(count - 1, self.round_states)
        latency = sum(stage.latency(self.round_states) for stage in self.stages)
        return rounds * self.round_clocks + latency + place * self.interval


class FoldedStage(wiring.Component):
    """:class:`FoldedStageParameters` in gateware, for rounds of ``round_states`` states.

    States of a round enter at least ``slots`` clocks of the stage before ``first`` apart (in the first physical stage,
    one), rounds at least the clocks that they take here. All ``round_states`` enter in every round; those without
    ``in_live`` are none, and leave without ``out_live``. A reset forgets whatever is under way. Other ports as of
    :class:`beltline.hw.line.stage.Stage`.
    """

    def __init__(self, parameters: FoldedStageParameters, round_states: int) -> None:
        self.parameters = parameters
        self._round = round_states
        places = None if parameters.final else parameters.place_bits + 1
        super().__init__(stage_ports(parameters.index_bits, parameters.states, parameters.first + 1, places, live=True))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        parameters = self.parameters
        place_bits, state_bits = parameters.place_bits, parameters.state_bits
        grid_time, decided = parameters.grid_time, parameters.decided
        evaluator = parameters.evaluator
        objective_time = grid_time + evaluator.latency
        order_time = objective_time + ORDER_CLOCKS

        m.submodules.grid = grid = PrimeBanks(parameters.grid_memory)
        m.submodules.values = values = PrimeBanks(parameters.value_memory)
        write_tables(m, self, grid, values, parameters.step_bits, parameters.state_bits)
        slot = _Slots(m, parameters, self._round, self.in_valid)

        entries, places = self._round_memories(m, slot)
        entry = Timed(entries.read_data, READ_LATENCY)
        wealth = entry.map(lambda word: word[:WIDTH].as_signed())
        live = entry.map(lambda word: word[WIDTH])
        state = entry.map(lambda word: word[WIDTH + 1 + parameters.first + 1 :])
        first_place = entry.map(
            lambda word: Cat(Const(0, parameters.last - parameters.first), word[WIDTH + 1 :][: parameters.first + 1])
        )
        at_first = p.delay(p.input(slot.at_first), READ_LATENCY)
        base = Mux(at_first.value, first_place.value, places.read_data)
        step = p.delay(p.input(slot.step), READ_LATENCY).value
        candidates = []
        for candidate in slot.candidates:
            offset = _times(step, p.delay(p.input(candidate), READ_LATENCY).value, place_bits)
            candidates.append(p.register((base + offset)[:place_bits], READ_LATENCY))

        control = Cat(slot.member, slot.step, slot.at_last, slot.at_final, slot.last_slot)
        searching = Cat(p.delay(p.input(control), READ_LATENCY).value, base)
        keep = delay_line(m, searching, len(searching), order_time - READ_LATENCY)
        member_bits = len(slot.member)
        member = Timed(keep[:member_bits], order_time)
        step_then = keep[member_bits : member_bits + place_bits]
        at_last, _, last_slot = keep[member_bits + place_bits : member_bits + place_bits + 3]
        base_then = Timed(keep[len(control) :], order_time)
        active = p.valid(p.input(slot.active), READ_LATENCY) & live.value
        m_live = p.valid(Timed(active, READ_LATENCY), objective_time)

        # The candidates' words.
        wealth_then = p.delay(wealth, grid_time - wealth.time)
        value_read = grid_time + evaluator.ev_time - parameters.value_memory.latency
        passing = Cat(*(place.value for place in candidates), p.delay(state, 1).value)
        late = delay_line(m, passing, len(passing), value_read - _PLACE_TIME)
        m.d.comb += values.inner.eq(Cat(late[len(candidates) * place_bits :], self.half))
        for k, place in enumerate(candidates):
            m.d.comb += [
                getattr(grid, f"place{k}").eq(place.value),
                getattr(values, f"place{k}").eq(late.word_select(k, place_bits)),
            ]
        units = self._evaluators(m, wealth_then, grid, values)

        # Candidate 0 is one in the last stage only; where one evaluator has it with another, it is masked.
        zero_counts = p.valid(p.input(slot.zero_counts), objective_time)
        over = [
            instance.over & (zero_counts if unit == 0 and parameters.evaluators > 1 else Const(1))
            for unit, instance in zip(parameters.units, units, strict=True)
        ]
        m.d.comb += self.over.eq(p.valid(Timed(Cat(*over).any() & m_live, objective_time), decided))

        # The last slot of a state has its last candidates; those before are waited for.
        by_candidate = range(0 if parameters.final else 1, CANDIDATES)
        objectives, feasible = [], []
        slots = CANDIDATES // parameters.evaluators
        for candidate in by_candidate:
            instance = units[parameters.units.index(candidate % parameters.evaluators)]
            wait = slots - 1 - candidate // parameters.evaluators
            o = p.delay(Timed(instance.objective, objective_time - wait), wait)
            f = p.delay(Timed(instance.feasible, objective_time - wait), wait)
            if candidate == 0:
                final = p.delay(p.input(slot.at_final), objective_time)
                f = Timed(f.value & final.value, objective_time)
            objectives.append(o)
            feasible.append(f)
        order = Order(p, objectives, feasible)
        search = [order.wins_or_ties(k) for k in range(len(objectives))][-3:]
        decision = p.valid(Timed(m_live, objective_time), order_time) & last_slot
        leaves = p.valid(Timed(decision & at_last, order_time), decided)
        done = p.valid(p.input(slot.active & slot.at_last & slot.last_slot), decided)

        moved = p.register(move(search), order_time)
        further = p.register(
            (
                p.delay(base_then, 1).value
                + _shifted(moved.value, p.delay(Timed(step_then, order_time), 1).value >> 1, place_bits)
            )[:place_bits],
            order_time + 1,
        )
        m.d.comb += [
            places.write.eq(p.valid(Timed(decision & ~at_last, order_time), decided)),
            places.write_address.eq(p.delay(member, decided - order_time).value),
            places.write_data.eq(further.value),
            self.out_valid.eq(done),
        ]
        if parameters.final:
            best = choose(p, order, objectives, base_then)
            ok = p.valid(Timed(decision & at_last, order_time), order_time + 1)
            m.d.sync += [
                self.value.eq(best.value),
                self.index.eq(best.index),
                self.infeasible.eq(best.none & ok),
                self.saturated.eq(best.outside & ok),
            ]
            m.d.comb += self.out_live.eq(leaves)
        else:
            out = delay_line(m, Cat(wealth.value, state.value), WIDTH + state_bits, decided - READ_LATENCY)
            m.d.sync += self.out_h.eq(Cat(Const(0, 1), p.delay(base_then, 1).value) + moved.value)
            m.d.comb += [
                self.out_live.eq(leaves),
                self.out_wealth.eq(out[:WIDTH].as_signed()),
                self.out_state.eq(out[WIDTH:]),
            ]
        return m

    def _round_memories(self, m: Module, slot: _Slots) -> tuple[Ram, Ram]:
        """What is known of the states of a round, and of the one that enters meanwhile; and where their search is."""
        parameters = self.parameters
        state_bits = parameters.state_bits
        entries = Ram(WIDTH + state_bits + parameters.first + 2, 2 * self._round)
        places = Ram(parameters.place_bits, self._round)
        m.submodules += [entries, places]
        m.d.comb += [
            entries.write.eq(self.in_valid),
            entries.write_address.eq(Cat(slot.arriving_turn, slot.arriving)),
            entries.write_data.eq(Cat(self.in_wealth, self.in_live, self.in_h, self.in_state[:state_bits])),
            entries.read_address.eq(Cat(slot.turn, slot.member)),
            places.read_address.eq(slot.member),
        ]
        return entries, places

    def _evaluators(self, m: Module, wealth: Timed, grid: PrimeBanks, values: PrimeBanks) -> list[EvaluatorInstance]:
        """The evaluators, between the words of their candidates and the decision."""
        units = []
        ports = UtilityPorts.of(self)
        for unit in self.parameters.units:
            instance = EvaluatorInstance(ports)
            m.submodules[f"evaluator{unit}"] = instance
            m.d.comb += [
                instance.wealth.eq(wealth.value),
                instance.x.eq(getattr(grid, f"word{unit}")),
                instance.ev.eq(getattr(values, f"word{unit}")),
            ]
            units.append(instance)
        return units


class _Slots:
    """Counts the slots of a round: for each stage of the search, for each state of the round, its candidates.

    All signals stand in the clock of a slot. ``candidates[unit]`` is the number of each unit's candidate; ``step``, the
    distance of candidates in places, has one bit set.
    """

    def __init__(self, m: Module, parameters: FoldedStageParameters, round_states: int, arrival: Value) -> None:
        evaluators = parameters.evaluators
        self.active = Signal()
        self.turn = Signal()
        self.member = Signal(range(round_states))
        self.step = Signal(parameters.place_bits, init=1 << (parameters.last - parameters.first))
        self.at_first = Signal()
        self.at_last = Signal()
        self.at_final = Signal()
        self.last_slot = Signal()
        self.arriving = Signal(range(round_states))
        self.arriving_turn = Signal()
        final, single = parameters.final, len(parameters.stages) == 1

        with m.If(arrival):
            m.d.sync += self.arriving.eq(self.arriving + 1)
            with m.If(self.arriving == round_states - 1):
                m.d.sync += [self.arriving.eq(0), self.arriving_turn.eq(~self.arriving_turn)]
        start = Signal()
        m.d.comb += start.eq(arrival & (self.arriving == 0))

        # The first slot's number: candidate 0 is left out before the last stage, where it would be alone.
        skipped = 1 if evaluators == 1 else 0
        highest = CANDIDATES // evaluators - 1
        slot = Signal(range(CANDIDATES))
        m.d.comb += [
            self.last_slot.eq(slot == highest),
            self.at_last.eq(self.step[0]),
            self.at_first.eq(self.step[parameters.last - parameters.first]),
            self.at_final.eq(self.step[0] & final),
        ]
        self.candidates = [Signal(2, name=f"candidate{k}") for k in range(evaluators)]
        m.d.comb += [number.eq(slot * evaluators + k) for k, number in enumerate(self.candidates)]
        self.zero_counts = Signal()
        m.d.comb += self.zero_counts.eq(self.at_final | (slot != 0))

        def first_slot(last_stage: Value | int) -> Value:
            return Mux(Value.cast(last_stage) & final, 0, skipped)

        end_of_stage = Signal()
        m.d.comb += end_of_stage.eq(self.last_slot & (self.member == round_states - 1))
        with m.If(self.active):
            m.d.sync += slot.eq(slot + 1)
            with m.If(self.last_slot):
                m.d.sync += [self.member.eq(self.member + 1), slot.eq(first_slot(self.at_last))]
            with m.If(end_of_stage):
                m.d.sync += [
                    self.member.eq(0),
                    self.step.eq(self.step >> 1),
                    slot.eq(first_slot(self.step[1] if not single else 1)),
                ]
                with m.If(self.at_last):
                    m.d.sync += self.active.eq(0)
        with m.If(start):
            m.d.sync += [
                self.active.eq(1),
                self.turn.eq(self.arriving_turn),
                self.member.eq(0),
                self.step.eq(1 << (parameters.last - parameters.first)),
                slot.eq(first_slot(int(single))),
            ]


def _times(step: Value, factor: Value, width: int) -> Value:
    """``step * factor`` for a step with one bit set and a factor of two bits."""
    return (Mux(factor[0], step, 0) | Cat(Const(0, 1), Mux(factor[1], step, 0)))[:width]


def _shifted(factor: Value, step: Value, width: int) -> Value:
    """``step * factor`` for a step with one bit set or none and a factor of at most 4."""
    return (_times(step, factor[:2], width) | Cat(Const(0, 2), Mux(factor[2], step, 0)))[:width]


class FoldedLine(wiring.Component):
    """:class:`FoldedLineParameters` in gateware; ports as of :class:`beltline.hw.line.line.Line`.

    States enter in rounds of ``round_states``, one a clock, every ``round_clocks``
    (:class:`beltline.hw.line.pacer.Pacer`); ``in_live`` tells states from gaps. Results are those with ``out_valid``. A
    round goes on after its last state has left; a reset forgets it, and must come before the next sweep.
    """

    def __init__(self, parameters: FoldedLineParameters) -> None:
        self.parameters = parameters
        super().__init__(line_ports(parameters.index_bits, parameters.states, live=True))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        parameters = self.parameters
        valid, live, wealth, state = self.in_valid, self.in_live, self.in_wealth, self.in_state
        h: Value = Const(0, 2)
        over = []
        for k, of_stage in enumerate(parameters.stages):
            stage = FoldedStage(of_stage, parameters.round_states)
            m.submodules[f"stage{k}"] = stage
            for name in shared_ports(parameters.index_bits, parameters.states):
                m.d.comb += getattr(stage, name).eq(getattr(self, name))
            m.d.comb += [
                stage.in_valid.eq(valid),
                stage.in_live.eq(live),
                stage.in_wealth.eq(wealth),
                stage.in_state.eq(state),
                stage.in_h.eq(h),
            ]
            over.append(stage.over)
            valid, live = stage.out_valid, stage.out_live
            if of_stage.final:
                m.d.comb += [
                    self.index.eq(stage.index),
                    self.value.eq(stage.value),
                    self.infeasible.eq(stage.infeasible),
                    self.saturated.eq(stage.saturated),
                ]
            else:
                wealth, state, h = stage.out_wealth, stage.out_state, stage.out_h
        m.d.comb += [self.out_valid.eq(live), self.over.eq(Cat(*over).any())]
        return m
