"""Results of discrete problems in files, as figures and as labelled arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.host.problem.checks import ProblemError
from beltline.host.results import archive
from support.discrete import storage


def savings(points: int = 30) -> Any:
    assets, income = np.linspace(0.0, 5.0, points), np.array([0.6, 1.4])

    def consumption(k: Any, z: Any, a: Any) -> Any:
        return 1.02 * assets[k] + income[z] - assets[a]

    return bl.from_factors(
        points, [[0.8, 0.2], [0.2, 0.8]], beta=0.9, reward=lambda k, z, a: np.log(consumption(k, z, a)),
        feasible=lambda k, z, a: consumption(k, z, a) > 0, name="savings",
    )  # fmt: skip


def shaken(**more: Any) -> Any:
    """Return the storage problem without an action in the highest state, to which storing most may lead."""
    R, Q, beta = storage()
    R[-1] = -np.inf
    return bl.from_discrete_dp(R, Q, beta, **more)


PROBLEMS = {
    "storage": lambda: bl.from_discrete_dp(*storage()),
    "savings": savings,
    "ages": lambda: shaken(horizon=3, start=np.arange(16.0)),
    "lost": shaken,
}


@pytest.fixture(scope="module", params=PROBLEMS)
def result(request: pytest.FixtureRequest) -> bl.Result:
    solved: bl.Result = bl.solve(PROBLEMS[request.param]())
    assert solved.success
    return solved


def test_loaded_results_equal_saved_ones(result: bl.Result, tmp_path: Path) -> None:
    found = bl.load(result.save(tmp_path / "a.npz"))
    assert isinstance(found, bl.Result)
    assert str(found) == str(result)
    for name in ("value", "policy", "success", "status", "sweeps", "residual", "error_bound", "verified", "timing"):
        np.testing.assert_equal(getattr(found, name), getattr(result, name))
    assert found.problem.shape == result.problem.shape
    ours, theirs = found.problem.program, result.problem.program
    np.testing.assert_equal(
        (found.problem.horizon, found.problem.start), (result.problem.horizon, result.problem.start)
    )
    for name in ("reward", "first", "lottery", "action", "order", "begin", "lost"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
        assert getattr(ours, name).dtype == getattr(theirs, name).dtype
    assert (ours.chances != theirs.chances).nnz == 0
    again = bl.solve(found.problem)
    np.testing.assert_array_equal(again.value, result.value)
    np.testing.assert_array_equal(again.policy, result.policy)


def changed(path: Path, **arrays: Any) -> Path:
    """Write a copy of a file with other arrays and a matching checksum."""
    with np.load(path) as file:
        members = {name: file[name] for name in file.files if name != "checksum"} | arrays
    members["checksum"] = np.array(archive.checksum(members))
    target = path.with_name("changed.npz")
    np.savez(target, **members)
    return target


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a value": ({"value": np.nan}, r"value must be finite, but value\[0\] is nan"),
    "a policy": ({"policy": 77}, r"state 0 has no action 77, which its policy chooses"),
    "a reward": ({"reward": np.inf}, "rewards and probabilities must be finite"),
    "a chance": ({"chance": -0.5}, "probability"),
    "a row": ({"chance": 0.9}, "row 0 of the probabilities"),
    "a next state": ({"next_state": 99}, r"choices are from 0 to 15, but next_state\[0\] is 99"),
    "a lottery": ({"lottery": 50}, r"lottery\[0\] is 50"),
    "an end": ({"first": 1}, "array 'first' must be strictly increasing from 0"),
    "a group": ({"group": 5}, "states of different groups must not share a row of probabilities"),
}


@pytest.mark.parametrize("lost", [[0], [14]])
def test_states_without_a_value_have_no_other_action(lost: list[int], tmp_path: Path) -> None:
    path = bl.solve(PROBLEMS["lost"]()).save(tmp_path / "a.npz")
    with pytest.raises(ProblemError, match="array 'lost' must have the states that have no action but to stay"):
        bl.load(changed(path, lost=np.array(lost)))


@pytest.mark.parametrize("what", WRONG)
def test_a_file_that_cannot_be_is_refused(what: str, tmp_path: Path) -> None:
    first, said = WRONG[what]
    path = bl.solve(PROBLEMS["storage"]()).save(tmp_path / "a.npz")
    with np.load(path) as file:
        arrays = {name: file[name].copy() for name in first}
    for name, wrong in first.items():
        arrays[name][0] = wrong
    with pytest.raises(ProblemError, match=said):
        bl.load(changed(path, **arrays))


def test_where_a_file_cannot_be_written_nothing_is_left(result: bl.Result, tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match=r"out must end in \.npz, not 'a\.nc'"):
        result.save("a.nc")
    with pytest.raises(ProblemError, match="in a directory that does not exist"):
        result.save(tmp_path / "none" / "a.npz")
    assert list(tmp_path.iterdir()) == []


def test_a_figure_has_a_line_for_each_exogenous_state(result: bl.Result, tmp_path: Path) -> None:
    figure = result.plot(tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 10_000
    states = 1 if len(result.problem.shape) == 1 else 2
    value, policy = figure.axes
    assert len(value.lines) == len(policy.lines) == states
    assert len(figure.legends) == (0 if states == 1 else 1)
    first = result.policy if result.problem.horizon is None else result.policy[0]
    drawn = np.ma.filled(policy.lines[0].get_ydata(), -1)
    np.testing.assert_array_equal(drawn, first.reshape(-1, states)[:, 0])
    with pytest.raises(ProblemError, match="kind must be one of 'policy', not 'irf'"):
        result.plot(kind="irf")


def test_labelled_arrays(result: bl.Result) -> None:
    found = result.to_xarray()
    states = ("state",) if len(result.problem.shape) == 1 else ("endogenous", "exogenous")
    assert found.value.dims == (states if result.problem.horizon is None else ("age", *states))
    np.testing.assert_array_equal(found.policy, result.policy)
    assert (found.attrs["success"], found.attrs["status"]) == (1, result.status)
    assert found.value.attrs["units"] == "utility"
