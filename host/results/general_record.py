"""Results of the general form to files and back, and as labelled arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.alternative import Alternative
from beltline.host.problem.checks import ProblemError, first, place, shown
from beltline.host.problem.problem import Problem
from beltline.host.results import archive
from beltline.host.results.archive import Archive, Table
from beltline.host.results.dataset import check_xarray
from beltline.host.results.facts import (
    ANY_NUMBER,
    COUNT,
    FLAG,
    LIST,
    MEASURE,
    PARTS,
    POSITIVE,
    SECONDS,
    TEXT,
    TEXTS,
    Rule,
    checked,
    one_of,
)
from beltline.host.results.files import check_target
from beltline.host.results.general_result import GeneralResult
from beltline.host.results.outcome import Outcome
from beltline.host.results.record import SOLVED

if TYPE_CHECKING:
    from xarray import Dataset

KIND = "general_result"
"""Of an archive."""

SUFFIXES = (".npz",)

RESULT: dict[str, Rule] = {
    "success": FLAG,
    "status": one_of(tuple(outcome.value for outcome in Outcome)),
    "message": TEXT,
    "sweeps": COUNT,
    "residual": ANY_NUMBER,
    "error_bound": ANY_NUMBER,
    "verified": FLAG,
    "tol": POSITIVE,
    "evaluations": COUNT,
    "searched": COUNT,
    "timing": SECONDS,
    "device": TEXT,
    "method": TEXT,
    "price_change": ANY_NUMBER,
}

# What these say, Problem checks.
_PROBLEM = {
    "eta": ANY_NUMBER,
    "taste": ANY_NUMBER,
    "negative": FLAG,
    "horizon": Rule("a whole number or nothing", lambda v: v is None or COUNT.holds(v)),
    "name": TEXT,
    "asset": TEXT,
    "labels": TEXTS,
    "shock": TEXT,
    "parameters": PARTS,
}
_ALTERNATIVE = {"name": TEXT, "regime": TEXT, "leads_to": Rule("text, probabilities or nothing", lambda _: True)}
_FACTS = {
    "result": PARTS,
    "problem": PARTS,
    "alternatives": LIST,
    "tables": Rule(
        "numbers of axes, 0 to 3, by name",
        lambda v: isinstance(v, dict) and all(COUNT.holds(axes) and axes <= 3 for axes in v.values()),
    ),
}
_NEEDED = ("grid", "wealth", "transition", "start", "beta")
_TABLES: tuple[str, ...] = (*_NEEDED, "cost", "low", "high", "marginal_wealth", "output", "shock_values")
_OF_ALTERNATIVE = ("wealth", "cost", "low", "high", "choice", "transition", "beta", "kappa", "value")
_ANSWERS = {"value": "regimes", "values": "alternatives", "policy": "alternatives", "choice": "regimes"}
_ANSWERS |= {"probabilities": "alternatives"}
_WHOLE = ("policy", "choice")


def save(result: GeneralResult, path: str | os.PathLike[str]) -> Path:
    """Write a result; :meth:`beltline.host.results.general_result.GeneralResult.save` is this."""
    target = check_target("out", path, SUFFIXES)
    facts, arrays = parts_of(result)
    archive.write(target, KIND, facts, arrays)
    return target


def parts_of(result: GeneralResult) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return everything of a result and its problem that is no array, and all arrays by name."""
    problem = result.problem
    tables = {name: getattr(problem, name) for name in _TABLES}
    for number, one in enumerate(problem.alternatives):
        tables |= {f"alternative{number}_{name}": getattr(one, name) for name in _OF_ALTERNATIVE}
    arrays = {name: np.asarray(table, np.float64) for name, table in tables.items() if table is not None}
    facts: dict[str, Any] = {
        "result": {name: getattr(result, name) for name in RESULT},
        "problem": {name: getattr(problem, name) for name in _PROBLEM} | {"parameters": dict(problem.parameters)},
        "alternatives": [
            {"name": one.name, "regime": one.regime, "leads_to": one.chances() if one.value is None else None}
            for one in problem.alternatives
        ],
        "tables": {name: array.ndim for name, array in arrays.items()},
    }
    answers = {name: getattr(result, name) for name in _ANSWERS}
    if result.prices is not None:
        facts["tables"]["prices"] = result.prices.ndim
        answers["prices"] = result.prices
    return facts, arrays | answers


def read(file: Archive) -> GeneralResult:
    """Return the result that an archive holds.

    Raises
    ------
    ProblemError
        It is not one that :func:`save` wrote.
    """
    return restored(file.facts, file)


def restored(given: object, file: Archive) -> GeneralResult:
    """Return the result of the facts and arrays that :func:`parts_of` returned, read from an archive.

    Raises
    ------
    ProblemError
        They are not such.
    """
    facts = checked("its description", given, _FACTS)
    known = checked("its result", facts["result"], RESULT)
    checked("its problem", facts["problem"], _PROBLEM)
    for one in facts["alternatives"]:
        checked("an alternative", one, _ALTERNATIVE)
    if known["success"] and not (known["status"] in SOLVED and MEASURE.holds(known["error_bound"])):
        raise ProblemError(f"success of its result must be false with status {known['status']!r}, not true")
    arrays = file.arrays(_schema(facts))
    problem = _problem(facts, arrays)
    answers = {name: arrays[name] for name in _ANSWERS}
    _check_answers(problem, answers, known["success"])
    known |= answers
    return GeneralResult(**known, problem=problem, prices=arrays.get("prices"))


