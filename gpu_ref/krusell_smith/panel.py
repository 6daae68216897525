"""Simulate a panel of many agents with one policy that depends on their mean wealth.

An agent has wealth ``k`` and is employed or not. Given the mean ``K`` of all ``k`` and the aggregate state ``a``, next
wealth is ``k' = g(k, K, a, e)``, interpolated between the points of a table ``(N_k, N_K, 2, 2)``, and the mean of the
``k'`` is the next ``K``. Within a period agents are independent of each other.

``K`` and ``a`` are the same for all agents of a period, and interpolation in two directions can be done in one
direction after the other. So each period first interpolates the whole table in ``K`` and computes one cubic for each
interval of ``k`` and employment status. An agent then costs a table look-up and a cubic, whatever the method:

``bilinear``
    Linear in ``K`` and in ``k``, double precision.
``bicubic``
    Catmull-Rom in both: on each interval the cubic with the values at its ends whose slopes there are those of the
    chords between the two neighbours of that end; at the ends of the grid, the slope of the interval's own chord.
    Double precision.
``bicubic-single``
    The same with wealth, grid and cubics in single precision, and all operations on an agent; ``K`` is still summed in
    double precision.

Agents are summed in blocks of a fixed size, so results do not depend on the number of threads. An agent that would
leave the grid of ``k`` stays at its end and is counted; so is a period whose ``K`` is off its grid, for which the end
of that grid is used.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beltline.compiled import njit, prange
from beltline.gpu_ref.krusell_smith.shocks import WORD, Shocks, Words
from beltline.gpu_ref.memory import check_memory
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.threads import threads, threads_for

INTERPOLATIONS = {"bilinear": np.float64, "bicubic": np.float64, "bicubic-single": np.float32}
"""The methods, with the type in which an agent's wealth is stored."""

BLOCK_WORDS = 256
"""Number of words of 64 agents that are summed as a block."""

FINE = 6
"""Leading bits of the mantissa by which an interval is looked up: 64 places per octave."""


@dataclass(frozen=True)
class Panel:
    """A simulated panel.

    ``capital``, ``(T + 1,)``, is mean wealth at the start of each period and after the last; ``wealth`` that of each
    agent after the last, ``float64`` or ``float32``. ``below`` and ``above`` count how often an agent would have left
    the grid of ``k``, ``outside`` the periods whose ``K`` was off its grid. ``seconds`` is the time for all periods,
    without transfers to a CUDA device.
    """

    capital: Array
    wealth: NDArray[Any]
    below: int
    above: int
    outside: int
    seconds: float


@dataclass(frozen=True)
class Places:
    """A table by which the leading bits of a number give its approximate place on a grid, where ``_move`` begins.

    ``grid`` and ``steps``, ``1 / (x_(i+1) - x_i)``, have the precision of the agents. Entry ``(bits >> shift) - base``
    of ``table`` is the interval of the lowest number with these leading bits; for a negative entry it is the first.
    """

    grid: NDArray[Any]
    steps: NDArray[Any]
    table: NDArray[np.int32]
    base: int
    shift: int


def places(grid: Array, kind: Any) -> Places:
    """Prepare the search in ``grid``, from 0, for numbers of type ``kind``; the grid must increase in this type."""
    points = grid.astype(kind)
    level = np.flatnonzero(~(np.diff(points) > 0))
    if level.size:
        i = int(level[0])
        raise ValueError(
            f"the grid of k must increase in {points.dtype.name}, but k[{i + 1}] = {points[i + 1]} follows "
            f"k[{i}] = {points[i]}"
        )
    whole: Any = np.int32 if kind == np.float32 else np.int64
    shift = np.finfo(kind).nmant - FINE
    leading: Any = points.view(whole) >> shift
    base = int(leading[1])
    count = int(leading[-1]) - base + 1
    starts = np.left_shift(np.arange(base, base + count).astype(whole), shift, dtype=whole).view(kind)
    table = np.clip(np.searchsorted(points, starts, side="right") - 1, 0, points.size - 2)
    table[0] = 0
    steps = (1 / np.diff(points.astype(np.float64))).astype(kind)
    return Places(points, steps, table.astype(np.int32), base, shift)


