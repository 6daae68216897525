"""The whole way: the host's driver, a pseudo-terminal, the pins of the gateware bit by bit, and back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import beltline as bl
import host.devices.lock
from host.devices import DeviceLostError, open_device
from hw import serial_frames
from hw.parameters import MachineParameters
from hw.registers import REGISTERS, Refused, Table
from hw.serial_frames import Operation
from hw.serial_machine import SerialParameters
from hw.verilog import generate_serial
from sim.serial_board import SimulatedSerialBoard
from sim.yosys import use_yosys

pytestmark = pytest.mark.gateware

# Four clocks a bit, and a silence that a simulation passes in no time.
BUILT = SerialParameters(MachineParameters(grid=16, states=2, clock_hz=4_000_000), silence=1e-3)
PATIENCE = 20


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    use_yosys()
    return generate_serial(BUILT)


@pytest.fixture
def board(files: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[SimulatedSerialBoard]:
    monkeypatch.setattr(host.devices.lock, "directory", lambda: tmp_path)
    with SimulatedSerialBoard(files, BUILT) as opened:
        yield opened


def same(result: bl.Result, model: bl.Result) -> None:
    assert (result.value == model.value).all()
    assert (result.policy == model.policy).all()
    for name in ("status", "message", "sweeps", "clocks", "change", "residual", "error_bound"):
        assert getattr(result, name) == getattr(model, name)


def test_solves_to_the_bits_and_clocks_of_the_model(board: SimulatedSerialBoard, files: dict[str, str]) -> None:
    given = bl.rbc(grid=16, states=2)
    result = bl.solve(given, tol=1e-4, device="serial", port=board.port, patience=PATIENCE)
    same(result, bl.solve(given, tol=1e-4))
    assert result.device == "serial"
    assert f"{result.build_hash:016x}" in files["beltline_build.v"]


def test_calibrations_on_an_open_device(board: SimulatedSerialBoard) -> None:
    with bl.open("serial", port=board.port, patience=PATIENCE) as device:
        for eta in (1.0, 3.0):
            given = bl.rbc(grid=13, states=2, eta=eta)
            same(device.solve(given, max_sweeps=15), bl.solve(given, max_sweeps=15))
        assert "W" not in device.moved


def test_bytes_that_are_lost_change_nothing(board: SimulatedSerialBoard) -> None:
    """Of what passes the line, now and then a byte is lost, another or one too many, in either direction."""
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
    result = bl.solve(given, max_sweeps=40, device="serial", port=board.port, patience=1.0, retries=20)
    same(result, bl.solve(given, max_sweeps=40))
    assert spoilt >= 3


def test_what_the_bridge_refuses_while_busy_is_flagged(board: SimulatedSerialBoard) -> None:
    device = open_device("serial", port=board.port, patience=PATIENCE)
    for name, value in (("GRID", 16), ("STATES", 2), ("SWEEP_LIMIT", 2**32 - 1), ("COMMAND", 1)):
        device.write_register(name, value)
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
    device.write_register("COMMAND", 4)
    assert device.wait(10.0)
    device.close()


def test_a_host_that_breaks_off_leaves_the_board_usable(board: SimulatedSerialBoard) -> None:
    request = serial_frames.request(1, Operation.WRITE_WORDS, 0, 200, bytes(1600))
    with open(board.port, "wb", buffering=0) as dying:
        dying.write(request[:700])
    device = open_device("serial", port=board.port, patience=1.0)
    assert device.read_register("GRID_MAX") == 16
    device.close()


def test_board_that_is_unplugged(board: SimulatedSerialBoard) -> None:
    device = open_device("serial", port=board.port, patience=0.3, retries=1)
    board.close()
    board.close()
    with pytest.raises(DeviceLostError, match=f"^device 'serial' at '{re.escape(board.port)}', 1000000 baud, "):
        device.read_register("STATUS")
    device.close()
