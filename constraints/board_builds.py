"""Record of the build of every board with its content hash, in ``builds.json``.

Drivers identify bitstreams by this record, without gateware or Yosys. ``python -m beltline.constraints.board_builds``
checks whether the record is up to date.
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
"""The record."""

WRITE = "python -m beltline.constraints.board_builds --write"
"""Command that updates the record."""


@functools.cache
def recorded() -> dict[str, Build]:
    """Return the recorded build of each board, by the board's name."""
    return {build.board: build for build in read(FILE)}


def build_name(board: str, digits: str) -> str:
    """Name of the files of a build, without suffix; ``digits`` is the build hash of register ``BUILD_HASH``."""
    return f"beltline-{board}-{digits}"


def bitstream_name(board: str, suffix: str = ".bit") -> str:
    """Name of the bitstream of a board's recorded build, as in ``beltline-ecp5-0123456789abcdef.bit``."""
    return build_name(board, recorded()[board].digits) + suffix


def rebuild(board: str, like: str = "") -> str:
    """Return the command that builds a board's bitstream or, for Vivado, writes the folder that Vivado builds it from.

    If ``board`` is only a placeholder, ``like`` names a board that is built in the same way.
    """
    return f"make {'bitstream' if BOARDS[like or board].flow is Flow.ECP5 else 'vivado'} BOARD={board}"


def verilog_of(board: Board) -> dict[str, str]:
    """Generate the Verilog of a board's machine with AXI, ``{file name: text}``. Needs Amaranth and Yosys.

    The build hash is that of the machine at the board's own clock, also if the user chose another. Drivers therefore
    know the build at any clock; they read the clock from register ``CLOCK_HZ``, the only thing that depends on it.
    """
    from beltline.hw.top import content, verilog

    files = verilog.generate(board.machine)
    if board.suffix:
        file = f"{content.BUILD_MODULE}.v"
        files[file] = verilog.generate(BOARDS[board.name].machine)[file]
    return files


def generate(board: Board) -> tuple[dict[str, str], Build]:
    """Generate the Verilog of a board's machine, ``{file name: text}``, and describe the build. Needs Amaranth and
    Yosys.
    """
    from beltline.hw.top import verilog
    from beltline.hw.top.serial_machine import SerialParameters

    serial = SerialParameters(board.machine) if board.flow is Flow.ECP5 else None
    files = verilog.generate(board.machine) if serial is None else verilog.generate_serial(serial)
    return files, verilog.build(files, serial or board.machine, board.name)


def generate_all() -> dict[str, Build]:
    """Generate and describe the build of each board, by the board's name. Boards with equal machines share one."""
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
    """Return a message if the recorded builds differ from ``now``, the generated ones; empty if they do not."""
    try:
        before = recorded()
    except (OSError, ValueError):
        before = {}
    changed = [name for name in now if before.get(name) != now[name]]
    gone = [name for name in before if name not in BOARDS]
    if not changed + gone:
        return ""
    return (
        f"{FILE.name} is out of date for {', '.join(changed + gone)}: drivers refuse the new bitstreams until you run "
        f"'{WRITE}'"
    )


def note(board: str, digits: str) -> str:
    """Return a message if drivers do not know the build of this board with hash ``digits``; empty if they do."""
    if board in recorded() and recorded()[board].digits == digits:
        return ""
    return f"drivers do not know build {digits}: run '{WRITE}', which records it in {FILE.name}"


def main(argv: list[str] | None = None) -> int:
    """Generate and list the builds of all boards, and compare or update the record; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m beltline.constraints.board_builds",
        description="Generate the Verilog of every board, which takes a minute, list its content hashes, and compare "
        "them with the recorded ones, by which drivers identify bitstreams.",
        epilog="Exit code 0: the record is up to date, or was updated; 1: it is out of date, or an error occurred; 2: "
        "the options are wrong.",
        allow_abbrev=False,
    )
    parser.add_argument("--write", action="store_true", help=f"record them in {FILE.name}")
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
            recorded.cache_clear()
    except YosysError as error:
        parser.exit(1, f"builds: Yosys could not write the Verilog: {error}\n")
    except OSError as error:
        parser.exit(1, f"builds: {error}\n")
    if complaint := stale(now):
        parser.exit(1, f"builds: {complaint}\n")
    return 0


def _write(text: str) -> None:
    """Replace the record atomically: if an error occurs, the old one remains."""
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
