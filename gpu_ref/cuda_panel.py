"""The panel of :mod:`gpu_ref.panel` on a CUDA device, in double or in single precision.

Same tables, cubics and operations for an agent; sums are taken in another order, so that ``K`` may differ from the
processor's by rounding. They do not depend on how the device schedules: two runs are the same to the bit.

Shocks, wealth and tables stay on the device. A period is two launches (``cuda_panel.cu``): ``begin``, one block, ends
the sum of the last period and makes the cubics of this one; ``move`` has a thread for every ``AGENTS / THREADS``
agents, and its tables in shared memory where they fit. An agent and period is ``2 x 8`` bytes of memory in double,
``2 x 4`` in single precision, and one bit.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gpu_ref.cuda import _cupy as cupy_module
from gpu_ref.cuda import available
from gpu_ref.panel import INTERPOLATIONS, Panel, Places, check_method, check_panel, mean_of, places
from gpu_ref.shocks import Shocks

__all__ = ["Simulator", "available", "cells", "near_bytes", "options", "simulate", "source"]

THREADS = 256
"""Of a block."""

AGENTS = 8_192
"""Of a block of ``move``."""

NEAR_LIMIT = 72 * 1024
"""Bytes of shared memory up to which a block keeps its tables there: three blocks a multiprocessor then."""

POINTS_LIMIT = 2**16
"""Of the grid of ``k``: places are 16 bits."""


def source() -> str:
    """Return the kernels."""
    return Path(__file__).with_name("cuda_panel.cu").read_text()


def options(method: str, near: bool, threads: int = THREADS, agents: int = AGENTS) -> tuple[str, ...]:
    """Return what the compiler is told; no fused multiply-add, as on the processor."""
    single, cubic = INTERPOLATIONS[method] == np.float32, method != "bilinear"
    macros = {"SINGLE": single, "CUBIC": cubic, "NEAR": near, "THREADS": threads, "AGENTS": agents}
    return ("-std=c++17", "-fmad=false", *(f"-D{name}={int(value)}" for name, value in macros.items()))


def near_bytes(points: int, entries: int, kind: Any, threads: int = THREADS) -> int:
    """Bytes of shared memory of a block of ``move`` that keeps its tables there."""
    size = np.dtype(kind).itemsize
    return 8 * threads + 8 * size * (points - 1) + 2 * size * points + 2 * entries


def cells(search: Places) -> Any:
    """Return ``struct Cell`` of each point, ``(N_k, 2)``."""
    return np.column_stack([search.grid, np.append(search.steps, search.grid.dtype.type(0))])


@functools.cache
def _kernels(device: int, method: str, near: bool) -> tuple[Any, Any]:
    cupy = cupy_module()
    module = cupy.RawModule(code=source(), options=options(method, near))
    begin, move = module.get_function("begin"), module.get_function("move")
    if near:
        move.max_dynamic_shared_size_bytes = NEAR_LIMIT
    return begin, move


class Simulator:
    """Keeps the shocks of a panel on the current device.

    Parameters
    ----------
    shocks

    Raises
    ------
    RuntimeError
        There is no device, or no CuPy.
    MemoryError
        They do not fit.
    """

    def __init__(self, shocks: Shocks) -> None:
        if missing := available():
            raise RuntimeError(missing)
        cupy = cupy_module()
        needed = shocks.employed.nbytes + 8 * shocks.agents + 2**26
        free = cupy.cuda.Device().mem_info[0] + cupy.get_default_memory_pool().free_bytes()
        if needed > free:
            raise MemoryError(
                f"the panel needs {needed / 2**30:.2f} GiB of device memory, and {free / 2**30:.2f} GiB are free"
            )
        self.shocks = shocks
        self._employed = cupy.asarray(shocks.employed)
        self._aggregate = cupy.asarray(shocks.aggregate)

    def simulate(
        self,
        policy: ArrayLike,
        grid: ArrayLike,
        means: ArrayLike,
        start: ArrayLike,
        method: str = "bicubic",
        progress: Callable[[int], None] | None = None,
    ) -> Panel:
        """Simulate; arguments, result and errors as of :func:`gpu_ref.panel.simulate`."""
        cupy = cupy_module()
        check_method(method)
        kind = INTERPOLATIONS[method]
        agents, periods = self.shocks.agents, self.shocks.aggregate.size
        g, x, m, wealth = check_panel(policy, grid, means, start, agents)
        search = places(x, kind)
        if x.size > POINTS_LIMIT:
            raise ValueError(f"the grid of k may have {POINTS_LIMIT:,} points on a CUDA device, not {x.size:,}")
        shared = near_bytes(x.size, search.table.size, kind)
        near = shared <= NEAR_LIMIT
        begin, move = _kernels(cupy.cuda.Device().id, method, near)
        initial = np.clip(wealth.astype(kind), search.grid[0], search.grid[-1])
        blocks = math.ceil(agents / AGENTS)
        k, sums, counts = cupy.asarray(initial), cupy.empty(blocks), cupy.zeros(3, np.uint64)
        capital, values = cupy.empty(periods + 1), cupy.empty(2 * x.size)
        capital[0] = mean_of(initial)
        cubics = cupy.empty((2, x.size - 1, 4), kind)
        tables = [cupy.asarray(table) for table in (g, x, m, cells(search), search.table.astype(np.uint16))]
        sizes = (np.int32(x.size), np.int32(m.size))

        def beginning(t: int) -> None:
            begin(
                (1,), (THREADS,),
                (*tables[:3], *sizes, self._aggregate, np.int32(t), np.int32(t == periods), sums, np.int32(blocks),
                 np.float64(agents), capital, values, cubics, counts),
                shared_mem=8 * (THREADS + 8),
            )  # fmt: skip

        for t in range(periods):
            beginning(t)
            move(
                (blocks,), (THREADS,),
                (k, self._employed[t], cubics, tables[3], tables[4], sizes[0], np.int32(search.table.size),
                 np.int64(search.base), np.int32(search.shift), np.int64(agents), sums, counts),
                shared_mem=shared if near else 8 * THREADS,
            )  # fmt: skip
            if progress is not None and (t + 1) % 100 == 0:
                # Otherwise launches run far ahead, and an interrupt would wait for all of them.
                cupy.cuda.get_current_stream().synchronize()
                progress(t + 1)
        beginning(periods)
        below, above, outside = (int(count) for count in counts.get())
        return Panel(capital.get(), k.get(), below, above, outside)


def simulate(
    policy: ArrayLike,
    grid: ArrayLike,
    means: ArrayLike,
    shocks: Shocks,
    start: ArrayLike,
    method: str = "bicubic",
    progress: Callable[[int], None] | None = None,
) -> Panel:
    """Simulate once: :class:`Simulator` for many simulations with the same shocks."""
    return Simulator(shocks).simulate(policy, grid, means, start, method, progress)
