"""What a machine returned of a problem with a cost, measured in double precision by a search of all candidates.

As :mod:`beltline.host.solver.verify` does it for the simple form: one exact sweep, by
:func:`beltline.gpu_ref.general.proof.proven_column`, on the problem's own tables of doubles, with dominated candidates
and without the order in which the machine had them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.problem import Problem
from beltline.host.problem.utility import utility
from beltline.host.solver.fixed_point import Image
from beltline.host.solver.verify import DOUBLE, Miss, fixed_rounding

TIMES = 2.0
"""Sweeps that round: the machine's, and the one from what it found."""


def costly_sweep(
    problem: Problem,
    image: Image,
    before: NDArray[np.float64],
    value: NDArray[np.float64],
    policy: NDArray[np.int32],
    slack: float,
) -> tuple[float, float, Miss | None]:
    """As :func:`beltline.host.solver.verify.one_sweep`; ``policy`` has no dominated candidate."""
    # Here, because it compiles.
    from beltline.gpu_ref.general.form import Branch
    from beltline.gpu_ref.general.proof import proven_column
    from beltline.gpu_ref.tables import expectation

    (branch,) = problem.form.alternatives
    assert isinstance(branch, Branch)
    tables = branch.at()
    largest = float(max(np.abs(before).max(), np.abs(value).max())) + slack
    noise = 1.001 * DOUBLE * ((problem.states + 6) * largest + (problem.eta == 1.0))
    promise = expectation(problem.transition, np.ascontiguousarray(before), problem.beta)
    best, doubt = np.empty(promise.shape), np.zeros(promise.shape)
    exact = np.empty(promise.shape, np.int32)
    for s in range(problem.states):
        cost, wealth, low, high, own = (
            np.ascontiguousarray(table[:, s])
            for table in (tables.cost, tables.wealth, tables.low, tables.high, policy.astype(np.int32))
        )
        proven_column(
            cost, promise[s], wealth, problem.eta, False, noise, low, high, own, best[s], exact[s], doubt[s]
        )  # fmt: skip
    columns = np.arange(problem.states)
    kept, other = (problem.wealth - tables.cost[choices, columns] for choices in (policy, exact.T))
    with np.errstate(invalid="ignore"):
        loss = best.T - (utility(kept, problem.eta) + promise[columns, policy])
        loss[policy == exact.T] = 0.0
        gap = np.abs(best.T - value)
        # Of the two choices, the one that leaves less.
        least = np.minimum(kept, other)
        rounding = fixed_rounding(problem, image, least, np.abs(utility(least, problem.eta)), largest)
        allowed = slack + TIMES * (rounding + doubt.T)
        right = (kept > 0) & np.isfinite(allowed) & (gap <= allowed) & (loss <= 2.0 * allowed)
    residual, wrong = float(np.nan_to_num(gap, nan=np.inf).max()), np.argwhere(~right)
    if not wrong.size:
        return residual, float(doubt.max()), None
    x, s = (int(k) for k in wrong[0])
    return residual, float(doubt.max()), (x, s, float(np.fmax(gap[x, s], loss[x, s])), wrong.shape[0])
