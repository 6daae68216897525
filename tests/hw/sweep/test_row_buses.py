"""Buses between lanes of the sweep engine, clock by clock, against plain arrays."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.interface.parameters import ROW_WORDS, SLOTS
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.row_buses import TAKEN_CLOCKS, RowBusesParameters
from support.streams import Segment, Stream
from support.sweeps import add_rows, row_ports

BUILDS = [
    RowBusesParameters(SweepParameters(256, 8, 16, general=True), 3),
    *(
        pytest.param(RowBusesParameters(build, 1), marks=pytest.mark.slow)
        for build in (SweepParameters(32, 1, 1), SweepParameters(64, 1, 2), SweepParameters(512, 1, 32))
    ),
]


def word_of(lane: int, address: int, number: int) -> int:
    """Return a word that encodes its own place, so that a row shows where it comes from."""
    return (lane << 40 | address << 8 | number) * 0x9E3779B97F4A7C15 % 2**WIDTH


class Probe(wiring.Component):
    """Buses and memories. One port writes all memories; each other port joins the words of all lanes.

    The output for a row is the exclusive or of its words 0 and ``ROW_WORDS - 1``.
    """

    def __init__(self, parameters: RowBusesParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        super().__init__(
            {
                **row_ports(parameters),
                "shift": In(range(build.local_bits + 1)),
                "request": In(build.lanes),
                "rows": In(build.lanes * build.row_bits),
                "inners": In(build.lanes * parameters.inner_bits),
                "taken": Out(build.lanes),
                "valid": Out(build.lanes),
                "data": Out(build.lanes * WIDTH),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        build, inner = self.parameters.build, self.parameters.inner_bits
        buses = add_rows(m, self, self.parameters, shift=self.shift)
        for number, lane in enumerate(buses.lanes):
            m.d.comb += [
                lane.request.eq(self.request[number]),
                lane.row.eq(self.rows.word_select(number, build.row_bits)),
                lane.inner.eq(self.inners.word_select(number, inner)),
            ]
        m.d.comb += [
            self.taken.eq(Cat(*(lane.taken for lane in buses.lanes))),
            self.valid.eq(Cat(*(lane.valid for lane in buses.lanes))),
            self.data.eq(Cat(*(lane.data[:WIDTH] ^ lane.data[-WIDTH:] for lane in buses.lanes))),
        ]
        return m


def packed(words: list[int], bits: int) -> int:
    return sum(word << bits * k for k, word in enumerate(words))


@pytest.mark.gateware
@pytest.mark.parametrize("parameters", BUILDS, ids=lambda p: f"{p.build.lanes}-lanes")
def test_rows_from_any_lane_to_any_lane(
    stream: Stream, with_shared: Callable[..., dict[str, str]], parameters: RowBusesParameters
) -> None:
    rng = random.Random(5)
    build = parameters.build
    lanes = build.lanes
    # All distributions of rows over lanes are tried in turn, with pauses in which requests end.
    fill = [(lane, address) for lane in range(lanes) for address in range(1 << parameters.address_bits)]
    names = ("write", "write_lane", "write_address", "write_row", "shift", "request", "rows", "inners")
    columns: dict[str, list[int]] = {name: [] for name in names}
    wanted: list[dict[int, tuple[int, int]]] = []

    def clock(write: int, lane: int, address: int, row: int, shift: int, asked: list[tuple[int, int, int]]) -> None:
        values = (
            write,
            lane,
            address,
            row,
            shift,
            packed([a[0] for a in asked], 1),
            packed([a[1] for a in asked], build.row_bits),
            packed([a[2] for a in asked], parameters.inner_bits),
        )
        for name, value in zip(names, values, strict=True):
            columns[name].append(value)
        # Operand t is applied in clock t after the reset.
        t = len(columns["write"]) - 1
        served: dict[int, tuple[int, int]] = {}
        seen: set[tuple[int, int]] = set()
        # In a general build, requests for lower exogenous states come first.
        states = [inner % (1 << build.state_bits) if build.general else 0 for *_, inner in asked]
        for number in sorted(range(lanes), key=lambda k: (states[k], k // SLOTS)):
            request, row_number, inner = asked[number]
            source = row_number >> shift
            what = source, (row_number & ((1 << shift) - 1)) | inner << build.local_bits
            if number % SLOTS == t % SLOTS and request:
                if all(other[0] != source or other == what for other in seen):
                    served[number] = what
                seen.add(what)
        wanted.append(served)

    idle = [(0, 0, 0)] * lanes
    for lane, address in fill:
        row = packed([word_of(lane, address, k) for k in range(ROW_WORDS)], WIDTH)
        clock(1, lane, address, row, 0, idle)
    for shift in range(build.local_bits + 1):
        # Requests are for rows of all lanes, then of fewer neighbours.
        for spread in (lanes, max(1, lanes // 8), 1):
            for _ in range(20 * SLOTS):
                first = rng.randrange(lanes - spread + 1)
                asked = [
                    (
                        int(rng.random() < 0.9),
                        (rng.randrange(first, first + spread) << shift) + rng.randrange(1 << shift),
                        rng.randrange(1 << parameters.inner_bits),
                    )
                    for _ in range(lanes)
                ]
                if rng.random() < 0.5:
                    # Some lanes request the same row as the first one.
                    asked = [(request, *(asked[0][1:] if rng.random() < 0.7 else what)) for request, *what in asked]
                clock(0, 0, 0, 0, shift, asked)
        for _ in range(TAKEN_CLOCKS + SLOTS):
            clock(0, 0, 0, 0, shift, idle)
    count = len(columns["write"])
    found = stream(
        with_shared(Probe(parameters)),
        columns,
        ["taken", "valid", "data"],
        parameters.latency,
        segments=[Segment(count)],
        valid=None,
    )
    taken = [int(word) for word in found["taken"]]
    valid = [int(word) for word in found["valid"]]
    data = [int(word) for word in found["data"]]
    # Outputs are sampled `latency` clocks after their operand; `taken` comes earlier.
    early = parameters.latency - TAKEN_CLOCKS
    requests = conflicts = shared = 0
    for t, served in enumerate(wanted):
        assert valid[t] == sum(1 << lane for lane in served), t
        if t >= early:
            assert taken[t - early] == valid[t], t
        for lane, (source, address) in served.items():
            row = data[t] >> WIDTH * lane & (2**WIDTH - 1)
            assert row == word_of(source, address, 0) ^ word_of(source, address, ROW_WORDS - 1), (t, lane)
        turn = [lane for lane in range(lanes) if lane % SLOTS == t % SLOTS and columns["request"][t] >> lane & 1]
        requests += len(turn)
        conflicts += len(turn) - len(served)
        shared += len(served) - len(set(served.values()))
    assert requests > 100
    assert (conflicts > 20) == (build.buses > 1)
    assert (shared > 20) == (build.buses > 1)
