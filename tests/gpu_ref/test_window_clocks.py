"""Clocks of windows: each advances by at least the change that it bounds, in exact arithmetic, for any measurements."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from beltline.gpu_ref.window_clocks import (
    BLOCK,
    WIDE,
    blocks,
    length,
    measure_blocks,
    pass_all,
    pass_windows,
    window,
)

SIZES = (1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 100, WIDE - 1, WIDE, WIDE + 1, 2 * WIDE, 2 * WIDE + 1, 900)


def spans(grid: int) -> list[tuple[int, int]]:
    """Return the first and last candidate of every window, by its place in a row of clocks; place 0 is no window."""
    found = [(0, -1), (0, grid - 1)]
    for size in (BLOCK, WIDE):
        found += [(begin, min(begin + 2 * size, grid) - 1) for begin in range(0, grid, size)]
    return found


def padded(ev: np.ndarray) -> np.ndarray:
    return np.array([-np.inf, *ev, -np.inf])


def passed(clocks: np.ndarray, before: np.ndarray, after: np.ndarray, cuts: tuple[int, ...] = ()) -> None:
    """Measure a change of ``EV``, in chunks that begin at ``cuts``, and advance the clocks by it."""
    grid = before.size
    least, most = np.full(blocks(grid), np.nan), np.full(blocks(grid), np.nan)
    for begin, end in zip((0, *cuts), (*cuts, grid), strict=True):
        measure_blocks(padded(before), padded(after), begin, end, least, most)
    pass_windows(clocks, least, most)


@pytest.mark.parametrize("grid", SIZES)
def test_the_smallest_window_is_found(grid: int) -> None:
    rng = np.random.default_rng(grid)
    listed = spans(grid)
    assert length(grid) == len(listed)
    pairs = [(low, high) for low in range(min(grid, 40)) for high in range(low, min(grid, 60))]
    pairs += [tuple(sorted(pair)) for pair in rng.integers(0, grid, (300, 2)).tolist()]
    for low, high in [*pairs, (0, grid - 1), (grid - 1, grid - 1)]:
        begin, end = listed[window(grid, low, high)]
        assert begin <= low
        assert high <= end
        if high - low <= BLOCK:
            assert end - begin < 2 * BLOCK
        elif high - low <= WIDE:
            assert end - begin < 2 * WIDE


@pytest.mark.parametrize("grid", SIZES)
def test_clocks_pass_the_spread_of_their_window(grid: int) -> None:
    rng = np.random.default_rng(grid)
    before, after = rng.normal(size=(2, grid))
    cuts = tuple(range(3 * BLOCK, grid, 3 * BLOCK))
    clocks = np.zeros(length(grid))
    passed(clocks, before, after, cuts)
    change = after - before
    for place, (begin, end) in enumerate(spans(grid)):
        spread = np.ptp(change[begin : end + 1]) if end >= begin else 0.0
        assert spread <= clocks[place] <= spread * (1.0 + 1e-13) + 1e-13
    pass_all(clocks, 0.25)
    assert clocks[0] == pytest.approx(0.25)


def paths(number: int, grid: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return ``EV`` of successive sweeps: random, converging, with a level that grows without limit, and with changes
    that a clock cannot represent.
    """
    scale = (lambda k: 1.0, lambda k: 0.5**k, lambda k: 1e3, lambda k: 2.0**-54 if k else 1.0)[number % 4]
    ev = rng.normal(size=grid).cumsum() * (1.0 if number % 4 < 3 else 0.0)
    found = [ev]
    for k in range(12):
        step = rng.normal(size=grid) * (rng.random(grid) < 0.3) if number % 3 else np.eye(grid)[k % grid]
        ev = ev + scale(k) * step + (1e6 * number if number % 4 == 2 else 0.0)
        found.append(ev)
    return found


@pytest.mark.parametrize("number", range(24))
def test_no_candidate_gains_more_than_its_clock(number: int) -> None:
    """No candidate gains more on another than its clock, in exact arithmetic, for every pair and between any two
    sweeps.
    """
    rng = np.random.default_rng(number)
    grid = int(rng.integers(1, 3 * WIDE)) if number % 6 == 0 else int(rng.integers(1, 4 * BLOCK))
    clocks = np.zeros(length(grid))
    evs, seen = paths(number, grid, rng), [clocks.copy()]
    for before, after in itertools.pairwise(evs):
        if rng.random() < 0.2:
            # A spread that is known otherwise, rounded up.
            pass_all(clocks, float(np.ptp(after - before)) * (1.0 + 1e-12) + 1e-9)
        else:
            passed(clocks, before, after)
        seen.append(clocks.copy())
    for _ in range(400):
        low, high = sorted(rng.integers(0, grid, 2).tolist())
        if rng.random() < 0.5:
            high = min(low + int(rng.integers(0, 2 * BLOCK)), grid - 1)
        begin, end = sorted(rng.integers(0, len(evs), 2).tolist())
        place = window(grid, low, high)
        later, sooner = (sum((Fraction(seen[k][w]) for w in (0, place)), Fraction(0)) for k in (end, begin))
        gains = [Fraction(evs[end][i]) - Fraction(evs[begin][i]) for i in (low, high)]
        assert abs(gains[1] - gains[0]) <= later - sooner


def test_what_happens_far_away_does_not_count() -> None:
    grid = 3 * WIDE
    before = np.zeros(grid)
    after = before.copy()
    after[2 * WIDE + 5] = 1.0
    clocks = np.zeros(length(grid))
    passed(clocks, before, after)
    assert clocks[window(grid, 10, 10 + BLOCK)] == 0.0
    assert clocks[window(grid, 10, 10 + WIDE)] == 0.0
    assert clocks[window(grid, 10, grid - 1)] >= 1.0
    assert clocks[window(grid, 2 * WIDE - 3, 2 * WIDE)] >= 1.0
    assert clocks[window(grid, WIDE, 2 * WIDE + 1)] >= 1.0
    assert clocks[0] == 0.0


def test_of_changes_that_are_no_numbers_nothing_is_known() -> None:
    grid = 3 * BLOCK
    nothing, lost = np.full(grid, -np.inf), np.zeros(grid)
    lost[2 * BLOCK + 1] = -np.inf
    for before, after, begin in ((nothing, nothing, 0), (np.zeros(grid), lost, BLOCK), (lost, np.zeros(grid), BLOCK)):
        clocks = np.ones(length(grid))
        with np.errstate(invalid="ignore"):
            passed(clocks, before, after)
        for low in range(begin, grid):
            assert clocks[window(grid, low, grid - 1)] == np.inf
