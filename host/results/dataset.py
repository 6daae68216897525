"""Results as labelled arrays (xarray), and as netCDF files of them.

netCDF-4 by way of h5netcdf, which needs only h5py and not the netCDF C library: it keeps 64-bit integers, text and
compression, which netCDF-3 as SciPy writes it does not.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.checks import ProblemError
from beltline.host.problem.problem import names
from beltline.host.results.record import about, tables
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
    attributes["about"] = about(result)
    return attributes


def write(result: Result, path: Path) -> None:
    """Write ``result`` to ``path`` as netCDF-4, compressed."""
    dataset = to_xarray(result)
    packed = {name: {"zlib": True, "complevel": 4} for name in dataset.data_vars}
    dataset.to_netcdf(path, engine="h5netcdf", encoding=packed)


def read(path: Path) -> tuple[str, dict[str, NDArray[Any]]]:
    """Return what :func:`beltline.host.results.record.about` wrote and the arrays by name.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError, KeyError
        It is not one of those.
    """
    import xarray

    # The library's own error for a file of another kind cannot be told from one of the disk.
    with path.open("rb") as file:
        if file.read(4) != b"\x89HDF":
            raise ValueError("no netCDF-4 file")
    try:
        with xarray.open_dataset(path, engine="h5netcdf", decode_cf=False) as dataset:
            about = str(dataset.attrs["about"])
            arrays = {str(name): variable.to_numpy() for name, variable in dataset.variables.items()}
    except (OSError, RuntimeError) as error:
        raise ValueError("a damaged netCDF-4 file") from error
    problem = json.loads(about)["problem"]
    asset, shock = names(problem["asset"], problem["shock"])
    arrays["grid"] = arrays[asset]
    if shock in arrays:
        arrays["shock_values"] = arrays[shock]
    return about, arrays
