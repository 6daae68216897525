"""Certify a value of a discrete program and its choices, by state (:mod:`beltline.gpu_ref.bounds` has the argument).

Every pair is evaluated once more.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.bounds import IMPROVABLE, ROUND_UP, Certified, bound_by_state, status_of, uniform_bound
from beltline.gpu_ref.discrete.all_pairs import Applied, PossiblePairs, distance
from beltline.gpu_ref.discrete.ending import merged
from beltline.gpu_ref.discrete.policy_iteration import NEAR, by_systems
from beltline.gpu_ref.discrete.policy_value import evaluable
from beltline.gpu_ref.discrete.program import DOUBLE, Program, program_of
from beltline.gpu_ref.tables import Array

Numbers = NDArray[np.int64]

ROUNDS, SMALL = 20, 1e-305
"""Largest number of guesses of a bound without discounting, and the smallest change that it covers."""

PERIODS = 100
"""After this number of periods the state with the most mass is one that is often reached."""


def certify(program: Program, value: Array, pairs: Numbers | None = None) -> Certified:
    """Certify a value, ``(n,)``, finite but in lost states, and the chosen pairs; by default the best ones.

    The policy of the result has pairs, -1 in lost states.
    """
    lost = program.lost
    known = np.where(lost, 0.0, value)
    applied = Applied(program, known)
    bound = _bound(applied, known)
    differences = bound
    if 0.0 < NEAR * program.rate < 1.0 and np.isfinite(bound).all():
        # Choices do not depend on what all values have in common.
        relative = relative_bound(program, known, float(bound.max()))
        differences = relative if relative.max() < bound.max() else bound
    found = _proven(
        applied, known, differences, bound, None if pairs is None else np.where(lost, program.first[:-1], pairs)
    )
    # No pair leads to a lost state.
    wrong = np.where(value == -np.inf, 0.0, np.inf)
    off, error = (np.where(lost, wrong, each) for each in (found.off, bound))
    return replace(found, off=off, error=error, policy=np.where(lost, -1, found.policy))


def certify_ages(program: Program, value: Array, start: Array, pairs: Numbers | None = None) -> Certified:
    """Certify the values of all ages, ``(T, n)``, the last of which is followed by ``start``, and the chosen pairs."""
    after, bound, found = start, np.zeros(start.size), []
    for age in reversed(range(value.shape[0])):
        applied, before, here = Applied(program, after), bound, value[age]
        bound = (applied.off(here) + PossiblePairs(applied, before).most) * ROUND_UP
        found.append(_proven(applied, here, before, bound, None if pairs is None else pairs[age]))
        after = here
    each = zip(*((one.off, one.error, one.policy, one.status, one.loss) for one in found[::-1]), strict=True)
    off, error, policy, status, loss = map(np.stack, each)
    return Certified(off, error, policy, None, status, loss)


def _bound(applied: Applied, value: Array) -> Array:
    """Bound ``|V - V*|`` by state for an infinite horizon."""
    program = applied.program
    if program.beta < 1.0:
        sums = program.chances.sum(axis=1)
        least = float(program.beta * sums.min() * (1.0 - (program.width + 2) * DOUBLE))
        bound = bound_by_state(applied.off(value), program.modulus, least, lambda w: PossiblePairs(applied, w))
        near = NEAR * program.rate < 1.0 and evaluable(program)
        return np.minimum(bound, bound_by_systems(applied, value)) if near else bound
    one = merged(program)
    same = np.full(one.program.states, -np.inf)
    np.maximum.at(same, one.place, value)
    bound = bound_by_systems(Applied(one.program, same), same)
    return (bound[one.place] + np.abs(value - same[one.place])) * ROUND_UP


def relative_bound(program: Program, value: Array, bound: float) -> Array:
    """Bound by state how far the differences of a finite value from that of one state are off, for ``beta`` below 1.

    Near ``beta = 1`` a residual ``d`` moves all values by up to ``d / (1 - beta)``, but differences by ``d`` times the
    number of periods until that state is reached. The differences solve a program that ends there, with the gain
    ``(1 - beta) V`` of that state taken from rewards. It is known up to ``1 - beta`` times ``bound``, that on
    ``|V - V*|``. Infinite if systems are too large.
    """
    if not evaluable(program):
        return np.full(value.shape, np.inf)
    applied = Applied(program, value)
    mass = np.full(value.shape, 1.0 / value.size)
    for _ in range(PERIODS):
        mass = program.chances[program.lottery[applied.chosen]].T @ mass
    gain = bound * float(np.abs(1.0 - program.beta * program.chances.sum(axis=1)).max()) + DOUBLE * bound
    return bound_by_systems(applied, value, int(mass.argmax()), 1.01 * gain) + 1.01 * gain


def bound_by_systems(applied: Applied, value: Array, root: int = -1, more: float = 0.0) -> Array:
    """Bound ``|V - V*|`` by state, also without discounting in a merged program (:mod:`.ending`).

    ``w`` is a bound if ``off + P_i w <= w`` for all candidates ``i`` that are possible given ``w``: ``V + w`` is then
    at least its image under ``T``, so no policy is worth more, and ``V - w`` is at most its own under the best pairs
    given ``V``. The smallest such ``w`` is the value of a program with the reward ``off``. Infinite if some possible
    pairs may be taken for ever. In state ``root`` it is 0, and ``more`` is how far the rewards of all pairs may be off.
    """
    program, off = applied.program, np.maximum(applied.off(value), SMALL) + more
    chances = program.chances.copy()
    chances.data[chances.indices == root] = 0.0
    up = 1.0 + (program.width + 8) * DOUBLE
    mask = np.zeros(program.pairs, np.bool_)
    mask[applied.chosen] = True
    guess = np.zeros(value.shape)
    for _ in range(ROUNDS):
        number = np.flatnonzero(mask)
        at, own = program.state[number], program.lottery[number]
        longest = program_of(at, number, off[at], own, chances, program.beta)
        bound = 1.01 * by_systems(longest, np.searchsorted(number, applied.chosen), program.states)[0]
        steps = np.maximum.reduceat((off[at] + longest.expected(bound)[own]) * up, longest.first[:-1])
        if not (np.isfinite(bound) & (steps <= bound)).all():
            break
        if root >= 0:
            bound[root] = 0.0
        if (bound <= guess).all():
            return bound
        guess = 1.1 * np.maximum(bound, guess)
        mask = PossiblePairs(applied, guess + 1.1 * more).pairs
    return np.full(value.shape, np.inf)


def _proven(applied: Applied, value: Array, after: Array, bound: Array, pairs: Numbers | None) -> Certified:
    """Return what is known of a value, with bounds on the errors of the value that it was computed from and of it."""
    program, best = applied.program, applied.chosen >= 0
    policy = np.where(best, applied.chosen, program.first[:-1])
    given = policy if pairs is None else np.where(best & (pairs >= 0), pairs, policy)
    maximal = given == policy if pairs is None else (given == policy) & (~best | (pairs >= 0))
    objective = program.reward[given] + applied.expected[program.lottery[given]]
    off = applied.rounding[program.lottery[given]] + 4.0 * DOUBLE * (np.abs(objective) + np.abs(applied.value))
    with np.errstate(invalid="ignore"):
        loss = np.where(maximal, 0.0, np.where(given == policy, np.inf, applied.value - objective))
        lead = np.where(np.isfinite(loss), loss - applied.error - off, loss)
    own = most = other = np.full(value.shape, np.inf)
    if np.isfinite(after).all():
        choices = PossiblePairs(applied, after)
        own, most, other = choices.error_of(given), choices.most, choices.own
    status = status_of(maximal, applied.gap, lead, own, most, other)
    return Certified(distance(applied.value, value), bound, applied.chosen, None, status, loss)


class Measured(NamedTuple):
    """How far a solution of a solver is from what it promises.

    Attributes
    ----------
    residual, error_bound
        Largest ``|TV - V|``, and a bound on the largest ``|V - V*|``, rounding included, units of utility.
    chosen
        The best pairs given the value: the given ones, except where another is better.
    missed
        Number of states whose choice loses, or whose value is off, by more than the last change and rounding explain.
    state, amount, better
        The state with the largest of these errors (-1 without errors), its error in units of utility, and whether
        another choice is better there; otherwise the value is wrong.
    """

    residual: float
    error_bound: float
    chosen: Numbers
    missed: int = 0
    state: int = -1
    amount: float = 0.0
    better: bool = False


def measured(program: Program, value: Array, chosen: Numbers, change: float, start: Array | None = None) -> Measured:
    """Measure a finite value and chosen pairs from a sweep that changed the value by up to ``change``.

    With the value ``start`` after the last age they are those of all ages.
    """
    if start is not None or program.beta == 1.0:
        if start is None:
            found = certify(program, np.where(program.lost, -np.inf, value), chosen)
        else:
            found = certify_ages(program, value, start, chosen)
        wrong = found.status == IMPROVABLE
        at = int(np.argmax(np.where(wrong, found.loss, -1.0)))
        worst = at % program.states, float(found.loss.flat[at]), True
        return Measured(float(found.off.max()), float(found.error.max()), chosen, int(wrong.sum()), *worst)
    applied = Applied(program, value)
    residual = float(np.abs(applied.value - value).max())
    off = applied.off(value)
    bound = uniform_bound(float(off.max()), program.modulus)
    # The value is T of a value at most `change` away, so its choices may lose twice modulus * change here.
    allowed = program.modulus * change + 2.0 * applied.slack
    own = np.maximum(chosen, 0)
    right = (program.first[:-1] <= chosen) & (chosen < program.first[1:])
    objective = program.reward[own] + applied.expected[program.lottery[own]]
    loss = np.where(right, applied.value - objective, np.inf)
    gap = np.abs(applied.value - value)
    exact = np.where(loss > 0.0, applied.chosen, chosen)
    lost, wrong = loss > 2.0 * allowed, gap > allowed
    if not (lost | wrong).any():
        return Measured(residual, bound, exact)
    amounts = np.maximum(np.where(lost, loss, 0.0), np.where(wrong, gap, 0.0))
    state = int(amounts.argmax())
    return Measured(residual, bound, exact, int((lost | wrong).sum()), state, float(amounts[state]), bool(lost[state]))
