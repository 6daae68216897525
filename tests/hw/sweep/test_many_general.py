"""Many random problems with costs and alternatives: every sweep against full search, and gateware against the model.

By default a few problems are tried. All of them, 500 against full search and 500 in gateware on 1, 2 and 4 lanes, take
``pytest -m "slow or not slow" tests/hw/sweep/test_many_general.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from beltline.host.problem.checks import ProblemError
from beltline.host.solver.fixed_point import Image, fixed_point
from beltline.host.solver.product_image import product_image
from beltline.hw.interface.registers import Status
from support import alternatives, costs, peaks
from support.machines import begun, proving_machine
from support.pairs import Pair, proving_pairs

PROBLEMS, BLOCK = 500, 20
"""Number of problems, and of those that a test tries."""

BLOCKS = [pytest.param(first, marks=[pytest.mark.slow] * (first > 0)) for first in range(0, PROBLEMS, BLOCK)]

ENOUGH = 8
"""Sweeps of a problem that are compared, besides the last one."""


def drawn(seed: int, most: int) -> Image:
    """Return the image of a problem with up to ``most`` points and eight states or product states."""
    rng = np.random.default_rng([9, seed])
    kinds = (*alternatives.KINDS, *costs.SHAPES)
    kind = kinds[seed % len(kinds)]
    points, states = int(rng.integers(8, most + 1)), int(rng.integers(1, 5))
    if kind in costs.SHAPES:
        try:
            problem = costs.with_cost(kind, seed, points, states)
        except ProblemError:
            # The poorest cannot afford the cheapest choice.
            problem = costs.with_cost("rising", seed, points, states)
        return fixed_point(problem, 1e-5)
    # At most eight product states.
    problem = alternatives.with_alternatives(kind, seed, points, min(states, 4 if kind == "default" else 2))
    return product_image(problem, 1e-4)


@pytest.mark.parametrize("first", BLOCKS)
def test_every_sweep_is_full_searchs(first: int) -> None:
    """Values and proven choices are those of full search in fixed point, whatever the number of lanes."""
    ties = compared = 0
    for seed in range(first, first + BLOCK):
        image = drawn(seed, 24)
        kinds = {"alternatives": image.products is not None}
        machines = [begun(proving_machine(image, lanes, **kinds), image) for lanes in (1, 2, 4)]
        size, shape = image.start.size, image.start.shape
        full = alternatives.FullSearch(image) if image.products is not None else peaks.FullSearch(image)
        ended = False
        while not ended:
            before = machines[0].v[:size].reshape(shape).copy()
            ended = machines[0].step()
            value, choices = (words[:size].reshape(shape) for words in (machines[0].v, machines[0].policy))
            for other in machines[1:]:
                assert other.step() == ended
                assert np.array_equal(other.v[:size].reshape(shape), value), (seed, other.sweeps)
                assert np.array_equal(other.policy[:size].reshape(shape), choices), (seed, other.sweeps)
            if not ended and machines[0].sweeps > ENOUGH:
                continue
            if isinstance(full, alternatives.FullSearch):
                best, wanted = full(before)
            else:
                found = full(before, choices)
                best, wanted = found.best, found.choices
            assert np.array_equal(value, best), (seed, machines[0].sweeps)
            able = image.wealth > (image.grid[0] if image.grid.ndim == 2 else image.grid[:1, None])
            ties += int(((choices != wanted) & able).sum())
            compared += size
        assert machines[0].status & ~Status.INFEASIBLE == Status.DONE | Status.CONVERGED | Status.PROVEN, seed
    print(f"problems {first} to {first + BLOCK - 1}: {compared:,} choices compared, {ties} among equals")
    assert ties == 0


@pytest.fixture(scope="module", params=[2, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 4))])
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    yield from proving_pairs(request.param, 32 if request.param < 4 else 64, 8)


@pytest.mark.gateware
@pytest.mark.parametrize("first", BLOCKS)
def test_gateware_is_the_model(pair: Pair, first: int) -> None:
    """Value, choice, counters and clocks are the model's, after a few sweeps and, of some problems, at the end."""
    for seed in range(first, first + BLOCK):
        image = drawn(seed, pair.parameters.grid)
        done = pair.run(image, 10_000 if seed % 10 == 0 else int(np.random.default_rng(seed).integers(1, 6)))
        assert Status.PROVEN in done.status, seed
