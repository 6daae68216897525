"""Results on disk and on paper."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest
from host_fakes import BruteDevice, problem

import beltline as bl
from host.plot import plot


@pytest.fixture(scope="module")
def result() -> bl.Result:
    return bl.solve(bl.rbc(grid=32), tol=1e-4, device=BruteDevice())


def same(a: bl.Result, b: bl.Result) -> None:
    for name in ("value", "policy", "policy_values"):
        left, right = getattr(a, name), getattr(b, name)
        assert left.dtype == right.dtype
        assert (left == right).all()
    for name in ("grid", "wealth", "transition", "start"):
        assert (getattr(a.problem, name) == getattr(b.problem, name)).all()
    for name in ("beta", "eta", "horizon", "name", "asset", "labels"):
        assert getattr(a.problem, name) == getattr(b.problem, name)
    assert str(a) == str(b)
    assert (a.success, a.status, a.build_hash) == (b.success, b.status, b.build_hash)


def test_round_trip(result: bl.Result, tmp_path: Path) -> None:
    path = result.save(tmp_path / "a.npz")
    same(bl.load(path), result)
    assert os.listdir(tmp_path) == ["a.npz"]


def test_round_trip_of_a_horizon_and_of_infinities(tmp_path: Path) -> None:
    given = problem(10, 2, horizon=3, labels=("low", "high"), asset="wealth", name="life")
    finished = bl.solve(given, device=BruteDevice(results=60))
    same(bl.load(finished.save(tmp_path / "a.npz")), finished)
    object.__setattr__(finished, "error_bound", float("inf"))
    same(bl.load(str(finished.save(str(tmp_path / "a.npz")))), finished)


def test_file_is_readable_without_this_package(result: bl.Result, tmp_path: Path) -> None:
    with np.load(result.save(tmp_path / "a.npz")) as file:
        assert set(file) == {"about", "value", "policy", "policy_values", "grid", "wealth", "transition", "start"}
        assert (file["policy_values"] == file["grid"][file["policy"]]).all()


def test_permissions_are_the_users(result: bl.Result, tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        assert result.save(tmp_path / "a.npz").stat().st_mode & 0o777 == 0o640
    finally:
        os.umask(old)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_failed_save_leaves_the_old_file(
    result: bl.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    path = tmp_path / "a.npz"
    path.write_text("old")

    def half(file: Path, **_: object) -> None:
        Path(file).write_text("half")
        raise error

    monkeypatch.setattr(np, "savez_compressed", half)
    with pytest.raises(error):
        result.save(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.npz"]


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("a.txt", "out must end in .npz, not '{}/a.txt'"),
        ("a", "out must end in .npz, not '{}/a'"),
        ("no/a.npz", "out '{}/no/a.npz' is in a directory that does not exist"),
        ("d.npz", "out '{}/d.npz' is a directory"),
    ],
)
def test_bad_targets(result: bl.Result, tmp_path: Path, path: str, sentence: str) -> None:
    (tmp_path / "d.npz").mkdir()
    with pytest.raises(bl.ProblemError, match="^" + re.escape(sentence.format(tmp_path)) + "$"):
        result.save(tmp_path / path)
    assert os.listdir(tmp_path) == ["d.npz"]


def test_no_file_name(result: bl.Result) -> None:
    with pytest.raises(bl.ProblemError, match=r"^out must be a file name, not 3$"):
        result.save(3)  # type: ignore[arg-type]


def test_load_of_something_else(result: bl.Result, tmp_path: Path) -> None:
    text, other = tmp_path / "text.npz", tmp_path / "other.npz"
    text.write_text("hello")
    np.savez(other, value=np.zeros(3))
    cut = tmp_path / "cut.npz"
    cut.write_bytes(result.save(tmp_path / "a.npz").read_bytes()[:-200])
    empty = tmp_path / "empty.npz"
    empty.touch()
    for path in (text, other, cut, empty):
        with pytest.raises(bl.ProblemError, match=r"is not a file that a result was saved to$"):
            bl.load(path)
    with pytest.raises(FileNotFoundError):
        bl.load(tmp_path / "none.npz")


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


def test_plot_of_many_states_and_of_a_horizon(tmp_path: Path) -> None:
    many = bl.solve(problem(16, 12), tol=1e-3, max_sweeps=2, device=BruteDevice(16, 12))
    figure = plot(many, tmp_path / "a.png")
    assert "sweep limit reached" in figure.get_suptitle()
    assert len(figure.legends[0].get_texts()) == 9
    ages = bl.solve(problem(16, 2, horizon=2), device=BruteDevice(results=64))
    assert "first of 2 ages" in plot(ages, tmp_path / "a.png").get_suptitle()


def test_bad_plot_targets(result: bl.Result, tmp_path: Path) -> None:
    with pytest.raises(bl.ProblemError, match=r"^plot must end in \.png or \.pdf or \.svg, not 'a\.npz'$"):
        result.plot("a.npz")
