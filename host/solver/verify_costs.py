"""Verification of the accelerator's results for problems with a cost, in double precision.

As in :mod:`beltline.host.solver.verify`, one exact sweep is made on the problem's own tables. Here
:func:`beltline.gpu_ref.general.proof.proven_column` makes it, over all candidates including dominated ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.problem import Problem
from beltline.host.problem.utility import utility
from beltline.host.solver.fixed_point import Image
from beltline.host.solver.verify import DOUBLE, Swept, fixed_rounding

ROUNDED_SWEEPS = 2.0
"""Number of sweeps with rounding errors: that of the accelerator, and the exact one from its result."""


def costly_sweep(
    problem: Problem,
    image: Image,
    before: NDArray[np.float64],
    value: NDArray[np.float64],
    policy: NDArray[np.int32],
    slack: float,
) -> Swept:
    """Compare a sweep of the device with an exact sweep, as :func:`beltline.host.solver.verify.one_sweep` does.

    ``policy`` must not contain dominated candidates.
    """
    # Imported here because they load compiled code.
    from beltline.gpu_ref.general.form import Branch
    from beltline.gpu_ref.general.proof import proven_column
    from beltline.gpu_ref.tables import expectation

    (branch,) = problem.form.alternatives
    assert isinstance(branch, Branch)
    tables = branch.at()
    largest = float(max(np.abs(before).max(), np.abs(value).max())) + slack
    noise = 1.001 * DOUBLE * ((problem.states + 6) * largest + (problem.eta == 1.0))
    continuation = expectation(problem.transition, np.ascontiguousarray(before), problem.beta)
    best, doubt = np.empty(continuation.shape), np.zeros(continuation.shape)
    exact = np.empty(continuation.shape, np.int32)
    for s in range(problem.states):
        cost, wealth, low, high, own = (
            np.ascontiguousarray(table[:, s])
            for table in (tables.cost, tables.wealth, tables.low, tables.high, policy.astype(np.int32))
        )
        proven_column(
            cost, continuation[s], wealth, problem.eta, False, noise, low, high, own, best[s], exact[s], doubt[s]
        )  # fmt: skip
    columns = np.arange(problem.states)
    consumed, other = (problem.wealth - tables.cost[choices, columns] for choices in (policy, exact.T))
    with np.errstate(invalid="ignore"):
        loss = best.T - (utility(consumed, problem.eta) + continuation[columns, policy])
        loss[policy == exact.T] = 0.0
        gap = np.abs(best.T - value)
        # Rounding errors are largest for the choice with less consumption.
        least = np.minimum(consumed, other)
        rounding = fixed_rounding(problem, image, least, np.abs(utility(least, problem.eta)), largest)
        allowed = slack + ROUNDED_SWEEPS * (rounding + doubt.T)
        right = (consumed > 0) & np.isfinite(allowed) & (gap <= allowed) & (loss <= 2.0 * allowed)
    residual, wrong = float(np.nan_to_num(gap, nan=np.inf).max()), np.argwhere(~right)
    if not wrong.size:
        return residual, float(doubt.max()), None, exact.T
    x, s = (int(k) for k in wrong[0])
    return residual, float(doubt.max()), (x, s, float(np.fmax(gap[x, s], loss[x, s])), wrong.shape[0]), exact.T