def _names(facts: Mapping[str, Any]) -> list[str]:
    """Every array that the problem may have."""
    numbered = range(len(facts["alternatives"]))
    return [*_TABLES, *(f"alternative{k}_{name}" for k in numbered for name in _OF_ALTERNATIVE)]


def _schema(facts: Mapping[str, Any]) -> dict[str, Table]:
    """What the arrays must be; whether tables fit together, the problem checks."""
    axes = facts["tables"]
    for name in axes:
        if name not in (*_names(facts), "prices"):
            raise ProblemError(f"its tables have {shown(name)}, which does not belong there")
    found = {name: Table(("<f8",), tuple(f"{name} {k}" for k in range(axes[name]))) for name in axes}
    ages = () if facts["problem"]["horizon"] is None else ("ages",)
    for name, many in _ANSWERS.items():
        found[name] = Table(("<i4",) if name in _WHOLE else ("<f8",), (*ages, many, "grid points", "states"))
    return found


def _problem(facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Problem:
    def given(prefix: str, names: tuple[str, ...]) -> dict[str, Any]:
        return {name: _plain(arrays[prefix + name]) for name in names if prefix + name in arrays}

    alternatives = [
        Alternative(**one, **given(f"alternative{k}_", _OF_ALTERNATIVE)) for k, one in enumerate(facts["alternatives"])
    ]
    tables = given("", _TABLES)
    for name in _NEEDED:
        if name not in tables:
            raise ProblemError(f"it has no array {name!r}")
    return Problem(**tables, **facts["problem"], alternatives=alternatives)


def _plain(array: NDArray[Any]) -> Any:
    return float(array) if array.ndim == 0 else array


def _check_answers(problem: Problem, answers: Mapping[str, NDArray[Any]], success: bool) -> None:
    many = {"regimes": len(problem.regimes), "alternatives": max(1, len(problem.alternatives))}
    ages = () if problem.horizon is None else (problem.horizon,)
    most = {"policy": problem.points, "choice": many["alternatives"]}
    for name, of in _ANSWERS.items():
        shape = (*ages, many[of], problem.points, problem.states)
        if answers[name].shape != shape:
            raise ProblemError(f"array {name!r} has shape {answers[name].shape}, not {shape}")
        if name in most:
            bad = (answers[name] < -1) | (answers[name] >= most[name])
            if bad.any():
                where = first(bad)
                raise ProblemError(
                    f"entries of {name} are from -1 to {most[name] - 1}, but {place(name, where)} is "
                    f"{answers[name][where]}"
                )
    if success and not np.isfinite(answers["value"]).all():
        where = first(~np.isfinite(answers["value"]))
        raise ProblemError(f"value must be finite, but {place('value', where)} is {answers['value'][where]}")


def to_xarray(result: GeneralResult) -> Dataset:
    """As :meth:`beltline.host.results.general_result.GeneralResult.to_xarray`."""
    check_xarray()
    import xarray

    problem = result.problem
    asset = problem.asset_name
    good = "1" if problem.asset == "x" else "units of the good"
    state = np.array(problem.labels) if problem.labels else np.arange(problem.states)
    coordinates: dict[str, Any] = {
        asset: (asset, problem.grid, {"long_name": problem.asset, "units": good}),
        "state": ("state", state, {"long_name": f"exogenous state ({problem.shock})"}),
        "regime": ("regime", np.array(result.regimes), {"long_name": "regime"}),
        "alternative": ("alternative", np.array(result.alternatives), {"long_name": "alternative"}),
    }
    ages: tuple[str, ...] = ()
    if problem.horizon is not None:
        ages = ("age",)
        coordinates["age"] = ("age", np.arange(1, problem.horizon + 1), {"long_name": "age", "units": "periods"})
    by_regime, by_alternative = (*ages, "regime", asset, "state"), (*ages, "alternative", asset, "state")
    data: dict[str, Any] = {}
    for name, dimensions, table, long_name, units in (
        ("value", by_regime, result.value, "value of each regime", "utility"),
        ("choice", by_regime, result.choice, "number of the best alternative, from 0", "1"),
        ("values", by_alternative, result.values, "value of each alternative", "utility"),
        ("policy", by_alternative, result.policy, f"index of the best {problem.asset} of the next period", "1"),
        ("policy_values", by_alternative, result.policy_values, f"best {problem.asset} of the next period", good),
        ("probability", by_alternative, result.probabilities, "probability of the alternative in its regime", "1"),
    ):
        data[name] = (dimensions, table.copy(), {"long_name": long_name, "units": units})
    attributes = {name: getattr(result, name) for name in ("status", "message", "sweeps", "residual", "error_bound")}
    attributes |= {"title": f"{problem.name}: values and choices", "source": "Beltline", "name": problem.name}
    attributes |= {
        "success": int(result.success),
        "verified": int(result.verified),
        "tol": result.tol,
        "eta": problem.eta,
        "method": result.method,
    }
    return xarray.Dataset(data, coordinates, attributes)
