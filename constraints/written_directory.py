"""Directories that this program writes, whole or not at all, and knows again by a list of hashes."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from beltline.hw.top import verilog

MANIFEST = "SHA256SUMS"
"""In the directory: what was written there."""


def manifest(files: dict[str, str]) -> str:
    """The files and their hashes, as ``sha256sum --check`` reads them."""
    return "".join(f"{hashlib.sha256(files[name].encode()).hexdigest()}  {name}\n" for name in sorted(files))


def untouched(directory: Path) -> bool:
    """Whether there is nothing in a directory but what was written there, as it was written."""
    there = {str(path.relative_to(directory)): path for path in directory.rglob("*") if not path.is_dir()}
    if MANIFEST not in there:
        return not there
    written = there.pop(MANIFEST).read_text(encoding="ascii")
    return written == manifest({name: path.read_text(encoding="latin-1") for name, path in there.items()})


def place(files: dict[str, str], directory: Path) -> bool:
    """Write a directory, whole or not at all; whether it was not there already.

    What was written there before and was not touched since is replaced.

    Raises
    ------
    FileExistsError
        There is something else.
    OSError
        The disk refused.
    """
    kept = directory / MANIFEST
    if kept.is_file() and kept.read_text(encoding="ascii") == manifest(files):
        return False
    if directory.exists() and not (directory.is_dir() and untouched(directory)):
        raise FileExistsError
    files = {**files, MANIFEST: manifest(files)}
    if not directory.exists():
        verilog.write(files, directory)
        return True
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{directory.name}.", dir=directory.parent) as neighbour:
        new, old = Path(neighbour) / "new", Path(neighbour) / "old"
        verilog.write(files, new)
        directory.rename(old)
        new.rename(directory)
    return True
