"""The CUDA devices of this computer, through CuPy: whether there is one, its memory, and measuring time on it."""

from __future__ import annotations

import functools
import importlib
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

_PIECE, _COPIERS = 2**25, 4
"""Bytes of the pieces in which a large table is copied through pinned memory, and the number of threads that copy them
from there.
"""


def cupy_module() -> Any:
    """Return CuPy, imported when it is first needed.

    Raises
    ------
    ImportError
        It is not installed.
    """
    return importlib.import_module("cupy")


@functools.cache
def available() -> str:
    """Return ``""`` if a CUDA device can be used, otherwise the reason why not, in a sentence."""
    try:
        cupy = cupy_module()
    except ImportError as error:
        return (
            f"CuPy, through which CUDA devices are used, is missing ({error}): install the CuPy package for your "
            f"version of CUDA, such as cupy-cuda13x."
        )
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # CuPy raises an error class of its own for each layer below it.
        return f"CUDA finds no device on this computer ({error})."
    if count == 0:
        return "CUDA finds no device on this computer."
    if not cupy.cuda.Device(0).attributes.get("CooperativeLaunch", 1):
        return "The CUDA device of this computer cannot launch cooperative kernels."
    return ""


def ready() -> Any:
    """Return CuPy if a CUDA device can be used.

    Raises
    ------
    RuntimeError
        No device can be used; the message says why.
    """
    reason = available()
    if reason:
        raise RuntimeError(reason)
    return cupy_module()


def device_name(device: int = 0) -> str:
    """Return the name of a CUDA device."""
    properties = cupy_module().cuda.runtime.getDeviceProperties(device)
    return str(properties["name"].decode())


@functools.cache
def _attributes(device: int) -> dict[str, int]:
    """Return the attributes of a CUDA device. CuPy asks the driver for all of them, a hundred calls, each time."""
    return dict(cupy_module().cuda.Device(device).attributes)


def room() -> int:
    """Return the bytes of shared memory that a block of the current device may have."""
    return int(_attributes(cupy_module().cuda.Device().id)["MaxSharedMemoryPerBlockOptin"])


def processors(cupy: Any) -> int:
    """Return the number of multiprocessors of the current device."""
    return int(_attributes(cupy.cuda.Device().id)["MultiProcessorCount"])


def refuse(cupy: Any, needed: int, what: str = "the solve") -> None:
    """Raise an error if ``needed`` bytes do not fit on the current device; ``what`` begins the message.

    Raises
    ------
    MemoryError
        Fewer than ``needed`` bytes are free.
    """
    free = cupy.get_default_memory_pool().free_bytes()
    if needed > free:
        # Only now, because the driver takes longer to answer than a small solve takes.
        free += cupy.cuda.Device().mem_info[0]
    if needed > free:
        raise MemoryError(
            f"{what} needs {needed / 2**30:.2f} GiB of device memory, and {free / 2**30:.2f} GiB are free"
        )


def fetch(table: Any) -> np.ndarray[Any, Any]:
    """Copy a table from the device to host memory.

    A large table comes in pieces through pinned memory, which several threads copy to their place, since most of the
    time is spent on the first access to newly allocated memory.
    """
    if table.nbytes < 4 * _PIECE:
        found: np.ndarray[Any, Any] = table.get()
        return found
    found = np.empty(table.shape, table.dtype)
    source, target = table.reshape(-1), found.reshape(-1)
    size = _PIECE // table.itemsize
    pinned = [importlib.import_module("cupyx").empty_pinned((size,), table.dtype) for _ in range(_COPIERS)]
    with ThreadPoolExecutor(_COPIERS) as pool:
        under_way: list[Future[None]] = []
        for i, begin in enumerate(range(0, target.size, size)):
            if i >= _COPIERS:
                under_way[i - _COPIERS].result()
            end = min(begin + size, target.size)
            piece = pinned[i % _COPIERS][: end - begin]
            source[begin:end].get(out=piece)
            under_way.append(pool.submit(np.copyto, target[begin:end], piece))
        for last in under_way[-_COPIERS:]:
            last.result()
    return found


class Clock:
    """Measure the seconds of the parts of a solve, each until all work on the device has ended."""

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy
        self.seconds: dict[str, float] = {}
        self._since = time.perf_counter()

    def restart(self) -> None:
        """Wait for the device, and start the next part now."""
        self._cupy.cuda.get_current_stream().synchronize()
        self._since = time.perf_counter()

    def lap(self, part: str) -> None:
        """Wait for the device, and add the time since the last call to ``seconds[part]``."""
        self._cupy.cuda.get_current_stream().synchronize()
        now = time.perf_counter()
        self.seconds[part] = self.seconds.get(part, 0.0) + now - self._since
        self._since = now
