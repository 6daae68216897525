"""Aiyagari's economy: its market, its distribution, its report, files and figures."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq

import beltline as bl
from beltline.host.analysis.chain import chain_distribution
from beltline.host.cli.main import main
from beltline.host.models.aiyagari.result import Economy
from beltline.hw.interface.registers import Command, Status, Table
from oracle import economies as oracle
from support.fakes import BruteDevice, interrupt_main_after

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
    # The firms' conditions: alpha K^(alpha-1) - delta = r, and wages are output less the share of capital.
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
    assert abs(economy.excess) < 1e-7
    assert economy.wage == pytest.approx(model.wage(economy.interest), rel=1e-12)
    assert economy.saving_rate == pytest.approx(0.08 * economy.capital**0.64, rel=1e-12)


def test_mass_is_one_and_stays_where_it_is(economy: Economy) -> None:
    mass, grid = economy.distribution, economy.household.problem.grid
    transition = economy.household.problem.transition
    assert abs(mass.sum() - 1) < 1e-12
    assert mass.min() >= 0
    moves = oracle.Household(grid, transition, 0.96, 3.0).moves(economy.continuous_choice)
    assert np.abs(mass.ravel() @ moves - mass.ravel()).sum() < 1e-11
    assert mass.sum(axis=0) == pytest.approx(chain_distribution(transition), abs=1e-10)
    # Choices between grid points are next to those on the grid.
    on_grid = economy.household.choice
    assert (np.abs(economy.continuous_choice - on_grid) <= np.diff(grid).max()).all()
    assert np.abs(economy.continuous_choice - on_grid).max() > 0


def test_devices_agree(economy: Economy) -> None:
    machine = bl.solve(bl.aiyagari(**SMALL), tol=1e-7, device="emulator", progress=False)
    assert machine.success, machine.message
    assert machine.interest == pytest.approx(economy.interest, abs=2e-6)
    assert machine.household.verified
    # All households are solved in one session: after the first one only wealth is written.
    assert "Q" in machine.steps[0].moved
    assert all(set(step.moved) <= {"W", "UTILITY_A", "UTILITY_B"} for step in machine.steps[1:])
    assert machine.steps[-1].sweeps < machine.steps[0].sweeps


@pytest.mark.gateware
@pytest.mark.slow
def test_the_gateware_finds_the_economy_of_its_model() -> None:
    model = bl.aiyagari(grid=16, states=2, sigma=0.4, high=12.0)
    wanted = bl.solve(model, tol=1e-2, device="emulator", progress=False)
    found = bl.solve(model, tol=1e-2, device="rtl", progress=False)
    assert len(found.steps) > 3
    assert [(step.interest, step.supply, step.sweeps, step.clocks) for step in found.steps] == [
        (step.interest, step.supply, step.sweeps, step.clocks) for step in wanted.steps
    ]
    assert (found.household.value == wanted.household.value).all()
    assert (found.distribution == wanted.distribution).all()


def test_an_open_session_is_used_and_left_open() -> None:
    with bl.open("emulator") as device:
        first = bl.solve(bl.aiyagari(**SMALL), tol=1e-6, device=device, progress=False)
        assert first.success
        assert bl.solve(bl.rbc(grid=32), tol=1e-3, device=device, progress=False).success


def test_households_that_would_leave_the_grid_are_counted() -> None:
    narrow = bl.solve(bl.aiyagari(**{**SMALL, "grid": 150, "high": 9.0}), tol=1e-6, device="cpu", progress=False)
    at = narrow.continuous_choice >= 9.0
    assert narrow.at_top == pytest.approx(float(narrow.distribution[at].sum()), rel=1e-12)
    assert narrow.at_top > 1e-3
    assert f"top of grid   chosen by a share of {narrow.at_top:.2g} (at most 0.001)\n" in str(narrow)
    assert abs(narrow.distribution.sum() - 1) < 1e-12


def test_a_grid_that_ends_too_early_is_reported() -> None:
    short = bl.solve(bl.aiyagari(**{**SMALL, "grid": 100, "high": 3.0}), tol=1e-6, device="cpu", progress=False)
    assert not short.success
    assert re.fullmatch(
        r"Just below 1/beta - 1 the supply of capital is [\d.]+ and demand [\d.]+: "
        r"the grid ends too early, so raise high\.",
        short.message,
    )
    assert "not solved: Just below" in str(short)
    assert short.status == "market not solved"


@pytest.mark.parametrize(
    "model",
    [
        bl.aiyagari(grid=400, states=1),
        bl.aiyagari_types(grid=60, states=1),
        bl.aiyagari_path(grid=60, states=1, periods=5),
    ],
    ids=["one type", "types", "path"],
)
def test_certain_incomes_are_named_as_the_reason(model: Any) -> None:
    found = bl.solve(model, tol=1e-6, progress=False)
    assert (found.success, found.status) == (False, "market not solved")
    assert found.message.endswith(
        "with one state incomes are certain, and households save at no rate below 1/beta - 1, so raise states."
    )


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


def test_a_distribution_that_does_not_converge_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beltline.host.analysis.stationary.PASSES", 1)
    monkeypatch.setattr("beltline.host.analysis.stationary.PERIODS", 5)
    monkeypatch.setattr("beltline.host.analysis.long_run.SOLVED_STATES", 0)
    found = bl.solve(bl.aiyagari(**SMALL), tol=1e-6, device="cpu", progress=False)
    assert not found.success
    settles = (
        r"At interest = 0\.0375 no stationary distribution of households was found: the distribution of 900 states "
        r"still moves after 5 periods\."
    )
    assert re.fullmatch(settles, found.message)
    assert (len(found.steps), found.distribution.sum()) == (1, 0.0)
    assert found.status == "distribution not solved"


@pytest.mark.parametrize("device", ["emulator", "cpu"])
def test_a_household_at_the_sweep_limit_is_no_economy(
    device: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = bl.solve(bl.aiyagari(**SMALL), max_sweeps=2, device=device, progress=False)
    assert not found.success
    assert found.message.startswith("The problem of a household was not solved: ")
    assert "after the limit of 2 sweeps" in found.message
    assert found.status == "household not solved"
    # The unsolved household is written to the file, and the exit code is 1.
    out, words = tmp_path / "a.npz", ["--grid", "60", "--states", "3", "--max-sweeps", "2", "--device", device]
    assert main(["solve", "aiyagari", *words, "--out", str(out)]) == 1
    assert "beltline solve: not solved: The problem of a household" in capsys.readouterr().err
    assert main(["plot", str(out)]) == 1


def test_a_household_whose_value_leaves_the_format_is_no_economy() -> None:
    def saturated(device: BruteDevice) -> None:
        device.status = Status.DONE | Status.SATURATED

    device = BruteDevice(32, 2, fault=saturated)
    found = bl.solve(bl.aiyagari(grid=30, states=2), tol=1e-3, device=device, progress=False)
    assert not found.success
    assert found.message.startswith("The problem of a household was not solved: A value left the range")
    assert len(found.steps) == 1


def test_no_economy_if_no_household_holds_capital() -> None:
    # After one sweep no household has a reason to save.
    found = bl.solve(bl.aiyagari(**SMALL), max_sweeps=1, device="cpu", progress=False)
    assert (found.success, found.capital, found.saving_rate) == (False, 0.0, 0.0)
    assert np.isnan(found.gini)
    assert "Gini nan; 0.00% of households choose zero assets" in str(found)


class Counting(BruteDevice):
    """A device with brute-force search that counts what is written to it, by solve."""

    def __init__(self) -> None:
        super().__init__(grid=32, states=2)
        self.runs: list[dict[str, int]] = [{}]

    def write_register(self, name: str, value: int) -> None:
        super().write_register(name, value)
        if name.startswith("SUM_") or (name == "COMMAND" and value != Command.RUN):
            # Accesses that check transfers or clear counters are not counted.
            return
        self.runs[-1][name] = self.runs[-1].get(name, 0) + 1
        if name == "COMMAND":
            self.runs.append({})

    def write_block(self, table: Table, first: int, words: NDArray[np.int64]) -> None:
        super().write_block(table, first, words)
        self.runs[-1][table.name] = self.runs[-1].get(table.name, 0) + words.size


def test_a_step_of_the_market_costs_one_table_one_register_and_a_solve() -> None:
    device = Counting()
    model = bl.aiyagari(grid=30, states=2, sigma=0.4, high=20.0)
    found = bl.solve(model, tol=1e-4, device=device, progress=False)
    assert len(found.steps) > 4
    first, *later = device.runs[: len(found.steps)]
    assert {"X", "W", "Q", "V", "GRID", "STATES", "EPSILON", "COMMAND"} <= set(first)
    # Only wealth depends on r and the wage, so only wealth is written, and the device keeps the last value.
    # The last solve, which is verified, is at the rate of the one before.
    assert later == [{"W": 30 * 2, "COMMAND": 1}] * (len(found.steps) - 2) + [{"COMMAND": 1}]
    assert device.runs[len(found.steps) :] == [{}]
    assert not device.closed
    # Each solve starts from the last value, so closer rates need fewer sweeps.
    cold = bl.solve(model.problem(found.interest), tol=1e-4, device="emulator", progress=False)
    assert found.steps[-1].sweeps < cold.sweeps / 2
    assert sum(step.sweeps for step in found.steps) < 0.7 * len(found.steps) * cold.sweeps


def test_the_rate_is_that_of_continuous_choices() -> None:
    # This solution by another method has continuous choices, and splits mass between grid points.
    # They differ most in the case with the most risk of the paper's table II, printed as -0.3456%.
    model = bl.aiyagari(grid=800, eta=5.0, rho=0.9, sigma=0.4, high=100.0)
    found = bl.solve(model, tol=1e-7, device="cpu", progress=False)
    assert found.success
    units, chain = model.labour()
    household = oracle.Household(bl.grid_polynomial(0.0, 100.0, 200, 3.0), chain, 0.96, 5.0)

    def gap(rate: float) -> float:
        return model.rate(household.supply(1 + rate, model.wage(rate) * units)[0]) - rate

    assert found.interest == pytest.approx(float(brentq(gap, -0.02, 0.03, xtol=1e-6)), abs=1e-4)


def test_the_chain_is_that_of_the_paper() -> None:
    # Aiyagari (1994), table I: coefficient of variation and serial correlation of labour as his chain has them, which
    # are not quite the sigma and rho that it is to approximate.
    printed = {
        0.2: ["0.21/0.00", "0.21/0.30", "0.21/0.59", "0.24/0.90"],
        0.4: ["0.43/0.00", "0.43/0.28", "0.44/0.58", "0.49/0.89"],
    }
    for sigma, cells in printed.items():
        for rho, cell in zip((0.0, 0.3, 0.6, 0.9), cells, strict=True):
            units, chain = bl.aiyagari(sigma=sigma, rho=rho).labour()
            weights = chain_distribution(chain)
            variance = weights @ (units - 1) ** 2
            serial = weights * (units - 1) @ chain @ (units - 1) / variance
            assert (np.sqrt(variance), serial) == pytest.approx([float(part) for part in cell.split("/")], abs=0.0055)


def test_little_risk_takes_no_longer() -> None:
    # Near 1/beta - 1 wealth has almost no drift: iterating the distribution would take a day.
    begin = time.perf_counter()
    found = bl.solve(bl.aiyagari(grid=400, eta=1.0, rho=0.0, sigma=0.2), tol=1e-6, device="cpu", progress=False)
    assert found.moves < 1e-13
    assert abs(found.distribution.sum() - 1) < 1e-12
    assert len(found.steps) > 3
    assert time.perf_counter() - begin < 60


def test_files_that_no_solve_wrote(economy: Economy, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    mass = economy.distribution.copy()
    mass[3, 1] = -0.5
    ours = repr(str(path)) + " is damaged or was not saved by Beltline: "
    for other, sentence in (
        (replace(economy, distribution=mass), "shares of households must be finite and not negative"),
        (replace(economy, steps=()), "its solution has no steps"),
        (
            replace(economy, steps=(replace(economy.steps[0], sweeps=-1),)),
            "sweeps of steps of its solution must be a whole number from 0 to 2**64 - 1, not -1",
        ),
    ):
        with pytest.raises(bl.ProblemError, match="^" + re.escape(ours + sentence)):
            bl.load(other.save(path))


@pytest.mark.parametrize("device", ["emulator", "cpu"])
def test_interrupted_it_leaves_no_file(device: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    timer = interrupt_main_after(1.5)
    words = ["--grid", "3000", "--tol", "1e-9", "--device", device, "--out", str(tmp_path / "a.npz")]
    assert main(["solve", "aiyagari", *words, "--plot", str(tmp_path / "a.png")]) == 130
    timer.join()
    assert capsys.readouterr() == ("", "beltline solve: interrupted\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("device", ["emulator", "cpu"])
def test_progress_says_which_step_it_is(device: str) -> None:
    lines: list[str] = []
    found = bl.solve(bl.aiyagari(**{**SMALL, "grid": 100}), tol=1e-4, device=device, progress=lines.append)
    steps = [
        line for line in lines if re.match(r"steady state, step \d+: interest = [-\d.e]+, excess of capital ", line)
    ]
    # One more solve is verified, and one from another start if it is not.
    assert len(found.steps) - len(steps) in (1, 2)
    assert steps[-1].startswith(f"steady state, step {len(steps)}: interest = {found.interest:.6g}")
    assert any(re.match(r"step \d+, r = [\d.]+%: verifying", line) for line in lines)


def test_a_rate_without_an_end_is_refused() -> None:
    with pytest.raises(bl.ProblemError, match=r"^interest must be a number above -delta = -0\.08 and below 1/beta - 1"):
        bl.aiyagari().problem(0.05)
