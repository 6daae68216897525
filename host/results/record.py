"""A result as JSON and arrays, which is what every file of one holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from beltline.host.problem.checks import ProblemError
from beltline.host.problem.problem import Problem
from beltline.host.results.result import Result

FILE_FORMAT = 1
"""Version of what is written."""

PLAIN = (
    "success",
    "status",
    "message",
    "sweeps",
    "change",
    "residual",
    "error_bound",
    "verified",
    "tol",
    "clocks",
    "clocks_source",
    "timing",
    "device",
    "money_bits",
    "value_bits",
    "build_hash",
)
"""What a result has besides its arrays, its problem and its method."""

_PLAIN_PROBLEM = ("beta", "eta", "horizon", "name", "asset", "labels")
# Files of before these were known lack them.
_LATER_PROBLEM = ("shock", "parameters")
_TABLES = ("grid", "wealth", "transition", "start")
_OPTIONAL_TABLES = ("marginal_wealth", "output", "shock_values")


def about(result: Result) -> str:
    """Return everything that is no array as JSON."""
    problem = result.problem
    return json.dumps(
        {
            "format": FILE_FORMAT,
            "result": {name: getattr(result, name) for name in (*PLAIN, "method")},
            "problem": {name: getattr(problem, name) for name in (*_PLAIN_PROBLEM, *_LATER_PROBLEM)},
        }
    )


def tables(problem: Problem) -> dict[str, Any]:
    """Return the problem's arrays by name, those that it has."""
    arrays = {name: getattr(problem, name) for name in (*_TABLES, *_OPTIONAL_TABLES)}
    return {name: array for name, array in arrays.items() if array is not None}


def restored(path: str, about: str, arrays: Mapping[str, Any]) -> Result:
    """Return the result that :func:`about` and its arrays describe.

    Raises
    ------
    ProblemError
        They are of another version, or make no problem.
    KeyError, ValueError, TypeError
        They are not those of a result.
    """
    facts = json.loads(about)
    if facts["format"] != FILE_FORMAT:
        raise ProblemError(f"{path!r} has file format {facts['format']}, not {FILE_FORMAT}")
    known = facts["problem"]
    problem = Problem(
        **{name: arrays[name] for name in _TABLES},
        **{name: arrays[name] for name in _OPTIONAL_TABLES if name in arrays},
        **{name: known[name] for name in _PLAIN_PROBLEM},
        **{name: known[name] for name in _LATER_PROBLEM if name in known},
    )
    plain = {name: facts["result"][name] for name in PLAIN}
    # Files of before there were methods lack it.
    method = facts["result"].get("method", "")
    return Result(value=arrays["value"], policy=arrays["policy"], problem=problem, method=method, **plain)