@njit(cache=True)
def _column(at: float, grid: Array, cubic: bool, weights: Array) -> tuple[int, bool]:
    """Return the first of four neighbouring points around ``at``, and whether ``at`` is on the grid; fill their
    ``weights``.
    """
    n = grid.size
    inside = grid[0] <= at <= grid[n - 1]
    at = min(max(at, grid[0]), grid[n - 1])
    i = 0
    while i < n - 2 and grid[i + 1] <= at:
        i += 1
    h = grid[i + 1] - grid[i]
    t = (at - grid[i]) / h
    weights[:] = 0.0
    if not cubic:
        weights[1], weights[2] = 1 - t, t
        return i - 1, inside
    weights[1] = (1 + 2 * t) * (1 - t) ** 2
    weights[2] = t * t * (3 - 2 * t)
    # The slope at either end is that of a chord, so its weight is added to the two points that the chord joins.
    for end in range(2):
        slope = h * (t * (1 - t) ** 2 if end == 0 else t * t * (t - 1))
        low, high = max(i + end - 1, 0), min(i + end + 1, n - 1)
        chord = slope / (grid[high] - grid[low])
        weights[high - i + 1] += chord
        weights[low - i + 1] -= chord
    return i - 1, inside


@njit(cache=True)
def _cubics(policy: Array, state: int, at: float, means: Array, grid: Array, cubic: bool, out: NDArray[Any]) -> bool:
    """Fill ``out[e, i]`` with the coefficients of the cubic of interval ``i`` in ``(k - x_i) / (x_(i+1) - x_i)``.

    Returns whether ``at`` is on the grid of ``K``.
    """
    n = grid.size
    weights = np.empty(4)
    first, inside = _column(at, means, cubic, weights)
    values = np.empty(n)
    for e in range(2):
        for i in range(n):
            total = 0.0
            for j in range(4):
                if weights[j] != 0.0:
                    total += weights[j] * policy[i, first + j, state, e]
            values[i] = total
        for i in range(n - 1):
            rise = values[i + 1] - values[i]
            out[e, i, 0] = values[i]
            if not cubic:
                out[e, i, 1] = rise
                out[e, i, 2] = out[e, i, 3] = 0.0
                continue
            h = grid[i + 1] - grid[i]
            low, high = max(i - 1, 0), min(i + 2, n - 1)
            left = h * (values[i + 1] - values[low]) / (grid[i + 1] - grid[low])
            right = h * (values[high] - values[i]) / (grid[high] - grid[i])
            out[e, i, 1] = left
            out[e, i, 2] = 3 * rise - 2 * left - right
            out[e, i, 3] = left + right - 2 * rise
    return inside


@njit(cache=True, parallel=True)
def _move(
    k: NDArray[Any], bits: NDArray[Any], employed: Words, cubics: NDArray[Any], grid: NDArray[Any],
    steps: NDArray[Any], table: NDArray[np.int32], base: int, shift: int, sums: Array, below: NDArray[np.int64],
    above: NDArray[np.int64],
) -> None:  # fmt: skip
    """Move every agent by one period, in place.

    Fills the sum of wealth of each block, and how many of its agents would have left the grid below and above.
    """
    low, high, top = grid[0], grid[-1], grid.size - 2
    for block in prange(sums.size):
        total, under, over = 0.0, 0, 0
        for w in range(block * BLOCK_WORDS, min((block + 1) * BLOCK_WORDS, employed.size)):
            word = employed[w]
            for j in range(w * WORD, min((w + 1) * WORD, k.size)):
                i = table[max((bits[j] >> shift) - base, 0)]
                x = k[j]
                while i < top and grid[i + 1] <= x:
                    i += 1
                t = (x - grid[i]) * steps[i]
                c = cubics[word & np.uint64(1), i]
                y = c[0] + t * (c[1] + t * (c[2] + t * c[3]))
                word >>= np.uint64(1)
                if not y >= low:
                    y = low
                    under += 1
                elif y > high:
                    y = high
                    over += 1
                k[j] = y
                total += y
        sums[block], below[block], above[block] = total, under, over


