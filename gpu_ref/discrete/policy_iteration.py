"""Policy iteration: sweeps that maximise, and between them the value of the policy that was found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import gmres

from beltline.gpu_ref.discrete.pair_search import increasing, search
from beltline.gpu_ref.discrete.program import Program
from beltline.gpu_ref.tables import Array

SHARE = 0.1
"""Policies are evaluated to this share of ``(1 - beta)`` times the change of the last sweep."""

STEPS = 500
"""Most steps that hold the policy. Policy iteration converges with any number of them."""

RESTART, CYCLES = 20, 10
"""Iterations of GMRES before it begins anew, and how often it may."""

PATIENCE = 30
"""Sweeps without a least change after which a search of few pairs gives way to one of all, and policy iteration to
value iteration, whose changes fall with every sweep. Policy iteration takes some ten sweeps in all."""

NOISE = 4.0
"""A sweep that changes the value by no more than so many times its rounding cannot do better."""

STATUS = {
    "converged": "the change of the value fell below tol, or to what rounding leaves of it",
    "sweep limit": "the change did not fall below tol within max_sweeps",
    "not finite": "a value is not finite",
}
"""Every status, and what it says."""


@dataclass(frozen=True, eq=False)
class Iterated:
    """What :func:`solve` found.

    Attributes
    ----------
    value
        ``(n,)``, ``float64``, units of utility: what the last sweep returned.
    chosen
        ``(n,)``, ``int64``: the pair that it chose in every state.
    change
        Largest change of the value in the last sweep, which searched every pair unless the sweep limit ended it.
    noise
        How much of it may be rounding.
    sweeps, evaluations
        Sweeps, and pairs that they looked at.
    ordered
        Whether rewards have increasing differences, so that few pairs were looked at in sweeps before the last.
    full
        Whether the last sweep searched every pair.
    status
        A key of :data:`STATUS`.
    """

    value: Array
    chosen: NDArray[np.int64]
    change: float
    noise: float
    sweeps: int
    evaluations: int
    ordered: bool
    full: bool
    status: str


def solve(
    program: Program,
    *,
    tol: float = 1e-10,
    max_sweeps: int = 10_000,
    progress: Callable[[int, float], None] | None = None,
) -> Iterated:
    """Solve a discrete program by policy iteration.

    A sweep finds the best action of every state for the value that it begins from. Then the value of that policy is
    found, ``(I - beta P) V = R``, by steps that hold the policy (Puterman and Shin 1978) and, where ``beta`` is so near
    1 that they are too many, by GMRES (Saad and Schultz 1986), and the next sweep begins from it. (Howard 1960; with
    policies that are evaluated to a share of the last change, Gargiani, Zanelli, Liao-McPherson, Summers and Lygeros
    2022.)

    Parameters
    ----------
    program
    tol
        A sweep that changes the value by less ends the iteration, units of utility. Above 0.
    max_sweeps
        Most sweeps, at least 1.
    progress
        Called with the number of sweeps and the change after each of them.

    Example
    -------
    See :mod:`beltline.gpu_ref.discrete`.
    """
    known = ordered = increasing(program)
    V = np.maximum.reduceat(program.reward, program.first[:-1])
    evaluations = 0
    status = "sweep limit"
    least, stuck = np.inf, 0
    for sweeps in range(1, max_sweeps + 1):
        searched = ordered
        value, chosen, looked = search(program, program.expected(V), searched)
        evaluations += looked
        change = float(np.abs(value - V).max()) if np.isfinite(value).all() else np.inf
        noise = NOISE * program.rounding(V, value) if np.isfinite(change) else np.inf
        if progress is not None:
            progress(sweeps, change)
        if not np.isfinite(change):
            status = "not finite"
            break
        # Once there is no patience left with a search of every pair, it stays so.
        if ordered or stuck < PATIENCE:
            least, stuck = (change, 0) if change < least else (least, stuck + 1)
        done = change < max(tol, noise)
        if done and not searched:
            status = "converged"
            break
        if sweeps == max_sweeps:
            break
        if searched and (done or stuck >= PATIENCE):
            # What ends the iteration is a search of every pair.
            ordered, stuck = False, 0
        V = value
        if stuck < PATIENCE:
            V = _evaluated(program, chosen, value, max(SHARE * (1.0 - program.modulus) * change, noise / NOISE))
    return Iterated(value, chosen, change, noise, sweeps, evaluations, known, not searched, status)


def _evaluated(program: Program, chosen: NDArray[np.int64], start: Array, enough: float) -> Array:
    """The value of a policy, ``(n,)``, so that a step that holds it changes it by ``enough`` or less, if it can be had.

    ``start`` is the value that the sweep returned which found the policy.
    """
    reward = program.reward[chosen]
    chances = program.beta * program.chances[program.lottery[chosen]]
    last = start
    for _ in range(STEPS):
        before, last = last, reward + chances @ last
        if np.abs(last - before).max() <= enough:
            return np.asarray(last)
    system = sparse.eye_array(program.states, format="csr") - chances
    found, _ = gmres(system, reward, x0=last, rtol=0.0, atol=enough, restart=RESTART, maxiter=CYCLES)
    after = reward + chances @ found
    return np.asarray(after if np.abs(after - found).max() <= enough else last)
