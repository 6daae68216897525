"""The Euler-equation iteration of :mod:`beltline.gpu_ref.krusell_smith.euler_iteration` on a CUDA device, in double
precision.

The same spline and the same steps. Sums for slopes are taken in another order, and what lies so far from the diagonal
of their matrix that it is below rounding is left out. ``EVERY`` iterations are one cooperative launch
(``euler.cu``): a block for each point of the grid of ``K`` and aggregate state, and one barrier an iteration.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from beltline.gpu_ref.cuda.device import available, cupy_module
from beltline.gpu_ref.krusell_smith.euler_iteration import DAMPING, Household, checked, slope_matrix, spline_weights
from beltline.gpu_ref.tables import Array

__all__ = ["available", "band_of", "shared_bytes", "solve", "source"]

THREADS = 512
"""Of a block, a power of two."""

EVERY = 500
"""Iterations of a launch: what an interrupt waits for."""


def source() -> str:
    """Return the kernel."""
    folder = Path(__file__).parent
    return (folder.parent / "cuda" / "grid.cu").read_text() + (folder / "euler.cu").read_text()


def options(gamma: float) -> tuple[str, ...]:
    """Return what the compiler is told; no fused multiply-add, as on the processor."""
    return ("-std=c++17", "-fmad=false", f"-DTHREADS={THREADS}", f"-DLOG={int(gamma == 1.0)}")


def shared_bytes(points: int) -> int:
    """Bytes of shared memory of a block."""
    return 8 * (9 * points + THREADS)


def band_of(matrix: Array) -> int:
    """Places from the diagonal beyond which no entry counts beside the largest one of its row."""
    rows, columns = np.nonzero(np.abs(matrix) > 2.0**-60 * np.abs(matrix).max(axis=1, keepdims=True))
    return int(np.abs(rows - columns).max())


@functools.cache
def _kernel(device: int, log: bool) -> Any:
    module = cupy_module().RawModule(
        code=source(), options=options(1.0 if log else 2.0), enable_cooperative_groups=True
    )
    return module.get_function("iterate")


def solve(
    grid: ArrayLike,
    means: ArrayLike,
    wealth: ArrayLike,
    ahead: ArrayLike,
    gross: ArrayLike,
    income: ArrayLike,
    chain: ArrayLike,
    beta: float,
    gamma: float,
    start: ArrayLike,
    tol: float = 1e-8,
    max_iterations: int = 20_000,
    damping: float = DAMPING,
    progress: Callable[[int, float], None] | None = None,
) -> Household:
    """Iterate to the policy; arguments, result and errors as of
    :func:`beltline.gpu_ref.krusell_smith.euler_iteration.solve`.

    Raises
    ------
    ValueError
        Or the grid of ``k`` does not fit the memory of a block.
    RuntimeError
        There is no device, or no CuPy.
    """
    if missing := available():
        raise RuntimeError(missing)
    x, m, w, k, r, y, p, policy = checked(grid, means, wealth, ahead, gross, income, chain, start)
    cupy = cupy_module()
    device = cupy.cuda.Device()
    room = int(device.attributes["MaxSharedMemoryPerBlockOptin"])
    shared = shared_bytes(x.size)
    if shared > room:
        most = (room // 8 - THREADS) // 9
        raise ValueError(f"the grid of k may have {most:,} points on this CUDA device, not {x.size:,}")
    kernel = _kernel(device.id, gamma == 1.0)
    kernel.max_dynamic_shared_size_bytes = shared
    matrix = slope_matrix(x)
    weights = spline_weights(m, k)
    tables: list[Array] = [x, w.transpose(2, 1, 0), weights, matrix.T]
    xs, ws, shares, slopes = (cupy.asarray(np.ascontiguousarray(table)) for table in tables)
    rs, ys, ps = (cupy.asarray(table) for table in (r, y, p))
    policies = cupy.asarray(np.stack([np.ascontiguousarray(policy.transpose(2, 1, 0))] * 2))
    changes, done = cupy.zeros(EVERY), cupy.zeros(1, np.int32)
    arrived = cupy.zeros(1, np.uint32)
    blocks = min(2 * m.size, int(device.attributes["MultiProcessorCount"]))
    behind, change = 0, np.inf
    while behind < max_iterations:
        steps = min(EVERY, max_iterations - behind)
        arrived.fill(0)
        changes.fill(0)
        kernel(
            (blocks,), (THREADS,),
            (policies, xs, ws, shares, slopes, np.int32(band_of(matrix)), rs, ys, ps, np.float64(beta),
             np.float64(gamma), np.float64(damping), np.float64(tol), np.int32(x.size), np.int32(m.size),
             np.int32(behind), np.int32(steps), changes, done, arrived),
            shared_mem=shared,
        )  # fmt: skip
        made = int(done.get()[0])
        behind += made
        change = float(changes.get()[made - 1])
        if not np.isfinite(change):
            raise FloatingPointError(f"the policy is no number after {behind:,} iterations")
        if change < tol:
            break
        if progress is not None:
            progress(behind, change)
    found = np.ascontiguousarray(policies.get()[behind & 1].transpose(2, 1, 0))
    return Household(found, behind, change, change < tol)
