"""The ring: gives each search its turn, and holds it between two turns."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.search.handed import handed_layout
from beltline.hw.sweep.search.parameters import SearchParameters


class Ring(wiring.Component):
    """Gives each search its turn, one a clock, every :attr:`SearchParameters.clocks` clocks.

    A search enters the ring in clock :attr:`SearchParameters.decided` of its turn, and leaves it in clock 0 of its next
    one. In the first turns of a pass every search is replaced by a new one without a state. If there are fewer searches
    than clocks, the remaining places are empty.

    Throughput: a turn in every clock. Contract: fixed latency, no ready. Outputs but ``search_later`` belong to
    clock 0 of a turn.

    In a build whose check hands states to the local search (:attr:`beltline.hw.sweep.parameters.SweepParameters.hands`)
    a new search begins with the state that it was handed. A search that was handed none has no work left, except with
    ``force``. The ring can be aligned so that the searches with the first states have the first turns of a pass.

    Attributes
    ----------
    restart : in, 1 bit
        The clock after it is clock 0 of the turn of search 0.
    start : in, 1 bit
        The searches are replaced by new ones in the ``clocks`` clocks after it.
    busy : in, 1 bit
        The pass is in progress; without it no search is active.
    last_state, last_index, part_shift, seek, above : in
        See :class:`beltline.hw.sweep.search.local_search.LocalSearch`.
    next : in, :attr:`SearchParameters.search`
        A search after its decision.
    context : out, ``context_bits``
        The number of the search; its low ``state_bits`` bits are the exogenous state.
    mine : out, 1 bit
        There is such a search, and the problem has its exogenous state.
    beginning : out, 1 bit
        The search is a new one.
    limit : out, ``searched_bits + 1``
        The first point after the search's part.
    search : out, :attr:`SearchParameters.search`
        The search.
    search_later : out, :attr:`SearchParameters.search`
        ``search`` a clock later.
    force : in, 1 bit
        Only in builds whose check hands states to the local search, as the next five: all states are searched; what
        was handed is ignored.
    align, first_context : in, 1 bit and ``context_bits``
        Search ``first_context`` has its turn ``READ_LATENCY + 1`` clocks later. ``align`` must not be high while
        ``busy``.
    ahead : out, ``context_bits``
        ``context`` of ``READ_LATENCY`` clocks later.
    handed : in, :func:`beltline.hw.sweep.search.handed.handed_layout`
        The state that the search is handed.
    part_begin : out, ``searched_bits``
        The first point of the search's part.
    """

    def __init__(self, parameters: SearchParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        super().__init__(
            {
                "restart": In(1),
                "start": In(1),
                "busy": In(1),
                "last_state": In(build.state_bits),
                "last_index": In(build.index_bits),
                "part_shift": In(range(build.point_bits + 1)),
                "seek": In(1),
                "above": In(1),
                "next": In(parameters.search),
                "context": Out(parameters.context_bits),
                "mine": Out(1),
                "beginning": Out(1),
                "limit": Out(parameters.searched_bits + 1),
                "search": Out(parameters.search),
                "search_later": Out(parameters.search),
                **(self._of_hands() if build.hands else {}),
            }
        )

    def _of_hands(self) -> dict[str, wiring.Member]:
        """Return the ports that only a build has whose check hands states to the local search."""
        parameters = self.parameters
        return {
            "force": In(1),
            "align": In(1),
            "first_context": In(parameters.context_bits),
            "ahead": Out(parameters.context_bits),
            "handed": In(handed_layout(parameters)),
            "part_begin": Out(parameters.searched_bits),
        }

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m, self.parameters.build.multiplier)
        parameters = self.parameters
        clocks, state_bits = parameters.clocks, parameters.build.state_bits
        # One turn for each search, then empty places.
        turn = Signal(range(clocks))
        m.d.sync += turn.eq(Mux((turn == clocks - 1) | self.restart, 0, turn + 1))
        if parameters.build.hands:
            first = self.first_context
            with m.If(self.align):
                m.d.sync += turn.eq(Mux(first < READ_LATENCY, first + clocks, first) - READ_LATENCY)
        m.d.comb += [
            self.context.eq(turn),
            self.mine.eq((turn < parameters.contexts) & (self.context[:state_bits] <= self.last_state)),
        ]
        # How many turns begin with a new search; ``beginning``, a register, is high while this is not 0.
        left = Signal(range(clocks + 1))
        m.d.sync += self.beginning.eq(self.start | (left > 1))
        with m.If(self.beginning):
            m.d.sync += left.eq(left - 1)
        with m.If(self.start):
            m.d.sync += left.eq(clocks)

        fresh = Signal(parameters.search)
        part = self.context[state_bits:] if parameters.part_bits else Const(0, 1)
        new = self._begun(m, fresh, part) if parameters.build.hands else fresh.as_value()
        came = p.delay(p.input(self.next.as_value()), clocks - parameters.decided)
        m.d.comb += [
            fresh.eq(0),
            fresh.point.eq(part << self.part_shift),
            fresh.index.eq(Mux(self.seek & self.above, self.last_index, 0)),
            self.search.eq(Mux(self.beginning, new, came.value)),
            self.limit.eq((part + 1) << self.part_shift),
            self.search_later.eq(p.delay(p.input(self.search.as_value()), 1).value),
        ]
        with m.If(~self.busy):
            m.d.comb += self.search.active.eq(0)
        return m

    def _begun(self, m: Module, fresh: Any, part: Value) -> Value:
        """Return a new search with the state that it is handed, or ``fresh`` with ``force``."""
        clocks, handed = self.parameters.clocks, self.handed
        begun = Signal(self.parameters.search)
        # The turn that comes READ_LATENCY clocks later.
        turn = Signal(range(clocks), init=READ_LATENCY)
        m.d.sync += turn.eq(Mux(turn == clocks - 1, 0, turn + 1))
        with m.If(self.restart):
            m.d.sync += turn.eq(READ_LATENCY)
        with m.If(self.align):
            m.d.sync += turn.eq(self.first_context)
        tag = Cat(handed.half[1:], handed.asked)
        m.d.comb += [self.ahead.eq(turn), self.part_begin.eq(part << self.part_shift)]
        m.d.comb += [
            begun.eq(0),
            begun.active.eq(handed.valid & self.mine),
            begun.item.choice.eq(handed.choice),
            begun.item.position.eq(handed.position),
            begun.index.eq(handed.index),
            begun.objective.eq(handed.objective),
            begun.below_known.eq(handed.known & handed.rises),
            begun.above_known.eq(handed.known & ~handed.rises),
            begun.first.eq(~handed.known),
            begun.down.eq(handed.known & ~handed.rises),
            begun.over.eq(~(handed.valid & self.mine)),
            begun.point.eq(Mux(handed.valid, handed.point, ~0)),
            begun.row0.eq(Mux(handed.half[0], 0, tag)),
            begun.row1.eq(Mux(handed.half[0], tag, 0)),
            begun.number0.eq(handed.number),
            begun.number1.eq(handed.number),
        ]
        return Mux(self.force, fresh.as_value(), begun.as_value())
