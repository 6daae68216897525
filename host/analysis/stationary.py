"""The stationary distribution of a policy on its grid, computed without simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from beltline.compiled import njit
from beltline.host.analysis.chain import chain_distribution
from beltline.host.analysis.long_run import MASS_MOVES, PERIODS, SOLVED_STATES, stationary_of
from beltline.host.analysis.policy import carried, followed, policy_of
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError
from beltline.host.problem.discrete import DiscreteProblem
from beltline.host.problem.problem import Problem
from beltline.host.results.result import Result

MEETING = 1e-12
"""Total variation distance below which the distributions from the two ends of the grid count as equal."""

PATIENCE = 200
"""Number of consecutive iterations without a fall of that distance after which the iteration gives up."""

STAY_LIMIT = 1 - 2.0**-12
"""Largest probability of staying in a state for which visits are summed: a state that is never left has no end."""


@njit(cache=True)
def _stay(mass: Array, policy: NDArray[np.int32], stay: float) -> Array:
    """Return ``sum_n (stay P)^n mass`` for each row of ``mass``, where ``P`` moves mass to where the policy leads.

    It is computed as ``(1 + stay P) (1 + stay^2 P^2) (1 + stay^4 P^4) ...``, so that a visit of thousands of periods
    takes a dozen steps.
    """
    points = policy.size
    target, weight = policy.copy(), stay
    while weight > 2.0**-60:
        carried = mass.copy()
        for row in range(mass.shape[0]):
            for x in range(points):
                carried[row, target[x]] += weight * mass[row, x]
        mass = carried
        target, weight = target[target], weight * weight
    return mass


def stationary_distribution(result: Result) -> Array:
    """Compute the stationary distribution of regime, asset and exogenous state under the policy.

    Parameters
    ----------
    result : Result
        A solution with an infinite horizon.

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
    States that can all reach each other, and no other state, form a closed class. If there is exactly one, its linear
    equations are solved (:mod:`beltline.host.analysis.long_run`). With more than ``SOLVED_STATES`` states the
    distribution is iterated, for a single choice of ``x'`` at the cost ``x'`` as follows. The stationary ``mu`` solves
    ``mu_s = sum_t Q(t, s) P_t mu_t``, where ``P_t`` moves mass from ``x`` to ``policy(x, t)``. It is found by iterating
    on

        mu_s  <-  (1 - Q(s, s) P_s)^-1 sum_(t != s) Q(t, s) P_t mu_t,

    in which one step is a complete visit of a state, however long it lasts. There are two starts: all mass at the
    lowest and all mass at the highest ``x``, both with the stationary distribution of the chain over ``s``. The policy
    is non-decreasing in ``x``, so each step preserves the order of the two distributions, and every stationary
    distribution lies between them. If their total variation distance falls to ``MEETING``, the stationary distribution
    is unique (Hopenhayn and Prescott 1992) and their average is returned. Mass moves between grid points only, so the
    only errors are this distance and rounding.

    Sources
    -------
    Hopenhayn and Prescott (1992), "Stochastic monotonicity and stationary distributions for dynamic economies",
    Econometrica 60(6), 1387-1406.

    Examples
    --------
    >>> import beltline as bl
    >>> share = bl.stationary_distribution(bl.solve(bl.rbc(grid=256), progress=False))
    >>> share.shape, round(float(share.sum()), 9)
    ((256, 4), 1.0)
    """
    kept: Any = slice(None)
    if isinstance(result, Result) and isinstance(result.problem, DiscreteProblem):
        simple, ends, step = False, [], result.transitions()
        # No state leads to one with the value minus infinity.
        kept = ~result.problem.program.lost
        step = step[kept][:, kept]
    else:
        problem = followed(result, "a stationary distribution")
        simple = not problem.general
        if simple and result.value.size > SOLVED_STATES:
            return _between_ends(problem, result.policy)
        policy = policy_of(result)
        step, stops = policy.matrix(), (policy.choice < 0) & (policy.probability > 0)
        ends = [repr(result.alternatives[d]) for d in np.flatnonzero(stops.any(axis=(1, 2)))]
    if ends:
        # Mass that ends the problem stays in one more state.
        left = sparse.csr_array(1.0 - np.asarray(step.sum(axis=1)).reshape(-1, 1))
        step = sparse.block_array([[step, left], [None, sparse.eye_array(1)]], format="csr")
    mass, unique = stationary_of(step)
    if mass is None and unique:
        mass = _iterated(step)
    if mass is not None and ends:
        raise ProblemError(f"in the long run no mass is left: all take {' or '.join(ends)}, which ends the problem")
    if mass is not None:
        every = np.zeros(result.value.size)
        every[kept] = mass
        mass = every.reshape(result.value.shape)
        # What is known exactly: an elimination cannot tell states apart between which a move is less likely than 1e-16.
        return mass * (chain_distribution(problem.transition) / mass.sum(axis=0)) if simple else mass
    if simple:
        return _between_ends(problem, result.policy)
    groups = "several groups of states are never left; use a finer grid"
    if ends:
        groups = f"from some states all take {' or '.join(ends)}, which ends the problem, from others none do"
    raise ProblemError(f"the long run depends on the start: {groups}")


def _iterated(step: Any) -> Array:
    """Return the stationary distribution of a Markov matrix with a single closed class by iteration."""
    back, mass = step.T.tocsr(), np.full(step.shape[0], 1.0 / step.shape[0])
    for _ in range(PERIODS):
        before, mass = mass, back @ mass
        mass /= mass.sum()
        if 0.5 * np.abs(mass - before).sum() <= MASS_MOVES:
            return mass
    raise ProblemError(f"the distribution of {mass.size:,} states still moves after {PERIODS:,} periods")


def _between_ends(problem: Problem, policy: NDArray[np.int32]) -> Array:
    """Return the stationary distribution of a large problem of the simple form, from both ends of the grid."""
    weights = chain_distribution(problem.transition)
    stays = np.minimum(np.diag(problem.transition), STAY_LIMIT)
    moves = problem.transition - np.diag(stays)
    low, high = np.zeros((2, problem.points, problem.states))
    low[0], high[-1] = weights, weights
    policies = np.ascontiguousarray(policy.T)
    best, waited = np.inf, 0
    while waited < PATIENCE:
        entering = np.stack([carried(mass, policy, moves) for mass in (low, high)])
        for s in range(problem.states):
            both = _stay(np.ascontiguousarray(entering[:, :, s]), policies[s], float(stays[s]))
            # The sum of each is known exactly; without this factor its rounding error would grow with every step.
            both *= weights[s] / np.maximum(both.sum(axis=1, keepdims=True), np.finfo(float).tiny)
            low[:, s], high[:, s] = both
        distance = 0.5 * float(np.abs(high - low).sum())
        if distance <= MEETING:
            mean = low + high
            return np.asarray(mean / mean.sum())
        best, waited = (distance, 0) if distance < 0.999 * best else (best, waited + 1)
    means = [float(problem.grid @ mass.sum(axis=1)) for mass in (low, high)]
    raise ProblemError(
        f"on this grid of {problem.points:,} points the long run depends on the start: the mean of {problem.asset} "
        f"is {means[0]:.6g} from the lowest point and {means[1]:.6g} from the highest, so use a finer grid"
    )
