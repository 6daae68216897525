"""The custom logic of AWS F2: its files, the script that builds it, its clock, and where its lanes go."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from beltline.constraints import vivado
from beltline.constraints.boards import BOARDS
from support.vivado_projects import HASH, Write, needs_tcl, stand_in
from support.vivado_stub import Vivado, run


def test_custom_logic_has_the_form_of_the_kit() -> None:
    board = BOARDS["f2"]
    files = vivado.project(board, stand_in(board))
    assert set(files) == {
        "build.sh",
        "report.tcl",
        "cl_beltline/design/cl_beltline.sv",
        "cl_beltline/design/cl_beltline_defines.vh",
        "cl_beltline/design/cl_id_defines.vh",
        "cl_beltline/design/beltline.v",
        "cl_beltline/design/beltline_build.v",
        "cl_beltline/build/constraints/cl_synth_user.xdc",
        "cl_beltline/build/constraints/cl_timing_user.xdc",
        "cl_beltline/build/constraints/small_shell_cl_pnr_user.xdc",
        "cl_beltline/build/scripts/synth_cl_beltline.tcl",
    }
    # As the kit's script takes the numbers apart.
    ids = {}
    for line in files["cl_beltline/design/cl_id_defines.vh"].splitlines():
        if found := re.search(r"\s*`define\s*(CL_SH_ID\d)", line):
            ids[found[1]] = line.split()[2].lstrip("32'h").split("_")
    assert [len(part) for parts in ids.values() for part in parts] == [4, 4, 4, 4]
    assert ids["CL_SH_ID0"][1] == "1D0F"
    assert 0xF000 <= int(ids["CL_SH_ID0"][0], 16) <= 0xF0FF


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
    # Only the reports are asked of it here; the rest is done by what stands in for the HDK's script.
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
