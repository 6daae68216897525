"""Taste shocks in gateware against the software model: every word, every counter, every clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from beltline.host.solver.fixed_point import fixed_point
from beltline.host.solver.product_image import product_image
from beltline.hw.arithmetic.log_sum_constants import LogSumConstants
from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM
from beltline.hw.interface.groups import NO_SHOCKS
from beltline.hw.interface.registers import LINEAR_BIT, TASTE_ENGINE, Mode, Status
from support.alternatives import KINDS, with_alternatives
from support.costs import with_cost
from support.pairs import Pair, assert_infeasible_as_a_group, proving_pairs

pytestmark = pytest.mark.gateware

SCALES = (0.3, 0.01, 5.0, 1e-9)
"""Scales of the shocks of problems in turn."""

SIZES = [
    pytest.param((2, 32, 8, 0), id="2 lanes"),
    pytest.param((1, 16, 4, 0), id="1 lane", marks=pytest.mark.slow),
    pytest.param((4, 64, 16, 0), id="4 lanes", marks=pytest.mark.slow),
    pytest.param((2, 32, 16, 4), id="2 lanes, multipliers in turn", marks=pytest.mark.slow),
]


@pytest.fixture(scope="module", params=SIZES)
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    lanes, grid, states, multipliers = request.param
    for one in proving_pairs(lanes, grid, states, taste=True, multipliers=multipliers):
        assert one.device.read_register("ENGINE") == TASTE_ENGINE | multipliers << 8 | 1 << LINEAR_BIT
        yield one


def states_of(pair: Pair) -> int:
    """Return a number of exogenous states with which every kind of problem fits the build."""
    return max(1, pair.parameters.states // 4)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_after_every_sweep(pair: Pair, kind: str) -> None:
    """Gateware and model agree after every sweep, with lanes that are full, nearly empty or empty."""
    build = pair.parameters
    for seed, grid in enumerate((build.grid, build.grid // 2 + 3, 7)):
        problem = with_alternatives(kind, seed, grid, states_of(pair), taste=SCALES[seed])
        pair.run_to_proofs(product_image(problem, 1e-4))


@pytest.mark.parametrize("kind", KINDS)
def test_to_the_end(pair: Pair, kind: str) -> None:
    problem = with_alternatives(kind, 4, pair.parameters.grid - 3, states_of(pair), taste=0.1)
    done = pair.run(product_image(problem, 1e-4), 10_000)
    assert done.status == Status.DONE | Status.CONVERGED | Status.PROVEN


def test_random_groups_and_scales(pair: Pair) -> None:
    """Gateware and model agree on any groups, also of more than four states, and on any constants of the log-sum."""
    rng = np.random.default_rng(5)
    build = pair.parameters
    for scale in (0.0, 2.0**-7, 2.0**30, 2.0**55.3, 2.0**57, 2.0**61.9):
        kind = KINDS[int(rng.integers(len(KINDS)))]
        image = product_image(with_alternatives(kind, 3, int(rng.integers(9, build.grid + 1)), states_of(pair)), 1e-4)
        assert image.groups is not None
        states = image.start.shape[1]
        begins = rng.random(states) < 0.4
        begins[0] = True
        marks = begins * 1 + np.append(begins[1:], True) * 2 + (rng.random(states) < 0.2) * 4
        groups = replace(image.groups, marks=marks.astype(np.int64), shocks=LogSumConstants.of(scale, 0).words)
        wild = rng.integers(-(2**56), 2**56, image.start.shape)
        wild[rng.random(wild.shape) < 0.1] = MINIMUM
        for sweeps in (1, 2, 5):
            pair.run(replace(image, start=wild, groups=groups), sweeps)


def test_log_sums_may_leave_the_range(pair: Pair) -> None:
    """A log-sum of ``2**63`` or more ends the run as saturated, unless it is computed again."""
    image = product_image(with_alternatives("retirement", 1, pair.parameters.grid, 1), 1e-4)
    assert image.groups is not None
    groups = replace(image.groups, shocks=LogSumConstants.of(2.0**61, 0).words)
    start = np.full_like(image.start, MAXIMUM)
    weights = np.zeros_like(image.transition)
    done = pair.run(replace(image, start=start, transition=weights, groups=groups), 3)
    assert Status.SATURATED in done.status
    low = replace(image, start=start // 4, transition=weights, groups=groups)
    assert Status.SATURATED not in pair.run(low, 3).status


def test_groups_that_can_afford_nothing(pair: Pair) -> None:
    """The run ends as infeasible only if a whole group can afford nothing."""
    image = product_image(with_alternatives("retirement", 1, pair.parameters.grid, 1, taste=0.2), 1e-4)
    assert_infeasible_as_a_group(pair, image)


def test_from_stored_choices(pair: Pair) -> None:
    image = product_image(with_alternatives("default", 3, pair.parameters.grid, states_of(pair), taste=0.1), 1e-4)
    first = pair.run(image, 5)
    pair.run(image, 3, Mode.CHOICES, first)


def test_without_shocks_bits_are_those_of_a_maximum(pair: Pair) -> None:
    """A problem without shocks has the bits of a build for maxima; a problem without alternatives, too."""
    build = pair.parameters
    plain = Pair(pair.device, replace(build, taste=False))
    shocked = product_image(with_alternatives("default", 1, build.grid, states_of(pair), taste=0.1), 1e-4)
    pair.run(shocked, 2)
    for image in (
        product_image(with_alternatives("default", 2, build.grid, states_of(pair)), 1e-4),
        fixed_point(with_cost("laffer", 1, build.grid - 1, min(3, build.states)), 1e-6),
    ):
        assert image.groups is None or image.groups.shocks == NO_SHOCKS
        done, without = pair.run(image, 7), plain.modelled(image, 7)
        assert np.array_equal(done.v, without.v)
        assert np.array_equal(done.policy, without.policy)
