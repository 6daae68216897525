"""How a lane of the sweep engine gets the expected values around the last choice of each of its states."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from numba import njit
from numpy.typing import NDArray

from hw.numbers import WIDTH
from hw.pipeline import Pipeline, Timed
from hw.queue import Queue
from hw.ram import READ_LATENCY, Ram
from hw.sweep.parameters import ROW_SHIFT, ROW_WORDS, SweepParameters
from hw.sweep.row_buses import TAKEN_CLOCKS, RowBusesParameters, RowPort

WINDOW_ROWS = 8
"""Rows of each exogenous state that a lane holds."""

AHEAD_STATES = 32
"""States that wait for their rows."""

AHEAD_ROWS = 8
"""Rows that wait for their turn on the bus."""

_SLOT_BITS = 3
_BASE_BITS = _SLOT_BITS + 1
_COUNT_BITS = 6


@dataclass(frozen=True)
class GatherParameters:
    """``EV(i - 1, s)``, ``EV(i, s)`` and ``EV(i + 1, s)`` for a sequence of states ``(s, i)``, in their order.

    Of each exogenous state the lane holds a window of ``WINDOW_ROWS`` rows that follow each other. A state whose three
    words lie in the window, or in the row behind it, costs one clock; rows are asked for up to ``AHEAD_STATES`` states
    before they are needed. Any other index, in a row before that of the last state or far behind, is served too: the
    window begins anew there, once all states before it have left.

    With the policy of an assembly line's lane, that is ``i`` non-decreasing in steps of one or so for each ``s``, a
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
        return _clocks(states, indexes, self.build.grid, self.build.states, turn, slots, fetch, begin) + self.latency


@njit(cache=True)
def _clocks(states, indexes, grid, state_count, turn, slots, fetch, begin):  # type: ignore[no-untyped-def]
    """Registers and queues of the gateware, clock by clock."""
    count = states.size
    left = np.zeros(count, np.int64)
    known = np.zeros(state_count, np.bool_)
    newest = np.zeros(state_count, np.int64)
    last = np.zeros(state_count, np.int64)
    base = np.zeros(state_count, np.int64)
    rows = np.zeros(count, np.int64)
    needs = np.zeros(count, np.int64)
    arrival = np.zeros(2 * count + 1, np.int64)
    asked = sent = arrived = 0
    waiting = -1
    queued_rows = 0
    row_head = False
    accepted = 0
    held = False
    queued = 0
    state_head = False
    put = done = 0
    t = begin
    while done < count:
        # What the registers show in this clock decides all that happens in it.
        s = i = 0
        push = ask = follows = False
        a = b = 0
        if held:
            s, i = states[accepted - 1], indexes[accepted - 1]
            a = max(i - 1, 0) // 8
            b = min(i + 1, grid - 1) // 8
            begins = known[s] and a >= newest[s] and a <= last[s]
            inside = begins and b <= last[s]
            next_row = not inside and (begins or (known[s] and a == last[s] + 1))
            follows = next_row and last[s] + 1 - base[s] < 8
            jumps = not inside and not next_row and (not known[s] or put == done)
            complete = inside or (follows and (begins or a == b)) or (jumps and a == b)
            row_ready = queued_rows < 8
            state_ready = queued < 32
            ask = (follows or jumps) and row_ready and (state_ready or not complete)
            push = complete and state_ready and (inside or row_ready)
        pop = state_head and needs[done] <= arrived
        taken = waiting == 0
        # Clock edge.
        if ask and follows:
            last[s] += 1
        elif ask:
            last[s] = base[s] = newest[s] = a
            known[s] = True
        asked += int(ask)
        if push:
            rows[put] = newest[s] = a
            needs[put] = asked
            put += 1
        if pop:
            base[states[done]] = rows[done]
            left[done] = t
            done += 1
        if row_head and waiting < 0 and t % slots == turn:
            waiting = 3
            arrival[sent] = t + fetch
            sent += 1
        if waiting >= 0:
            waiting -= 1
        row_moved = queued_rows > 0 and (taken or not row_head)
        row_head = row_moved or (row_head and not taken)
        queued_rows += int(ask) - int(row_moved)
        moved = queued > 0 and (pop or not state_head)
        state_head = moved or (state_head and not pop)
        queued += int(push) - int(moved)
        while arrived < sent and arrival[arrived] == t:
            arrived += 1
        if (not held or push) and accepted < count:
            held = True
            accepted += 1
        elif push:
            held = False
        t += 1
    return left


