"""Simulation of a panel on a CUDA device (:mod:`beltline.gpu_ref.krusell_smith.panel`).

Tables, cubics and the operations for an agent are the same. Sums run in another order, so ``K`` may differ from the
processor's by rounding. The order does not depend on how the device schedules its blocks: two runs give the same bits.

Shocks, wealth and tables stay on the device. ``EVERY`` periods are one cooperative launch (``panel.cu``), whose blocks
share the agents and synchronise once per period. An agent and period moves ``2 x 8`` bytes of memory in double, ``2 x
4`` in single precision, and one bit.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beltline.gpu_ref.cuda.device import Clock, available, cupy_module, refuse
from beltline.gpu_ref.krusell_smith.panel import (
    INTERPOLATIONS,
    Panel,
    Places,
    mean_of,
    places,
    tables_of,
)
from beltline.gpu_ref.krusell_smith.shocks import WORD, Shocks
from beltline.gpu_ref.tables import Array

__all__ = ["Simulator", "available", "layout", "near_bytes", "options", "source"]

THREADS = 512
"""Threads of a block, a power of two."""

RESIDENT = 2
"""Blocks of a multiprocessor."""

VECTOR_BYTES = 16
"""Bytes of agents that a thread loads or stores at once."""

NEAR_LIMIT = 96 * 1024
"""Largest size, in bytes, of tables that a block copies to shared memory."""

POINTS_LIMIT = 2**16
"""Largest number of points of the grid of ``k``: intervals are stored in 16 bits."""

EVERY = 100
"""Periods of a launch. Ctrl-C is handled between launches."""


class Layout(NamedTuple):
    """How agents are distributed: number of blocks, all of which run at once, and number of agents of a block, a
    multiple of the agents of a word of shocks.
    """

    blocks: int
    span: int


def layout(agents: int, processors: int, size: int) -> Layout:
    """Choose a :class:`Layout` for ``processors`` multiprocessors and agents of ``size`` bytes."""
    least = THREADS * VECTOR_BYTES // size
    span = max(math.ceil(agents / (processors * RESIDENT)), least)
    span = WORD * math.ceil(span / WORD)
    return Layout(math.ceil(agents / span), span)


def source() -> str:
    """Return the source of the kernel."""
    folder = Path(__file__).parent
    return (folder.parent / "cuda" / "grid.cu").read_text() + (folder / "panel.cu").read_text()


def options(method: str, near: bool, once: bool) -> tuple[str, ...]:
    """Return the options of the compiler. There is no fused multiply-add, as on the processor."""
    single, cubic = INTERPOLATIONS[method] == np.float32, method != "bilinear"
    macros = {"SINGLE": single, "CUBIC": cubic, "ONCE": once, "NEAR": near, "THREADS": THREADS, "RESIDENT": RESIDENT}
    return ("-std=c++17", "-fmad=false", *(f"-D{name}={int(value)}" for name, value in macros.items()))


def near_bytes(points: int, means: int, entries: int, kind: Any) -> int:
    """Return the bytes of shared memory of a block that holds its tables there."""
    size = np.dtype(kind).itemsize
    return 8 * (THREADS + 8 + means) + size * (8 * (points - 1) + points + points - 1) + 2 * entries


def bounds_of(search: Places) -> NDArray[Any]:
    """Return the grid with infinity in place of its last point, so that the search for an interval ends there."""
    found = search.grid.copy()
    found[-1] = np.inf
    return found


def once(search: Places) -> bool:
    """Return whether an interval is never more than one beyond the one where its search starts."""
    whole: Any = search.grid.view(np.int32 if search.grid.dtype == np.float32 else np.int64).dtype.type
    leading = np.arange(search.base, search.base + search.table.size).astype(whole)
    last = (np.left_shift(leading + whole(1), whole(search.shift)) - whole(1)).view(search.grid.dtype)
    ends = np.clip(np.searchsorted(search.grid, last, side="right") - 1, 0, search.grid.size - 2)
    return bool((ends - search.table <= 1).all())


@functools.cache
def _kernel(device: int, method: str, near: bool, once: bool) -> Any:
    """Compile the kernel for a device, a method and these properties of the tables."""
    module = cupy_module().RawModule(code=source(), options=options(method, near, once), enable_cooperative_groups=True)
    return module.get_function("simulate")


class Simulator:
    """Simulate many panels with the same shocks, which stay on the current device."""

    def __init__(self, shocks: Shocks) -> None:
        if missing := available():
            raise RuntimeError(missing)
        cupy = cupy_module()
        refuse(cupy, shocks.employed.nbytes + 8 * shocks.agents + 2**26, "the panel")
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
        """Simulate; arguments, result and errors as of :func:`beltline.gpu_ref.krusell_smith.panel.simulate`."""
        cupy = cupy_module()
        kind = INTERPOLATIONS[method]
        agents, periods = self.shocks.agents, self.shocks.aggregate.size
        g, x, m, wealth = tables_of(policy, grid, means, start, agents)
        search = places(x, kind)
        if x.size > POINTS_LIMIT:
            raise ValueError(f"the grid of k may have {POINTS_LIMIT:,} points on a CUDA device, not {x.size:,}")
        device = cupy.cuda.Device()
        shared = near_bytes(x.size, m.size, search.table.size, kind)
        near = shared <= min(NEAR_LIMIT, device.attributes["MaxSharedMemoryPerMultiprocessor"] // RESIDENT - 1024)
        plan = layout(agents, device.attributes["MultiProcessorCount"], np.dtype(kind).itemsize)
        kernel = _kernel(device.id, method, near, once(search))
        if near:
            kernel.max_dynamic_shared_size_bytes = shared
        initial = np.clip(wealth.astype(kind), search.grid[0], search.grid[-1])
        k, counts, arrived = cupy.asarray(initial), cupy.zeros(3, np.uint64), cupy.zeros(1, np.uint32)
        capital = cupy.empty(periods + 1)
        capital[0] = mean_of(initial)
        tables: list[Array] = [np.ascontiguousarray(g.transpose(2, 3, 1, 0)), x, m]
        tables += [bounds_of(search), search.steps, search.table.astype(np.uint16)]
        policies, xs, ms, bounds, scales, starts = (cupy.asarray(table) for table in tables)
        cubics = cupy.empty(8 if near else 8 * (x.size - 1), kind)
        sums = cupy.empty(2 * plan.blocks)
        clock = Clock(cupy)
        clock.restart()
        for t in range(0, periods, EVERY):
            end = min(t + EVERY, periods)
            arrived.fill(0)
            kernel(
                (plan.blocks,), (THREADS,),
                (k, np.int64(agents), np.int32(plan.span), self._employed, np.int64(2 * self.shocks.employed.shape[1]),
                 self._aggregate, np.int32(t), np.int32(end), policies, xs, ms, np.int32(x.size), np.int32(m.size),
                 bounds, scales, starts, np.int32(search.table.size), np.int32(search.base), np.int32(search.shift),
                 cubics, sums, capital, counts, arrived),
                shared_mem=shared if near else 8 * (THREADS + 8),
            )  # fmt: skip
            if progress is not None and end % EVERY == 0:
                # Without this, launches queue up on the device, and Ctrl-C would have to wait for all of them.
                cupy.cuda.get_current_stream().synchronize()
                progress(end)
        clock.lap("periods")
        below, above, outside = (int(count) for count in counts.get())
        return Panel(capital.get(), k.get(), below, above, outside, clock.seconds["periods"])
