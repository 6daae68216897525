"""Put all tables of a problem into one allocation of device memory, so that small ones are copied together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

ALIGNED = 256
"""Tables begin at multiples of this number of bytes."""

Layout = Mapping[str, tuple[tuple[int, ...], DTypeLike]]
"""Shape and type of each table by name."""


class Arena:
    """Tables by name in one allocation of the current device, initially zero.

    Parameters
    ----------
    cupy
        The module CuPy, or NumPy in its place.
    small
        Tables that :meth:`put` copies to the device together.
    large
        All others: those that it copies one by one, and those that kernels fill.

    Example
    -------
    >>> import numpy as np
    >>> arena = Arena(np, {"chances": ((2, 2), np.float64)}, {"choice": ((3,), np.int32)})
    >>> arena["choice"]
    array([0, 0, 0], dtype=int32)
    """

    def __init__(self, cupy: Any, small: Layout, large: Layout) -> None:
        self._layout = {**small, **large}
        self._small = tuple(small)
        self._places: dict[str, slice] = {}
        end = self._staged = 0
        for name, (shape, dtype) in self._layout.items():
            size = math.prod(shape) * np.dtype(dtype).itemsize
            self._places[name] = slice(end, end + size)
            end += -(-size // ALIGNED) * ALIGNED
            if name in small:
                self._staged = end
        self._room = cupy.zeros(max(end, 1), np.uint8)
        self._tables: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        """Return the table itself, not a copy."""
        if name not in self._tables:
            shape, dtype = self._layout[name]
            self._tables[name] = self._room[self._places[name]].view(dtype).reshape(shape)
        return self._tables[name]

    def addresses(self) -> dict[str, int]:
        """Return the address of each table in device memory."""
        begin = self._room.data.ptr
        return {name: begin + place.start for name, place in self._places.items()}

    def size_of(self, name: str) -> int:
        """Return the number of bytes of a table."""
        return self._places[name].stop - self._places[name].start

    def between(self, first: str, last: str) -> Any:
        """Return the bytes from the beginning of table ``first`` to the end of ``last``, in the order of the layout."""
        return self._room[self._places[first].start : self._places[last].stop]

    def put(self, tables: Mapping[str, NDArray[Any]]) -> None:
        """Copy all small tables, and any of the large ones, to the device, each in the shape of the layout."""
        typed = {name: np.ascontiguousarray(table, self._layout[name][1]) for name, table in tables.items()}
        staged = np.zeros(self._staged, np.uint8)
        for name in self._small:
            staged[self._places[name]] = typed.pop(name).reshape(-1).view(np.uint8)
        self._room[: self._staged].set(staged)
        for name, table in typed.items():
            self[name].set(table)
