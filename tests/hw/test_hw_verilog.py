"""The Verilog of a build."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from amaranth.lib.wiring import Out

from hw import verilog
from hw.axi import Axi, AxiLite
from hw.parameters import MachineParameters
from sim.yosys import use_yosys

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
    # No module is there twice.
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


def test_same_build_same_text_and_hash(files: dict[str, str]) -> None:
    assert verilog.generate(MachineParameters(grid=4, states=1)) == files
    assert re.search(r"assign hash = 64'h[0-9a-f]{16};", files["beltline_build.v"])


def test_other_build_other_hash(files: dict[str, str]) -> None:
    other = verilog.generate(MachineParameters(grid=4, states=2))
    assert other["beltline_build.v"] != files["beltline_build.v"]
    assert other["beltline_evaluator.v"] == files["beltline_evaluator.v"]


BUILD = ["--grid", "4", "--states", "1"]


def test_command(files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "build"
    assert verilog.main([*BUILD, "--out", str(out)]) == 0
    assert {path.name: path.read_text() for path in out.iterdir()} == files
    assert capsys.readouterr().out.splitlines() == [str(out / name) for name in sorted(files)]
    assert [path.name for path in out.parent.iterdir()] == ["build"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--grid", "100"], "verilog: grid of a build must be a power of two from 4 to 65536, not 100\n"),
        (["--bus-bits", "96"], "verilog: bus_bits of a build must be 64, 128, 256 or 512, not 96\n"),
    ],
)
def test_command_refuses_a_build(
    arguments: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        verilog.main([*arguments, "--out", str(tmp_path / "build")])
    assert (stop.value.code, capsys.readouterr().err) == (2, sentence)
    assert not any(tmp_path.iterdir())


def test_command_replaces_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "kept").touch()
    with pytest.raises(SystemExit) as stop:
        verilog.main([*BUILD, "--out", str(tmp_path)])
    assert stop.value.code == 2
    assert capsys.readouterr().err == (
        f"verilog: out must be a directory that is not there or empty, not '{tmp_path}'\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_all_files_or_none(tmp_path: Path) -> None:
    with pytest.raises(UnicodeEncodeError):
        verilog.write({"good.v": "module good; endmodule", "bad.v": "\N{BULLET}"}, tmp_path / "build")
    assert not any(tmp_path.iterdir())


def test_command_without_yosys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("YOSYS", str(tmp_path / "nowhere"))
    with pytest.raises(SystemExit) as stop:
        verilog.main([*BUILD, "--out", str(tmp_path / "build")])
    assert stop.value.code == 1
    assert capsys.readouterr().err.startswith("verilog: Yosys, which writes the Verilog, did not: ")
    assert not any(tmp_path.iterdir())
