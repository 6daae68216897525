"""A start value from the same problem on every sixteenth grid point, drawn through by a cubic spline.

The spline is smooth, so that what is concave at the coarse points stays so between them, but for roundings that the
proof of single peaks (:mod:`gpu_ref.peaks`) sees. Where the iteration starts is no part of what its stopping rule
guarantees.
"""

from __future__ import annotations

import numpy as np

from gpu_ref.tables import Array

STRIDE = 16
FEWEST = 1024
"""Grid points below which there is nothing to gain."""


def thinned(grid: int) -> np.ndarray:
    """Numbers of the coarse grid points: every :data:`STRIDE`-th and the last."""
    return np.unique(np.append(np.arange(0, grid, STRIDE), grid - 1))


def spline(x: Array, values: Array, at: Array) -> Array:
    """Cubic spline through ``values``, ``(n, m)``, at ``x``, ``(n,)`` increasing, ``n >= 4``, evaluated at ``at``.

    Its second derivative is constant in the first and the last interval. Returns ``(at.size, m)``.
    """
    step = np.diff(x)[:, None]
    slope = np.diff(values, axis=0) / step
    right = 6.0 * np.diff(slope, axis=0)
    below, above = step[:-1], step[1:]
    diagonal = 2.0 * (below + above)
    diagonal[0] += below[0]
    diagonal[-1] += above[-1]
    # Elimination downwards, then substitution upwards, all columns at once.
    for i in range(1, right.shape[0]):
        share = above[i - 1] / diagonal[i - 1]
        diagonal[i] -= share * above[i - 1]
        right[i] -= share * right[i - 1]
    bend = np.empty_like(values)
    bend[-2] = right[-1] / diagonal[-1]
    for i in range(right.shape[0] - 2, -1, -1):
        bend[i + 1] = (right[i] - above[i] * bend[i + 2]) / diagonal[i]
    bend[0], bend[-1] = bend[1], bend[-2]
    cell = np.clip(np.searchsorted(x, at, side="right") - 1, 0, x.size - 2)
    t = (at - x[cell])[:, None]
    rest = step[cell] - t
    linear = slope[cell] - step[cell] * (2.0 * bend[cell] + bend[cell + 1]) / 6.0
    drawn: Array = (
        values[cell] + t * linear + t * t * (bend[cell] / 2.0 + t * (bend[cell + 1] - bend[cell]) / (6.0 * step[cell]))
    )
    return np.ascontiguousarray(np.where(rest == 0.0, values[cell + 1], drawn))
