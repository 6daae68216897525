"""Where a policy on its grid leads in the long run, without sampling."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit
from beltline.host.analysis.chain import chain_distribution
from beltline.host.analysis.policy import carried, followed
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError
from beltline.host.results.result import Result

MEETING = 1e-12
"""Total variation distance at which distributions started from the two ends of the grid count as one."""

PATIENCE = 200
"""Steps, one after the other, without any fall of that distance, after which there is no hope of one."""

STAY_LIMIT = 1 - 2.0**-12
"""Largest probability of staying that is summed over stays of any length: a state that is never left has no end."""


@njit(cache=True)
def _stay(mass: Array, policy: NDArray[np.int32], stay: float) -> Array:
    """``sum_n (stay P)^n mass`` for each row of ``mass``, ``P`` carrying it to where the policy takes it.

    By ``(1 + stay P) (1 + stay^2 P^2) (1 + stay^4 P^4) ...``: a stay of thousands of periods is a dozen steps.
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
    """Return the share of time that the economy spends in each state in the long run, ``(N_k, N_z)``, adding up to 1.

    The stationary ``mu`` solves ``mu_s = sum_t Q(t, s) P_t mu_t``, where ``P_t`` carries mass from ``x`` to
    ``policy(x, t)``. It is found by iterating

        mu_s  <-  (1 - Q(s, s) P_s)^-1 sum_(t != s) Q(t, s) P_t mu_t,

    one visit of a state a step, however long it lasts, from two starts: all mass at the lowest and all mass at the
    highest ``x``, both with the chain's stationary distribution of ``s``. The policy is non-decreasing in ``x``, so the
    steps keep the order of the two, and any stationary distribution stays between them; where they meet, within
    ``MEETING`` in total variation, it is the only one (Hopenhayn and Prescott 1992). Their average is returned. Mass is
    carried from grid point to grid point, so there is no error but that and rounding, and no sampling.

    Raises
    ------
    ProblemError
        They do not meet: on so coarse a grid the policy has resting points that it never leaves, and the long run
        depends on the start. Or the result's policy cannot be followed for ever.

    Sources
    -------
    Hopenhayn and Prescott (1992), "Stochastic monotonicity and stationary distributions for dynamic economies",
    Econometrica 60(6), 1387-1406.
    """
    problem = followed(result, "a stationary distribution")
    weights = chain_distribution(problem.transition)
    stays = np.minimum(np.diag(problem.transition), STAY_LIMIT)
    moves = problem.transition - np.diag(stays)
    low, high = np.zeros((2, problem.points, problem.states))
    low[0], high[-1] = weights, weights
    policies = np.ascontiguousarray(result.policy.T)
    best, waited = np.inf, 0
    while waited < PATIENCE:
        entering = np.stack([carried(mass, result.policy, moves) for mass in (low, high)])
        for s in range(problem.states):
            both = _stay(np.ascontiguousarray(entering[:, :, s]), policies[s], float(stays[s]))
            # What enters sums to this but for rounding, which would grow from step to step.
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