def tables_of(policy: ArrayLike, grid: ArrayLike, means: ArrayLike, start: ArrayLike, agents: int) -> list[Array]:
    """Return ``policy, grid, means, start`` as arrays of doubles, ``start`` with one entry per agent."""
    tables = [np.ascontiguousarray(given, dtype=np.float64) for given in (policy, grid, means, start)]
    return [*tables[:3], np.array(np.broadcast_to(tables[3], (agents,)))]


def simulate(
    policy: ArrayLike,
    grid: ArrayLike,
    means: ArrayLike,
    shocks: Shocks,
    start: ArrayLike,
    method: str = "bicubic",
    progress: Callable[[int], None] | None = None,
) -> Panel:
    """Simulate the panel of ``shocks`` on the cores of this computer.

    ``policy`` is ``k'``, ``(N_k, N_K, 2, 2)``, by ``k``, ``K``, aggregate state and employment, on the increasing grids
    ``grid`` of ``k``, from 0, and ``means`` of ``K``. ``start`` is the wealth of each agent in the first period, or one
    number for all; ``method`` is one of :data:`INTERPOLATIONS`. ``progress`` is called after every hundredth period
    with the number of periods done.
    """
    kind = INTERPOLATIONS[method]
    agents = shocks.agents
    check_memory(agents * (8 + np.dtype(kind).itemsize), f"a panel of {agents:,} agents")
    g, x, m, wealth = tables_of(policy, grid, means, start, agents)
    search = places(x, kind)
    k = wealth.astype(kind)
    # Rounding to single precision may have moved an agent at the end of the grid beyond it.
    np.clip(k, search.grid[0], search.grid[-1], out=k)
    bits = k.view(np.int32 if kind == np.float32 else np.int64)
    blocks = math.ceil(shocks.employed.shape[1] / BLOCK_WORDS)
    sums, below, above = np.empty(blocks), np.empty(blocks, np.int64), np.empty(blocks, np.int64)
    cubics = np.empty((2, x.size - 1, 4), kind)
    periods = shocks.aggregate.size
    capital = np.empty(periods + 1)
    capital[0] = mean_of(k)
    under = over = outside = 0
    begin = time.perf_counter()
    with threads(threads_for(agents)):
        for t in range(periods):
            inside = _cubics(g, int(shocks.aggregate[t]), capital[t], m, x, method != "bilinear", cubics)
            outside += not inside
            _move(
                k, bits, shocks.employed[t], cubics, search.grid, search.steps, search.table, search.base,
                search.shift, sums, below, above,
            )  # fmt: skip
            capital[t + 1] = sums.sum() / agents
            under += int(below.sum())
            over += int(above.sum())
            if progress is not None and (t + 1) % 100 == 0:
                progress(t + 1)
    return Panel(capital, k, under, over, outside, time.perf_counter() - begin)


def mean_of(k: NDArray[Any]) -> float:
    """Return mean wealth, summed in blocks and in double precision."""
    size = BLOCK_WORDS * WORD
    return math.fsum(float(k[i : i + size].sum(dtype=np.float64)) for i in range(0, k.size, size)) / k.size


def path_error(capital: ArrayLike, reference: ArrayLike) -> float:
    """Return the largest distance of a path of ``K`` from ``reference``, in per cent of the latter (the measure of the
    papers).
    """
    other = np.asarray(reference, dtype=np.float64)
    return 100 * float(np.abs(np.asarray(capital, dtype=np.float64) / other - 1).max())
