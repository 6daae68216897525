"""Directories that these programs write, with a list of hashes by which they recognise unmodified ones later.

A directory is written completely or, if an error occurs, not at all.
"""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from beltline.hw.top import verilog

MANIFEST = "SHA256SUMS"
"""Name of the list of the files that were written, with their hashes."""


def manifest(files: dict[str, str]) -> str:
    """Return the list of ``files``, ``{path: text}``, with their hashes, in the format of ``sha256sum --check``."""
    return "".join(f"{hashlib.sha256(files[name].encode()).hexdigest()}  {name}\n" for name in sorted(files))


def untouched(directory: Path) -> bool:
    """Return whether a directory has exactly the files that were written to it, unmodified, or no files."""
    there = {str(path.relative_to(directory)): path for path in directory.rglob("*") if not path.is_dir()}
    if MANIFEST not in there:
        return not there
    written = there.pop(MANIFEST).read_text(encoding="ascii")
    return written == manifest({name: path.read_text(encoding="latin-1") for name, path in there.items()})


def _holds(path: Path, text: str) -> bool:
    return path.is_file() and path.read_bytes() == text.encode()


def place(files: dict[str, str], directory: Path) -> bool:
    """Write a directory; replace one that was written before and is unmodified.

    Parameters
    ----------
    files
        The files, ``{path: text}``.
    directory
        The directory.

    Returns
    -------
    bool
        False if the directory was written with the same files before, and these are unmodified; other files beside
        them, such as results, are no matter.

    Raises
    ------
    FileExistsError
        The directory has other files, or modified ones.
    OSError
        A file could not be written.
    """
    existing = directory / MANIFEST
    if existing.is_file() and existing.read_text(encoding="ascii") == manifest(files):
        if not all(_holds(directory / path, text) for path, text in files.items()):
            raise FileExistsError
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
