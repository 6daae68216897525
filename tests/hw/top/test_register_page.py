"""The page of registers is up to date and complete."""

from __future__ import annotations

import re

import pytest

from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import REGISTERS, Command, Interrupt, Mode, Refused, Status, Table
from beltline.hw.top import register_page


def test_page_of_the_documentation_is_up_to_date() -> None:
    assert register_page.PAGE.read_text() == register_page.page(MachineParameters()), (
        "run `python -m beltline.hw.top.register_page --write`"
    )


def test_nothing_is_left_out() -> None:
    text = register_page.page(MachineParameters())
    for kind in (Command, Status, Refused, Interrupt, Mode):
        section = text.split(f"### `{kind.__name__.upper()}`\n")[1].split("#")[0]
        rows = re.findall(r"^\| (\d+) \| `(\w+)` \| .+ \|$", section, re.M)
        assert rows == [(str(flag.bit_length() - 1), flag.name) for flag in kind]
    for name in (*REGISTERS, *(table.name for table in Table)):
        assert re.search(rf"^\| `0x\w+` \| \[?`{name}`", text, re.M), name


def test_windows_of_another_build(capsys: pytest.CaptureFixture[str]) -> None:
    assert register_page.main(["--grid", "1024", "--states", "2"]) == 0
    printed = capsys.readouterr().out
    assert "a window has 16,384 bytes" in printed
    assert "| `0x0010000` | `POLICY` | 2,048 | R |" in printed


def test_build_that_cannot_be(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        register_page.main(["--grid", "100"])
    assert stop.value.code == 2
    assert capsys.readouterr().err == (
        "register_page: grid of a build must be a power of two from 4 to 65536, not 100\n"
    )
