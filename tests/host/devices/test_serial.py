"""The device on a serial line: errors and delays at the host's end of the line."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import beltline as bl
import beltline.host.devices.lock
from beltline.host.cli.main import main
from beltline.host.devices import DEVICES, DeviceError, DeviceInUseError, DeviceLostError, open_device
from beltline.host.devices import serial as backend
from beltline.host.devices.inventory import inventory, table
from beltline.hw.bus.serial_frames import ANSWER, Operation, Outcome, line_bytes
from beltline.hw.bus.serial_frames import answer as framed
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import REGISTERS, Command, Table
from support.boards import Fabric
from support.fakes import problem
from support.serial_end import SerialEnd

SMALL = MachineParameters(grid=16, states=3, results=288)
RUN = (int(Operation.WRITE_REGISTER), REGISTERS["COMMAND"].offset)
QUICK = {"patience": 0.1, "retries": 2}


@pytest.fixture
def end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[SerialEnd]:
    monkeypatch.setattr(beltline.host.devices.lock, "directory", lambda: tmp_path)
    monkeypatch.setattr(backend, "SILENCE", 0.02)
    made = SerialEnd(Fabric(SMALL))
    yield made
    made.close()
    assert made.fabric.guards_hold()


def opened(end: SerialEnd, **options: Any) -> Any:
    return open_device("serial", port=end.port, **(QUICK | options))


def sentence(kind: type[Exception], text: str) -> Any:
    return pytest.raises(kind, match="^" + re.escape(text) + "$")


def every_other() -> Callable[[], bool]:
    """Return True at every second call."""
    calls = iter(range(10**9))
    return lambda: next(calls) % 2 == 1


def flip(data: bytes) -> bytes:
    return data[:-1] + bytes((data[-1] ^ 1,))


@pytest.mark.parametrize(
    "spoilt",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data[1:],
        lambda data: b"\0" + data,
        flip,
        lambda data: bytes((data[0] ^ 0x80,)) + data[1:],
        lambda data: data[:1] + bytes((data[1] ^ 1,)) + data[2:],
    ],
    ids=["lost", "cut short", "less its first byte", "after noise", "check wrong", "first byte wrong", "tag wrong"],
)
@pytest.mark.parametrize("towards", [True, False], ids=["requests", "answers"])
def test_every_other_frame_spoilt(end: SerialEnd, towards: bool, spoilt: Callable[[bytes], bytes]) -> None:
    device = opened(end)
    now = every_other()
    end.spoil = lambda data, there: spoilt(data) if there is towards and data and now() else data
    words = np.arange(5) * 10**17
    device.write_block(Table.W, 3, words)
    assert (device.read_block(Table.W, 3, 5) == words).all()
    device.write_register("GRID", 7)
    assert device.read_register("GRID") == 7
    device.close()


@pytest.mark.parametrize("count", [1, 96, 288])
def test_bytes_on_the_line(end: SerialEnd, count: int) -> None:
    """Each request has the documented number of bytes, and the largest table takes several requests."""
    device = opened(end)
    passed = 0

    def pass_on(data: bytes, towards: bool) -> bytes:
        nonlocal passed
        passed += len(data)
        return data

    end.spoil = pass_on
    words = np.arange(count)
    offset = device.windows().offset(Table.V)
    device._write_words(offset, words)
    assert passed == line_bytes(Operation.WRITE_WORDS, count)
    passed = 0
    device._read_words(offset, words)
    assert passed == line_bytes(Operation.READ_WORDS, count)
    device.close()


def test_a_run_begins_once_even_if_its_answer_is_lost(end: SerialEnd) -> None:
    given = problem(12, 3)
    lost = []

    def lose(data: bytes, towards: bool) -> bytes:
        if not towards and end.requests[-1] == RUN and commands[-1] == Command.RUN and not lost:
            lost.append(data)
            return b""
        return data

    end.spoil = lose
    commands = []
    command = end.fabric._command
    end.fabric._command = lambda word: (commands.append(word), command(word))[1]  # type: ignore[func-returns-value, method-assign]
    result = bl.solve(given, tol=1e-4, device="serial", port=end.port, **QUICK)
    # Five at least, and more if an answer is late.
    assert len(lost) == 1
    assert end.requests.count(RUN) >= 5
    assert commands == [Command.RESET, Command.RUN, Command.SUM, Command.SUM]
    model = bl.solve(given, tol=1e-4, device="emulator")
    assert (result.value == model.value).all()
    assert (result.sweeps, result.clocks) == (model.sweeps, model.clocks)


def where(end: SerialEnd) -> str:
    return f"device 'serial' at '{end.port}', 1000000 baud,"


@pytest.mark.parametrize(
    ("towards", "spoilt", "says"),
    [
        (True, lambda data: b"", "does not answer"),
        (False, lambda data: data[:3], "does not answer in full"),
        (False, flip, "returned a damaged answer"),
        (True, flip, "received a damaged request"),
        (
            False,
            lambda data: framed(data[1] ^ 1, Outcome.DONE, data[3:-4]),
            "answered another request than the last one",
        ),
    ],
)
def test_a_device_that_is_lost_is_named(
    end: SerialEnd, towards: bool, spoilt: Callable[[bytes], bytes], says: str
) -> None:
    device = opened(end)
    end.spoil = lambda data, there: spoilt(data) if there is towards else data
    begin = time.monotonic()
    with sentence(DeviceLostError, f"{where(end)} {says}, asked 3 times"):
        device.read_register("STATUS")
    assert time.monotonic() - begin < 5
    # The device can be used again once the line works.
    end.spoil = lambda data, there: data
    assert device.read_register("STATUS") == 0
    device.close()


def test_no_device_at_the_other_end(end: SerialEnd) -> None:
    end.spoil = lambda data, towards: b""
    asked = f"{where(end)} does not answer, asked 3 times: is it the board's port, and the rate of its build?"
    with sentence(DeviceLostError, asked):
        opened(end)
    end.spoil = lambda data, towards: data
    opened(end).close()


def test_another_device_at_the_other_end(end: SerialEnd) -> None:
    end.fabric.identity = 0x1234
    with sentence(DeviceError, "device 'serial' has identity 0x00001234, not 0x424C5431: not a Beltline"):
        opened(end)


def test_a_line_that_babbles(end: SerialEnd) -> None:
    device = opened(end)
    end.spoil = lambda data, towards: data if towards else bytes((ANSWER,)) * 300
    with sentence(DeviceLostError, f"{where(end)} returned a damaged answer, asked 3 times"):
        device.read_register("STATUS")
    device.close()


def test_unplugged(end: SerialEnd) -> None:
    device = opened(end)
    end.close()
    with pytest.raises(DeviceLostError, match=f"^{re.escape(where(end))} (is gone: |does not answer, asked 3 times$)"):
        device.read_register("STATUS")
    device.close()
    with sentence(DeviceError, "device 'serial' is closed"):
        device.read_register("STATUS")


def test_unplugged_during_a_run(end: SerialEnd) -> None:
    answers = []

    def unplug(data: bytes, towards: bool) -> bytes:
        answers.append(data)
        return data if RUN not in end.requests else b""

    end.spoil = unplug
    with sentence(DeviceLostError, f"{where(end)} does not answer, asked 3 times"):
        bl.solve(problem(12, 3), tol=1e-9, device="serial", port=end.port, **QUICK)


def test_what_the_board_refuses_is_a_sentence(end: SerialEnd) -> None:
    """Each refusal of the board is reported in a sentence; the test sends such requests itself."""
    device = opened(end)
    with sentence(DeviceError, f"{where(end)} refuses READ_WORDS at byte 4: it has no such register or table word"):
        device._ask(Operation.READ_WORDS, 4)
    end.fabric.machine.write_register("GRID", 4)
    end.fabric.machine.write_register("STATES", 1)
    end.fabric.machine.write_register("SWEEP_LIMIT", 2**31)
    device.write_register("COMMAND", Command.RUN)
    with sentence(
        DeviceError, f"{where(end)} refuses READ_WORDS at byte {end.fabric.windows.offset(Table.W)}: it is busy"
    ):
        device._ask(Operation.READ_WORDS, end.fabric.windows.offset(Table.W))
    device.write_register("COMMAND", Command.RESET)
    device.close()


def test_a_board_has_one_user(end: SerialEnd) -> None:
    device = opened(end)
    name = "serial-" + end.port.strip("/").replace("/", "-")
    with pytest.raises(DeviceInUseError, match=f"^device '{name}' is in use: this process, {os.getpid()}, holds "):
        opened(end)
    device.close()
    opened(end).close()


def test_another_program_has_the_port(end: SerialEnd) -> None:
    with open(end.port, "rb+", buffering=0) as terminal:
        fcntl.flock(terminal, fcntl.LOCK_EX)
        with sentence(DeviceInUseError, f"device 'serial' at '{end.port}' is in use: another program has the port"):
            opened(end)
    opened(end).close()


def test_no_such_port(tmp_path: Path, end: SerialEnd) -> None:
    there = tmp_path / "ttyUSB7"
    with pytest.raises(
        DeviceError, match=f"^device 'serial' cannot open '{there}' at 1000000 baud: No such file or directory$"
    ):
        open_device("serial", port=there)
    there.write_text("")
    with pytest.raises(DeviceError, match=f"^device 'serial' cannot open '{there}' at 1000000 baud: "):
        open_device("serial", port=there)


def test_port_that_is_not_ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import serial

    def refuse(port: str, baud: int, **options: Any) -> Any:
        raise serial.SerialException(errno.EACCES, f"could not open port {port}: [Errno 13] Permission denied")

    monkeypatch.setattr(beltline.host.devices.lock, "directory", lambda: tmp_path)
    monkeypatch.setattr(serial, "Serial", refuse)
    text = (
        "device 'serial' cannot open '/dev/ttyUSB0' at 1000000 baud: Permission denied; only members of a group "
        "may use serial ports, dialout on Debian and Ubuntu"
    )
    with sentence(DeviceError, text):
        open_device("serial", port="/dev/ttyUSB0")


PORT = "port must be the path of a serial port, such as '/dev/ttyUSB0', not "


def test_package_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "serial", None)
    how = "install it, in the folder of Beltline's source, with: pip install '.[serial]'"
    with sentence(DeviceError, f"device 'serial' needs the Python package pyserial, which is not installed; {how}"):
        open_device("serial", port="/dev/ttyUSB0")
    monkeypatch.setattr(backend.importlib.util, "find_spec", lambda name: None)
    assert DEVICES["serial"].missing() == "package pyserial not installed: pip install '.[serial]'"


def test_ports_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    import serial.tools.list_ports as list_ports

    ports: list[Any] = []
    monkeypatch.setattr(list_ports, "comports", lambda: ports)
    assert DEVICES["serial"].missing() == "no serial port"
    ports += [
        SimpleNamespace(device="/dev/ttyUSB0", description="FT2232H", vid=0x0403),
        SimpleNamespace(device="/dev/ttyS0", description="n/a", vid=None),
    ]
    assert DEVICES["serial"].missing() == ""
    bare = "no USB device: a board only if one is wired to it"
    assert DEVICES["serial"].places() == [("/dev/ttyUSB0", "FT2232H", ""), ("/dev/ttyS0", "a serial port", bare)]
    lines = [line for line in table(inventory()).splitlines() if line.startswith("serial")]
    assert [line.rpartition("  ")[2] for line in lines] == ["here", bare]


def test_on_the_command_line(end: SerialEnd, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["solve", "--grid", "16", "--states", "2", "--tol", "1e-3", "--device", "serial"]
    assert main([*arguments, "--option", f"port={end.port}"]) == 0
    assert "on device serial" in capsys.readouterr().out
    end.spoil = lambda data, towards: b""
    assert main([*arguments, "--option", f"port={end.port}", "--option", "retries=0"]) == 1
    assert f"{where(end)} does not answer, asked 1 time: is it the board's port, and " in capsys.readouterr().err
    assert main([*arguments, "--option", "port=/dev/missing"]) == 2
    assert "device 'serial' cannot open '/dev/missing' at 1000000 baud" in capsys.readouterr().err
    assert main(arguments) == 2
    assert capsys.readouterr().err.endswith(PORT + "None\n")
