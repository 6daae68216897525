"""Policy evaluation by steps with fixed choices, and corrections by regime and exogenous state between them.

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
from beltline.gpu_ref.general.candidates import Indexes
from beltline.gpu_ref.general.packed import Packed
from beltline.gpu_ref.general.policy_evaluation import Choices, evaluation_steps
from beltline.gpu_ref.general.sweep import Found
from beltline.gpu_ref.tables import Array

CYCLE = 3
"""Steps after a correction."""

LARGEST = 256
"""Most pairs of a regime and an exogenous state; a larger system of equations takes longer than the steps it saves."""


def evaluated(packed: Packed, found: Found, choices: Choices, sigma: float, steps: int, enough: float) -> Array:
    """The value after about ``steps`` steps with fixed ``choices`` from that of a sweep, ``(N_r, N_z, N_k)``.

    Parameters
    ----------
    packed, sigma
        As of :func:`beltline.gpu_ref.general.policy_evaluation.evaluation_steps`.
    found
        The sweep; its value is finite.
    choices
        Of it, at its tables.
    steps
        Most steps, at least 1.
    enough
        A step that changes the value by no more ends it, units of utility.
    """
    last = evaluation_steps(packed, found.value, choices, sigma, 1)
    left = steps - 1
    moves = _moves(packed, found, sigma) if left > 1 and last.largest > enough else None
    while moves is not None and left > 1 and last.largest > enough:
        count = min(left, CYCLE)
        left -= count
        begin = last.value + _correction(moves, last.mean)[:, :, None]
        after = evaluation_steps(packed, begin, choices, sigma, count)
        if not after.largest < last.largest:
            moves = None
            break
        last = after
    if left and moves is None and last.largest > enough:
        return evaluation_steps(packed, last.value, choices, sigma, left).value
    return last.value


def _moves(packed: Packed, found: Found, sigma: float) -> Array | None:
    """``I - M``, ``(N_r N_z, N_r N_z)``, eliminated, or nothing where it is too large, or ``M`` does not shrink."""
    regimes, states, _ = found.value.shape
    if regimes * states > LARGEST:
        return None
    system = np.empty((regimes * states, regimes * states))
    taken = found.probabilities if sigma > 0.0 else found.values[:, :, :0]
    return system if _eliminated(packed, found.choice, taken, system) else None


@njit(cache=True)
def _eliminated(packed: Packed, choice: Indexes, taken: Array, system: Array) -> bool:
    """Fill ``system`` with ``I - M`` and eliminate: factors below the diagonal; or say that ``M`` does not shrink.

    ``choice`` is ``(N_r, N_z, N_k)``, ``taken`` ``(N_d, N_z, N_k)`` probabilities, or empty where there are no taste
    shocks. Rows of ``M`` sum to less than 1, so no pivots are sought.
    """
    regimes, states, grid = choice.shape
    system[:] = 0.0
    for d in range(packed.kind.size):
        r = packed.regime[d]
        for s in range(states):
            share = 0.0
            for x in range(grid):
                share += taken[d, s, x] if taken.size else 1.0 if choice[r, s, x] == d else 0.0
            for q in range(regimes):
                weight = share / grid * packed.beta[d, s] * packed.mix[d, q]
                if weight != 0.0:
                    system[r * states + s, q * states : (q + 1) * states] -= weight * packed.transition[d, s]
    for k in range(regimes * states):
        # Entries of -M are not above 0.
        if not system[k].sum() > 1e-6 - 1.0:
            return False
    for k in range(regimes * states):
        system[k, k] += 1.0
    for k in range(regimes * states):
        # Slices, whose indexes from 0 the compiler knows not to be negative, so that it takes several at a time.
        row = system[k, k + 1 :]
        for i in range(k + 1, regimes * states):
            factor = system[i, k] / system[k, k]
            system[i, k] = factor
            if factor != 0.0:
                own = system[i, k + 1 :]
                for j in range(own.size):
                    own[j] -= factor * row[j]
    return True


@njit(cache=True)
def _correction(system: Array, mean: Array) -> Array:
    """``(I - M)^-1 M D``, ``(N_r, N_z)``, with the ``system`` of :func:`_eliminated`: ``(I - M)^-1 D`` less ``D``."""
    found = mean.copy()
    right = found.reshape(-1)
    for k in range(right.size):
        for i in range(k):
            right[k] -= system[k, i] * right[i]
    for k in range(right.size - 1, -1, -1):
        for j in range(k + 1, right.size):
            right[k] -= system[k, j] * right[j]
        right[k] /= system[k, k]
    return found - mean
