"""Results as labelled arrays (xarray)."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.checks import ProblemError, missing_package
from beltline.host.problem.discrete import DiscreteProblem
from beltline.host.problem.problem import Problem
from beltline.host.results.archive import checksum, describe
from beltline.host.results.record import KIND, arrays_of, facts_of
from beltline.host.results.result import Result

if TYPE_CHECKING:
    from xarray import Dataset


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
            raise ProblemError(missing_package(what, package, "xarray")) from None


_AMOUNT, _ASSET = "amount", "asset"
"""Placeholders for the units of the good and of the asset in the tables below."""

_TABLES = {
    "wealth": ("cash on hand", _AMOUNT),
    "cost": ("cost of ending the period with each choice", _AMOUNT),
    "low": ("lowest index of the choice", "1"),
    "high": ("highest index of the choice", "1"),
    "choice": ("index of the only choice", "1"),
    "transition": ("probability of the next state", "1"),
    "start": ("first guess of the value, or the value after the last age", "utility"),
    "beta": ("discount factor", "1"),
    "kappa": ("utility from taking the alternative", "utility"),
    "value": ("value that replaces a choice", "utility"),
    "marginal_wealth": ("marginal cash on hand of the asset, dW/dx", "1"),
    "output": ("output of the period", _AMOUNT),
    "prices": ("prices that update returned last", "1"),
}
_ANSWERS = {
    "value": ("value", "utility"),
    "policy": ("index of the best {asset} of the next period, from 0", "1"),
    "alternative": ("number of the best alternative, from 0", "1"),
    "choice": ("best {asset} of the next period", _ASSET),
    "values": ("value of each alternative", "utility"),
    "policies": ("index of the best {asset} of the next period under each alternative, from 0", "1"),
    "probabilities": ("probability of the alternative in its regime", "1"),
}
"""Description and unit of each table of a problem or an alternative, and of each array of a result."""

OF_DEVICE = (
    "change",
    "evaluations",
    "searched",
    "price_change",
    "clocks",
    "clocks_source",
    "amount_bits",
    "value_bits",
)
"""Attributes that only some devices have; those without a value are left out."""


def to_xarray(result: Result) -> Dataset:
    """Return ``result`` as an ``xarray.Dataset``; the method ``Result.to_xarray`` calls this."""
    check_xarray()
    import xarray

    problem = result.problem
    if isinstance(problem, DiscreteProblem):
        return _of_discrete(result)
    asset, coordinates = problem.asset_name, axes(problem)
    units = {_AMOUNT: unit(problem), _ASSET: asset_unit(problem)}
    aged: tuple[str, ...] = ()
    if problem.horizon is not None:
        # A solve that was stopped has reached only the last ages.
        first = problem.horizon - result.value.shape[0] + 1
        aged, coordinates["age"] = ("age",), ages(first, problem.horizon)
    solved = (*aged, asset, "state")
    if len(result.regimes) > 1:
        solved = (*aged, "regime", asset, "state")
        coordinates["regime"] = ("regime", np.array(result.regimes), {"long_name": "regime"})
    if result.alternative is not None:
        coordinates["by_alternative"] = ("by_alternative", np.array(result.alternatives), {"long_name": "alternative"})
    facts, arrays = facts_of(result), arrays_of(result)
    sizes = {axis: len(values) for axis, (of, values, *_) in coordinates.items() if axis == of}
    data: dict[str, Any] = {}
    for name, table in arrays.items():
        if name in _ANSWERS:
            (what, measure), dimensions = _ANSWERS[name], solved
            if name in ("values", "policies", "probabilities"):
                dimensions = (*aged, "by_alternative", asset, "state")
        elif name in ("grid", "shock_values"):
            continue
        else:
            owner, _, plain = name.partition("_") if name.startswith("alternative") else ("", "", name)
            what, measure = _TABLES[plain]
            if owner:
                what = f"{what} of alternative {result.alternatives[int(owner.removeprefix('alternative'))]}"
            dimensions = _dimensions(name, plain, table.shape, asset, sizes)
        about = {"long_name": what.format(asset=problem.asset), "units": units.get(measure, measure)}
        data[name] = (dimensions, table.copy(), about)
    return xarray.Dataset(data, coordinates, attributes(result, facts, arrays))


def _of_discrete(result: Result) -> Dataset:
    import xarray

    problem = result.problem
    names: tuple[str, ...] = ("state",) if len(problem.shape) == 1 else ("endogenous", "exogenous")
    coordinates: dict[str, Any] = {
        axis: (axis, np.arange(size), {"long_name": axis if axis == "state" else f"{axis} state"})
        for axis, size in zip(names, problem.shape, strict=True)
    }
    known = {"beta": problem.beta}
    if problem.horizon is not None:
        names, coordinates["age"], known["horizon"] = ("age", *names), ages(1, problem.horizon), problem.horizon
    data = {
        "value": (names, result.value.copy(), {"long_name": "value", "units": "utility"}),
        "policy": (names, result.policy.copy(), {"long_name": "best action, by its number", "units": "1"}),
    }
    return xarray.Dataset(data, coordinates, _run(result) | known)


def _dimensions(name: str, plain: str, shape: tuple[int, ...], asset: str, sizes: dict[str, int]) -> tuple[str, ...]:
    """Return the names of a table's axes; axes of other sizes, such as those of prices, get names of their own."""
    last = {"transition": ("state", "next_state"), "beta": ("state",), "kappa": ("state",)}.get(plain, (asset, "state"))
    found = ("regime" if plain == "start" else "age", *last)[-len(shape) :] if shape else ()
    if len(shape) == 1 and len(last) == 2:
        found = (asset,)
    if shape == tuple(sizes.get(axis) for axis in found):
        return found
    return tuple(f"{name}_{k}" for k in range(len(shape)))


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


def attributes(result: Result, facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return everything that is known about a run as numbers and texts, as netCDF has no booleans and no null.

    Parameters
    ----------
    result
        The result.
    facts, arrays
        The content of a file of the result, from which ``about`` and ``checksum`` are made.
    """
    problem = result.problem
    found = {"title": f"{problem.name}: value and policy", "source": "Beltline", "eta": problem.eta}
    found |= {name: value for name, value in problem.parameters.items() if name.isidentifier()}
    if problem.horizon is not None:
        found["horizon"] = problem.horizon
    if isinstance(problem.beta, float):
        found["beta"] = problem.beta
    if problem.general:
        found |= {"taste": problem.taste, "negative": int(problem.negative)}
    found |= _run(result)
    about = describe(KIND, facts)
    found["about"] = about
    found["checksum"] = checksum({**arrays, "about": np.array(about)})
    return found


def _run(result: Result) -> dict[str, Any]:
    """Return what is known about the solve of any problem."""
    found: dict[str, Any] = {"name": result.problem.name}
    found |= {name: int(getattr(result, name)) for name in ("success", "verified")}
    for name in ("status", "message", "sweeps", "residual", "error_bound", "tol", "device", "method"):
        found[name] = getattr(result, name)
    known = {name: getattr(result, name) for name in OF_DEVICE}
    found |= {name: value for name, value in known.items() if value and value == value}
    if result.build_hash:
        found["build_hash"] = f"{result.build_hash:#018x}"
    return found | {f"seconds_{name}": seconds for name, seconds in result.timing.items()}
