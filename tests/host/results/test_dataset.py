"""Results as labelled arrays."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray

import beltline as bl
from support.fakes import problem


@pytest.fixture(scope="module")
def result() -> bl.Result:
    return bl.solve(bl.rbc(grid=64), tol=1e-6, device="cpu", progress=False)


def test_everything_has_a_name_and_units(result: bl.Result) -> None:
    dataset, given = result.to_xarray(), result.problem
    assert dict(dataset.sizes) == {"capital": 64, "state": 4, "next_state": 4}
    np.testing.assert_array_equal(dataset["capital"], given.grid)
    assert dataset["state"].to_numpy().tolist() == list(given.labels)
    np.testing.assert_array_equal(dataset["productivity"], given.shock_values)
    for name, dimensions in {
        "value": ("capital", "state"),
        "policy": ("capital", "state"),
        "choice": ("capital", "state"),
        "wealth": ("capital", "state"),
        "start": ("capital", "state"),
        "marginal_wealth": ("capital", "state"),
        "output": ("capital", "state"),
        "transition": ("state", "next_state"),
    }.items():
        variable = dataset[name]
        assert variable.dims == dimensions
        assert variable.attrs["long_name"]
        assert variable.attrs["units"]
        owner = result if hasattr(result, name) else given
        np.testing.assert_array_equal(variable, getattr(owner, name))
    assert dataset["value"].attrs["units"] == "utility"
    assert dataset["capital"].attrs == {"long_name": "capital k", "units": "units of the good"}
    for name in ("beta", "eta", "status", "message", "sweeps", "residual", "error_bound", "tol", "device", "method"):
        owner = result if hasattr(result, name) else given
        assert dataset.attrs[name] == getattr(owner, name)
    assert (dataset.attrs["alpha"], dataset.attrs["success"]) == (0.35, 1)
    assert dataset.attrs["seconds_solve"] == result.timing["solve"]


def test_labels_find_their_states(result: bl.Result) -> None:
    dataset = result.to_xarray()
    best = dataset["choice"].sel(state=result.problem.labels[2]).sel(capital=55, method="nearest")
    x = np.abs(result.problem.grid - 55).argmin()
    assert float(best) == result.choice[x, 2]


def test_dataset_is_a_copy(result: bl.Result) -> None:
    before = result.value.copy()
    dataset = result.to_xarray()
    dataset["value"][:] = 0
    dataset["policy"][:] = 0
    np.testing.assert_array_equal(result.value, before)
    assert result.policy.max() > 0


def test_age_comes_first() -> None:
    life = bl.solve(problem(10, 2, horizon=3, asset="wealth w"), device="cpu", progress=False)
    dataset = life.to_xarray()
    # "wealth" is the name of the table W.
    assert dataset["value"].dims == ("age", "x", "state")
    assert dataset["age"].to_numpy().tolist() == [1, 2, 3]
    assert dataset["state"].to_numpy().tolist() == [0, 1]
    assert dataset.attrs["horizon"] == 3
    np.testing.assert_array_equal(dataset["value"].sel(age=2), life.value[1])


def test_ages_of_a_run_that_was_stopped() -> None:
    life = bl.solve(problem(10, 2, horizon=3), device="cpu", progress=False)
    stopped = replace(life, value=life.value[1:], policy=life.policy[1:], success=False, status="stopped")
    assert stopped.to_xarray()["age"].to_numpy().tolist() == [2, 3]


@pytest.mark.parametrize(
    ("asset", "shock", "names"),
    [
        ("capital k", "productivity z", ("capital", "productivity")),
        ("x", "s", ("x", "s")),
        ("Liquid wealth (a)", "labour/income", ("liquid_wealth", "labour_income")),
        ("value", "state", ("x", "s")),
        ("", "2 things", ("x", "s")),
        ("same", "same", ("same", "shock")),
    ],
)
def test_names(asset: str, shock: str, names: tuple[str, str], tmp_path: Path) -> None:
    given = problem(8, 2, asset=asset, shock=shock, shock_values=[1.0, 2.0])
    assert (given.asset_name, given.shock_name) == names
    result = bl.solve(given, tol=1e-3, device="cpu", progress=False)
    back = bl.load(result.save(tmp_path / "a.nc")).problem
    np.testing.assert_array_equal(back.grid, given.grid)
    assert back.shock_values is not None
    assert back.shock_values.tolist() == [1.0, 2.0]


def test_dataset_that_the_user_wrote_is_a_saved_result(result: bl.Result, tmp_path: Path) -> None:
    result.to_xarray().to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    assert str(bl.load(tmp_path / "a.nc")) == str(result)


def test_netcdf_is_readable_without_this_package(result: bl.Result, tmp_path: Path) -> None:
    with xarray.open_dataset(result.save(tmp_path / "a.nc"), engine="h5netcdf") as dataset:
        xarray.testing.assert_identical(dataset.load(), result.to_xarray())


@pytest.mark.parametrize("package", ["xarray", "h5netcdf", "h5py"])
def test_missing_package(result: bl.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    saved = result.save(tmp_path / "a.nc")
    monkeypatch.setitem(sys.modules, package, None)
    how = "install it, in the folder of Beltline's source, with: pip install '.[xarray]'"
    end = f" needs the Python package {package}, which is not installed; {how}"
    for call in (lambda: result.save(tmp_path / "b.nc"), lambda: bl.load(saved)):
        with pytest.raises(bl.ProblemError, match="^" + re.escape("a netCDF file" + end) + "$"):
            call()
    if package == "xarray":
        with pytest.raises(bl.ProblemError, match="^" + re.escape("a labelled dataset" + end) + "$"):
            result.to_xarray()
    assert [path.name for path in tmp_path.iterdir()] == ["a.nc"]
