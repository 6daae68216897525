"""Policy evaluation by steps that hold the choices, and corrections by regime and exogenous state between them.

Most of what a step leaves of the error is the same at every ``x``. So let ``d = T_g V - V`` be the change of a step,
``D(r, s)`` its mean over ``x``, and ``M`` what a value that is the same at every ``x`` becomes in a step::

    M(r, s; r', s') = sum_d share_d(r, s) beta_d(s) Q_d(s, s') mix_d(r')

with ``share_d`` the part of the ``x`` that takes alternative ``d``, or its mean probability. The correction is
``(I - M)^-1 M D``, added at every ``x``: exact where ``d`` does not depend on ``x``, and where everybody of a regime
takes the same alternative. With one regime and one alternative it is the shift of :mod:`beltline.gpu_ref.methods`.
(Bertsekas and Castanon 1989, "Adaptive aggregation methods for infinite horizon dynamic programming", IEEE Transactions
on Automatic Control 34(6).)

Nothing of this is taken on trust: it decides from where the next maximising sweep begins. A correction after which
steps change the value by no less than before is undone, and no other is made.
"""

from __future__ import annotations

import numpy as np

from beltline.compiled import njit
from beltline.gpu_ref.general.packed import Packed
from beltline.gpu_ref.general.sweep import Choices, Found, held
from beltline.gpu_ref.tables import Array

CYCLE = 3
"""Steps after a correction."""

LARGEST = 256
"""Most pairs of a regime and an exogenous state; a larger system of equations takes longer than the steps it saves."""


def evaluated(packed: Packed, found: Found, choices: Choices, sigma: float, steps: int, enough: float) -> Array:
    """The value after about ``steps`` steps that hold ``choices`` from that of a sweep, ``(N_r, N_z, N_k)``.

    Parameters
    ----------
    packed, sigma
        As of :func:`beltline.gpu_ref.general.sweep.held`.
    found
        The sweep; its value is finite.
    choices
        Of it, at its tables.
    steps
        Most steps, at least 1.
    enough
        A step that changes the value by no more ends it, units of utility.
    """
    V = held(packed, found.value, choices, sigma, 1)
    change = V - found.value
    largest, left = float(np.abs(change).max()), steps - 1
    moves = _moves(packed, found, sigma) if left > 1 and largest > enough else None
    while moves is not None and left > 1 and largest > enough:
        count = min(left, CYCLE)
        last = V + _correction(moves, change)[:, :, None]
        last = held(packed, last, choices, sigma, count - 1)
        after = held(packed, last, choices, sigma, 1)
        left -= count
        new = after - last
        if not float(np.abs(new).max()) < largest:
            moves = None
            break
        V, change, largest = after, new, float(np.abs(new).max())
    return V if moves is not None or largest <= enough else held(packed, V, choices, sigma, left)


def _moves(packed: Packed, found: Found, sigma: float) -> Array | None:
    """``M``, ``(N_r N_z, N_r N_z)``, or nothing where it is too large, or does not shrink."""
    regimes, states, _ = found.value.shape
    if regimes * states > LARGEST:
        return None
    moves = np.zeros((regimes, states, regimes, states))
    for d in range(packed.kind.size):
        r = packed.regime[d]
        share = (found.probabilities[d] if sigma > 0.0 else found.choice[r] == d).mean(axis=1)
        weights = (share * packed.beta[d])[:, None] * packed.transition[d]
        for q in np.flatnonzero(packed.mix[d]):
            moves[r, :, q, :] += packed.mix[d, q] * weights
    flat = moves.reshape(regimes * states, regimes * states)
    return flat if flat.sum(axis=1).max() < 1.0 - 1e-6 else None


@njit(cache=True)
def _correction(moves: Array, change: Array) -> Array:
    """``(I - M)^-1 M D``, ``(N_r, N_z)``, by elimination: rows of ``M`` sum to less than 1, so no pivots are sought."""
    regimes, states, grid = change.shape
    size = regimes * states
    system, right = -moves, np.zeros(size)
    for k in range(size):
        total = 0.0
        for x in range(grid):
            total += change[k // states, k % states, x]
        for i in range(size):
            right[i] += moves[i, k] * (total / grid)
        system[k, k] += 1.0
    for k in range(size):
        # Slices, whose indexes from 0 the compiler knows not to be negative, so that it takes several at a time.
        row = system[k, k + 1 :]
        for i in range(k + 1, size):
            factor = system[i, k] / system[k, k]
            if factor != 0.0:
                own = system[i, k + 1 :]
                for j in range(own.size):
                    own[j] -= factor * row[j]
                right[i] -= factor * right[k]
    for k in range(size - 1, -1, -1):
        for j in range(k + 1, size):
            right[k] -= system[k, j] * right[j]
        right[k] /= system[k, k]
    return right.reshape(regimes, states)
