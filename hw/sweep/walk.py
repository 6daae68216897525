"""The pass of a sweep that finds the new choices of the states of a lane that do not keep theirs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.decision import ORDER_CLOCKS, Order, clamped
from hw.evaluator import OBJECTIVE_BITS, EvaluatorInstance, EvaluatorParameters
from hw.numbers import MINIMUM, WIDTH
from hw.parameters import ROW_WORDS
from hw.pipeline import Pipeline, Term, Timed
from hw.queue import Queue
from hw.ram import READ_LATENCY, Ram
from hw.sweep.check import KEPT_BITS
from hw.sweep.parameters import ROW_BITS, ROW_SHIFT, SweepParameters
from hw.sweep.row_buses import TAKEN_CLOCKS, RowBusesParameters, RowPort
from hw.utility import CONSTANTS, UtilityPorts

MARKS = 16
"""States whose marks are one word."""

AHEAD_ROWS = 16
"""Rows that wait for their turn on the bus."""

DECAY = 3
"""A walk is expected to move a choice by ``1 - 2**-DECAY`` of what the one before moved it."""

_MARK_BITS = MARKS.bit_length() - 1
_NUMBER_BITS = 8
_EXPONENT_BITS = 4

# When things stand, in clocks from the start of a turn of the ring.
_PROBED = 1
_FOUND = 2
_ASKED = 3
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
        """Clocks in which a row goes from the bus to the walkers' memory, as many as from one turn to the next."""
        return self.build.slots

    @property
    def decided(self) -> int:
        """Clocks from the start of a walker's turn to what is decided of it."""
        evaluator = EvaluatorParameters(self.build.multiplier).latency
        return _OPERANDS + evaluator + max(ORDER_CLOCKS, 2)

    @property
    def clocks(self) -> int:
        """Clocks of a turn of the ring."""
        return max(self.contexts, self.decided + 1)


_ITEM = data.StructLayout({"wealth": WIDTH, "old": WIDTH, "choice": 16, "position": 16})
"""A state that is to be walked."""

_PROBE = data.StructLayout({"u": WIDTH, "feasible": 1})
"""A candidate: its utility, feasible or not."""

_WALKER = data.StructLayout(
    {
        # The state, and the best candidate so far; its neighbours, where they are known, are not better.
        "active": 1,
        "item": _ITEM,
        "index": 17,
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
        # By how far the last state moved; the state that waits; the point from which to look for one more.
        "shift": 17,
        "waiting": 1,
        "next": _ITEM,
        "point": 17,
        # The even and the odd row that were asked for last, with a bit above for any; what number they had; they came.
        "row0": 14,
        "row1": 14,
        "number0": _NUMBER_BITS,
        "number1": _NUMBER_BITS,
        "have0": 1,
        "have1": 1,
    }
)


