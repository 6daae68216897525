"""The stationary distribution of a policy on its grid, computed without simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from beltline.compiled import njit
from beltline.host.analysis.chain import chain_distribution
from beltline.host.analysis.long_run import MASS_MOVES, PERIODS, stationary_of
from beltline.host.analysis.policy import (
    Policy,
    chain_of,
    check_result,
    followed,
    followed_by_age,
    policies_by_age,
    policy_of,
)
from beltline.host.analysis.refine import Refined, answer_of
from beltline.host.analysis.visits import DOWN, STAYS, UP, Visits, visits_of
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError
from beltline.host.problem.discrete import DiscreteProblem
from beltline.host.results.result import Result

MEETING = 1e-12
"""Error of the total of a stationary distribution, in total variation, that is allowed for."""

PASSES = 400
"""Number of passes over the grid after which the equations are solved or iterated in their place."""

EVERY, WORK = 2, 50.0
"""After how many passes masses of groups of states are brought to balance, and what a pass over a state costs in units
of the work of elimination, which takes the cube of the number of groups: both cost about the same.
"""

FLOOR = 1e-11
"""What rounding adds up to at most: what two passes move if it falls no further, or the share that leaves a state."""


@njit(cache=True)
def _one_class(
    regime: NDArray[np.int64], choice: NDArray[np.int32], share: Array, probability: Array, chain: Array, mix: Array,
    meeting: int,
) -> bool:  # fmt: skip
    """Return whether every state can reach one and the same state, by moves towards the exogenous state ``meeting``.

    Then there is exactly one closed class. One possible move is followed from each state, so that this may fail where
    there is one.
    """
    count, points, states = choice.shape
    regimes = mix.shape[1]
    distance = np.full(states, states)
    distance[meeting] = 0
    for _ in range(states):
        for d in range(count):
            for s in range(states):
                for t in range(states):
                    if chain[d, s, t] > 0.0:
                        distance[s] = min(distance[s], distance[t] + 1)
    after = np.empty((regimes, points, states), np.int64)
    for r in range(regimes):
        for x in range(points):
            for s in range(states):
                d, to, t = 0, 0, meeting
                while d < count and (regime[d] != r or probability[d, x, s] == 0.0):
                    d += 1
                while d < count and to < regimes and mix[d, to] == 0.0:
                    to += 1
                if d == count or to == regimes or choice[d, x, s] < 0:
                    return False
                for other in range(states):
                    if chain[d, s, other] > 0.0 and (chain[d, s, t] == 0.0 or distance[other] < distance[t]):
                        t = other
                # Up where the choice is above this point, down where it is below.
                j, above = choice[d, x, s], share[d, x, s]
                j += 1 if above == 1.0 or (j == x and above > 0.0) else 0
                after[r, x, s] = (to * points + j) * states + t
    next_, seen, cycles = after.reshape(-1), np.full(after.size, -1), 0
    for first in range(next_.size):
        at = first
        while seen[at] < 0:
            seen[at] = first
            at = next_[at]
        cycles += seen[at] == first
    return bool(cycles == 1)


@njit(cache=True)
def _shares(step: Array, first: int) -> Array:
    """Return the stationary distribution of the moves ``step`` between groups, all of which can reach ``first``.

    Elimination without subtraction (Grassmann, Taksar and Heyman 1985); empty where a group is never left.
    """
    size = len(step)
    order = np.arange(size)
    order[0], order[first] = first, 0
    table = step[order][:, order].copy()
    leaving = np.zeros(size)
    for k in range(size - 1, 0, -1):
        leaving[k] = table[k, :k].sum()
        if not leaving[k] > 0.0:
            return np.empty(0)
        for i in range(k):
            if table[i, k] > 0.0:
                table[i, :k] += table[i, k] / leaving[k] * table[k, :k]
    found = np.zeros(size)
    found[0] = 1.0
    for k in range(1, size):
        found[k] = (found[:k] * table[:k, k]).sum() / leaving[k]
    back = np.empty(size)
    back[order] = found / found.sum()
    return back


@njit(cache=True)
def _group(
    regime: NDArray[np.int64], choice: NDArray[np.int32], share: Array, probability: Array, chain: Array, mix: Array,
    mass: Array, blocks: int,
) -> None:  # fmt: skip
    """Bring the masses of groups of neighbouring grid points to balance, given how each is spread inside.

    Each regime and exogenous state has ``blocks`` of them. Arrays are as in :func:`_swept`.
    """
    count, states, points = choice.shape
    regimes = mass.shape[0]
    block = np.arange(points) * blocks // points
    held, flow = np.zeros((regimes, states, blocks)), np.zeros((count, states, blocks, blocks))
    for d in range(count):
        for s in range(states):
            weights = mass[regime[d], s]
            for x in range(points):
                weight = probability[d, s, x] * weights[x]
                if weight > 0.0:
                    j, above = choice[d, s, x], share[d, s, x]
                    flow[d, s, block[x], block[j]] += (1.0 - above) * weight
                    if above > 0.0:
                        flow[d, s, block[x], block[j + 1]] += above * weight
    for r in range(regimes):
        for s in range(states):
            for x in range(points):
                held[r, s, block[x]] += mass[r, s, x]
    step = np.zeros((regimes, blocks, states, regimes, blocks, states))
    for d in range(count):
        for own in range(blocks):
            for s in range(states):
                for to in range(blocks):
                    moved = flow[d, s, own, to]
                    if moved > 0.0:
                        moved /= held[regime[d], s, own]
                        for r in range(regimes):
                            if mix[d, r] > 0.0:
                                step[regime[d], own, s, r, to] += moved * mix[d, r] * chain[d, s]
    usual = np.ascontiguousarray(held.transpose(0, 2, 1)).reshape(-1)
    full = np.flatnonzero(usual > 0.0)
    moves = step.reshape(usual.size, usual.size)[full][:, full].copy()
    found = _shares(moves, int(usual[full].argmax()))
    if found.size:
        factor = np.ones(usual.size)
        factor[full] = found / usual[full]
        by_group = factor.reshape((regimes, blocks, states))
        for r in range(regimes):
            for s in range(states):
                for x in range(points):
                    mass[r, s, x] *= by_group[r, block[x], s]


@njit(cache=True)
def _carried(
    regime: NDArray[np.int64], choice: NDArray[np.int32], share: Array, probability: Array, mass: Array, arrived: Array,
    r: int, s: int,
) -> None:  # fmt: skip
    """Fill ``arrived`` with where each alternative of regime ``r`` carries the mass of exogenous state ``s``."""
    for d in range(regime.size):
        if regime[d] == r:
            own, to = mass[regime[d], s], arrived[d, s]
            cell, above, chance = choice[d, s], share[d, s], probability[d, s]
            to[:] = 0.0
            for x in range(own.size):
                weight = chance[x] * own[x]
                if weight > 0.0:
                    to[cell[x]] += (1.0 - above[x]) * weight
                    if above[x] > 0.0:
                        to[cell[x] + 1] += above[x] * weight


@njit(cache=True)
def _swept(
    regime: NDArray[np.int64], choice: NDArray[np.int32], visits: Visits, chain: Array, mix: Array, arrived: Array,
    mass: Array, r: int, t: int,
) -> float:  # fmt: skip
    """Bring the mass of regime ``r`` and exogenous state ``t`` to balance, given what comes from others.

    Arrays are ``(N_d, N_z, N_k)``, and ``mass`` is ``(N_r, N_z, N_k)``. Those who stay move along their paths: first
    from points that lead up, from the bottom, then from the others, from the top. Returns how much mass moved.
    """
    count, states, points = choice.shape
    coming, moved = np.zeros(points), 0.0
    for d in range(count):
        for s in range(states):
            weight = mix[d, r] * chain[d, s, t]
            if weight > 0.0:
                row = arrived[d, s]
                for x in range(points):
                    coming[x] += weight * row[x]
    own, stay, factor, way = mass[r, t], visits.stay[r, t], visits.factor[r, t], visits.way[r, t]
    for upwards in (True, False):
        wanted = UP if upwards else DOWN + STAYS
        for place in range(points):
            x = place if upwards else points - 1 - place
            change = coming[x] - own[x]
            if change == 0.0 or way[x] & wanted == 0:
                continue
            # What stays here for several periods is counted at once; rounding leaves no mass below 0.
            change = max(change * factor[x], -own[x])
            moved += abs(change)
            own[x] += change
            coming[x] += stay[x] * change
            for d in range(count):
                if regime[d] == r:
                    low, high, j = visits.low[d, t, x], visits.high[d, t, x], choice[d, t, x]
                    coming[j] += low * change
                    if high > 0.0:
                        coming[j + 1] += high * change
    return moved


@njit(cache=True)
def _balanced(
    regime: NDArray[np.int64], choice: NDArray[np.int32], share: Array, probability: Array, chain: Array, mix: Array,
    totals: Array, mass: Array, limit: int,
) -> bool:  # fmt: skip
    """Bring ``mass`` to balance by passes along the paths of each exogenous state, each with the newest shares.

    Arrays are as in :func:`_swept`. Between passes the masses of groups of states are, in which the slowest movements
    are seen (Koury, McAllister and Stewart 1984). ``totals`` are the known shares of exogenous states; empty if they
    are not known. Returns whether the last passes moved nothing but what rounding does.
    """
    states, points = choice.shape[1:]
    regimes, moved = mass.shape[0], np.full(EVERY + 1, np.inf)
    visits, arrived = visits_of(regime, probability, choice, share, chain, mix, 1.0 - FLOOR), np.empty(choice.shape)
    blocks = min(int((WORK * mass.size) ** (1.0 / 3.0)) // (regimes * states), points)
    for number in range(limit):
        if blocks > 1 and number % EVERY == 0:
            _group(regime, choice, share, probability, chain, mix, mass, blocks)
        for r in range(regimes):
            for s in range(states):
                _carried(regime, choice, share, probability, mass, arrived, r, s)
        moved[1:], moved[0] = moved[:-1].copy(), 0.0
        for place in range(regimes * states):
            here = place if number % 2 == 0 else regimes * states - 1 - place
            r, t = here // states, here % states
            moved[0] += _swept(regime, choice, visits, chain, mix, arrived, mass, r, t)
            _carried(regime, choice, share, probability, mass, arrived, r, t)
        if totals.size:
            for s in range(states):
                if totals[s] > 0.0:
                    mass[:, s] *= totals[s] / mass[:, s].sum()
        else:
            mass /= mass.sum()
        # Passes with and without groups in turn move less and more.
        if moved[0] <= MASS_MOVES or moved[EVERY] <= moved[0] <= FLOOR:
            return True
    return False


def stationary_distribution(result: Result | Refined, choices: str | None = None, physical: Any = None) -> Array:
    """Compute the stationary distribution of regime, asset and exogenous state under the policy.

    Parameters
    ----------
    result : Result or Refined
        A solution with an infinite horizon.
    choices : str, optional
        ``"continuous"``, the default: choices are those between grid points (:func:`beltline.refine`), and people who
        choose between two points go to either such that the mean is the choice (Young 2010). ``"grid"``: choices are
        those of ``result``, so that the distribution depends on the grid. Not used for a discrete problem.
    physical : (N_z, N_z) array, optional
        Markov matrix of the exogenous state that the distribution follows, in place of that of the problem: what
        really happens, where choices are made with other probabilities.

    Returns
    -------
    float64 array of the shape of ``result.value``
        Probability of each state in the long run; adds up to 1. With taste shocks alternatives are taken with their
        probabilities.

    Raises
    ------
    ProblemError
        The long run depends on the initial state: on a coarse grid the policy can have several points that it never
        leaves. Or an alternative ends the problem, so that no mass is left; or the result has a horizon, or a state
        without a choice.

    Notes
    -----
    The stationary ``mu`` solves ``mu = P' mu``. States that can all reach each other, and no other state, form a closed
    class; ``mu`` is unique if there is exactly one. It is found by Gauss-Seidel passes over exogenous states, between
    them by the balance of groups of neighbouring points. Those who stay in an exogenous state move along paths that
    lead up or down, so that one pass moves mass along a whole visit of it, however long it lasts. With choices
    from the grid mass moves between grid points only, and the only errors are rounding errors and what a pass still
    moves, at most 1e-13.

    Sources
    -------
    Young (2010), "Solving the incomplete markets model with aggregate uncertainty using the Krusell-Smith algorithm and
    non-stochastic simulations", Journal of Economic Dynamics and Control 34(1), 36-41. Koury, McAllister and Stewart
    (1984), "Iterative methods for computing stationary distributions of nearly completely decomposable Markov chains",
    SIAM Journal on Algebraic and Discrete Methods 5(2), 164-186. Grassmann, Taksar and Heyman (1985), "Regenerative
    analysis and steady state distributions for Markov chains", Operations Research 33(5), 1107-1116.

    Examples
    --------
    >>> import beltline as bl
    >>> share = bl.stationary_distribution(bl.solve(bl.rbc(grid=256), progress=False))
    >>> share.shape, round(float(share.sum()), 9)
    ((256, 4), 1.0)
    """
    answer = answer_of(result, choices)
    if isinstance(answer, Result) and isinstance(answer.problem, DiscreteProblem):
        if physical is not None:
            raise ProblemError("physical needs exogenous states, and a discrete problem has none")
        # No state leads to one with the value minus infinity.
        kept, found = ~answer.problem.program.lost, np.zeros(answer.value.size)
        found[kept] = _by_equations(answer.transitions()[kept][:, kept], "")
        return found.reshape(answer.value.shape)
    problem = followed(answer, "a stationary distribution")
    policy = policy_of(answer, physical=chain_of(problem, physical))
    stops = (policy.choice < 0) & (policy.probability > 0)
    if stops.any():
        ends = " or ".join(repr(answer.alternatives[d]) for d in np.flatnonzero(stops.any(axis=(1, 2))))
        step = policy.matrix()
        # Mass that ends the problem stays in one more state.
        left = sparse.csr_array(1.0 - np.asarray(step.sum(axis=1)).reshape(-1, 1))
        _by_equations(sparse.block_array([[step, left], [None, sparse.eye_array(1)]], format="csr"), ends)
        raise ProblemError(f"in the long run no mass is left: all take {ends}, which ends the problem")
    return stationary_mass(policy).reshape(answer.value.shape)


def age_distribution(
    result: Result | Refined, start: int = 0, choices: str | None = None, physical: Any = None
) -> Array:
    """Compute the distribution of regime, asset and exogenous state at each age, of people who all start at one point.

    Parameters
    ----------
    result : Result or Refined
        A solution with a horizon, all of whose ages were solved.
    start : int
        Index of the grid point at which everybody's first age begins, in the first regime. The first exogenous state
        has the stationary distribution of the Markov chain, that of the first age if it depends on age.
    choices, physical
        As of :func:`beltline.stationary_distribution`.

    Returns
    -------
    float64 array of the shape of ``result.value``
        Probability of each state at the beginning of each age; it adds up to 1, or less after an alternative that ends
        lives.

    Raises
    ------
    ProblemError
        An argument is out of range, or the result has no horizon or not all of its ages.

    Examples
    --------
    >>> import beltline as bl
    >>> share = bl.age_distribution(bl.solve(bl.life_cycle(grid=100, states=3), progress=False))
    >>> share.shape, round(float(share[-1].sum()), 9)
    ((10, 100, 3), 1.0)
    """
    answer = answer_of(result, choices)
    check_result(answer, "a distribution by age")
    problem = answer.problem
    endless = "age_distribution needs a horizon, and this problem has none: use stationary_distribution"
    policies, first, start = policies_by_age(answer, "a distribution by age", endless, start, physical)
    mass = np.zeros((len(problem.regimes), problem.points, problem.states))
    mass[0, start] = first
    return followed_by_age(policies, mass).reshape(answer.value.shape)


def stationary_mass(policy: Policy) -> Array:
    """Return the stationary distribution of a policy without ends, ``(N_r, N_k, N_z)``.

    Its equations are solved if the long run is not seen to be the same from every start by moves that are possible, and
    there are at most :data:`~beltline.host.analysis.long_run.SOLVED_STATES` states; otherwise passes begin from even
    shares of grid points.

    Raises
    ------
    ProblemError
        The long run depends on the start.
    """
    points, states = policy.choice.shape[1:]
    regimes, totals = policy.mix.shape[1], np.empty(0)
    if (policy.chain == policy.chain[0]).all():
        totals = chain_distribution(policy.chain[0])
    moves = (
        policy.regime, np.ascontiguousarray(policy.choice), np.ascontiguousarray(policy.shares),
        np.ascontiguousarray(policy.probability), policy.chain, policy.mix,
    )  # fmt: skip
    if not any(_one_class(*moves, meeting) for meeting in (0, states - 1)):
        mass, unique = stationary_of(policy.matrix())
        if not unique:
            raise ProblemError(_SEVERAL)
        if mass is not None:
            found = mass.reshape(regimes, points, states)
            if totals.size:
                # Rare changes of the exogenous state are known better than its equations are solved.
                sums = found.sum(axis=(0, 1))
                found *= np.where(sums > 0.0, totals / np.where(sums > 0.0, sums, 1.0), 1.0)
            return found
    found = np.full((regimes, states, points), 1.0 / (regimes * points * states))
    found *= (totals * states)[:, None] if totals.size else 1.0
    choice, share, probability = (np.ascontiguousarray(table.swapaxes(1, 2)) for table in moves[1:4])
    if not _balanced(policy.regime, choice, share, probability, policy.chain, policy.mix, totals, found, PASSES):
        return _by_equations(policy.matrix(), "").reshape(regimes, points, states)
    return np.ascontiguousarray(found.swapaxes(1, 2))


_SEVERAL = "the long run depends on the start: several groups of states are never left; use a finer grid"


def _by_equations(step: Any, ends: str) -> Array:
    """Return the stationary distribution of a Markov matrix; ``ends`` names alternatives that end the problem."""
    mass, unique = stationary_of(step)
    if mass is None and unique:
        mass = _iterated(step)
    if mass is None:
        several = f"the long run depends on the start: from some states all take {ends}, which ends the problem, from "
        raise ProblemError(f"{several}others none do" if ends else _SEVERAL)
    return mass


def _iterated(step: Any) -> Array:
    """Return the stationary distribution of a Markov matrix with a single closed class by iteration."""
    back, mass = step.T.tocsr(), np.full(step.shape[0], 1.0 / step.shape[0])
    for _ in range(PERIODS):
        before, mass = mass, back @ mass
        mass /= mass.sum()
        if 0.5 * np.abs(mass - before).sum() <= MASS_MOVES:
            return mass
    raise ProblemError(f"the distribution of {mass.size:,} states still moves after {PERIODS:,} periods")
