"""Memory of the host for the results of a CUDA device, to which the device copies without the processor."""

from __future__ import annotations

import contextlib
import functools
import importlib
import math
import mmap
import os
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

LARGE = 2**27
"""Bytes from which a table is copied in pieces through pinned memory, which is also the size of all pieces together."""

_LEAST_COPIERS, _MOST_COPIERS = 4, 8
"""The least and the largest number of threads that copy a large table, each a piece at a time."""

PINNED_LEAST, _PINNED_MOST = 2**17, 2**28
"""Bytes from which a result is copied to pinned memory of its own, and the most that results take of it at a time."""

_REGISTERED_LEAST, _REGISTERED_MOST, _REGISTERED_SHARE = 2**25, 2**33, 8
"""Bytes from which a result gets registered memory, the most of it, and the share of all memory that it is at most, one
eighth.
"""

_PORTABLE = 1
"""Flag of CUDA: registered memory is registered for all devices."""


@functools.cache
def copiers() -> int:
    """Return the number of threads that copy a large table: half as many as cores, within limits."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(max(cores // 2, _LEAST_COPIERS), _MOST_COPIERS)


@functools.cache
def _empty_pinned() -> Any:
    """Return the function of CuPy that allocates pinned memory, imported when it is first needed."""
    return importlib.import_module("cupyx").empty_pinned


class _Pinned:
    """Arrays in pinned memory, to which a device copies three times as fast as to other memory, without the processor.

    CuPy keeps the memory of an array that is no longer used for the next one. No more than ``most`` bytes are lent at a
    time, since pinned memory is not available to other programs.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lent = 0
        self._lock = threading.RLock()

    def lend(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any] | None:
        """Return an array, or ``None`` if too much is lent."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        with self._lock:
            if self._lent + size > self._most:
                return None
            lent: np.ndarray[Any, Any] = _empty_pinned()(shape, dtype)
            self._lent += size
        # A view of the array refers to it, so it lives as long as any of its views.
        weakref.finalize(lent, self._give_back, size).atexit = False
        return lent

    def _give_back(self, size: int) -> None:
        with self._lock:
            self._lent -= size


class _Registered:
    """Large pieces of ordinary memory that are registered with CUDA, and used again once no array refers to them.

    A device copies to them at the speed of its bus. Newly allocated memory takes four times as long, which is spent on
    the first access to each page; so pieces are kept for the next results. No more than ``most`` bytes are registered,
    since this memory is not available to other programs.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = 0
        self._free: dict[int, np.ndarray[Any, Any]] = {}
        # Memory may be given back while this thread has the lock, by a collection of garbage.
        self._lock = threading.RLock()

    def lend(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any] | None:
        """Return an array, or ``None`` if too much is lent or memory cannot be registered."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        with self._lock:
            fitting = [(piece.size, at) for at, piece in list(self._free.items()) if size <= piece.size <= 2 * size]
            piece = self._free.pop(min(fitting)[1]) if fitting else self._make(size)
        if piece is None:
            return None
        # An array with a base that is no array. A view of the array refers to it, so it lives as long as any of them.
        lent: np.ndarray[Any, Any] = np.frombuffer(piece.data, dtype, math.prod(shape))
        weakref.finalize(lent, self._give_back, piece).atexit = False
        return lent.reshape(shape)

    def _make(self, size: int) -> np.ndarray[Any, Any] | None:
        """Allocate and register a piece, after giving up free ones if there is no room."""
        runtime = importlib.import_module("cupy").cuda.runtime
        while self._free and self._size + size > self._most:
            at, old = self._free.popitem()
            runtime.hostUnregister(at)
            self._size -= old.size
        if self._size + size > self._most:
            return None
        try:
            room = mmap.mmap(-1, size)
        except (OSError, ValueError):
            return None
        if hasattr(mmap, "MADV_HUGEPAGE"):
            with contextlib.suppress(OSError):  # Small pages only take longer.
                room.madvise(mmap.MADV_HUGEPAGE)
        piece = np.frombuffer(room, np.uint8)
        # All threads make the first access, each to pages of its own.
        share = -(-size // copiers())
        with ThreadPoolExecutor(copiers()) as pool:
            list(pool.map(lambda begin: piece[begin : begin + share : mmap.PAGESIZE].fill(0), range(0, size, share)))
        try:
            runtime.hostRegister(piece.ctypes.data, size, _PORTABLE)
        except runtime.CUDARuntimeError:
            self._most = 0
            return None
        self._size += size
        return piece

    def _give_back(self, piece: np.ndarray[Any, Any]) -> None:
        with self._lock:
            self._free[piece.ctypes.data] = piece


def _most() -> int:
    """Return the largest number of bytes to register on this computer."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0
    return min(_REGISTERED_MOST, memory // _REGISTERED_SHARE)


_pinned = _Pinned(_PINNED_MOST)
_registered = _Registered(_most())


def lend(shape: tuple[int, ...], dtype: Any, least: int = PINNED_LEAST) -> np.ndarray[Any, Any] | None:
    """Return an array for a result to which a device copies without the processor.

    Returns
    -------
    numpy.ndarray or None
        Not initialised. ``None`` for results of fewer than ``least`` bytes, and if no more memory may be set aside for
        those in use.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size < least:
        return None
    return (_pinned if size < _REGISTERED_LEAST else _registered).lend(shape, dtype)
