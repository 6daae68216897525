"""Fraction bits with which nothing overflows, exact rounding of all tables, and problems that are refused."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.gpu_ref.exact import exact_sweep
from beltline.host.devices import smallest_build
from beltline.host.solver import fixed_point as conversion
from beltline.host.solver.fixed_point import FRACTION_LIMIT, fixed_point, fraction_bits, value_bounds
from support.fakes import problem, tables

SEEDS = range(40)


def random_problem(seed: int, **changes: Any) -> bl.Problem:
    random = np.random.default_rng(seed)
    points, states = int(random.integers(2, 40)), int(random.integers(1, 6))
    given = tables(points, states, seed)
    scale = 10.0 ** random.uniform(-2, 3)
    given["grid"] = np.array(given["grid"]) * scale
    given["wealth"] = np.array(given["wealth"]) * scale
    height = 10.0 ** random.uniform(-3, 4) * random.choice([-1, 0, 1])
    given["start"] = np.broadcast_to(height * random.uniform(0, 1, states), (points, states))
    given["beta"] = float(random.choice([0.1, 0.9, 0.99]))
    given["eta"] = float(random.choice([0.2, 0.5, 1.0, 1.5, 2.0, 4.0]))
    return bl.Problem(**(given | changes))


def largest_value(given: bl.Problem, sweeps: int) -> tuple[float, float]:
    low, high = given.start.min(), given.start.max()
    value = given.start
    for _ in range(sweeps):
        value, _ = exact_sweep(given.grid, given.wealth, given.transition, value, given.beta, given.eta)
        low, high = min(low, value.min()), max(high, value.max())
    return float(low), float(high)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("horizon", [None, 1, 7])
def test_bounds_hold(seed: int, horizon: int | None) -> None:
    given = random_problem(seed, horizon=horizon)
    sweeps = horizon or math.ceil(math.log(1e-6) / math.log(given.beta))
    low, high = largest_value(given, min(sweeps, 1500))
    bound_low, bound_high = value_bounds(given)
    rounding = 1e-9 * max(abs(low), abs(high))
    assert bound_low - rounding <= low <= high <= bound_high + rounding
    bits = fraction_bits(max(-bound_low, bound_high))
    if bits < 0:
        return
    assert max(abs(low), abs(high)) * 2.0**bits < 2.0**62 * (1 + 1e-9)
    for scale in (given.grid, given.wealth):
        assert np.abs(scale).max() * 2.0 ** fixed_point(given, 1e9).amount_bits < 2.0**62


def test_bounds_are_not_wasteful() -> None:
    # On the headline problem V runs from -20 to -16: the bounds cost less than two bits.
    low, high = value_bounds(bl.rbc(grid=64))
    assert -32 < low < -19.4
    assert high <= 0


def test_modulus_is_that_of_the_largest_row() -> None:
    above = problem(4, 2, transition=[[0.5, 0.5], [0.5 + 9e-13, 0.5]])
    assert above.modulus == pytest.approx(0.9 * (1 + 9e-13), rel=1e-15, abs=0.0)
    below = problem(4, 2, transition=[[0.5, 0.5], [0.5 - 9e-13, 0.5]])
    assert below.modulus == 0.9


@pytest.mark.parametrize(
    ("bound", "bits"),
    [(0.0, 52), (1.0, 52), (1023.999, 52), (1024.0, 51), (2.0**61, 0), (2.0**62, -1), (np.inf, -1), (-5e9, 29)],
)
def test_fraction_bits(bound: float, bits: int) -> None:
    assert fraction_bits(bound) == bits
    if 0 <= bits < FRACTION_LIMIT:
        assert abs(bound) * 2.0**bits < 2.0**62 <= abs(bound) * 2.0 ** (bits + 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_tables_are_correctly_rounded(seed: int) -> None:
    given = random_problem(seed, horizon=1)
    image = fixed_point(given, 1.0)
    for exact, words, bits in (
        (given.grid, image.grid, image.amount_bits),
        (given.wealth, image.wealth, image.amount_bits),
        (given.start, image.start, image.value_bits),
    ):
        assert words.dtype == np.int64
        assert (
            words.tolist() == np.vectorize(lambda v, b=bits: round(Fraction(v) * 2**b), otypes=[object])(exact).tolist()
        )
    assert image.transition.dtype == np.uint64
    for index, probability in np.ndenumerate(given.transition):
        product = Fraction(given.beta) * Fraction(probability) * 2**64
        assert abs(int(image.transition[index]) - product) <= Fraction(1, 2)


def test_discount_next_to_one_does_not_wrap() -> None:
    given = problem(4, 1, transition=[[1.0]], beta=math.nextafter(1.0, 0.0), horizon=3)
    assert int(fixed_point(given, 1.0).transition[0, 0]) == 2**64 - 2**11
    above = problem(4, 1, transition=[[1.0 + 9e-13]], beta=math.nextafter(1.0, 0.0), horizon=3)
    assert int(fixed_point(above, 1.0).transition[0, 0]) == 2**64 - 1


@pytest.mark.parametrize("tol", [1e-10, 1e-3, 2.0**-40, 3.7e-9, 0.1, 1e30])
def test_below_epsilon_is_below_the_tolerance(tol: float) -> None:
    image = fixed_point(problem(), tol)
    exact = Fraction(tol) * 2**image.value_bits
    assert image.epsilon == min(math.ceil(exact), 2**64 - 1)
    for change in (image.epsilon - 1, image.epsilon):
        if image.epsilon < 2**64 - 1:
            assert (change < image.epsilon) == (change < exact)


def test_fewer_bits_can_be_asked_for() -> None:
    image = fixed_point(problem(), 1e-6, value_bits=30, amount_bits=25)
    assert (image.value_bits, image.amount_bits) == (30, 25)
    assert image.constants.shift == 58 - 30


@pytest.mark.parametrize("seed", SEEDS)
def test_the_spread_of_changes_is_that_of_a_sweep(seed: int) -> None:
    given = random_problem(seed)
    start = given.start
    swept = exact_sweep(given.grid, given.wealth, given.transition, start, given.beta, given.eta)[0] - start
    spread = conversion._largest_spread(given, start)
    assert spread == pytest.approx((swept.max(axis=0) - swept.min(axis=0)).max(), rel=1e-9, abs=1e-9)
    moved = start + 1e-3 * given.grid[:, None]
    swept = exact_sweep(given.grid, given.wealth, given.transition, moved, given.beta, given.eta)[0] - moved
    assert conversion._largest_spread(given, moved) == (swept.max(axis=0) - swept.min(axis=0)).max()


def test_note_only_where_rounding_matters() -> None:
    assert fixed_point(bl.rbc(grid=65_536), 1e-10).note == ""
    note = fixed_point(bl.rbc(grid=65_536), 1e-6, value_bits=30).note
    assert note == (
        "Around grid point 1 rounding with value_bits = 30 may exceed the curvature of the objective, so that of "
        "choices that are almost equally good another one may be returned (use more value bits or "
        "a coarser grid to exclude it)."
    )
    steps = np.linspace(0, 1, 40) ** 7 * 1000
    assert (
        "(use a coarser grid to exclude it)"
        in fixed_point(
            problem(
                40, 1, grid=steps, wealth=steps[:, None] + 0.1, transition=[[1.0]], start=np.zeros((40, 1)), eta=1.0
            ),
            1e-10,
        ).note
    )


@pytest.mark.parametrize(
    ("points", "states", "horizon", "sizes"),
    [
        (2, 1, None, (4, 1, 4)),
        (5, 3, None, (8, 3, 24)),
        (64, 4, None, (64, 4, 256)),
        (65, 4, 10, (128, 4, 2600)),
        (64, 4, 2, (64, 4, 512)),
    ],
)
def test_smallest_build(points: int, states: int, horizon: int | None, sizes: tuple[int, int, int]) -> None:
    build = smallest_build(problem(points, states, horizon=horizon))
    assert (build.grid, build.states, build.results) == sizes
