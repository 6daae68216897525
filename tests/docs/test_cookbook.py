"""Each recipe of the cookbook is short, solved, and has the long run of an independent simulation of its choices."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import beltline as bl
from support.paths import ROOT

PAGE = (ROOT / "docs" / "cookbook.md").read_text(encoding="utf-8")
FIRST, *RECIPES = re.findall(r"^(?:## ([^\n]*)\n[^#]*?)?```python\n(.*?)^```$", PAGE, re.M | re.S)
PEOPLE, PERIODS, DROPPED = 3000, 700, 500


def test_recipes_are_short() -> None:
    assert len(re.findall(r"^## ", PAGE, re.M)) == 13
    for name, text in RECIPES:
        assert len(text.splitlines()) <= 25, name


@pytest.mark.parametrize(("name", "text"), RECIPES, ids=[name.split(":")[0] for name, _ in RECIPES])
def test_the_long_run_is_that_of_an_independent_simulation(
    name: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, Any] = {}
    exec(FIRST[1] + text, names)
    capsys.readouterr()
    found = names.get("answer", names.get("result"))
    assert found.success, found.message
    if isinstance(found.problem, bl.DiscreteProblem):
        step = found.transitions().toarray()
        mass = np.linalg.matrix_power(step, 1 << 14)[0]
        np.testing.assert_allclose(bl.stationary_distribution(found).ravel(), mass, atol=1e-9)
    elif found.problem.horizon is None:
        chain = names["chain"] if name.startswith("Buffer") else None
        exact = bl.moments(found, physical=chain)
        asset = found.problem.asset_name
        points, spent = simulated(bl.refine(found) if isinstance(found, bl.Result) else found, chain)
        for known, sample in ((asset, points), ("consumption", spent)):
            # People are independent of each other, periods are not.
            error = sample.mean(axis=1).std() / np.sqrt(PEOPLE)
            mean = exact.mean[known]
            assert sample.mean() == pytest.approx(mean, abs=5 * error + 0.005 * abs(mean)), known
            assert sample.std() == pytest.approx(exact.std[known], rel=0.04), known
    else:
        lives, shares = bl.life_paths(found, people=20_000), bl.age_distribution(found)
        there = (lives.points >= 0).mean(axis=0)
        assert there == pytest.approx(shares.sum(axis=(1, 2, 3)), abs=0.015)
        mean = (shares.sum(axis=(1, 3)) @ found.problem.grid) / shares.sum(axis=(1, 2, 3))
        assert np.nanmean(
            np.where(lives.points >= 0, found.problem.grid[lives.points], np.nan), axis=0
        ) == pytest.approx(mean, rel=0.03, abs=0.01)


def simulated(found: bl.Refined, chain: Any) -> tuple[np.ndarray, np.ndarray]:
    """Simulate people whose assets are any numbers; choices and values of alternatives are linear between points."""
    problem, choices, random = found.problem, found.policies[0], np.random.default_rng(3)
    branches: Any = [one.at() for one in problem.form.alternatives]
    regime = np.array([one.regime for one in problem.form.alternatives])
    steps = np.cumsum([branch.transition if chain is None else chain for branch in branches], axis=2)
    mixes = np.cumsum([branch.mix for branch in branches], axis=1)
    wealth, cost = (np.stack([getattr(branch, name) for branch in branches]) for name in ("wealth", "cost"))
    moves, grid = np.nan_to_num(choices.choice), problem.grid

    def between(tables: np.ndarray, x: np.ndarray, s: np.ndarray, d: Any = slice(None)) -> np.ndarray:
        below = np.clip(np.searchsorted(grid, x, side="right") - 1, 0, grid.size - 2)
        share = (x - grid[below]) / (grid[below + 1] - grid[below])
        with np.errstate(invalid="ignore"):
            both = (1 - share) * tables[d, below, s] + share * tables[d, below + 1, s]
        return np.where(share == 0.0, tables[d, below, s], np.nan_to_num(both, nan=-np.inf))

    x, s, r = np.full(PEOPLE, grid[len(grid) // 4]), np.zeros(PEOPLE, int), np.zeros(PEOPLE, int)
    points, spent = np.empty((2, PEOPLE, PERIODS - DROPPED))
    for t in range(PERIODS):
        values = between(choices.values, x, s)
        if problem.taste > 0:
            values += problem.taste * random.gumbel(size=values.shape)
        d = np.where(regime[:, None] == r, values, -np.inf).argmax(axis=0)
        ahead = between(moves, x, s, d)
        if t >= DROPPED:
            points[:, t - DROPPED] = x
            spent[:, t - DROPPED] = between(wealth, x, s, d) - between(cost, ahead, s, d)
        s = (steps[d, s] <= random.random(PEOPLE)[:, None]).sum(axis=1)
        r = (mixes[d] <= random.random(PEOPLE)[:, None]).sum(axis=1)
        x = ahead
    return points, spent
