"""Archives: ``.npz`` files with a description and a checksum, the one format in which this package stores arrays.

Results, solutions of models, checkpoints and the entries of a store are archives. Beside its arrays an archive has two
members of text: ``about``, JSON that begins with the kind of content and the version of the format, and ``checksum``,
that of all other members (:func:`checksum`). ``numpy.load`` reads every member.

A file from elsewhere is not trusted. Its description says which arrays it must have, of which type and shape
(:class:`Table`), and their sizes are compared with those of the file and of the memory before anything is decompressed.
Nothing in it is executed. Every fault raises :class:`FileError`, whose message names the file.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import stat
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.memory import check_memory
from beltline.host.problem.checks import ProblemError, shown
from beltline.host.results.files import replacing

FORMAT = 2
"""Version of the format that is written. Version 1 had no checksum."""

TEXT_LIMIT = 2**24
"""Largest size in bytes of a member of text, which has four bytes for each character."""

EXPANSION = 1032
"""Largest number of bytes that one byte of deflate-compressed data can expand to."""

UNSOUND = "is damaged or was not saved by Beltline"
CHANGED = "is damaged or was changed: its content does not match its checksum"

_SUFFIX = ".npy"
_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(
    rb"\{'descr': '([<|][a-zA-Z]\d{1,9})', 'fortran_order': False, "
    rb"'shape': \((|\d{1,18},|\d{1,18}(?:, \d{1,18})+)\), \} *\n"
)
_CHUNK = 2**20


class FileError(ProblemError):
    """A file whose content is damaged or not of the expected kind; the message is one sentence that names the file.

    Parameters
    ----------
    title
        What the message calls the file.
    reason
        The fault, as ``"is ..."`` or ``"has ..."``.
    """

    def __init__(self, title: str, reason: str) -> None:
        super().__init__(title, reason)
        self.reason = reason

    def __str__(self) -> str:
        return " ".join(self.args)


@dataclass(frozen=True)
class Table:
    """The type and shape that an array of an archive must have.

    Parameters
    ----------
    dtypes
        Accepted types in NumPy's notation, such as ``"<f8"``.
    shape
        Size of each axis: a number, or a name for a size that is the same wherever the name occurs in the archive; an
        axis whose name ends in ``?`` may be missing.
    optional
        Whether the array may be missing.
    """

    dtypes: tuple[str, ...]
    shape: tuple[int | str, ...]
    optional: bool = False


class Archive(Protocol):
    """An open file of a description and arrays.

    Attributes
    ----------
    name
        File name.
    kind
        Kind of content.
    facts
        The description.
    """

    name: str
    kind: str
    facts: dict[str, Any]

    def arrays(self, tables: Mapping[str, Table]) -> dict[str, NDArray[Any]]:
        """Return the arrays by name after checking types, shapes and the checksum.

        Raises
        ------
        ProblemError
            An array is missing, is unknown, has another type or shape, or does not match the checksum.
        """


def describe(kind: str, facts: Mapping[str, Any]) -> str:
    """Return the description of an archive as JSON: ``kind``, the version of the format, and ``facts``.

    Raises
    ------
    ProblemError
        The description is longer than ``TEXT_LIMIT``.
    """
    about = json.dumps({"kind": kind, "format": FORMAT, **facts})
    if 4 * len(about) > TEXT_LIMIT:
        raise ProblemError(f"names and labels are too long for a file: {len(about):,} characters")
    return about


def described(about: str) -> tuple[str, dict[str, Any]]:
    """Return the kind of content and the facts of a description.

    Raises
    ------
    Unsound
        The version of the format is not ``FORMAT``.
    ValueError, TypeError, KeyError, RecursionError
        The text is not a description of an archive.
    """
    facts = json.loads(about)
    if not isinstance(facts, dict):
        raise TypeError("its description is not one of Beltline's")
    version = facts.pop("format", facts.get("krusell_smith"))
    if version == 1:
        raise Unsound(
            "was saved by Beltline 0.1.0, whose files have no checksum, and this version does not load it, "
            "though NumPy and xarray read its arrays"
        )
    kind = facts.pop("kind", None)
    if not isinstance(kind, str) or not isinstance(version, int):
        raise TypeError("its description is not one of Beltline's")
    if version != FORMAT:
        raise Unsound(f"has file format {shown(version)}, and this version of Beltline reads format {FORMAT}")
    return kind, facts


def checksum(arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return ``"sha256:"`` and the hexadecimal SHA-256 of arrays: of their names, types, shapes and bytes."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name]).reshape(-1)
        digest.update(f"{name} {arrays[name].dtype.str} {arrays[name].shape}\n".encode())
        digest.update(array.view(np.uint8).data)
    return f"sha256:{digest.hexdigest()}"


def write(
    target: Path, kind: str, facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], *, packed: bool = True
) -> None:
    """Write an archive to ``target``, completely or not at all.

    Parameters
    ----------
    target
        File name.
    kind
        Kind of content, which :func:`reading` returns.
    facts
        Everything that is not an array; JSON must be able to hold it.
    arrays
        The arrays by name.
    packed
        Whether to compress.

    Raises
    ------
    ProblemError
        The description is too long (:func:`describe`).
    OSError
        The system could not write the file; an existing file is unchanged.
    """
    members = {"about": np.array(describe(kind, facts))}
    members |= {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()}
    members["checksum"] = np.array(checksum(members))
    with (
        replacing(target) as file,
        _Written(file, "w", zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED) as whole,
    ):
        for name, array in members.items():
            with whole.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


class _Written(zipfile.ZipFile):
    """A zip file that is not closed again after an interrupt of its writer: no caller could handle that error."""

    def __del__(self) -> None:
        pass


@contextlib.contextmanager
def reading(path: str | os.PathLike[str], title: str = "") -> Iterator[Archive]:
    """Open an archive to read it; every fault of its content, within the block too, raises :class:`FileError`.

    Parameters
    ----------
    path
        File name.
    title
        What messages call the file, by default its name in quotes.

    Raises
    ------
    FileError
        The content is damaged or not an archive.
    OSError
        The file does not exist or cannot be opened.

    Examples
    --------
    >>> with reading("a.npz") as file:  # doctest: +SKIP
    ...     file.arrays({"value": Table(("<f8",), ("points", "states"))})
    """
    title = title or repr(os.fspath(path))
    with opened(path, title) as file, refusing(title):
        yield _Npz(os.fspath(path), file)


def opened(path: str | os.PathLike[str], title: str) -> IO[bytes]:
    """Open an ordinary file to read it. Pipes and devices are refused, because reading them may never end.

    Raises
    ------
    FileError
        The path is not that of an ordinary file.
    OSError
        The file does not exist or cannot be opened.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise FileError(title, "is not an ordinary file")
    return open(path, "rb")


