"""Sovereign default on machines: prices move between runs, and the result is the processor's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.gpu_ref.general.solution import Iterate, Prices
from beltline.host.cli.main import main
from beltline.hw.interface.registers import Status
from support.default_solutions import same

BUILD = {"lanes": 2, "general": 1}
MACHINE: dict[str, Any] = {"device": "emulator", **BUILD}
COUNTRY = bl.arellano(bonds=61, incomes=7)
TOL = 1e-4


@pytest.mark.parametrize("start", ["coarse", pytest.param("given", marks=pytest.mark.slow)])
def test_a_machine_finds_the_processors_economy(start: str) -> None:
    # On this grid all iterations find the same of several sets of prices; a choice that is nearly a tie depends on tol.
    country = replace(COUNTRY, bonds=69)
    found = bl.solve(country, tol=1e-7, device="emulator", start=start)
    same(found, bl.solve(country, tol=1e-7, start=start))
    assert found.solution.verified
    assert found.solution.price_change == 0.0
    assert found.solution.residual < 1e-7
    assert found.solution.clocks > 0
    assert "modelled from its work, within 2%" in str(found)


def test_only_costs_move_between_runs() -> None:
    """Between runs only costs and the candidates of each state are written; values and choices stay on the machine."""
    moved, problem = [], COUNTRY.problem()
    with bl.open("emulator", **BUILD) as session:

        def update(last: Iterate) -> Prices:
            moved.append(set(session.moved))
            return COUNTRY.update(last)

        first = session.solve(problem, tol=TOL, update=update)
        assert first.success
        assert moved[0] >= {"X", "W", "Q", "V"}
        changed = [index for index in range(1, len(moved)) if "X" in moved[index]]
        assert 1 <= len(changed) < len(moved)
        # From the second run on, the machine begins from the choices of the run before.
        assert {"X", "MODE"} <= moved[1] <= {"X", "Q", "MODE", "SWEEP_LIMIT"}
        assert all(tables <= {"X", "Q", "SWEEP_LIMIT"} for tables in moved[2:])
        assert any("Q" in tables for tables in moved[1:])
        # Prices after every sweep are those of the processor's iteration, whose sweeps are counted in the same way.
        every = session.solve(problem, tol=1e-2, update=COUNTRY.update, update_every=1)
        right: Any = bl.solve(problem, tol=1e-2, update=COUNTRY.update, steps=0)
        assert every.sweeps == right.sweeps
        np.testing.assert_array_equal(every.prices, right.prices)
        np.testing.assert_array_equal(every.policy, right.policy)


def test_without_verification_the_proof_bounds_the_error() -> None:
    found, right = (bl.solve(COUNTRY, tol=TOL, device="emulator", verify=verify) for verify in (False, True))
    assert (found.success, found.solution.verified) == (True, False)
    assert right.solution.error_bound <= found.solution.error_bound < 3.0 * right.solution.error_bound
    np.testing.assert_array_equal(found.policy, right.policy)


def test_a_cost_without_alternatives_can_move() -> None:
    """A cost may depend on the solution without alternatives, here as a tax on saving that falls with mean wealth."""
    grid = np.linspace(0.0, 4.0, 40)
    saver = bl.Problem(
        grid=grid, wealth=1.0 + grid[:, None] + np.array([0.0, 0.4]), cost=grid, beta=0.9, eta=2.0,
        transition=[[0.8, 0.2], [0.2, 0.8]], start=np.zeros((40, 2)),
    )  # fmt: skip

    def update(last: Iterate) -> Prices:
        tax = 0.1 + 0.1 * grid[last.policy[0]].mean() / grid[-1]
        return Prices({"save": {"cost": (1.0 + tax) * grid[:, None] + np.zeros(2)}}, np.array([tax]))

    found: Any = bl.solve(saver, tol=TOL, device="emulator", update=update, **BUILD)
    right: Any = bl.solve(saver, tol=TOL, update=update)
    assert found.success, found.message
    assert found.prices[0] == pytest.approx(right.prices[0], abs=1e-12)
    np.testing.assert_array_equal(found.policy, right.policy)
    assert f"{right.prices[0]:.3f}" != "0.100"


def test_how_it_can_end() -> None:
    problem = COUNTRY.problem()

    def refused(last: Iterate) -> Prices:
        raise ValueError("no price clears the market")

    found: Any = bl.solve(problem, device="emulator", update=refused, **BUILD)
    assert (found.success, found.status) == (False, "prices refused")
    assert found.message.startswith("After sweep 10: no price clears the market")
    lines: list[str] = []
    found = bl.solve(COUNTRY, device="emulator", start="given", max_sweeps=25, progress=lines.append)
    assert (found.success, found.status, found.solution.sweeps) == (False, "sweep limit reached", 25)
    assert "Values and prices that change together need not converge" in found.message
    assert any("of prices" in line for line in lines)


def test_bounds_may_begin_to_depend_on_x() -> None:
    """Bounds that an update sets, where those of the first tables are the same for all x."""

    def late(last: Iterate) -> Prices:
        return Prices({"repay": {"low": np.arange(61)[:, None].repeat(7, axis=1)}}, np.zeros(1))

    found, right = (bl.solve(COUNTRY.problem(), tol=TOL, update=late, **where) for where in (MACHINE, {}))
    assert found.success, found.message
    np.testing.assert_array_equal(found.tables.policy, right.tables.policy)
    assert np.abs(found.value - right.value).max() <= found.error_bound + right.error_bound


def test_a_wrong_choice_is_not_passed_off_as_proven() -> None:
    """A wrong choice of the last run is not reported as proven, because it is verified at the prices of that run."""
    with bl.open("emulator", **BUILD) as session:
        run = session.run

        def faulty(*given: Any) -> Any:
            done = run(*given)
            policy = done.run.policy.copy()
            policy[30] = np.minimum(policy[30] + 2, 60)
            return replace(done, run=replace(done.run, policy=policy, status=done.run.status & ~Status.PROVEN))

        session.run = faulty  # type: ignore[method-assign]
        found = session.solve(COUNTRY.problem(), tol=TOL, update=COUNTRY.update, verify=False)
    assert not found.success
    assert "a second, exact search finds a choice of alternative" in found.message


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plot = tmp_path / "a.png"
    words = ["solve", "arellano", "--bonds", "61", "--incomes", "7", "--tol", "1e-4"]
    assert main([*words, "--device", "emulator", "--plot", str(plot)]) == 0
    told = capsys.readouterr().out
    assert told.startswith("Arellano's economy, 61 bonds x 7 incomes, on device emulator\n")
    assert "last change 0 (tolerance 0.0001)" in told
    assert plot.exists()


@pytest.mark.slow
@pytest.mark.gateware
def test_the_gateware_solves_to_the_emulators_bits() -> None:
    found, model = (bl.solve(COUNTRY, tol=1e-3, device=device, **BUILD) for device in ("rtl", "emulator"))
    same(found, model)
    for name in ("value", "values", "policy", "choice", "prices"):
        np.testing.assert_array_equal(getattr(found.solution, name), getattr(model.solution, name))
    assert found.solution.sweeps == model.solution.sweeps
    # The emulator counts work; its clocks are within 2% of the gateware's.
    assert found.solution.clocks == pytest.approx(model.solution.clocks, rel=0.02)
    assert "counted by the gateware in simulation" in str(found)
