"""Fetches the expected values around the choice of each state of a lane, from the lanes that store them."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline, Timed
from beltline.hw.interface.parameters import ROW_WORDS
from beltline.hw.memory.queue import Queue
from beltline.hw.memory.ram import READ_LATENCY, Ram
from beltline.hw.sweep.parameters import ROW_SHIFT, SweepParameters
from beltline.hw.sweep.row_buses import TAKEN_CLOCKS, RowBusesParameters, RowPort
from beltline.hw.sweep.row_windows import RowWindows

WINDOW_ROWS = 8
"""Rows in the window of each exogenous state."""

AHEAD_STATES = 32
"""Most states that wait for their rows."""

AHEAD_ROWS = 8
"""Most requests that wait for a turn on the bus."""

_SLOT_BITS = 3
_BASE_BITS = _SLOT_BITS + 1
_COUNT_BITS = 6


@dataclass(frozen=True)
class GatherParameters:
    """Parameters of the gather unit, which returns ``EV(i-1, s)``, ``EV(i, s)``, ``EV(i+1, s)`` for states ``(s, i)``.

    For each exogenous state the lane stores a window of ``WINDOW_ROWS`` consecutive rows of expected values. A state
    whose three words are in the window, or in the row after it, takes one clock (two if the problem has only one
    exogenous state). Rows are requested up to ``AHEAD_STATES`` states before they are needed. For any other index, in a
    row before that of the state before or far above the window, the window begins again at that row, after all states
    before it have left.

    If ``i`` does not fall in ``x``, and rises by about one point a point for each ``s``, the unit needs one word a
    clock. A lane, which has its turn on the bus every ``SLOTS`` clocks, receives ``ROW_WORDS / SLOTS`` words a clock.

    Parameters
    ----------
    build
        Sizes of the engine.
    """

    build: SweepParameters

    @property
    def latency(self) -> int:
        """Clocks from the one in which a state leaves, because all its rows have arrived, to its words."""
        return 2 + READ_LATENCY + 1


class Gather(wiring.Component):
    """Returns the expected values around a stream of choices, in the order of the stream.

    Throughput: :class:`GatherParameters`. Latency: ``parameters.latency`` clocks from ``leaving`` to ``out_valid``.
    Contract: a state is accepted in a clock in which ``valid`` and ``ready`` are high; the output has no ``ready``.

    Attributes
    ----------
    clear : in, 1 bit
        Discards all rows, as new expected values need it. No state may be in the unit.
    valid, ready : in, out, 1 bit
        Handshake of the input.
    state : in, ``state_bits`` bits
        Exogenous state ``s``.
    index : in, ``index_bits`` bits
        Choice ``i``.
    fetch : out, :class:`beltline.hw.sweep.row_buses.RowPort`
        Port to the row buses; ``inner`` is the exogenous state.
    leaving : out, 1 bit
        High ``parameters.latency`` clocks before ``out_valid``.
    out_valid : out, 1 bit
        High in clocks with a result.
    below, here, above : out, signed 64 bits
        ``EV(i-1, s)``, ``EV(i, s)``, ``EV(i+1, s)``, in units of value. ``below`` is undefined if ``i`` is 0, ``above``
        if ``i`` is the last index of the build.
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

        # A state enters with row `a` of the word below it and row `b` of the word above it. It is compared with
        # its window as soon as no other state can change that, and then requests rows.
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

        windows = RowWindows(states, row_bits, _BASE_BITS, entered_s, s)
        newest, last, base = windows.newest, windows.last, windows.base
        in_window, behind, known_there, ends_in_window = (Signal() for _ in range(4))
        m.d.comb += [
            known_there.eq(windows.known()),
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
        nothing_waits = Signal(init=1)
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
            # Row `a` is now in the window, and row `b` is the next one to request.
            m.d.sync += [begins.eq(1), next_row.eq(1)]
        asked, arrived = Signal(_COUNT_BITS), Signal(_COUNT_BITS)
        m.d.sync += asked.eq(asked + ask)
        windows.enter(m, self.state, self.ready, compare)
        windows.change(m, ask, follows, push, following, a)
        m.d.comb += [
            requests.push.eq(ask),
            requests.data.eq(Cat(s, Mux(follows, following, a))),
            places.push.eq(push),
            places.data.eq(Cat(s, place, a_low, (asked + ask)[:_COUNT_BITS])),
            self.fetch.request.eq(requests.head_valid),
            Cat(self.fetch.inner, self.fetch.row).eq(requests.head),
            requests.pop.eq(self.fetch.taken),
        ]

        # A row arrives a fixed number of clocks after its request is taken, so a delay line knows its slot.
        fetch_clocks = RowBusesParameters(build, build.state_bits).latency
        sent = p.input(requests.head[: build.state_bits + _SLOT_BITS], TAKEN_CLOCKS)
        landing = p.delay(sent, fetch_clocks - TAKEN_CLOCKS).value
        # In a build with fewer rows than a window, this adds upper bits that are 0.
        landing_slot = Signal(_SLOT_BITS)
        m.d.comb += landing_slot.eq(landing[build.state_bits :])
        m.d.sync += arrived.eq(arrived + self.fetch.valid)

        # The oldest state leaves as soon as all rows that it needs have arrived.
        width = build.state_bits
        out_state, out_place = places.head[:width], places.head[width : width + _SLOT_BITS + ROW_SHIFT]
        out_row = places.head[width + _SLOT_BITS + ROW_SHIFT :][:_BASE_BITS]
        need = places.head[-_COUNT_BITS:]
        pop = Signal()
        m.d.comb += [pop.eq(places.head_valid & ~(arrived - need)[_COUNT_BITS - 1]), places.pop.eq(pop)]
        windows.leave(m, pop, out_state, out_row)
        # A register for ``waiting == 0``, which decides late in a clock.
        m.d.sync += [
            waiting.eq(waiting + push - pop),
            nothing_waits.eq(~push & (nothing_waits | (pop & (waiting == 1)))),
        ]
        windows.discard(m, self.clear)

        self._words(m, p, Cat(out_place, out_state), Cat(landing_slot, landing[:width]))
        m.d.comb += [self.leaving.eq(pop), self.out_valid.eq(p.valid(p.input(pop), self.parameters.latency))]
        return m

    def _words(self, m: Module, p: Pipeline, place: Value, landing: Value) -> None:
        """Add the memories of the windows, and select the three words around a state's choice.

        ``place`` consists of word, row slot and exogenous state of the state that leaves, from the lowest bit on. A row
        from the buses is written at ``landing``, row slot and exogenous state.
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
            # The first bank has the word after the end of a row, the last bank the word before its beginning.
            other = word == (ROW_WORDS - 1 if bank == 0 else 0)
            of_slot = {0: slot + other, ROW_WORDS - 1: slot - other}.get(bank, slot)
            m.d.sync += ram.read_address.eq(Cat(of_slot[:_SLOT_BITS], of_state))
            words.append(ram.read_data)
        turn = p.delay(Timed(word, 1), 1 + READ_LATENCY)
        for step, out in ((-1, self.below), (0, self.here), (1, self.above)):
            choice = Array(words[(k + step) % ROW_WORDS] for k in range(ROW_WORDS))[turn.value]
            m.d.comb += out.eq(p.register(choice, turn.time).value)
        assert turn.time + 1 == self.parameters.latency
