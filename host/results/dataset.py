"""Results of the simple form as labelled arrays (xarray), and what the other forms share with them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.checks import ProblemError
from beltline.host.problem.problem import Problem
from beltline.host.results.archive import checksum, describe
from beltline.host.results.general_result import GeneralResult
from beltline.host.results.record import KIND, arrays_of, facts_of, tables
from beltline.host.results.result import Result

if TYPE_CHECKING:
    from xarray import Dataset

HOW = "install it, in the folder of Beltline's source, with: pip install '.[xarray]'"


def check_xarray(what: str = "a labelled dataset") -> None:
    """Check that xarray is installed.

    Parameters
    ----------
    what
        What messages call the object that needs it.

    Raises
    ------
    ProblemError
        It is not installed.
    """
    _check(what, ("xarray",))


def check_netcdf() -> None:
    """Check that the packages that read and write netCDF files are installed.

    Raises
    ------
    ProblemError
        One of them is not.
    """
    _check("a netCDF file", ("xarray", "h5netcdf", "h5py"))


def _check(what: str, packages: tuple[str, ...]) -> None:
    for package in packages:
        try:
            importlib.import_module(package)
        except ImportError:
            raise ProblemError(f"{what} needs the Python package {package}, which is not installed; {HOW}") from None


def to_xarray(result: Result) -> Dataset:
    """Return ``result`` as an ``xarray.Dataset``; the method ``Result.to_xarray`` calls this."""
    check_xarray()
    import xarray

    problem = result.problem
    asset, good = problem.asset_name, unit(problem)
    coordinates = axes(problem)
    here = (asset, "state")
    solved: tuple[str, ...] = here
    if problem.horizon is not None:
        solved = ("age", *here)
        # A solve that was stopped has reached only the last ages.
        coordinates["age"] = ages(problem.horizon - result.value.shape[0] + 1, problem.horizon)
    about_tables = {
        "wealth": (here, f"cash on hand W({asset}, state)", good),
        "transition": (("state", "next_state"), "probability of the next state", "1"),
        "start": (here, "value after the last age" if problem.horizon else "first guess of the value", "utility"),
        "marginal_wealth": (here, f"marginal cash on hand of {problem.asset}, dW/dx", "1"),
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
    known = {name: getattr(result, name) for name in ("change", "clocks", "clocks_source", "amount_bits", "value_bits")}
    known = {name: value for name, value in known.items() if value or name == "change"} | {"beta": problem.beta}
    if result.build_hash:
        known["build_hash"] = f"{result.build_hash:#018x}"
    return xarray.Dataset(data, coordinates, attributes(result, known, KIND, facts_of(result), arrays_of(result)))


def unit(problem: Problem) -> str:
    """Return the unit of amounts of the good; "1" if the problem gives no name to its asset, and so no units."""
    return "1" if problem.asset == "x" else "units of the good"


def asset_unit(problem: Problem) -> str:
    """Return the unit of the asset: that of the good if saving ``x'`` costs ``x'``, and otherwise the asset's own."""
    if problem.cost is None and all(one.cost is None for one in problem.alternatives):
        return unit(problem)
    return "1" if problem.asset == "x" else f"units of {problem.asset}"


def axes(problem: Problem) -> dict[str, Any]:
    """Return the coordinates (asset, state and next state) of a problem's tables, in the form that xarray takes."""
    asset = problem.asset_name
    state = np.array(problem.labels) if problem.labels else np.arange(problem.states)
    coordinates: dict[str, Any] = {
        asset: (asset, problem.grid, {"long_name": problem.asset, "units": asset_unit(problem)}),
        "state": ("state", state, {"long_name": f"exogenous state ({problem.shock})"}),
        "next_state": ("next_state", state, {"long_name": f"exogenous state ({problem.shock}) of the next period"}),
    }
    if problem.shock_values is not None:
        about = {"long_name": problem.shock, "units": "1"}
        coordinates[problem.shock_name] = ("state", problem.shock_values, about)
    return coordinates


def ages(first: int, last: int) -> tuple[str, NDArray[np.int64], dict[str, str]]:
    """Return the coordinate ``age``, from ``first`` to ``last``."""
    return "age", np.arange(first, last + 1), {"long_name": "age, the last being the horizon", "units": "periods"}


def attributes(
    result: Result | GeneralResult, more: Mapping[str, Any], kind: str, facts: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
) -> dict[str, Any]:  # fmt: skip
    """Return everything that is known about a run as numbers and texts, as netCDF has no booleans and no null.

    Parameters
    ----------
    result
        A result of either form.
    more
        Attributes that only results of its form have.
    kind, facts, arrays
        The content of a file of the result, from which ``about`` and ``checksum`` are made.
    """
    problem = result.problem
    found: dict[str, Any] = {
        "title": f"{problem.name}: value and policy",
        "source": "Beltline",
        "name": problem.name,
        "eta": problem.eta,
    }
    found |= {name: value for name, value in problem.parameters.items() if name.isidentifier()}
    if problem.horizon is not None:
        found["horizon"] = problem.horizon
    found["success"] = int(result.success)
    found["verified"] = int(result.verified)
    for name in ("status", "message", "sweeps", "residual", "error_bound", "tol", "device", "method"):
        found[name] = getattr(result, name)
    found |= more
    found |= {f"seconds_{name}": seconds for name, seconds in result.timing.items()}
    about = describe(kind, facts)
    found["about"] = about
    found["checksum"] = checksum({**arrays, "about": np.array(about)})
    return found
