"""A physical stage of the folded line (:mod:`beltline.hw.line.fold`), which does the work of several search stages."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring

from beltline.hw.arithmetic.decision import ORDER_CLOCKS, Order, choose, move
from beltline.hw.arithmetic.evaluator import EvaluatorInstance, EvaluatorParameters
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline, Timed
from beltline.hw.arithmetic.utility import UtilityPorts
from beltline.hw.interface.parameters import Multiplier
from beltline.hw.interface.windows import WORD_BYTES
from beltline.hw.line.prime_banks import PrimeBanks, PrimeBanksParameters
from beltline.hw.line.stage import stage_ports, write_tables
from beltline.hw.memory.ram import READ_LATENCY, Ram, delay_line

CANDIDATES = 4
"""Candidates of the last search stage; the others have three, numbered 1 to 3."""

_PLACE_TIME = READ_LATENCY + 1
"""Clocks from the number of a slot's state to the places of its candidates in the memories."""

_MOVE_CLOCKS = 2
"""Clocks after the comparison: the move and then the next position; or the best candidate and then the saturation."""


@dataclass(frozen=True)
class FoldedStageParameters:
    """Parameters of a physical stage, which does the work of several search stages.

    A state takes :meth:`slots` clocks in each search stage, for three candidates (four in stage ``index_bits - 1``).

    Parameters
    ----------
    index_bits
        The line searches ``2**index_bits`` grid points.
    states
        Largest number of exogenous states.
    first, last
        Numbers of the first and last of its search stages, from 1.
    evaluators
        Number of evaluators: 1, 2 or 4.
    multiplier
        The chip's multiplier.
    """

    index_bits: int
    states: int
    first: int
    last: int
    evaluators: int
    multiplier: Multiplier = Multiplier.DSP48E2

    @property
    def final(self) -> bool:
        """Whether the last search stage of the line is among its stages."""
        return self.last == self.index_bits - 1

    @property
    def stages(self) -> range:
        """Numbers of its search stages."""
        return range(self.first, self.last + 1)

    @property
    def step_bits(self) -> int:
        """Logarithm to base 2 of the distance of the grid points that it stores."""
        return self.index_bits - self.last - 1

    @property
    def place_bits(self) -> int:
        """Bits of the number of a place in its memories."""
        return self.last + 1

    @property
    def state_bits(self) -> int:
        """Bits of the number of an exogenous state."""
        return (self.states - 1).bit_length()

    @property
    def units(self) -> tuple[int, ...]:
        """Numbers of its evaluators; candidate ``j`` goes to evaluator ``j % evaluators``."""
        return tuple(range(1 if self.evaluators == CANDIDATES and not self.final else 0, self.evaluators))

    def slots(self, number: int) -> int:
        """Return the clocks that a state takes in search stage ``number``."""
        return CANDIDATES // self.evaluators if number == self.index_bits - 1 else -(-3 // self.evaluators)

    @property
    def grid_memory(self) -> PrimeBanksParameters:
        """Memory of the grid points of the stage."""
        return PrimeBanksParameters(self.place_bits, 0, self.evaluators, lanes=WORD_BYTES)

    @property
    def value_memory(self) -> PrimeBanksParameters:
        """Memory of their expectations, in two halves, of which one is read while the other is written."""
        return PrimeBanksParameters(self.place_bits, self.state_bits + 1, self.evaluators)

    @property
    def evaluator(self) -> EvaluatorParameters:
        """Parameters of its evaluators."""
        return EvaluatorParameters(self.multiplier)

    @property
    def grid_time(self) -> int:
        """Clocks from a slot to its grid points."""
        return _PLACE_TIME + self.grid_memory.latency

    @property
    def decided(self) -> int:
        """Clocks from the last slot of a state to its next position, or to its result."""
        return self.grid_time + self.evaluator.latency + ORDER_CLOCKS + _MOVE_CLOCKS

    @property
    def least_round(self) -> int:
        """Least number of states of a round, with which the first one is decided when the last one has had its
        slots.
        """
        return 1 + -(-self.decided // self.slots(0))

    @property
    def round_slots(self) -> int:
        """Clocks of a round for each of its states, the slots of a state in all search stages."""
        return sum(self.slots(number) for number in self.stages)

    def latency(self, round_states: int) -> int:
        """Return the clocks from the entry of the first state of a round of ``round_states`` to its exit."""
        before = sum(self.slots(number) for number in self.stages[:-1])
        return 1 + round_states * before + self.slots(self.last) - 1 + self.decided


class FoldedStage(wiring.Component):
    """A physical stage: passes each round of states through several search stages.

    Latency: ``parameters.latency(round_states)`` clocks from the entry of the first state of a round to its exit.
    Throughput: a round in ``round_states * parameters.round_slots`` clocks.

    Contract: ``valid`` without ``ready``. States of a round enter at least as many clocks apart as the search stage
    before ``first`` has slots (one clock in the first physical stage), and rounds at least as many clocks apart as they
    take here. In every round, ``in_valid`` is high ``round_states`` times; where ``in_live`` is low there is no state,
    and ``out_live`` is low for it. A reset discards all states in the pipeline.

    Parameters
    ----------
    parameters
        The physical stage.
    round_states
        States of a round, at least ``parameters.least_round``.

    Attributes
    ----------
    in_live : in, 1 bit
        Whether there is a state in a clock with ``in_valid``.
    out_live : out, 1 bit
        Whether there is a state in a clock with ``out_valid``.
    others
        As of :class:`beltline.hw.line.stage.Stage`.
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

        # Read the grid points and expectations of the candidates.
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

        # Only the last search stage has a candidate 0. Where its evaluator also serves another, its flag is masked.
        zero_counts = p.valid(p.input(slot.zero_counts), objective_time)
        over = [
            instance.over & (zero_counts if unit == 0 and parameters.evaluators > 1 else Const(1))
            for unit, instance in zip(parameters.units, units, strict=True)
        ]
        m.d.comb += self.over.eq(p.valid(Timed(Cat(*over).any() & m_live, objective_time), decided))

        # Results of the earlier slots of a state are delayed to the one of its last candidates.
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
        """Add the memories of a round.

        Returns
        -------
        entries, places
            The states as they entered, of the present round and of the one that enters meanwhile; and the position of
            each state of the present round.
        """
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
        """Add the evaluators and connect them to wealth, grid points and expectations of their candidates."""
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
    """Counter of the slots of a round: for each search stage, for each state of the round, for its candidates.

    Parameters
    ----------
    m
        The module to which the counters are added.
    parameters
        The physical stage.
    round_states
        States of a round.
    arrival
        High in clocks in which a state enters; the first one of a round starts the counter.

    Attributes
    ----------
    active
        The clock is a slot.
    turn
        Number of the round, modulo 2.
    member
        Number of the state in the round.
    step
        Distance of candidates, in places; one bit is set.
    at_first, at_last, at_final
        The search stage is the first or last one of the physical stage, or the last one of the line.
    last_slot
        The slot is the last one of the state in this search stage.
    arriving, arriving_turn
        Number of the next state that enters, and its round modulo 2.
    candidates
        Number of each evaluator's candidate.
    zero_counts
        The candidate of evaluator 0 counts: it is not candidate 0, or the search stage is the last one of the line.
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

        # With one evaluator, candidate 0 would have a slot of its own; it is skipped before the last search stage.
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
    """Return ``step * factor``, modulo ``2**width``, for a ``step`` with one bit set and a ``factor`` of two bits."""
    return (Mux(factor[0], step, 0) | Cat(Const(0, 1), Mux(factor[1], step, 0)))[:width]


def _shifted(factor: Value, step: Value, width: int) -> Value:
    """Return ``step * factor``, modulo ``2**width``, for a ``step`` of one bit or none, ``factor`` at most 4."""
    return (_times(step, factor[:2], width) | Cat(Const(0, 2), Mux(factor[2], step, 0)))[:width]
