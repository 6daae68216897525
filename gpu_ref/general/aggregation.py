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

from beltline.compiled import njit
from beltline.gpu_ref.general.candidates import Indexes
from beltline.gpu_ref.general.packed import Packed
from beltline.gpu_ref.general.policy_evaluation import Choices, evaluation_steps
from beltline.gpu_ref.general.sweep import Found
from beltline.gpu_ref.tables import Array

CYCLE = 3
"""Evaluation steps after each correction."""

LARGEST = 256
"""Largest number of pairs of regime and exogenous state for which corrections are made. Larger systems of equations
take longer than the steps they save.
"""


LEAST_RATE = 1e-12
"""Corrections are made if 1 exceeds the row sums of ``M`` by more than this. Nearer to 1 they would be rounding errors.
"""


def evaluated(packed: Packed, found: Found, choices: Choices, sigma: float, steps: int, step_tol: float) -> Array:
    """Return the value after at most ``steps`` evaluation steps of a policy, with corrections, ``(N_r, N_z, N_k)``.

    Parameters
    ----------
    packed, sigma
        As for :func:`beltline.gpu_ref.general.policy_evaluation.evaluation_steps`.
    found
        The sweep that found the policy; its value is finite.
    choices
        Its choices, with the tables of that sweep.
    steps
        Largest number of steps, at least 1.
    step_tol
        Steps end when one changes the value by no more than this, units of utility.
    """
    last = evaluation_steps(packed, found.value, choices, sigma, 1)
    steps_left = steps - 1
    moves = _moves(packed, found, sigma) if steps_left > 1 and last.largest > step_tol else None
    while moves is not None and steps_left > 1 and last.largest > step_tol:
        count = min(steps_left, CYCLE)
        steps_left -= count
        begin = last.value + _correction(moves, last.mean)[:, :, None]
        after = evaluation_steps(packed, begin, choices, sigma, count)
        if not after.largest < last.largest:
            moves = None
            break
        last = after
    if steps_left and moves is None and last.largest > step_tol:
        return evaluation_steps(packed, last.value, choices, sigma, steps_left).value
    return last.value


def _moves(packed: Packed, found: Found, sigma: float) -> Array | None:
    """Return ``I - M`` in factors, ``(N_r N_z, N_r N_z)``; ``None`` if it is too large or ``M`` is no contraction."""
    regimes, states, _ = found.value.shape
    if regimes * states > LARGEST:
        return None
    system = np.empty((regimes * states, regimes * states))
    taken = found.probabilities if sigma > 0.0 else found.values[:, :, :0]
    return system if _eliminated(packed, found.choice, taken, system) else None


@njit(cache=True)
def _eliminated(packed: Packed, choice: Indexes, taken: Array, system: Array) -> bool:
    """Fill ``system`` with ``I - M`` and factorise it in place (LU, factors below the diagonal).

    Returns whether ``M`` is a contraction. ``choice`` is ``(N_r, N_z, N_k)``; ``taken`` has probabilities, ``(N_d, N_z,
    N_k)``, and is empty without taste shocks. No pivoting is needed, since rows of ``M`` are not negative and sum to
    less than 1.
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
    return True


@njit(cache=True)
def _correction(system: Array, mean: Array) -> Array:
    """Return ``(I - M)^-1 M D``, ``(N_r, N_z)``, as ``(I - M)^-1 D - D``, with the factors of :func:`_eliminated`."""
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
