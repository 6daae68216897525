"""How a lane of the sweep engine gets the expected values around the last choice of each of its states."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from numpy.typing import NDArray

from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline, Timed
from beltline.hw.interface.parameters import ROW_WORDS
from beltline.hw.memory.queue import Queue
from beltline.hw.memory.ram import READ_LATENCY, Ram
from beltline.hw.sweep.gather_clocks import AHEAD_ROWS, AHEAD_STATES, WINDOW_ROWS, lone_clocks
from beltline.hw.sweep.parameters import ROW_SHIFT, SweepParameters
from beltline.hw.sweep.row_buses import TAKEN_CLOCKS, RowBusesParameters, RowPort

_SLOT_BITS = 3
_BASE_BITS = _SLOT_BITS + 1
_COUNT_BITS = 6


@dataclass(frozen=True)
class GatherParameters:
    """``EV(i - 1, s)``, ``EV(i, s)`` and ``EV(i + 1, s)`` for a sequence of states ``(s, i)``, in their order.

    Of each exogenous state the lane holds a window of ``WINDOW_ROWS`` rows that follow each other. A state whose three
    words lie in the window, or in the row behind it, costs one clock (two, where there is one exogenous state only);
    rows are asked for up to ``AHEAD_STATES`` states before they are needed. Any other index, in a row before that of
    the last state or far behind, is served too: the window begins anew there, once all states before it have left.

    With a policy that does not fall with ``x``, that is ``i`` non-decreasing in steps of one or so for each ``s``, a
    lane that has its turn on a bus every ``slots`` clocks gets ``ROW_WORDS / slots`` words a clock, and needs one.

    Parameters
    ----------
    build
        Of the engine.
    """

    build: SweepParameters

    @property
    def latency(self) -> int:
        """Clocks from the one in which a state's rows are there to its words."""
        return 2 + READ_LATENCY + 1

    def clocks(
        self, states: NDArray[np.int64], indexes: NDArray[np.int64], lane: int, begin: int = 0
    ) -> NDArray[np.int64]:
        """The clock of each output, if from clock ``begin`` on a state is always there, and no turn is lost.

        Parameters
        ----------
        states, indexes
            int64, ``(count,)``.
        lane
            Which decides the turns on the bus.
        begin
            Clocks count from the end of the last reset, as the turns do.
        """
        slots = self.build.slots
        fetch = RowBusesParameters(self.build, self.build.state_bits).latency
        turn = lane % slots
        left = lone_clocks(states, indexes, self.build.grid, self.build.states, turn, slots, fetch, begin)
        return left + self.latency


