"""Values that an iteration can start from, besides a problem's own."""

from __future__ import annotations

from typing import Literal

import numpy as np

from beltline.gpu_ref.coarse import FEWEST, coarse_start, nearer
from beltline.gpu_ref.methods import can_stay, stay_start
from beltline.host.problem.arrays import Array
from beltline.host.problem.concavity import concave_majorant
from beltline.host.problem.problem import Problem
from beltline.host.problem.utility import slope_rise


def start_value(problem: Problem, start: Literal["stay", "coarse"], tol: float) -> Array | None:
    """Return a value to start from, concave in ``x``, which searches rest on.

    Parameters
    ----------
    problem
        What is to be solved.
    start
        ``"stay"``: the value of staying at ``x`` for ever. ``"coarse"``: a solution on few points, drawn over all
        (:mod:`beltline.gpu_ref.coarse`), where an exact sweep says that it is nearer to the solution than
        ``problem.start``; elsewhere, and with few points, as ``"stay"``.
    tol
        Of the solve, in utility.

    Returns
    -------
    float64, ``(N_k, N_z)``, units of utility; None where there is no such start: with a horizon, and where somebody
    cannot stay. Where households stop at a limit, what is drawn is not concave, and its least concave majorant is
    returned.
    """
    X, W, beta, eta = problem.grid, problem.wealth, problem.beta, problem.eta
    if problem.horizon is not None or not can_stay(X, W, eta):
        return None
    if start == "coarse" and problem.points >= FEWEST:
        drawn = coarse_start(X, W, problem.transition, beta, eta, tol)
        if np.isfinite(drawn).all():
            drawn = _concave(X, drawn)
            if nearer(X, W, problem.transition, beta, eta, problem.start, drawn):
                return drawn
    return _concave(X, stay_start(X, W, beta, eta))


def _concave(X: Array, value: Array) -> Array:
    return value if (slope_rise(X, value) <= 0).all() else concave_majorant(value, X)
