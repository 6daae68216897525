"""Requests for half-rows of other lanes, from the searches of a lane."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.memory.queue import DeepQueue
from beltline.hw.sweep.parameters import HALF_SHIFT, ROW_SHIFT
from beltline.hw.sweep.row_buses import TAKEN_CLOCKS, RowBusesParameters
from beltline.hw.sweep.search.parameters import AHEAD_ROWS, NUMBER_BITS, SearchParameters


class Requests(wiring.Component):
    """Queues the half-rows that searches are missing or want in advance, for the lane's turns on its row bus.

    Throughput: a turn of a search in every clock. If the queue is full, no request is made, and the search repeats it
    in its next turn. Latency: a request is offered to the bus at least 5 clocks after it was made, and at least 4
    clocks after the one before it.

    Attributes
    ----------
    context, search, probe, lacks, ahead, near_row : in
        Clock :data:`FOUND` of a turn: outputs of :class:`beltline.hw.sweep.search.probe.Probe`.
    sent : out, :attr:`SearchParameters.search`
        The same clock: the search, with row and number of the request that it makes.
    asked : out, 8 bits
        The number of requests so far, modulo ``2**NUMBER_BITS``.
    request, row, inner : out, 1 bit, ``row_bits``, ``inner_bits``
        The oldest request, to the buses, see :class:`beltline.hw.sweep.row_buses.RowPort`.
    taken : in, 1 bit
        The buses have accepted it; the next request follows.
    place : out, 1 + ``context_bits``
        Of the row that the buses deliver in this clock: which half was requested (lowest bit), and by which search.
    """

    def __init__(self, parameters: SearchParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        super().__init__(
            {
                "context": In(parameters.context_bits),
                "search": In(parameters.search),
                "probe": In(build.index_bits),
                "lacks": In(1),
                "ahead": In(1),
                "near_row": In(build.row_bits),
                "sent": Out(parameters.search),
                "asked": Out(NUMBER_BITS),
                "request": Out(1),
                "row": Out(build.row_bits),
                "inner": Out(build.inner_bits),
                "taken": In(1),
                "place": Out(1 + parameters.context_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m, self.parameters.build.multiplier)
        build = self.parameters.build
        m.submodules.queue = queue = DeepQueue(1 + build.row_bits + self.parameters.context_bits, AHEAD_ROWS)
        ask = (self.lacks | self.ahead) & queue.ready
        odd_asked = self.probe[HALF_SHIFT] ^ self.ahead
        row_asked = Mux(self.ahead, self.near_row, self.probe[ROW_SHIFT:])
        m.d.comb += [queue.push.eq(ask), queue.data.eq(Cat(odd_asked, row_asked, self.context))]
        m.d.sync += self.asked.eq(self.asked + ask)
        m.d.comb += self.sent.eq(self.search)
        with m.If(ask):
            tagged = Cat(row_asked, Const(1, 1))
            with m.If(odd_asked):
                m.d.comb += [self.sent.row1.eq(tagged), self.sent.number1.eq(self.asked), self.sent.have1.eq(0)]
            with m.Else():
                m.d.comb += [self.sent.row0.eq(tagged), self.sent.number0.eq(self.asked), self.sent.have0.eq(0)]
        of_row, of_context = queue.head[: 1 + build.row_bits], queue.head[1 + build.row_bits :]
        fetch_clocks = RowBusesParameters(build, build.inner_bits).latency - TAKEN_CLOCKS
        m.d.comb += [
            self.request.eq(queue.head_valid),
            self.row.eq(of_row[1:]),
            self.inner.eq(Cat(of_context[: build.state_bits], of_row[0], Const(1, 1))),
            queue.pop.eq(self.taken),
            self.place.eq(p.delay(p.input(Cat(of_row[0], of_context)), fetch_clocks).value),
        ]
        return m
