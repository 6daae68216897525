"""Archives: NumPy's ``.npz`` with a description, a schema and a checksum, the one form in which arrays are kept.

Results, economies, checkpoints and the entries of a store are archives. Beside its arrays an archive has two members of
text: ``about``, JSON that begins with the kind of content and the version of the format, and ``checksum``, of all other
members (:func:`checksum`). ``numpy.load`` reads every member.

An archive from elsewhere is only believed so far: the description says which arrays there must be, of which type and
shape (:class:`Table`), and sizes are compared with those of the file and of the memory before anything is expanded.
Nothing in it is ever executed. Whatever is wrong is one :class:`FileError` with the file's name.
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
"""Version of what is written. Version 1 had no checksum."""

TEXT_LIMIT = 2**24
"""Most bytes of a member of text, at four bytes a character."""

EXPANSION = 1032
"""Most bytes that one compressed byte can stand for (deflate)."""

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
    """A file that is not what it should be; the message is one sentence with its name.

    Parameters
    ----------
    title
        What the file is called in the message.
    reason
        What is wrong, as ``"is ..."`` or ``"has ..."``.
    """

    def __init__(self, title: str, reason: str) -> None:
        super().__init__(title, reason)
        self.reason = reason

    def __str__(self) -> str:
        return " ".join(self.args)


@dataclass(frozen=True)
class Table:
    """What an array of an archive must be.

    Parameters
    ----------
    dtypes
        Types as NumPy writes them, such as ``"<f8"``; one of them.
    shape
        Sizes, or names of sizes that are the same in all arrays of the archive.
    optional
        Whether it may be missing.
    """

    dtypes: tuple[str, ...]
    shape: tuple[int | str, ...]
    optional: bool = False


class Archive(Protocol):
    """A file of a description and arrays, open to be read."""

    name: str
    kind: str
    facts: dict[str, Any]

    def arrays(self, tables: Mapping[str, Table]) -> dict[str, NDArray[Any]]:
        """Return the arrays by name, if they are as ``tables`` say and match the checksum.

        Raises
        ------
        ProblemError
            They do not.
        """


def describe(kind: str, facts: Mapping[str, Any]) -> str:
    """Return the description of an archive: ``kind``, the version, and ``facts``, as JSON.

    Raises
    ------
    ProblemError
        It is longer than an archive may have.
    """
    about = json.dumps({"kind": kind, "format": FORMAT, **facts})
    if 4 * len(about) > TEXT_LIMIT:
        raise ProblemError(f"names and labels are too long for a file: {len(about):,} characters")
    return about


def described(about: str) -> tuple[str, dict[str, Any]]:
    """Return the kind and the facts of a description.

    Raises
    ------
    FileError
        It is of another version.
    ValueError, TypeError, KeyError, RecursionError
        It is none.
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
    """Return the SHA-256 of arrays by name, of their types, shapes and bytes: ``"sha256:"`` and hex digits."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name]).reshape(-1)
        digest.update(f"{name} {arrays[name].dtype.str} {arrays[name].shape}\n".encode())
        digest.update(array.view(np.uint8).data)
    return f"sha256:{digest.hexdigest()}"


def write(
    target: Path, kind: str, facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], *, packed: bool = True
) -> None:
    """Write an archive to ``target``, whole or not at all.

    Parameters
    ----------
    target
    kind
        Of content, for :func:`reading`.
    facts
        Everything that is no array; JSON can hold it.
    arrays
    packed
        Whether to compress.

    Raises
    ------
    ProblemError
        As :func:`describe`.
    OSError
        The disk refused; nothing is left behind.
    """
    members = {"about": np.array(describe(kind, facts))}
    members |= {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()}
    members["checksum"] = np.array(checksum(members))
    save: Any = np.savez_compressed if packed else np.savez
    with replacing(target) as file:
        save(file, **members)


@contextlib.contextmanager
def reading(path: str | os.PathLike[str], title: str = "") -> Iterator[Archive]:
    """Open an archive; whatever goes wrong with its content, within the block too, is one :class:`FileError`.

    Parameters
    ----------
    path
    title
        What messages call the file, by default its name in quotes.

    Raises
    ------
    FileError
        The content is not sound.
    OSError
        There is no such file, or it cannot be opened.

    Examples
    --------
    >>> with reading("a.npz") as file:  # doctest: +SKIP
    ...     file.arrays({"value": Table(("<f8",), ("points", "states"))})
    """
    title = title or repr(os.fspath(path))
    with opened(path, title) as file, refusing(title):
        yield _Npz(os.fspath(path), file)


def opened(path: str | os.PathLike[str], title: str) -> IO[bytes]:
    """Open an ordinary file to be read; nothing else, for to read a pipe or a device may never end.

    Raises
    ------
    FileError
        It is no ordinary file.
    OSError
        There is none, or it cannot be opened.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise FileError(title, "is not an ordinary file")
    return open(path, "rb")


