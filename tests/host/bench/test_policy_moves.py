"""The table of how far choices move in a sweep."""

from __future__ import annotations

import numpy as np
import pytest

from beltline.hw.sweep.parameters import SweepParameters
from docs.tables.policy_moves import lane_clocks, main


def test_table_of_a_small_problem(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--grid", "512", "--lanes", "8", "--tol", "1e-3"]) == 0
    *_, totals, lanes = capsys.readouterr().out.splitlines()
    moved, states, sweeps = (int(word.replace(",", "")) for word in totals.split() if word[0].isdigit())
    assert states == 512 * 4 * sweeps
    assert 0 < moved < states
    assert lanes == "A lane has 256 states. Clocks are modelled."


def test_only_lanes_with_points_are_counted() -> None:
    build = SweepParameters(grid=512, lanes=8)
    policy = np.tile(np.arange(100)[:, None], (1, 4))
    slowest, mean = lane_clocks(build, policy)
    # Sixteen points a lane: six full lanes, and one with four.
    assert 64 <= slowest < 150
    assert 16 <= mean < slowest


@pytest.mark.parametrize(
    ("given", "said"), [("--grid=500", "a power of two"), ("--lanes=3", "not 3"), ("--slots=2", "not 2")]
)
def test_bad_arguments(given: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        main([given])
    assert raised.value.code == 2
    assert said in capsys.readouterr().err