class Gather(wiring.Component):
    """:class:`GatherParameters` in gateware.

    Attributes
    ----------
    clear
        Forget all rows. It must come when nothing is under way.
    valid, ready, state, index
        The states. One enters where both are high.
    fetch
        :class:`beltline.hw.sweep.row_buses.RowPort`, to the buses. ``inner`` is the exogenous state.
    out_valid, below, here, above
        Signed 64 bits each; ``below`` is anything where the index is 0, ``above`` where it is the last of the build.
    leaving
        High ``latency`` clocks before ``out_valid``.
    """

    def __init__(self, parameters: GatherParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        super().__init__(
            {
                "clear": In(1),
                "valid": In(1),
                "ready": Out(1),
                "state": In(build.state_bits),
                "index": In(build.index_bits),
                "fetch": Out(RowPort(build.row_bits, build.state_bits)),
                "leaving": Out(1),
                "out_valid": Out(1),
                "below": Out(signed(WIDTH)),
                "here": Out(signed(WIDTH)),
                "above": Out(signed(WIDTH)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        build = self.parameters.build
        states, row_bits = build.states, build.row_bits
        places = Queue(build.state_bits + _SLOT_BITS + ROW_SHIFT + _BASE_BITS + _COUNT_BITS, AHEAD_STATES)
        requests = Queue(build.state_bits + row_bits, AHEAD_ROWS)
        m.submodules.places, m.submodules.requests = places, requests

        # A state enters with the rows of the word below, a, and of the word above, b; then it is compared with the
        # window of its exogenous state; then it asks for rows. The window must be settled when it is compared.
        entered, compared = Signal(), Signal()
        entered_s, s = Signal(build.state_bits), Signal(build.state_bits)
        entered_place, place = Signal(_SLOT_BITS + ROW_SHIFT), Signal(_SLOT_BITS + ROW_SHIFT)
        entered_a, entered_b, a = Signal(row_bits), Signal(row_bits), Signal(row_bits)
        a_low = Signal(_BASE_BITS)
        push, compare = Signal(), Signal()
        m.d.comb += [
            a_low.eq(a),
            compare.eq(entered & (~compared | (push & (entered_s != s)))),
            self.ready.eq(~entered | compare),
        ]
        row = self.index[ROW_SHIFT:]
        with m.If(self.ready):
            m.d.sync += [
                entered.eq(self.valid),
                entered_s.eq(self.state),
                entered_place.eq(self.index),
                entered_a.eq(row - (~self.index[:ROW_SHIFT].any() & self.index.any())),
                entered_b.eq(row + (self.index[:ROW_SHIFT].all() & ~self.index.all())),
            ]

        # The window of each exogenous state ends with row `last`. Rows from that of the newest state on can be asked
        # for, those from `base` on, of the last state that left, must stay.
        known = Signal(states)
        newest = Array(Signal(row_bits, name=f"newest{k}") for k in range(states))
        last = Array(Signal(row_bits, name=f"last{k}") for k in range(states))
        base = Array(Signal(_BASE_BITS, name=f"base{k}") for k in range(states))
        in_window, behind, known_there, ends_in_window = (Signal() for _ in range(4))
        m.d.comb += [
            known_there.eq(known.bit_select(entered_s, 1)),
            in_window.eq(known_there & (entered_a >= newest[entered_s]) & (entered_a <= last[entered_s])),
            ends_in_window.eq(entered_b <= last[entered_s]),
            behind.eq(known_there & (entered_a == last[entered_s] + 1)),
        ]
        begins, inside, next_row, known_here, one_row = (Signal() for _ in range(5))
        with m.If(compare):
            m.d.sync += [
                compared.eq(1),
                s.eq(entered_s),
                place.eq(entered_place),
                a.eq(entered_a),
                known_here.eq(known_there),
                one_row.eq(entered_a == entered_b),
                begins.eq(in_window),
                inside.eq(in_window & ends_in_window),
                next_row.eq((in_window & ~ends_in_window) | behind),
            ]
        with m.Elif(push):
            m.d.sync += compared.eq(0)
        following = Signal(row_bits)
        room, follows, jumps, ask, complete = (Signal() for _ in range(5))
        waiting = Signal(range(AHEAD_STATES + 2))
        nothing_waits = Signal()
        m.d.comb += [
            following.eq(last[s] + 1),
            room.eq((following[:_BASE_BITS] - base[s])[:_BASE_BITS] < WINDOW_ROWS),
            follows.eq(next_row & room),
            jumps.eq(~inside & ~next_row & (~known_here | nothing_waits)),
            complete.eq(inside | (follows & (begins | one_row)) | (jumps & one_row)),
            ask.eq(compared & (follows | jumps) & requests.ready & (places.ready | ~complete)),
            push.eq(compared & complete & places.ready & (inside | requests.ready)),
        ]
        with m.If(ask & ~push):
            # The row of the word below is there now, and that of the word above is the next.
            m.d.sync += [begins.eq(1), next_row.eq(1)]
        asked, arrived = Signal(_COUNT_BITS), Signal(_COUNT_BITS)
        m.d.sync += asked.eq(asked + ask)
        with m.If(ask & follows):
            m.d.sync += last[s].eq(following)
        with m.Elif(ask):
            m.d.sync += [last[s].eq(a), base[s].eq(a), newest[s].eq(a), known.bit_select(s, 1).eq(1)]
        with m.If(push):
            m.d.sync += newest[s].eq(a)
        m.d.comb += [
            requests.push.eq(ask),
            requests.data.eq(Cat(s, Mux(follows, following, a))),
            places.push.eq(push),
            places.data.eq(Cat(s, place, a_low, (asked + ask)[:_COUNT_BITS])),
            self.fetch.request.eq(requests.head_valid),
            Cat(self.fetch.inner, self.fetch.row).eq(requests.head),
            requests.pop.eq(self.fetch.taken),
        ]

        # Rows on their way are known by their order, and so by the clock in which they come.
        fetch_clocks = RowBusesParameters(build, build.state_bits).latency
        sent = p.input(requests.head[: build.state_bits + _SLOT_BITS], TAKEN_CLOCKS)
        landing = p.delay(sent, fetch_clocks - TAKEN_CLOCKS).value
        # A small grid has fewer rows than a window.
        landing_slot = Signal(_SLOT_BITS)
        m.d.comb += landing_slot.eq(landing[build.state_bits :])
        m.d.sync += arrived.eq(arrived + self.fetch.valid)

        # The state whose rows are there.
        width = build.state_bits
        out_state, out_place = places.head[:width], places.head[width : width + _SLOT_BITS + ROW_SHIFT]
        out_row = places.head[width + _SLOT_BITS + ROW_SHIFT :][:_BASE_BITS]
        need = places.head[-_COUNT_BITS:]
        pop = Signal()
        m.d.comb += [pop.eq(places.head_valid & ~(arrived - need)[_COUNT_BITS - 1]), places.pop.eq(pop)]
        with m.If(pop):
            m.d.sync += base[out_state].eq(out_row)
        m.d.sync += waiting.eq(waiting + push - pop)
        m.d.comb += nothing_waits.eq(waiting == 0)
        with m.If(self.clear):
            m.d.sync += known.eq(0)

        self._words(m, p, Cat(out_place, out_state), Cat(landing_slot, landing[:width]))
        m.d.comb += [self.leaving.eq(pop), self.out_valid.eq(p.valid(p.input(pop), self.parameters.latency))]
        return m

    def _words(self, m: Module, p: Pipeline, place: Value, landing: Value) -> None:
        """The windows, and the words around a place in them.

        ``place`` is word, row and exogenous state of a state whose rows are there; a row from the buses is written at
        ``landing``, row and exogenous state.
        """
        at = p.register(place, 0)
        word, slot, of_state = (
            at.value[:ROW_SHIFT],
            at.value[ROW_SHIFT : ROW_SHIFT + _SLOT_BITS],
            at.value[ROW_SHIFT + _SLOT_BITS :],
        )
        words: list[Value] = []
        for bank in range(ROW_WORDS):
            ram = Ram(WIDTH, WINDOW_ROWS * self.parameters.build.states)
            m.submodules[f"window{bank}"] = ram
            m.d.comb += [
                ram.write.eq(self.fetch.valid),
                ram.write_address.eq(landing),
                ram.write_data.eq(self.fetch.data.word_select(bank, WIDTH)),
            ]
            # The first bank may be asked for the word above the row's end, the last for the one below its beginning.
            other = word == (ROW_WORDS - 1 if bank == 0 else 0)
            of_slot = {0: slot + other, ROW_WORDS - 1: slot - other}.get(bank, slot)
            m.d.sync += ram.read_address.eq(Cat(of_slot[:_SLOT_BITS], of_state))
            words.append(ram.read_data)
        turn = p.delay(Timed(word, 1), 1 + READ_LATENCY)
        for step, out in ((-1, self.below), (0, self.here), (1, self.above)):
            choice = Array(words[(k + step) % ROW_WORDS] for k in range(ROW_WORDS))[turn.value]
            m.d.comb += out.eq(p.register(choice, turn.time).value)
        assert turn.time + 1 == self.parameters.latency
