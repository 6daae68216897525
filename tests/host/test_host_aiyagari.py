"""Aiyagari's economy: its market, its distribution, and what is printed, saved and drawn of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import beltline as bl
from host.aiyagari import Aiyagari, Economy, concave
from host.cli import main
from host.simulation import chain_distribution

SMALL: dict[str, Any] = {"grid": 300, "states": 3, "sigma": 0.4, "high": 40.0}


@pytest.fixture(scope="module")
def economy() -> Economy:
    found = bl.solve(bl.aiyagari(**SMALL), tol=1e-7, device="cpu", progress=False)
    assert isinstance(found, Economy)
    return found


def test_household_tables() -> None:
    model = bl.aiyagari(grid=50)
    problem = model.problem(0.03)
    units, transition = model.labour()
    assert chain_distribution(transition) @ units == pytest.approx(1.0, rel=1e-13)
    assert (problem.transition == transition).all()
    # Firms' two conditions, written out: alpha K^(alpha-1) - delta = r, and what capital leaves of output is wages.
    capital = model.capital(0.03)
    assert 0.36 * capital**-0.64 - 0.08 == pytest.approx(0.03, rel=1e-12)
    assert model.wage(0.03) + (0.03 + 0.08) * capital == pytest.approx(capital**0.36, rel=1e-12)
    assert model.rate(capital) == pytest.approx(0.03, rel=1e-12)
    assert problem.wealth == pytest.approx(1.03 * problem.grid[:, None] + model.wage(0.03) * units, rel=1e-14)
    assert problem.grid[0] == 0.0


def test_the_market_clears(economy: Economy) -> None:
    assert economy.success, economy.message
    model = economy.model
    assert 0 < economy.interest < 1 / model.beta - 1
    assert economy.capital == pytest.approx(
        float(economy.household.problem.grid @ economy.distribution.sum(axis=1)), rel=1e-12
    )
    # Within what one grid step of everybody's choice can do.
    assert abs(economy.excess) < 0.01
    below = max((step for step in economy.steps if step.supply <= step.demand), key=lambda step: step.interest)
    above = min((step for step in economy.steps if step.supply >= step.demand), key=lambda step: step.interest)
    assert abs(below.interest - above.interest) < 1e-5
    assert economy.wage == pytest.approx(model.wage(economy.interest), rel=1e-12)
    assert economy.saving_rate == pytest.approx(0.08 * economy.capital**0.64, rel=1e-12)


def test_mass_is_one_and_stays_where_it_is(economy: Economy) -> None:
    mass, policy = economy.distribution, economy.household.policy
    transition = economy.household.problem.transition
    assert abs(mass.sum() - 1) < 1e-12
    assert mass.min() >= 0
    moved = np.zeros_like(mass)
    np.add.at(moved, (policy, np.arange(3)), mass)
    assert np.abs(moved @ transition - mass).sum() < 1e-11
    assert mass.sum(axis=0) == pytest.approx(chain_distribution(transition), abs=1e-10)
    # It is the one that every start leads to.
    assert np.abs(mass - bl.stationary_distribution(economy.household)).sum() < 1e-9


def test_devices_agree(economy: Economy) -> None:
    machine = bl.solve(bl.aiyagari(**SMALL), tol=1e-7, device="model", progress=False)
    assert machine.success, machine.message
    assert machine.interest == pytest.approx(economy.interest, abs=2e-6)
    assert machine.household.verified
    # A session is open throughout: after the first household only wealth is written.
    assert "Q" in machine.steps[0].moved
    assert all(set(step.moved) <= {"W", "UTILITY_A", "UTILITY_B"} for step in machine.steps[1:])
    assert machine.steps[-1].sweeps < machine.steps[0].sweeps


def test_an_open_session_is_used_and_left_open() -> None:
    with bl.open("model") as device:
        first = bl.solve(bl.aiyagari(**SMALL), tol=1e-6, device=device, progress=False)
        assert first.success
        assert bl.solve(bl.rbc(grid=32), tol=1e-3, device=device, progress=False).success


def test_households_that_would_leave_the_grid_are_counted() -> None:
    narrow = bl.solve(bl.aiyagari(**{**SMALL, "grid": 150, "high": 9.0}), tol=1e-6, device="cpu", progress=False)
    at = narrow.household.policy == 149
    assert narrow.at_top == pytest.approx(float(narrow.distribution[at].sum()), rel=1e-12)
    assert narrow.at_top > 1e-6
    assert abs(narrow.distribution.sum() - 1) < 1e-12


def test_a_grid_that_ends_too_early_is_said_to() -> None:
    short = bl.solve(bl.aiyagari(**{**SMALL, "grid": 100, "high": 3.0}), tol=1e-6, device="cpu", progress=False)
    assert not short.success
    assert re.fullmatch(
        r"Just below 1/beta - 1 households hold [\d.]+, and firms rent [\d.]+: "
        r"the grid ends too early, so raise high\.",
        short.message,
    )
    assert "not solved: Just below" in str(short)


def test_more_risk_means_more_capital_and_a_lower_rate() -> None:
    safe = bl.solve(bl.aiyagari(**{**SMALL, "sigma": 0.2}), tol=1e-6, device="cpu", progress=False)
    risky = bl.solve(bl.aiyagari(**SMALL), tol=1e-6, device="cpu", progress=False)
    assert risky.interest < safe.interest
    assert risky.capital > safe.capital


def test_near_the_published_rate() -> None:
    # Aiyagari (1994), table II: 3.8767 per cent and a saving rate of 24.25 for mu = 3, rho = 0.6, sigma = 0.2.
    found = bl.solve(bl.aiyagari(grid=1000), tol=1e-7, device="cpu", progress=False)
    assert 100 * found.interest == pytest.approx(3.8767, abs=0.03)
    assert 100 * found.saving_rate == pytest.approx(24.25, abs=0.1)


def test_a_distribution_that_does_not_settle_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("host.aiyagari.PERIODS", 5)
    with pytest.raises(bl.ProblemError, match=r"^a distribution did not settle: a period still moved [\d.e-]+ of it$"):
        bl.solve(bl.aiyagari(**SMALL), tol=1e-6, device="cpu", progress=False)


def test_the_first_household_unsolved_is_an_error() -> None:
    with pytest.raises(bl.ProblemError, match="^a household's problem was not solved: The largest change"):
        bl.solve(bl.aiyagari(**SMALL), max_sweeps=2, device="model", progress=False)


def test_report_saving_and_figures(economy: Economy, tmp_path: Path) -> None:
    text = str(economy)
    assert text.startswith("Aiyagari's economy, 300 grid points x 3 states, on device cpu\n  status        solved: ")
    again = bl.load(economy.save(tmp_path / "a.npz"))
    assert str(again) == text
    assert (again.distribution == economy.distribution).all()
    assert (again.household.policy == economy.household.policy).all()
    assert again.model == economy.model
    assert again.steps == economy.steps
    for kind in Aiyagari.kinds:
        economy.plot(tmp_path / f"{kind}.png", kind)
        assert (tmp_path / f"{kind}.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(bl.ProblemError, match="^kind must be one of 'market', 'distribution', 'lorenz', 'policy', not"):
        economy.plot(tmp_path / "b.png", "irf")
    with pytest.raises(bl.ProblemError, match=r"^out must end in \.npz, not "):
        economy.save(tmp_path / "a.nc")


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, plot = tmp_path / "a.npz", tmp_path / "a.png"
    words = ["solve", "aiyagari", "--grid", "200", "--states", "3", "--tol", "1e-6", "--device", "cpu"]
    assert main([*words, "--out", str(out), "--plot", str(plot), "--kind", "lorenz"]) == 0
    assert capsys.readouterr().out.startswith("Aiyagari's economy, 200 grid points x 3 states, on device cpu\n")
    assert main(["plot", str(out), "--kind", "distribution"]) == 0
    assert (tmp_path / "a-distribution.png").exists()
    capsys.readouterr()
    for more, sentence in (
        (["--out", str(tmp_path / "a.nc")], "out must end in .npz, not "),
        (
            ["--plot", str(plot), "--kind", "irf"],
            "kind must be one of 'market', 'distribution', 'lorenz', 'policy', not ",
        ),
        (["--checkpoint", str(tmp_path / "c.npz")], "checkpoint must be None: an economy is many solves"),
        (["--option", "slot=1"], "method 'shift' has no option 'slot'"),
    ):
        assert main([*words, *more]) == 2
        assert capsys.readouterr().err.startswith(f"beltline solve: {sentence}")


def test_a_concave_majorant_is_the_least() -> None:
    grid = np.array([0.0, 1.0, 3.0, 4.0])
    value = np.array([[0.0, 0.0], [0.0, 2.0], [3.0, 3.0], [3.5, 3.1]])
    found = concave(grid, value)
    assert found[:, 0] == pytest.approx([0.0, 1.0, 3.0, 3.5])
    assert found[:, 1] == pytest.approx(value[:, 1])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"grid": 1}, "grid must be a whole number from 2 to 1048576, not 1"),
        ({"beta": 1}, "beta must be a number above 0 and below 1, not 1"),
        ({"delta": 0}, "delta must be a number above 0 and at most 1, not 0"),
        ({"sigma": 0.0}, "sigma must be a number above 0, not 0.0"),
        ({"power": 0.5}, "power must be a number from 1, not 0.5"),
        ({"high": -1}, "high must be a number above 0, not -1"),
    ],
)
def test_refusals(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(bl.ProblemError, match=f"^{re.escape(sentence)}$"):
        bl.aiyagari(**arguments)


def test_a_rate_without_an_end_is_refused() -> None:
    with pytest.raises(bl.ProblemError, match=r"^interest must be a number above -delta = -0\.08 and below 1/beta - 1"):
        bl.aiyagari().problem(0.05)


def test_lorenz_and_gini() -> None:
    people, share = bl.lorenz([3.0, 1.0, 0.0, 0.0])
    assert people.tolist() == [0.0, 0.5, 0.75, 1.0]
    assert share.tolist() == [0.0, 0.0, 0.25, 1.0]
    assert bl.gini([3.0, 1.0, 0.0, 0.0]) == pytest.approx(0.625, rel=1e-15)
    assert bl.gini(np.ones(7)) == pytest.approx(0.0, abs=1e-15)
    # Wealth that is exponential: one half; weights instead of a sample.
    levels = np.linspace(0, 40, 40_001)
    assert bl.gini(levels, np.exp(-levels)) == pytest.approx(0.5, abs=1e-3)
    for arguments, sentence in (
        (([1.0, -1.0],), "values must be numbers from 0, but values[1] is -1.0"),
        (([1.0], [1.0, 2.0]), "mass must have the shape of values, (1,), not (2,)"),
        (([0.0, 0.0],), "somebody must hold something, or there are no shares of it"),
    ):
        with pytest.raises(bl.ProblemError, match=f"^{re.escape(sentence)}$"):
            bl.gini(*arguments)
