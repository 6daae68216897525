"""Results as labelled arrays (xarray)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from beltline.host.problem.checks import ProblemError
from beltline.host.results.archive import checksum, describe
from beltline.host.results.record import KIND, arrays_of, facts_of, tables
from beltline.host.results.result import Result

if TYPE_CHECKING:
    from xarray import Dataset

HOW = "install it, in the folder of Beltline's source, with: pip install '.[xarray]'"


def check_xarray(what: str = "a labelled dataset") -> None:
    """Check that xarray is installed.

    Raises
    ------
    ProblemError
        It is not.
    """
    _check(what, ("xarray",))


def check_netcdf() -> None:
    """Check that all is installed that netCDF files are read and written with.

    Raises
    ------
    ProblemError
        It is not.
    """
    _check("a netCDF file", ("xarray", "h5netcdf", "h5py"))


def _check(what: str, packages: tuple[str, ...]) -> None:
    for package in packages:
        try:
            importlib.import_module(package)
        except ImportError:
            raise ProblemError(f"{what} needs the Python package {package}, which is not installed; {HOW}") from None


def to_xarray(result: Result) -> Dataset:
    """Return ``result`` as an ``xarray.Dataset``; see :meth:`beltline.host.results.result.Result.to_xarray`."""
    check_xarray()
    import xarray

    problem = result.problem
    asset, shock = problem.asset_name, problem.shock_name
    # A problem that does not name its asset says nothing of units either.
    good = "1" if problem.asset == "x" else "units of the good"
    state = np.array(problem.labels) if problem.labels else np.arange(problem.states)
    coordinates: dict[str, Any] = {
        asset: (asset, problem.grid, {"long_name": problem.asset, "units": good}),
        "state": ("state", state, {"long_name": f"exogenous state ({problem.shock})"}),
        "next_state": ("next_state", state, {"long_name": f"exogenous state ({problem.shock}) of the next period"}),
    }
    if problem.shock_values is not None:
        coordinates[shock] = ("state", problem.shock_values, {"long_name": problem.shock, "units": "1"})
    here = (asset, "state")
    solved: tuple[str, ...] = here
    if problem.horizon is not None:
        solved = ("age", *here)
        # A run that was stopped has the last ages only.
        first = problem.horizon - result.value.shape[0] + 1
        ages = np.arange(first, problem.horizon + 1)
        coordinates["age"] = ("age", ages, {"long_name": "age, the last being the horizon", "units": "periods"})
    about_tables = {
        "wealth": (here, f"money on hand W({asset}, state)", good),
        "transition": (("state", "next_state"), "probability of the next state", "1"),
        "start": (here, "value after the last age" if problem.horizon else "first guess of the value", "utility"),
        "marginal_wealth": (here, f"what one more unit of {problem.asset} brings, dW/dx", "1"),
        "output": (here, "output of the period", good),
    }
    data: dict[str, Any] = {
        "value": (solved, result.value.copy(), {"long_name": f"value V({asset}, state)", "units": "utility"}),
        "policy": (
            solved,
            result.policy.copy(),
            {"long_name": f"index of the best {problem.asset} of the next period, from 0", "units": "1"},
        ),
        "policy_values": (
            solved,
            result.policy_values,
            {"long_name": f"best {problem.asset} of the next period", "units": good},
        ),
    }
    for name, array in tables(problem).items():
        if name in about_tables:
            dimensions, long_name, units = about_tables[name]
            data[name] = (dimensions, array, {"long_name": long_name, "units": units})
    return xarray.Dataset(data, coordinates, _attributes(result))


def _attributes(result: Result) -> dict[str, Any]:
    """All that is known about the run, as numbers and text: netCDF has no booleans, nor a word for nothing."""
    problem = result.problem
    attributes: dict[str, Any] = {
        "title": f"{problem.name}: value and policy",
        "source": "Beltline",
        "name": problem.name,
    }
    attributes |= {"beta": problem.beta, "eta": problem.eta}
    attributes |= {name: value for name, value in problem.parameters.items() if name.isidentifier()}
    if problem.horizon is not None:
        attributes["horizon"] = problem.horizon
    attributes["success"] = int(result.success)
    attributes["verified"] = int(result.verified)
    for name in ("status", "message", "sweeps", "change", "residual", "error_bound", "tol", "device", "method"):
        attributes[name] = getattr(result, name)
    for name in ("clocks", "clocks_source", "money_bits", "value_bits"):
        if getattr(result, name):
            attributes[name] = getattr(result, name)
    if result.build_hash:
        attributes["build_hash"] = f"{result.build_hash:#018x}"
    attributes |= {f"seconds_{name}": seconds for name, seconds in result.timing.items()}
    about = describe(KIND, facts_of(result))
    attributes["about"] = about
    attributes["checksum"] = checksum(arrays_of(result) | {"about": np.array(about)})
    return attributes
