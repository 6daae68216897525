"""The CUDA devices of this computer, through CuPy: whether there is one, its memory, and measuring time on it."""

from __future__ import annotations

import functools
import importlib
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from beltline.gpu_ref.cuda.pinned import pinned

LEAST_PINNED = 2**16
"""Bytes from which a table is copied through page-locked memory (:mod:`beltline.gpu_ref.cuda.pinned`)."""


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
    """Copy a table from the current device to the host, through page-locked memory if it is large."""
    if table.nbytes < LEAST_PINNED:
        found: np.ndarray[Any, Any] = table.get()
        return found
    return pinned(cupy_module()).fetch(table)


def put(target: Any, sources: Sequence[np.ndarray[Any, Any]]) -> None:
    """Copy tables of the host, one after the other, to a contiguous table of the current device of the same size.

    Large ones go through page-locked memory. The tables may be changed when this returns.
    """
    if target.nbytes >= LEAST_PINNED:
        pinned(cupy_module()).put(target, sources)
        return
    one = sources[0] if len(sources) == 1 else np.stack(sources)
    target.set(np.ascontiguousarray(one, target.dtype).reshape(target.shape))


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
