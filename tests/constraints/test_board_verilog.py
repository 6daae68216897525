"""The command that writes a board's Verilog: the board's build, and how it reports differences."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from beltline.constraints import board_verilog
from beltline.constraints.boards import BOARDS
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.top.serial_machine import SerialParameters
from support.builds import assert_builds, assert_refuses

ECP5, Z2, F2 = BOARDS["ecp5"].machine, BOARDS["pynq-z2"].machine, BOARDS["f2-sweep"].machine


@pytest.mark.parametrize(
    ("arguments", "parameters"),
    [
        (["--board", "pynq-z2"], Z2),
        (["--board", "pynq-z2", "--grid", "1024", "--fold", "2"], replace(Z2, grid=1024, results=0, fold=2)),
        # The states of F2's build are fewer than a general build has at least.
        (["--board", "f2-sweep", "--states", "16", "--general"], replace(F2, states=16, results=0, general=True)),
        (["--board", "ecp5"], SerialParameters(ECP5)),
        (
            ["--board", "ecp5", "--results", "8192", "--baud", "115200"],
            SerialParameters(replace(ECP5, results=8192), 115_200),
        ),
    ],
)
def test_options_of_a_board(
    arguments: list[str],
    parameters: MachineParameters | SerialParameters,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    assert_builds(board_verilog.main, arguments, parameters, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--board", "z1"],
            f"verilog: board must be one of {', '.join(BOARDS)}, not 'z1'\n",
        ),
        (
            ["--board", "ecp5", "--baud", "0"],
            "verilog: baud of a serial line must be, within 2%, a clock of 84000000 Hz divided by a whole number of at "
            "least 4, not 0\n",
        ),
        (
            ["--board", "ecp5", "--baud", "70"],
            "verilog: baud of a serial line must be at least 320, so that 16 bits take no more than 0.05 seconds, not "
            "70\n",
        ),
    ],
)
def test_command_refuses_a_board(
    arguments: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert_refuses(board_verilog.main, arguments, sentence, tmp_path, capsys)
