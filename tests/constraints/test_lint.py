"""The generated files of boards: Verilator has no warnings, and Yosys elaborates them with the wrapper on top."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from beltline.constraints import custom_logic, fabric_clock, vivado
from beltline.constraints.boards import BOARDS, Board, Flow
from beltline.constraints.wrapper import WRAPPER
from beltline.hw.top import verilog
from beltline.sim import verilator
from beltline.sim.yosys import use_yosys
from support import f2_kit

pytestmark = pytest.mark.gateware

DISTINCT = list({(b.flow, b.machine): b for b in BOARDS.values() if b.flow is not Flow.ECP5}.values())
"""One board for each combination of wrapper and machine."""


def sources(board: Board, generated: Mapping[str, str], directory: Path) -> tuple[str, list[str]]:
    """Write a board's Verilog, and for AWS F2 substitutes for the HDK, into one directory; return top and files."""
    made = vivado.project(board, dict(generated))
    files = {Path(name).name: text for name, text in made.items() if name.endswith((".v", ".sv", ".vh"))}
    top = WRAPPER
    if board.flow is Flow.F2:
        top = custom_logic.CL
        files |= f2_kit.kit_files()
    for name, text in files.items():
        (directory / name).write_text(text)
    return top, [name for name in files if name.endswith((".v", ".sv"))]


GENERATED = {
    "WIDTHEXPAND": "operands are as wide as their values need, which Verilog extends",
    "WIDTHTRUNC": "a condition may have many bits, as in ! count",
    "CASEINCOMPLETE": "what no case has keeps the value that was assigned before",
    "PROCASSINIT": "registers have the value that a bitstream starts with",
    "UNUSEDSIGNAL": "bits of words, and resets of what is never reset",
    "CMPCONST": "banks are compared with numbers that some cannot exceed",
    "DECLFILENAME": "a file has a module and those below it",
    "ASCRANGE": "a wire of no bits is written [-1:0]; it has no driver and no load",
    "VARHIDDEN": "a signal may be called what a unit that instances it has, too",
}
"""Warnings of Verilator that are accepted for Verilog from Amaranth and Yosys, and the reasons."""

WAIVED: dict[str, dict[str, str]] = {
    "beltline.v": GENERATED,
    "beltline_evaluator.v": GENERATED,
    "beltline_lane.v": GENERATED,
    "beltline_ram.v": {
        "GENUNNAMED": "the loop over lanes",
        "UNUSEDPARAM": "STYLE has no effect where the attribute is omitted",
        "VARHIDDEN": "the words of the RAM, where a unit that instances it has words, too",
    },
    "beltline_board.v": {
        "PROCASSINIT": "the reset is on when the bitstream starts",
        "SYMRSVDWORD": "the port interrupt is no C++ here",
    },
    "cl_beltline.sv": {
        "PINCONNECTEMPTY": "outputs of the slices that AXI4 has and the machine has not",
        "UNUSEDSIGNAL": "addresses beyond the machine",
    },
    "cl_ports.vh": {"UNUSEDSIGNAL": "interfaces of the shell that are not used"},
    "axi_register_slice.v": {"UNUSEDSIGNAL": "a stand-in"},
    "cl_axi_clock_converter.v": {"UNUSEDSIGNAL": "a stand-in"},
    "cl_axi_clock_converter_light.v": {"UNUSEDSIGNAL": "a stand-in"},
    "MMCME4_BASE.v": {"UNUSEDSIGNAL": "a stand-in", "UNUSEDPARAM": "a stand-in"},
    "axi_register_slice_light.v": {"UNUSEDSIGNAL": "a stand-in"},
    "sh_ddr.sv": {"UNUSEDSIGNAL": "a stand-in"},
}
"""Accepted warnings of single files, and the reasons."""


def complaints(said: str) -> list[str]:
    """Return errors, and warnings that are not accepted, one in each line.

    Nothing in an evaluator is reset, so its reset is left open.
    """
    found = []
    for line in said.splitlines():
        if not line.startswith("%"):
            continue
        named = re.match(r"%Warning-(\w+): ([\w.]+):", line)
        open_reset = re.match(r"%Warning-PINMISSING: beltline(_lane)?\.v:", line) and line.endswith("'rst'")
        if not open_reset and not (named and named[1] in WAIVED.get(named[2], {})):
            found.append(line)
    return found


def lint(top: str, names: list[str], directory: Path) -> list[str]:
    tool = verilator.find()
    command = [str(tool.command), "--lint-only", "--no-timing", "-Wall", "-Wno-fatal", "--top-module", top, "-I."]
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
def small() -> dict[str, str]:
    """Return the Verilog of a small machine with the bus of AWS F2."""
    use_yosys()
    return verilog.generate(shrunk("f2").machine)


def shrunk(name: str) -> Board:
    board = BOARDS[name]
    machine = dataclasses.replace(board.machine, grid=64, states=2, results=0)
    return dataclasses.replace(board, machine=machine)


