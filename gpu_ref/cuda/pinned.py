"""Copy tables between the host and a CUDA device through page-locked memory, which is kept for the next solve.

The driver copies other memory of the host by one thread, and waits for each piece. Here all threads copy a table into
page-locked memory, from which the device takes it while the next piece is copied. Results come back the same way, and
the threads share the first access to newly allocated memory, which takes most of the time.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import get_num_threads
from numpy.typing import NDArray

from beltline.compiled import njit, prange
from beltline.gpu_ref.threads import threads

Bytes = NDArray[np.uint8]

SLOTS, SIZE = 4, 2**22
"""Pieces of page-locked memory of a thread and a device, and the bytes of each."""

_AHEAD = 2
"""Pieces that the device may be ahead when results are copied."""

_GRAIN = 2**16
"""Bytes that a thread copies at a time; fewer are copied by the thread that asks."""

_MOST_THREADS = 8
"""More threads do not copy faster."""

_TO_DEVICE, _TO_HOST = 1, 2
"""Directions of ``cudaMemcpyAsync``."""

_own = threading.local()
_copying = threading.Lock()


@njit(parallel=True, cache=True)
def _copy_on_all(source: Bytes, target: Bytes) -> None:
    for k in prange((source.size - 1) // _GRAIN + 1):
        begin, end = k * _GRAIN, min((k + 1) * _GRAIN, source.size)
        target[begin:end] = source[begin:end]


def _copy(source: Bytes, target: Bytes) -> None:
    """Copy bytes of the host, on several threads if there are many."""
    if source.size <= 2 * _GRAIN:
        target[:] = source
        return
    # Numba compiles for one type of array only.
    source = source.view()
    source.flags.writeable = False
    # Not every threading layer of Numba lets two threads of Python call it at once.
    with _copying, threads(min(_MOST_THREADS, get_num_threads())):
        _copy_on_all(source, target)


@dataclass(frozen=True)
class _Slot:
    """A piece of page-locked memory, its address, and the event that says that the device no longer needs it."""

    memory: Bytes
    address: int
    event: Any


class Pinned:
    """Page-locked memory for copies on the current device and its current stream, by one thread of the host."""

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy
        self._turn = 0
        self._slots = []
        for _ in range(SLOTS):
            memory = cupy.cuda.alloc_pinned_memory(SIZE)
            event = cupy.cuda.Event(disable_timing=True)
            self._slots.append(_Slot(np.frombuffer(memory, np.uint8, SIZE), memory.ptr, event))

    def _next(self) -> _Slot:
        """Return the next piece, once the device no longer needs it."""
        slot = self._slots[self._turn % SLOTS]
        self._turn += 1
        slot.event.synchronize()
        return slot

    def _start(self, target: int, source: int, size: int, way: int, slot: _Slot) -> None:
        """Let the device copy ``size`` bytes between two addresses."""
        stream = self._cupy.cuda.get_current_stream()
        self._cupy.cuda.runtime.memcpyAsync(target, source, size, way, stream.ptr)
        slot.event.record(stream)

    def put(self, target: Any, sources: Sequence[NDArray[Any]]) -> None:
        """Copy tables of the host, one after the other, to a contiguous table of the device of the same size and type.

        The tables may be changed when this returns; the device has them before it starts later work of the stream.
        """
        address, used = target.data.ptr, 0
        slot = self._next()
        for source in sources:
            data = np.ascontiguousarray(source, target.dtype).reshape(-1).view(np.uint8)
            begin = 0
            while begin < data.size:
                if used == SIZE:
                    self._start(address, slot.address, used, _TO_DEVICE, slot)
                    address, used, slot = address + used, 0, self._next()
                count = min(data.size - begin, SIZE - used)
                _copy(data[begin : begin + count], slot.memory[used : used + count])
                begin, used = begin + count, used + count
        if used:
            self._start(address, slot.address, used, _TO_DEVICE, slot)

    def fetch(self, table: Any) -> NDArray[Any]:
        """Copy a contiguous table of the device to new memory of the host."""
        found: NDArray[Any] = np.empty(table.shape, table.dtype)
        data = found.reshape(-1).view(np.uint8)
        begins = range(0, data.size, SIZE)
        under_way: list[_Slot] = []
        for k in range(len(begins) + _AHEAD):
            if k < len(begins):
                slot = self._next()
                count = min(SIZE, data.size - begins[k])
                self._start(slot.address, table.data.ptr + begins[k], count, _TO_HOST, slot)
                under_way.append(slot)
            if k >= _AHEAD:
                piece = data[begins[k - _AHEAD] : begins[k - _AHEAD] + SIZE]
                slot = under_way[k - _AHEAD]
                slot.event.synchronize()
                _copy(slot.memory[: piece.size], piece)
        return found


def pinned(cupy: Any) -> Pinned:
    """Return the page-locked memory of this thread for the current device, allocated when it is first needed."""
    found: dict[int, Pinned] = _own.__dict__.setdefault("found", {})
    device = int(cupy.cuda.Device().id)
    if device not in found:
        found[device] = Pinned(cupy)
    return found[device]
