"""Euler equation errors against a closed form and against a loop written from the definition."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest

import beltline as bl
from beltline.host.analysis.euler import SMALLEST, log10_errors, summary
from docs.tables.euler import main as table
from support.fakes import problem
from support.paths import ROOT

ALPHA, BETA = 0.35, 0.9


def closed_form(points: int) -> bl.Problem:
    """Return the policy ``k' = alpha beta z k**alpha`` of log utility and full depreciation (Brock and Mirman 1972)."""
    return bl.rbc(grid=points, states=3, beta=BETA, eta=1.0, alpha=ALPHA, delta=1.0, rho=0.8, sigma=0.02)


def loop(result: bl.Result, x: int, s: int) -> float:
    given = result.problem
    k, z, eta = given.grid, given.shock_values, given.eta
    alpha, delta = given.parameters["alpha"], given.parameters["delta"]

    def consumption(i: int, j: int) -> float:
        return float(z[j] * k[i] ** alpha + (1 - delta) * k[i] - k[result.policy[i, j]])

    to = int(result.policy[x, s])
    total = 0.0
    for t in range(given.states):
        brings = alpha * z[t] * k[to] ** (alpha - 1) + 1 - delta
        total += given.transition[s, t] * brings * consumption(to, t) ** -eta
    return 1 - (given.beta * total) ** (-1 / eta) / consumption(x, s)


@pytest.mark.parametrize("eta", [0.5, 1.0, 2.0])
def test_errors_are_those_of_the_definition(eta: float) -> None:
    result = bl.solve(bl.rbc(grid=96, states=3, eta=eta), tol=1e-7, device="cpu", progress=False)
    errors = bl.euler_errors(result)
    assert errors.shape == result.value.shape
    for x in range(0, 96, 7):
        for s in range(3):
            expected = loop(result, x, s)
            if np.isnan(errors[x, s]):
                assert result.policy[x, s] == 0
                assert expected < 0
            else:
                assert errors[x, s] == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("delta", [0.05, 1.0])
def test_resting_point_of_the_model_has_no_error(delta: float) -> None:
    """Without shocks the Euler error is zero at ``kss``, a grid point at which capital stays, and only there."""
    steady = ((1 / BETA - 1 + delta) / ALPHA) ** (1 / (ALPHA - 1))
    k = steady * np.linspace(0.9, 1.1, 101)[:, None]
    given = bl.Problem(
        grid=k[:, 0], wealth=k**ALPHA + (1 - delta) * k, transition=np.ones((1, 1)), start=np.zeros((101, 1)),
        beta=BETA, eta=2.0, marginal_wealth=ALPHA * k ** (ALPHA - 1) + 1 - delta,
    )  # fmt: skip
    result = bl.solve(given, tol=1e-12, device="cpu", progress=False)
    assert result.policy[50, 0] == 50
    errors = np.abs(bl.euler_errors(result)[:, 0])
    assert errors[50] < 1e-15
    assert np.nanmin(np.delete(errors, 50)) > 1e-6


