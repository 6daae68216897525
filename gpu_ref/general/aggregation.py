"""Accelerate policy evaluation by corrections that are constant in ``x`` (aggregation and disaggregation).

Most of the error that remains after an evaluation step is the same at every ``x``. Let ``d = T_g V - V`` be the change
in a step, ``D(r, s)`` its mean over ``x``, and ``M`` the matrix by which a step maps a value that is constant in
``x``::

    M(r, s; r', s') = sum_d share_d(r, s) beta_d(s) Q_d(s, s') mix_d(r')

where ``share_d`` is the share of the ``x`` that choose alternative ``d``, or its mean probability. The correction is
``(I - M)^-1 M D``, added at every ``x``. It is exact if ``d`` does not depend on ``x`` and everyone in a regime chooses
the same alternative. With one regime and one alternative it is the shift of :mod:`beltline.gpu_ref.methods`. Source:
Bertsekas and Castanon (1989), "Adaptive aggregation methods for infinite horizon dynamic programming", IEEE
Transactions on Automatic Control 34(6).

The result does not depend on these corrections being good: they only change the value from which the next maximising
sweep starts. If the steps after a correction do not change the value by less than before, the correction is undone, and
no other is made.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit
from beltline.gpu_ref.general.candidates import Indexes
from beltline.gpu_ref.general.form import Form
from beltline.gpu_ref.general.packed import Packed
from beltline.gpu_ref.tables import Array

CYCLE = 3
"""Evaluation steps after each correction."""

LARGEST = 256
"""Largest number of pairs of regime and exogenous state for which corrections are made. Larger systems of equations
take longer than the steps they save.
"""


MOVED = 0.1
"""While no share moves by more than this, the factors of ``I - M`` are kept: they take as long as several steps."""

LEAST_RATE = 1e-12
"""Corrections are made if 1 exceeds the row sums of ``M`` by more than this. Nearer to 1 they would be rounding errors.
"""


def memory(form: Form) -> tuple[Array, Array]:
    """Return ``shares`` and ``system`` of :func:`factorised` for a first call; empty if the system is too large."""
    regimes, _, states = form.shape
    size = regimes * states if regimes * states <= LARGEST else 0
    return np.full((len(form.alternatives), states), np.inf), np.empty((size, size))


@njit(cache=True)
def factorised(
    packed: Packed, choice: Indexes, probabilities: Array, points: NDArray[np.int64], shares: Array, system: Array
) -> bool:
    """Fill ``system`` with ``I - M`` and factorise it in place (LU, factors below the diagonal).

    Returns whether ``M`` is a contraction; not if ``system`` has no rows. If shares are much the same as ``shares``,
    ``(N_d, N_z)``, of the factors in ``system``, these are kept. ``choice`` is ``(N_r, N_z, N_k)``; ``probabilities``
    are ``(N_d, N_z, N_k)``, and empty without taste shocks. Means are over ``points``. No pivoting is needed, since
    rows of ``M`` are not negative and sum to less than 1.
    """
    regimes, states, _ = choice.shape
    if system.shape[0] == 0:
        return False
    now, moved = np.empty_like(shares), 0.0
    for d in range(packed.kind.size):
        for s in range(states):
            share, chosen = 0.0, choice[packed.regime[d], s]
            for x in points:
                share += probabilities[d, s, x] if probabilities.size else 1.0 if chosen[x] == d else 0.0
            now[d, s] = share / max(points.size, 1)
            moved = max(moved, abs(now[d, s] - shares[d, s]))
    if moved <= MOVED:
        return True
    shares[:] = np.inf
    system[:] = 0.0
    for d in range(packed.kind.size):
        r = packed.regime[d]
        for s in range(states):
            for q in range(regimes):
                weight = now[d, s] * packed.beta[d, s] * packed.mix[d, q]
                if weight != 0.0:
                    system[r * states + s, q * states : (q + 1) * states] -= weight * packed.transition[d, s]
    for k in range(regimes * states):
        # The system still holds -M, whose entries are not positive: the row sum of M must stay below 1.
        if not system[k].sum() > LEAST_RATE - 1.0:
            return False
    for k in range(regimes * states):
        system[k, k] += 1.0
    for k in range(regimes * states):
        # With slices the compiler knows that indexes are not negative, and vectorises the loop.
        row = system[k, k + 1 :]
        for i in range(k + 1, regimes * states):
            factor = system[i, k] / system[k, k]
            system[i, k] = factor
            if factor != 0.0:
                own = system[i, k + 1 :]
                for j in range(own.size):
                    own[j] -= factor * row[j]
    shares[:] = now
    return True


@njit(cache=True)
def correction(system: Array, mean: Array) -> Array:
    """Return ``(I - M)^-1 M D``, ``(N_r, N_z)``, as ``(I - M)^-1 D - D``, with the factors of :func:`factorised`."""
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
