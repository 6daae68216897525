"""Transfers to mapped memory keep up with a plain memory-mapped file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import beltline.host.devices.f2
import beltline.host.devices.lock
from beltline.host.devices import open_device
from beltline.host.solver.transfers import BLOCK_WORDS, read_table, write_table
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Table
from docs.tables.transfer_speed import MappedFile, speeds
from support.boards import REGISTERS_AT, TABLES_AT, Fabric, FakeFpga, fake_pynq

HEADLINE = MachineParameters(grid=65_536, states=4)


@pytest.fixture(params=["file", "pynq", "f2"])
def rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """Return the transfers of a device by the name of the measurement."""
    name = request.param
    monkeypatch.setattr(beltline.host.devices.lock, "directory", lambda: tmp_path)
    if name == "file":
        device = MappedFile(tmp_path / "windows", HEADLINE)
    else:
        fabric = Fabric(HEADLINE)
        monkeypatch.setitem(sys.modules, "pynq", fake_pynq(fabric))
        monkeypatch.setattr(beltline.host.devices.f2.ctypes, "CDLL", lambda name: FakeFpga([fabric]))
        (tmp_path / "a.bit").touch()
        options = {"bitstream": str(tmp_path / "a.bit"), "registers": REGISTERS_AT, "tables": TABLES_AT}
        device = open_device(name, **(options if name == "pynq" else {}))
    found = {speed.what: speed for speed in speeds(device, HEADLINE, tmp_path)}
    device.close()
    return found


def test_all_tables_move(rows: dict[str, Any]) -> None:
    assert rows["mapped device, load"].size == 8 * (65_536 + 2 * 262_144 + 16)
    assert rows["mapped device, read back"].size == 8 * 2 * 262_144


@pytest.mark.speed
def test_tables_move_at_a_gigabyte_a_second(rows: dict[str, Any]) -> None:
    # The fastest of several runs, as other programs may use the processor.
    for what in ("mapped device, load", "mapped device, read back"):
        assert rows[what].best >= 1e9, rows


@pytest.mark.parametrize("count", [1, BLOCK_WORDS - 1, BLOCK_WORDS, BLOCK_WORDS + 1, 2 * BLOCK_WORDS + 5])
def test_tables_move_in_blocks(count: int, tmp_path: Path) -> None:
    build = MachineParameters(grid=65_536, states=4, results=3 * BLOCK_WORDS)
    device = MappedFile(tmp_path / "windows", build)
    words = np.random.default_rng(count).integers(-(2**63), 2**63 - 1, count)
    write_table(device, Table.V, words)
    back = read_table(device, Table.V, count)
    assert (back == words).all()
    device.write_block(Table.V, 0, np.zeros(1, dtype=np.int64))
    # A copy, not a view of the mapping.
    assert back[0] == words[0]
