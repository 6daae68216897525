"""Sweeps that brackets prove, as those of the general form (``general.cu``), where single peaks are in doubt.

A table problem is a general one with one regime and one alternative. Its sweeps begin from the policy at hand and are
many to a launch; between them choices are held for :data:`STEPS` steps, as policy evaluation does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.cuda.general import CONVERGED, LIMIT, RUNNING, CudaOperator
from beltline.gpu_ref.general.form import Branch, Form
from beltline.gpu_ref.methods import Arguments, Solution, error_bound, largest_value
from beltline.gpu_ref.tables import Array

STEPS = 20
"""Steps of policy evaluation between sweeps, from the second on."""

MOST = 200
"""Most sweeps: with held choices between them a dozen do, but where roundings keep two choices in turns."""


def prove(cupy: Any, problem: Arguments, V: Array, policy: NDArray[np.int32], sweeps: int) -> Solution | None:
    """Go on from ``V``, ``(N_k, N_z)``, and a policy to begin from, until the largest change is below ``epsilon``, for
    at most :data:`MOST` sweeps.

    ``sweeps`` are those before, all of them with a maximisation. Says nothing where the general form has no place for
    the problem, as where a state can afford no choice, or where a value is not finite.
    """
    if not np.isfinite(V).all() or sweeps >= problem.max_sweeps:
        return None
    points, states = problem.W.shape
    left = problem.max_sweeps - sweeps
    steps = STEPS if left > STEPS else 0
    try:
        cost = np.broadcast_to(problem.X[:, None], (points, states))
        form = Form((Branch("choose", 0, problem.W, cost, problem.Q, np.full(states, problem.beta)),), problem.eta)
        operator = CudaOperator(cupy, form)
    except (ValueError, MemoryError):
        return None
    operator.begin(V.T[None], policy.T[None])
    outcome = {"status": RUNNING}
    while outcome["status"] == RUNNING:
        outcome = operator.launch(problem.epsilon, min(MOST, 1 + (left - 1) // (1 + steps)), steps)
    last, before = operator.iterate(form, outcome), operator.before(outcome)
    value, choices = np.ascontiguousarray(last.value[0]), np.ascontiguousarray(last.policy[0], np.int32)
    if outcome["status"] not in (CONVERGED, LIMIT) or (choices < 0).any():
        return None
    change, done = float(outcome["change"]), int(outcome["sweeps"])
    largest = max(largest_value(before), largest_value(value))
    bound = error_bound(change, value, problem.Q, problem.beta, problem.eta, largest, float(outcome["slack"]))
    return Solution(
        value=value,
        policy=choices,
        sweeps=sweeps + done + steps * (done - 1),
        maximising_sweeps=sweeps + done,
        residual=change,
        error_bound=bound,
        converged=change < problem.epsilon,
        method=problem.method,
        previous=before,
    )
