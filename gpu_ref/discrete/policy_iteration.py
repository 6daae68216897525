"""Policy iteration for discrete programs: sweeps that maximise, and between them the value of the policy found."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.discrete.all_pairs import Applied
from beltline.gpu_ref.discrete.ending import endless, merged, surely_ending
from beltline.gpu_ref.discrete.pair_search import increasing, search
from beltline.gpu_ref.discrete.policy_value import evaluable, policy_value, shifted, solved_value
from beltline.gpu_ref.discrete.program import DOUBLE, Program
from beltline.gpu_ref.tables import Array

SHARE = 0.1
"""A policy is evaluated until a step changes its value by at most this share of ``(1 - beta)`` times the change in the
last sweep.
"""

MAX_STALLED = 30
"""Number of sweeps in a row that may neither lower the smallest change so far nor find a new policy, after one whose
value was found. After that, the search of few pairs is replaced by one of all pairs; and if that fails as often, policy
iteration is replaced by value iteration, whose changes do not rise. Policy iteration usually takes some ten sweeps in
all.
"""

POLICIES = 50
"""Largest number of policies whose value is found by linear systems, after rounding has ended policy iteration."""

NEAR = 1e3
"""Where ``1 - beta`` is below the inverse of this, the last policy is evaluated to the rounding of each state."""

ROUNDINGS = 4.0
"""A sweep whose change is at most this many times its rounding error cannot be improved."""

STATUS = {
    "converged": "the change of the value fell below tol, or to what rounding leaves of it",
    "ages done": "all ages were solved",
    "sweep limit": "the change did not fall below tol within max_sweeps",
    "not finite": "a value is not finite",
}
"""Every status, with its meaning."""


@dataclass(frozen=True, eq=False)
class Iterated:
    """What :func:`solve` returns.

    Attributes
    ----------
    value
        ``(n,)``, ``float64``, units of utility: the value that the last sweep returned.
    chosen
        ``(n,)``, ``int64``: the pair that it chose in every state.
    change
        Largest change of the value in the last sweep, which searched every pair unless the sweep limit was reached.
    rounding
        Part of the change that may be rounding.
    sweeps, evaluations
        Number of sweeps, and of pairs evaluated in them.
    ordered
        Whether rewards have increasing differences, so that sweeps before the last evaluated few pairs.
    full
        Whether the last sweep searched every pair.
    given_up
        Whether value iteration has replaced policy iteration, whose policies no longer improved.
    status
        A key of :data:`STATUS`.
    """

    value: Array
    chosen: NDArray[np.int64]
    change: float
    rounding: float
    sweeps: int
    evaluations: int
    ordered: bool
    full: bool
    given_up: bool
    status: str


def solve(
    program: Program,
    *,
    tol: float = 1e-10,
    max_sweeps: int = 10_000,
    progress: Callable[[int, float], None] | None = None,
) -> Iterated:
    """Solve a discrete program by policy iteration (Howard 1960).

    A sweep finds the best action of every state given the current value. Then the value of that policy, ``(I - beta P)
    V = R``, is computed by :func:`~beltline.gpu_ref.discrete.policy_value.policy_value`, and the next sweep starts from
    it. Evaluating policies only to a share of the last change follows Gargiani, Zanelli, Liao-McPherson, Summers and
    Lygeros (2022).

    Parameters
    ----------
    program
        The discrete program.
    tol
        The iteration ends when a sweep changes the value by less than this, units of utility. Above 0.
    max_sweeps
        Largest number of sweeps, at least 1.
    progress
        Called after each sweep with the number of sweeps and the change.

    Returns
    -------
    Iterated
        Value, choices and status.

    Example
    -------
    See :mod:`beltline.gpu_ref.discrete`.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if program.beta == 1.0:
            return _ending(program, max_sweeps)
        return _iterate(program, tol, max_sweeps, progress)


def by_systems(
    program: Program, chosen: NDArray[np.int64], most: int
) -> tuple[Array, NDArray[np.int64], int, Applied | None]:
    """Improve a policy as long as its gains exceed rounding, where those of the largest values hide others (Howard
    1960).

    Each policy's value is the solution of its linear system, which has the accuracy of each state's own size: rows of
    states that do not lead to each other are not mixed. A choice moves only for a gain above the rounding of its own
    objectives. Returns value, choices, the number of policies, at most ``most``, and the operator applied to the value.
    Without discounting a value is infinite where a better policy than the first, which surely stops, may go on for
    ever; nothing is then applied to it.
    """
    count = 0
    while True:
        count += 1
        if program.beta == 1.0 and (never := endless(program, chosen)).any():
            return np.where(never, np.inf, 0.0), chosen, count, None
        value = solved_value(program, chosen)
        best = Applied(program, value)
        objective = program.reward[chosen] + best.expected[program.lottery[chosen]]
        off = best.rounding[program.lottery[chosen]] + 2.0 * DOUBLE * np.abs(objective)
        better = best.value - objective > best.error + off
        if count == most or not better.any():
            return value, chosen, count, best
        chosen = np.where(better, best.chosen, chosen)


