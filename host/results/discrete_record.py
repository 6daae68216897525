"""Convert a discrete problem to and from facts and arrays, the content of files of its results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.checks import ProblemError
from beltline.host.problem.discrete import DiscreteProblem, check_chances, discount
from beltline.host.results.archive import Table
from beltline.host.results.facts import COUNT, NUMBER, TEXT, Rule, checked

_SHAPE = Rule(
    "one or two whole numbers above 0",
    lambda v: isinstance(v, list | tuple) and len(v) in (1, 2) and all(COUNT.holds(each) and each > 0 for each in v),
)
_PROBLEM = {"name": TEXT, "beta": NUMBER, "shape": _SHAPE}
_UNSIGNED = ("|u1", "<u2", "<u4", "<u8")


def facts_of(problem: DiscreteProblem) -> dict[str, Any]:
    """Return everything of a discrete problem that is not an array."""
    return {name: getattr(problem, name) for name in _PROBLEM}


def check_facts(facts: object) -> None:
    """Check facts in the form of :func:`facts_of`; raise ``ProblemError`` for the first fault."""
    checked("its problem", facts, _PROBLEM)


def arrays_of(problem: DiscreteProblem) -> dict[str, NDArray[Any]]:
    """Return the arrays of a discrete problem by name."""
    program = problem.program
    group = np.empty(program.states, np.int64)
    group[program.order] = np.repeat(np.arange(program.groups), np.diff(program.begin))
    return {
        "first": program.first,
        "reward": program.reward,
        "lottery": program.lottery,
        "action": program.action,
        "group": group,
        "chance": program.chances.data,
        "next_state": program.chances.indices.astype(np.int64),
        "first_chance": program.chances.indptr.astype(np.int64),
    }


def answers(shape: tuple[int, ...]) -> dict[str, Table]:
    """Return type and shape of the arrays of a solution."""
    return {"value": Table(("<f8",), shape), "policy": Table(("<i8",), shape)}


def schema(facts: Mapping[str, Any]) -> dict[str, Table]:
    """Return the type and shape that each array of a file with these facts of a problem must have."""
    shape = tuple(facts["shape"])
    states = int(np.prod(shape, dtype=np.float64))
    return answers(shape) | {
        "first": Table(("<i8",), (states + 1,)),
        "reward": Table(("<f8",), ("pairs",)),
        "lottery": Table(("<i4",), ("pairs",)),
        "action": Table(_UNSIGNED, ("pairs",)),
        "group": Table(("<i8",), (states,)),
        "chance": Table(("<f8",), ("chances",)),
        "next_state": Table(("<i8",), ("chances",)),
        "first_chance": Table(("<i8",), ("distributions + 1",)),
    }


def problem_of(facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> DiscreteProblem:
    """Make the problem from the content of a file after checking it; raise ``ProblemError`` for the first fault."""
    from scipy import sparse

    from beltline.gpu_ref.discrete.program import program_of

    beta = discount(facts["beta"])
    first, lottery, begin = arrays["first"], arrays["lottery"], arrays["first_chance"]
    pairs, states = lottery.size, first.size - 1
    _check_ends("first", first, pairs)
    _check_ends("first_chance", begin, arrays["chance"].size)
    _check_range("lottery", lottery, begin.size - 1)
    _check_range("next_state", arrays["next_state"], states)
    if not np.isfinite(arrays["reward"]).all() or not np.isfinite(arrays["chance"]).all():
        raise ProblemError("rewards and probabilities must be finite")
    chances = sparse.csr_array((arrays["chance"], arrays["next_state"], begin), shape=(begin.size - 1, states))
    check_chances(chances, lambda k, j: f"probability {j} of row {k}", lambda k: f"row {k} of the probabilities")
    state = np.repeat(np.arange(states), np.diff(first))
    if not ((np.diff(state) > 0) | (np.diff(lottery) > 0)).all():
        raise ProblemError("array 'lottery' must be strictly increasing within a state")
    _check_groups(arrays["group"][state], lottery)
    program = program_of(state, arrays["action"], arrays["reward"], lottery, chances, beta, arrays["group"])
    return DiscreteProblem(program, tuple(facts["shape"]), facts["name"])


def _check_range(name: str, numbers: NDArray[Any], count: int) -> None:
    bad = (numbers < 0) | (numbers >= count)
    if bad.any():
        raise ProblemError(f"choices are from 0 to {count - 1}, but {name}[{int(np.argmax(bad))}] is {numbers[bad][0]}")


def _check_ends(name: str, ends: NDArray[np.int64], count: int) -> None:
    if ends.size < 2 or ends[0] != 0 or ends[-1] != count or (np.diff(ends) < 1).any():
        raise ProblemError(f"array {name!r} must be strictly increasing from 0 to {count}")


def _check_groups(group: NDArray[np.int64], lottery: NDArray[np.int32]) -> None:
    """Check that states of different groups use different rows of probabilities."""
    of_lottery = np.zeros(int(lottery.max()) + 1, np.int64)
    of_lottery[lottery] = group
    if (of_lottery[lottery] != group).any():
        raise ProblemError("states of different groups must not share a row of probabilities")


def check_policy(problem: DiscreteProblem, policy: NDArray[np.int64]) -> None:
    """Check that every state has the action that the policy, ``(n,)``, chooses in it."""
    program = problem.program
    found = np.logical_or.reduceat(program.action == np.repeat(policy, np.diff(program.first)), program.first[:-1])
    if not found.all():
        state = int(np.argmin(found))
        raise ProblemError(f"{problem.state_name(state)} has no action {policy[state]}, which its policy chooses")
