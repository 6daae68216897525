"""Save and load results as netCDF-4 files.

Files are written by h5netcdf, which needs only h5py and not the netCDF C library. Unlike netCDF-3, which SciPy writes,
netCDF-4 supports 64-bit integers, text and compression.

HDF5 ends the process if the disk is full, and may loop forever or return wrong numbers if a file is damaged. A file is
therefore made in memory and then written like any other. After the end of the HDF5 data it has one more line with the
SHA-256 of all bytes before it, which is verified before HDF5 reads them. Files that xarray or other programs wrote have
no such line; for these the length in the HDF5 header is compared with that of the file, and the attribute ``checksum``
of :meth:`beltline.Result.to_xarray` reveals changed data.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.problem import names
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

_LAST = re.compile(rb"\nBeltline sha256 ([0-9a-f]{64})\n")
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
        out.write(f"\nBeltline sha256 {hashlib.sha256(content).hexdigest()}\n".encode())


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
    import h5py

    title = repr(str(path))
    with opened(path, title) as file, refusing(title):
        content = file.read()
        if not content.startswith(b"\x89HDF\r\n\x1a\n"):
            raise ValueError("it is not a netCDF-4 file")
        _check_line(content)
        with h5py.File(io.BytesIO(content), "r") as data:
            yield _NetCDF(str(path), data, len(content))


def _check_line(content: bytes) -> None:
    """Check the SHA-256 in the last line of a file, or without such a line the length of the file.

    Raises
    ------
    Unsound
        They do not match.
    """
    last = _LAST.fullmatch(content, max(len(content) - _LAST_SIZE, 0))
    if last is not None:
        sound = hashlib.sha256(memoryview(content)[: last.start()]).hexdigest() == last[1].decode()
    else:
        place = _END[content[8]]
        sound = int.from_bytes(content[place : place + 8], "little") == len(content)
    if not sound:
        raise Unsound(CHANGED)


class _NetCDF:
    """An open netCDF-4 file of a dataset that ``to_xarray`` of a result returned."""

    def __init__(self, name: str, data: Any, size: int) -> None:
        self.name = name
        self._data = data
        self._size = size
        self._about = self._attribute("about")
        self.kind, self.facts = described(self._about)

    def arrays(self, tables: Mapping[str, Table]) -> dict[str, NDArray[Any]]:
        """Return the arrays; see :class:`beltline.host.results.archive.Archive`."""
        # The file of a model contains its solution under this name.
        problem = self.facts.get("solution", self.facts).get("problem", {})
        asset, shock = names(problem["asset"], problem["shock"]) if "asset" in problem else ("grid", "shock_values")
        called = {"grid": asset, "shock_values": shock}
        variables = {name: called.get(name, name) for name in tables}
        there = {name: variable for name, variable in variables.items() if variable in self._data}
        found = {name: self._header(variable) for name, variable in there.items()}
        check_tables(tables, found, EXPANSION * self._size)
        arrays = {name: np.asarray(self._data[variable][()]) for name, variable in there.items()}
        check_checksum(self._attribute("checksum"), arrays | {"about": np.array(self._about)})
        return arrays

    def _attribute(self, name: str) -> str:
        text = self._data.attrs[name]
        if not isinstance(text, str):
            raise TypeError(f"attribute {name!r} is not text")
        return text

    def _header(self, variable: str) -> tuple[str, tuple[int, ...]]:
        """Return type and shape of a variable after checking that its numbers are stored in this file."""
        import h5py

        # Checked before the link is followed, because it may lead to another file.
        data = self._data[variable] if isinstance(self._data.get(variable, getlink=True), h5py.HardLink) else None
        if not isinstance(data, h5py.Dataset) or data.external or data.is_virtual:
            raise ValueError(f"{variable!r} is not an array in this file")
        return data.dtype.str, data.shape
