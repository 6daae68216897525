"""The life cycle: its tables, its solution on every device, and simulated lives."""

from __future__ import annotations

import contextlib
import math
import re
from pathlib import Path

import numpy as np
import pytest

import beltline as bl
from beltline.host.cli.main import main
from beltline.host.devices import open_device
from beltline.hw.interface.parameters import MachineParameters


@pytest.fixture(scope="module")
def life() -> bl.Result:
    return bl.solve(bl.life_cycle(grid=120, states=3, ages=5), device="cpu", progress=False)


def test_tables_are_those_of_the_tutorial() -> None:
    problem = bl.life_cycle()
    # ln e follows a Tauchen chain with a half-width of 1.5 unconditional standard deviations.
    rho, sigma = 0.99, 0.02058
    half = 1.5 * sigma / math.sqrt(1.0 - rho**2)
    log_e = np.linspace(-half, half, 15)
    edges = (log_e[1:] + log_e[:-1]) / 2
    below = [[0.5 * math.erfc(-(edge - rho * y) / (sigma * math.sqrt(2.0))) for edge in edges] for y in log_e]
    Q = np.diff(np.pad(below, ((0, 0), (1, 1)), constant_values=((0.0, 0.0), (0.0, 1.0))), axis=1)
    X = np.linspace(0.1, 4.0, 1500)
    W = 1.07 * X[:, None] + 5.0 * np.exp(log_e)
    assert (problem.points, problem.states, problem.horizon) == (1500, 15, 10)
    assert problem.grid == pytest.approx(X, rel=1e-15)
    assert problem.wealth == pytest.approx(W, rel=1e-14)
    assert problem.transition == pytest.approx(Q, abs=1e-14)
    assert not problem.start.any()


def test_value_and_policy_have_the_age_first_and_the_last_age_eats_all(life: bl.Result) -> None:
    assert life.status == "finished"
    assert life.value.shape == life.policy.shape == (5, 120, 3)
    assert not life.policy[-1].any()
    problem = life.problem
    assert life.value[-1] == pytest.approx(-1 / (problem.wealth - problem.grid[0]), rel=1e-14)
    assert (np.diff(life.policy, axis=1) >= 0).all()


def test_devices_agree(life: bl.Result) -> None:
    machine = bl.solve(life.problem, device="emulator", progress=False)
    assert machine.success
    assert (machine.policy == life.policy).all()
    assert np.abs(machine.value - life.value).max() < 1e-13
    assert machine.sweeps == 5


@pytest.mark.gateware
def test_the_gateware_has_the_bits_of_its_model() -> None:
    problem = bl.life_cycle(grid=8, states=3, ages=4)
    # The build of tests/host/devices/test_conformance.py, which is compiled once for both.
    build = MachineParameters(grid=16, states=3, results=96)
    with contextlib.closing(open_device("rtl", build)) as device:
        rtl = bl.solve(problem, device=device, progress=False)
    with contextlib.closing(open_device("emulator", build)) as device:
        model = bl.solve(problem, device=device, progress=False)
    assert model.success
    assert (rtl.value == model.value).all()
    assert (rtl.policy == model.policy).all()
    assert (rtl.sweeps, rtl.clocks) == (4, model.clocks)


def test_lives_follow_policy_and_chain(life: bl.Result) -> None:
    lives = bl.life_paths(life, people=4000, seed=3, start=7, choices="grid")
    assert lives.points.shape == lives.states.shape == (4000, 5)
    assert (lives.points[:, 0] == 7).all()
    for age in range(4):
        assert (lives.points[:, age + 1] == life.policy[age, lives.points[:, age], lives.states[:, age]]).all()
    assert set(lives.series) == {"output", "consumption", "investment", "assets", "productivity"}
    problem = life.problem
    spent = lives.series["consumption"][:, :-1] + lives.series["assets"][:, 1:]
    assert spent == pytest.approx(problem.wealth[lives.points, lives.states][:, :-1], rel=1e-12)
    # The simulated transitions have the chain's probabilities, within four standard errors.
    moves = np.zeros((3, 3))
    np.add.at(moves, (lives.states[:, :-1].ravel(), lives.states[:, 1:].ravel()), 1)
    shares = moves / moves.sum(axis=1, keepdims=True)
    error = 4 * np.sqrt(problem.transition * (1 - problem.transition) / moves.sum(axis=1, keepdims=True)) + 1e-12
    assert (np.abs(shares - problem.transition) <= error).all()
    assert lives.at_top == sum(
        int((life.policy[age, lives.points[:, age], lives.states[:, age]] == 119).sum()) for age in range(5)
    )
    again = bl.life_paths(life, people=4000, seed=3, start=7, choices="grid")
    assert (again.points == lives.points).all()
    assert str(lives).splitlines()[0] == "Lives of life cycle, 120 grid points x 3 states"


