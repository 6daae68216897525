"""Boards: how they are found and opened, who may use them, and what happens when they fail."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import re
import signal
import stat
import subprocess
import sys
import textwrap
import time
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import beltline as bl
import beltline.host.devices.lock
import beltline.host.solver.checked
from beltline.host.devices import (
    DeviceError,
    DeviceInUseError,
    DeviceLostError,
    DeviceTimeoutError,
    f2,
    open_device,
    pynq,
)
from beltline.host.devices.lock import BoardLock
from beltline.host.devices.mapped import MappedDevice
from beltline.host.solver.driver import Driver
from beltline.host.solver.fixed_point import fixed_point
from beltline.hw.interface.registers import Command, Table
from support.boards import (
    BURSTABLE_AT,
    CARD,
    GIVEN,
    HEADER,
    IDS_AT,
    INFO_BYTES,
    KNOWN_AFI,
    MAP_BYTES,
    REGISTERS_AT,
    SHELL,
    SHELL_AT,
    SIZES,
    SIZES_AT,
    SPEC_AT,
    SPEC_BYTES,
    TABLES_AT,
    Fabric,
    hwh,
    install,
    install_f2,
    install_pynq,
)
from support.fakes import BruteDevice, problem
from support.paths import ROOT, TESTS


@pytest.fixture(autouse=True)
def locks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Use a separate folder of locks for the test."""
    monkeypatch.setattr(beltline.host.devices.lock, "directory", lambda: tmp_path)
    return tmp_path


