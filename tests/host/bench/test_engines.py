"""The table of the clocks that both engines take for one problem."""

from __future__ import annotations

import re

import numpy as np
import pytest

from beltline.host.models.rbc import rbc
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.line.clocks import run_clocks
from docs.tables.engines import main
from docs.tables.sweep_acceleration import Way, build_of, solve


def test_rows_are_those_of_the_models(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--grid", "256", "--lanes", "4", "--tol", "1e-6"]) == 0
    lines = capsys.readouterr().out.splitlines()
    *table, blank, sources = lines[2:]
    assert not blank
    assert "beltline.hw.line.clocks.run_clocks" in sources
    assert "beltline.hw.sweep.clocks" in sources
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    sweep = solve(rbc(grid=256), build_of(256, 4), Way("flat", "none", 0), 1e-6)
    line = run_clocks(MachineParameters(256, 4), 256, 4, sweep.sweeps)
    assert [row[1:3] for row in found[:2]] == [[f"{sweep.sweeps:,}", f"{clocks:,}"] for clocks in (line, sweep.clocks)]
    assert [row[3] for row in found] == ["formula", *["clock model"] * 6]
    assert found[0][4] == f"{line / 250e6 * 1e3:.3g} ms"
    assert re.match(r"22 evaluations per state", found[0][6])
    per_state = np.array(sweep.evaluations) / (256 * 4)
    means = per_state.mean(), per_state[10:].mean()
    assert means[0] > 1.1 * means[1]
    assert found[1][6].startswith("{:.2g} evaluations per state and sweep, {:.2g} after 10 sweeps;".format(*means))
    # Shifts and a coarse start save sweeps, and a tolerance 100 times smaller costs some.
    sweeps = [int(row[1].replace(",", "")) for row in found[3:]]
    assert sweeps[0] < sweeps[2] < sweep.sweeps
    assert sweeps[1] < sweeps[3] < sweep.sweeps
    assert "0 choices differ" in found[1][6]


def test_many_lanes_are_shown_with_both_numbers_of_lanes_a_bus(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--grid", "256", "--lanes", "32", "--tol", "1e-3"]) == 0
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in found[3:6]] == [
        f"sweep engine, 32 lanes, same bits{more}" for more in ("", ", `slots=4`", ", `slots=4`, `overlap=1`")
    ]
    for row, slots, overlap in zip(found[3:6], (8, 4, 4), (False, False, True), strict=True):
        sweep = solve(rbc(grid=256), build_of(256, 32, slots, overlap), Way("flat", "none", 0), 1e-3)
        assert row[1:3] == [f"{sweep.sweeps:,}", f"{sweep.clocks:,}"]
    assert build_of(256, 32) == build_of(256, 32, 8)


@pytest.mark.parametrize("words", [["--lanes", "3"], ["--grid", "100"], ["--tol", "0"]])
def test_bad_input_is_refused_in_a_sentence(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    assert re.search(r"error: .* must be .*, not", capsys.readouterr().err)
