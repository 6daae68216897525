"""First guesses of the value function that are computed from the problem instead of given by the user."""

from __future__ import annotations

from typing import Literal

import numpy as np

from beltline.gpu_ref.coarse import FEWEST, coarse_start, is_guess, nearer
from beltline.gpu_ref.methods import can_stay, stay_start
from beltline.gpu_ref.spectral import Smooth, smooth_start
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
        ``"stay"``: the value of staying at ``x`` for ever. ``"coarse"``: the solution with choices between grid points,
        of a smooth problem by polynomials (:mod:`beltline.gpu_ref.spectral`), of any other on a coarse grid
        (:mod:`beltline.gpu_ref.coarse`), if exact maximisation shows that it is closer to the solution than
        ``problem.start``. Otherwise, and on small grids, the same as ``"stay"``, or ``problem.start`` if that is a
        guess (:func:`beltline.gpu_ref.coarse.is_guess`) and closer to the solution.
    tol
        Tolerance of the solve, in units of utility.

    Returns
    -------
    (N_k, N_z) float64 array or None
        In units of utility. If the solution of the coarse grid is not concave, as near a borrowing limit, its least
        concave majorant. None for a problem with a horizon, and where some state cannot afford to stay at ``x``, unless
        the problem is smooth.
    """
    X, W, beta, eta = problem.grid, problem.wealth, problem.beta, problem.eta
    if problem.horizon is not None:
        return None
    smooth: Smooth | None = None
    if start == "coarse":
        # To look at every state first would take as long as this start.
        smooth = smooth_start(X, W, problem.transition, beta, eta, tol, problem.start)
        if smooth is not None and smooth.nearer:
            return smooth.value
    if not can_stay(X, W, eta):
        return None
    if start == "coarse" and problem.points >= FEWEST:
        drawn = coarse_start(X, W, problem.transition, beta, eta, tol) if smooth is None else smooth.value
        if np.isfinite(drawn).all():
            drawn = _concave(X, drawn)
            if nearer(X, W, problem.transition, beta, eta, problem.start, drawn):
                return drawn
    stay = _concave(X, stay_start(X, W, beta, eta))
    if start == "coarse" and is_guess(problem.start):
        given = _concave(X, problem.start)
        return stay if nearer(X, W, problem.transition, beta, eta, given, stay) else given
    return stay


def _concave(X: Array, value: Array) -> Array:
    return value if (slope_rise(X, value) <= 0).all() else concave_majorant(value, X)
