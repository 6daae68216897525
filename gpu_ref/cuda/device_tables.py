"""The tables of problems in the memory of a device."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.cuda import arena
from beltline.gpu_ref.cuda.arena import Arena, Plan
from beltline.gpu_ref.cuda.device import send
from beltline.gpu_ref.cuda.layout import Layout
from beltline.gpu_ref.methods import Arguments

_POINTERS = ("X", "W", "Q", "V0", "value", "previous", "policy", "outcome")

_NUMBERS = ("beta", "eta", "epsilon")
"""With :data:`_POINTERS` the entries of ``struct Problem`` of ``common.cu``, eight bytes each."""

OUTCOME = 10
"""Number of entries of the ``outcome`` of a problem."""


def memory(points: int, states: int, problems: int = 1, *, previous: bool = True, teams: int = 1) -> int:
    """Return the bytes of device memory that a solve of ``problems`` problems takes; proportional to ``N_k N_z``."""
    size = points * states
    tables = 8 * (points + 3 * size + states * states) + 4 * size + (8 * size if previous else 0) + 256
    return problems * tables + teams * 16 * states * (points + 2) + 2**22


@functools.lru_cache(64)
def _plan(
    points: int,
    states: int,
    count: int,
    layout: Layout,
    previous: bool,
    near: bool,
    copies: bool,
    more: tuple[tuple[str, tuple[tuple[int, ...], Any]], ...],
) -> Plan:
    """Return where the tables of ``count`` problems are; arguments as for :class:`Tables`."""
    shape, floats = (count, points, states), np.float64
    small = {"rows": ((count, len(_POINTERS) + len(_NUMBERS)), np.uint64), "Q": ((count, states, states), floats)}
    # A policy that the start does not guess begins with zeros.
    large = {
        "outcome": ((count, OUTCOME), floats), "words": ((layout.teams, 32), np.uint64), "policy": (shape, np.int32),
        "expectations": ((1,) if near else (layout.teams, 2, states, points + 2), floats),
        "parts": ((layout.teams, 2, layout.blocks, 2 * states + 2), floats),
    }  # fmt: skip
    filled: dict[str, tuple[tuple[int, ...], Any]] = {
        "X": ((count, points), floats), "W": (shape, floats), "V0": (shape, floats), "value": (shape, floats)
    }  # fmt: skip
    if previous:
        filled["previous"] = (shape, floats)
    if copies:
        size = 8 * count * (states * states + points + points * states)
        filled["copy"] = ((size + 2 * arena.ALIGNED,), np.uint8)
    return Plan(small, {**large, **dict(more)}, filled)


class Tables:
    """Tables of problems of one shape on the current device, and room for their results, in one allocation.

    :meth:`load` fills them. ``tables[name]`` is a table, with the problem as its first index.

    Parameters
    ----------
    cupy
        The module CuPy.
    problems
        Problems of one shape.
    layout
        How they are distributed over the device.
    previous
        Whether values before the last sweep are stored.
    near
        Whether expectations fit into shared memory.
    copies
        Whether there is room for copies of ``X``, ``W`` and ``Q`` (:meth:`copy`).
    more
        Layout of other tables of the same allocation, which are initially zero as the policy is.
    """

    def __init__(
        self,
        cupy: Any,
        problems: Sequence[Arguments],
        layout: Layout,
        previous: bool,
        near: bool,
        copies: bool = False,
        more: arena.Layout = MappingProxyType({}),
    ) -> None:
        self.problems = problems
        count = len(problems)
        plan = _plan(*problems[0].W.shape, count, layout, previous, near, copies, tuple(more.items()))
        self._arena = Arena(cupy, plan)
        self.addresses: Mapping[str, np.uint64] = {
            name: np.uint64(address) for name, address in self._arena.addresses().items()
        }
        """Address of each table in device memory, as kernels take it."""
        self.rows = self.addresses["rows"]
        self._rows = np.empty((count, len(_POINTERS) + len(_NUMBERS)), np.uint64)
        pointers, numbers = self._rows[:, : len(_POINTERS)], self._rows[:, len(_POINTERS) :]
        pointers[...] = [self.addresses.get(name, 0) for name in _POINTERS]
        if count > 1:
            each = [plan.size_of(name) // count if name in self.addresses else 0 for name in _POINTERS]
            pointers += np.arange(count, dtype=np.uint64)[:, None] * np.array(each, np.uint64)
        numbers.view(np.float64)[...] = list(map(operator.attrgetter(*_NUMBERS), problems))

    def pointers(self, name: str) -> NDArray[np.uint64]:
        """Return the address of a table of each problem."""
        found: NDArray[np.uint64] = self._rows[:, _POINTERS.index(name)]
        return found

    def __getitem__(self, name: str) -> Any:
        """Return the table itself, not a copy."""
        return self._arena[name]

    def load(self, made: Mapping[str, Any] | None = None) -> None:
        """Copy the problems to the device, except for their starting values (``Start.load``).

        ``made`` are their ``X`` and ``W`` if these are on the device already, each with the problem as its first index.
        """
        problems = self.problems
        transitions = np.array([problem.Q for problem in problems])
        self._arena.put({"rows": self._rows, "Q": transitions})
        for name in ("X", "W"):
            if made is None:
                send(self[name], [getattr(problem, name) for problem in problems])
            else:
                self[name][...] = made[name]

    def copy(self) -> None:
        """Copy ``X``, ``W`` and ``Q`` within the device, if the tables were made with room for that."""
        given, copy = self._arena.between("Q", "W"), self["copy"]
        copy.data.copy_from_device_async(given.data, given.nbytes)

    def copied(self, name: str) -> NDArray[np.uint64]:
        """Return the address of the copy of ``X``, ``W`` or ``Q`` of each problem."""
        return self.pointers(name) - self.addresses["Q"] + self.addresses["copy"]
