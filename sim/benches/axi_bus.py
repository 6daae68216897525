"""Parts shared by the benches of the AXI slaves: start, back-pressure, and a monitor of the bus rules."""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Iterator
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

PATIENCE = 20_000
"""Clocks within which a slave must complete any request."""

PAYLOADS = {
    "aw": ("awid", "awaddr", "awlen", "awsize", "awburst"),
    "w": ("wdata", "wstrb", "wlast"),
    "b": ("bid", "bresp"),
    "ar": ("arid", "araddr", "arlen", "arsize", "arburst"),
    "r": ("rid", "rdata", "rresp", "rlast"),
}


async def start(dut: Any, **inputs: int) -> None:
    """Start the clock and reset the slave, with all valid signals low; ``inputs`` are values of further ports."""
    for name, value in {"bus__awvalid": 0, "bus__wvalid": 0, "bus__arvalid": 0, "locked": 0, **inputs}.items():
        getattr(dut, name).value = value
    dut.bus__bready.value = 0
    dut.bus__rready.value = 0
    dut.rst.value = 1
    Clock(dut.clk, 10, unit="ns").start()
    await clocks(dut, 3)
    dut.rst.value = 0
    await clocks(dut, 1)


async def clocks(dut: Any, count: int) -> None:
    """Wait for ``count`` rising edges of the clock."""
    for _ in range(count):
        await RisingEdge(dut.clk)


def pauses() -> Iterator[bool]:
    """Yield for each clock whether to pause: random, with a probability that changes every few clocks."""
    while True:
        likely = random.choice((0.0, 0.1, 0.5, 0.9))
        for _ in range(random.choice((1, 5, 40))):
            yield random.random() < likely


def hold_up(*channels: Any) -> None:
    """Insert idle clocks in sources, and back-pressure in sinks."""
    for channel in channels:
        channel.set_pause_generator(pauses())


class Monitor:
    """Checks the rules of the bus in every clock.

    Signals that are valid do not change until they are accepted; each request has exactly one response, and there is no
    response without a request. A transfer of AXI4-Lite counts as a burst of one beat. ``bus`` is the prefix of the
    names of the bus's signals.
    """

    def __init__(self, dut: Any, bus: str = "bus__") -> None:
        self.dut = dut
        self._bus = bus
        self.clock = 0
        self.counts: Counter[str] = Counter()
        self.refusals = 0
        self._offers: dict[str, tuple[int, ...] | None] = dict.fromkeys(PAYLOADS)
        self._channels = {
            name: (
                getattr(dut, f"{bus}{name}valid"),
                getattr(dut, f"{bus}{name}ready"),
                [getattr(dut, f"{bus}{signal}") for signal in signals if hasattr(dut, f"{bus}{signal}")],
            )
            for name, signals in PAYLOADS.items()
        }
        self._full = hasattr(dut, f"{bus}wlast")
        self._writes: deque[int] = deque()
        self._beats = 0
        self._whole = 0
        self._reads: deque[list[int]] = deque()
        self.when: dict[str, int] = {}
        """Clock of the last transfer of every channel."""
        cocotb.start_soon(self._run())

    async def _run(self) -> None:
        """Check the rules in each clock, and count transfers and refusals."""
        while True:
            await RisingEdge(self.dut.clk)
            self.clock += 1
            if hasattr(self.dut, "refused"):
                self.refusals += int(self.dut.refused.value)
            for name, (valid, ready, signals) in self._channels.items():
                offered = int(valid.value)
                payload = tuple(int(signal.value) for signal in signals) if offered else None
                before = self._offers[name]
                assert before is None or payload == before, f"{name} changed before it was taken"
                taken = offered and int(ready.value)
                self._offers[name] = None if taken else payload
                if taken:
                    self.counts[name] += 1
                    self.when[name] = self.clock
                    getattr(self, f"_{name}")(payload)
                elif offered and name == "b":
                    assert self._whole, "write response without a write"
                elif offered and name == "r":
                    assert self._reads, "read data without a read"

    def _aw(self, payload: tuple[int, ...]) -> None:
        """Record the identifier of a write."""
        self._writes.append(payload[0] if self._full else 0)
        self._match()

    def _w(self, payload: tuple[int, ...]) -> None:
        """Count the bursts of write data that are complete."""
        if payload[-1] if self._full else True:
            self._beats += 1
        self._match()

    def _match(self) -> None:
        """Update the number of writes with address and data, which may be answered."""
        self._whole = min(len(self._writes), self._beats)

    def _b(self, payload: tuple[int, ...]) -> None:
        """Check a write response."""
        assert self._whole, "write response without a write"
        wanted = self._writes.popleft()
        assert not self._full or payload[0] == wanted, f"write response to {payload[0]}, not {wanted}"
        assert payload[-1] in (0, 2)
        self._beats -= 1
        self._match()

    def _ar(self, payload: tuple[int, ...]) -> None:
        """Record the identifier and the length of a read."""
        self._reads.append([payload[0], payload[2] + 1] if self._full else [0, 1])

    def _r(self, payload: tuple[int, ...]) -> None:
        """Check a beat of read data."""
        assert self._reads, "read data without a read"
        burst = self._reads[0]
        burst[1] -= 1
        if self._full:
            assert payload[0] == burst[0], f"read data of {payload[0]}, not {burst[0]}"
            assert payload[3] == (burst[1] == 0), "rlast in the wrong beat"
        if burst[1] == 0:
            self._reads.popleft()

    async def finish(self) -> None:
        """Check that all requests were answered, and that no further responses arrive in 60 clocks."""
        dut = self.dut
        for channel in ("b", "r"):
            getattr(dut, f"{self._bus}{channel}ready").value = 1
        counts = dict(self.counts)
        await clocks(dut, 60)
        assert dict(self.counts) == counts, "a response without a request"
        assert not any(int(self._channels[name][0].value) for name in PAYLOADS), "a channel is still valid"
        assert not self._writes, f"{len(self._writes)} writes without response"
        assert not self._beats, f"{self._beats} bursts of write data without response"
        assert not self._reads, f"reads not answered in full: {list(self._reads)}"
        assert self.counts["aw"] == self.counts["b"]
