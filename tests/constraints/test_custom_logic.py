"""The custom logic of AWS F2: its files, the script that builds it, its clock, and its floorplan."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from beltline.constraints import vivado
from beltline.constraints.boards import BOARDS, Board
from beltline.constraints.fabric_clock import at_clock
from beltline.constraints.written_directory import place
from support.vivado_projects import HASH, Write, needs_tcl, stand_in
from support.vivado_stub import Vivado, run

KIT = """\
import sys
from pathlib import Path

tag = sys.argv[sys.argv.index("--tag") + 1]
assert sys.argv[sys.argv.index("--cl") + 1] == Path.cwd().parents[1].name == "cl_beltline"
assert sys.argv[sys.argv.index("--mode") + 1] == "small_shell"
assert Path("encrypt.tcl").exists() and Path("synth_cl_beltline.tcl").exists()
checkpoints = Path("../checkpoints")
for name in (Path(__file__).resolve().parent / "leaves.txt").read_text().split():
    (checkpoints / name.replace("TAG", tag)).touch()
"""

GOOD = "cl_beltline.TAG.post_route.dcp TAG.Developer_CL.tar"


@pytest.mark.parametrize(
    ("leaves", "sentence"),
    [
        (GOOD, ""),
        ("cl_beltline.TAG.post_route.VIOLATED.dcp TAG.Developer_CL.tar", "build: timing is not met: see "),
        ("", "build: no routed checkpoint: see "),
        ("cl_beltline.TAG.post_route.dcp", "build: no tarball: see "),
        (GOOD + " fail-reports", "build: the reports failed: see "),
    ],
)
def test_build_of_custom_logic(leaves: str, sentence: str, written: Write, tmp_path: Path) -> None:
    directory = written(BOARDS["f2"])
    scripts = tmp_path / "shell" / "build" / "scripts"
    scripts.mkdir(parents=True)
    for name in ("aws_build_dcp_from_cl.py", "build_all.tcl", "build_level_1_cl.tcl", "encrypt.tcl"):
        (scripts / name).write_text(KIT)
    (scripts / "leaves.txt").write_text(leaves)
    tools = tmp_path / "tools"
    tools.mkdir()
    # Here the substitute for Vivado only writes reports; a substitute for the HDK's script writes the other files.
    refusal = "case $* in *report.tcl*) exit 1;; esac\n" if "fail-reports" in leaves else ""
    (tools / "vivado").write_text(f"#!/bin/sh\n{refusal}")
    (tools / "vivado").chmod(0o755)
    environment = {"PATH": f"{tools}:/usr/bin:/bin", "HDK_SHELL_DIR": str(tmp_path / "shell")}
    done = subprocess.run(["sh", directory / "build.sh"], env=environment, capture_output=True, text=True, check=False)
    if sentence:
        assert (done.returncode, done.stderr.startswith(sentence)) == (1, True), done.stderr
        assert done.stderr.count("\n") == 1
    else:
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.endswith(f"/beltline-f2-{HASH}.Developer_CL.tar\n")


@needs_tcl
def test_reports_of_custom_logic(written: Write) -> None:
    directory = written(BOARDS["f2"])
    (directory / "routed.dcp").touch()
    (directory / "out").mkdir()
    place = [str(directory / "routed.dcp"), str(directory / "out")]
    assert run(Vivado(directory), directory / "report.tcl", arguments=place).said == ""
    assert {path.name for path in (directory / "out").iterdir()} == {"timing.txt", "utilization.txt"}


def test_build_of_custom_logic_without_the_kit(written: Write) -> None:
    directory = written(BOARDS["f2"])
    done = subprocess.run(
        ["sh", directory / "build.sh"], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (
        1,
        "build: HDK_SHELL_DIR is not set: source hdk_setup.sh of aws-fpga, branch f2\n",
    )


CLOCKED = [at_clock(BOARDS["f2"], 125), at_clock(BOARDS["f2"], 266.667), BOARDS["f2-sweep"]]
"""Return the boards whose machine has a clock of its own."""

LANES = {f"machine/machine/data/lane{lane}" for lane in range(32)}
BUSES = {"ocl_slice", "pcis_slice", "machine/registers", "machine/tables"}
CONVERTERS = {"ocl_converter", "pcis_converter"}
RESETS = "machine_resets_reg[*]/PRE"

CONSTRAINTS = "cl_beltline/build/constraints/"


@pytest.mark.parametrize("board", CLOCKED, ids=lambda board: board.name + board.suffix)
def test_machine_with_its_own_clock(board: Board) -> None:
    files = vivado.project(board, stand_in(board))
    text = files["cl_beltline/design/cl_beltline.sv"]
    multiplier, divider = (
        float(re.findall(rf"\.{name}\(([\d.]+)\)", text)[0]) for name in ("CLKFBOUT_MULT_F", "CLKOUT0_DIVIDE_F")
    )
    assert 100e6 * multiplier / divider == pytest.approx(board.machine.clock_hz, abs=0.5)
    assert (multiplier * 8).is_integer()
    assert (divider * 8).is_integer()
    assert "@" not in text.replace("@(posedge", "")
    # The machine and its memories use the machine's clock; only the parts next to the shell use the shell's.
    machine = text.split("    // The shell's identifiers have 16 bits")[1]
    assert "clk_main_a0" not in machine
    assert re.findall(r"\.clk\((\w+)\)", machine) == ["machine_clk"]
    scripts = files["cl_beltline/build/scripts/synth_cl_beltline.tcl"]
    for converter in ("cl_axi_clock_converter", "cl_axi_clock_converter_light"):
        assert f"    ${{HDK_IP_SRC_DIR}}/{converter}/{converter}.xci \\\n" in scripts


def test_a_directory_with_changed_or_missing_files_is_not_up_to_date(tmp_path: Path) -> None:
    files = {"a.v": "module a; endmodule\n", "tcl/b.tcl": "exit\n"}
    assert place(files, tmp_path / "d")
    (tmp_path / "d" / "result.txt").write_text("slack 0.1\n")
    assert not place(files, tmp_path / "d")
    (tmp_path / "d" / "a.v").write_text("module a(); endmodule\n")
    with pytest.raises(FileExistsError):
        place(files, tmp_path / "d")
    (tmp_path / "d" / "a.v").unlink()
    with pytest.raises(FileExistsError):
        place(files, tmp_path / "d")


def test_machine_on_the_clock_of_the_shell() -> None:
    files = vivado.project(BOARDS["f2"], stand_in(BOARDS["f2"]))
    text = files["cl_beltline/design/cl_beltline.sv"]
    assert "    assign machine_clk = clk_main_a0;\n" in text
    assert not re.search("MMCM|converter|shell_(ocl|pcis)|@[A-Z]", text)
    assert "converter" not in files["cl_beltline/build/scripts/synth_cl_beltline.tcl"]
    # A sweep engine at 250 MHz needs neither a clock nor a floorplan.
    board = at_clock(BOARDS["f2-sweep"], 250)
    assert vivado.project(board, stand_in(board))["cl_beltline/design/cl_beltline.sv"] == text


def placed(board: Board, directory: Path, logic: set[str]) -> Vivado:
    """Return the constraints of a board's custom logic, as the substitute for Vivado reads them."""
    model = Vivado(directory, logic=logic)
    for name in ("cl_timing_user.xdc", "small_shell_cl_pnr_user.xdc"):
        assert run(model, directory / CONSTRAINTS / name).said == ""
    return model


