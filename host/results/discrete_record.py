"""Save and load the result of a discrete problem, and convert it to labelled arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.checks import ProblemError
from beltline.host.problem.discrete import DiscreteProblem, check_chances, discount
from beltline.host.results import archive
from beltline.host.results.archive import Archive, Table
from beltline.host.results.dataset import check_xarray
from beltline.host.results.discrete_result import DiscreteResult
from beltline.host.results.facts import COUNT, FLAG, NUMBER, PARTS, TEXT, Rule, checked
from beltline.host.results.files import check_target
from beltline.host.results.record import SOLUTION, check_choices, check_finite, check_success

if TYPE_CHECKING:
    from xarray import Dataset

KIND = "discrete_result"
"""Kind of content of an archive that holds a result of a discrete problem."""

SUFFIXES = (".npz",)

_RESULT: dict[str, Rule] = SOLUTION | {"evaluations": COUNT, "ordered": FLAG}
_SHAPE = Rule(
    "one or two whole numbers above 0",
    lambda v: isinstance(v, list | tuple) and len(v) in (1, 2) and all(COUNT.holds(each) and each > 0 for each in v),
)
_PROBLEM = {"name": TEXT, "beta": NUMBER, "shape": _SHAPE}
_UNSIGNED = ("|u1", "<u2", "<u4", "<u8")


def answers_of(result: DiscreteResult) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return facts and arrays of a result without its problem, for files of models that make the problem again."""
    return {name: getattr(result, name) for name in _RESULT}, {"value": result.value, "policy": result.policy}


def answered(given: object, file: Archive, problem: DiscreteProblem) -> DiscreteResult:
    """Make the result of ``problem`` from facts and arrays in the form of :func:`answers_of`.

    Parameters
    ----------
    given
        The facts.
    file
        The open archive, from which the arrays are read.
    problem
        The problem that was solved.

    Raises
    ------
    ProblemError
        The facts or arrays are not those of a result of this problem.
    """
    known = checked("its result", given, _RESULT)
    check_success(known, ("residual", "error_bound"))
    answers = file.arrays({"value": Table(("<f8",), problem.shape), "policy": Table(("<i8",), problem.shape)})
    if known["success"]:
        check_finite(answers["value"])
        _check_policy(problem, answers["policy"].reshape(-1))
    known |= answers
    return DiscreteResult(**known, problem=problem)


def save(result: DiscreteResult, path: str | os.PathLike[str]) -> Path:
    """Write ``result`` to ``path``; the method ``DiscreteResult.save`` calls this."""
    target = check_target("out", path, SUFFIXES)
    problem, program = result.problem, result.problem.program
    facts = {
        "result": {name: getattr(result, name) for name in _RESULT},
        "problem": {"name": problem.name, "beta": problem.beta, "shape": problem.shape},
    }
    group = np.empty(program.states, np.int64)
    group[program.order] = np.repeat(np.arange(program.groups), np.diff(program.begin))
    arrays = {
        "value": result.value,
        "policy": result.policy,
        "first": program.first,
        "reward": program.reward,
        "lottery": program.lottery,
        "action": program.action,
        "group": group,
        "chance": program.chances.data,
        "next_state": program.chances.indices.astype(np.int64),
        "first_chance": program.chances.indptr.astype(np.int64),
    }
    archive.write(target, KIND, facts, arrays)
    return target


def read(file: Archive) -> DiscreteResult:
    """Read a result that :func:`save` wrote.

    Raises
    ------
    ProblemError
        The archive contains something else.
    """
    facts = checked("its description", file.facts, {"result": PARTS, "problem": PARTS})
    known = checked("its result", facts["result"], _RESULT)
    given = checked("its problem", facts["problem"], _PROBLEM)
    check_success(known, ("residual", "error_bound"))
    shape = tuple(given["shape"])
    ends = int(np.prod(shape, dtype=np.float64)) + 1
    arrays = file.arrays(
        {
            "value": Table(("<f8",), shape),
            "policy": Table(("<i8",), shape),
            "first": Table(("<i8",), (ends,)),
            "reward": Table(("<f8",), ("pairs",)),
            "lottery": Table(("<i4",), ("pairs",)),
            "action": Table(_UNSIGNED, ("pairs",)),
            "group": Table(("<i8",), (ends - 1,)),
            "chance": Table(("<f8",), ("chances",)),
            "next_state": Table(("<i8",), ("chances",)),
            "first_chance": Table(("<i8",), ("distributions + 1",)),
        }
    )
    answers = {name: arrays.pop(name) for name in ("value", "policy")}
    problem = _problem(arrays, discount(given["beta"]), shape, given["name"])
    if known["success"]:
        check_finite(answers["value"])
        _check_policy(problem, answers["policy"].reshape(-1))
    known |= answers
    return DiscreteResult(**known, problem=problem)


