"""Directories from which Vivado builds, written and run with a substitute for it, without generating a machine."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

from beltline.constraints import vivado
from beltline.constraints.boards import Board
from beltline.hw.top import verilog
from support.vivado_stub import Ran, Vivado, run

needs_tcl = pytest.mark.skipif(
    not importlib.util.find_spec("_tkinter"), reason="there is no Tcl: apt install python3-tk"
)

HASH = "0123456789abcdef"

Write = Callable[[Board], Path]
"""Writes the directory of a board."""

Builds = Callable[..., tuple[Vivado, Ran, Path]]
"""Runs ``build.tcl`` in the directory of a board."""


def stand_in(board: Board) -> dict[str, str]:
    """Return files with the names of those of a build; the scripts do not depend on their contents."""
    return {
        "beltline.v": "module beltline; endmodule\n",
        "beltline_build.v": f"module beltline_build(output [63:0] hash);\n    assign hash = 64'h{HASH};\nendmodule\n",
    }


def writer(tmp_path: Path) -> Write:
    def write(board: Board) -> Path:
        directory = tmp_path / f"build{board.suffix}"
        verilog.write(vivado.project(board, stand_in(board)), directory)
        return directory

    return write


def builder(written: Write) -> Builds:
    def build(board: Board, change: Callable[[Path], None] | None = None, **state: object) -> tuple[Vivado, Ran, Path]:
        directory = written(board)
        if change:
            change(directory)
        model = Vivado(directory, **state)  # type: ignore[arg-type]
        return model, run(model, directory / "build.tcl"), directory

    return build


def replace(file: str, old: str, new: str) -> Callable[[Path], None]:
    """Return a function that changes a text in a file of a written directory."""

    def change(directory: Path) -> None:
        text = (directory / file).read_text()
        assert old in text
        (directory / file).write_text(text.replace(old, new))

    return change
