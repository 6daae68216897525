"""Bench of the expectation unit: drives values, and checks the clock of each expectation.

Parameters: ``cases`` (path: a JSON list), ``results`` (path to write: one list of ``[ev, state, saturated]`` for each
case), ``latency``, ``interval``. A case has ``count``, the number of states, ``weights`` (``[row, column, word]``, in
the order written), ``values`` (unsigned words), ``gaps`` (probability of leaving out a clock in which a value could be
sent) and ``cleared`` (values of a grid point that is begun and then cleared).
"""

from __future__ import annotations

import json
import random
from collections import deque
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from beltline.sim.benches.loading import load
from beltline.sim.cocotb_runner import bench_parameters


@cocotb.test()
async def expectations(dut: Any) -> None:
    """Every expectation follows the last value of its point by ``latency`` clocks, and ``interval`` more for each row.

    There are no others.
    """
    parameters = bench_parameters()
    cases = json.loads(Path(parameters["cases"]).read_text())
    assert cases, "no cases"
    await load(dut, [], idle=("clear", "weight_write", "value_valid"))
    results = [await _case(dut, case, parameters["latency"], parameters["interval"]) for case in cases]
    Path(parameters["results"]).write_text(json.dumps(results))


async def _case(dut: Any, case: dict[str, Any], latency: int, interval: int) -> list[list[int]]:
    """Run one case and return ``[ev, state, saturated]`` of each expectation."""
    count = case["count"]
    dut.count.value = count
    for row, column, word in case["weights"]:
        dut.weight_row.value = row
        dut.weight_column.value = column
        # Some bytes of the word first, then the others; bytes that are not written are random.
        some = random.randrange(256)
        for strobes in (some, 0xFF ^ some):
            mask = sum(0xFF << 8 * byte for byte in range(8) if strobes >> byte & 1)
            dut.weight_write.value = strobes
            dut.weight_data.value = word & mask | random.getrandbits(64) & ~mask
            await FallingEdge(dut.clk)
    dut.weight_write.value = 0
    await _forget(dut, case["cleared"])

    values = case["values"]
    # The row that is due in each of the next clocks, None if no row is.
    due: deque[int | None] = deque([None] * (latency + count * interval))
    found = []
    sent = 0
    since = interval
    left = latency + count * interval + 4
    while sent < len(values) or left:
        send = sent < len(values) and since >= interval and random.random() >= case["gaps"]
        since = 1 if send else since + 1
        if sent == len(values):
            left -= 1
        dut.value_valid.value = int(send)
        dut.value.value = values[sent] if send else random.getrandbits(64)
        sent += send
        due.append(None)
        if send and sent % count == 0:
            for row in range(count):
                place = latency - 1 + row * interval
                assert due[place] is None
                due[place] = row
        await FallingEdge(dut.clk)
        row = due.popleft()
        assert int(dut.ev_valid.value) == (row is not None), f"ev_valid after {len(found)} expectations"
        if row is None:
            assert int(dut.saturated.value) == 0
        else:
            state = int(dut.ev_state.value)
            assert state == row, f"state {state}, must be {row}, after {len(found)} expectations"
            found.append([int(dut.ev.value), state, int(dut.saturated.value)])
    assert len(found) == len(values)
    return found


async def _forget(dut: Any, values: list[int]) -> None:
    """Send the first values of a point, then clear the unit."""
    for word in values:
        dut.value_valid.value = 1
        dut.value.value = word
        await FallingEdge(dut.clk)
    dut.value_valid.value = 0
    dut.clear.value = 1
    await FallingEdge(dut.clk)
    dut.clear.value = 0
