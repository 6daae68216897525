"""Commands that write the Verilog of a build, tested without Yosys."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from beltline.hw.interface.builds import Build, read
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.top import verilog
from beltline.hw.top.serial_machine import SerialParameters

Command = Callable[[list[str]], int]


def assert_builds(
    command: Command,
    arguments: list[str],
    parameters: MachineParameters | SerialParameters,
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Check that ``command`` with ``arguments`` generates ``parameters`` and nothing else, and stores the Verilog."""
    asked: list[object] = []

    def made(given: object) -> dict[str, str]:
        asked.append(given)
        return {"beltline_build.v": "64'h000000000000abcd;"}

    serial = isinstance(parameters, SerialParameters)
    monkeypatch.setattr(verilog, "generate_serial" if serial else "generate", made)
    assert command([*arguments, "--out", str(directory / "build")]) == 0
    assert asked == [parameters]
    built = (parameters.machine, parameters.baud) if isinstance(parameters, SerialParameters) else (parameters, 0)
    top = "beltline_serial" if serial else "beltline"
    assert read(directory / "build" / "build.json") == (Build(top, 0xABCD, *built),)


def assert_refuses(
    command: Command, arguments: list[str], sentence: str, directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Check that ``command`` with ``arguments`` ends with ``sentence`` before it writes any file."""
    with pytest.raises(SystemExit) as stop:
        command([*arguments, "--out", str(directory / "build")])
    assert (stop.value.code, capsys.readouterr().err) == (2, sentence)
    assert not any(directory.iterdir())
