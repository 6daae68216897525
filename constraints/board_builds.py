"""The build of every board by its content hash: ``python -m beltline.constraints.board_builds`` says whether what is
kept is so still.

Kept in ``builds.json``, from where drivers know which bitstreams are ours: they need no gateware for it, and no Yosys.
"""

from __future__ import annotations

import argparse
import functools
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from beltline.constraints.boards import BOARDS, Board, Flow
from beltline.hw.interface.builds import Build, read, to_json

FILE = Path(__file__).with_name("builds.json")

WRITE = "python -m beltline.constraints.board_builds --write"
"""What makes it anew."""


@functools.cache
def kept() -> dict[str, Build]:
    """The build of each board, by its name, as it was when the file was written."""
    return {build.board: build for build in read(FILE)}


def build_name(board: str, digits: str) -> str:
    """What the files of a build are called, without suffix: the board and the build hash that the registers show."""
    return f"beltline-{board}-{digits}"


def bitstream_name(board: str, suffix: str = ".bit") -> str:
    """What the bitstream of a board is called, as in ``beltline-ecp5-0123456789abcdef.bit``."""
    return build_name(board, kept()[board].digits) + suffix


def rebuild(board: str, like: str = "") -> str:
    """The command that builds the bitstream of a board, or for Vivado, what it builds it from.

    ``like`` names a board that is built in the same way, where ``board`` is none.
    """
    return f"make {'bitstream' if BOARDS[like or board].flow is Flow.ECP5 else 'vivado'} BOARD={board}"


def verilog_of(board: Board) -> dict[str, str]:
    """The Verilog of a board's machine behind buses. Needs Amaranth and a Yosys.

    The build hash is that of the machine at the board's own clock: drivers know the build at any clock, which register
    ``CLOCK_HZ`` tells them. Nothing but that register depends on the clock.
    """
    from beltline.hw.top import content, verilog

    files = verilog.generate(board.machine)
    if board.suffix:
        file = f"{content.BUILD_MODULE}.v"
        files[file] = verilog.generate(BOARDS[board.name].machine)[file]
    return files


def generate(board: Board) -> tuple[dict[str, str], Build]:
    """The Verilog of a board's machine, and what it is. Needs Amaranth and a Yosys."""
    from beltline.hw.top import verilog
    from beltline.hw.top.serial_machine import SerialParameters

    serial = SerialParameters(board.machine) if board.flow is Flow.ECP5 else None
    files = verilog.generate(board.machine) if serial is None else verilog.generate_serial(serial)
    return files, verilog.build(files, serial or board.machine, board.name)


def generate_all() -> dict[str, Build]:
    """The build of each board now, by its name. Boards of one machine are generated once."""
    made: dict[object, Build] = {}
    found = {}
    for board in BOARDS.values():
        key = (board.machine, board.flow is Flow.ECP5)
        if key not in made:
            made[key] = generate(board)[1]
        build = made[key]
        found[board.name] = Build(build.top, build.build_hash, build.parameters, build.baud, board.name)
    return found


def stale(now: Mapping[str, Build]) -> str:
    """What is to be said of the kept file if ``now`` is what it should hold; nothing if it does."""
    try:
        before = kept()
    except (OSError, ValueError):
        before = {}
    changed = [name for name in now if before.get(name) != now[name]]
    gone = [name for name in before if name not in BOARDS]
    if not changed + gone:
        return ""
    return (
        f"{FILE.name} is not what the generator makes now, for {', '.join(changed + gone)}: drivers refuse the new "
        f"bitstreams until '{WRITE}' was run"
    )


def note(board: str, digits: str) -> str:
    """What is to be said of a bitstream of this board with this hash; nothing if drivers know it."""
    if board in kept() and kept()[board].digits == digits:
        return ""
    return f"drivers do not know build {digits}: '{WRITE}' keeps it in {FILE.name}, where they look"


def main(argv: list[str] | None = None) -> int:
    """List the builds of all boards; 0 where those kept are they, or were written."""
    parser = argparse.ArgumentParser(
        prog="python -m beltline.constraints.board_builds",
        description="Generate the Verilog of every board, which takes a minute, list its content hashes, and compare "
        "them with those kept, by which drivers know bitstreams.",
        epilog="Exit code 0: they are the same, or written; 1: not; 2: refused.",
        allow_abbrev=False,
    )
    parser.add_argument("--write", action="store_true", help=f"keep them in {FILE.name}")
    given = parser.parse_args(argv)
    from amaranth.back.verilog import YosysError

    from beltline.hw.top.verilog import find_yosys

    find_yosys()
    try:
        now = generate_all()
        for build in now.values():
            print(f"{build.digits}  {build.board}")
        if given.write:
            _write(to_json(now.values()))
            kept.cache_clear()
    except YosysError as error:
        parser.exit(1, f"builds: Yosys, which writes the Verilog, did not: {error}\n")
    except OSError as error:
        parser.exit(1, f"builds: {error}\n")
    if complaint := stale(now):
        parser.exit(1, f"builds: {complaint}\n")
    return 0


def _write(text: str) -> None:
    """Replace the file, or leave it as it is."""
    number, name = tempfile.mkstemp(prefix=".builds.", dir=FILE.parent)
    try:
        with os.fdopen(number, "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(name, 0o644)
        os.replace(name, FILE)
    except BaseException:
        os.unlink(name)
        raise


if __name__ == "__main__":
    sys.exit(main())