def _ending(program: Program, max_sweeps: int) -> Iterated:
    """Solve a program without discounting."""
    one = merged(program)
    value, chosen, sweeps, after = by_systems(one.program, surely_ending(one.program), max_sweeps)
    after = after if np.isfinite(value).all() else None
    change = np.inf if after is None else float(np.abs(after.value - value).max())
    rounding = 0.0 if after is None else float(after.slack.max())
    status = "not finite" if after is None else "sweep limit" if sweeps == max_sweeps else "converged"
    pairs = one.pairs_of(program, chosen)
    return Iterated(
        value[one.place], pairs, change, rounding, sweeps, sweeps * one.program.pairs, False, True, False, status
    )


def solve_ages(program: Program, start: Array, ages: int, progress: Callable[[int, float], None] | None) -> Iterated:
    """Solve a discrete program with a finite horizon by backward induction.

    Returns value and choices of all ages, ``(T, n)``, minus infinity and -1 where every action leads to minus infinity.
    """
    ordered, evaluations, V = increasing(program), 0, start
    value, chosen = np.empty((ages, start.size)), np.empty((ages, start.size), np.int64)
    for age in reversed(range(ages)):
        value[age], chosen[age], compared = search(program, program.expected(V), ordered)
        evaluations, V = evaluations + compared, value[age]
        if progress is not None:
            progress(ages - age, np.nan)
    status = "not finite" if np.isnan(value).any() or (value == np.inf).any() else "ages done"
    return Iterated(value, chosen, np.nan, 0.0, ages, evaluations, ordered, not ordered, False, status)


def _iterate(program: Program, tol: float, max_sweeps: int, progress: Callable[[int, float], None] | None) -> Iterated:
    is_ordered = ordered = increasing(program)
    V = np.maximum.reduceat(program.reward, program.first[:-1])
    evaluations = 0
    status = "sweep limit"
    least, stalled = np.inf, 0
    seen: set[bytes] = set()
    evaluated = False
    for sweeps in range(1, max_sweeps + 1):
        searched = ordered
        value, chosen, compared = search(program, program.expected(V), searched)
        evaluations += compared
        change = float(np.abs(value - V).max()) if np.isfinite(value).all() else np.inf
        rounding = ROUNDINGS * program.rounding(V, value) if np.isfinite(change) else np.inf
        if progress is not None:
            progress(sweeps, change)
        if not np.isfinite(change):
            status = "not finite"
            break
        # Once policy iteration has been given up with a search of every pair, `stalled` stays at its limit.
        if ordered or stalled < MAX_STALLED:
            policy = hashlib.blake2b(chosen.tobytes()).digest()
            stalled = 0 if change < least or (evaluated and policy not in seen) else stalled + 1
            seen.add(policy)
            least = min(least, change)
        done = change < max(tol, rounding)
        if done and not searched:
            status = "converged"
            break
        if sweeps == max_sweeps:
            break
        if searched and (done or stalled >= MAX_STALLED):
            # The sweep that ends the iteration must search every pair.
            ordered, stalled = False, 0
        if stalled < MAX_STALLED:
            # After a sweep without progress the value is computed as accurately as rounding allows.
            wanted = max(SHARE * (1.0 - program.modulus) * change, rounding / ROUNDINGS)
            V, left = policy_value(program, chosen, value, 0.0 if stalled else wanted)
            evaluated = left <= wanted
        else:
            V = shifted(program, value, value - V)
    if status == "converged" and change >= tol * min(1.0, NEAR * program.rate) and evaluable(program):
        value, chosen, more, after = by_systems(program, chosen, POLICIES)
        assert after is not None
        sweeps += more - 1
        change, rounding = float(np.abs(after.value - value).max()), float(after.slack.max())
    given_up = stalled >= MAX_STALLED
    return Iterated(value, chosen, change, rounding, sweeps, evaluations, is_ordered, not searched, given_up, status)
