"""The lower bound of a sweep engine's clocks."""

from __future__ import annotations

import numpy as np
import pytest

import beltline as bl
from beltline.hw.interface.parameters import SLOTS
from beltline.hw.sweep.model import SweepSoftwareMachine
from docs.tables.engines import FAST, FASTER, PLAIN
from docs.tables.least_clocks import bounded, evaluations, main, without_search
from docs.tables.sweep_acceleration import Way, begin, build_of, solve, with_shifts

PROBLEM, TOL = bl.rbc(grid=64), 1e-7


@pytest.mark.parametrize("way", [PLAIN, FAST, FASTER], ids=["plain", "point", "mid-points"])
def test_bounds_are_those_of_the_clock_model(way: Way) -> None:
    build = build_of(64, 2, SLOTS[0], overlap=True)
    found, solved = bounded(PROBLEM, build, way, TOL), solve(PROBLEM, build, way, TOL)
    assert (found.sweeps, found.clocks) == (solved.sweeps, solved.clocks)
    assert found.still <= found.least < found.clocks
    assert 0 < found.moving < found.sweeps


def test_a_sweep_without_a_search_takes_the_clocks_of_one_that_found_none() -> None:
    build = build_of(64, 2, SLOTS[0], overlap=True)
    machine = SweepSoftwareMachine(with_shifts(build, PLAIN), logged=True)
    begin(machine, PROBLEM, PLAIN, TOL)
    while not machine.step():
        pass
    assert machine.log is not None
    assert not machine.log.searched.any()
    assert without_search(machine.log.dealt, machine.log.choices, False) == machine.sweep_clocks[-1]


def test_evaluations_are_those_of_the_lane_that_needs_most() -> None:
    build = build_of(64, 2, SLOTS[0], overlap=True)
    machine = SweepSoftwareMachine(build, logged=True)
    begin(machine, PROBLEM, PLAIN, TOL)
    machine.step()
    assert machine.log is not None
    moves = np.zeros((64, 4), np.int64)
    moves[0, 0], moves[31, 3], moves[32, 1], moves[40, 2], moves[63, 0] = 2, -50, 1, -1, 3
    # The first lane has points 0 to 31 and needs 2 + 3, the second 1 + 1 + 3.
    assert evaluations(machine.log.dealt, moves) == 5
    moves[45, 1] = -2
    assert evaluations(machine.log.dealt, moves) == 7


def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--grids", "64", "--lanes", "2", "--tol", "1e-6"]) == 0
    head, _, plain, shifts, midpoints = capsys.readouterr().out.splitlines()
    assert head == "| 2 lanes, to 1e-06 | sweeps | with a search | clocks | without searches | at least |"
    build = build_of(64, 2, SLOTS[0], overlap=True)
    for row, way in ((plain, PLAIN), (shifts, FAST), (midpoints, FASTER)):
        found = bounded(PROBLEM, build, way, 1e-6)
        figures = (found.sweeps, found.moving, found.clocks, found.still, found.least)
        assert row.startswith("| 64 x 4, ")
        assert row.endswith("| " + " | ".join(f"{figure:,}" for figure in figures) + " |")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--grids", "0"], "--grids must be at least 2, not [0]"),
        (["--grids", "100"], "100"),
        (["--tol", "-1"], "tol must be"),
    ],
)
def test_bad_options_are_named(options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(options)
    assert sentence in capsys.readouterr().err
