"""Put all tables of a problem into one allocation of device memory, so that small ones are copied together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

ALIGNED = 256
"""Tables begin at multiples of this number of bytes."""

Layout = Mapping[str, tuple[tuple[int, ...], DTypeLike]]
"""Shape and type of each table by name."""


class Plan:
    """Where tables are in an allocation. A plan does not change, so the solves of one shape share it.

    Parameters
    ----------
    small
        Tables that :meth:`Arena.put` copies to the device together; initially zero.
    large
        All others: those that it copies one by one, and those that kernels fill; initially zero.
    filled
        Further tables that are filled before anything reads them, and are therefore not cleared. Next to a kernel that
        leaves only a few multiprocessors to others, clearing takes long.
    """

    def __init__(self, small: Layout, large: Layout, filled: Layout = MappingProxyType({})) -> None:
        self.layout: Layout = {**large, **small, **filled}
        self.small = tuple(small)
        self.places: dict[str, slice] = {}
        begin = self._place(large, 0)
        self.staged = slice(begin, self._place(small, begin))
        """The bytes of all small tables; none after them is cleared."""
        self.size = max(self._place(filled, self.staged.stop), 1)

    def _place(self, tables: Layout, end: int) -> int:
        """Give tables their places from byte ``end`` on, and return the byte after the last one."""
        for name, (shape, dtype) in tables.items():
            size = math.prod(shape) * np.dtype(dtype).itemsize
            self.places[name] = slice(end, end + size)
            end += -(-size // ALIGNED) * ALIGNED
        return end

    def size_of(self, name: str) -> int:
        """Return the number of bytes of a table."""
        return self.places[name].stop - self.places[name].start


class Arena:
    """Tables by name in one allocation of the current device.

    Parameters
    ----------
    cupy
        The module CuPy, or NumPy in its place.
    plan
        Where the tables are.

    Example
    -------
    >>> import numpy as np
    >>> arena = Arena(np, Plan({"chances": ((2, 2), np.float64)}, {"choice": ((3,), np.int32)}))
    >>> arena["choice"]
    array([0, 0, 0], dtype=int32)
    """

    def __init__(self, cupy: Any, plan: Plan) -> None:
        self._plan = plan
        self._room = cupy.empty(plan.size, np.uint8)
        if isinstance(self._room, np.ndarray):
            self._room[: plan.staged.stop].fill(0)
        else:
            # In the order of the current stream, as all that follows.
            self._room.data.memset_async(0, plan.staged.stop)
        self._tables: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        """Return the table itself, not a copy."""
        if name not in self._tables:
            (shape, dtype), place, room = self._plan.layout[name], self._plan.places[name], self._room
            if isinstance(room, np.ndarray):
                self._tables[name] = room[place].view(dtype).reshape(shape)
            else:
                # With CuPy, a new array at an address takes less time than three views.
                self._tables[name] = type(room)(shape, dtype, room.data + place.start)
        return self._tables[name]

    def addresses(self) -> dict[str, int]:
        """Return the address of each table in device memory."""
        begin = self._room.data.ptr
        return {name: begin + place.start for name, place in self._plan.places.items()}

    def between(self, first: str, last: str) -> Any:
        """Return the bytes from the beginning of table ``first`` to the end of ``last``, in the order of the layout."""
        return self._room[self._plan.places[first].start : self._plan.places[last].stop]

    def put(self, tables: Mapping[str, NDArray[Any]]) -> None:
        """Copy all small tables, and any of the large ones, to the device, each in the shape of the layout."""
        typed = {name: np.ascontiguousarray(table, self._plan.layout[name][1]) for name, table in tables.items()}
        begin, end = self._plan.staged.start, self._plan.staged.stop
        staged = np.zeros(end - begin, np.uint8)
        for name in self._plan.small:
            place = self._plan.places[name]
            staged[place.start - begin : place.stop - begin] = typed.pop(name).reshape(-1).view(np.uint8)
        self._room[self._plan.staged].set(staged)
        for name, table in typed.items():
            self[name].set(table)
