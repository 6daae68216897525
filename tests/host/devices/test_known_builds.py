"""An unknown bitstream is refused before anything is loaded, with its hash and the command to type."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import beltline as bl
import beltline.host.devices.f2
import beltline.host.devices.lock
from beltline.constraints.board_builds import recorded
from beltline.constraints.boards import BOARDS
from beltline.host.cli.main import main
from beltline.host.devices import DeviceError, ProblemError, open_device
from beltline.hw.interface.builds import Build, to_json
from beltline.hw.interface.parameters import MachineParameters
from support import boards
from support.boards import Fabric
from support.fakes import problem
from support.serial_end import SerialEnd

OWN = MachineParameters(grid=16, states=3)
FOREIGN = 0x0123_4567_89AB_CDEF

Install = Callable[[str, MachineParameters], Fabric]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Install]:
    """Connect a device to a board of these sizes with an unknown bitstream."""
    monkeypatch.setattr(beltline.host.devices.lock, "directory", lambda: tmp_path)
    lines: list[SerialEnd] = []

    def put(name: str, parameters: MachineParameters) -> Fabric:
        fabric = Fabric(parameters)
        fabric.build_hash = FOREIGN
        if name != "serial":
            boards.install(name, monkeypatch, tmp_path, fabric)
        else:
            lines.append(SerialEnd(fabric))
            monkeypatch.setitem(OPTIONS, "serial", {"port": lines[-1].port})
        return fabric

    yield put
    for line in lines:
        line.close()


OPTIONS: dict[str, dict[str, Any]] = {"pynq": {}, "f2": {}, "serial": {}}


def digits(board: str) -> str:
    return recorded()[board].digits


def each(*boards: str) -> str:
    return ", ".join(f"{digits(board)} for {board}" for board in boards)


def built(*boards: str) -> str:
    return " or ".join(f"'make vivado BOARD={board}'" for board in boards) + ","


OF_PYNQ = ("pynq-z2-sweep", "zcu104", "zcu104-sweep", "kv260", "kv260-sweep")
ZYNQ = f"{digits('pynq-z2')} for pynq-z2 and arty-z7-20"
LIKE = "which this version of Beltline does not make, although its sizes are those of one that it makes: it makes"
UNLIKE = "which this version of Beltline does not make: it makes"


@pytest.mark.parametrize(
    ("name", "parameters", "says"),
    [
        ("pynq", BOARDS["pynq-z2"].machine, f"{LIKE} {ZYNQ}; rebuild with " + built("pynq-z2", "arty-z7-20")),
        ("pynq", BOARDS["kv260"].machine, f"{LIKE} {digits('kv260')} for kv260; rebuild with " + built("kv260")),
        ("pynq", OWN, f"{UNLIKE} {ZYNQ}, {each(*OF_PYNQ)}; rebuild with 'make vivado BOARD=NAME', NAME being one of "
         "pynq-z2, pynq-z2-sweep, arty-z7-20, zcu104, zcu104-sweep, kv260, kv260-sweep,"),
        ("f2", OWN, f"{UNLIKE} {each('f2', 'f2-sweep')}; rebuild with " + built("f2", "f2-sweep")),
        ("serial", BOARDS["ecp5"].machine,
         f"{LIKE} {digits('ecp5')} for ecp5; rebuild with 'make bitstream BOARD=ecp5',"),
        ("serial", replace(BOARDS["ecp5"].machine, fold=3),
         f"{UNLIKE} {each('ecp5', 'ecp5-sweep', 'ulx3s')}; rebuild with 'make bitstream BOARD=NAME', NAME being one "
         "of ecp5, ecp5-sweep, ulx3s,"),
    ],
)  # fmt: skip
def test_foreign_bitstream_is_refused(
    install: Install, name: str, parameters: MachineParameters, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fabric = install(name, parameters)
    before = fabric.memory.copy()
    sentence = (
        f"device {name!r} has a bitstream of build 0123456789abcdef, {says} or pass the build.json of your own build "
        "with option builds"
    )
    # Twice: after the refusal the board is released.
    for _ in range(2):
        with pytest.raises(DeviceError, match="^" + re.escape(sentence) + "$"):
            bl.solve(problem(12, 2), device=name, **OPTIONS[name])
    assert (fabric.memory == before).all()
    options = [f"--option={option}={value}" for option, value in OPTIONS[name].items()]
    assert main(["solve", "--grid", "16", "--states", "2", "--device", name, *options]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"beltline solve: {sentence}"


@pytest.mark.parametrize("name", OPTIONS)
def test_boards_builds_and_recorded_ones_are_taken(install: Install, name: str, tmp_path: Path) -> None:
    fabric = install(name, OWN)
    record = tmp_path / "build.json"
    record.write_text(to_json([Build("beltline", FOREIGN + 1, OWN), Build("beltline", FOREIGN, OWN)]))
    for builds in (record, str(record)):
        result = bl.solve(problem(12, 3), max_sweeps=2, device=name, builds=builds, **OPTIONS[name])
        assert result.build_hash == FOREIGN
    record.write_text("[]")
    with pytest.raises(DeviceError, match=f"^device {name!r} has a bitstream of build 0123456789abcdef, "):
        open_device(name, builds=record, **OPTIONS[name])
    fabric.build_hash = recorded()["f2"].build_hash
    open_device(name, builds=record, **OPTIONS[name]).close()
    open_device(name, **OPTIONS[name]).close()


@pytest.mark.parametrize("name", OPTIONS)
def test_files_of_builds_that_are_wrong(name: str, tmp_path: Path) -> None:
    """Wrong files of builds are refused before the board and its library are needed."""
    (tmp_path / "bad.json").write_text("[1")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    for builds, sentence in (
        (3, "builds must be the path of a file of builds, such as 'build.json', not 3"),
        (tmp_path / "none.json", f"builds '{tmp_path}/none.json' cannot be read: No such file or directory"),
        (tmp_path, f"builds '{tmp_path}' cannot be read: Is a directory"),
        (tmp_path / "bad.json", f"builds '{tmp_path}/bad.json' is not a file of builds: Expecting ',' delimiter"),
        (tmp_path / "deep.json", f"builds '{tmp_path}/deep.json' is not a file of builds: it is nested too deeply"),
    ):
        with pytest.raises(ProblemError, match="^" + re.escape(sentence)):
            open_device(name, builds=builds, **({"port": "/dev/none"} if name == "serial" else {}))


@pytest.mark.filterwarnings("ignore:device 'pynq'. PYNQ cannot read the clock")
@pytest.mark.parametrize(("name", "board"), [("pynq", "kv260"), ("f2", "f2"), ("f2", "f2-sweep")])
def test_a_clock_of_its_builders_choice_is_no_unknown_build(install: Install, name: str, board: str) -> None:
    """A build with a clock of the user's choice is known by its hash; an unknown hash is named with its board."""
    fabric = install(name, replace(OWN, clock_hz=150_000_000))
    fabric.build_hash = recorded()[board].build_hash
    device = open_device(name, **OPTIONS[name])
    assert device.read_register("CLOCK_HZ") == 150_000_000
    device.close()
    install(name, replace(BOARDS[board].machine, clock_hz=150_000_000))
    with pytest.raises(DeviceError, match=f"{LIKE} {digits(board)} for {board}; rebuild with 'make vivado BOARD="):
        open_device(name, **OPTIONS[name])