def _walker(value: Value) -> Any:
    return data.View(_WALKER, value)


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
    busy
        From ``start`` to the end of the walk.
    item_address, wealth_data, choice_data, old_data
        Read port of the lane's wealth, choices and values, of ``READ_LATENCY``.
    fetch
        To the buses; ``inner`` is the exogenous state where ``EV`` is wanted, and the bit above it where ``X`` is.
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
                "busy": Out(1),
                "item_address": Out(bits),
                "wealth_data": In(signed(WIDTH)),
                "choice_data": In(build.index_bits),
                "old_data": In(signed(WIDTH)),
                "fetch": Out(RowPort(build.row_bits, build.state_bits + 1)),
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

        # Whose turn it is: the walkers, then nobody.
        turn = Signal(range(ring))
        m.d.sync += turn.eq(Mux((turn == ring - 1) | self.restart, 0, turn + 1))
        context = turn[:context_bits]
        mine = Signal()
        s = context[:state_bits]
        m.d.comb += mine.eq((turn < parameters.contexts) & (s <= self.last_state))
        left = Signal(range(ring + 1))
        quiet = Signal(range(ring + 1))
        beginning = Signal()
        m.d.comb += beginning.eq(left != 0)
        with m.If(beginning):
            m.d.sync += left.eq(left - 1)
        now = Signal(_WALKER)
        came = Signal(_WALKER)
        fresh = Signal(_WALKER)
        part = context[state_bits:] if parameters.part_bits else Const(0, 1)
        m.d.comb += [fresh.eq(0), fresh.point.eq(part << self.part_shift)]
        m.d.comb += now.eq(Mux(beginning, fresh.as_value(), came.as_value()))
        with m.If(~self.busy):
            m.d.comb += now.active.eq(0)
        end = Signal(18)
        m.d.comb += end.eq((part + 1) << self.part_shift)

        # Where the next probe is, and whether its row is here.
        step = Signal(17)
        m.d.comb += step.eq(Mux(now.first, 0, 1 << now.exponent))
        wanted = p.register(Mux(now.down, now.index - step, now.index + step)[:18].as_signed(), 0)
        walker = p.delay(p.input(now.as_value()), _PROBED)
        w1 = _walker(walker.value)
        arrived, asked = Signal(_NUMBER_BITS), Signal(_NUMBER_BITS)
        outside = (wanted.value < 0) | (wanted.value > top)
        row = wanted.value[ROW_SHIFT:][: build.row_bits]
        odd = row[0]
        here = [self._arrived(w1, k, arrived) for k in range(2)]
        tag = Mux(odd, w1.row1, w1.row0)
        same = tag == Cat(row, Const(1, 1), Const(0, 13 - build.row_bits))
        found = p.register(w1.active & ~outside & same & Mux(odd, here[1], here[0]), _PROBED)
        lacks = p.register(w1.active & ~outside & ~same, _PROBED)
        nowhere = p.register(w1.active & outside, _PROBED)
        probe = p.register(wanted.value[: build.index_bits], _PROBED)
        held = p.register(Cat(*here), _PROBED)
        w2 = _walker(p.delay(walker, 1).value)
        context2 = p.delay(p.input(context), _FOUND).value

        # Rows that lack are asked for: of the grid, then of the expected values.
        m.submodules.requests = requests = Queue(build.row_bits + context_bits, AHEAD_ROWS)
        ask = lacks.value & requests.ready
        row2 = probe.value[ROW_SHIFT:]
        m.d.comb += [requests.push.eq(ask), requests.data.eq(Cat(row2, context2))]
        m.d.sync += asked.eq(asked + ask)
        w2new = Signal(_WALKER)
        m.d.comb += [w2new.eq(w2), w2new.have0.eq(held.value[0]), w2new.have1.eq(held.value[1])]
        with m.If(ask):
            tagged = Cat(row2, Const(1, 1))
            with m.If(row2[0]):
                m.d.comb += [w2new.row1.eq(tagged), w2new.number1.eq(asked), w2new.have1.eq(0)]
            with m.Else():
                m.d.comb += [w2new.row0.eq(tagged), w2new.number0.eq(asked), w2new.have0.eq(0)]
        second = Signal()
        of_context = requests.head[build.row_bits :]
        m.d.comb += [
            self.fetch.request.eq(requests.head_valid),
            self.fetch.row.eq(requests.head),
            self.fetch.inner.eq(Cat(Mux(second, of_context[:state_bits], 0), ~second)),
            requests.pop.eq(self.fetch.taken & second),
        ]
        with m.If(self.fetch.taken):
            m.d.sync += second.eq(~second)
        fetch_clocks = RowBusesParameters(build, state_bits + 1).latency - TAKEN_CLOCKS
        landing = p.delay(p.input(Cat(requests.head[0], of_context, second)), fetch_clocks).value
        # A row is unloaded until the next one can come.
        together, unload = ROW_WORDS // build.slots, parameters.unload
        low_bits = together.bit_length() - 1
        held_row, base = Signal(ROW_BITS, reset_less=True), Signal(len(landing))
        unloading, last_words, part = Signal(), Signal(), Signal(range(unload))
        m.d.comb += last_words.eq(unloading & (part == unload - 1))
        with m.If(self.fetch.valid):
            m.d.sync += [held_row.eq(self.fetch.data), base.eq(landing), unloading.eq(1), part.eq(0)]
        with m.Else():
            m.d.sync += [held_row.eq(held_row >> together * WIDTH), part.eq(part + 1)]
            with m.If(last_words):
                m.d.sync += unloading.eq(0)
        m.d.sync += arrived.eq(arrived + (last_words & base[-1]))
        words: list[list[Value]] = [[], []]
        for table, rams in enumerate(words):
            for bank in range(together):
                ram = Ram(WIDTH, 2 * parameters.contexts * unload)
                m.submodules[f"{('x', 'ev')[table]}{bank}"] = ram
                m.d.comb += [
                    ram.write.eq(unloading & (base[-1] == table)),
                    ram.write_address.eq(Cat(part, base[:-1])),
                    ram.write_data.eq(held_row.word_select(bank, WIDTH)),
                ]
                m.d.sync += ram.read_address.eq(Cat(probe.value[low_bits:ROW_SHIFT], row2[0], context2))
                rams.append(ram.read_data)
        bank_read = p.delay(probe, _READ - probe.time).value[:low_bits]
        x, ev = (p.register(Array(rams)[bank_read] if low_bits else rams[0], _READ) for rams in words)

        # The next state that is marked, and what is known of it.
        m.submodules.marks = marks = Ram(MARKS, -(-(1 << build.point_bits) // MARKS) << state_bits)
        self._mark(m, marks)
        m.d.sync += marks.read_address.eq(Cat(s, now.point[_MARK_BITS:]))
        looked = 1 + READ_LATENCY
        w4 = _walker(p.delay(p.input(now.as_value()), looked).value)
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
        point = p.register(
            Mux(searching, Mux(any_mark, at + 1, Cat(Const(0, _MARK_BITS), w4.point[_MARK_BITS:] + 1)), w4.point)[:17],
            looked,
        )
        going = p.register(searching & ~(any_mark & ~inside), looked)
        at_point = p.register(at[: build.point_bits], looked)
        product = p.total(p.products(at_point, p.input(self.last_state + 1, looked + 1)), build.position_bits)
        position = p.compute(lambda a, b: (a + b)[: build.position_bits], product, p.delay(p.input(s), product.time))
        m.d.comb += self.item_address.eq(position.value)
        own = p.register((self.first_point + at_point.value)[: build.index_bits], at_point.time)
        loaded = position.time + READ_LATENCY
        item = Signal(_ITEM)
        own = p.delay(own, loaded - own.time)
        m.d.comb += [
            item.wealth.eq(self.wealth_data),
            item.old.eq(self.old_data),
            item.choice.eq(Mux(self.cold, own.value, self.choice_data)),
            item.position.eq(p.delay(position, READ_LATENCY).value),
        ]

        # The evaluator, and the comparison.
        ports = UtilityPorts.of(self)
        m.submodules.evaluator = evaluator = EvaluatorInstance(ports)
        of_evaluator = EvaluatorParameters(build.multiplier)
        evaluated = _OPERANDS + of_evaluator.latency
        travelling = p.delay(p.input(w2new.as_value(), _FOUND), loaded - _FOUND)
        w = _walker(travelling.value)
        wealth = p.delay(p.input(now.item.wealth), _OPERANDS)
        m.d.comb += [
            evaluator.wealth.eq(wealth.value),
            evaluator.x.eq(x.value),
            evaluator.ev.eq(p.delay(ev, of_evaluator.ev_time).value),
        ]
        objective = Timed(evaluator.objective, evaluated)
        feasible = Timed(evaluator.feasible, evaluated)
        with_item = Signal(_WALKER)
        m.d.comb += with_item.eq(w)
        with m.If(p.delay(hit, loaded - hit.time).value):
            m.d.comb += [with_item.waiting.eq(1), with_item.next.eq(item)]
        m.d.comb += with_item.point.eq(p.delay(point, loaded - point.time).value)
        m.submodules.moves = moves = Ram(len(w.shift), parameters.contexts)
        m.d.comb += moves.read_address.eq(context)
        move = p.delay(p.register(Mux(self.cold, 0, moves.read_data), READ_LATENCY), loaded - READ_LATENCY - 1)
        with m.If(p.delay(p.input(beginning), loaded).value):
            m.d.comb += with_item.shift.eq(move.value)
        late = p.delay(p.input(with_item.as_value(), loaded), evaluated - loaded)
        w_late = _walker(late.value)
        order = Order(
            p,
            [Timed(w_late.objective.as_signed(), evaluated), objective],
            [Timed(w_late.here.feasible, evaluated), feasible],
        )
        ev_late = p.delay(ev, evaluated - ev.time)
        u = p.total([Term(objective), Term(ev_late, negative=True)], WIDTH)
        decided = parameters.decided
        assert u.time == decided

        old = _walker(p.delay(late, decided - evaluated).value)
        new = Signal(_WALKER)
        oob = p.delay(nowhere, decided - nowhere.time).value
        known = p.delay(found, decided - found.time).value | oob
        still = p.delay(going, decided - going.time).value
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
        moved = Signal(signed(18))
        guess = Signal(signed(19))
        m.d.comb += [
            moved.eq(Mux(done, old.index - old.item.choice, old.shift.as_signed())),
            guess.eq(old.next.choice + moved),
        ]
        with m.If(done):
            m.d.comb += [new.active.eq(0), new.shift.eq(moved), new.begun.eq(1)]
        with m.If((done | ~old.active) & old.waiting):
            m.d.comb += [
                new.active.eq(1),
                new.waiting.eq(0),
                new.item.eq(old.next),
                new.index.eq(Mux(guess < 0, 0, Mux(guess > top, top, guess))),
                new.first.eq(1),
                new.down.eq(0),
                new.exponent.eq(0),
                new.streak.eq(0),
                new.shrinks.eq(0),
                new.below_known.eq(0),
                new.above_known.eq(0),
            ]
        m.d.comb += came.eq(p.delay(p.input(new.as_value(), decided), ring - decided).value)

        # What a walker's first state moved is remembered for the next walk.
        first_move = Signal(signed(len(w.shift)))
        m.d.sync += first_move.eq(Mux(self.cold, 0, moved))
        m.d.comb += [
            moves.write.eq(p.valid(p.input(done & ~old.begun & self.busy), 1)),
            moves.write_address.eq(p.delay(p.input(context), decided + 1).value),
            moves.write_data.eq(first_move - (first_move >> DECAY)),
        ]

        # Nothing is under way when every walker has been round without anything to do.
        idle = Signal()
        m.d.comb += idle.eq(~old.active & ~old.waiting & ~still)
        started = p.delay(p.input(beginning), decided).value
        with m.If(~idle | beginning | started):
            m.d.sync += quiet.eq(0)
        with m.Elif(quiet == ring):
            m.d.sync += self.busy.eq(0)
        with m.Else():
            m.d.sync += quiet.eq(quiet + 1)
        with m.If(self.start):
            m.d.sync += [left.eq(ring), quiet.eq(0), self.busy.eq(1)]

        best = old.objective.as_signed()
        below, above = Signal(_PROBE), Signal(_PROBE)
        m.d.comb += [below.eq(Mux(old.down, of_j.as_value(), old.below.as_value()))]
        m.d.comb += [above.eq(Mux(old.down, old.above.as_value(), of_j.as_value()))]
        value, cut = clamped(best)
        m.d.sync += [
            self.valid.eq(done & self.busy),
            self.position.eq(old.item.position),
            self.state.eq(p.delay(p.input(s), decided).value),
            self.choice.eq(old.index),
            self.moved.eq(old.index != old.item.choice),
            self.kept.eq(Cat(below.u, old.here.u, above.u, below.feasible, old.here.feasible, above.feasible)),
            self.value.eq(Mux(old.here.feasible, value, MINIMUM)),
            self.old.eq(old.item.old),
            self.infeasible.eq(~old.here.feasible),
            self.outside.eq(cut & old.here.feasible),
            self.over.eq(
                p.delay(Timed(evaluator.over, evaluated), decided - evaluated).value & known & ~oob & self.busy
            ),
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