def _problem(arrays: Mapping[str, NDArray[Any]], beta: float, shape: tuple[int, ...], name: str) -> DiscreteProblem:
    """Make the problem from the arrays of a file after checking them."""
    from scipy import sparse

    from beltline.gpu_ref.discrete.program import program_of

    first, lottery, begin = arrays["first"], arrays["lottery"], arrays["first_chance"]
    pairs, states = lottery.size, first.size - 1
    _check_ends("first", first, pairs)
    _check_ends("first_chance", begin, arrays["chance"].size)
    check_choices("lottery", lottery, 0, begin.size - 1)
    check_choices("next_state", arrays["next_state"], 0, states)
    if not np.isfinite(arrays["reward"]).all() or not np.isfinite(arrays["chance"]).all():
        raise ProblemError("rewards and probabilities must be finite")
    chances = sparse.csr_array((arrays["chance"], arrays["next_state"], begin), shape=(begin.size - 1, states))
    check_chances(chances, lambda k, j: f"probability {j} of row {k}", lambda k: f"row {k} of the probabilities")
    state = np.repeat(np.arange(states), np.diff(first))
    if not ((np.diff(state) > 0) | (np.diff(lottery) > 0)).all():
        raise ProblemError("array 'lottery' must be strictly increasing within a state")
    _check_groups(arrays["group"][state], lottery)
    program = program_of(state, arrays["action"], arrays["reward"], lottery, chances, beta, arrays["group"])
    return DiscreteProblem(program, shape, name)


def _check_ends(name: str, ends: NDArray[np.int64], count: int) -> None:
    if ends.size < 2 or ends[0] != 0 or ends[-1] != count or (np.diff(ends) < 1).any():
        raise ProblemError(f"array {name!r} must be strictly increasing from 0 to {count}")


def _check_groups(group: NDArray[np.int64], lottery: NDArray[np.int32]) -> None:
    """Check that states of different groups use different rows of probabilities."""
    of_lottery = np.zeros(int(lottery.max()) + 1, np.int64)
    of_lottery[lottery] = group
    if (of_lottery[lottery] != group).any():
        raise ProblemError("states of different groups must not share a row of probabilities")


def _check_policy(problem: DiscreteProblem, policy: NDArray[np.int64]) -> None:
    """Check that every state has the action that the policy chooses in it."""
    program = problem.program
    found = np.logical_or.reduceat(program.action == np.repeat(policy, np.diff(program.first)), program.first[:-1])
    if not found.all():
        state = int(np.argmin(found))
        raise ProblemError(f"{problem.state_name(state)} has no action {policy[state]}, which its policy chooses")


def to_xarray(result: DiscreteResult) -> Dataset:
    """Return ``result`` as an ``xarray.Dataset``; the method ``DiscreteResult.to_xarray`` calls this."""
    check_xarray()
    import xarray

    axes = ("state",) if result.value.ndim == 1 else ("endogenous", "exogenous")
    coordinates = {
        axis: (axis, np.arange(size), {"long_name": axis if axis == "state" else f"{axis} state"})
        for axis, size in zip(axes, result.value.shape, strict=True)
    }
    data = {
        "value": (axes, result.value.copy(), {"long_name": "value", "units": "utility"}),
        "policy": (axes, result.policy.copy(), {"long_name": "best action, by its number", "units": "1"}),
    }
    facts = {name: getattr(result, name) for name in _RESULT if name != "timing"}
    facts = {name: int(fact) if isinstance(fact, bool) else fact for name, fact in facts.items()}
    return xarray.Dataset(data, coordinates, facts | {"name": result.problem.name, "beta": result.problem.beta})
