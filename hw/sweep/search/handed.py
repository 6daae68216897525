"""The first state of each search that fails the check, with what the check knows about it."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.evaluator import OBJECTIVE_BITS
from beltline.hw.memory.ram import READ_LATENCY, Ram
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.search.marks import mark_ports
from beltline.hw.sweep.search.parameters import SearchParameters

HANDED_CLOCKS = 2 + READ_LATENCY
"""Clocks from a mark to the first turn that can begin with its state."""


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
    evaluated. ``point`` is the point after the state's own.
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
        }
    )


class Handed(wiring.Component):
    """Stores, for each search, the first state of its part that fails the check, until the search begins with it.

    A search so begins its first turn with a state, and does not have to look for one in the marks. If the choice is
    feasible, one of its neighbours is better; the search begins from there without an evaluation, because the check has
    computed the objective.

    Latency: :data:`HANDED_CLOCKS` from a mark to ``handed``, ``READ_LATENCY`` from ``ahead`` to ``handed``. Throughput:
    a mark in every clock, or a turn in every clock. Contract: fixed latency, no ready. Marks come for all states of the
    lane, in table order. In the first turn of a search the word is cleared, so it is empty when the next check begins;
    no mark may come in the clock before that of such a turn.

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
                "context": In(parameters.context_bits),
                "mine": In(1),
                "beginning": In(1),
                "ahead": In(parameters.context_bits),
                "handed": Out(handed_layout(parameters)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        layout, state_bits = handed_layout(self.parameters), self.parameters.build.state_bits
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
        state, search = Signal(layout), Signal(self.parameters.context_bits)
        m.d.sync += [
            search.eq(Cat(self.mark_state, self.mark_point >> self.part_shift)),
            state.valid.eq(first),
            state.known.eq(self.mark_known),
            state.rises.eq(self.mark_rises),
            state.index.eq(self.mark_begin),
            state.choice.eq(self.mark_choice),
            state.position.eq(self.mark_position),
            state.point.eq(self.mark_point + 1),
            state.objective.eq(self.mark_objective),
        ]
        m.submodules.states = states = Ram(layout.size, self.parameters.contexts)
        m.d.comb += [
            states.write.eq(state.valid | (self.beginning & self.mine)),
            states.write_address.eq(Mux(state.valid, search, self.context)),
            states.write_data.eq(state),
            states.read_address.eq(self.ahead),
            self.handed.eq(states.read_data),
        ]
        return m
