"""Euler-equation iteration on a CUDA device (:mod:`beltline.gpu_ref.krusell_smith.euler_iteration`).

Spline and steps are the same. Sums for slopes run in another order, and entries of their matrix so far from the
diagonal that they are below rounding are left out. ``EVERY`` iterations are one cooperative launch (``euler.cu``), with
one block for each pair of a point of the grid of ``K`` and an aggregate state, and one barrier per iteration.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from beltline.gpu_ref.cuda.device import available, cupy_module
from beltline.gpu_ref.krusell_smith.euler_iteration import DAMPING, Household, slope_matrix, spline_weights
from beltline.gpu_ref.tables import Array

__all__ = ["available", "band_of", "shared_bytes", "solve", "source"]

THREADS = 512
"""Threads of a block, a power of two."""

EVERY = 500
"""Iterations of a launch. Ctrl-C is handled between launches."""


def source() -> str:
    """Return the source of the kernel."""
    folder = Path(__file__).parent
    return (folder.parent / "cuda" / "grid.cu").read_text() + (folder / "euler.cu").read_text()


def options(gamma: float) -> tuple[str, ...]:
    """Return the options of the compiler. There is no fused multiply-add, as on the processor."""
    return ("-std=c++17", "-fmad=false", f"-DTHREADS={THREADS}", f"-DLOG={int(gamma == 1.0)}")


def shared_bytes(points: int) -> int:
    """Return the bytes of shared memory that a block takes."""
    return 8 * (9 * points + THREADS)


def band_of(matrix: Array) -> int:
    """Return the distance from the diagonal beyond which entries are negligible beside the largest one of their row."""
    rows, columns = np.nonzero(np.abs(matrix) > 2.0**-60 * np.abs(matrix).max(axis=1, keepdims=True))
    return int(np.abs(rows - columns).max())


@functools.cache
def _kernel(device: int, log: bool) -> Any:
    """Compile the kernel for a device."""
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
    """Iterate to the policy on the current CUDA device; otherwise as the function of the same name for the processor.

    ``ValueError`` is raised if the grid of ``k`` does not fit into the shared memory of a block.
    """
    if missing := available():
        raise RuntimeError(missing)
    given = grid, means, wealth, ahead, gross, income, chain, start
    x, m, w, k, r, y, p, policy = (np.asarray(table, dtype=np.float64) for table in given)
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
    changes, counted = cupy.zeros(EVERY), cupy.zeros(1, np.int32)
    arrived = cupy.zeros(1, np.uint32)
    blocks = min(2 * m.size, int(device.attributes["MultiProcessorCount"]))
    done, change = 0, np.inf
    while done < max_iterations:
        steps = min(EVERY, max_iterations - done)
        arrived.fill(0)
        changes.fill(0)
        kernel(
            (blocks,), (THREADS,),
            (policies, xs, ws, shares, slopes, np.int32(band_of(matrix)), rs, ys, ps, np.float64(beta),
             np.float64(gamma), np.float64(damping), np.float64(tol), np.int32(x.size), np.int32(m.size),
             np.int32(done), np.int32(steps), changes, counted, arrived),
            shared_mem=shared,
        )  # fmt: skip
        made = int(counted.get()[0])
        done += made
        change = float(changes.get()[made - 1])
        if not np.isfinite(change):
            raise FloatingPointError(f"the policy is not a number after {done:,} iterations")
        if change < tol:
            break
        if progress is not None:
            progress(done, change)
    found = np.ascontiguousarray(policies.get()[done & 1].transpose(2, 1, 0))
    return Household(found, done, change, change < tol)
