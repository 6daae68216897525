# amaranth: UnusedElaboratable=no
"""RAM and delay lines, clock by clock, against a list of words."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.memory.ram import READ_LATENCY, Ram, address_bits, delay_line
from support.streams import Segment, Stream

SIZES = ((64, 1, 1), (7, 2, 1), (64, 5, 8), (16, 64, 1), (24, 9, 3))
"""Width, depth and lanes of each RAM."""

DELAYS = (5, 6, 7, 8, 12, 13, 51)
WIDTH = 64


class Probe(wiring.Component):
    """A RAM of every size, and a delay line of every length with its input."""

    def __init__(self) -> None:
        ports = {"word": In(WIDTH), **{f"after{clocks}": Out(WIDTH) for clocks in DELAYS}}
        for k, (width, depth, lanes) in enumerate(SIZES):
            bits = address_bits(depth)
            ports |= {
                f"write{k}": In(lanes),
                f"write_address{k}": In(bits),
                f"write_data{k}": In(width),
                f"read_address{k}": In(bits),
                f"read_data{k}": Out(width),
            }
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for k, (width, depth, lanes) in enumerate(SIZES):
            m.submodules[f"ram{k}"] = ram = Ram(width, depth, lanes)
            for name in ("write", "write_address", "write_data", "read_address"):
                m.d.comb += getattr(ram, name).eq(getattr(self, f"{name}{k}"))
            m.d.comb += getattr(self, f"read_data{k}").eq(ram.read_data)
        for clocks in DELAYS:
            m.d.comb += getattr(self, f"after{clocks}").eq(delay_line(m, self.word, WIDTH, clocks))
        return m


@pytest.mark.gateware
def test_words_and_delays(stream: Stream, with_shared: Callable[..., dict[str, str]]) -> None:
    rng = random.Random(1)
    count = 4000
    operands: dict[str, list[int]] = {"word": [rng.getrandbits(WIDTH) for _ in range(count)]}
    wanted: dict[str, list[int | None]] = {}
    for k, (width, depth, lanes) in enumerate(SIZES):
        words: list[int | None] = [None] * depth
        lane = width // lanes
        columns = {name: [] for name in ("write", "write_address", "write_data", "read_address")}
        reads: list[int | None] = []
        for _ in range(count):
            place, data = rng.randrange(depth), rng.getrandbits(width)
            write = (rng.randrange(1 << lanes) if rng.random() < 0.8 else (1 << lanes) - 1) * (rng.random() < 0.5)
            # Read any word but the one being written; a memory of a single word is not read while it is written.
            others = [address for address in range(depth) if not (write and address == place)]
            address = rng.choice(others) if others else 0
            reads.append(words[address] if others else None)
            mask = sum(((1 << lane) - 1) << lane * part for part in range(lanes) if write >> part & 1)
            known = words[place]
            if known is not None:
                words[place] = known & ~mask | data & mask
            elif mask == (1 << width) - 1:
                words[place] = data
            for name, value in zip(columns, (write, place, data, address), strict=True):
                columns[name].append(value)
        operands |= {f"{name}{k}": column for name, column in columns.items()}
        wanted[f"read_data{k}"] = reads
    longest = max(DELAYS)
    outputs = [*wanted, *(f"after{clocks}" for clocks in DELAYS)]
    found = stream(with_shared(Probe()), operands, outputs, longest, segments=[Segment(count)], valid=None)
    compared = 0
    for name, words_wanted in wanted.items():
        # Outputs are sampled with the latency of the longest delay line, so a shorter one returns a later read.
        ahead = longest - READ_LATENCY
        for k in range(count - ahead):
            if words_wanted[k + ahead] is not None:
                assert int(found[name][k]) == words_wanted[k + ahead], (name, k)
                compared += 1
    assert compared > 4 * count
    for clocks in DELAYS:
        ahead = longest - clocks
        assert found[f"after{clocks}"][: count - ahead].tolist() == operands["word"][ahead:], clocks


def test_address_bits() -> None:
    assert [address_bits(depth) for depth in (1, 2, 3, 4, 5, 1024, 1025)] == [1, 1, 2, 2, 3, 10, 11]


def test_too_short_a_delay_line() -> None:
    message = "a delay line must have at least 5 clocks, not 4"
    with pytest.raises(AssertionError, match=f"^{re.escape(message)}$"):
        delay_line(Module(), 0, 8, 4)
