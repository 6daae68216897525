"""The CUDA devices of this computer, through CuPy: whether there is one, its memory, and measuring time on it."""

from __future__ import annotations

import functools
import importlib
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from beltline.gpu_ref.cuda import host_memory
from beltline.gpu_ref.cuda.host_memory import copiers

_LARGE = host_memory.LARGE

MOST_ACROSS = 2**16 - 1
"""Largest second, and largest third dimension of a launch in CUDA."""


@functools.cache
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
            f"version of CUDA, such as cupy-cuda13x, which is the extra 'gpu'."
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


def fetch(table: Any, least: int = host_memory.PINNED_LEAST) -> np.ndarray[Any, Any]:
    """Copy a table from the device to host memory; complete when the work of the current stream is.

    From ``least`` bytes on this does not wait for the device, which writes to memory of
    :func:`beltline.gpu_ref.cuda.host_memory.lend`. Without that, a large table comes in pieces through pinned memory,
    which several threads copy to their place, since most of the time is spent on the first access to newly allocated
    memory.
    """
    lent = host_memory.lend(table.shape, table.dtype, least)
    if lent is not None or table.nbytes < _LARGE:
        copied: np.ndarray[Any, Any] = table.get() if lent is None else table.get(out=lent, blocking=False)
        return copied
    found = np.empty(table.shape, table.dtype)
    source, target = table.reshape(-1), found.reshape(-1)
    threads = copiers()
    size = _LARGE // threads // table.itemsize
    pinned = [importlib.import_module("cupyx").empty_pinned((size,), table.dtype) for _ in range(threads)]
    with ThreadPoolExecutor(threads) as pool:
        under_way: list[Future[None]] = []
        for i, begin in enumerate(range(0, target.size, size)):
            if i >= threads:
                under_way[i - threads].result()
            end = min(begin + size, target.size)
            piece = pinned[i % threads][: end - begin]
            source[begin:end].get(out=piece)
            under_way.append(pool.submit(np.copyto, target[begin:end], piece))
        for last in under_way[-threads:]:
            last.result()
    return found


def send(table: Any, parts: Sequence[np.ndarray[Any, Any]]) -> None:
    """Copy arrays of one shape to the entries of a table on the device.

    Several are copied together through pinned memory, to which several threads copy them first.
    """
    each = max(1, parts[0].nbytes)
    threads = copiers()
    # Several pieces for each thread, so that copies to the device begin early.
    together = min(_LARGE // threads // each, -(-len(parts) // (4 * threads)))
    if together < 2:
        for i, part in enumerate(parts):
            table[i].set(part)
        return
    stream = importlib.import_module("cupy").cuda.get_current_stream()
    shape = (together, *parts[0].shape)
    pinned = [importlib.import_module("cupyx").empty_pinned(shape, table.dtype) for _ in range(threads)]
    turns = [range(i, min(i + together, len(parts))) for i in range(0, len(parts), together)]

    def gather(turn: int) -> np.ndarray[Any, Any]:
        piece = pinned[turn % threads]
        for place, i in enumerate(turns[turn]):
            piece[place] = parts[i]
        return piece[: len(turns[turn])]

    with ThreadPoolExecutor(threads) as pool:
        pieces = [pool.submit(gather, turn) for turn in range(min(threads, len(turns)))]
        for turn, own in enumerate(turns):
            table[own.start : own.stop].set(pieces[turn].result())
            stream.synchronize()
            if turn + threads < len(turns):
                pieces.append(pool.submit(gather, turn + threads))


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

    def resume(self) -> None:
        """Start the next part now, without waiting for the device."""
        self._since = time.perf_counter()

    def lap(self, part: str) -> None:
        """Wait for the device, and add the time since the last call to ``seconds[part]``."""
        self._cupy.cuda.get_current_stream().synchronize()
        now = time.perf_counter()
        self.seconds[part] = self.seconds.get(part, 0.0) + now - self._since
        self._since = now
