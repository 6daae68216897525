"""Convert a discrete problem to and from facts and arrays, the content of files of its results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.checks import ProblemError
from beltline.host.problem.discrete import DiscreteProblem, check_chances, discounting
from beltline.host.results.archive import Table
from beltline.host.results.facts import COUNT, NUMBER, TEXT, Rule, checked
from beltline.host.results.fields import check_finite

if TYPE_CHECKING:
    from beltline.gpu_ref.discrete.program import Program

_SHAPE = Rule(
    "one or two whole numbers above 0",
    lambda v: isinstance(v, list | tuple) and len(v) in (1, 2) and all(COUNT.holds(each) and each > 0 for each in v),
)
_HORIZON = Rule("a whole number or null", lambda v: v is None or COUNT.holds(v), absent=True)
_PROBLEM = {"name": TEXT, "beta": NUMBER, "shape": _SHAPE, "horizon": _HORIZON}
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
    found: dict[str, NDArray[Any]] = {"lost": np.flatnonzero(program.lost)} if program.lost.any() else {}
    if problem.start is not None:
        found["start"] = problem.start
    return found | {
        "first": program.first,
        "reward": program.reward,
        "lottery": program.lottery,
        "action": program.action,
        "group": group,
        "chance": program.chances.data,
        "next_state": program.chances.indices.astype(np.int64),
        "first_chance": program.chances.indptr.astype(np.int64),
    }


def answers(shape: tuple[int, ...], horizon: int | None) -> dict[str, Table]:
    """Return type and shape of the arrays of a solution."""
    shape = shape if horizon is None else (horizon, *shape)
    return {"value": Table(("<f8",), shape), "policy": Table(("<i8",), shape)}


def schema(facts: Mapping[str, Any]) -> dict[str, Table]:
    """Return the type and shape that each array of a file with these facts of a problem must have."""
    shape = tuple(facts["shape"])
    states = int(np.prod(shape, dtype=np.float64))
    return answers(shape, facts.get("horizon")) | {
        "lost": Table(("<i8",), ("lost states",), optional=True),
        "start": Table(("<f8",), shape, optional=True),
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

    shape = tuple(facts["shape"])
    beta, horizon, start = discounting(facts["beta"], facts.get("horizon"), arrays.get("start"), shape)
    first, lottery, begin = arrays["first"], arrays["lottery"], arrays["first_chance"]
    pairs, states = lottery.size, first.size - 1
    _check_ends("first", first, pairs)
    _check_ends("first_chance", begin, arrays["chance"].size)
    _check_range("lottery", lottery, begin.size - 1)
    _check_range("next_state", arrays["next_state"], states)
    state = np.repeat(np.arange(states), np.diff(first))
    lost = np.zeros(states, np.bool_)
    if "lost" in arrays:
        _check_range("lost", arrays["lost"], states)
        lost[arrays["lost"]] = True
    if not np.isfinite(arrays["reward"][~lost[state]]).all() or not np.isfinite(arrays["chance"]).all():
        raise ProblemError("rewards and probabilities must be finite")
    chances = sparse.csr_array((arrays["chance"], arrays["next_state"], begin), shape=(begin.size - 1, states))
    check_chances(chances, lambda k, j: f"probability {j} of row {k}", lambda k: f"row {k} of the probabilities")
    if not ((np.diff(state) > 0) | (np.diff(lottery) > 0)).all():
        raise ProblemError("array 'lottery' must be strictly increasing within a state")
    _check_groups(arrays["group"][state], lottery)
    program = program_of(state, arrays["action"], arrays["reward"], lottery, chances, beta, arrays["group"])
    _check_lost(program, lost, horizon)
    return DiscreteProblem(replace(program, lost=lost), shape, facts["name"], horizon, start)


def _check_lost(program: Program, lost: NDArray[np.bool_], horizon: int | None) -> None:
    """Check that states with the value minus infinity have one pair, which stays, and that no other leads to them."""
    own = lost[program.state]
    into = program.chances @ lost.astype(np.float64) > 0.0
    stays = program.chances[program.lottery[own]].indices
    pairs = np.flatnonzero(lost)
    wrong = (program.reward[own] != (0.0 if horizon is None else -np.inf)).any() or not np.array_equal(stays, pairs)
    if wrong or (horizon is None and program.beta and into[program.lottery[~own]].any()):
        raise ProblemError("array 'lost' must have the states that have no action but to stay, and which none leads to")


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


def check_answers(problem: DiscreteProblem, value: NDArray[np.float64], policy: NDArray[np.int64]) -> None:
    """Check that values are finite, but minus infinity in states without an action, and that others have their action.

    With a horizon both have an axis of ages.
    """
    program = problem.program
    lost = np.broadcast_to(program.lost.reshape(problem.shape), value.shape) if problem.horizon is None else policy < 0
    check_finite({"value": np.where(lost & (value == -np.inf), 0.0, value)})
    for actions, none in zip(policy.reshape(-1, program.states), lost.reshape(-1, program.states), strict=True):
        same = program.action == actions[program.state]
        found = np.where(none, actions == -1, np.logical_or.reduceat(same, program.first[:-1]))
        if not found.all():
            state = int(np.argmin(found))
            raise ProblemError(f"{problem.state_name(state)} has no action {actions[state]}, which its policy chooses")
