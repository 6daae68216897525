"""Save and load results as netCDF-4 files.

Files are written by h5netcdf, which needs only h5py and not the netCDF C library. Unlike netCDF-3, which SciPy writes,
netCDF-4 supports 64-bit integers, text and compression.

HDF5 ends the process if the disk is full, and may loop forever or return wrong numbers if a file is damaged. A file is
therefore made in memory and then written like any other. After the end of the HDF5 data it has one more line with the
SHA-256 of all bytes before it, which is verified before HDF5 reads them. Files that xarray or other programs wrote have
no such line; for these the length in the HDF5 header is compared with that of the file, and the attribute ``checksum``
of :meth:`beltline.Result.to_xarray` reveals changed data. As the checksums of a file that was changed may have been
computed again, HDF5 reads it in a process of its own, which has limits of time and memory
(:mod:`beltline.host.results.hdf5_child`).
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.problem import names
from beltline.host.results import hdf5_child
from beltline.host.results.archive import (
    CHANGED,
    EXPANSION,
    Archive,
    Table,
    Unsound,
    check_checksum,
    check_tables,
    described,
    opened,
    refusing,
)
from beltline.host.results.files import replacing

if TYPE_CHECKING:
    from xarray import Dataset

WAIT_SECONDS = 8.0
"""Seconds, and more for large files, after which the process that reads a file is ended on a busy computer, too."""

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Environment of that process: threads of NumPy's linear algebra would take more memory than most files."""

_LAST = re.compile(rb"\nBeltline sha256 [0-9a-f]{64}\n")
_LAST_SIZE = 82

_END = {0: 40, 1: 44, 2: 28, 3: 28}
"""Offset of the length of the file in the header of an HDF5 file, by version of the header."""


def write(dataset: Dataset, target: Path) -> None:
    """Write the dataset of a result to ``target`` as compressed netCDF-4, completely or not at all.

    Raises
    ------
    ProblemError
        The packages for it are not installed.
    OSError
        The system could not write the file; an existing file is unchanged.
    """
    import h5netcdf
    from xarray.backends import H5NetCDFStore

    # HDF5 cannot compress scalars.
    packed = {str(name): {"zlib": True, "complevel": 4} for name, table in dataset.data_vars.items() if table.ndim}
    memory = io.BytesIO()
    with h5netcdf.File(memory, "w") as file:
        dataset.dump_to_store(H5NetCDFStore(file), encoding=packed)
    content = memory.getbuffer()
    with replacing(target) as out:
        out.write(content)
        out.write(seal(content))


@contextlib.contextmanager
def reading(path: Path) -> Iterator[Archive]:
    """Open a netCDF-4 file of a result to read it; see :func:`beltline.host.results.archive.reading`.

    Raises
    ------
    FileError
        The content is damaged or not that of a result.
    OSError
        The file does not exist or cannot be opened.
    """
    title = repr(str(path))
    with opened(path, title) as file, refusing(title):
        content = file.read()
        if not content.startswith(b"\x89HDF\r\n\x1a\n"):
            raise ValueError("it is not a netCDF-4 file")
        _check_line(content)
    with _reader(path, len(content)) as process, refusing(title):
        yield _NetCDF(str(path), process, len(content))


@contextlib.contextmanager
def _reader(path: Path, size: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run the process that reads a file of ``size`` bytes; end it after the block, or if it exceeds its limits."""
    command = [sys.executable, "-I", "-S", hdf5_child.__file__, str(path.absolute()), *filter(None, sys.path)]
    # One line for each error is enough; what the C library writes is lost.
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **ONE_THREAD},
    )
    end = threading.Timer(WAIT_SECONDS + EXPANSION * size / hdf5_child.SPEED, process.kill)
    end.daemon = True
    try:
        with process:
            try:
                # The time of its imports, which may be long on a busy computer, says nothing about the file.
                cast(IO[bytes], process.stdout).readline()
                end.start()
                yield process
            finally:
                process.kill()
    finally:
        end.cancel()


def seal(content: bytes | bytearray | memoryview) -> bytes:
    """Return the last line of a file with this content before it."""
    return f"\nBeltline sha256 {hashlib.sha256(content).hexdigest()}\n".encode()


def _check_line(content: bytes) -> None:
    """Check the SHA-256 in the last line of a file, or without such a line the length of the file.

    Raises
    ------
    Unsound
        They do not match.
    """
    last = _LAST.fullmatch(content, max(len(content) - _LAST_SIZE, 0))
    if last is not None:
        sound = last[0] == seal(memoryview(content)[: last.start()])
    else:
        place = _END[content[8]]
        sound = int.from_bytes(content[place : place + 8], "little") == len(content)
    if not sound:
        raise Unsound(CHANGED)


class _NetCDF:
    """An open netCDF-4 file of a dataset that ``to_xarray`` of a result returned."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], size: int) -> None:
        self.name = name
        self._process = process
        self._out = cast(IO[bytes], process.stdout)
        self._size = size
        head = self._answer()
        self._texts, self._tables = head["texts"], head["tables"]
        self._about = self._attribute("about")
        self.kind, self.facts = described(self._about)

    def arrays(self, tables: Mapping[str, Table]) -> dict[str, NDArray[Any]]:
        """Return the arrays; see :class:`beltline.host.results.archive.Archive`."""
        # The file of a model contains its solution under this name.
        problem = self.facts.get("solution", self.facts).get("problem", {})
        asset, shock = names(problem["asset"], problem["shock"]) if "asset" in problem else ("grid", "shock_values")
        called = {"grid": asset, "shock_values": shock}
        variables = {name: called.get(name, name) for name in tables}
        there = {name: variable for name, variable in variables.items() if variable in self._tables}
        found = {name: self._header(variable) for name, variable in there.items()}
        check_tables(tables, found, EXPANSION * self._size)
        with contextlib.suppress(BrokenPipeError):
            # Without a buffer, which could be written only when the pipe is closed.
            os.write(cast(IO[bytes], self._process.stdin).fileno(), json.dumps(list(there.values())).encode() + b"\n")
        arrays = {name: self._array(*found[name]) for name in there}
        check_checksum(self._attribute("checksum"), arrays | {"about": np.array(self._about)})
        return arrays

    def _answer(self) -> dict[str, Any]:
        """Return the next line of the process that reads the file."""
        line = self._out.readline()
        if not line.endswith(b"\n"):
            code = self._process.wait()
            raise ValueError(f"HDF5 did not read it within {hdf5_child.SECONDS} seconds, or crashed (exit code {code})")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer

    def _array(self, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
        self._answer()
        data = np.empty(shape, dtype=dtype)
        if self._out.readinto(data.reshape(-1).view(np.uint8).data) != data.nbytes:  # type: ignore[attr-defined]
            raise ValueError("HDF5 did not read it to its end")
        return data

    def _attribute(self, name: str) -> str:
        text = self._texts[name]
        if not isinstance(text, str):
            raise TypeError(f"attribute {name!r} is not text")
        return text

    def _header(self, variable: str) -> tuple[str, tuple[int, ...]]:
        """Return type and shape of a variable after checking that its numbers are stored in this file."""
        if self._tables[variable] is None:
            raise ValueError(f"{variable!r} is not an array in this file")
        dtype, shape = self._tables[variable]
        return dtype, tuple(shape)
