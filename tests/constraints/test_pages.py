"""The pages of boards agree with the boards' builds, and the machines fit their chips by arithmetic."""

from __future__ import annotations

import re
import shlex

import pytest

from beltline.constraints import area_figures, board_pages, sweep_area
from beltline.constraints import blocks as memory
from beltline.constraints.blocks import block_rams, blocks, ultra_rams
from beltline.constraints.boards import BOARDS, LINES, Board, Flow
from beltline.constraints.chips import FAMILIES, chip_of
from beltline.host.cli import main as cli
from beltline.host.devices import DEVICES
from beltline.hw.interface.parameters import MachineParameters

ROOM = 0.85
"""Largest share of a chip that a machine may use: placement and the buses need room."""


@pytest.mark.parametrize("name", ["index", *BOARDS])
def test_page_is_up_to_date(name: str) -> None:
    text = (board_pages.PAGES / f"{name}.md").read_text()
    assert text == board_pages.page(name, text), f"run `{board_pages.COMMAND} --write`"


@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_commands_of_a_page_have_options_that_there_are(board: Board) -> None:
    text = (board_pages.PAGES / f"{board.name}.md").read_text()
    commands = re.findall(r"^(?:sudo (?:-E )?\.venv/bin/)?beltline (solve|selftest)( .+)$", text, re.M)
    assert [command for command, _ in commands] == ["selftest", "solve"]
    for command, rest in commands:
        words = [command, *shlex.split(rest)]
        given = cli._parser(words).parse_args(words)
        assert given.device == board_pages.DEVICES[board.flow]
        if command == "solve":
            assert given.grid == board.machine.grid
        assert {option.partition("=")[0] for option in given.option} <= set(DEVICES[given.device].options)


def test_page_without_a_place_for_the_table_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"^page of 'f2' has no lines '<!-- Written by .+' and '<!-- Until here. -->'$"
    ):
        board_pages.page("f2", "# AWS F2\n")


@pytest.mark.parametrize(
    "board", [board for board in LINES.values() if board.flow is not Flow.ECP5], ids=lambda board: board.name
)
def test_machine_fits_with_room(board: Board) -> None:
    chip, used = chip_of(board), blocks(board.machine)
    assert used.dsp <= ROOM * chip.dsp
    assert used.bram <= ROOM * chip.bram18 / 2
    assert used.uram <= ROOM * chip.uram


@pytest.mark.parametrize("name", [name for name in BOARDS if name not in LINES])
def test_sweep_engine_fits_with_room(name: str) -> None:
    """The sweep engine leaves room by the figures of synthesis; on ECP5, nearly full, place and route decides."""
    share = sweep_area.shares(name, sweep_area.recorded()[name])
    assert share["lut"] <= 0.65
    assert share["bram18"] <= 0.8
    assert share.get("uram", 0.0) <= 0.8
    assert share["dsp"] <= (1.0 if BOARDS[name].flow is Flow.ECP5 else 0.8)


@pytest.mark.parametrize(
    "name", [name for name, board in BOARDS.items() if name not in LINES and board.flow is not Flow.ECP5]
)
def test_paths_of_the_sweep_engine_are_short(name: str) -> None:
    """On ECP5, whose LUTs have four inputs, the frequency is known from place and route. Yosys shortens no path that it
    thinks fast enough: the ZCU104's engine has one of 8.
    """
    entry = sweep_area.recorded()[name]
    assert max(entry[part]["levels"] for part in sweep_area.PARTS) <= (8 if name == "zcu104-sweep" else 7)


def test_headline_machine_by_hand() -> None:
    used = blocks(MachineParameters(grid=65_536, states=4))
    assert used.evaluators == 46
    # 46 evaluators, and four products of 64 by 64 bits in tiles of 26 by 17.
    assert used.dsp == 46 * 56 + 4 * 12


@pytest.mark.parametrize(
    ("width", "depth", "blocks36", "ultras"),
    [(64, 512, 1, 1), (64, 1024, 2, 1), (64, 8192, 16, 2), (11, 8192, 3, 2), (72, 4096, 8, 1), (73, 4097, 15, 4)],
)
def test_blocks_of_a_ram_by_hand(width: int, depth: int, blocks36: int, ultras: int) -> None:
    assert (block_rams(width, depth), ultra_rams(width, depth)) == (blocks36, ultras)


@pytest.mark.skipif(not area_figures.FILE.exists(), reason="the figures of synthesis are missing: run make area")
def test_evaluator_takes_what_synthesis_says() -> None:
    measured = area_figures.load()["units"]["evaluator"]
    for name, family in FAMILIES.items():
        assert measured[name]["dsp"] == memory.DSPS[family.multiplier]
        assert measured[name]["bram18"] == memory.TABLES