@needs_tcl
def test_reset_alone_is_excepted_from_timing(written: Write) -> None:
    for board in CLOCKED:
        model = placed(board, written(board), {RESETS} | LANES | BUSES | CONVERTERS)
        assert model.excepted == [RESETS]
    assert placed(BOARDS["f2"], written(at_clock(BOARDS["f2"], 200)), {RESETS}).placed == {}


@needs_tcl
@pytest.mark.parametrize("mhz", [125, 250])
def test_every_lane_has_a_place(mhz: int, written: Write) -> None:
    board = at_clock(BOARDS["f2-sweep"], mhz)
    cells = LANES | BUSES | (CONVERTERS if mhz == 125 else set())
    model = placed(board, written(board), cells | {RESETS})
    assert set(model.placed) == {f"WRAPPER/CL/{cell}" for cell in cells}
    for number, lanes in enumerate((12, 7, 13)):
        block = f"pblock_SLR{number}"
        assert sum(place == block for cell, place in model.placed.items() if "/lane" in cell) == lanes
        # A super logic region of a VU47P is four clock regions high.
        assert {y // 4 for _, y in model.blocks[block]} == {number}
    assert {model.placed[f"WRAPPER/CL/{cell}"] for cell in cells - LANES} == {"pblock_SLR1"}