def test_errors_shrink_with_the_grid_towards_the_closed_form() -> None:
    largest, distance = [], []
    for points in (100, 1000, 10_000):
        given = closed_form(points)
        result = bl.solve(given, tol=1e-10, device="cpu", progress=False)
        assert given.output is not None
        exact = ALPHA * BETA * given.output
        inside = (exact > given.grid[0]) & (exact < given.grid[-1])
        step = given.grid[1] - given.grid[0]
        distance.append(np.abs(result.choice - exact)[inside].max() / step)
        errors = bl.euler_errors(result)
        middle = slice(points // 4, 3 * points // 4)
        largest.append(np.nanmax(np.abs(errors[middle])))
        report = bl.euler_report(result, periods=2000, burn_in=200)
        assert report.grid.largest == pytest.approx(np.log10(np.nanmax(np.abs(errors))))
    # A choice on the grid is one of the neighbours of the best one off the grid, so errors fall with the step.
    assert max(distance) < 2
    for coarse, fine in itertools.pairwise(largest):
        assert 5 < coarse / fine < 20


def test_report_is_the_paths_errors() -> None:
    result = bl.solve(bl.rbc(grid=256), tol=1e-7, device="cpu", progress=False)
    report = bl.euler_report(result, periods=300, burn_in=20, seed=4)
    path, errors = bl.simulate(result, 300, 20, 4, choices="grid"), bl.euler_errors(result)
    along = [loop(result, int(x), int(s)) for x, s in zip(path.points, path.states, strict=True)]
    assert report.path.mean == pytest.approx(np.mean([math.log10(abs(e)) for e in along]), abs=1e-9)
    assert report.path.log10_mean == pytest.approx(math.log10(np.mean(np.abs(along))), abs=1e-9)
    assert report.path.largest == pytest.approx(math.log10(max(map(abs, along))), abs=1e-9)
    assert report.path.states == 300
    assert report.grid.states + report.grid.binding == errors.size
    lines = str(report).splitlines()
    assert lines[0] == "Euler equation errors of RBC, 256 grid points x 4 states"
    assert " ".join(lines[1].split()) == "log10 |e|, e as a share of consumption mean log10 of mean largest"
    assert lines[-1].strip().startswith("300 periods after 20, seed 4")


def test_binding_constraint_is_no_error() -> None:
    """A choice at the lowest grid point, a binding constraint in the poorer state, is not counted as an error."""
    k = np.linspace(5.0, 6.0, 50)
    wealth = 1.05 * k[:, None] + np.array([0.5, 1.0])
    given = bl.Problem(
        grid=k, wealth=wealth, transition=np.full((2, 2), 0.5), start=np.zeros((50, 2)), beta=0.8, eta=2.0,
        marginal_wealth=np.full((50, 2), 1.05),
    )  # fmt: skip
    result = bl.solve(given, tol=1e-8, device="cpu", progress=False)
    errors = bl.euler_errors(result)
    assert (result.policy[np.isnan(errors)] == 0).all()
    assert np.isnan(errors).tolist()[0] == [True, False]
    report = bl.euler_report(result, periods=100)
    assert report.path.binding > 0
    assert "left out, as the constraint binds there" in str(report)


def test_ages() -> None:
    k = np.linspace(0.1, 4.0, 200)
    income = np.array([0.5, 1.5])
    given = bl.Problem(
        grid=k, wealth=1.07 * k[:, None] + income, transition=np.array([[0.8, 0.2], [0.2, 0.8]]),
        start=np.zeros((200, 2)), beta=0.97, eta=2.0, horizon=4, marginal_wealth=np.full((200, 2), 1.07),
    )  # fmt: skip
    result = bl.solve(given, device="cpu", progress=False)
    errors = bl.euler_errors(result)
    assert errors.shape == (3, 200, 2)
    for age in range(3):
        for x, s in ((50, 0), (120, 1), (199, 0)):
            to = result.policy[age, x, s]
            c, following = given.wealth[x, s] - k[to], given.wealth[to] - k[result.policy[age + 1, to]]
            wanted = (0.97 * 1.07 * given.transition[s] @ following**-2.0) ** -0.5
            assert errors[age, x, s] == pytest.approx(1 - wanted / c, abs=1e-13)


def test_logarithm_of_nothing() -> None:
    np.testing.assert_array_equal(log10_errors(np.array([0.0, -0.01, 10.0])), [np.log10(SMALLEST), -2, 1])
    assert math.isnan(float(log10_errors(np.array(np.nan))))
    empty = summary(np.full(3, np.nan))
    assert (empty.states, empty.binding) == (0, 3)
    assert math.isnan(empty.mean)


def test_bad_input() -> None:
    result = bl.solve(problem(16, 2), tol=1e-3, device="cpu", progress=False)
    for given, sentence in (
        ("r", "result must be a Result or a Refined, not 'r'"),
        (result, "an Euler equation error needs the problem's marginal_wealth, dW/dx, which it does not have"),
    ):
        with pytest.raises(bl.ProblemError, match="^" + re.escape(sentence) + "$"):
            bl.euler_errors(given)  # type: ignore[arg-type]


def test_unsolved_result_is_reported() -> None:
    result = bl.solve(bl.rbc(grid=64), tol=1e-8, max_sweeps=3, device="cpu", progress=False)
    sentence = "an Euler equation error of a result that is not solved: sweep limit reached"
    with pytest.warns(UserWarning, match="^" + sentence + "$") as reported:
        report = bl.euler_report(result)
    assert len(reported) == 1
    assert str(report).splitlines()[0].endswith("(sweep limit reached)")


def numbers(line: str) -> list[float]:
    return [float(text.replace(",", "")) for text in re.findall(r"-?[0-9][0-9.,]*", line)]


def test_documented_table_is_the_programs(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "economics.md").read_text()
    # Refined choices have a separate table below.
    lines = page.partition("## Choices between grid points")[0].splitlines()
    documented = {row[0]: row for line in lines if line.startswith("|") and len(row := numbers(line)) > 7}
    assert len(documented) == 13
    assert table(["--grids", "16", "64", "1024"]) == 0
    printed, differences = capsys.readouterr().out.split("\n\n")
    (said,) = (line for line in page.splitlines() if line.lstrip().startswith("| 16 points |"))
    np.testing.assert_allclose(numbers(said), numbers(differences.replace("log10", "")), atol=0.06)
    for line in printed.splitlines()[2:]:
        row = numbers(line)
        # Rounding on another computer may decide near ties of the policy the other way, and change the paths.
        np.testing.assert_allclose(row, documented[row[0]], atol=0.05)
