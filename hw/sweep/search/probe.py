"""The candidate that a search evaluates next, and whether its words have arrived."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.sweep.parameters import HALF_SHIFT, ROW_SHIFT
from beltline.hw.sweep.search.parameters import FOUND, NUMBER_BITS, PROBED, SearchParameters


class Probe(wiring.Component):
    """Computes a search's next candidate ``j``, and whether the half-row with the words of ``j`` has arrived.

    ``j`` is the guess itself in a first turn, and then ``index + 2**exponent`` upwards or ``index - 2**exponent``
    downwards. After the guess both its neighbours are needed too. If one of them lies in the neighbouring half-row, and
    that was not requested, it is requested as soon as the guess can be evaluated (``ahead``).

    Latency: results in clock :data:`FOUND` of a turn. Throughput: a turn in every clock. Contract: fixed latency, no
    ready.

    Attributes
    ----------
    last_index : in, ``index_bits`` of the build
        The last candidate of the grid.
    least, most : in, ``index_bits`` of the build
        Only in general builds, clock 1: the lowest and the highest candidate of the search's state, which bound the
        grid of the outputs below.
    context, search : in, ``context_bits`` and :attr:`SearchParameters.search`
        Clock 0 of a turn: number and record of the search, from :class:`beltline.hw.sweep.search.ring.Ring`.
    search_later : in, :attr:`SearchParameters.search`
        Clock 1: the search.
    arrived : in, 8 bits
        Clock 1: the number of half-rows that have arrived, from :class:`beltline.hw.sweep.search.halves.Halves`.
    context_later, seen : out, ``context_bits`` and :attr:`SearchParameters.search`
        The search, with ``have0`` and ``have1`` up to date.
    probe : out, ``index_bits`` of the build
        The low bits of ``j``.
    found : out, 1 bit
        The search is active, ``j`` is on the grid, and its words have arrived.
    lacks : out, 1 bit
        The search is active, ``j`` is on the grid, and its half-row was not requested.
    nowhere : out, 1 bit
        The search is active, and ``j`` is not on the grid.
    ahead, near_row : out, 1 bit and ``row_bits``
        Request the other half, of row ``near_row``, in advance.
    """

    def __init__(self, parameters: SearchParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        super().__init__(
            {
                "last_index": In(build.index_bits),
                "context": In(parameters.context_bits),
                "search": In(parameters.search),
                "search_later": In(parameters.search),
                "arrived": In(NUMBER_BITS),
                **({name: In(build.index_bits) for name in ("least", "most")} if build.general else {}),
                "context_later": Out(parameters.context_bits),
                "seen": Out(parameters.search),
                "probe": Out(build.index_bits),
                "found": Out(1),
                "lacks": Out(1),
                "nowhere": Out(1),
                "ahead": Out(1),
                "near_row": Out(build.row_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m, self.parameters.build.multiplier)
        build, now, search_later = self.parameters.build, self.search, self.search_later
        top = self.last_index
        step = Signal(build.index_bits + 1)
        m.d.comb += step.eq(Mux(now.first, 0, 1 << now.exponent))
        wanted = p.register(Mux(now.down, now.index - step, now.index + step)[: build.index_bits + 2].as_signed(), 0)
        assert wanted.time == PROBED
        if build.general:
            outside = (wanted.value < self.least) | (wanted.value > self.most)
        else:
            outside = (wanted.value < 0) | (wanted.value > top)
        odd = wanted.value[HALF_SHIFT]
        row = wanted.value[ROW_SHIFT:][: build.row_bits]
        here = [self._arrived(search_later, k) for k in range(2)]
        tag = Mux(odd, search_later.row1, search_later.row0)
        same = tag == Cat(row, Const(1, 1))
        found_now = search_later.active & ~outside & same & Mux(odd, here[1], here[0])
        found = p.register(found_now, PROBED)
        lacks = p.register(search_later.active & ~outside & ~same, PROBED)
        nowhere = p.register(search_later.active & outside, PROBED)
        probe = p.register(wanted.value[: build.index_bits], PROBED)
        came_by_now = p.register(Cat(*here), PROBED)

        last = search_later.index
        low = last[:HALF_SHIFT]
        edge = search_later.first & Mux(low.all(), last != top, ~low.any() & last.any())
        word, row_now = now.index[:ROW_SHIFT], now.index[ROW_SHIFT : build.index_bits]
        step_row = Cat(word.all() | ~word.any(), (~word.any()).replicate(max(build.row_bits - 1, 0)))
        near_row = p.register((row_now + step_row)[: build.row_bits], 0)
        near_tag = Mux(odd, search_later.row0, search_later.row1)
        ahead = p.register(found_now & edge & (near_tag != Cat(near_row.value, Const(1, 1))), PROBED)
        m.d.comb += [
            self.context_later.eq(p.delay(p.input(self.context), FOUND).value),
            self.seen.eq(p.delay(p.input(search_later.as_value(), PROBED), FOUND - PROBED).value),
            self.seen.have0.eq(came_by_now.value[0]),
            self.seen.have1.eq(came_by_now.value[1]),
            self.probe.eq(probe.value),
            self.found.eq(found.value),
            self.lacks.eq(lacks.value),
            self.nowhere.eq(nowhere.value),
            self.ahead.eq(ahead.value),
            self.near_row.eq(p.delay(near_row, FOUND - PROBED).value),
        ]
        return m

    def _arrived(self, search: Any, k: int) -> Value:
        """Return whether a search's lower (``k`` = 0) or upper half-row has arrived."""
        number = search.number1 if k else search.number0
        have = search.have1 if k else search.have0
        return have | ((search.row1 if k else search.row0).any() & ~(self.arrived - number - 1)[NUMBER_BITS - 1])
