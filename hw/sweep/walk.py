"""The pass of a sweep that finds the new choices of the states of a lane that do not keep theirs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.decision import ORDER_CLOCKS, Order, clamped
from beltline.hw.arithmetic.evaluator import OBJECTIVE_BITS, EvaluatorInstance, EvaluatorParameters
from beltline.hw.arithmetic.numbers import MINIMUM, WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline, Term, Timed
from beltline.hw.arithmetic.utility import CONSTANTS, UtilityPorts
from beltline.hw.memory.queue import DeepQueue
from beltline.hw.memory.ram import READ_LATENCY, Ram
from beltline.hw.sweep.check import KEPT_BITS
from beltline.hw.sweep.parameters import HALF_SHIFT, HALF_WORDS, ROW_SHIFT, SweepParameters
from beltline.hw.sweep.row_buses import TAKEN_CLOCKS, RowBusesParameters, RowPort

MARKS = 16
"""States whose marks are one word."""

AHEAD_ROWS = 64
"""Halves of rows that wait for their turn on the bus."""

DECAY = 3
"""A walk is expected to move a choice by ``1 - 2**-DECAY`` of what the one before moved it."""

_MARK_BITS = MARKS.bit_length() - 1
_NUMBER_BITS = 8
_EXPONENT_BITS = 4

# When things stand, in clocks from the start of a turn of the ring.
_PROBED = 1
_FOUND = 2
_READ = _FOUND + 1 + READ_LATENCY
_OPERANDS = _READ + 1


@dataclass(frozen=True)
class WalkParameters:
    """Climbs from a guess to the peak of ``O_i = U(W - X_i) + EV_i`` for every state that is marked.

    A lane's states are shared out among ``contexts`` walkers: of the bits of a walker's number, the low ones are the
    exogenous state, the others a part of the lane's points, in which the walker goes upwards. All walkers go round in a
    ring of ``clocks`` clocks, in which one evaluator makes one objective for each of them. A walker's guess is its
    state's last choice, moved by as much as that of the state before it moved; of its first state, by seven eighths of
    what the first one moved in the walk before, for moves die away from sweep to sweep. From there it steps up, then
    down, doubling its step while that helps, halving one that leads off the grid, until the objectives of both
    neighbours are known not to be better; which takes three evaluations where the guess is right and four where it is
    next to it. The lowest of equals wins.

    Parameters
    ----------
    build
        Of the engine.
    contexts
        Walkers: a power of two, at least the exogenous states of the build, rounded up to one.
    """

    build: SweepParameters
    contexts: int = 64

    def __post_init__(self) -> None:
        if self.contexts & (self.contexts - 1) or self.contexts < 1 << self.build.state_bits:
            raise ValueError(
                f"contexts must be a power of two of at least {1 << self.build.state_bits}, not {self.contexts}"
            )

    @property
    def context_bits(self) -> int:
        return self.contexts.bit_length() - 1

    @property
    def part_bits(self) -> int:
        """Bits of the number of a part of the points."""
        return self.context_bits - self.build.state_bits

    @property
    def unload(self) -> int:
        """Clocks in which half a row goes from the bus to the walkers' memory, no more than from turn to turn."""
        return HALF_WORDS

    @property
    def decided(self) -> int:
        """Clocks from the start of a walker's turn to what is decided of it."""
        evaluator = EvaluatorParameters(self.build.multiplier).latency
        return _OPERANDS + evaluator + max(ORDER_CLOCKS, 2)

    @property
    def clocks(self) -> int:
        """Clocks of a turn of the ring."""
        return max(self.contexts, self.decided + 1)


_PROBE = data.StructLayout({"u": WIDTH, "feasible": 1})
"""A candidate: its utility, feasible or not."""


