"""Convert a result and its problem to and from facts and arrays, the content of its files.

Facts are everything that is not an array: those of the result, of the problem and of its alternatives, and the number
of axes of each of the problem's tables. Files of earlier versions, which had a kind of content for each form of a
problem, are still read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.alternative import Alternative
from beltline.host.problem.checks import ProblemError, first, place, shown
from beltline.host.problem.discrete import DiscreteProblem
from beltline.host.problem.problem import Problem
from beltline.host.results import discrete_record, fields
from beltline.host.results.archive import Archive, Table
from beltline.host.results.facts import (
    ANY_NUMBER,
    BITS,
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
from beltline.host.results.outcome import Outcome
from beltline.host.results.result import OfAlternative, Result, Tables

KIND = "solution"
"""Kind of content of an archive that holds a result."""

SIMPLE, GENERAL, DISCRETE = "result", "general_result", "discrete_result"
"""Kinds of content of earlier versions, by form of the problem."""

SOLVED = (Outcome.CONVERGED, Outcome.FINISHED, Outcome.SOLVED)
"""Outcomes for which ``success`` is true."""

RESULT: dict[str, Rule] = {
    "success": FLAG,
    "status": one_of(tuple(outcome.value for outcome in Outcome)),
    "message": TEXT,
    "sweeps": COUNT,
    "residual": ANY_NUMBER,
    "error_bound": ANY_NUMBER,
    "verified": FLAG,
    "tol": POSITIVE,
    "timing": SECONDS,
    "device": TEXT,
    "method": TEXT,
}
_LATER = {
    "change": ANY_NUMBER,
    "price_change": ANY_NUMBER,
    "evaluations": COUNT,
    "searched": COUNT,
    "ordered": FLAG,
    "clocks": COUNT,
    "clocks_source": TEXT,
    "amount_bits": BITS,
    "value_bits": BITS,
    "build_hash": COUNT,
    "chosen": TEXT,
    "proven": FLAG,
}
RESULT |= {name: replace(rule, absent=True) for name, rule in _LATER.items()}
"""Rules for the facts of a result. Files of earlier versions do not have all of them."""

_PROBLEM: dict[str, Rule] = {
    "eta": ANY_NUMBER,
    "horizon": Rule("a whole number or null", lambda v: v is None or COUNT.holds(v)),
    "name": TEXT,
    "asset": TEXT,
    "labels": TEXTS,
    "shock": TEXT,
    "parameters": PARTS,
    "taste": replace(ANY_NUMBER, absent=True),
    "negative": replace(FLAG, absent=True),
    # Absent if it is a table.
    "beta": replace(ANY_NUMBER, absent=True),
}
"""Rules for the facts of a problem on a grid; ``Problem`` checks whether they are consistent."""

_ALTERNATIVE = {"name": TEXT, "regime": TEXT, "leads_to": Rule("text, probabilities or null", lambda _: True)}
_AXES = Rule(
    "an object with a number of axes, 0 to 3, under each name",
    lambda v: isinstance(v, dict) and all(COUNT.holds(axes) and axes <= 3 for axes in v.values()),
)
_NEEDED = ("grid", "wealth", "transition", "start", "beta")
_TABLES = (*_NEEDED, "cost", "low", "high", "marginal_wealth", "output", "shock_values")
_OF_ALTERNATIVE = ("wealth", "cost", "low", "high", "choice", "transition", "beta", "kappa", "value")
_ANSWERS = {"value": "<f8", "policy": "<i4", "alternative": "<i4", "choice": "<f8"}
_OF_EACH = {"values": "<f8", "policies": "<i4", "probabilities": "<f8"}
"""Types of the arrays of a result, by regime and by alternative."""


def facts_of(result: Result) -> dict[str, Any]:
    """Return everything of a result and its problem that is not an array.

    Raises
    ------
    ProblemError
        A fact or an array is out of range, so that a file of the result could not be loaded again.
    """
    problem, known = result.problem, {name: getattr(result, name) for name in RESULT}
    facts: dict[str, Any]
    if isinstance(problem, DiscreteProblem):
        facts = {"result": known, "problem": discrete_record.facts_of(problem)}
    else:
        own = {name: getattr(problem, name) for name in _PROBLEM}
        if not isinstance(problem.beta, float):
            del own["beta"]
        facts = {
            "result": known,
            "problem": own | {"parameters": dict(problem.parameters)},
            "alternatives": [
                {"name": one.name, "regime": one.regime, "leads_to": one.chances() if one.value is None else None}
                for one in problem.alternatives
            ],
            "tables": {name: table.ndim for name, table in _tables_of(result).items()},
        }
    check_facts(facts)
    _check_answers(result)
    return facts


def arrays_of(result: Result) -> dict[str, NDArray[Any]]:
    """Return all arrays of a result and of its problem by name."""
    if isinstance(result.problem, DiscreteProblem):
        return {"value": result.value, "policy": result.policy, **discrete_record.arrays_of(result.problem)}
    found = {name: getattr(result, name) for name in _ANSWERS}
    if result.of_alternatives is not None:
        found |= dict(zip(_OF_EACH, result.of_alternatives, strict=True))
    return {name: array for name, array in found.items() if array is not None} | _tables_of(result)


def _tables_of(result: Result) -> dict[str, NDArray[Any]]:
    """Return the tables of the problem by name, and the prices."""
    problem = result.problem
    tables = {name: getattr(problem, name) for name in _TABLES} | {"prices": result.prices}
    if isinstance(problem.beta, float):
        del tables["beta"]
    for number, one in enumerate(problem.alternatives):
        tables |= {f"alternative{number}_{name}": getattr(one, name) for name in _OF_ALTERNATIVE}
    return {name: np.asarray(table, np.float64) for name, table in tables.items() if table is not None}


def check_facts(facts: Mapping[str, Any]) -> None:
    """Check the facts of a result and its problem, whatever version wrote them.

    Raises
    ------
    ProblemError
        A fact is missing, unknown or out of range, or the facts contradict ``success``.
    """
    known = checked("its result", facts.get("result"), RESULT)
    problem = facts.get("problem")
    if isinstance(problem, dict) and "shape" in problem:
        discrete_record.check_facts(problem)
    else:
        checked("its problem", problem, _PROBLEM)
        alternatives = facts.get("alternatives", [])
        checked("its description", {"alternatives": alternatives, "tables": facts.get("tables", {})}, _DESCRIPTION)
        for one in alternatives:
            checked("an alternative", one, _ALTERNATIVE)
    if not known["success"]:
        return
    for name in ("residual", "error_bound"):
        if not MEASURE.holds(known[name]):
            raise ProblemError(f"{name} of its result must be {MEASURE.wanted}, not {shown(known[name])}")
    if known["status"] not in SOLVED:
        raise ProblemError(f"success of its result must be false with status {known['status']!r}, not true")


_DESCRIPTION = {"alternatives": LIST, "tables": _AXES}


def schema(facts: Mapping[str, Any], problem: Any = None) -> dict[str, Table]:
    """Return the type and shape that each array of a file with these facts must have.

    With a discrete ``problem`` the file has no arrays of the problem itself.
    """
    if isinstance(problem, DiscreteProblem):
        return discrete_record.answers(problem.shape, problem.horizon)
    if "shape" in facts["problem"]:
        return discrete_record.schema(facts["problem"])
    numbers, here = ("<f8",), ("grid points", "states")
    ages: tuple[str, ...] = () if facts["problem"]["horizon"] is None else ("ages",)
    if "tables" not in facts:
        tables: dict[str, Table] = {name: Table(numbers, here) for name in ("wealth", "start")}
        tables |= {name: Table(numbers, here, optional=True) for name in ("marginal_wealth", "output")}
        tables |= {"grid": Table(numbers, here[:1]), "transition": Table(numbers, ("states", "states"))}
        tables["shock_values"] = Table(numbers, here[1:], optional=True)
        solved = {"value": numbers, "policy": ("<i4",), "policy_values": numbers}
        return tables | {name: Table(kinds, (*ages, *here)) for name, kinds in solved.items()}
    axes, alternatives = facts["tables"], facts["alternatives"]
    known = {*_TABLES, *(f"alternative{k}_{name}" for k in range(len(alternatives)) for name in _OF_ALTERNATIVE)}
    for name in axes:
        if name not in known | {"prices"}:
            raise ProblemError(f"its tables have an unknown entry {shown(name)}")
    tables = {name: Table(numbers, _axes_of(name, axes[name])) for name in axes}
    by_regime: tuple[str, ...] = (*ages, "regimes", *here)
    by_alternative = (*ages, "alternatives", *here)
    if _former(facts):
        answers = {"value": "<f8", "choice": "<i4"}
        tables |= {name: Table((kind,), by_regime) for name, kind in answers.items()}
        each = {"values": "<f8", "policy": "<i4", "probabilities": "<f8"}
    else:
        if len({one["regime"] for one in alternatives}) < 2:
            by_regime = (*ages, *here)
        several = len(alternatives) > 1
        tables |= {n: Table((kind,), by_regime) for n, kind in _ANSWERS.items() if several or n != "alternative"}
        each = _OF_EACH if several else {}
    return tables | {name: Table((kind,), by_alternative) for name, kind in each.items()}


def _axes_of(name: str, count: int) -> tuple[str, ...]:
    """Return the axes of a table of a problem, by name and number of axes."""
    plain = name.partition("_")[2] if name.startswith("alternative") else name
    last: tuple[str, ...] = ("grid points", "states")
    if plain == "transition":
        last = ("states", "states")
    elif plain in ("beta", "kappa", "shock_values"):
        last = ("states",)
    elif count == 1:
        last = ("grid points",)
    more = "regimes" if plain == "start" else "horizon"
    found = (more, *last)[-count:] if count else ()
    return found if plain != "prices" and len(found) == count else tuple(f"{name} {k}" for k in range(count))


def _former(facts: Mapping[str, Any]) -> bool:
    """Return whether an earlier version wrote these facts of a problem of the general form."""
    return "change" not in facts["result"]


def read(file: Archive, problem: Any = None) -> Result:
    """Read a result from an archive.

    Parameters
    ----------
    file
        The open file.
    problem
        The problem that was solved, if the caller has it; see :func:`restored`.

    Raises
    ------
    ProblemError
        The archive does not hold what :meth:`~beltline.host.results.result.Result.save` writes.
    """
    check_facts(file.facts)
    return restored(file.facts, file.arrays(schema(file.facts)), problem)


def restored(facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], problem: Any = None) -> Result:
    """Make a result from facts that :func:`check_facts` accepted and arrays that match :func:`schema`.

    Parameters
    ----------
    facts, arrays
        The content of a file.
    problem
        The problem that was solved, if the caller has it; by default it is made from the file.

    Raises
    ------
    ProblemError
        A number is out of range, or a table breaks a condition of the problem.
    """
    if problem is None and "shape" in facts["problem"]:
        problem = discrete_record.problem_of(facts["problem"], arrays)
    elif problem is None:
        problem = _problem(facts, arrays)
    known = facts["result"]
    if "tables" in facts and _former(facts):
        tables = Tables(*(arrays[name] for name in Tables._fields))
        _check_former(problem, tables)
        result = Result.of(problem, tables, prices=arrays.get("prices"), **known)
    else:
        each = [arrays[name] for name in _OF_EACH if name in arrays]
        more: dict[str, Any] = {"alternative": arrays.get("alternative"), "prices": arrays.get("prices")}
        if each:
            more["of_alternatives"] = OfAlternative(*each)
        result = Result(value=arrays["value"], policy=arrays["policy"], problem=problem, **more, **known)
    _check_answers(result)
    return result


def _problem(facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Problem:
    def given(prefix: str, names: Iterable[str]) -> dict[str, Any]:
        found = {name: arrays[prefix + name] for name in names if prefix + name in arrays}
        return {name: float(array) if array.ndim == 0 else array for name, array in found.items()}

    tables = given("", _TABLES) | facts["problem"]
    for name in _NEEDED:
        if name not in tables:
            raise ProblemError(f"it has no array {name!r}")
    alternatives = [
        Alternative(**one, **given(f"alternative{k}_", _OF_ALTERNATIVE))
        for k, one in enumerate(facts.get("alternatives", ()))
    ]
    return Problem(**tables, alternatives=alternatives)


def _check_former(problem: Problem, tables: Tables) -> None:
    """Check the shapes of arrays of a file of the general form that an earlier version wrote."""
    ages = () if problem.horizon is None else (problem.horizon,)
    many = {"value": len(problem.regimes), "choice": len(problem.regimes)}
    for name, array in tables._asdict().items():
        shape = (*ages, many.get(name, max(1, len(problem.alternatives))), problem.points, problem.states)
        if array.shape != shape:
            raise ProblemError(f"array {name!r} has shape {array.shape}, not {shape}")
    check_choices("policy", tables.policy, -1, problem.points)
    check_choices("choice", tables.choice, -1, max(1, len(problem.alternatives)))


def _check_answers(result: Result) -> None:
    """Check that arrays fit the problem, choices are in range, and values of a successful result are finite.

    If ``success`` is false, states without a choice may have -1.

    Raises
    ------
    ProblemError
        The first fault found.
    """
    problem = result.problem
    if isinstance(problem, DiscreteProblem):
        if result.success:
            discrete_record.check_answers(problem, result.value, result.policy)
        return
    if result.success:
        check_finite(result.value)
    regimes, count = len(problem.regimes), len(problem.alternatives)
    shape = (*(() if regimes == 1 else (regimes,)), problem.points, problem.states)
    if result.value.shape[-len(shape) :] != shape:
        raise ProblemError(f"array 'value' has shape {result.value.shape}, not {shape} after the ages")
    if problem.horizon is not None and result.value.shape[0] > problem.horizon:
        raise ProblemError(f"value has {result.value.shape[0]} ages, but the horizon is {problem.horizon}")
    # An alternative may be a value without a choice of x'.
    check_choices("policy", result.policy, 0 if result.success and not problem.general else -1, problem.points)
    if result.alternative is not None and result.of_alternatives is not None:
        check_choices("alternative", result.alternative, 0 if result.success else -1, count)
        check_choices("policies", result.of_alternatives.policy, -1, problem.points)
        if result.of_alternatives.value.shape[-3] != count:
            raise ProblemError(f"values must have {count} alternatives, not {result.of_alternatives.value.shape[-3]}")


def check_choices(name: str, choices: NDArray[Any], least: int, count: int) -> None:
    """Check that all ``choices`` are from ``least`` to ``count - 1``.

    Raises
    ------
    ProblemError
        The first choice that is out of range.
    """
    bad = (choices < least) | (choices >= count)
    if bad.any():
        where = first(bad)
        raise ProblemError(f"choices are from {least} to {count - 1}, but {place(name, where)} is {choices[where]}")


def check_finite(value: NDArray[Any]) -> None:
    """Check that all values are finite.

    Raises
    ------
    ProblemError
        The first value that is not.
    """
    fields.check_finite({"value": value})
