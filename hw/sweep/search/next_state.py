"""The next state of a search, and the stored choice from which it begins."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.pipeline import Pipeline, Timed
from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.search.marks import MARKS_CLOCKS, Marks, mark_ports
from beltline.hw.sweep.search.parameters import MARK_BITS, MARKS, PROBED, SearchParameters, position_of


class NextState(wiring.Component):
    """Finds the next marked state for a search that has none waiting.

    In a turn it examines one word of marks: 16 points with the search's exogenous state.

    Latency: results in clock :attr:`SearchParameters.loaded` of a turn. Throughput: a turn in every clock. Contract:
    fixed latency, no ready.

    Attributes
    ----------
    mark_valid, mark_point, mark_state, mark : in
        The marks of the check, see :class:`beltline.hw.sweep.search.marks.Marks`.
    points, last_state, force, cold, first_point : in
        See :class:`beltline.hw.sweep.search.local_search.LocalSearch`.
    busy : in, 1 bit
        The pass is in progress; without it no state is found.
    context, mine, limit, search : in
        Clock 0 of a turn: outputs of :class:`beltline.hw.sweep.search.ring.Ring`.
    search_later : in, :attr:`SearchParameters.search`
        Clock 1: the search.
    choice_address, choice_data : out and in, ``position_bits`` and ``index_bits`` of the build
        Read port of the lane's choices, with latency ``READ_LATENCY``.
    least, most : in, ``index_bits`` of the build
        Only in general builds: the lowest and the highest candidate of a state, read together with its choice.
    hit : out, 1 bit
        A state was found.
    item : out, :attr:`SearchParameters.item`
        Its number in the lane, and its stored choice; with ``cold`` and without ``stored``, the grid index of its point
        instead. In general builds its candidates, too.
    point : out, ``searched_bits``
        The point from which the search continues to look in its next turn.
    exhausted : out, 1 bit
        No points of the search are left from ``point`` on.
    exogenous : out, ``state_bits``
        The search's exogenous state.
    stored : in, 1 bit
        See :class:`beltline.hw.sweep.search.local_search.LocalSearch`.
    set, set_point, set_state : in
        See :class:`beltline.hw.sweep.search.marks.Marks`. The mark of a state is
        cleared when it is found.
    """

    def __init__(self, parameters: SearchParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        super().__init__(
            {
                **mark_ports(build),
                "points": In(build.point_bits + 1),
                "last_state": In(build.state_bits),
                "force": In(1),
                "cold": In(1),
                "first_point": In(build.index_bits),
                "busy": In(1),
                "context": In(parameters.context_bits),
                "mine": In(1),
                "limit": In(parameters.searched_bits + 1),
                "search": In(parameters.search),
                "search_later": In(parameters.search),
                "choice_address": Out(build.position_bits),
                "choice_data": In(build.index_bits),
                "hit": Out(1),
                "item": Out(parameters.item),
                "point": Out(parameters.searched_bits),
                "exhausted": Out(1),
                "exogenous": Out(build.state_bits),
                "stored": In(1),
                "set": In(1),
                "set_point": In(build.point_bits),
                "set_state": In(build.state_bits),
                **({name: In(build.index_bits) for name in ("least", "most")} if build.general else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        parameters, build = self.parameters, self.parameters.build
        p = Pipeline(m, build.multiplier)
        m.submodules.marks = marks = Marks(build, parameters.searched_bits)
        exogenous, mine, end = p.input(self.context[: build.state_bits]), p.input(self.mine), p.input(self.limit)
        m.d.comb += [
            *(
                getattr(marks, name).eq(getattr(self, name))
                for name in ("mark_valid", "mark_point", "mark_state", "mark", "points")
            ),
            marks.state.eq(exogenous.value),
            marks.point.eq(self.search.point),
        ]
        looked = MARKS_CLOCKS
        # Which marks of the word count is computed in the two clocks before the word arrives.
        early = looked - 2
        own = p.delay(p.input(Cat(self.search_later.point, self.search_later.waiting), PROBED), early - PROBED)
        word = own.value[MARK_BITS:-1]
        ends = [Timed(one, early) for one in (self.points, p.delay(end, early).value)]
        compared = [
            (
                p.register(word < one.value[MARK_BITS:], early),
                p.register(word == one.value[MARK_BITS:], early),
                p.delay(one, 1),
            )
            for one in ends
        ]
        idle = p.register(own.value[-1] | ~p.delay(mine, early).value, early)
        own = p.delay(own, 1)

        def inside(k: ValueLike) -> Value:
            """Return whether the point with mark ``k`` of the word is before both ends."""
            return Cat(less.value | (same.value & (k < one.value[:MARK_BITS])) for less, same, one in compared).all()

        begin = own.value[:MARK_BITS]
        wants = p.register(inside(begin) & ~idle.value, early + 1)
        upwards = p.register(Cat(begin <= k for k in range(MARKS)), early + 1)
        allowed = p.register(Cat(inside(Const(k, MARK_BITS)) for k in range(MARKS)), early + 1)
        from_point = p.delay(own, 1).value[:-1]
        searching = Signal()
        m.d.comb += searching.eq(wants.value & self.busy)
        marked = Signal(MARKS)
        m.d.comb += marked.eq((marks.word | self.force.replicate(MARKS)) & upwards.value)
        first = Signal(range(MARKS))
        any_mark = Signal()
        for k in reversed(range(MARKS)):
            with m.If(marked[k]):
                m.d.comb += [first.eq(k), any_mark.eq(1)]
        at = Cat(first, from_point[MARK_BITS:])
        # If a marked point lies before the end, the first one does.
        hit = p.register(searching & (marked & allowed.value).any(), looked)
        next_word = Cat(Const(0, MARK_BITS), from_point[MARK_BITS:] + 1)
        beyond = Mux(searching, Mux(any_mark, at + 1, next_word), from_point)
        point = p.register(beyond[: parameters.searched_bits], looked)
        exhausted = p.register(
            (point.value >= self.points)
            | (point.value >= p.delay(end, point.time).value)
            | ~p.delay(mine, point.time).value,
            point.time,
        )

        at_point = p.register(at[: build.point_bits], looked)
        m.d.comb += [
            *(getattr(marks, name).eq(getattr(self, name)) for name in ("set", "set_point", "set_state")),
            # Turns that began before this pass clear no marks.
            marks.clear.eq(hit.value & p.valid(p.input(self.busy), hit.time)),
            marks.clear_point.eq(at_point.value),
            marks.clear_state.eq(p.delay(exogenous, hit.time).value),
        ]
        position = position_of(p, build, at_point, self.last_state + 1, exogenous)
        begins = p.register((self.first_point + at_point.value)[: build.index_bits], at_point.time)
        loaded = parameters.loaded
        # Each state's own point takes the place of its choice.
        own_point = self.cold & ~self.stored
        assert loaded == position.time + READ_LATENCY
        m.d.comb += [
            self.choice_address.eq(position.value),
            self.item.choice.eq(Mux(own_point, p.delay(begins, loaded - begins.time).value, self.choice_data)),
            self.item.position.eq(p.delay(position, READ_LATENCY).value),
            self.hit.eq(p.delay(hit, loaded - hit.time).value),
            self.point.eq(p.delay(point, loaded - point.time).value),
            self.exhausted.eq(p.delay(exhausted, loaded - exhausted.time).value),
            self.exogenous.eq(p.delay(exogenous, loaded).value),
        ]
        if build.general:
            m.d.comb += [self.item.least.eq(self.least), self.item.most.eq(self.most)]
        return m
