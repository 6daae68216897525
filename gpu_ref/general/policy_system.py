"""The value of a policy of a general problem by solution of a linear system, where evaluation steps take too long.

Steps need about as many as it takes the exogenous and endogenous state to forget where it began. A machine that ages by
a year in every period and is then replaced never forgets, and with a ``beta`` of 0.9999 it takes a quarter of a million
steps. The system takes one solution (:mod:`beltline.gpu_ref.corrections`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from beltline.gpu_ref.corrections import ENTRIES, by_residuals, corrected, largest
from beltline.gpu_ref.general.packed import TABLE, Packed
from beltline.gpu_ref.general.sweep import Found
from beltline.gpu_ref.tables import Array

LEFT = 0.1
"""A solution that leaves a larger share of the first change is not used."""


def policy_system(packed: Packed, found: Found, sigma: float) -> Any | None:
    """Return ``I - J``, sparse, ``(n, n)``, where ``J`` is the derivative of an evaluation step; ``None`` if too large.

    The value of regime ``r`` in state ``(x, s)`` has the number ``(x N_r + r) N_z + s``. An alternative counts where it
    is chosen, or with taste shocks by its probability. It leads from ``(x, s)`` to its ``x'`` and any ``s'`` and ``r'``
    with the probability ``Q(s, s') mix(r')``, discounted by ``beta(s)``.

    Parameters
    ----------
    packed
        The tables.
    found
        The sweep that found the policy.
    sigma
        Scale of taste shocks.
    """
    regimes, states, grid = found.value.shape
    size = regimes * states * grid
    parts: list[tuple[Array, Any, Any]] = []
    entries = size
    for d in np.flatnonzero(packed.kind != TABLE):
        r = int(packed.regime[d])
        share = found.probabilities[d] if sigma > 0.0 else (found.choice[r] == d).astype(np.float64)
        regime = np.flatnonzero(packed.mix[d])
        for s in range(states):
            x = np.flatnonzero((share[s] > 0.0) & (found.policy[d, s] >= 0))
            to = np.flatnonzero(packed.transition[d, s])
            entries += x.size * to.size * regime.size
            if entries > ENTRIES:
                return None
            chance = packed.beta[d, s] * packed.mix[d, regime][:, None] * packed.transition[d, s, to]
            first = regime[:, None] * states + to
            columns = first.reshape(-1, 1) + found.policy[d, s, x] * (regimes * states)
            rows = np.broadcast_to(x * (regimes * states) + r * states + s, columns.shape)
            parts.append((np.outer(chance, share[s, x]).ravel(), rows.ravel(), columns.ravel()))
    if not parts:
        return sparse.eye_array(size, format="csr")
    weight, row, column = (np.concatenate([part[k] for part in parts]) for k in range(3))
    return sparse.eye_array(size, format="csr") - sparse.csr_array((weight, (row, column)), shape=(size, size))


def solved(packed: Packed, found: Found, V: Array, sigma: float, step_tol: float) -> Array | None:
    """Return the value of the policy that a sweep found, ``(N_r, N_z, N_k)``; ``None`` if it cannot be computed.

    A policy fixes the choice of ``x'`` and of the alternative. With taste shocks the operator ``T`` is replaced by its
    tangent at ``V``, so that this is a step of Newton's method.

    Parameters
    ----------
    packed, sigma
        As for :func:`policy_system`.
    found
        What the sweep found, with ``T V``.
    V
        ``(N_r, N_z, N_k)``, units of utility: the value from which it began.
    step_tol
        The value is accepted where the operator of the policy changes it by no more than this, units of utility.
    """
    system = policy_system(packed, found, sigma)
    if system is None:
        return None
    before, after = (np.moveaxis(one, 2, 0).ravel() for one in (V, found.value))

    def step(value: Array) -> tuple[Array, Array]:
        moved = value - before
        reached = after + moved - system @ moved
        return reached, reached - value

    # A correction that is not finite is not taken.
    with np.errstate(over="ignore", invalid="ignore"):
        first = largest(step(after)[1])
        value, left = corrected(system, step, after, step_tol, (by_residuals,))
    if left > max(step_tol, LEFT * first):
        return None
    return np.ascontiguousarray(np.moveaxis(value.reshape(V.shape[2], *V.shape[:2]), 0, 2))
