"""What is generated for a board: Verilator finds nothing to say of it, and Yosys elaborates it, its wrapper on top."""

from __future__ import annotations

import dataclasses
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import constraints_f2
import pytest

from constraints import vivado
from constraints.boards import BOARDS, Board, Flow
from hw import evaluator, verilog
from sim import verilator
from sim.yosys import use_yosys

pytestmark = pytest.mark.gateware

BUILT = [board for board in BOARDS.values() if board.flow is not Flow.ECP5]


def sources(board: Board, generated: Mapping[str, str], directory: Path) -> tuple[str, list[str]]:
    """Write a board's Verilog into one directory, and for AWS F2 what stands in for the HDK: the top, and the files."""
    made = vivado.project(board, dict(generated))
    files = {Path(name).name: text for name, text in made.items() if name.endswith((".v", ".sv", ".vh"))}
    top = vivado.WRAPPER
    if board.flow is Flow.F2:
        top = vivado.CL
        files |= constraints_f2.files()
    for name, text in files.items():
        (directory / name).write_text(text)
    return top, [name for name in files if name.endswith((".v", ".sv"))]


def complaints(said: str) -> list[str]:
    """Warnings and errors, each in a line.

    But for one: nothing in an evaluator is reset, so its reset is left open.
    """
    return [
        line
        for line in said.splitlines()
        if line.startswith("%") and not (line.startswith("%Warning-PINMISSING: beltline.v:") and line.endswith("'rst'"))
    ]


def lint(top: str, names: list[str], directory: Path) -> list[str]:
    tool = verilator.find()
    command = [str(tool.command), "--lint-only", "--no-timing", "-Wno-fatal", "-Wno-WIDTH", "--top-module", top, "-I."]
    done = subprocess.run(
        [*command, *names], cwd=directory, env=tool.environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return complaints(done.stderr)


def elaborate(top: str, names: list[str], directory: Path) -> None:
    script = f"read_verilog -sv {' '.join(names)}; hierarchy -check -top {top}; proc; check -assert"
    done = subprocess.run([use_yosys(), "-q", "-p", script], cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def small() -> dict[int, dict[str, str]]:
    """The Verilog of a small machine, by the width of its bus."""
    use_yosys()
    shared = verilog.shared_modules()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verilog, "shared_modules", lambda: dict(shared))
        machine = BOARDS["pynq-z2"].machine
        return {
            bits: verilog.generate(dataclasses.replace(machine, grid=1024, states=2, results=0, bus_bits=bits))
            for bits in (64, 512)
        }


def shrunk(name: str, bits: int) -> Board:
    board = BOARDS[name]
    machine = dataclasses.replace(board.machine, grid=1024, states=2, results=0, bus_bits=bits)
    return dataclasses.replace(board, machine=machine)


@pytest.mark.parametrize(("name", "bits"), [("pynq-z2", 64), ("u250", 512), ("f2", 512)])
def test_small_machine_of_a_board(name: str, bits: int, small: dict[int, dict[str, str]], tmp_path: Path) -> None:
    top, names = sources(shrunk(name, bits), small[bits], tmp_path)
    assert lint(top, names, tmp_path) == []
    elaborate(top, names, tmp_path)


def test_evaluators_have_no_use_for_their_reset(small: dict[int, dict[str, str]]) -> None:
    text = small[64][f"{evaluator.MODULE}.v"].split(f"module {evaluator.MODULE}(")[1]
    assert len(re.findall(r"\brst\b", text.split("endmodule")[0])) in (0, 3)  # the port's list, direction and wire


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("cl_beltline.sv", "    assign tdo = 1'b0;\n", "    assign tdo = 1'b0;\n    assign tdi = 1'b0;\n"),
        ("cl_beltline.sv", "cl_sh_id0", "cl_sh_id"),
        ("cl_beltline.sv", ".s_axi_tables_awlen(", ".s_axi_tables_len("),
        ("cl_beltline.sv", "logic [15:0] pcis_awid", "logic [15:0] pcis_id"),
        ("cl_beltline.sv", ".s_axi_awqos(", ".s_axi_awqos_x("),
    ],
)
def test_a_mistake_is_seen(file: str, old: str, new: str, small: dict[int, dict[str, str]], tmp_path: Path) -> None:
    top, names = sources(shrunk("f2", 512), small[512], tmp_path)
    text = (tmp_path / file).read_text()
    assert old in text
    (tmp_path / file).write_text(text.replace(old, new))
    with pytest.raises(AssertionError):
        assert lint(top, names, tmp_path) == []


def test_every_port_of_the_shell_is_driven_once(tmp_path: Path) -> None:
    """In the custom logic's text, a name that is driven is assigned, is an output of a slice, or is of a template."""
    text = vivado.project(BOARDS["f2"], {"beltline_build.v": f"64'h{0:016x};"})["cl_beltline/design/cl_beltline.sv"]
    assigned = [
        name
        for left in re.findall(r"^ *assign ([^=]+) =", text, re.M)
        for name in re.findall(r"\w+", left.replace("{", "").replace("}", ""))
    ]
    sliced = re.findall(r"\.s_axi_\w+\((cl_\w+)\)", text)
    templates = [name for names in constraints_f2.TEMPLATES.values() for name in names.split()]
    driven = [*assigned, *sliced, *templates, *constraints_f2.MEMORY.split()]
    wanted = [name for name, (way, _) in constraints_f2.ports().items() if way != "input"]
    assert sorted(name for name in driven if name in constraints_f2.ports()) == sorted(wanted)


@pytest.mark.slow
@pytest.mark.parametrize("board", BUILT, ids=[board.name for board in BUILT])
def test_machine_of_a_board(board: Board, tmp_path: Path) -> None:
    use_yosys()
    top, names = sources(board, verilog.generate(board.machine), tmp_path)
    assert lint(top, names, tmp_path) == []
    elaborate(top, names, tmp_path)
