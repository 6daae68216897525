"""What both engines take for one problem, as a table."""

from __future__ import annotations

import re

import pytest

from host.engines import main
from host.models import rbc
from host.sweep_acceleration import Way, solve
from hw.machine import run_clocks
from hw.parameters import MachineParameters
from hw.sweep.parameters import SweepParameters


def test_rows_are_those_of_the_models(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--grid", "256", "--lanes", "4", "--tol", "1e-6"]) == 0
    lines = capsys.readouterr().out.splitlines()
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
    sweep = solve(rbc(grid=256), SweepParameters(256, 4, 4), Way("flat", "none", 0), 1e-6)
    line = run_clocks(MachineParameters(256, 4), 256, 4, sweep.sweeps)
    assert [row[1:3] for row in found[:2]] == [[f"{sweep.sweeps:,}", f"{clocks:,}"] for clocks in (line, sweep.clocks)]
    assert found[0][3] == f"{line / 250e6 * 1e3:.3g} ms"
    assert re.match(r"22 evaluations a state", found[0][5])
    # Shifts and a coarse start save sweeps, and a hundredth of the tolerance costs some.
    assert int(found[2][1].replace(",", "")) < int(found[3][1].replace(",", "")) < sweep.sweeps
    assert "0 choices unlike" in found[1][5]


@pytest.mark.parametrize("words", [["--lanes", "3"], ["--grid", "100"], ["--tol", "0"]])
def test_bad_input_is_refused_in_a_sentence(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    assert re.search(r"error: .* must be .*, not", capsys.readouterr().err)
