"""The Verilog of a build."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from amaranth.lib.wiring import Out

from beltline.hw.bus.axi import Axi, AxiLite
from beltline.hw.interface.builds import read
from beltline.hw.interface.parameters import MachineParameters, Multiplier
from beltline.hw.interface.registers import Engine
from beltline.hw.top import content, verilog
from beltline.hw.top.serial_machine import SerialParameters
from beltline.sim.yosys import use_yosys
from support.builds import assert_builds, assert_refuses
from support.paths import ROOT

pytestmark = pytest.mark.gateware


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    use_yosys()
    return verilog.generate(MachineParameters(grid=4, states=1))


def modules(text: str) -> list[str]:
    return re.findall(r"^module (\\?\S+?)\s*[#(]", text, re.M)


def test_files_and_top_modules(files: dict[str, str]) -> None:
    assert list(files) == ["beltline_evaluator.v", "beltline_ram.v", "beltline.v", "beltline_build.v"]
    for name, text in files.items():
        assert name.removesuffix(".v") in modules(text)
    # No module is defined twice.
    every = [module for text in files.values() for module in modules(text)]
    assert len(every) == len(set(every))


def test_ports_are_those_of_the_design(files: dict[str, str]) -> None:
    top = files["beltline.v"].split("module beltline(")[1]
    ports = re.findall(r"^  (input|output) (?:\[(\d+):0\] )?(\w+);", top.split("endmodule")[0], re.M)
    seen = {name: (way, int(high or 0) + 1) for way, high, name in ports}
    buses = {"s_axi_registers": AxiLite(12), "s_axi_tables": Axi(15, 64, 4)}
    wanted = {
        f"{bus}_{name}": ("input" if member.flow is Out else "output", member.shape)
        for bus, signature in buses.items()
        for name, member in signature.members.items()
    }
    assert seen == wanted | {"clk": ("input", 1), "rst": ("input", 1), "interrupt": ("output", 1)}


@pytest.mark.parametrize(
    "options",
    [
        {"grid": 32, "states": 4, "lanes": 4},
        {"grid": 16, "states": 8, "lanes": 2, "general": True},
    ],
    ids=["sweep", "general"],
)
def test_every_process_has_an_input(options: dict[str, Any]) -> None:
    """A process that only assigns a constant never runs in a simulator, and its signal is undefined.

    Yosys writes one for bits of a signal that are constant while others are assigned under a condition.
    """
    use_yosys()
    for name, text in verilog.generate(MachineParameters(engine=Engine.SWEEP, **options)).items():
        assert re.findall(r"always @\*\s+(\S+) = \d+'[bdh][0-9a-f]+;", text) == [], name


def test_same_build_same_text_and_hash(files: dict[str, str]) -> None:
    verilog._generated.cache_clear()
    assert verilog.generate(MachineParameters(grid=4, states=1)) == files
    assert re.search(r"assign hash = 64'h[0-9a-f]{16};", files["beltline_build.v"])


def test_other_build_other_hash(files: dict[str, str]) -> None:
    other = verilog.generate(MachineParameters(grid=4, states=2))
    assert other["beltline_build.v"] != files["beltline_build.v"]
    assert other["beltline_evaluator.v"] == files["beltline_evaluator.v"]


def test_hash_is_of_all_that_is_no_comment() -> None:
    files = {"a.v": "/* Yosys 0.70\n, of a path */\n\nmodule a; // one\nendmodule\n", "b.v": "x"}
    assert content.content_hash(files) == content.content_hash({"b.v": "x\n", "a.v": "module a;\nendmodule"})
    hashes = {
        content.content_hash(other)
        for other in (files, {"a.v": files["a.v"]}, files | {"b.v": "y"}, {"a.v": files["a.v"], "c.v": "x"})
    }
    assert len(hashes) == 4


BUILD = ["--grid", "4", "--states", "1"]


def test_hash_is_that_of_other_processes_and_directories(files: dict[str, str], tmp_path: Path) -> None:
    root = ROOT
    for seed in ("1", "2"):
        there = tmp_path / seed
        there.mkdir()
        command = [sys.executable, "-m", "beltline.hw.top.verilog", *BUILD, "--out", "build"]
        environment = os.environ | {"PYTHONPATH": str(root), "PYTHONHASHSEED": seed}
        subprocess.run(command, cwd=there, env=environment, check=True, stdout=subprocess.DEVNULL)
        assert {path.name: path.read_text() for path in (there / "build").glob("*.v")} == files
    # The text has no part that differs between computers with the same Yosys.
    for name, text in files.items():
        code = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        assert not re.search(r"\bsrc\b|\.py\b|/\w+/", code), name
        for path in (root, Path.home(), Path(sys.prefix)):
            assert str(path) not in text


def test_command(files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "build"
    assert verilog.main([*BUILD, "--out", str(out)]) == 0
    assert {path.name: path.read_text() for path in out.glob("*.v")} == files
    names = sorted([*files, "build.json"])
    assert capsys.readouterr().out.splitlines() == [str(out / name) for name in names]
    (build,) = read(out / "build.json")
    assert build == verilog.build(files, MachineParameters(grid=4, states=1))
    assert f"64'h{build.digits};" in files["beltline_build.v"]
    assert [path.name for path in out.parent.iterdir()] == ["build"]


@pytest.mark.parametrize(
    ("arguments", "parameters"),
    [
        ([], MachineParameters()),
        (
            ["--fold", "3", "--evaluators", "1", "--multiplier", "DSP48E1"],
            MachineParameters(fold=3, evaluators=1, multiplier=Multiplier.DSP48E1),
        ),
        (["--clock-hz", "4000000", "--baud", "1000000"], SerialParameters(MachineParameters(clock_hz=4_000_000))),
        (
            ["--engine", "SWEEP", "--lanes", "4", "--grid", "64"],
            MachineParameters(grid=64, engine=Engine.SWEEP, lanes=4),
        ),
    ],
)
def test_options_of_a_build(
    arguments: list[str],
    parameters: MachineParameters | SerialParameters,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    assert_builds(verilog.main, arguments, parameters, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--grid", "100"], "verilog: grid of a build must be a power of two from 4 to 65536, not 100\n"),
        (["--bus-bits", "96"], "verilog: bus_bits of a build must be 64, 128, 256 or 512, not 96\n"),
        (["--fold", "0"], "verilog: fold of a build must be from 1 to 15, not 0\n"),
        (["--engine", "sweep"], "verilog: engine of a build must be one of ASSEMBLY_LINE, SWEEP, not 'sweep'\n"),
        (["--lanes", "2"], "verilog: lanes of a build of the assembly line must be 1, not 2\n"),
        (
            ["--engine", "SWEEP", "--lanes", "4", "--grid", "16"],
            "verilog: grid of a build with 4 lanes must be a power of two from 32 to 65536, not 16\n",
        ),
        (["--evaluators", "3"], "verilog: evaluators of a build must be 1, 2 or 4, not 3\n"),
        (
            ["--multiplier", "DSP58"],
            "verilog: multiplier of a build must be one of DSP48E2, DSP48E1, MULT18X18D, not 'DSP58'\n",
        ),
        (["--baud", "9600"], "verilog: clock_hz of a build with a serial line must be given, not 0\n"),
    ],
)
def test_command_refuses_a_build(
    arguments: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert_refuses(verilog.main, arguments, sentence, tmp_path, capsys)


def test_command_replaces_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "kept").touch()
    with pytest.raises(SystemExit) as stop:
        verilog.main([*BUILD, "--out", str(tmp_path)])
    assert stop.value.code == 2
    assert capsys.readouterr().err == (
        f"verilog: out must be a directory that is empty or does not exist, not '{tmp_path}'\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_all_files_or_none(tmp_path: Path) -> None:
    with pytest.raises(UnicodeEncodeError):
        verilog.write({"good.v": "module good; endmodule", "bad.v": "\N{BULLET}"}, tmp_path / "build")
    assert not any(tmp_path.iterdir())


def test_error_names_the_given_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(verilog, "generate", lambda _: {"beltline_build.v": "64'h000000000000abcd;"})
    # A temporary directory with the name of this one and more has a name that is too long.
    out = tmp_path / ("b" * 250)
    with pytest.raises(SystemExit) as stop:
        verilog.main(["--out", str(out)])
    assert (stop.value.code, capsys.readouterr().err) == (
        1,
        f"verilog: '{out}' cannot be written: File name too long\n",
    )
    with pytest.raises(OSError, match=f"File name too long: '{re.escape(str(out))}'$"):
        verilog.write({}, out)
    assert not any(tmp_path.iterdir())


def test_command_without_yosys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("YOSYS", str(tmp_path / "nowhere"))
    verilog._generated.cache_clear()
    with pytest.raises(SystemExit) as stop:
        verilog.main([*BUILD, "--out", str(tmp_path / "build")])
    assert stop.value.code == 1
    assert capsys.readouterr().err.startswith("verilog: Yosys could not write the Verilog: ")
    assert not any(tmp_path.iterdir())
