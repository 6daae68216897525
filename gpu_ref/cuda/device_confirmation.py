"""Verify a result on a CUDA device: compare value and policy with an exact sweep (``confirm.cu``).

This is the pass of :mod:`beltline.gpu_ref.confirmation`, with its theorem and its bound of rounding errors, with one
thread per state. Choices that are no longer the best are repaired for all rows of one parity at once, at most
:data:`MAX_REPAIRS` times. If that is not enough, or an error of a state exceeds the tolerance, there is no answer, and
a search on the processor is needed.

:class:`Confirmation` copies tables and result to the device. :class:`Comparisons` reads the results of a solve where
they are, in device memory, many problems in one launch, while they are copied to the host; of the tables it has copies
that were made before the solve began, so it relies on no table that a kernel of the solver could have written to.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.comparison import TIMES, Confirmed
from beltline.gpu_ref.confirmation import MAX_GAP
from beltline.gpu_ref.cuda.device import cupy_module, fetch, refuse
from beltline.gpu_ref.cuda.kernels import confirm_kernels, kind_of
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.utility import DOUBLE, power_error

CHUNK = 256
"""Rows of a block, a macro of ``confirm.cu``."""

MAX_REPAIRS = 8
"""Largest number of times that choices are repaired; each takes two launches and another pass."""

_SURVEYED, _FACTS, _PIECE, _KNOWN, _FOUND = 7, 5, 4, 3, 8
"""Number of entries in the arrays ``surveyed`` and ``facts`` of a chunk, a piece, ``known`` and ``found``, as in
``confirm.cu``.
"""

_POINTERS = (
    "X", "W", "Q", "V", "value", "policy", "exact", "ev", "surveyed", "known", "facts", "pieces", "found",
    "residual",
)  # fmt: skip
_NUMBERS = ("beta", "eta", "change", "constant", "share", "times", "far")
_STRUCT = np.dtype(
    [(name, np.uint64) for name in _POINTERS]
    + [(name, np.float64) for name in _NUMBERS]
    + [(name, np.int32) for name in ("points", "states", "chunks", "padding")]
)
"""``struct Confirm`` of ``confirm.cu``."""

_OWN = ("found", "ev", "surveyed", "known", "facts", "pieces", "exact")
"""The pointers of the intermediate results of a comparison, which are in one allocation in this order."""

_OWN_PLACES = [_POINTERS.index(name) for name in _OWN]


@functools.lru_cache(64)
def _places(points: int, states: int, count: int) -> tuple[NDArray[Any], int, int]:
    """Return the rows of ``count`` problems with the offsets of their intermediate results in place of addresses, the
    number of words of all of these, and the place of ``found`` among them.

    The rows are read-only, because they are made once for each shape.
    """
    chunks = math.ceil(points / CHUNK)
    blocks = chunks * states
    sizes = {
        "found": _FOUND, "ev": points * states, "surveyed": blocks * _SURVEYED, "known": _KNOWN + states,
        "facts": blocks * _FACTS, "pieces": 2 * blocks * _PIECE, "exact": (points * states + 1) // 2,
    }  # fmt: skip
    assert tuple(sizes) == _OWN
    rows = np.zeros(count, _STRUCT)
    begin = found = rows.nbytes // 8
    turns = np.arange(count, dtype=np.uint64)
    for name, size in sizes.items():
        rows[name] = np.uint64(8 * begin) + turns * np.uint64(8 * size)
        begin += count * size
    rows["far"] = MAX_GAP
    rows["points"], rows["states"], rows["chunks"] = points, states, chunks
    rows.flags.writeable = False
    return rows, begin, found


@functools.cache
def _side_stream(device: int) -> Any:
    """Return a stream whose work overlaps with that of the default stream of the device."""
    return cupy_module().cuda.Stream(non_blocking=True)


class Comparisons:
    """Compare results of problems of one shape, all on the current CUDA device, with exact sweeps.

    :meth:`begin` and :meth:`end` belong in a ``with`` block. When an error ends it, it waits for kernels that still
    run: they write to the memory of the comparison, which the next allocation may get, and read the tables.

    Parameters
    ----------
    points, states
        ``N_k`` and ``N_z``.
    numbers
        ``beta`` and ``eta`` of each problem.

    Raises
    ------
    MemoryError
        The intermediate results do not fit into the memory of the device.
    """

    def __init__(self, points: int, states: int, numbers: Sequence[tuple[float, float]]) -> None:
        cupy = cupy_module()
        self._points, self._states, self._count = points, states, len(numbers)
        self._chunks = math.ceil(points / CHUNK)
        rows, words, found = _places(points, states, self._count)
        refuse(cupy, 8 * words, "verification")
        room = cupy.empty(words)
        self._device_rows = room[:found].view(np.uint8)
        self._found = room[found : found + self._count * _FOUND].reshape(self._count, _FOUND)
        self._rows = rows.copy()
        self._rows.view(np.uint64).reshape(self._count, -1)[:, _OWN_PLACES] += np.uint64(room.data.ptr)
        self._rows["beta"], self._rows["eta"] = np.array(numbers).T
        self._kernels = confirm_kernels(cupy.cuda.Device().id, kind_of([eta for _, eta in numbers]))
        self._stream = _side_stream(cupy.cuda.Device().id)

    def __enter__(self) -> Comparisons:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stream.synchronize()

    def begin(self, tables: Mapping[str, NDArray[np.uint64]], changes: Sequence[float]) -> None:
        """Begin to compare once the work of the current stream is done; do not wait for that.

        Parameters
        ----------
        tables
            Addresses of the tables ``X, W, Q, V, value, policy`` of each problem in device memory, and, if its
            change is relative to a residual that is computed there, the address of this ``residual``.
        changes
            How far the value of each problem may be off, as for :func:`beltline.gpu_ref.confirmation.confirmed`.
        """
        for name, addresses in tables.items():
            self._rows[name] = addresses
        self._rows["change"], self._rows["times"] = changes, TIMES
        self._rows["constant"] = self._rows["share"] = 0.0
        self._allowed = np.isfinite(changes)
        before = cupy_module().cuda.get_current_stream().record()
        with self._stream:
            self._device_rows.set(self._rows.view(np.uint8))
            self._stream.wait_event(before)
            for name in ("survey", "gather"):
                self._launch(name)
            for name in ("confirm", "conclude"):
                self._launch(name, 0)
            # Most solutions need one repair. The others do not wait for it: the kernels end at once.
            self._repair()
            self._fetched = fetch(self._found, 0)

    def ended(self) -> Any:
        """Return an event that occurs when the comparison that has begun is done."""
        return self._stream.record()

    def _launch(self, name: str, *more: int) -> None:
        """Launch a kernel on the current stream."""
        over = (1, 1) if name in ("gather", "conclude") else (self._chunks, self._states)
        self._kernels[name]((*over, self._count), (CHUNK,), (self._device_rows, *map(np.int32, more)))

    def _repair(self) -> None:
        """Repair choices that are not the best once, and compare again."""
        for parity in (0, 1):
            self._launch("mend", parity)
        for name in ("confirm", "conclude"):
            self._launch(name, 1)

    def end(self) -> list[Confirmed | None]:
        """Return what :func:`beltline.gpu_ref.confirmation.confirmed` does for each problem.

        ``None`` for a problem that may have some, or whose residual is not finite.
        """
        measured = zip(*(numbers.tolist() for numbers in self.measured()), strict=True)
        return [None if math.isinf(gap) else Confirmed(gap, rounding) for gap, rounding in measured]

    def measured(self) -> tuple[Array, Array]:
        """Return residual and rounding of each problem, ``(problems,)``; both infinite where :meth:`end` has None."""
        with self._stream:
            self._stream.synchronize()
            rows = self._fetched
            for _ in range(1, MAX_REPAIRS):
                if not (rows[:, 4].astype(bool) & (rows[:, 5] == 0.0)).any():
                    break
                self._repair()
                rows = self._found.get()
        largest, gap, size, best, better, wrong, slack, sound = rows.T
        etas, of_eta = np.unique(self._rows["eta"], return_inverse=True)
        power = np.array([power_error(eta, 8.0) for eta in etas.tolist()])[of_eta]
        ev_error = DOUBLE * ((self._rows["eta"] == 1.0) + (self._states + 4) * np.maximum(largest, best))
        right = (better == 0.0) & (wrong == 0.0) & (sound != 0.0) & self._allowed
        return np.where(right, gap, np.inf), np.where(right, np.maximum(power * size + ev_error, slack), np.inf)


class Confirmation:
    """Compare results of one problem with exact sweeps on the current CUDA device, to which everything is copied.

    Parameters
    ----------
    X, W, Q, beta, eta
        As in :mod:`beltline.gpu_ref`. If a table breaks a condition, :meth:`compare` returns ``None``.

    Raises
    ------
    MemoryError
        The tables do not fit into the memory of the device.
    """

    def __init__(self, X: Array, W: Array, Q: Array, beta: float, eta: float) -> None:
        cupy = cupy_module()
        points, states = W.shape
        refuse(cupy, 8 * (points + 3 * W.size + states * states) + 4 * W.size, "verification")
        self._comparison = Comparisons(points, states, [(beta, eta)])
        self._tables = {name: cupy.empty(table.size) for name, table in (("X", X), ("W", W), ("Q", Q), ("V", W))}
        self._tables["value"], self._tables["policy"] = cupy.empty(W.size), cupy.empty(W.size, np.int32)
        for name, table in (("X", X), ("W", W), ("Q", Q)):
            self._put(name, table)

    def _put(self, name: str, table: NDArray[Any]) -> None:
        """Copy a table to the device."""
        target = self._tables[name]
        target.set(np.ascontiguousarray(table, target.dtype).reshape(-1))

    def compare(self, V: Array, value: Array, policy: NDArray[np.int32], change: float) -> Confirmed | None:
        """Compare ``value`` and ``policy`` with an exact sweep from ``V``; all ``(N_k, N_z)``.

        Returns
        -------
        Confirmed or None
            As for :func:`beltline.gpu_ref.confirmation.confirmed`.
        """
        self._put("value", value)
        self._put("policy", policy)
        if V is not value:
            self._put("V", V)
        tables = {**self._tables, "V": self._tables["value" if V is value else "V"]}
        pointers = {name: np.array([table.data.ptr], np.uint64) for name, table in tables.items()}
        with self._comparison:
            self._comparison.begin(pointers, [change])
            return self._comparison.end()[0]