def _walker_of(parameters: WalkParameters) -> data.StructLayout:
    """What goes round with a walker."""
    build = parameters.build
    item = data.StructLayout({"choice": build.index_bits, "position": build.position_bits})
    index, tag = build.index_bits + 1, build.row_bits + 1
    point = max(build.point_bits, parameters.part_bits, _MARK_BITS) + 1
    return data.StructLayout(
        {
            # The state, and the best candidate so far; its neighbours, where they are known, are not better.
            "active": 1,
            "item": item,
            "index": index,
            "objective": OBJECTIVE_BITS,
            "here": _PROBE,
            "below": _PROBE,
            "above": _PROBE,
            "below_known": 1,
            "above_known": 1,
            # The next probe: the guess itself, or 2**exponent below or above; the last one was better, with `streak`.
            "first": 1,
            "down": 1,
            "exponent": _EXPONENT_BITS,
            "streak": 1,
            # A probe was not on the grid, and the step has been halved since; a state of this walk was found.
            "shrinks": 1,
            "begun": 1,
            # It has nothing to do any more.
            "over": 1,
            # By how far the last state moved; the state that waits; the point from which to look for one more.
            "shift": index,
            "waiting": 1,
            "next": item,
            "point": point,
            # The lower and the upper half of a row that were asked for last, with a bit above for any; what number they
            # had; they came.
            "row0": tag,
            "row1": tag,
            "number0": _NUMBER_BITS,
            "number1": _NUMBER_BITS,
            "have0": 1,
            "have1": 1,
        }
    )


