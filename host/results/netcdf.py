"""Results as netCDF-4 files.

By way of h5netcdf, which needs only h5py and not the netCDF C library: it keeps 64-bit integers, text and compression,
which netCDF-3 as SciPy writes it does not.

HDF5 ends the process where the disk is full, and may loop or return other numbers where a file is damaged. So a file is
made in memory, and is written like any other; a last line, after the end of what HDF5 reads, has the SHA-256 of all
bytes before it, which is compared before HDF5 sees them. What xarray or other programs write ends where HDF5's own
header says, has no such line, and the attribute ``checksum`` of :meth:`beltline.Result.to_xarray` finds what differs.
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
"""Where the header of an HDF5 file says how long it is, by the header's version."""


def write(dataset: Dataset, target: Path) -> None:
    """Write the dataset of a result to ``target`` as netCDF-4, compressed, whole or not at all.

    Raises
    ------
    ProblemError
        The packages for it are not installed.
    OSError
        The disk refused; nothing is left behind.
    """
    import h5netcdf
    from xarray.backends import H5NetCDFStore

    # HDF5 does not compress single numbers.
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
    """Open a netCDF-4 file of a result; as :func:`beltline.host.results.archive.reading`.

    Raises
    ------
    FileError
        The content is not sound.
    OSError
        There is no such file, or it cannot be opened.
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
    """Check the last line of a file; without one, that nothing is there besides HDF5's part.

    Raises
    ------
    Unsound
        The line is damaged, or what is before it.
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
    """An open netCDF-4 file of what ``to_xarray`` of a result returned."""

    def __init__(self, name: str, data: Any, size: int) -> None:
        self.name = name
        self._data = data
        self._size = size
        self._about = self._attribute("about")
        self.kind, self.facts = described(self._about)

    def arrays(self, tables: Mapping[str, Table]) -> dict[str, NDArray[Any]]:
        """As of :class:`beltline.host.results.archive.Archive`."""
        # The file of a model has its solution as a part.
        problem = self.facts.get("solution", self.facts)["problem"]
        asset, shock = names(problem["asset"], problem["shock"])
        variables = {name: {"grid": asset, "shock_values": shock}.get(name, name) for name in tables}
        there = {name: variable for name, variable in variables.items() if variable in self._data}
        found = {name: self._header(variable) for name, variable in there.items()}
        check_tables(tables, found, EXPANSION * self._size)
        arrays = {name: np.asarray(self._data[variable][()]) for name, variable in there.items()}
        check_checksum(self._attribute("checksum"), arrays | {"about": np.array(self._about)})
        return arrays

    def _attribute(self, name: str) -> str:
        text = self._data.attrs[name]
        if not isinstance(text, str):
            raise TypeError(f"attribute {name!r} is no text")
        return text

    def _header(self, variable: str) -> tuple[str, tuple[int, ...]]:
        """Type and shape of a variable whose numbers are in this file and nowhere else."""
        import h5py

        # Before the link is followed, which may lead to another file.
        data = self._data[variable] if isinstance(self._data.get(variable, getlink=True), h5py.HardLink) else None
        if not isinstance(data, h5py.Dataset) or data.external or data.is_virtual:
            raise ValueError(f"{variable!r} is no array of its own")
        return data.dtype.str, data.shape
