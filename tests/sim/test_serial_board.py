"""The whole path: the host's driver, a pseudo-terminal, the pins of the gateware bit by bit, and back."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import beltline as bl
import beltline.host.devices.lock
import beltline.host.solver.checked
from beltline.host.devices import Device, DeviceLostError, open_device
from beltline.host.solver.driver import Driver
from beltline.host.solver.fixed_point import fixed_point
from beltline.hw.bus import serial_frames
from beltline.hw.bus.serial_frames import Operation
from beltline.hw.interface.builds import to_json
from beltline.hw.interface.parameters import MachineParameters, Multiplier
from beltline.hw.interface.registers import REGISTERS, Command, Engine, Refused, Table
from beltline.hw.top import verilog
from beltline.hw.top.serial_machine import SerialParameters
from beltline.sim.serial_board import SimulatedSerialBoard
from beltline.sim.yosys import use_yosys
from support.compared import same

pytestmark = pytest.mark.gateware

# Four clocks per bit, and a pause that is short in simulation.
# One evaluator does everything, as on the ECP5 board.
BUILT = SerialParameters(
    MachineParameters(grid=16, states=2, clock_hz=4_000_000, fold=15, evaluators=1, multiplier=Multiplier.MULT18X18D),
    silence=1e-3,
)
PATIENCE = 20


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    use_yosys()
    return verilog.generate_serial(BUILT)


@pytest.fixture(scope="module")
def record(files: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the record of the build and return its path."""
    path = tmp_path_factory.mktemp("build") / "build.json"
    path.write_text(to_json([verilog.build(files, BUILT)]))
    return path


