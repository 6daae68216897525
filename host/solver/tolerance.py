"""The default tolerance of a problem, which depends on the scale of its utility.

Tolerances and error bounds are in units of utility, and what is small depends on those units. With ``eta = 4``, amounts
in dollars and a consumption of 50,000, the utility of all consumption is some ``1e-15``, so that a tolerance of
``1e-10`` ends every solve after one sweep with arbitrary choices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.problem import Problem

if TYPE_CHECKING:
    from beltline.host.problem.discrete import DiscreteProblem

TOL = 1e-10
"""Default tolerance, in units of utility, of problems whose scale of utility is not small."""

SHARE = 1e-8
"""Default tolerance as a share of the scale of utility, where that is less than :data:`TOL`."""

EXTREME = 0.05
"""Share of the highest and of the lowest values that their spread leaves out: a state with hardly any consumption may
have a value that is lower than all others by orders of magnitude.
"""


def utility_scale(problem: Problem | DiscreteProblem) -> float:
    """Return the scale of utility of a problem: what one percent more consumption is worth, times 100.

    That is ``c U'(c) = c**(1 - eta)`` where it is largest among the lowest and the highest amounts that can be consumed
    when ``x'`` is as low as possible. It does not change if a constant is added to utility, and it is multiplied by a
    number if utility is. With values of alternatives, taste shocks or rewards, it is at least
    their spread.

    Parameters
    ----------
    problem
        Of any form.

    Returns
    -------
    float
        In units of utility; 0 if utility does not vary, infinite if it overflows.

    Examples
    --------
    >>> import beltline as bl
    >>> round(utility_scale(bl.rbc(grid=64, eta=4.0)), 4)
    0.0304
    """
    if not isinstance(problem, Problem):
        reward = rewards_of(problem)
        return float(np.ptp(reward)) or float(np.abs(reward).max())
    if not problem.general:
        ends = [float(problem.wealth[0].min()), float(problem.wealth[-1].max())]
        return _worth([end - float(problem.grid[0]) for end in ends], problem.eta)
    from beltline.gpu_ref.general.form import Branch

    found = problem.form.sigma
    for one in problem.form.alternatives:
        if isinstance(one, Branch):
            ends = [float(one.wealth.min()), float(one.wealth.max())]
            found = max(found, _worth([end - float(one.cost.min()) for end in ends], problem.eta))
        else:
            present = one.value[np.isfinite(one.value)]
            found = max(found, float(np.ptp(present)) if present.size else 0.0)
    return found


def rewards_of(problem: DiscreteProblem) -> NDArray[np.float64]:
    """Return the rewards of the actions of a discrete problem, without those of states that have none."""
    program = problem.program
    found: NDArray[np.float64] = program.reward[~program.lost[program.state]] if program.lost.any() else program.reward
    return found


def usual_utility(problem: Problem | DiscreteProblem) -> float:
    """Return what one percent more consumption is worth, times 100, in the middle of the tables, units of utility.

    That is ``c U'(c)`` as for :func:`utility_scale`, of the amount that can be consumed at the middle grid point and
    exogenous state, or what rewards spread over without the most extreme, or the scale of taste shocks.

    Examples
    --------
    >>> import beltline as bl
    >>> round(usual_utility(bl.rbc(grid=64, eta=1.0)), 4)
    1.0
    """
    if not isinstance(problem, Problem):
        return spread(rewards_of(problem)) or utility_scale(problem)
    # With a horizon tables may have an axis of ages before these two.
    wealth = problem.wealth.reshape(-1, problem.points, problem.states)[-1, problem.points // 2, problem.states // 2]
    if not problem.general:
        return _worth([float(wealth - problem.grid[0])], problem.eta)
    from beltline.gpu_ref.general.form import Branch

    costs = [float(one.cost.min()) for one in problem.form.alternatives if isinstance(one, Branch)]
    return max(problem.form.sigma, _worth([float(wealth) - cost for cost in costs], problem.eta))


def _worth(amounts: list[float], eta: float) -> float:
    """Return the largest ``c U'(c)`` of amounts; those that are not positive do not count, but with linear utility."""
    usable = np.array([abs(c) if eta == 0.0 else c for c in amounts if c > 0.0 or eta == 0.0])
    with np.errstate(over="ignore"):
        return float((usable ** (1.0 - eta)).max(initial=0.0))


def default_tol(problem: Problem | DiscreteProblem) -> float:
    """Return the tolerance with which a problem is solved if the user gives none, in units of utility.

    :data:`TOL`, or :data:`SHARE` times :func:`utility_scale` if that is smaller.

    Examples
    --------
    >>> import beltline as bl
    >>> default_tol(bl.rbc(grid=64, eta=4.0))
    1e-10
    >>> default_tol(bl.rbc(grid=64, eta=16.0)) < 1e-15
    True
    """
    scale = utility_scale(problem)
    return min(TOL, SHARE * scale) if scale > 0.0 else TOL


def spread(value: NDArray[np.float64]) -> float:
    """Return the spread of values without the highest and lowest of :data:`EXTREME`; of all if that leaves none."""
    low, high = np.quantile(value, [EXTREME, 1.0 - EXTREME])
    return float(high - low) if high > low else float(np.ptp(value))