def test_small_machine_in_the_custom_logic_with_its_own_clock(small: dict[str, str], tmp_path: Path) -> None:
    board = fabric_clock.at_clock(shrunk("f2"), 125)
    top, names = sources(board, small, tmp_path)
    assert lint(top, names, tmp_path) == []
    elaborate(top, names, tmp_path)
    text = (tmp_path / "cl_beltline.sv").read_text()
    (tmp_path / "cl_beltline.sv").write_text(text.replace(".m_axi_wlast(pcis_wlast)", ".m_axi_wlast(shell_pcis_wlast)"))
    with pytest.raises(AssertionError):
        assert lint(top, names, tmp_path) == []


def test_small_sweep_engine_in_its_wrapper(tmp_path: Path) -> None:
    use_yosys()
    board = shrunk("zcu104-sweep")
    top, names = sources(board, verilog.generate(board.machine), tmp_path)
    assert lint(top, names, tmp_path) == []
    elaborate(top, names, tmp_path)


def test_small_sweep_engine_in_the_custom_logic(tmp_path: Path) -> None:
    """Custom logic with a small sweep engine and a clock of its own has no warnings and the floorplan's cell names."""
    use_yosys()
    board = BOARDS["f2-sweep"]
    machine = dataclasses.replace(board.machine, grid=64, states=2, results=0, lanes=4)
    board = dataclasses.replace(board, machine=machine)
    top, names = sources(board, verilog.generate(machine), tmp_path)
    assert lint(top, names, tmp_path) == []
    elaborate(top, names, tmp_path)
    modules = dict(re.findall(r"^module (\S+?) ?\((.*?)^endmodule", (tmp_path / "beltline.v").read_text(), re.M | re.S))
    path = vivado.project(board, {"beltline_build.v": f"64'h{0:016x};"})[
        "cl_beltline/build/constraints/small_shell_cl_pnr_user.xdc"
    ]
    cells = re.findall(r"get_cells WRAPPER/CL/machine/([\w/]+)", path)
    assert {*cells} == {"registers", "tables", *(f"machine/data/lane{lane}" for lane in range(4))}
    for cell in cells:
        module = "beltline"
        for instance in cell.split("/"):
            module, *others = re.findall(rf"^ +(\S+) +{instance} \($", modules[module], re.M)
            assert not others


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
def test_a_mistake_is_seen(file: str, old: str, new: str, small: dict[str, str], tmp_path: Path) -> None:
    top, names = sources(shrunk("f2"), small, tmp_path)
    text = (tmp_path / file).read_text()
    assert old in text
    (tmp_path / file).write_text(text.replace(old, new))
    with pytest.raises(AssertionError):
        assert lint(top, names, tmp_path) == []


@pytest.mark.skipif("HDK_SHELL_DIR" not in os.environ, reason="HDK_SHELL_DIR is not set: there is no AWS kit")
def test_custom_logic_with_the_kit_itself(small: dict[str, str], tmp_path: Path) -> None:
    top, names = sources(shrunk("f2"), small, tmp_path)
    design = Path(os.environ["HDK_SHELL_DIR"]) / "design"
    for file in [*(design / "interfaces").iterdir(), design / "sh_ddr" / "sh_ddr.stub.sv"]:
        (tmp_path / file.name).write_text(file.read_text())
    said = lint(top, [name.replace("sh_ddr.sv", "sh_ddr.stub.sv") for name in names], tmp_path)
    # Warnings in the kit's own files are ignored.
    assert [line for line in said if not re.match(r"%Warning-\w+: (unused_\w+\.inc|sh_ddr\.stub\.sv):", line)] == []
    found = {}
    pattern = r"^\s*(input|output|inout)\b([^\n,/]*?)(\w+)\s*,?\s*(?://.*)?$"
    for way, kind, name in re.findall(pattern, (tmp_path / "cl_ports.vh").read_text(), re.M):
        high = re.search(r"\[(\d+)\s*:\s*0\]", kind)
        found[name] = (way, int(high[1]) + 1 if high else 1)
    assert found == f2_kit.ports()


def test_every_port_of_the_shell_is_driven_once(tmp_path: Path) -> None:
    """Each port of the shell is driven once: by an assignment, by an output of a register slice, or by a template."""
    text = vivado.project(BOARDS["f2"], {"beltline_build.v": f"64'h{0:016x};"})["cl_beltline/design/cl_beltline.sv"]
    assigned = [
        name
        for left in re.findall(r"^ *assign ([^=]+) =", text, re.M)
        for name in re.findall(r"\w+", left.replace("{", "").replace("}", ""))
    ]
    sliced = re.findall(r"\.s_axi_\w+\((cl_\w+)\)", text)
    templates = [name for names in f2_kit.TEMPLATES.values() for name in names.split()]
    driven = [*assigned, *sliced, *templates, *f2_kit.MEMORY.split()]
    wanted = [name for name, (way, _) in f2_kit.ports().items() if way != "input"]
    assert sorted(name for name in driven if name in f2_kit.ports()) == sorted(wanted)


@pytest.mark.slow
@pytest.mark.parametrize("board", DISTINCT, ids=lambda board: board.name)
def test_machine_of_a_board(board: Board, tmp_path: Path) -> None:
    use_yosys()
    top, names = sources(board, verilog.generate(board.machine), tmp_path)
    assert lint(top, names, tmp_path) == []
    elaborate(top, names, tmp_path)
