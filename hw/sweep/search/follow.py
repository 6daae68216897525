"""The points whose states a local search has finished, listed for the expectation while the search goes on."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.pipeline import Pipeline, Timed
from beltline.hw.memory.ram import READ_LATENCY, Ram
from beltline.hw.sweep.patch import NOTE_BITS, NOTES, note_ports, note_words
from beltline.hw.sweep.search.parameters import SearchParameters

DECISION_CLOCKS = 2
"""Clocks from the turn of the last search of a part until the part's next point is decided: ``Follow`` needs one for
the comparison and one for the decision."""


class Follow(wiring.Component):
    """Lists the states of noted points as soon as the local search has finished them; only with ``overlap``.

    The points of a part belong to ``2**state_bits`` searches with neighbouring places in the ring, one for each
    exogenous state. A part has a *place*: all points below it are listed. While these searches have their turns, the
    unit compares each with the next noted point ``n`` from the place on in the same word of ``NOTES`` notes. It has
    passed ``n`` if it works on a state of a later point, or if it has no state and will look for the next one from a
    later point on. If all have passed ``n``, the states of ``n`` are listed, one a clock, and the place becomes
    ``n + 1``. Without such a point the place becomes the next word. So every part lists a point, or skips a word, in
    each round of the ring; together they list a state a clock. The pass ends with the last noted point.

    Latency: a part whose searches have their turns in clocks ``t`` to ``t + 2**state_bits - 1`` lists its states from
    clock ``t + 2**state_bits + DECISION_CLOCKS`` on. In the first round after ``start`` every part is put at its first
    point. Throughput: a state a clock. Contract: no ready.

    Attributes
    ----------
    start : in, 1 bit
        Begins a pass, with the local search. It must not be high while ``busy``.
    force : in, 1 bit
        All points are listed, noted or not.
    points : in, ``point_bits + 1``
        Points of the lane, at least 1.
    last_state : in, ``state_bits``
        ``N_z - 1``.
    note_write, note_row, notes : in, 1 bit, row, ``NOTES`` bits
        Writes the notes of points ``NOTES * note_row`` and following, before the pass.
    noted : in, 1 bit
        High for a clock for each noted point, before the pass and not in the clocks of ``start`` and after it.
    context, mine, beginning, limit, search, search_later : in
        The turn of a search, from :class:`beltline.hw.sweep.search.ring.Ring`.
    part_begin : in, ``searched_bits``
        Only in builds whose check hands states to the local search, from the same: the first point of the search's
        part.
    busy : out, 1 bit
        High from the clock after ``start`` until all noted points are listed.
    valid : out, 1 bit
        High in clocks with a state.
    point, position : out, ``point_bits`` and ``position_bits``
        Its point, and its number in the lane.
    """

    def __init__(self, parameters: SearchParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        super().__init__(
            {
                "start": In(1),
                "force": In(1),
                "points": In(build.point_bits + 1),
                "last_state": In(build.state_bits),
                **note_ports(build, In),
                "noted": In(1),
                "context": In(parameters.context_bits),
                "mine": In(1),
                "beginning": In(1),
                "limit": In(parameters.searched_bits + 1),
                "search": In(parameters.search),
                "search_later": In(parameters.search),
                **({"part_begin": In(parameters.searched_bits)} if build.hands else {}),
                "busy": Out(1),
                "valid": Out(1),
                "point": Out(build.point_bits),
                "position": Out(build.position_bits),
            }
        )

    @property
    def _part(self) -> data.StructLayout:
        """A part in the round of its searches' turns: whether it counts; its place; its next noted point, if any."""
        parameters, build = self.parameters, self.parameters.build
        width = parameters.searched_bits
        return data.StructLayout(
            {
                # `beginning`: the first round. `over`: all points of the part are listed.
                "valid": 1,
                "beginning": 1,
                "over": 1,
                "place": width,
                "limit": width + 1,
                # The noted point, the point after it, the first one of the next word; the number of the noted point's
                # first state, and that of the next point's.
                "noted": 1,
                "at": width,
                "after": width + 1,
                "word": width + 1,
                "base": build.position_bits,
                "bound": build.position_bits + 1,
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        parameters, build = self.parameters, self.parameters.build
        p = Pipeline(m, build.multiplier)
        running, came = Signal(), Signal(_place(parameters))
        ready, time = self._next_noted(m, p, came)
        m.d.comb += [
            ready.valid.eq(self.mine & running),
            ready.beginning.eq(self.beginning),
            ready.limit.eq(self.limit),
        ]
        with m.If(self.beginning):
            m.d.comb += [ready.place.eq(self.part_begin if build.hands else self.search.point), ready.over.eq(0)]
        # The part does not change while its searches have their turns.
        part = Signal(self._part)
        of_state = p.input(self.context[: build.state_bits])
        with m.If(of_state.value == 0):
            m.d.sync += part.eq(ready)
        decided, hit, after_over, word_over = Signal(self._part), Signal(), Signal(), Signal()
        m.d.sync += [
            decided.eq(part),
            hit.eq(part.noted & (part.at < part.limit) & (part.at < self.points)),
            after_over.eq((part.after >= part.limit) | (part.after >= self.points)),
            word_over.eq((part.word >= part.limit) | (part.word >= self.points)),
        ]
        passed = self._passed(m, p, part, of_state)

        # The decision: the part lists its point, skips the rest of the word, or waits.
        decides, lists = Signal(), Signal()
        moved = Signal(_place(parameters))
        last = p.delay(p.input(of_state.value.all()), DECISION_CLOCKS).value
        m.d.comb += [
            decides.eq(last & decided.valid & ~decided.beginning & ~decided.over),
            lists.eq(decides & hit & passed),
            moved.place.eq(decided.place),
            moved.over.eq(decided.over),
        ]
        with m.If(lists):
            m.d.comb += [moved.place.eq(decided.after), moved.over.eq(after_over)]
        with m.Elif(decides & ~hit):
            m.d.comb += [moved.place.eq(decided.word), moved.over.eq(word_over)]
        loop = parameters.clocks - time - ((1 << build.state_bits) - 1 + DECISION_CLOCKS)
        assert loop > 0
        m.d.comb += came.eq(p.delay(p.input(moved.as_value()), loop).value)
        self._list(m, lists, decided)

        # Points that are to be listed; with ``force``, which is valid from the clock after ``start`` on, all points.
        unfinished, noted, started = Signal(build.point_bits + 1), Signal(build.point_bits + 1), Signal()
        m.d.sync += [unfinished.eq(unfinished - lists), noted.eq(noted + self.noted), started.eq(self.start)]
        with m.If(started):
            m.d.sync += [unfinished.eq(Mux(self.force, self.points, noted)), noted.eq(0)]
        with m.Elif(unfinished == 0):
            m.d.sync += running.eq(0)
        with m.If(self.start):
            m.d.sync += running.eq(1)
        m.d.comb += self.busy.eq(running | self.valid)
        return m

    def _next_noted(self, m: Module, p: Pipeline, came: Any) -> tuple[Any, int]:
        """Find the next noted point of a part that stands at ``came``; returns the part, and after how many clocks.

        Only ``place``, ``over`` and the last six fields of the part are set.
        """
        build, width = self.parameters.build, self.parameters.searched_bits
        states = Signal(build.count_bits)
        m.d.sync += states.eq(self.last_state + 1)
        m.submodules.notes = notes = Ram(NOTES, note_words(build))
        m.d.comb += [
            notes.write.eq(self.note_write),
            notes.write_address.eq(self.note_row),
            notes.write_data.eq(self.notes),
            notes.read_address.eq(came.place[NOTE_BITS:]),
        ]
        # Which notes of the word count is computed a clock before the word arrives.
        before = p.delay(p.input(came.as_value()), READ_LATENCY - 1)
        upwards = p.register(Cat(before.value[:NOTE_BITS] <= k for k in range(NOTES)), before.time)
        here = p.delay(p.input(came.as_value()), READ_LATENCY)
        place = here.value[:width]
        noted = Signal(NOTES)
        m.d.comb += noted.eq((notes.read_data | self.force.replicate(NOTES)) & upwards.value)
        # The lowest note alone, by a carry chain, so that its number takes few LUTs in a row.
        lowest, first = Signal(NOTES), Signal(range(NOTES))
        m.d.comb += [
            lowest.eq(noted & (~noted + 1)),
            first.eq(Cat(Cat(lowest[k] for k in range(NOTES) if k >> bit & 1).any() for bit in range(NOTE_BITS))),
        ]
        at = p.register(Cat(first, place[NOTE_BITS:]), here.time)
        products = p.products(at.map(lambda value: value[: build.point_bits]), p.input(states, at.time))
        base = p.total(products, build.position_bits)
        bound = p.compute(lambda value: value + states, base)
        time = bound.time
        ready = Signal(self._part)
        m.d.comb += [
            Cat(ready.place, ready.over).eq(p.delay(here, time - here.time).value),
            ready.noted.eq(p.delay(p.register(noted.any(), here.time), time - at.time).value),
            ready.at.eq(p.delay(at, time - at.time).value),
            ready.after.eq(ready.at + 1),
            ready.word.eq(Cat(Const(0, NOTE_BITS), ready.place[NOTE_BITS:] + 1)),
            ready.base.eq(p.delay(base, time - base.time).value),
            ready.bound.eq(bound.value),
        ]
        return ready, time

    def _passed(self, m: Module, p: Pipeline, part: Any, of_state: Timed) -> Signal:
        """Return whether all searches of the part have passed its noted point, valid in the clock of the decision."""
        later = self.search_later
        no_search = ~p.delay(p.input(self.mine), 1).value
        beyond = p.register(
            no_search | Mux(later.active, later.item.position >= part.bound, later.point > part.at), 1
        ).value
        so_far, passed = Signal(), Signal()
        first = p.delay(p.input(of_state.value == 0), DECISION_CLOCKS).value
        m.d.comb += passed.eq(beyond & (first | so_far))
        m.d.sync += so_far.eq(passed)
        return passed

    def _list(self, m: Module, lists: Value, part: Any) -> None:
        """List the states of a part's noted point, from the clock after ``lists`` on."""
        state = Signal(self.parameters.build.state_bits)
        with m.If(lists):
            m.d.sync += [self.valid.eq(1), self.point.eq(part.at), self.position.eq(part.base), state.eq(0)]
        with m.Elif(self.valid):
            m.d.sync += [self.position.eq(self.position + 1), state.eq(state + 1)]
            with m.If(state == self.last_state):
                m.d.sync += self.valid.eq(0)


def _place(parameters: SearchParameters) -> data.StructLayout:
    """Where a part stands: below which point all are listed, and whether that is all of the part."""
    return data.StructLayout({"place": parameters.searched_bits, "over": 1})
