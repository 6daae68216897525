"""Bounds of each state's choice in the software model, against full search in fixed point."""

from __future__ import annotations

import numpy as np

from beltline.host.solver.fixed_point import Image
from beltline.host.solver.product_image import product_image
from beltline.hw.sweep.software_proof import divide_all
from support.bounds import BOUNDED, bounded


def drawn(seed: int, most: int = 24) -> Image:
    """Return the image of a problem with up to ``most`` points."""
    rng = np.random.default_rng([21, seed])
    kind, points = BOUNDED[seed % len(BOUNDED)], int(rng.integers(8, most + 1))
    return product_image(bounded(kind, seed, points, 1 if kind == "firing" else int(rng.integers(1, 4))), 1e-4)


def test_division_stays_within_bounds() -> None:
    """From any choices within bounds, divide and conquer evaluates and finds only candidates of each state's own."""
    cut = 0
    for seed in range(40):
        image = drawn(3 * seed + 1)
        if image.bounds is None:
            continue
        rng = np.random.default_rng(seed)
        rows, states = image.start.shape
        low, high = image.bounds
        choices = np.sort(rng.integers(0, rows, (rows, states)), axis=0).clip(low, high)
        ev = rng.integers(-(2**50), 2**50, (rows, states))
        tables = np.ascontiguousarray(image.grid.T), image.wealth, ev, image.constants.words, image.bounds
        for firsts in (True, False):
            before = choices.copy()
            lowest, highest = np.full((rows, states), -1), np.full((rows, states), -1)
            moved, flags = np.zeros((rows, states), np.bool_), np.zeros(rows, np.uint8)
            divide_all(*tables, 3, firsts, choices, lowest, highest, moved, flags)
            seen = lowest >= 0
            assert (lowest >= low)[seen].all()
            assert (highest <= high)[seen].all()
            assert (choices >= low).all()
            assert (choices <= high).all()
            cut += int((moved & (choices != before)).any())
    assert cut > 20