def test_lives_that_reach_the_end_of_the_grid_are_counted() -> None:
    short = bl.solve(bl.life_cycle(grid=50, states=3, ages=4, high=0.12), device="cpu", progress=False)
    lives = bl.life_paths(short, people=100)
    assert lives.at_top > 0
    assert f"The highest grid point was chosen {lives.at_top:,} times" in str(lives)


@pytest.mark.parametrize("kind", ["ages", "life", "policy", "euler"])
def test_figures(life: bl.Result, tmp_path: Path, kind: str) -> None:
    life.plot(tmp_path / "a.png", kind)
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("kind", ["ages", "life"])
def test_figures_of_ages_need_ages(tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    # The command line refuses it before any work.
    assert main(["solve", "rbc", "--grid", "1048576", "--plot", str(tmp_path / "a.png"), "--kind", kind]) == 2
    sentence = f"kind {kind!r} needs ages, and the horizon of this problem is infinite"
    assert capsys.readouterr().err == f"beltline solve: {sentence}\n"
    endless = bl.solve(bl.rbc(grid=64), tol=1e-3, device="cpu", progress=False)
    with pytest.raises(bl.ProblemError, match="^(there are no ages to draw|life_paths needs a problem with a horizon)"):
        endless.plot(tmp_path / "a.png", kind)
    assert list(tmp_path.iterdir()) == []


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, plot = tmp_path / "a.npz", tmp_path / "a.png"
    words = ["solve", "life-cycle", "--grid", "64", "--states", "3", "--ages", "4", "--device", "cpu"]
    assert main([*words, "--out", str(out), "--plot", str(plot), "--kind", "life"]) == 0
    assert capsys.readouterr().out.startswith("life cycle, 64 grid points x 3 states, 4 ages, on device cpu\n")
    assert bl.load(out).value.shape == (4, 64, 3)
    assert main(["plot", str(out), "--kind", "ages", "--quiet"]) == 0
    assert (tmp_path / "a-ages.png").exists()
    assert main([*words, "--alpha", "0.3"]) == 2
    sentence = "beltline solve: model 'life-cycle' has no parameter --alpha: it takes --grid, --states, --ages, "
    assert capsys.readouterr().err.startswith(sentence)
    assert main([*words, "--plot", str(plot), "--kind", "fan"]) == 2
    assert capsys.readouterr().err.startswith("beltline solve: kind must be one of 'policy', ")
    for kind, ages, needs in (
        ("irf", "3", "kind 'irf' needs an infinite horizon, and this problem has 3 ages"),
        ("distribution", "3", "kind 'distribution' needs an infinite horizon, and this problem has 3 ages"),
        ("euler", "1", "kind 'euler' needs two ages, and this problem has one"),
    ):
        assert main([*words, "--ages", ages, "--plot", str(plot), "--kind", kind]) == 2
        assert capsys.readouterr() == ("", f"beltline solve: {needs}\n")


def test_refusals_of_lives(life: bl.Result) -> None:
    endless = bl.solve(bl.rbc(grid=64), tol=1e-3, device="cpu", progress=False)
    for arguments, sentence in (
        ((endless,), "life_paths needs a problem with a horizon, and this one has none: use simulate"),
        ((life, 0), "people must be a whole number from 1 to 2000000, not 0"),
        ((life, 10**9), "people must be a whole number from 1 to 2000000, not 1000000000"),
        ((life, 5, -1), "seed must be a whole number that is not negative, not -1"),
        ((life, 5, 0, 120), "start must be a whole number from 0 to 119, not 120"),
        ((7,), "result must be a Result, not 7"),
    ):
        with pytest.raises(bl.ProblemError, match=f"^{re.escape(sentence)}$"):
            bl.life_paths(*arguments)  # type: ignore[arg-type]
