"""Convert a result of the general form to and from facts and arrays, the content of its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.alternative import Alternative
from beltline.host.problem.checks import ProblemError, shown
from beltline.host.problem.problem import Problem
from beltline.host.results.archive import Archive, Table
from beltline.host.results.facts import ANY_NUMBER, BITS, COUNT, FLAG, LIST, PARTS, TEXT, Rule, checked
from beltline.host.results.general_result import GeneralResult
from beltline.host.results.record import (
    PROBLEM,
    SOLUTION,
    check_choices,
    check_finite,
    check_success,
    named,
)

KIND = "general_result"
"""Kind of content of an archive that holds a result of the general form."""

_OF_MACHINE = {
    "clocks": COUNT,
    "clocks_source": TEXT,
    "amount_bits": BITS,
    "value_bits": BITS,
    "build_hash": COUNT,
    "proven": FLAG,
}

RESULT: dict[str, Rule] = SOLUTION | {
    "evaluations": COUNT,
    "searched": COUNT,
    "price_change": ANY_NUMBER,
    # Files of earlier versions do not have them.
    **{name: replace(rule, absent=True) for name, rule in _OF_MACHINE.items()},
}

_PROBLEM = PROBLEM | {"taste": ANY_NUMBER, "negative": FLAG}
_ALTERNATIVE = {"name": TEXT, "regime": TEXT, "leads_to": Rule("text, probabilities or null", lambda _: True)}
_FACTS = {
    "result": PARTS,
    "problem": PARTS,
    "alternatives": LIST,
    "tables": Rule(
        "an object with a number of axes, 0 to 3, under each name",
        lambda v: isinstance(v, dict) and all(COUNT.holds(axes) and axes <= 3 for axes in v.values()),
    ),
}
_NEEDED = ("grid", "wealth", "transition", "start", "beta")
_TABLES: tuple[str, ...] = (*_NEEDED, "cost", "low", "high", "marginal_wealth", "output", "shock_values")
_OF_ALTERNATIVE = ("wealth", "cost", "low", "high", "choice", "transition", "beta", "kappa", "value")
_ANSWERS = {"value": "regimes", "values": "alternatives", "policy": "alternatives", "choice": "regimes"}
_ANSWERS |= {"probabilities": "alternatives"}
_WHOLE = ("policy", "choice")


def parts_of(result: GeneralResult) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the facts (everything that is not an array) and the arrays of a result and its problem."""
    problem = result.problem
    tables = {name: getattr(problem, name) for name in _TABLES}
    for number, one in enumerate(problem.alternatives):
        tables |= {f"alternative{number}_{name}": getattr(one, name) for name in _OF_ALTERNATIVE}
    arrays = {name: np.asarray(table, np.float64) for name, table in tables.items() if table is not None}
    facts = named(result, RESULT, _PROBLEM) | {
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


def read(file: Archive, problem: Problem | None = None) -> GeneralResult:
    """Read a result from an archive; the entry ``key``, which a store adds to the facts, is ignored.

    Parameters
    ----------
    file
        The open archive.
    problem
        The problem that was solved, if the caller has it; see :func:`restored`.

    Raises
    ------
    ProblemError
        The archive does not hold what :meth:`~beltline.host.results.general_result.GeneralResult.save` writes.
    """
    return restored({name: fact for name, fact in file.facts.items() if name != "key"}, file, problem)


def restored(given: object, file: Archive, problem: Problem | None = None) -> GeneralResult:
    """Make a result from facts and arrays in the form of :func:`parts_of`.

    Parameters
    ----------
    given
        The facts.
    file
        The open archive, from which the arrays are read.
    problem
        The problem that was solved, if the caller has it; by default it is made from the file.

    Raises
    ------
    ProblemError
        A fact or an array is missing, unknown or out of range.
    """
    facts = checked("its description", given, _FACTS)
    known = checked("its result", facts["result"], RESULT)
    checked("its problem", facts["problem"], _PROBLEM)
    for one in facts["alternatives"]:
        checked("an alternative", one, _ALTERNATIVE)
    check_success(known, ("residual", "error_bound"))
    arrays = file.arrays(_schema(facts))
    if problem is None:
        problem = _problem(facts, arrays)
    answers = {name: arrays[name] for name in _ANSWERS}
    _check_answers(problem, answers, known["success"])
    known |= answers
    return GeneralResult(**known, problem=problem, prices=arrays.get("prices"))


def _names(facts: Mapping[str, Any]) -> list[str]:
    """Return the names of all arrays that the problem may have."""
    numbered = range(len(facts["alternatives"]))
    return [*_TABLES, *(f"alternative{k}_{name}" for k in numbered for name in _OF_ALTERNATIVE)]


def _schema(facts: Mapping[str, Any]) -> dict[str, Table]:
    """Return the type and shape that each array must have; ``Problem`` checks whether tables are consistent."""
    axes = facts["tables"]
    for name in axes:
        if name not in (*_names(facts), "prices"):
            raise ProblemError(f"its tables have an unknown entry {shown(name)}")
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
            check_choices(name, answers[name], -1, most[name])
    if success:
        check_finite(answers["value"])
