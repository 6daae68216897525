"""The default tolerance of a problem, and whether an error bound says anything about its solution.

Tolerances and error bounds are in units of utility, and what is small depends on those units. With ``eta = 4``, amounts
in dollars and a consumption of 50,000, the utility of all consumption is some ``1e-15``, so that a tolerance of
``1e-10`` ends every solve after one sweep with choices that mean nothing.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.problem import Problem
from beltline.host.results.outcome import Outcome

if TYPE_CHECKING:
    from beltline.host.problem.discrete import DiscreteProblem

TOL = 1e-10
"""Default tolerance, in units of utility, of problems whose scale of utility is not small."""

SHARE = 1e-8
"""Default tolerance as a share of the scale of utility, where that is less than :data:`TOL`."""

LIMITED = "rounding errors of double precision allow no better"
"""What the message says where nothing lowers an error bound."""

RESCALE = "use units in which values are of similar size"
"""What lowers an error bound that comes from rounding alone."""

EXTREME = 0.05
"""Share of the highest and of the lowest values that their spread leaves out: a state with hardly any consumption may
have a value that is lower than all others by orders of magnitude.
"""

NOTICEABLE, LARGEST = 1e-3, 0.1
"""Shares of the spread of ``V`` above which an error bound is mentioned, and above which it is no success."""

EXACT, CLOSE = 1e-9, 1e-3
"""Shares of the median of ``|V|`` up to which an error bound is not mentioned, and up to which it is a success
whatever the spread: all values may be equal, or so large with ``beta`` near 1 that they differ little.
"""


def utility_scale(problem: Problem | DiscreteProblem) -> float:
    """Return the scale of utility of a problem: what one percent more consumption is worth, times 100.

    That is ``c U'(c) = c**(1 - eta)`` where it is largest among the lowest and the highest amounts that can be consumed
    when ``x'`` is as low as possible. It does not change if a constant is added to utility, and it is multiplied by a
    number if utility is. With values of alternatives, taste shocks or rewards, it is at least their
    spread.

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
        reward = problem.program.reward
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


def promised(tol: float, modulus: float) -> float:
    """Return the error bound that a tolerance leads to, units of utility, if rounding errors are no larger.

    Examples
    --------
    >>> promised(1e-10, 0.99) < 2.1e-8
    True
    """
    return 2.0 * tol / (1.0 - modulus) if modulus < 1.0 else 0.0


UNBOUNDED = " The error has no finite bound: values are too large, or the discount factor is too close to 1."
"""Sentence for the message of a result without an error bound."""


def judged(
    outcome: Outcome,
    message: str,
    value: NDArray[np.float64],
    bound: float,
    cure: str = LIMITED,
    expected: float = 0.0,
    chosen: bool = True,
    unbounded: str = UNBOUNDED,
) -> tuple[Outcome, str]:
    """Return outcome and message of a solve that ended, in the light of its error bound.

    A bound that is infinite, or above :data:`LARGEST` of the spread of the value function, says too little about it:
    the solve is then no success, unless the user's own ``tol`` leads to this bound. A bound of more than
    :data:`NOTICEABLE` of the spread is mentioned.

    Parameters
    ----------
    outcome, message
        As they are without a look at the bound. Other outcomes than success are returned as they are.
    value
        ``V``, of any shape, units of utility.
    bound
        Bound on ``|V - V*|``, units of utility.
    cure
        What may lower the bound, as an imperative.
    expected
        The bound to which ``tol`` leads (:func:`promised`). Up to it a lower ``tol`` is the cure.
    chosen
        Whether the user has chosen ``tol``.
    unbounded
        Sentence for the message if the bound is infinite, with a space before it.

    Examples
    --------
    >>> import numpy
    >>> outcome, message = judged(Outcome.CONVERGED, "Done.", numpy.array([0.0, 1.0]), 2.0)
    >>> outcome.value
    'too inexact'
    >>> message.split(", so that ")[0]
    'Done. The error bound, 2, is not below the spread of the values without the most extreme, 0.9'
    """
    if outcome not in (Outcome.CONVERGED, Outcome.FINISHED):
        return outcome, message
    if not math.isfinite(bound):
        return Outcome.NOT_VERIFIED, message + unbounded
    # Almost always these two states decide, so that the others are not read.
    eighth = value.size // 8
    if bound <= NOTICEABLE * abs(float(value.flat[eighth]) - float(value.flat[value.size - 1 - eighth])):
        return outcome, message
    size, spread = float(np.median(np.abs(value))), _spread(value)
    if bound <= max(NOTICEABLE * spread, EXACT * size):
        return outcome, message
    share = f"{100 * bound / spread:.2g}% of" if bound < spread else "not below"
    without = f"the spread of the values without the most extreme, {spread:.2g}"
    compared = f"{message} The error bound, {bound:.2g}, is {share} {without}, so that"
    cure = "lower tol" if bound <= expected else cure
    if bound <= max(LARGEST * spread, CLOSE * size, expected if chosen else 0.0):
        return outcome, f"{compared} choices may differ from those of the exact solution: {cure}."
    return Outcome.INEXACT, f"{compared} it says too little about them: {cure}."


def _spread(value: NDArray[np.float64]) -> float:
    """Return the spread of the values without the highest and lowest of :data:`EXTREME`; of all if that leaves none."""
    low, high = np.quantile(value, [EXTREME, 1.0 - EXTREME])
    return float(high - low) if high > low else float(np.ptp(value))