class Walk(wiring.Component):
    """:class:`WalkParameters` in gateware.

    Attributes
    ----------
    a, b, negative, log, shift
        The utility's constants.
    mark_valid, mark_point, mark_state, mark
        Before a walk: whether a state is to be walked, in table order, for all states of the lane.
    restart
        The clock behind it is the first of a turn of the ring. It must not come while ``busy``.
    start, points, last_state, last_index, part_shift
        ``start`` begins a walk over ``points`` points (at least 1) of ``last_state + 1`` exogenous states;
        ``last_index`` is the last candidate, and ``2**part_shift`` points are a part. All but ``start`` must stand from
        the first mark to the end.
    force
        All states are walked, whatever their marks; it must stand from the clock behind ``start`` to the end.
    cold, first_point
        Where ``cold``, which must stand too, no choices are kept: a point stands for that of each of its states, point
        0 of the lane being ``first_point``. By how much choices moved before, or move now, means nothing.
    seek, above
        The walk looks for other peaks: a walker begins at the lowest candidate, or at the highest, and goes on from
        state to state where it is. Results are ``other`` only, and nothing is remembered. Both stand as ``force``.
    busy
        From ``start`` to the end of the walk.
    wealth_address, wealth_data, choice_address, choice_data, old_address, old_data
        Read ports of the lane's wealth, choices and values, of ``READ_LATENCY``.
    fetch
        To the buses; ``inner`` is :attr:`beltline.hw.sweep.parameters.SweepParameters.inner_bits`. Where the lower half
        of a row is asked for, the upper one of what comes is the lower half of the grid's; or the other way round.
    other
        The peak of a state is not its choice.
    valid, position, state, choice, moved, kept, value, old, infeasible, outside, over
        A state that has been walked; ``state`` is the exogenous one, ``moved`` whether it has another choice than
        before. ``over`` may come without ``valid``.
    """

    def __init__(self, parameters: WalkParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        bits = build.position_bits
        super().__init__(
            {
                **CONSTANTS,
                "mark_valid": In(1),
                "mark_point": In(build.point_bits),
                "mark_state": In(build.state_bits),
                "mark": In(1),
                "restart": In(1),
                "start": In(1),
                "points": In(build.point_bits + 1),
                "last_state": In(build.state_bits),
                "last_index": In(build.index_bits),
                "part_shift": In(range(build.point_bits + 1)),
                "force": In(1),
                "cold": In(1),
                "first_point": In(build.index_bits),
                "seek": In(1),
                "above": In(1),
                "busy": Out(1),
                "other": Out(1),
                "wealth_address": Out(bits),
                "wealth_data": In(signed(WIDTH)),
                "choice_address": Out(bits),
                "choice_data": In(build.index_bits),
                "old_address": Out(bits),
                "old_data": In(signed(WIDTH)),
                "fetch": Out(RowPort(build.row_bits, build.inner_bits)),
                "valid": Out(1),
                "position": Out(bits),
                "state": Out(build.state_bits),
                "choice": Out(build.index_bits),
                "moved": Out(1),
                "kept": Out(KEPT_BITS),
                "value": Out(signed(WIDTH)),
                "old": Out(signed(WIDTH)),
                "infeasible": Out(1),
                "outside": Out(1),
                "over": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m, self.parameters.build.multiplier)
        parameters, build = self.parameters, self.parameters.build
        state_bits, context_bits, ring = build.state_bits, parameters.context_bits, parameters.clocks
        top = self.last_index
        layout = _walker_of(parameters)

        def walker_of(value: Value) -> Any:
            return data.View(layout, value)

        # Whose turn it is: the walkers, then nobody.
        turn = Signal(range(ring))
        m.d.sync += turn.eq(Mux((turn == ring - 1) | self.restart, 0, turn + 1))
        context = turn[:context_bits]
        mine = Signal()
        s = context[:state_bits]
        m.d.comb += mine.eq((turn < parameters.contexts) & (s <= self.last_state))
        left = Signal(range(ring + 1))
        beginning = Signal()
        m.d.comb += beginning.eq(left != 0)
        with m.If(beginning):
            m.d.sync += left.eq(left - 1)
        now = Signal(layout)
        came = Signal(layout)
        fresh = Signal(layout)
        part = context[state_bits:] if parameters.part_bits else Const(0, 1)
        m.d.comb += [
            fresh.eq(0),
            fresh.point.eq(part << self.part_shift),
            fresh.index.eq(Mux(self.seek & self.above, top, 0)),
        ]
        m.d.comb += now.eq(Mux(beginning, fresh.as_value(), came.as_value()))
        with m.If(~self.busy):
            m.d.comb += now.active.eq(0)
        end = Signal(len(now.point) + 1)
        m.d.comb += end.eq((part + 1) << self.part_shift)

        # Where the next probe is, and whether its row is here.
        step = Signal(build.index_bits + 1)
        m.d.comb += step.eq(Mux(now.first, 0, 1 << now.exponent))
        wanted = p.register(Mux(now.down, now.index - step, now.index + step)[: build.index_bits + 2].as_signed(), 0)
        walker = p.delay(p.input(now.as_value()), _PROBED)
        w1 = walker_of(walker.value)
        arrived, asked = Signal(_NUMBER_BITS), Signal(_NUMBER_BITS)
        outside = (wanted.value < 0) | (wanted.value > top)
        odd = wanted.value[HALF_SHIFT]
        row = wanted.value[ROW_SHIFT:][: build.row_bits]
        here = [self._arrived(w1, k, arrived) for k in range(2)]
        tag = Mux(odd, w1.row1, w1.row0)
        same = tag == Cat(row, Const(1, 1))
        found_now = w1.active & ~outside & same & Mux(odd, here[1], here[0])
        found = p.register(found_now, _PROBED)
        lacks = p.register(w1.active & ~outside & ~same, _PROBED)
        nowhere = p.register(w1.active & outside, _PROBED)
        probe = p.register(wanted.value[: build.index_bits], _PROBED)
        came_by_now = p.register(Cat(*here), _PROBED)

        # Both neighbours of a first probe will be probed too: where one lies in the next half, that is asked for ahead.
        word, row_now = now.index[:ROW_SHIFT], now.index[ROW_SHIFT : build.index_bits]
        rising, falling = word[:HALF_SHIFT].all() & (now.index != top), ~word[:HALF_SHIFT].any() & now.index.any()
        edge = p.register(now.first & (rising | falling), 0)
        step_row = Cat(word.all() | ~word.any(), (~word.any()).replicate(build.row_bits - 1))
        near_row = p.register((row_now + step_row)[: build.row_bits], 0)
        near_tag = Mux(odd, w1.row0, w1.row1)
        ahead = p.register(found_now & edge.value & (near_tag != Cat(near_row.value, Const(1, 1))), _PROBED)
        w2 = walker_of(p.delay(walker, 1).value)
        context2 = p.delay(p.input(context), _FOUND).value

        # Halves of rows that lack are asked for, and those ahead.
        m.submodules.requests = requests = DeepQueue(1 + build.row_bits + context_bits, AHEAD_ROWS)
        ask = (lacks.value | ahead.value) & requests.ready
        odd2 = probe.value[HALF_SHIFT]
        odd_asked = odd2 ^ ahead.value
        row_asked = Mux(ahead.value, p.delay(near_row, 1).value, probe.value[ROW_SHIFT:])
        m.d.comb += [requests.push.eq(ask), requests.data.eq(Cat(odd_asked, row_asked, context2))]
        m.d.sync += asked.eq(asked + ask)
        w2new = Signal(layout)
        m.d.comb += [w2new.eq(w2), w2new.have0.eq(came_by_now.value[0]), w2new.have1.eq(came_by_now.value[1])]
        with m.If(ask):
            tagged = Cat(row_asked, Const(1, 1))
            with m.If(odd_asked):
                m.d.comb += [w2new.row1.eq(tagged), w2new.number1.eq(asked), w2new.have1.eq(0)]
            with m.Else():
                m.d.comb += [w2new.row0.eq(tagged), w2new.number0.eq(asked), w2new.have0.eq(0)]
        of_row, of_context = requests.head[: 1 + build.row_bits], requests.head[1 + build.row_bits :]
        m.d.comb += [
            self.fetch.request.eq(requests.head_valid),
            self.fetch.row.eq(of_row[1:]),
            self.fetch.inner.eq(Cat(of_context[:state_bits], of_row[0], Const(1, 1))),
            requests.pop.eq(self.fetch.taken),
        ]
        fetch_clocks = RowBusesParameters(build, build.inner_bits).latency - TAKEN_CLOCKS
        landing = p.delay(p.input(Cat(of_row[0], of_context)), fetch_clocks).value
        # What came is unloaded word by word, until the next can come. Its lower half is the expected values where the
        # lower half was asked for, and else the grid.
        held = [Signal(HALF_WORDS * WIDTH, name=f"held{high}", reset_less=True) for high in range(2)]
        base = Signal(len(landing))
        unloading, last_word, place = Signal(), Signal(), Signal(range(HALF_WORDS))
        m.d.comb += last_word.eq(unloading & (place == HALF_WORDS - 1))
        with m.If(self.fetch.valid):
            m.d.sync += [Cat(held).eq(self.fetch.data), base.eq(landing), unloading.eq(1), place.eq(0)]
        with m.Else():
            m.d.sync += [*(half.eq(half >> WIDTH) for half in held), place.eq(place + 1)]
            with m.If(last_word):
                m.d.sync += unloading.eq(0)
        m.d.sync += arrived.eq(arrived + last_word)
        words = []
        for high, half in enumerate(held):
            m.submodules[f"words{high}"] = ram = Ram(WIDTH, 2 * parameters.contexts * HALF_WORDS)
            m.d.comb += [
                ram.write.eq(unloading),
                ram.write_address.eq(Cat(place, base)),
                ram.write_data.eq(half[:WIDTH]),
            ]
            m.d.sync += ram.read_address.eq(Cat(probe.value[:ROW_SHIFT], context2))
            words.append(ram.read_data)
        odd_read = p.delay(p.input(odd2, probe.time), _READ - probe.time).value
        ev, x = (p.register(Mux(odd_read, *pair), _READ) for pair in ((words[1], words[0]), (words[0], words[1])))

        # The next state that is marked, and what is known of it.
        m.submodules.marks = marks = Ram(MARKS, -(-(1 << build.point_bits) // MARKS) << state_bits)
        self._mark(m, marks)
        m.d.sync += marks.read_address.eq(Cat(s, now.point[_MARK_BITS:]))
        looked = 1 + READ_LATENCY
        w4 = walker_of(p.delay(p.input(now.as_value()), looked).value)
        searching = Signal()
        mine4 = p.delay(p.input(mine), looked).value
        limit = p.delay(p.input(end), looked).value
        m.d.comb += searching.eq((w4.point < self.points) & (w4.point < limit) & ~w4.waiting & self.busy & mine4)
        first = Signal(range(MARKS))
        any_mark = Signal()
        for k in reversed(range(MARKS)):
            with m.If((marks.read_data[k] | self.force) & (w4.point[:_MARK_BITS] <= k)):
                m.d.comb += [first.eq(k), any_mark.eq(1)]
        at = Cat(first, w4.point[_MARK_BITS:])
        inside = (at < self.points) & (at < limit)
        hit = p.register(searching & any_mark & inside, looked)
        next_word = Cat(Const(0, _MARK_BITS), w4.point[_MARK_BITS:] + 1)
        beyond = Mux(searching, Mux(any_mark, at + 1, next_word), w4.point)
        point = p.register(beyond[: len(w4.point)], looked)
        exhausted = p.register(
            (point.value >= self.points)
            | (point.value >= p.delay(p.input(end), point.time).value)
            | ~p.delay(p.input(mine), point.time).value,
            point.time,
        )
        at_point = p.register(at[: build.point_bits], looked)
        product = p.total(p.products(at_point, p.input(self.last_state + 1, looked + 1)), build.position_bits)
        position = p.compute(lambda a, b: (a + b)[: build.position_bits], product, p.delay(p.input(s), product.time))
        m.d.comb += self.choice_address.eq(position.value)
        own = p.register((self.first_point + at_point.value)[: build.index_bits], at_point.time)
        loaded = position.time + READ_LATENCY
        item = Signal(w4.next.shape())
        own = p.delay(own, loaded - own.time)
        m.d.comb += [
            item.choice.eq(Mux(self.cold, own.value, self.choice_data)),
            item.position.eq(p.delay(position, READ_LATENCY).value),
        ]

        # The evaluator, and the comparison.
        ports = UtilityPorts.of(self)
        m.submodules.evaluator = evaluator = EvaluatorInstance(ports)
        of_evaluator = EvaluatorParameters(build.multiplier)
        evaluated = _OPERANDS + of_evaluator.latency
        travelling = p.delay(p.input(w2new.as_value(), _FOUND), loaded - _FOUND)
        w = walker_of(travelling.value)
        m.d.comb += [
            self.wealth_address.eq(p.delay(p.input(now.item.position), _OPERANDS - READ_LATENCY).value),
            evaluator.wealth.eq(self.wealth_data),
            evaluator.x.eq(x.value),
            evaluator.ev.eq(p.delay(ev, of_evaluator.ev_time).value),
        ]
        objective = Timed(evaluator.objective, evaluated)
        feasible = Timed(evaluator.feasible, evaluated)
        with_item = Signal(layout)
        m.d.comb += with_item.eq(w)
        with m.If(p.delay(hit, loaded - hit.time).value):
            m.d.comb += [with_item.waiting.eq(1), with_item.next.eq(item)]
        m.d.comb += with_item.point.eq(p.delay(point, loaded - point.time).value)
        m.submodules.moves = moves = Ram(len(w.shift), parameters.contexts)
        m.d.comb += moves.read_address.eq(context)
        move = p.delay(p.register(Mux(self.cold, 0, moves.read_data), READ_LATENCY), loaded - READ_LATENCY - 1)
        with m.If(p.delay(p.input(beginning), loaded).value):
            m.d.comb += with_item.shift.eq(move.value)
        decided = parameters.decided
        guessed = decided - 3
        before = p.delay(p.input(with_item.as_value(), loaded), guessed - loaded)
        late = p.delay(before, evaluated - guessed)
        w_late = walker_of(late.value)
        order = Order(
            p,
            [Timed(w_late.objective.as_signed(), evaluated), objective],
            [Timed(w_late.here.feasible, evaluated), feasible],
        )
        ev_late = p.delay(ev, evaluated - ev.time)
        u = p.total([Term(objective), Term(ev_late, negative=True)], WIDTH)
        assert u.time == decided

        # Where the state that waits will begin, if the one before it ends here, and if that has ended before.
        w_before = walker_of(before.value)
        of_guess = (w_before.index, w_before.item.choice, w_before.next.choice, w_before.shift.as_signed())
        index, choice, waits, shift = (p.input(value, guessed) for value in of_guess)
        moved_now = p.compute(lambda a, b: a - b, index, choice)
        guesses = [
            p.compute(lambda a, b: a + b, waits, moved_now),
            p.delay(p.compute(lambda a, b: a + b, waits, shift), 1),
        ]

        def begin(guess: Value, at: Value) -> Value:
            return Mux(self.seek, at, Mux(guess < 0, 0, Mux(guess > top, top, guess)))

        begins = [p.compute(begin, guess, index) for guess in guesses]
        begin_done, begin_idle = (begin.value[: len(now.index)] for begin in begins)
        assert begins[0].time == begins[1].time == decided

        # The value before comes out of the memory with the results.
        in_time = walker_of(p.delay(late, decided + 1 - READ_LATENCY - evaluated).value)
        m.d.comb += [self.old_address.eq(in_time.item.position), self.old.eq(self.old_data)]
        old = walker_of(p.delay(late, decided - evaluated).value)
        new = Signal(layout)
        oob = p.delay(nowhere, decided - nowhere.time).value
        known = p.delay(found, decided - found.time).value | oob
        j = p.delay(probe, decided - probe.time).value
        of_j = Signal(_PROBE)
        m.d.comb += [of_j.u.eq(u.value), of_j.feasible.eq(p.delay(feasible, decided - evaluated).value & ~oob)]
        rises, keeps = order.above(1, 0), order.above(0, 1)
        better = Signal()
        m.d.comb += better.eq(~oob & Mux(old.down, ~keeps, rises))
        o_j = p.delay(objective, decided - evaluated).value
        done = Signal()
        m.d.comb += new.eq(old)
        with m.If(known & old.first):
            m.d.comb += [new.first.eq(0), new.objective.eq(o_j), new.here.eq(of_j)]
        with m.Elif(known & better):
            m.d.comb += [
                new.index.eq(j),
                new.objective.eq(o_j),
                new.here.eq(of_j),
                new.streak.eq(1),
                new.below_known.eq(~old.down & (old.exponent == 0)),
                new.above_known.eq(old.down & (old.exponent == 0)),
            ]
            with m.If(old.down):
                m.d.comb += new.above.eq(old.here)
            with m.Else():
                m.d.comb += new.below.eq(old.here)
            with m.If(old.shrinks):
                m.d.comb += [
                    new.exponent.eq(old.exponent - (old.exponent != 0)),
                    new.shrinks.eq(old.exponent > 1),
                ]
            with m.Elif(old.streak & ~old.exponent.all()):
                m.d.comb += new.exponent.eq(old.exponent + 1)
        with m.Elif(known):
            m.d.comb += [new.streak.eq(0), new.exponent.eq(0), new.shrinks.eq(0)]
            with m.If((old.exponent != 0) & oob):
                m.d.comb += [new.exponent.eq(old.exponent - 1), new.shrinks.eq(1)]
            with m.If(old.exponent == 0):
                m.d.comb += new.down.eq(~old.down)
                with m.If(old.down):
                    m.d.comb += [new.below.eq(of_j), new.below_known.eq(1), done.eq(old.above_known)]
                with m.Else():
                    m.d.comb += [new.above.eq(of_j), new.above_known.eq(1), done.eq(old.below_known)]
        moved = p.delay(moved_now, decided - moved_now.time).value
        with m.If(done):
            m.d.comb += [new.active.eq(0), new.shift.eq(moved), new.begun.eq(1)]
        with m.If((done | ~old.active) & old.waiting):
            m.d.comb += [
                new.active.eq(1),
                new.waiting.eq(0),
                new.item.eq(old.next),
                new.index.eq(Mux(done, begin_done, begin_idle)),
                new.first.eq(1),
                new.down.eq(0),
                new.exponent.eq(0),
                new.streak.eq(0),
                new.shrinks.eq(0),
                new.below_known.eq(0),
                new.above_known.eq(0),
            ]
        over = ~new.active & ~new.waiting & p.delay(exhausted, decided - exhausted.time).value
        next_turn = Signal(layout)
        m.d.comb += [next_turn.eq(new), next_turn.over.eq(old.over | over)]
        m.d.comb += came.eq(p.delay(p.input(next_turn.as_value(), decided), ring - decided).value)

        # What a walker's first state moved is remembered for the next walk.
        first_move = Signal(signed(len(w.shift)))
        m.d.sync += first_move.eq(Mux(self.cold, 0, moved))
        m.d.comb += [
            moves.write.eq(p.valid(p.input(done & ~old.begun & self.busy & ~self.seek), 1)),
            moves.write_address.eq(p.delay(p.input(context), decided + 1).value),
            moves.write_data.eq(first_move - (first_move >> DECAY)),
        ]

        # A walk ends when all places of the ring have nothing to do any more, and no row is under way.
        first_round, of_this_walk, ends = Signal(), Signal(), Signal()
        unfinished = Signal(range(ring + 1))
        m.d.comb += first_round.eq(p.valid(p.input(beginning), decided))
        m.d.sync += [
            of_this_walk.eq((of_this_walk | first_round) & ~self.start),
            ends.eq(over & ~old.over & (of_this_walk | first_round)),
            unfinished.eq(unfinished - ends),
        ]
        with m.If((unfinished == 0) & (asked == arrived)):
            m.d.sync += self.busy.eq(0)
        with m.If(self.start):
            m.d.sync += [left.eq(ring), unfinished.eq(ring), self.busy.eq(1)]

        best = old.objective.as_signed()
        below, above = Signal(_PROBE), Signal(_PROBE)
        m.d.comb += [below.eq(Mux(old.down, of_j.as_value(), old.below.as_value()))]
        m.d.comb += [above.eq(Mux(old.down, old.above.as_value(), of_j.as_value()))]
        value, cut = clamped(best)
        over_late = p.delay(Timed(evaluator.over, evaluated), decided - evaluated).value
        m.d.sync += [
            self.valid.eq(done & self.busy & ~self.seek),
            self.other.eq(done & self.busy & self.seek & old.here.feasible & (old.index != old.item.choice)),
            self.position.eq(old.item.position),
            self.state.eq(p.delay(p.input(s), decided).value),
            self.choice.eq(old.index),
            self.moved.eq(old.index != old.item.choice),
            self.kept.eq(Cat(below.u, old.here.u, above.u, below.feasible, old.here.feasible, above.feasible)),
            self.value.eq(Mux(old.here.feasible, value, MINIMUM)),
            self.infeasible.eq(~old.here.feasible),
            self.outside.eq(cut & old.here.feasible),
            self.over.eq(over_late & known & ~oob & self.busy & ~self.seek),
        ]
        return m

    def _arrived(self, walker: Any, k: int, arrived: Value) -> Value:
        """Whether a walker's even or odd row is here."""
        number = walker.number1 if k else walker.number0
        have = walker.have1 if k else walker.have0
        return have | ((walker.row1 if k else walker.row0).any() & ~(arrived - number - 1)[_NUMBER_BITS - 1])

    def _mark(self, m: Module, marks: Ram) -> None:
        """Marks of neighbouring points gather in a word, which is written when it is full or the points end."""
        state_bits = self.parameters.build.state_bits
        words = Array(Signal(MARKS, name=f"marks{k}") for k in range(1 << state_bits))
        number = self.mark_point[:_MARK_BITS]
        full = Signal()
        word = Signal(MARKS)
        kept = Mux(number == 0, 0, words[self.mark_state])
        m.d.comb += [
            word.eq(kept | (self.mark << number)),
            full.eq(number.all() | (self.mark_point == self.points - 1)),
            marks.write.eq(self.mark_valid & full),
            marks.write_address.eq(Cat(self.mark_state, self.mark_point[_MARK_BITS:])),
            marks.write_data.eq(word),
        ]
        with m.If(self.mark_valid):
            m.d.sync += words[self.mark_state].eq(word)