@contextlib.contextmanager
def refusing(title: str) -> Iterator[None]:
    """Turn every error of a block that reads a file into a :class:`FileError`.

    All of them, for what zip, zlib, JSON, NumPy and HDF5 raise for damaged content is not a closed list.
    """
    try:
        yield
    except FileError:
        raise
    except Unsound as wrong:
        raise FileError(title, str(wrong)) from wrong
    except MemoryError as error:
        raise FileError(title, f"cannot be loaded: {_plain(error) or 'the memory does not suffice'}") from error
    except KeyError as error:
        raise FileError(title, f"{UNSOUND}: it has no {_plain(error)}") from error
    except Exception as error:
        raise FileError(title, f"{UNSOUND}: {_plain(error) or type(error).__name__}") from error


class Unsound(ValueError):
    """What is wrong with a file whose name is not known here."""


def _plain(error: Exception) -> str:
    """What an error says, in one line that is safe to print."""
    text = str(error) if isinstance(error, ProblemError) else " ".join(str(error).split())[:160]
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def check_checksum(given: object, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Check the checksum of what was read.

    Raises
    ------
    ValueError
        It is another one.
    """
    if given != checksum(arrays):
        raise Unsound(CHANGED)


def check_tables(tables: Mapping[str, Table], found: Mapping[str, tuple[str, tuple[int, ...]]], room: int) -> None:
    """Check that arrays are those that ``tables`` say, before they are read.

    Parameters
    ----------
    tables
    found
        Type and shape of each array that is there.
    room
        Most bytes that all of them may have.

    Raises
    ------
    ProblemError
        The first fault found.
    MemoryError
        They do not fit the memory.
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
        fits = len(shape) == len(table.shape)
        for size, wanted in zip(shape, table.shape, strict=True) if fits else ():
            fits &= size == (wanted if isinstance(wanted, int) else sizes.setdefault(wanted, size))
        if not fits:
            known = ", ".join(str(sizes.get(size, size) if isinstance(size, str) else size) for size in table.shape)
            raise ProblemError(f"array {name!r} has shape {shown(shape)}, not ({known})")
        total += math.prod(shape) * np.dtype(dtype).itemsize
    if total > room:
        raise ProblemError(f"its arrays claim {total:,} bytes, more than a file of this size can hold")
    check_memory(total, "it")


class _Npz:
    """A ``.npz`` archive: no member is expanded before the directory, its header and its size are known to be sound."""

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
        """As of :class:`Archive`."""
        found = {name: head[:2] for name, head in self._headers.items() if name not in ("about", "checksum")}
        check_tables(tables, found, self._room)
        given = self._text("checksum")
        arrays = {name: self._array(name) for name in found}
        check_checksum(given, arrays | {"about": np.array(self._about)})
        return arrays

    def _directory(self, size: int) -> dict[str, zipfile.ZipInfo]:
        """Members by name; what they take of the file is no more than there is, so that none overlap."""
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
        """Type, shape and offset of a member's data, if they are what fills the member."""
        with self._zip.open(info) as stream:
            start = stream.read(len(_MAGIC) + 2)
            length = int.from_bytes(start[len(_MAGIC) :], "little")
            match = _HEADER.fullmatch(stream.read(length))
        if match is None or not start.startswith(_MAGIC):
            raise ValueError(f"member {info.filename!r} is no plain array")
        dtype, shape = match[1].decode(), tuple(int(size) for size in match[2].split(b",") if size.strip())
        offset = len(start) + length
        if dtype[1] not in "iufU" or math.prod(shape) * np.dtype(dtype).itemsize != info.file_size - offset:
            raise ValueError(f"member {info.filename!r} is no plain array of {info.file_size:,} bytes")
        return dtype, shape, offset

    def _text(self, name: str) -> str:
        dtype, shape, _ = self._headers[name]
        if dtype[1] != "U" or shape or self._members[name].file_size > TEXT_LIMIT:
            raise ValueError(f"its {name!r} is no text")
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