class Gather(wiring.Component):
    """:class:`GatherParameters` in gateware.

    Attributes
    ----------
    clear
        Forget all rows. It must come when nothing is under way.
    valid, ready, state, index
        The states. One enters where both are high.
    fetch
        :class:`hw.sweep.row_buses.RowPort`, to the buses. ``inner`` is the exogenous state.
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

        # The state that looks for its rows: a is that of the word below, b that of the word above.
        held = Signal()
        s = Signal(build.state_bits)
        place = Signal(_SLOT_BITS + ROW_SHIFT)
        a, b = Signal(row_bits), Signal(row_bits)
        a_low = Signal(_BASE_BITS)
        push = Signal()
        m.d.comb += self.ready.eq(~held | push)
        m.d.comb += a_low.eq(a)
        row = self.index[ROW_SHIFT:]
        with m.If(self.ready):
            m.d.sync += [
                held.eq(self.valid),
                s.eq(self.state),
                place.eq(self.index),
                a.eq(row - (~self.index[:ROW_SHIFT].any() & self.index.any())),
                b.eq(row + (self.index[:ROW_SHIFT].all() & ~self.index.all())),
            ]

        # The window of each exogenous state ends with row `last`. Rows from that of the newest state on can be asked
        # for, those from `base` on, of the last state that left, must stay.
        known = Signal(states)
        newest = Array(Signal(row_bits, name=f"newest{k}") for k in range(states))
        last = Array(Signal(row_bits, name=f"last{k}") for k in range(states))
        base = Array(Signal(_BASE_BITS, name=f"base{k}") for k in range(states))
        following = Signal(row_bits)
        known_here, begins, inside, next_row, room = (Signal() for _ in range(5))
        waiting = Signal(range(AHEAD_STATES + 2))
        m.d.comb += [
            known_here.eq(known.bit_select(s, 1)),
            following.eq(last[s] + 1),
            begins.eq(known_here & (a >= newest[s]) & (a <= last[s])),
            inside.eq(begins & (b <= last[s])),
            next_row.eq(~inside & (begins | (known_here & (a == following) & ~last[s].all()))),
            room.eq((following - base[s])[:_BASE_BITS] < WINDOW_ROWS),
        ]
        follows, jumps, ask, complete = (Signal() for _ in range(4))
        m.d.comb += [
            follows.eq(next_row & room),
            jumps.eq(~inside & ~next_row & (~known_here | (waiting == 0))),
            complete.eq(inside | (follows & (begins | (a == b))) | (jumps & (a == b))),
            ask.eq(held & (follows | jumps) & requests.ready & (places.ready | ~complete)),
            push.eq(held & complete & places.ready & (inside | requests.ready)),
        ]
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
        m.d.sync += arrived.eq(arrived + self.fetch.valid)

        # The state whose rows are there.
        width = build.state_bits
        out_state = places.head[:width]
        out_place = places.head[width : width + _SLOT_BITS + ROW_SHIFT]
        out_row = places.head[width + _SLOT_BITS + ROW_SHIFT :][:_BASE_BITS]
        need = places.head[-_COUNT_BITS:]
        pop = Signal()
        m.d.comb += [pop.eq(places.head_valid & ~(arrived - need)[_COUNT_BITS - 1]), places.pop.eq(pop)]
        with m.If(pop):
            m.d.sync += base[out_state].eq(out_row)
        m.d.sync += waiting.eq(waiting + push - pop)
        with m.If(self.clear):
            m.d.sync += known.eq(0)

        at = p.register(Cat(out_place, out_state), 0)
        word, slot, of_state = at.value[:ROW_SHIFT], at.value[ROW_SHIFT : ROW_SHIFT + _SLOT_BITS], at.value[-width:]
        words: list[Value] = []
        for bank in range(ROW_WORDS):
            ram = Ram(WIDTH, WINDOW_ROWS * states)
            m.submodules[f"window{bank}"] = ram
            m.d.comb += [
                ram.write.eq(self.fetch.valid),
                ram.write_address.eq(Cat(landing[width:], landing[:width])),
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
        m.d.comb += [self.leaving.eq(pop), self.out_valid.eq(p.valid(p.input(pop), self.parameters.latency))]
        return m
