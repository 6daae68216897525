"""Results: files and printed reports."""

from __future__ import annotations

import os
import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import beltline as bl
from beltline.host.plots.result_plot import plot
from support.fakes import BruteDevice, problem


@pytest.fixture(scope="module")
def result() -> bl.Result:
    return bl.solve(bl.rbc(grid=32), tol=1e-4, device=BruteDevice())


def same(a: bl.Result, b: bl.Result) -> None:
    for name in ("value", "policy", "choice"):
        left, right = getattr(a, name), getattr(b, name)
        assert left.dtype == right.dtype
        assert (left == right).all()
    assert str(a) == str(b)
    for field in fields(bl.Result):
        if field.name not in ("value", "policy", "problem"):
            assert getattr(a, field.name) == getattr(b, field.name)
            assert type(getattr(a, field.name)) is type(getattr(b, field.name))
    for field in fields(bl.Problem):
        left, right = getattr(a.problem, field.name), getattr(b.problem, field.name)
        if isinstance(left, np.ndarray):
            np.testing.assert_array_equal(left, right, strict=True)
        else:
            assert left == right


@pytest.mark.parametrize("suffix", ["npz", "nc"])
def test_round_trip(result: bl.Result, tmp_path: Path, suffix: str) -> None:
    path = result.save(tmp_path / f"a.{suffix}")
    same(bl.load(path), result)
    same(result, bl.load(path))
    assert os.listdir(tmp_path) == [f"a.{suffix}"]


@pytest.mark.parametrize("suffix", ["npz", "nc", "NC"])
def test_round_trip_of_a_horizon_and_of_infinities(tmp_path: Path, suffix: str) -> None:
    given = problem(10, 2, horizon=3, labels=("low", "high"), asset="wealth", name="life")
    finished = bl.solve(given, device=BruteDevice(results=60))
    same(bl.load(finished.save(tmp_path / f"a.{suffix}")), finished)
    object.__setattr__(finished, "error_bound", float("inf"))
    same(bl.load(str(finished.save(str(tmp_path / f"a.{suffix}")))), finished)


def test_file_is_readable_without_this_package(result: bl.Result, tmp_path: Path) -> None:
    with np.load(result.save(tmp_path / "a.npz")) as file:
        tables = {"grid", "wealth", "transition", "start", "marginal_wealth", "output", "shock_values"}
        assert set(file) == {"about", "checksum", "value", "policy", "choice"} | tables
        assert (file["choice"] == file["grid"][file["policy"]]).all()


def test_permissions_are_the_users(result: bl.Result, tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        assert result.save(tmp_path / "a.npz").stat().st_mode & 0o777 == 0o640
    finally:
        os.umask(old)


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("a.txt", "out must end in .npz or .nc, not '{}/a.txt'"),
        ("a", "out must end in .npz or .nc, not '{}/a'"),
        ("no/a.npz", "out '{}/no/a.npz' is in a directory that does not exist"),
        ("d.npz", "out '{}/d.npz' is a directory"),
    ],
)
def test_bad_targets(result: bl.Result, tmp_path: Path, path: str, sentence: str) -> None:
    (tmp_path / "d.npz").mkdir()
    with pytest.raises(bl.ProblemError, match="^" + re.escape(sentence.format(tmp_path)) + "$"):
        result.save(tmp_path / path)
    assert os.listdir(tmp_path) == ["d.npz"]


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
def test_plot_is_written(result: bl.Result, tmp_path: Path, suffix: str) -> None:
    result.plot(tmp_path / f"a.{suffix}")
    assert (tmp_path / f"a.{suffix}").stat().st_size > 5000
    assert os.listdir(tmp_path) == [f"a.{suffix}"]


