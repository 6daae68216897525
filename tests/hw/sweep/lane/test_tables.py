"""The tables of a lane's states, clock by clock, against dictionaries."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from amaranth.lib.wiring import In

from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.check import CACHED_BITS
from beltline.hw.sweep.lane.parameters import LaneParameters
from beltline.hw.sweep.lane.tables import Tables
from beltline.hw.sweep.parameters import SweepParameters
from support.streams import Clocks

PARAMETERS = LaneParameters(SweepParameters(grid=64, states=3, lanes=2, slots=4))
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
    "search_cached",
    "patch_position",
)
READS = {
    "wealth": {"searching": "search_wealth", "": "read_address"},
    "value": {"checking": "check_old", "searching": "search_old", "patching": "patch_position", "": "read_address"},
    "choice": {
        "checking": "check_choice",
        "choosing": "check_choice",
        "searching": "search_choice",
        "": "read_address",
    },
    "cached": {"checking": "check_cached", "searching": "search_cached"},
}
"""Unit that reads each table, by the pass under way."""

BITS = {"wealth": 64, "value": 64, "choice": BUILD.index_bits, "cached": CACHED_BITS}


@pytest.mark.gateware
@pytest.mark.parametrize("overlap", [False, True])
def test_reads_and_writes(clocks: Clocks, overlap: bool) -> None:
    """With ``overlap`` the second copy of the values, ``fresh``, is read at an address of its own in every clock."""
    rng = random.Random(17)
    reads = READS | ({"fresh": {"": "patch_position"}} if overlap else {})
    count = 6000
    writes = ("wealth_write", "value_write", "write_address", "data", "found", "found_position", "found_choice")
    writes += ("found_cached", "written", "place", "new")
    passes = ("checking", "searching", "patching", "choosing")
    columns: dict[str, list[int]] = {name: [] for name in (*ADDRESSES, *writes, *passes, "read_wealth", "read_policy")}
    tables: dict[str, dict[int, int]] = {name: {} for name in reads}
    wanted: dict[tuple[str, int], int | None] = {}
    of_host: dict[int, dict[str, int | None]] = {}
    running = ""
    for clock in range(count):
        if rng.random() < 0.01:
            running = rng.choice(("", *passes))
        row = {name: rng.randrange(CELLS) for name in (*ADDRESSES, "write_address", "found_position", "place")}
        row |= {"data": rng.getrandbits(64), "new": rng.getrandbits(64), "found_cached": rng.getrandbits(CACHED_BITS)}
        row |= {name: int(name == running) for name in passes} | {"found_choice": rng.randrange(BUILD.grid)}
        # A check reads choices, and one that is held reads nothing else.
        row["choosing"] |= row["checking"]
        row |= {name: rng.randrange(2) for name in ("read_wealth", "read_policy", "found", "written")}
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
        for name, port in (("wealth", "wealth_write"), ("value", "value_write")):
            mask = sum(255 << 8 * byte for byte in range(8) if row[port] >> byte & 1)
            if mask:
                stores.append((name, row["write_address"], row["data"], mask))
        if row["written"]:
            stores.append(("value", row["place"], row["new"], (1 << 64) - 1))
        if row["found"]:
            stores += [(name, row["found_position"], row[f"found_{name}"], -1) for name in ("choice", "cached")]
        if overlap:
            stores += [("fresh", *store[1:]) for store in stores if store[0] == "value"]
        known: dict[str, int | None] = {}
        for name, readers in reads.items():
            reader = readers.get(running, readers.get("", "check_cached"))
            address = row[reader]
            # A read in the clock of a write may return the old or the new word.
            clash = any(store[:2] == (name, address) for store in stores)
            known[name] = None if clash else tables[name].get(address)
            wanted[name, clock + READ_LATENCY] = known[name]
        of_host[clock] = known
        for name, address, word, mask in stores:
            tables[name][address] = tables[name].get(address, 0) & ~mask | word & mask
        for name, column in columns.items():
            column.append(row[name])
    found = clocks(Tables(LaneParameters(replace(BUILD, overlap=overlap))), columns)
    seen = 0
    for (name, t), expected in wanted.items():
        if expected is not None and t < count:
            assert found[name][t] == expected, (name, t)
            seen += 1
    for clock, known in of_host.items():
        flags = clock + READ_LATENCY
        if flags + 1 < count:
            wealth, policy = columns["read_wealth"][flags], columns["read_policy"][flags]
            word = known["wealth" if wealth else "choice" if policy else "value"]
            if word is not None:
                assert found["word"][flags + 1] == word, clock
                seen += 1
    assert seen > 4 * count


@pytest.mark.gateware
def test_candidates_are_read_with_the_choice(clocks: Clocks) -> None:
    """In a build with bounds, the two candidates of a state arrive in the clock of its choice."""
    kinds = {"proof": True, "costs": True, "alternatives": True, "bounds": True}
    build = SweepParameters(64, 4, 2, 4, **kinds)  # type: ignore[arg-type]
    readers = {"searching": "search_choice", "scanning": "scan_choice"}
    unit = Tables(LaneParameters(build))
    rng = random.Random(4)
    cells, count = 128, 2000
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