@pytest.fixture(params=["pynq", "f2", "xdma"])
def board(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[str, Fabric]:
    fabric = Fabric(SIZES)
    install(request.param, monkeypatch, tmp_path, fabric)
    return request.param, fabric


def the_lock(name: str) -> str:
    return {"pynq": "pynq-fake0", "f2": "f2-slot0", "xdma": "xdma-" + CARD.replace(":", "-")}[name]


def released(name: str) -> bool:
    with contextlib.suppress(DeviceInUseError):
        BoardLock(the_lock(name)).release()
        return True
    return False


def test_lock_is_exclusive_names_its_holder_and_can_be_retaken(tmp_path: Path) -> None:
    first = BoardLock("card-0")
    other = BoardLock("card-1")
    sentence = f"device 'card-0' is in use: this process, {os.getpid()}, holds '{tmp_path}/beltline-card-0.lock'"
    with pytest.raises(DeviceInUseError, match=f"^{sentence}$"):
        BoardLock("card-0")
    first.release()
    # After the release the lock file names no process.
    assert first.path.read_text() == ""
    first.release()
    again = BoardLock("card-0")
    # Releasing a lock twice does not take it from its next holder.
    first.release()
    with pytest.raises(DeviceInUseError):
        BoardLock("card-0")
    again.release()
    other.release()


def test_lock_can_be_taken_by_other_users(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        lock = BoardLock("card-0")
    finally:
        os.umask(before)
    assert stat.S_IMODE(lock.path.stat().st_mode) == 0o666
    lock.release()


def test_lock_survives_a_fork() -> None:
    lock = BoardLock("card-0")
    child = os.fork()
    if child == 0:
        lock.release()
        os._exit(0)
    os.waitpid(child, 0)
    with pytest.raises(DeviceInUseError):
        BoardLock("card-0")
    lock.release()
    BoardLock("card-0").release()


def test_lock_file_that_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "beltline-card-0.lock").mkdir()
    with pytest.raises(DeviceError, match=r"^lock file '.*card-0\.lock' cannot be opened: Is a directory$"):
        BoardLock("card-0")
    (tmp_path / "beltline-card-1.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DeviceError, match=r"^lock file '.*card-1\.lock' cannot be opened: Too many levels"):
        BoardLock("card-1")
    assert not (tmp_path / "elsewhere").exists()
    os.mkfifo(tmp_path / "beltline-card-2.lock")
    with pytest.raises(DeviceError, match=r"^lock file '.*card-2\.lock' cannot be used: it is not a regular file$"):
        BoardLock("card-2")
    monkeypatch.setattr(beltline.host.devices.lock, "directory", lambda: tmp_path / "none")
    with pytest.raises(DeviceError, match=r"^lock file '.*/none/.*' cannot be opened: No such file or directory$"):
        BoardLock("card-3")
    with pytest.raises(ValueError, match=r"^board must be named by letters, digits, '.', '_' and '-', not '../x'$"):
        BoardLock("../x")


@pytest.mark.parametrize("planted", ["hard link", "file"])
def test_lock_never_writes_to_another_users_file(tmp_path: Path, planted: str) -> None:
    thesis, lock = tmp_path / "thesis.txt", tmp_path / "beltline-card-0.lock"
    thesis.write_text("years of work")
    if planted == "hard link":
        os.link(thesis, lock)
    else:
        thesis.rename(lock)
    wrong = {
        "hard link": r"it is also known by another name \(a hard link\)",
        "file": "it contains something other than a process id",
    }
    with pytest.raises(DeviceError, match=rf"^lock file '.*card-0\.lock' cannot be used: {wrong[planted]}$"):
        BoardLock("card-0")
    assert lock.read_text() == "years of work"


def test_directory_of_locks_depends_on_the_computer_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(beltline.host.devices.lock, "RUN", tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "own"))
    tmp_path.chmod(0o1777)
    assert beltline.host.devices.lock.directory() == tmp_path
    tmp_path.chmod(0o755)
    assert beltline.host.devices.lock.directory() == Path("/tmp")
    monkeypatch.setattr(beltline.host.devices.lock, "RUN", tmp_path / "none")
    assert beltline.host.devices.lock.directory() == Path("/tmp")


@contextlib.contextmanager
def solving_elsewhere(name: str, directory: Path) -> Iterator[subprocess.Popen[str]]:
    """Start another process that solves without end on the board ``name``."""
    program = f"""
        import sys
        from pathlib import Path
        sys.path[:0] = [{str(ROOT)!r}, {str(TESTS)!r}]
        import pytest
        import beltline.host.devices.lock
        beltline.host.devices.lock.directory = lambda: Path({str(directory)!r})
        import beltline.host.solver.checked
        from beltline.host.devices import open_device
        from beltline.host.solver.driver import Driver
        from beltline.host.solver.fixed_point import fixed_point
        from support import boards
        patch = pytest.MonkeyPatch()
        fabric = boards.Fabric(boards.SIZES)
        directory = Path({str(directory)!r}) / "other"
        directory.mkdir()
        boards.install({name!r}, patch, directory, fabric)
        device = open_device({name!r})
        fabric.stuck = True
        beltline.host.solver.checked.STUCK_SECONDS = 1000.0
        fabric.fault = lambda: fabric.busy and print("busy", flush=True)
        Driver(device).run(fixed_point(boards.GIVEN, 1e-6), 10_000)
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == "busy\n"
            yield process
        finally:
            process.kill()


def test_process_killed_in_mid_solve_leaves_the_board_to_the_next(board: tuple[str, Fabric], tmp_path: Path) -> None:
    name, fabric = board
    with solving_elsewhere(name, tmp_path) as process:
        sentence = f"device '{the_lock(name)}' is in use: process {process.pid} holds '.*{the_lock(name)}.lock'"
        with pytest.raises(DeviceInUseError, match=f"^{sentence}$"):
            bl.solve(GIVEN, device=name, tol=1e-6)
        process.send_signal(signal.SIGKILL)
        assert process.wait(60) == -signal.SIGKILL
    # The state that a killed process leaves: a run in progress, with other tables.
    device = open_device(name)
    Driver(device).run(fixed_point(problem(30, 2, seed=9), 1e-6), 1)
    device.write_register("SWEEP_LIMIT", 2**32 - 1)
    device.write_register("EPSILON", 0)
    device.write_register("COMMAND", Command.RUN)
    device.close()
    assert fabric.busy
    result = bl.solve(GIVEN, device=name, tol=1e-6)
    model = bl.solve(GIVEN, tol=1e-6, device="emulator")
    assert result.success
    assert (result.value == model.value).all()
    assert (result.policy == model.policy).all()
    assert result.sweeps == model.sweeps


def test_lock_is_let_go_on_close_and_on_failure(board: tuple[str, Fabric]) -> None:
    name, fabric = board
    device = open_device(name)
    assert not released(name)
    with pytest.raises(DeviceInUseError):
        open_device(name)
    device.close()
    assert released(name)
    fabric.identity = 0x1234
    with pytest.raises(DeviceError, match="not a Beltline$"):
        open_device(name)
    assert released(name)
    fabric.identity = 0x424C5431
    with pytest.raises(bl.ProblemError):
        bl.solve(problem(33, 3), device=name)
    assert released(name)
    assert bl.solve(GIVEN, device=name, tol=1e-3).success
    assert released(name)


def test_identity_that_flips_while_open(board: tuple[str, Fabric]) -> None:
    name, fabric = board
    device = open_device(name)
    fabric.identity ^= 1
    sentence = f"device '{name}' has identity 0x424C5430 after a write of table W, not 0x424C5431: "
    sentence += "it is not a Beltline any more"
    with pytest.raises(DeviceLostError, match=f"^{sentence}$"):
        device.write_block(Table.W, 0, np.zeros(3, dtype=np.int64))
    with pytest.raises(DeviceLostError, match=" after a read of table V, "):
        device.read_block(Table.V, 0, 3)
    device.close()


def test_no_answer_from_the_board(board: tuple[str, Fabric]) -> None:
    name, fabric = board
    fabric.lose()
    with pytest.raises(DeviceLostError, match=f"^device '{name}' does not answer: .* reads all ones$"):
        open_device(name)
    assert released(name)


def test_lost_while_open(board: tuple[str, Fabric]) -> None:
    name, fabric = board
    device = open_device(name)
    fabric.lose()
    sentence = f"device '{name}' does not answer: register STATUS reads all ones"
    for use in (
        lambda: device.read_register("STATUS"),
        lambda: device.write_register("GRID", 2),
        lambda: device.write_block(Table.W, 0, np.zeros(3, dtype=np.int64)),
        lambda: device.read_block(Table.W, 0, 3),
        lambda: device.wait(1.0),
    ):
        with pytest.raises(DeviceLostError, match=f"^{sentence}$"):
            use()
    device.close()


@pytest.mark.parametrize("writing", [False, True])
def test_lost_in_mid_block(board: tuple[str, Fabric], monkeypatch: pytest.MonkeyPatch, writing: bool) -> None:
    name, fabric = board
    device = open_device(name)
    part = MappedDevice._part

    def lost(self: MappedDevice, offset: int, count: int) -> Any:
        fabric.lose()
        return part(self, offset, count)

    monkeypatch.setattr(MappedDevice, "_part", lost)
    what = "write" if writing else "read"
    sentence = f"device '{name}' does not answer after a {what} of table V: its register IDENTITY reads all ones"
    act, argument = (device.write_block, np.zeros(40, dtype=np.int64)) if writing else (device.read_block, 40)
    with pytest.raises(DeviceLostError, match=f"^{sentence}$"):
        act(Table.V, 0, argument)
    device.close()


def test_registers_of_all_ones_are_no_loss(board: tuple[str, Fabric]) -> None:
    device = open_device(board[0])
    device.write_register("SWEEP_LIMIT", 2**32 - 1)
    device.write_register("UTILITY_A", -1)
    assert device.read_register("SWEEP_LIMIT") == 2**32 - 1
    assert device.read_register("UTILITY_A") == -1
    device.write_block(Table.W, 0, np.full(96, -1, dtype=np.int64))
    assert (device.read_block(Table.W, 0, 96) == -1).all()
    device.close()


def test_status_that_no_beltline_has(board: tuple[str, Fabric], monkeypatch: pytest.MonkeyPatch) -> None:
    name, fabric = board
    device = open_device(name)
    read = fabric.read
    monkeypatch.setattr(fabric, "read", lambda offset: 0xDEADBEEF if offset else read(offset))
    sentence = f"device '{name}' returned data that no Beltline device returns: register STATUS reads 0xDEADBEEF"
    with pytest.raises(DeviceLostError, match=f"^{sentence}$"):
        device.wait(1.0)
    device.close()


def endless(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Solve so that the fault occurs before the end."""
    monkeypatch.setattr(beltline.host.solver.checked, "POLL_SECONDS", 0.02)
    # With twelve sweeps between two reads of the status a small problem would end before the fault.
    monkeypatch.setattr("support.boards.SLICE_SECONDS", 0.0)
    return lambda name: bl.solve(GIVEN, device=name, tol=1e-13, max_sweeps=10**9)


def test_lost_in_mid_run(board: tuple[str, Fabric], monkeypatch: pytest.MonkeyPatch) -> None:
    name, fabric = board
    solve = endless(monkeypatch)

    def fault() -> None:
        if fabric.machine.read_register("SWEEPS") >= 60:
            fabric.lose()

    fabric.fault = fault
    with pytest.raises(DeviceLostError) as raised:
        solve(name)
    start = f"device '{name}' does not answer: register STATUS reads all ones; "
    start += "last seen with status BUSY after "
    assert str(raised.value).startswith(start)
    sweeps, clocks = str(raised.value).removeprefix(start).removesuffix(" clocks").split(" sweeps and ")
    assert 0 < int(sweeps) <= 60
    assert int(clocks.replace(",", "")) > 0
    assert released(name)


def test_reset_by_another_process(board: tuple[str, Fabric], monkeypatch: pytest.MonkeyPatch) -> None:
    name, fabric = board
    solve = endless(monkeypatch)

    def fault() -> None:
        if fabric.machine.read_register("SWEEPS") >= 5:
            fabric.machine.write_register("COMMAND", Command.RESET)

    fabric.fault = fault
    with pytest.raises(
        DeviceLostError,
        match=f"^device '{name}' has lost the run: it is idle, but no run has ended \\(status without a flag\\)$",
    ):
        solve(name)


def test_stuck_device(board: tuple[str, Fabric], monkeypatch: pytest.MonkeyPatch) -> None:
    name, fabric = board
    solve = endless(monkeypatch)
    monkeypatch.setattr(beltline.host.solver.checked, "STUCK_SECONDS", 0.3)

    def fault() -> None:
        fabric.stuck = fabric.machine.read_register("SWEEPS") >= 7

    fabric.fault = fault
    begin = time.monotonic()
    with pytest.raises(DeviceTimeoutError) as raised:
        solve(name)
    assert 0.3 <= time.monotonic() - begin < 30
    clocks = fabric.machine.read_register("CLOCKS")
    sentence = f"device '{name}' is stuck: it is busy, but its counters have not changed for \\d+\\.\\d seconds; "
    sentence += f"last seen with status BUSY after 7 sweeps and {clocks:,} clocks"
    assert re.fullmatch(sentence, str(raised.value))
    # The next process cannot stop the run either, and reports the same.
    with pytest.raises(DeviceTimeoutError, match="^device .* is stuck: "):
        solve(name)
    fabric.fault = lambda: None
    fabric.stuck = False
    assert bl.solve(GIVEN, device=name, tol=1e-6).success


def test_slow_device_is_not_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run may take any time if its counters change between two reads."""
    monkeypatch.setattr(beltline.host.solver.checked, "STUCK_SECONDS", 0.05)
    monkeypatch.setattr(beltline.host.solver.checked, "POLL_SECONDS", 0.01)

    class Slow(BruteDevice):
        def sweep(self) -> None:
            time.sleep(0.1)
            super().sweep()

    assert bl.solve(problem(8, 1), device=Slow(), tol=1e-2).success


def test_short_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fabric = Fabric(SIZES)
    mapped = fabric.windows.offset(Table.V) + 8 * 40
    install_pynq(monkeypatch, tmp_path, fabric, mapped_bytes=mapped)
    device = open_device("pynq")
    device.read_block(Table.V, 0, 40)
    begins = fabric.windows.offset(Table.V)
    sentence = f"device 'pynq' maps only 40 of 41 words at byte {begins} of its tables"
    with pytest.raises(DeviceLostError, match=f"^{sentence}$"):
        device.read_block(Table.V, 0, 41)
    with pytest.raises(DeviceLostError, match=f"^device 'pynq' maps only 0 of 50 words at byte {begins + 320} "):
        device.write_block(Table.V, 40, np.ones(50, dtype=np.int64))
    assert (fabric.memory[mapped // 8 : mapped // 8 + 50] != 1).all()
    device.close()


class Mapping(MappedDevice):
    name = "mapping"
    clocks_source = "none"

    def __init__(self, tables: Any) -> None:
        self._tables = tables

    def _read_word(self, offset: int) -> int:
        raise NotImplementedError

    def _write_word(self, offset: int, word: int) -> None:
        raise NotImplementedError

    def _release(self) -> None:
        pass


class Watched(np.ndarray[Any, np.dtype[np.int64]]):
    """Mapped memory as on ARM: blocks are copied in whole lines, between buffers of equal alignment."""

    def __setitem__(self, where: Any, words: Any) -> None:
        assert isinstance(where, int), "a block is not copied by the C library, which may write a word twice"
        super().__setitem__(where, words)

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, out: Any = (), **more: Any) -> Any:
        plain = [array.view(np.ndarray) if isinstance(array, Watched) else array for array in given]
        (target,) = (array.view(np.ndarray) for array in out)
        assert target.size % 8 == 0
        assert target.ctypes.data % 64 == 0 or not target.size
        assert plain[0].ctypes.data % 16 == 0
        return getattr(ufunc, method)(*plain, out=target, **more)


@pytest.mark.parametrize("first", range(9))
@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 16, 23, 64, 100])
def test_copies_are_aligned(first: int, count: int) -> None:
    room = np.zeros(200 + 8, dtype=np.int64)
    start = -(room.ctypes.data // 8) % 8
    memory = room[start : start + 200]
    device = Mapping(memory.view(Watched))
    for shift in (0, 1):
        source = np.arange(1, count + 3)[shift : shift + count]
        memory[:] = 0
        device._write_words(8 * first, source)
        assert (memory[first : first + count] == source).all()
        assert not memory[:first].any()
        assert not memory[first + count :].any()
        back = np.zeros(count + 2, dtype=np.int64)
        device._read_words(8 * first, back[shift : shift + count])
        assert (back[shift : shift + count] == source).all()
        assert back.sum() == source.sum()


@pytest.mark.parametrize("listing", ["both", "last", "memory"])
def test_pynq_finds_its_addresses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, listing: str) -> None:
    fabric = Fabric(SIZES)
    module = install_pynq(monkeypatch, tmp_path, fabric, listing=listing)
    lines: list[str] = []
    with contextlib.closing(open_device("pynq", progress=lines.append)):
        pass
    assert lines == ["loading 'beltline.bit'"]
    needed = fabric.windows.offset(Table.POLICY) + 4096
    assert module.calls == [
        ("download", str(tmp_path / "beltline.bit")),
        ("MMIO", (REGISTERS_AT, 4096)),
        ("MMIO", (TABLES_AT, needed)),
    ]


def test_pynq_without_handoff(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = install_pynq(monkeypatch, tmp_path, Fabric(SIZES))
    (tmp_path / "beltline.hwh").unlink()
    with pytest.raises(
        DeviceError, match=r"^device 'pynq' cannot be opened with 'beltline\.bit': Unable to find metadata"
    ):
        open_device("pynq")
    for download in (True, False):
        module.calls.clear()
        device = open_device("pynq", registers=REGISTERS_AT, tables=TABLES_AT, download=download)
        assert (module.calls[0][0] == "download") == download
        assert bl.solve(GIVEN, device=device, tol=1e-3).success
        device.close()


def test_pynq_with_interrupt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fabric = Fabric(SIZES)
    module = install_pynq(monkeypatch, tmp_path, fabric)
    for _ in range(2):
        module.calls.clear()
        device = open_device("pynq", interrupt="beltline/interrupt")
        result = bl.solve(GIVEN, device=device, tol=1e-6)
        assert device.read_register("INTERRUPT") == 1
        reads = fabric.status_reads
        device.write_register("SWEEP_LIMIT", 2**32 - 1)
        device.write_register("EPSILON", 0)
        device.write_register("COMMAND", Command.RUN)
        assert not device.wait(0.3)
        assert ("interrupt", "beltline/interrupt") in module.calls
        # The status is read about every 0.1 s, not every 2 ms.
        assert fabric.status_reads - reads < 20
        device.write_register("COMMAND", Command.STOP)
        assert device.wait(10.0)
        device.close()
        assert (result.value == bl.solve(GIVEN, tol=1e-6, device="emulator").value).all()

    async def in_a_notebook() -> bl.Result:
        with contextlib.closing(open_device("pynq")) as device:
            device._interrupt = object()
            return bl.solve(GIVEN, device=device, tol=1e-6)

    assert asyncio.run(in_a_notebook()).success


def test_pynq_interrupt_that_never_arrives(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install_pynq(monkeypatch, tmp_path, Fabric(SIZES))
    device = open_device("pynq", interrupt="beltline/interrupt")
    # The interrupt never arrives, as if another process had cleared it.
    monkeypatch.setattr(Fabric, "line", False)
    assert bl.solve(GIVEN, device=device, tol=1e-6).success
    device.close()


CLOCKED = replace(SIZES, clock_hz=100_000_000)


@pytest.mark.parametrize("megahertz", [100.0, 99.999999])
def test_pynq_with_the_clock_of_the_build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, megahertz: float) -> None:
    module = install_pynq(monkeypatch, tmp_path, Fabric(CLOCKED))
    module.Clocks = types.SimpleNamespace(fclk0_mhz=megahertz)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        open_device("pynq").close()


def test_pynq_with_another_clock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = install_pynq(monkeypatch, tmp_path, Fabric(CLOCKED))
    module.Clocks = types.SimpleNamespace(fclk0_mhz=125.0)
    with pytest.raises(DeviceError) as raised:
        open_device("pynq")
    assert str(raised.value) == (
        "device 'pynq' has a clock of 125 MHz, and its build was made for 100 MHz: load the bitstream with its .hwh "
        "file beside it, by which PYNQ sets the clock"
    )
    assert released("pynq")
    module.Clocks = types.SimpleNamespace(fclk0_mhz=50.0)
    slower = "^device 'pynq' has a clock of 50 MHz, and its build was made for 100 MHz: runs take longer$"
    with pytest.warns(RuntimeWarning, match=slower):
        open_device("pynq").close()
    del module.Clocks
    with pytest.warns(
        RuntimeWarning, match="^device 'pynq': PYNQ cannot read the clock frequency of the programmable logic: "
    ):
        open_device("pynq").close()


def test_pynq_that_cannot_be_opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pynq", None)
    with pytest.raises(DeviceError, match=r"^device 'pynq' needs .* pynq, .*: pip install '\.\[pynq\]'$"):
        open_device("pynq")
    fabric = Fabric(SIZES)
    install_pynq(monkeypatch, tmp_path, fabric)
    for options, sentence in (
        ({"bitstream": "none.bit"}, "cannot be opened with 'none.bit': Bitstream file none.bit does not exist."),
        ({"interrupt": "x/y"}, "cannot be opened with 'beltline.bit': No Pin of name x/y found"),
    ):
        with pytest.raises(DeviceError) as raised:
            open_device("pynq", **options)
        assert str(raised.value) == f"device 'pynq' {sentence}"
        assert released("pynq")


def test_pynq_design_that_maps_too_little(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fabric = Fabric(SIZES)
    module = install_pynq(monkeypatch, tmp_path, fabric)
    with pytest.raises(DeviceError) as raised:
        pynq.PynqDevice(module, REGISTERS_AT, TABLES_AT, 8192)
    assert (
        str(raised.value)
        == f"device 'pynq' has tables of {5 * 4096} bytes, but its design maps 8192 at 0x{TABLES_AT:X}"
    )


def test_pynq_memory_that_is_not_mapped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = install_pynq(monkeypatch, tmp_path, Fabric(SIZES))
    mapped = module.MMIO

    class Remote(mapped):  # type: ignore[misc, valid-type]
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self.array = []

    module.MMIO = Remote
    with pytest.raises(DeviceError, match="^device 'pynq' is not mapped into memory here: MMIO gives a list$"):
        open_device("pynq")
    assert released("pynq")


def test_pynq_designs_that_are_none_of_ours(tmp_path: Path) -> None:
    class Design:
        bitfile_name = str(tmp_path / "a.bit")

        def __init__(self) -> None:
            self.ip_dict: dict[str, Any] = {}

    handoff = tmp_path / "a.hwh"
    with pytest.raises(DeviceError, match=r"^hardware handoff '.*/a\.hwh' cannot be read: .*No such file"):
        pynq.address(Design(), "s_axi_tables")
    handoff.write_text("<a>")
    with pytest.raises(DeviceError, match=r"^hardware handoff '.*/a\.hwh' cannot be read: no element found"):
        pynq.address(Design(), "s_axi_tables")
    handoff.write_text("<a/>")
    with pytest.raises(
        DeviceError,
        match=r"^overlay '.*/a\.bit' has no interface s_axi_tables, not one: pass the addresses as .* and tables=$",
    ):
        pynq.address(Design(), "s_axi_tables")
    handoff.write_text(hwh(0x1000, 0x40000, 0x1000))
    assert pynq.address(Design(), "s_axi_tables") == (0x40000, 0x1000)
    two = Design()
    two.ip_dict = {
        name: {"phys_addr": at, "addr_range": 4096, "mem_id": "S_AXI_TABLES"}
        for name, at in (("a", 0x3000), ("b", 0x2000))
    }
    with pytest.raises(
        DeviceError,
        match=r"has 2 interfaces s_axi_tables \(0x2000, 0x3000\), not one: pass the addresses as registers=",
    ):
        pynq.address(two, "s_axi_tables")


def test_f2_prototypes_are_those_of_the_headers() -> None:
    plain = {ctypes.c_int, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_char_p}
    assert set(f2.PROTOTYPES) == set(HEADER)
    for name, (result, arguments) in f2.PROTOTYPES.items():
        assert result is HEADER[name][0]
        assert [a if a in plain else ctypes.c_void_p for a in arguments] == list(HEADER[name][1]), name


def test_f2_structures_are_those_of_the_headers() -> None:
    assert ctypes.sizeof(f2.ResourceMap) == MAP_BYTES
    assert f2.ResourceMap.resource_burstable.offset == BURSTABLE_AT
    assert f2.ResourceMap.resource_size.offset == SIZES_AT
    assert ctypes.sizeof(f2.SlotSpec) == SPEC_BYTES
    assert f2.ImageInfo.ids.offset == IDS_AT
    assert f2.ImageInfo.spec.offset == SPEC_AT
    assert f2.ImageInfo.sh_version.offset == SHELL_AT
    assert f2.ImageInfo.reserved.offset == INFO_BYTES


def test_f2_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    fpga = install_f2(monkeypatch, Fabric(SIZES), None, Fabric(SIZES))
    assert [slot for slot, _ in f2.slots()] == [0, 1, 2]
    assert f2.BACKEND.missing() == ""
    assert f2.BACKEND.places()[1] == ("slot 1", "0000:35:00.0, PCI identity 1d0f:f010", "")
    assert "fpga_pci_attach" not in fpga.calls
    devices = [open_device("f2", slot=slot) for slot in (0, 2)]
    results = [bl.solve(problem(20, 3, seed=k), device=device, tol=1e-5) for k, device in enumerate(devices)]
    for k, result in enumerate(results):
        assert (result.value == bl.solve(problem(20, 3, seed=k), tol=1e-5, device="emulator").value).all()
    for device in devices:
        device.close()
    assert fpga.attached == {}
    with pytest.raises(DeviceLostError, match="^device 'f2' does not answer: "):
        open_device("f2", slot=1)
    with pytest.raises(DeviceError, match=r"^device 'f2', slot 5: attaching BAR 0 failed: Invalid argument \(-22\)$"):
        open_device("f2", slot=5)
    assert fpga.attached == {}


def test_f2_images(monkeypatch: pytest.MonkeyPatch) -> None:
    fpga = install_f2(monkeypatch, Fabric(SIZES))
    assert f2.describe(0) == f2.Image("loaded", "agfi-00000000000000aaa", SHELL)
    lines: list[str] = []
    open_device("f2", progress=lines.append, afi=KNOWN_AFI).close()
    assert lines == [f"loading {KNOWN_AFI} into slot 0"]
    assert f2.describe(0).afi == KNOWN_AFI
    fpga.calls.clear()
    open_device("f2", progress=lines.append, afi=KNOWN_AFI).close()
    assert "fpga_mgmt_load_local_image_sync" not in fpga.calls
    with pytest.raises(DeviceError, match=r"^device 'f2', slot 0: loading agfi-00bad failed: invalid-afi-id \(5\)$"):
        open_device("f2", afi="agfi-00bad")
    assert released("f2")
    assert not fpga.initialized
    device = open_device("f2")
    with pytest.raises(DeviceInUseError):
        f2.clear_image(0)
    device.close()
    f2.clear_image(0)
    assert f2.describe(0) == f2.Image("cleared", "none", SHELL)
    assert released("f2")
    with pytest.raises(
        DeviceError, match=f"^device 'f2', slot 0: after loading {KNOWN_AFI} the slot has status cleared, not loaded$"
    ):
        open_device("f2", afi=KNOWN_AFI)
    assert released("f2")


@pytest.mark.parametrize("burstable", [True, False])
def test_f2_maps_for_bursts_where_it_can(monkeypatch: pytest.MonkeyPatch, burstable: bool) -> None:
    fpga = install_f2(monkeypatch, Fabric(SIZES))
    fpga.burstable = burstable
    device = open_device("f2")
    assert sorted(fpga.attached.values()) == [(0, 0, 0), (0, 4, int(burstable))]
    device.close()
    assert fpga.attached == {}


@pytest.mark.parametrize(
    ("function", "doing"),
    [
        ("fpga_pci_init", "starting the library"),
        ("fpga_pci_attach", "attaching BAR 0"),
        ("fpga_pci_peek", "reading register byte 0"),
        ("fpga_pci_get_resource_map", "looking at its functions"),
        ("fpga_pci_get_address", f"mapping {4 * 4096 + 8 * 96} bytes"),
        ("fpga_mgmt_init", "starting the management library"),
        ("fpga_mgmt_describe_local_image", "describing the image"),
        ("fpga_mgmt_load_local_image_sync", f"loading {KNOWN_AFI}"),
    ],
)
def test_f2_failures_are_reported(monkeypatch: pytest.MonkeyPatch, function: str, doing: str) -> None:
    fpga = install_f2(monkeypatch, Fabric(SIZES))
    fpga.fail[function] = 24
    with pytest.raises(DeviceError) as raised:
        open_device("f2", afi=KNOWN_AFI)
    assert str(raised.value) == f"device 'f2', slot 0: {doing} failed: software-problem (24)"
    assert fpga.attached == {}
    assert released("f2")


def test_f2_failures_while_open_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    fpga = install_f2(monkeypatch, Fabric(SIZES))
    device = open_device("f2")
    fpga.fail["fpga_pci_poke"] = -22
    with pytest.raises(DeviceError, match=r"^device 'f2', slot 0: writing register byte \d+ failed: Invalid argument"):
        device.write_register("GRID", 3)
    device.close()


def test_f2_without_library() -> None:
    if f2.BACKEND.missing() != f"{f2.LIBRARY} not found":
        pytest.skip("this computer has the library")
    with pytest.raises(
        DeviceError, match=r"^device 'f2' needs libfpga_mgmt\.so of the AWS FPGA SDK, which was not found: source its "
    ):
        open_device("f2")


def test_f2_library_without_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    fpga = install_f2(monkeypatch, Fabric(SIZES))
    del fpga.fpga_pci_get_address  # type: ignore[attr-defined]
    with pytest.raises(
        DeviceError, match=r"^device 'f2' needs the function fpga_pci_get_address, which this libfpga_mgmt\.so lacks$"
    ):
        open_device("f2")


def test_pynq_device_of_any_tag(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = install_pynq(monkeypatch, tmp_path, Fabric(SIZES))
    module.Device.active_device.tag = "10.0.0.2:5/a"
    open_device("pynq").close()
    assert (tmp_path / "beltline-pynq-10.0.0.2-5-a.lock").exists()
