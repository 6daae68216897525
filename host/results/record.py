"""Convert a result of the simple form to and from facts and arrays, the content of its files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.checks import ProblemError, first, place, shown
from beltline.host.problem.problem import Problem
from beltline.host.results.archive import Archive, Table
from beltline.host.results.facts import (
    ANY_NUMBER,
    BITS,
    COUNT,
    FLAG,
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
from beltline.host.results.result import Result

KIND = "result"
"""Kind of content of an archive that holds a result of the simple form."""

SOLVED = (Outcome.CONVERGED, Outcome.FINISHED, Outcome.SOLVED)
"""Outcomes for which ``success`` is true."""

SOLUTION: dict[str, Rule] = {
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
"""Rules for the facts that the results of both forms have."""

RESULT: dict[str, Rule] = SOLUTION | {
    "change": ANY_NUMBER,
    "clocks": COUNT,
    "clocks_source": TEXT,
    "amount_bits": BITS,
    "value_bits": BITS,
    "build_hash": COUNT,
    # Files of earlier versions do not have them.
    "chosen": replace(TEXT, absent=True),
    "proven": replace(FLAG, absent=True),
}
"""Rules for the facts of a result of the simple form."""

PROBLEM: dict[str, Rule] = {
    "eta": ANY_NUMBER,
    "horizon": Rule("a whole number or null", lambda v: v is None or COUNT.holds(v)),
    "name": TEXT,
    "asset": TEXT,
    "labels": TEXTS,
    "shock": TEXT,
    "parameters": PARTS,
}
"""Rules for the facts that problems of both forms have; ``Problem`` checks whether they are consistent."""

_PROBLEM = PROBLEM | {"beta": ANY_NUMBER}
_TABLES = ("grid", "wealth", "transition", "start")
_OPTIONAL_TABLES = ("marginal_wealth", "output", "shock_values")


def named(result: Any, of_result: Iterable[str], of_problem: Iterable[str]) -> dict[str, Any]:
    """Return the named attributes of a result of either form and of its problem."""
    problem = result.problem
    return {
        "result": {name: getattr(result, name) for name in of_result},
        "problem": {name: getattr(problem, name) for name in of_problem} | {"parameters": dict(problem.parameters)},
    }


def facts_of(result: Result) -> dict[str, Any]:
    """Return everything of a result and its problem that is not an array, in the form that :func:`restored` takes.

    Raises
    ------
    ProblemError
        A fact or an array is out of range, so that a file of the result could not be loaded again.
    """
    facts = named(result, RESULT, _PROBLEM)
    check_facts(facts)
    check_answer(result.value, result.policy, facts)
    return facts


def check_facts(facts: Mapping[str, Any]) -> None:
    """Check the facts of a result and its problem.

    Raises
    ------
    ProblemError
        A fact is missing, unknown or out of range.
    """
    known = checked("its result", facts.get("result"), RESULT)
    checked("its problem", facts.get("problem"), _PROBLEM)
    check_success(known, ("change", "residual", "error_bound"))


def check_success(known: Mapping[str, Any], measures: Iterable[str]) -> None:
    """Check that a result that claims success has such a status, and that its ``measures`` are numbers of at least 0.

    Raises
    ------
    ProblemError
        The facts contradict the claim.
    """
    if not known["success"]:
        return
    for name in measures:
        if not MEASURE.holds(known[name]):
            raise ProblemError(f"{name} of its result must be {MEASURE.wanted}, not {shown(known[name])}")
    if known["status"] not in SOLVED:
        raise ProblemError(f"success of its result must be false with status {known['status']!r}, not true")


def check_answer(value: NDArray[Any], policy: NDArray[Any], facts: Mapping[str, Any]) -> None:
    """Check that choices are indices of grid points, and that values of a successful result are finite.

    If ``success`` is false, states without a choice may have -1.

    Raises
    ------
    ProblemError
        The first fault found.
    """
    success, horizon = facts["result"]["success"], facts["problem"]["horizon"]
    if horizon is not None and value.shape[0] > horizon:
        raise ProblemError(f"value has {value.shape[0]} ages, but the horizon is {horizon}")
    check_choices("policy", policy, 0 if success else -1, policy.shape[-2])
    if success:
        check_finite(value)


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
    bad = ~np.isfinite(value)
    if bad.any():
        where = first(bad)
        raise ProblemError(f"value must be finite, but {place('value', where)} is {value[where]}")


def tables(problem: Problem) -> dict[str, NDArray[np.float64]]:
    """Return the arrays of a problem by name, without those that it does not have."""
    arrays = {name: getattr(problem, name) for name in (*_TABLES, *_OPTIONAL_TABLES)}
    return {name: array for name, array in arrays.items() if array is not None}


def arrays_of(result: Result) -> dict[str, NDArray[Any]]:
    """Return all arrays of a result and of its problem by name."""
    return {
        "value": result.value,
        "policy": result.policy,
        "policy_values": result.policy_values,
        **tables(result.problem),
    }


def schema(facts: Mapping[str, Any]) -> dict[str, Table]:
    """Return the type and shape that each array of a file with these facts must have."""
    numbers, points, here = ("<f8",), ("grid points",), ("grid points", "states")
    solved: tuple[str, ...] = here if facts["problem"]["horizon"] is None else ("ages", *here)
    return {
        "grid": Table(numbers, points),
        "wealth": Table(numbers, here),
        "transition": Table(numbers, ("states", "states")),
        "start": Table(numbers, here),
        "marginal_wealth": Table(numbers, here, optional=True),
        "output": Table(numbers, here, optional=True),
        "shock_values": Table(numbers, ("states",), optional=True),
        "value": Table(numbers, solved),
        "policy": Table(("<i4",), solved),
        "policy_values": Table(numbers, solved),
    }


def read(archive: Archive, problem: Problem | None = None) -> Result:
    """Read a result from an archive.

    Parameters
    ----------
    archive
        The open file.
    problem
        The problem that was solved, if the caller has it; see :func:`restored`.

    Raises
    ------
    ProblemError
        The archive does not hold what :meth:`~beltline.host.results.result.Result.save` writes.
    """
    check_facts(archive.facts)
    return restored(archive.facts, archive.arrays(schema(archive.facts)), problem)


def restored(facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], problem: Problem | None = None) -> Result:
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
        A number is out of range.
    """
    if problem is None:
        known: dict[str, Any] = {name: arrays[name] for name in (*_TABLES, *_OPTIONAL_TABLES) if name in arrays}
        problem = Problem(**known, **facts["problem"])
    check_answer(arrays["value"], arrays["policy"], facts)
    return Result(value=arrays["value"], policy=arrays["policy"], problem=problem, **facts["result"])