def test_plot_says_what_it_shows(result: bl.Result, tmp_path: Path) -> None:
    figure = plot(result, tmp_path / "a.png")
    left, right = figure.axes
    assert left.get_ylabel() == "V(x, s), units of utility"
    assert left.get_xlabel() == right.get_xlabel() == "capital k, units of the good"
    assert right.get_ylabel() == "x' - x, units of the good"
    lines = {line.get_label(): line for line in right.get_lines()}
    assert list(lines) == [*result.problem.labels, "x' = x"]
    for s, label in enumerate(result.problem.labels):
        expected = result.problem.grid[result.policy[:, s]] - result.problem.grid
        assert np.array_equal(np.asarray(lines[label].get_ydata()), expected)
        assert np.array_equal(np.asarray(left.get_lines()[s].get_ydata()), result.value[:, s])
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == list(lines)


@pytest.fixture(scope="module")
def moving() -> bl.Result:
    """Return a result on a small grid, with so much depreciation that its long run does not depend on the start."""
    given = bl.rbc(grid=120, states=3, delta=0.9, sigma=0.2, rho=0.5, width=1.5)
    return bl.solve(given, tol=1e-7, device="cpu", progress=False)


def test_consumption_plot_is_the_consumption_function(moving: bl.Result, tmp_path: Path) -> None:
    figure = plot(moving, tmp_path / "a.png", "consumption")
    (axes,) = figure.axes
    assert axes.get_xlabel() == "cash on hand, units of the good"
    assert axes.get_ylabel() == "consumption, units of the good"
    assert figure.get_suptitle() == "RBC: 120 grid points, 3 states"
    lines = axes.get_lines()
    assert len(lines) == 3
    for s, line in enumerate(lines):
        cash, spent = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
        np.testing.assert_array_equal(cash, moving.problem.wealth[:, s])
        np.testing.assert_allclose(cash - spent, moving.problem.grid[moving.policy[:, s]])
        assert (spent > 0).all()
    ages = bl.solve(problem(16, 2, horizon=2), device=BruteDevice(results=64))
    (drawn,) = plot(ages, tmp_path / "b.png", "consumption").axes
    np.testing.assert_allclose(
        np.asarray(drawn.get_lines()[1].get_ydata()), ages.problem.wealth[:, 1] - ages.choice[0, :, 1]
    )


def test_euler_plot_says_what_it_shows(moving: bl.Result, tmp_path: Path) -> None:
    figure = plot(moving, tmp_path / "a.png", "euler")
    (axes,) = figure.axes
    assert axes.get_xlabel() == "capital k, units of the good"
    assert axes.get_ylabel() == "log10 |Euler equation error|, share of consumption"
    assert figure.get_suptitle() == "Euler equation errors, RBC: 120 grid points, 3 states"
    errors = np.log10(np.abs(bl.euler_errors(moving)))
    drawn = [np.asarray(line.get_ydata()) for line in axes.get_lines()]
    for s in range(3):
        np.testing.assert_array_equal(drawn[2 * s], errors[:, s])
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts == [*moving.problem.labels, f"mean {np.nanmean(errors):.2f}"]


def test_distribution_plot_is_a_density(moving: bl.Result, tmp_path: Path) -> None:
    figure = plot(moving, tmp_path / "a.png", "distribution")
    (axes,) = figure.axes
    assert axes.get_ylabel() == "density, per unit of the good"
    everybody, *states = (patch.get_data() for patch in axes.patches)
    width = np.diff(everybody.edges)
    assert (everybody.values * width).sum() == pytest.approx(1)
    mass = bl.stationary_distribution(moving)
    for s, each in enumerate(states):
        assert (each.values * width).sum() == pytest.approx(mass[:, s].sum())


def test_irf_plot_says_what_it_shows(moving: bl.Result, tmp_path: Path) -> None:
    figure = plot(moving, tmp_path / "a.png", "irf")
    (axes,) = figure.axes
    assert axes.get_xlabel() == "periods after the impulse"
    assert axes.get_ylabel() == "percent of the baseline"
    response = bl.impulse_response(moving)
    assert figure.get_suptitle() == response.title
    for name, line in zip(response.names, axes.get_lines(), strict=False):
        assert line.get_label() == name
        np.testing.assert_array_equal(np.asarray(line.get_ydata()), response.percent(name))
