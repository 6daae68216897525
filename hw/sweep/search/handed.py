"""The first state of each search that fails the check, with what the check knows about it."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.evaluator import OBJECTIVE_BITS
from beltline.hw.memory.ram import READ_LATENCY, Ram
from beltline.hw.sweep.parameters import HALF_SHIFT, SweepParameters
from beltline.hw.sweep.search.marks import mark_ports
from beltline.hw.sweep.search.parameters import NUMBER_BITS, SearchParameters

HANDED_CLOCKS = 2 + READ_LATENCY
"""Clocks from a mark to the first turn that can begin with its state."""

REQUEST_CLOCKS = 2
"""Clocks from the result of a check to the request for the first row of the search that its state is handed to."""

ALIGN_CLOCKS = REQUEST_CLOCKS + 1
"""Clocks from the last result of a check until the ring can be aligned: until its request counts."""


def known_ports(build: SweepParameters) -> dict[str, wiring.Member]:
    """Return the inputs that bring with a mark what the check knows about its state; see :class:`Handed`."""
    return {
        "mark_position": In(build.position_bits),
        "mark_choice": In(build.index_bits),
        "mark_begin": In(build.index_bits),
        "mark_known": In(1),
        "mark_rises": In(1),
        "mark_objective": In(signed(OBJECTIVE_BITS)),
    }


def handed_layout(parameters: SearchParameters) -> data.StructLayout:
    """Return the layout of a state that is handed to a search.

    ``valid``: there is such a state. ``known``: candidate ``index``, with ``objective``, is better than ``choice``; it
    is the one above with ``rises``, and else the one below. Without ``known`` the candidate is the choice, to be
    evaluated. ``point`` is the point after the state's own. ``asked``: half-row ``half`` was requested, with number
    ``number``; it has the candidate that is evaluated first.
    """
    build = parameters.build
    return data.StructLayout(
        {
            "valid": 1,
            "known": 1,
            "rises": 1,
            "index": build.index_bits,
            "choice": build.index_bits,
            "position": build.position_bits,
            "point": parameters.searched_bits,
            "objective": OBJECTIVE_BITS,
            "asked": 1,
            "half": build.index_bits - HALF_SHIFT,
            "number": NUMBER_BITS,
        }
    )


class Handed(wiring.Component):
    """Stores, for each search, the first state of its part that fails the check, until the search begins with it.

    A search so begins its first turn with a state, and does not have to look for one in the marks. If the choice is
    feasible, one of its neighbours is better; the search begins from there without an evaluation, because the check has
    computed the objective. It evaluates the candidate beyond the neighbour first, or the choice if that is infeasible.
    The half-row with this candidate is requested while the check goes on, unless the candidate is not on the grid.

    Latency: :data:`HANDED_CLOCKS` from a mark to ``handed``, ``READ_LATENCY`` from ``ahead`` to ``handed``. Throughput:
    a mark in every clock, or a turn in every clock. Contract: fixed latency, no ready. Marks come for all states of the
    lane, in table order. In the first turn of a search the word is cleared, so it is empty when the next check begins;
    no mark may come in the clock before that of such a turn. The half-row is requested a clock after the mark.

    Attributes
    ----------
    mark_valid, mark_point, mark_state, mark : in, 1 bit, ``point_bits``, ``state_bits``, 1 bit
        See :class:`beltline.hw.sweep.search.marks.Marks`.
    mark_position, mark_choice : in, ``position_bits`` and ``index_bits``
        The state's number in the lane, and its choice.
    mark_known, mark_rises : in, 1 bit each
        The choice is feasible; candidate ``choice + 1`` is better. If the state fails, its choice is feasible, and that
        candidate is not better, then ``choice - 1`` is.
    mark_begin : in, ``index_bits``
        The better neighbour, or the choice without ``mark_known``.
    mark_objective : in, signed 65 bits
        The objective of the better neighbour, in units of value.
    part_shift : in, 0 to ``point_bits``
        Each search has ``2**part_shift`` points.
    last_index : in, ``index_bits``
        The last candidate of the grid.
    asked : in, 8 bits
        The number of the next request, from :class:`beltline.hw.sweep.search.requests.Requests`.
    ask, half, search : out, 1 bit, ``index_bits - HALF_SHIFT``, ``context_bits``
        Requests a half-row, and for which search.
    first_context : out, ``context_bits``
        The first search of the first part with a state that was handed, from 2 clocks after the state's mark on.
    count : out, 0 to ``contexts``
        States that were handed, from 2 clocks after a state's mark to the first turn of a pass.
    context, mine, beginning : in, ``context_bits``, 1 bit, 1 bit
        The turn, from :class:`beltline.hw.sweep.search.ring.Ring`.
    ahead : in, ``context_bits``
        The search whose turn comes ``READ_LATENCY`` clocks later.
    handed : out, :func:`handed_layout`
        The state that is handed to the search of this turn.
    """

    def __init__(self, parameters: SearchParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        super().__init__(
            {
                **mark_ports(build),
                **known_ports(build),
                "part_shift": In(range(build.point_bits + 1)),
                "last_index": In(build.index_bits),
                "asked": In(NUMBER_BITS),
                "ask": Out(1),
                "half": Out(build.index_bits - HALF_SHIFT),
                "search": Out(parameters.context_bits),
                "first_context": Out(parameters.context_bits),
                "count": Out(range(parameters.contexts + 1)),
                "context": In(parameters.context_bits),
                "mine": In(1),
                "beginning": In(1),
                "ahead": In(parameters.context_bits),
                "handed": Out(handed_layout(parameters)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        build = self.parameters.build
        layout, state_bits = handed_layout(self.parameters), build.state_bits
        # Of each exogenous state: whether a state of the present part has failed.
        failed = Signal(1 << state_bits)
        begins, before, first = Signal(), Signal(), Signal()
        m.d.comb += [
            begins.eq(self.mark_point & ~(~0 << self.part_shift) == 0),
            before.eq(failed.bit_select(self.mark_state, 1) & ~begins),
            first.eq(self.mark_valid & self.mark & ~before),
        ]
        with m.If(self.mark_valid):
            m.d.sync += failed.bit_select(self.mark_state, 1).eq(before | self.mark)
        # The candidate to be evaluated first: one further, or the choice.
        step = Cat(self.mark_known, (self.mark_known & ~self.mark_rises).replicate(build.index_bits - 1))
        candidate, outside = Signal(build.index_bits), Signal()
        m.d.comb += [
            candidate.eq(self.mark_begin + step),
            outside.eq(
                self.mark_known & Mux(self.mark_rises, self.mark_begin == self.last_index, ~self.mark_begin.any())
            ),
        ]
        state, search = Signal(layout), Signal(self.parameters.context_bits)
        nowhere, asks = Signal(), Signal()
        m.d.sync += [
            search.eq(Cat(self.mark_state, self.mark_point >> self.part_shift)),
            nowhere.eq(outside),
            self.half.eq(candidate[HALF_SHIFT:]),
            state.valid.eq(first),
            state.known.eq(self.mark_known),
            state.rises.eq(self.mark_rises),
            state.index.eq(self.mark_begin),
            state.choice.eq(self.mark_choice),
            state.position.eq(self.mark_position),
            state.point.eq(self.mark_point + 1),
            state.objective.eq(self.mark_objective),
        ]
        word = Signal(layout)
        m.d.comb += [
            asks.eq(state.valid & ~nowhere),
            word.eq(state),
            word.asked.eq(asks),
            word.half.eq(self.half),
            word.number.eq(self.asked),
            self.ask.eq(asks),
            self.search.eq(search),
        ]
        # The first part that is handed a state, and how many states are handed.
        with m.If(state.valid):
            m.d.sync += self.count.eq(self.count + 1)
            with m.If(self.count == 0):
                m.d.sync += self.first_context.eq(Cat(Const(0, state_bits), search[state_bits:]))
        with m.If(self.beginning):
            m.d.sync += self.count.eq(0)
        m.submodules.states = states = Ram(layout.size, self.parameters.contexts)
        m.d.comb += [
            states.write.eq(state.valid | (self.beginning & self.mine)),
            states.write_address.eq(Mux(state.valid, search, self.context)),
            states.write_data.eq(word),
            states.read_address.eq(self.ahead),
            self.handed.eq(states.read_data),
        ]
        return m
