"""First guesses of the value function that are computed from the problem instead of given by the user."""

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
    """Compute a first guess of the value function that is concave in ``x``, as some searches need.

    Parameters
    ----------
    problem
        The problem to be solved.
    start
        ``"stay"``: the value of staying at ``x`` for ever. ``"coarse"``: a solution on a coarse grid, interpolated to
        the grid of the problem (:mod:`beltline.gpu_ref.coarse`), if one exact sweep shows that it is closer to the
        solution than ``problem.start``. Otherwise, and on small grids, the same as ``"stay"``.
    tol
        Tolerance of the solve, in units of utility.

    Returns
    -------
    (N_k, N_z) float64 array or None
        In units of utility. If the interpolated solution is not concave, as near a borrowing limit, its least concave
        majorant. None for a problem with a horizon, and where some state cannot afford to stay at ``x``.
    """
    X, W, beta, eta = problem.grid, problem.wealth, problem.beta, problem.eta
    if problem.horizon is not None or not can_stay(X, W, eta):
        return None
    if start == "coarse" and problem.points >= FEWEST:
        interpolated = coarse_start(X, W, problem.transition, beta, eta, tol)
        if np.isfinite(interpolated).all():
            interpolated = _concave(X, interpolated)
            if nearer(X, W, problem.transition, beta, eta, problem.start, interpolated):
                return interpolated
    return _concave(X, stay_start(X, W, beta, eta))


def _concave(X: Array, value: Array) -> Array:
    return value if (slope_rise(X, value) <= 0).all() else concave_majorant(value, X)
