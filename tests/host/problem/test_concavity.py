"""Starts that are concave enough for a search, and the least concave majorant of others."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import beltline as bl
from beltline.host.problem.concavity import first_convexity, with_concave_start
from support.fakes import problem


def at(given: bl.Problem) -> tuple[int, int, float] | None:
    return first_convexity(given.grid, given.start, given.wealth, given.beta, given.eta)


@pytest.mark.parametrize("eta", [0.3, 1.0, 2.0, 5.0])
def test_concave_starts_are_taken_however_fine_the_grid(eta: float) -> None:
    grid = np.linspace(1.0, 2.0, 20_001)
    for start in (np.log(grid) / 0.05, 1e6 - 1 / grid, 3.0 * grid, np.sqrt(grid) * 1e9):
        given = problem(
            20_001, 1, grid=grid, wealth=grid[:, None] + 1, transition=[[1.0]], start=start[:, None], eta=eta
        )
        assert at(given) is None
        assert with_concave_start(given) == (given, "")


def test_start_less_convex_than_utility_is_concave_is_taken() -> None:
    # The second difference of the objective, U'' h^2 + beta V0'' h^2, is what must be negative: -2 / c^3 + beta V0''.
    grid = np.linspace(0.0, 1.0, 101)
    given = {"grid": grid, "wealth": grid[:, None] + 0.5, "transition": [[1.0]], "beta": 0.5, "eta": 2.0}
    bend = 2 / 1.5**3 / 0.5  # At the largest consumption, 1.5.
    assert at(problem(101, 1, start=0.5 * 0.95 * bend * grid[:, None] ** 2, **given)) is None
    steep = problem(101, 1, start=0.5 * 1.05 * bend * grid[:, None] ** 2, **given)
    where = at(steep)
    assert where is not None
    assert where[:2] == (1, 0)
    begun, note = with_concave_start(steep)
    assert at(begun) is None
    assert note == (
        "The solve began from the least concave majorant of start, which is not concave in x at grid point 1, "
        "state 0, as this search needs."
    )


def test_kink_above_all_cash_on_hand_is_ignored() -> None:
    grid = np.array([0.0, 1.0, 2.0, 3.0])
    start = [[0.0], [0.0], [0.0], [9.0]]
    assert at(problem(4, 1, grid=grid, wealth=np.full((4, 1), 1.5), transition=[[1.0]], start=start)) is None


def test_start_beyond_all_slopes_is_not_concave() -> None:
    grid = np.linspace(0.0, 1e-3, 5)
    start = np.array([1e308, -1e308, 1e308, -1e308, 1e308])[:, None]
    given = problem(5, 1, grid=grid, wealth=grid[:, None] + 1, transition=[[1.0]], start=start)
    assert at(given) is not None
    np.testing.assert_allclose(bl.concave_majorant(given.start, grid), 1e308)


def hull(values: NDArray[np.float64], grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the majorant by its definition: at each point the highest chord between any two points."""
    found = values.copy()
    for i in range(grid.size):
        for j in range(i + 2, grid.size):
            inner = slice(i + 1, j)
            share = (grid[inner] - grid[i]) / (grid[j] - grid[i])
            found[inner] = np.maximum(found[inner], values[i] + share * (values[j] - values[i]))
    return found


@pytest.mark.parametrize("seed", range(20))
def test_majorant_is_that_of_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    grid = np.cumsum(rng.exponential(size=30) ** 2 + 1e-6)
    values = np.log(grid)[:, None] + rng.normal(size=(30, 3)) * 10.0 ** rng.integers(-3, 4)
    found = bl.concave_majorant(values, grid)
    for s in range(3):
        np.testing.assert_allclose(found[:, s], hull(values[:, s], grid), rtol=1e-12, atol=1e-12)
    # Where it equals the value it does so to the bit, and a concave value does not change.
    assert (found == values).sum() >= 6
    np.testing.assert_array_equal(bl.concave_majorant(values[:, 0], grid), found[:, 0])
    np.testing.assert_array_equal(bl.concave_majorant(np.sqrt(grid), grid), np.sqrt(grid))


def test_majorant_of_few_points() -> None:
    assert bl.concave_majorant([3.0], [1.0]).tolist() == [3.0]
    assert bl.concave_majorant([[3.0], [1.0]], [1.0, 2.0]).tolist() == [[3.0], [1.0]]
    assert bl.concave_majorant([0.0, 0.0, 0.0], [1.0, 2.0, 4.0]).tolist() == [0.0, 0.0, 0.0]