@pytest.fixture
def board(files: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[SimulatedSerialBoard]:
    monkeypatch.setattr(beltline.host.devices.lock, "directory", lambda: tmp_path)
    with SimulatedSerialBoard(files, BUILT) as opened:
        yield opened


@pytest.fixture
def options(board: SimulatedSerialBoard, record: Path) -> dict[str, Any]:
    """Return the options of a device that reaches the board."""
    return {"port": board.port, "builds": record, "patience": PATIENCE}


def folded(given: bl.Problem, **arguments: Any) -> bl.Result:
    """Return the software model's result, with the clocks of this build."""
    return bl.solve(given, device=open_device("emulator", BUILT.machine), **arguments)


def test_solves_to_the_bits_and_clocks_of_the_model(options: dict[str, Any], files: dict[str, str]) -> None:
    given = bl.rbc(grid=16, states=2)
    result = bl.solve(given, tol=1e-4, device="serial", **options)
    same(result, folded(given, tol=1e-4), "clocks")
    # The bits are those of any line; only the clocks are more.
    plain = bl.solve(given, tol=1e-4, device="emulator")
    assert (result.value == plain.value).all()
    assert (result.policy == plain.policy).all()
    assert result.clocks > plain.clocks
    assert result.device == "serial"
    assert f"{result.build_hash:016x}" in files["beltline_build.v"]


def test_bytes_that_are_lost_change_nothing(board: SimulatedSerialBoard, options: dict[str, Any]) -> None:
    """Results are right although in both directions some bytes are lost, changed or added on the line."""
    random = np.random.default_rng(5)
    spoilt = 0

    def spoil(data: bytes, towards: bool) -> bytes:
        nonlocal spoilt
        if not data or random.random() > 0.06:
            return data
        spoilt += 1
        place = int(random.integers(len(data)))
        other = bytes((int(random.integers(256)),))
        middle = [b"", other, data[place : place + 1] + other][int(random.integers(3))]
        return data[:place] + middle + data[place + 1 :]

    given = bl.rbc(grid=16, states=2)
    board.line = spoil
    result = bl.solve(given, max_sweeps=40, device="serial", **options | {"patience": 1.0, "retries": 20})
    same(result, folded(given, max_sweeps=40), "clocks")
    assert spoilt >= 3


def begin_endless(device: Device) -> None:
    Driver(device).run(fixed_point(bl.rbc(grid=16, states=2), 1e-6), 1)
    for name, value in (("SWEEP_LIMIT", 2**32 - 1), ("EPSILON", 0), ("COMMAND", Command.RUN)):
        device.write_register(name, value)


def test_what_the_bridge_refuses_while_busy_is_flagged(options: dict[str, Any]) -> None:
    device = open_device("serial", **options)
    begin_endless(device)
    windows = device.windows()  # type: ignore[attr-defined]
    sent = (
        (Operation.WRITE_REGISTER, REGISTERS["GRID"].offset, bytes(4), Refused.REGISTER),
        (Operation.WRITE_WORDS, windows.offset(Table.V), bytes(8), Refused.REGISTER | Refused.TABLE),
    )
    for operation, address, payload, refused in sent:
        with pytest.raises(bl.DeviceError, match=f" refuses {operation.name} at byte {address}: it is busy$"):
            device._ask(operation, address, payload=payload)  # type: ignore[attr-defined]
        assert device.read_register("REFUSED") == refused
    assert device.read_register("GRID") == 16
    device.write_register("COMMAND", Command.RESET)
    assert device.wait(10.0)
    device.close()


def test_a_host_that_breaks_off_leaves_the_board_usable(board: SimulatedSerialBoard, options: dict[str, Any]) -> None:
    request = serial_frames.request(1, Operation.WRITE_WORDS, 0, 200, bytes(1600))
    with open(board.port, "wb", buffering=0) as dying:
        dying.write(request[:700])
    device = open_device("serial", **options | {"patience": 1.0})
    assert device.read_register("GRID_MAX") == 16
    device.close()


def test_host_that_is_killed_in_a_run(board: SimulatedSerialBoard, options: dict[str, Any]) -> None:
    """After a host is killed in a run, its port and lock are free, and the next host stops that run and solves."""
    program = (
        "import sys, beltline as bl; print('begun', flush=True); "
        "bl.solve(bl.rbc(grid=16, states=2), tol=1e-14, max_sweeps=10**6, device='serial', progress=False, "
        "port=sys.argv[1], builds=sys.argv[2], patience=20)"
    )
    command = [sys.executable, "-c", program, board.port, str(options["builds"])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == "begun\n"
        before = board.clocks_simulated
        until = time.monotonic() + 60
        while board.clocks_simulated < before + 200_000:
            assert time.monotonic() < until
            time.sleep(0.05)
        killed.kill()
    given = bl.rbc(grid=16, states=2)
    same(bl.solve(given, max_sweeps=3, device="serial", **options), folded(given, max_sweeps=3), "clocks")


def test_another_rate_than_the_build(files: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A rate that is lower than the build's, so that bits are longer, is reported."""
    baud = 400_000
    monkeypatch.setattr(beltline.host.devices.lock, "directory", lambda: tmp_path)
    with (
        SimulatedSerialBoard(files, replace(BUILT, baud=baud)) as board,
        pytest.raises(DeviceLostError, match=f"^device 'serial' at '{board.port}', {baud} baud, .*, asked 2 times: "),
    ):
        open_device("serial", port=board.port, baud=baud, patience=0.5, retries=1)


SWEEPS = SerialParameters(
    MachineParameters(grid=16, states=2, clock_hz=4_000_000, engine=Engine.SWEEP, multiplier=Multiplier.MULT18X18D),
    silence=1e-3,
)
"""A sweep engine of one lane, as on board ``ecp5-sweep``."""


@pytest.mark.slow
def test_a_sweep_engine_solves_to_the_bits_and_clocks_of_the_model(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use_yosys()
    more: dict[str, Any] = {"method": "shift", "start": "stay"}
    files = verilog.generate_serial(SWEEPS)
    record = tmp_path / "build.json"
    record.write_text(to_json([verilog.build(files, SWEEPS)]))
    monkeypatch.setattr(beltline.host.devices.lock, "directory", lambda: tmp_path)
    given = bl.rbc(grid=16, states=2)
    with SimulatedSerialBoard(files, SWEEPS) as board:
        found = bl.solve(given, tol=1e-4, device="serial", port=board.port, builds=record, patience=PATIENCE, **more)
    same(found, bl.solve(given, tol=1e-4, device=open_device("emulator", SWEEPS.machine), **more), "clocks")
    assert found.success
    assert found.clocks > 0