@contextlib.contextmanager
def refusing(title: str) -> Iterator[None]:
    """Turn every exception of a block that reads a file into a :class:`FileError`.

    All exceptions are caught, because zip, zlib, JSON, NumPy and HDF5 do not document what they raise for damaged data.
    """
    try:
        yield
    except FileError:
        raise
    except Unsound as wrong:
        raise FileError(title, str(wrong)) from wrong
    except MemoryError as error:
        raise FileError(title, f"cannot be loaded: {_plain(error) or 'there is not enough memory'}") from error
    except KeyError as error:
        raise FileError(title, f"{UNSOUND}: it has no {_plain(error)}") from error
    except Exception as error:
        raise FileError(title, f"{UNSOUND}: {_plain(error) or type(error).__name__}") from error


class Unsound(ValueError):
    """A fault of a file that is found where the file's name is not known."""


def _plain(error: Exception) -> str:
    """Return the message of an exception as one line of printable characters."""
    text = str(error) if isinstance(error, ProblemError) else " ".join(str(error).split())[:160]
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def check_checksum(given: object, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Check arrays that were read against the checksum ``given`` in their file.

    Raises
    ------
    Unsound
        The checksums differ.
    """
    if given != checksum(arrays):
        raise Unsound(CHANGED)


def axes_of(dims: tuple[int | str, ...], count: int) -> tuple[Any, ...]:
    """Return the axes of an array that has ``count`` of those that are declared."""
    kept = dims if count == len(dims) else [axis for axis in dims if not str(axis).endswith("?")]
    return tuple(axis.removesuffix("?") if isinstance(axis, str) else axis for axis in kept)


def check_tables(tables: Mapping[str, Table], found: Mapping[str, tuple[str, tuple[int, ...]]], room: int) -> None:
    """Check types, shapes and sizes of arrays before they are read.

    Parameters
    ----------
    tables
        What every array must be.
    found
        Type and shape of each array of the file.
    room
        Largest number of bytes that all arrays together can have, given the size of the file.

    Raises
    ------
    ProblemError
        The first fault found.
    MemoryError
        The arrays do not fit into the memory.
    """
    for name in found:
        if name not in tables:
            raise ProblemError(f"it has an array {shown(name)}, which does not belong there")
    sizes: dict[str, int] = {}
    total = 0
    for name, table in tables.items():
        if name not in found:
            if table.optional:
                continue
            raise ProblemError(f"it has no array {name!r}")
        dtype, shape = found[name]
        if dtype not in table.dtypes:
            raise ProblemError(f"array {name!r} has type {dtype}, not {' or '.join(table.dtypes)}")
        axes = axes_of(table.shape, len(shape))
        fits = len(shape) == len(axes)
        for size, wanted in zip(shape, axes, strict=True) if fits else ():
            fits &= size == (wanted if isinstance(wanted, int) else sizes.setdefault(wanted, size))
        if not fits:
            known = ", ".join(str(sizes.get(size, size) if isinstance(size, str) else size) for size in axes)
            raise ProblemError(f"array {name!r} has shape {shown(shape)}, not ({known})")
        total += math.prod(shape) * np.dtype(dtype).itemsize
    if total > room:
        raise ProblemError(f"its arrays claim {total:,} bytes, more than a file of this size can hold")
    check_memory(total, "it")


class _Npz:
    """An open ``.npz`` archive. A member is decompressed only after its size and header were checked."""

    def __init__(self, name: str, file: IO[bytes]) -> None:
        self.name = name
        size = os.fstat(file.fileno()).st_size
        try:
            self._zip = zipfile.ZipFile(file)
        except zipfile.BadZipFile as error:
            raise ValueError(f"it is not a complete zip archive ({_plain(error)})") from error
        self._members = self._directory(size)
        self._headers = {member: self._header(info) for member, info in self._members.items()}
        self._room = EXPANSION * size
        self._about = self._text("about")
        self.kind, self.facts = described(self._about)

    def arrays(self, tables: Mapping[str, Table]) -> dict[str, NDArray[Any]]:
        """Return the arrays; see :class:`Archive`."""
        found = {name: head[:2] for name, head in self._headers.items() if name not in ("about", "checksum")}
        check_tables(tables, found, self._room)
        given = self._text("checksum")
        arrays = {name: self._array(name) for name in found}
        check_checksum(given, arrays | {"about": np.array(self._about)})
        return arrays

    def _directory(self, size: int) -> dict[str, zipfile.ZipInfo]:
        """Return the members by name. Their compressed sizes add up to no more than the file has, so none overlap."""
        members: dict[str, zipfile.ZipInfo] = {}
        for info in self._zip.infolist():
            name = info.filename.removesuffix(_SUFFIX)
            if name == info.filename or not name.isidentifier() or name in members:
                raise ValueError(f"it has a member {shown(info.filename)}, which does not belong there")
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError(f"member {info.filename!r} is compressed by an unknown method, {info.compress_type}")
            most = info.compress_size * (1 if info.compress_type == zipfile.ZIP_STORED else EXPANSION)
            if info.file_size > most:
                raise ValueError(
                    f"member {info.filename!r} claims {info.file_size:,} bytes in {info.compress_size:,} of the file"
                )
            members[name] = info
        if sum(info.compress_size for info in members.values()) > size:
            raise ValueError("its members claim more bytes than the file has")
        return members

    def _header(self, info: zipfile.ZipInfo) -> tuple[str, tuple[int, ...], int]:
        """Return type, shape and offset of a member's data after checking that the data fills the member."""
        with self._zip.open(info) as stream:
            start = stream.read(len(_MAGIC) + 2)
            length = int.from_bytes(start[len(_MAGIC) :], "little")
            match = _HEADER.fullmatch(stream.read(length))
        if match is None or not start.startswith(_MAGIC):
            raise ValueError(f"member {info.filename!r} is not a plain array")
        dtype, shape = match[1].decode(), tuple(int(size) for size in match[2].split(b",") if size.strip())
        offset = len(start) + length
        if dtype[1] not in "iufU" or math.prod(shape) * np.dtype(dtype).itemsize != info.file_size - offset:
            raise ValueError(f"member {info.filename!r} is not a plain array of {info.file_size:,} bytes")
        return dtype, shape, offset

    def _text(self, name: str) -> str:
        dtype, shape, _ = self._headers[name]
        if dtype[1] != "U" or shape or self._members[name].file_size > TEXT_LIMIT:
            raise ValueError(f"its {name!r} is not text")
        return str(self._array(name))

    def _array(self, name: str) -> NDArray[Any]:
        dtype, shape, offset = self._headers[name]
        info = self._members[name]
        data = np.empty(info.file_size - offset, dtype=np.uint8)
        with self._zip.open(info) as stream:
            stream.read(offset)
            for first in range(0, data.size, _CHUNK):
                part = data[first : first + _CHUNK]
                part[:] = np.frombuffer(stream.read(part.size), dtype=np.uint8)
            if stream.read(1):
                raise ValueError(f"member {info.filename!r} is longer than its header says")
        return data.view(dtype).reshape(shape)
