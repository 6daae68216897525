"""Verilog that comes with a wheel: the matching files are found, and no others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from beltline.host.devices.base import DeviceError
from beltline.host.devices.rtl import _verilog
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.top import presets, verilog
from beltline.sim import machine_verilog, yosys
from beltline.sim.cache import SimulationError

SMALL = MachineParameters(grid=4, states=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    yosys.use_yosys()
    found = tmp_path_factory.mktemp("presets") / "written"
    (place,) = presets.write_presets([SMALL], found)
    assert place.parent == found
    return found


@pytest.fixture
def no_yosys(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(progress: object) -> str:
        raise SimulationError("Yosys is not installed")

    monkeypatch.setattr(machine_verilog, "use_yosys", missing)


@pytest.mark.usefixtures("no_yosys")
def test_what_was_written_needs_no_yosys(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert presets.find(SMALL, folder) == verilog.generate(SMALL)
    monkeypatch.setattr(presets, "FOLDER", folder)
    monkeypatch.setattr(verilog, "generate", lambda _: pytest.fail("generated"))
    assert _verilog(SMALL, None) == presets.find(SMALL, folder)
    sentence = "Yosys is not installed; without it only these sizes can be simulated (grid points x states): 4 x 1"
    with pytest.raises(DeviceError, match=f"^{re.escape(sentence)}$"):
        _verilog(MachineParameters(grid=8, states=1), None)


def test_other_machines_and_other_sources_are_not_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert presets.find(MachineParameters(grid=4, states=2), folder) is None
    assert presets.find(MachineParameters(grid=4, states=1, bus_bits=128), folder) is None
    monkeypatch.setattr(presets, "stamp", lambda: "of other sources")
    assert presets.find(SMALL, folder) is None
    assert presets.find(SMALL, folder / "nowhere") is None


@pytest.mark.usefixtures("no_yosys")
def test_damage_is_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presets, "FOLDER", folder)
    (place,) = folder.iterdir()
    for name, old, new in (
        ("beltline.v", "endmodule", "wire more; endmodule"),
        ("beltline_build.v", "64'h", "64'h0"),
        ("build.json", '"hash": "', '"hash": "0'),
    ):
        text = (place / name).read_text(encoding="ascii")
        (place / name).write_text(text.replace(old, new, 1), encoding="ascii")
        with pytest.raises(DeviceError, match=r"^the Verilog in .* is damaged[: ].*install again$"):
            _verilog(SMALL, None)
        (place / name).write_text(text, encoding="ascii")
    (place / "beltline_ram.v").rename(folder / "kept")
    with pytest.raises(DeviceError, match=r"^the Verilog in .* is damaged: its hash is .*: install again$"):
        _verilog(SMALL, None)
    (folder / "kept").rename(place / "beltline_ram.v")


def test_the_stamp_is_of_every_source_of_the_gateware(monkeypatch: pytest.MonkeyPatch) -> None:
    from beltline import compiled

    here = Path(presets.__file__).resolve().parents[1]
    named = {path for path in (here / "line").glob("*.py") if path.name not in ("__init__.py", "model.py")}
    seen = {here / "top" / "verilog.py"}
    waiting = list(seen)
    while waiting:
        for other in compiled._content(waiting.pop())[1] - seen:
            seen.add(other)
            waiting.append(other)
    assert {path.name for path in named - seen} <= {"clocks.py"}
    assert here / "arithmetic" / "polynomials.py" in seen
