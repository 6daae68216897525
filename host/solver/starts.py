"""First guesses of the value function that are computed from the problem instead of given by the user."""

from __future__ import annotations

from typing import Literal

from beltline.gpu_ref.methods import can_stay, stay_start
from beltline.gpu_ref.starts import nearest
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
        ``"stay"``: the value of staying at ``x`` for ever. ``"coarse"``: that of
        :func:`beltline.gpu_ref.starts.nearest`.
    tol
        Tolerance of the solve, in units of utility.

    Returns
    -------
    (N_k, N_z) float64 array or None
        In units of utility. If it is not concave, as near a borrowing limit, its least concave majorant. None for a
        problem with a horizon, and for ``"stay"`` where some state cannot afford to.
    """
    X, W, Q, beta, eta = problem.grid, problem.wealth, problem.transition, problem.beta, problem.eta
    if problem.horizon is not None or (start == "stay" and not can_stay(X, W, eta)):
        return None
    return _concave(
        X, stay_start(X, W, beta, eta) if start == "stay" else nearest(X, W, Q, beta, eta, tol, problem.start)
    )


def _concave(X: Array, value: Array) -> Array:
    return value if (slope_rise(X, value) <= 0).all() else concave_majorant(value, X)
