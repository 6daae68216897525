"""The tables of a lane's states, clock by clock, against dictionaries."""

from __future__ import annotations

import random

import pytest
from amaranth.lib.wiring import In

from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.check import CACHED_BITS
from beltline.hw.sweep.lane.parameters import LaneParameters
from beltline.hw.sweep.lane.tables import Tables
from beltline.hw.sweep.parameters import SweepParameters
from support.streams import Clocks

PARAMETERS = LaneParameters(SweepParameters(grid=64, states=3, lanes=2))
BUILD = PARAMETERS.build
CELLS = 96
ADDRESSES = (
    "read_address",
    "check_choice",
    "check_cached",
    "check_old",
    "search_wealth",
    "search_choice",
    "search_old",
    "patch_position",
    "scan_wealth",
    "scan_choice",
    "scan_below",
    "scan_above",
)
_VALUES = {"checking": "check_old", "searching": "search_old", "patching": "patch_position", "": "read_address"}
READS = {
    "wealth": {"searching": "search_wealth", "scanning": "scan_wealth", "": "read_address"},
    "value": _VALUES,
    "fresh": _VALUES,
    "choice": {
        "checking": "check_choice",
        "searching": "search_choice",
        "scanning": "scan_choice",
        "": "read_address",
    },
    "cached": {"": "check_cached"},
    "below": {"": "scan_below"},
    "above": {"": "scan_above"},
}
"""Unit that reads each table, by the pass under way."""

BITS = {"wealth": 64, "value": 64, "choice": BUILD.index_bits, "cached": CACHED_BITS}


@pytest.mark.gateware
def test_reads_and_writes(clocks: Clocks) -> None:
    """A sweep writes the copy of the values that it does not read; the host writes both."""
    rng = random.Random(17)
    count = 6000
    writes = ("wealth_write", "value_write", "write_address", "data", "found", "found_position", "found_choice")
    writes += ("found_cached", "written", "place", "new", "better", "values")
    passes = ("checking", "searching", "patching", "scanning")
    columns: dict[str, list[int]] = {name: [] for name in (*ADDRESSES, *writes, *passes, "read_wealth", "read_policy")}
    tables: dict[str, dict[int, int]] = {name: {} for name in ("wealth", "value0", "value1", "choice", "cached")}
    wanted: dict[tuple[str, int], int | None] = {}
    of_host: dict[int, dict[str, int | None]] = {}
    running, values = "", 0
    for clock in range(count):
        if rng.random() < 0.01:
            running, values = rng.choice(("", *passes)), rng.randrange(2)
        row = {name: rng.randrange(CELLS) for name in (*ADDRESSES, "write_address", "found_position", "place")}
        row |= {"data": rng.getrandbits(64), "new": rng.getrandbits(64), "found_cached": rng.getrandbits(CACHED_BITS)}
        row |= {name: int(name == running) for name in passes} | {"found_choice": rng.randrange(BUILD.grid)}
        row |= {name: rng.randrange(2) for name in ("read_wealth", "read_policy", "found", "written", "better")} | {
            "values": values
        }
        filling = clock < CELLS
        row |= {name: rng.choice((0, 255, rng.getrandbits(8))) for name in ("wealth_write", "value_write")}
        if filling:
            # Every word is written first.
            row |= {"wealth_write": 255, "value_write": 255, "found": 1, "written": 0}
            row |= dict.fromkeys(("write_address", "found_position"), clock)
        if row["written"]:
            # The host does not write in a clock with a new value.
            row |= {"wealth_write": 0, "value_write": 0}
        stores = []
        for name, port in (("wealth", "wealth_write"), ("value0", "value_write"), ("value1", "value_write")):
            mask = sum(255 << 8 * byte for byte in range(8) if row[port] >> byte & 1)
            if mask:
                stores.append((name, row["write_address"], row["data"], mask))
        if row["written"]:
            stores.append((f"value{1 - values}", row["place"], row["new"], (1 << 64) - 1))
        if row["found"]:
            stores.append(("cached", row["found_position"], row["found_cached"], -1))
        if row["found"] or row["better"]:
            stores.append(("choice", row["found_position"], row["found_choice"], -1))
        known: dict[str, int | None] = {}
        for name, readers in READS.items():
            address = row[readers.get(running, readers[""])]
            table = {"value": f"value{values}", "fresh": f"value{1 - values}", "below": "choice", "above": "choice"}
            stored = table.get(name, name)
            # A read in the clock of a write may return the old or the new word.
            clash = any(store[:2] == (stored, address) for store in stores)
            known[name] = None if clash else tables[stored].get(address)
            wanted[name, clock + READ_LATENCY] = known[name]
        of_host[clock] = known
        for name, address, word, mask in stores:
            tables[name][address] = tables[name].get(address, 0) & ~mask | word & mask
        for name, column in columns.items():
            column.append(row[name])
    found = clocks(Tables(LaneParameters(BUILD)), columns)
    seen = 0
    for (name, t), expected in wanted.items():
        # Which copy a word comes from is decided when it arrives.
        if expected is not None and t < count and columns["values"][t] == columns["values"][t - READ_LATENCY]:
            assert found[name][t] == expected, (name, t)
            seen += 1
    for clock, known in of_host.items():
        flags = clock + READ_LATENCY
        if flags + 1 < count and columns["values"][flags] == columns["values"][clock]:
            wealth, policy = columns["read_wealth"][flags], columns["read_policy"][flags]
            word = known["wealth" if wealth else "choice" if policy else "value"]
            if word is not None:
                assert found["word"][flags + 1] == word, clock
                seen += 1
    assert seen > 4 * count


@pytest.mark.gateware
def test_candidates_are_read_with_the_choice(clocks: Clocks) -> None:
    """In a general build, the two candidates of a state arrive in the clock of its choice."""
    build = SweepParameters(64, 8, 2, general=True)
    readers = {"searching": "search_choice", "scanning": "scan_choice"}
    unit = Tables(LaneParameters(build))
    rng = random.Random(4)
    cells, count = 256, 2000
    names = [name for name, member in unit.signature.members.items() if member.flow is In]
    columns: dict[str, list[int]] = {name: [0] * count for name in names}
    stored, wanted = [0] * cells, dict[int, int]()
    for clock in range(count):
        reader = rng.choice(tuple(readers))
        write = 15 if clock < cells else rng.choice((0, 0, 15, rng.randrange(16)))
        place = clock if clock < cells else rng.randrange(cells)
        word, address = rng.getrandbits(64), rng.randrange(cells)
        row = {"bounds_write": write, "write_address": place, "data": word, reader: 1, readers[reader]: address}
        for name, given in row.items():
            columns[name][clock] = given
        # A read in the clock of a write may return the old or the new word.
        if clock >= cells and not (write and place == address):
            wanted[clock + READ_LATENCY] = stored[address]
        mask = sum(255 << 8 * byte for byte in range(4) if write >> byte & 1)
        stored[place] = stored[place] & ~mask | word & mask
    found = clocks(unit, columns)
    for clock, word in wanted.items():
        if clock < count:
            sides = [word >> shift & build.grid - 1 for shift in (0, 16)]
            assert [found[name][clock] for name in ("least", "most")] == sides, clock
