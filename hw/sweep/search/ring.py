"""The ring: gives each search its turn, and holds it between two turns."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.sweep.search.parameters import SearchParameters


class Ring(wiring.Component):
    """Gives each search its turn, one a clock, every :attr:`SearchParameters.clocks` clocks.

    A search enters the ring in clock :attr:`SearchParameters.decided` of its turn, and leaves it in clock 0 of its next
    one. In the first turns of a pass every search is replaced by a new one without a state. If there are fewer searches
    than clocks, the remaining places are empty.

    Throughput: a turn in every clock. Contract: fixed latency, no ready. Outputs but ``search_later`` belong to
    clock 0 of a turn.

    Attributes
    ----------
    restart : in, 1 bit
        The clock after it is clock 0 of the turn of search 0.
    start : in, 1 bit
        The searches are replaced by new ones in the ``clocks`` clocks after it.
    busy : in, 1 bit
        The pass is in progress; without it no search is active.
    last_state, part_shift : in
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
                "part_shift": In(range(build.point_bits + 1)),
                "next": In(parameters.search),
                "context": Out(parameters.context_bits),
                "mine": Out(1),
                "beginning": Out(1),
                "limit": Out(parameters.searched_bits + 1),
                "search": Out(parameters.search),
                "search_later": Out(parameters.search),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m, self.parameters.build.multiplier)
        parameters = self.parameters
        clocks, state_bits = parameters.clocks, parameters.build.state_bits
        # One turn for each search, then empty places.
        turn = Signal(range(clocks))
        m.d.sync += turn.eq(Mux((turn == clocks - 1) | self.restart, 0, turn + 1))
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
        came = p.delay(p.input(self.next.as_value()), clocks - parameters.decided)
        m.d.comb += [
            fresh.eq(0),
            fresh.point.eq(part << self.part_shift),
            self.search.eq(Mux(self.beginning, fresh.as_value(), came.value)),
            self.limit.eq((part + 1) << self.part_shift),
            self.search_later.eq(p.delay(p.input(self.search.as_value()), 1).value),
        ]
        with m.If(~self.busy):
            m.d.comb += self.search.active.eq(0)
        return m
