"""Certify a value and its choices: apply the Bellman operator once more, to every pair, in plain NumPy.

``T`` is a contraction of modulus ``m``, ``beta`` times the largest sum of a lottery. So for any value ``V``::

    max |V - V*|  <=  (max |TV - V| + e) / (1 - m)

where ``e`` bounds the rounding error of ``TV`` (:meth:`beltline.gpu_ref.discrete.program.Program.rounding`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.discrete.program import DOUBLE, Program
from beltline.gpu_ref.tables import Array

PIECE = 2**22
"""Number of pairs that are evaluated together."""


@dataclass(frozen=True)
class Certified:
    """Outcome of a certification.

    Attributes
    ----------
    residual
        Largest ``|TV - V|``, units of utility.
    error_bound
        Bound on the largest ``|V - V*|``, rounding included, units of utility.
    missed
        Number of states whose choice loses, or whose value is off, by more than the solver's last change and rounding
        explain.
    state
        The state with the largest error; -1 if there are no errors.
    amount
        Its error, units of utility.
    better
        Whether another choice is better there; otherwise the value is wrong.
    chosen
        The pairs that are best at the value: the given ones, except where another is better.
    """

    residual: float
    error_bound: float
    chosen: NDArray[np.int64]
    missed: int = 0
    state: int = -1
    amount: float = 0.0
    better: bool = False


def certify(program: Program, value: Array, chosen: NDArray[np.int64], change: float) -> Certified:
    """Measure a value, ``(n,)`` and finite, and its chosen pairs.

    Parameters
    ----------
    program
        The discrete program.
    value, chosen
        What a sweep returned, as in :class:`beltline.gpu_ref.discrete.policy_iteration.Iterated`.
    change
        Largest change of the value in that sweep, units of utility.
    """
    expected = program.expected(value)
    first = program.first
    best, taken = np.empty(program.states), np.empty(program.states)
    own = (first[:-1] <= chosen) & (chosen < first[1:])
    exact = chosen.copy()
    begin = 0
    while begin < program.states:
        # One state, and as many more as fit into a piece.
        end = max(begin + 1, int(np.searchsorted(first, first[begin] + PIECE, side="right")) - 1)
        here = slice(first[begin], first[end])
        objectives = program.reward[here] + expected[program.lottery[here]]
        best[begin:end] = np.maximum.reduceat(objectives, first[begin:end] - first[begin])
        at = np.where(own[begin:end], chosen[begin:end], first[begin:end]) - first[begin]
        taken[begin:end] = np.where(own[begin:end], objectives[at], -np.inf)
        for loses in begin + np.flatnonzero(taken[begin:end] < best[begin:end]):
            pairs = slice(first[loses] - first[begin], first[loses + 1] - first[begin])
            exact[loses] = first[loses] + objectives[pairs].argmax()
        begin = end
    off = np.abs(best - value)
    residual = float(off.max())
    rounding = program.rounding(value, best)
    modulus = program.modulus
    bound = (residual * (1.0 + DOUBLE) + rounding) / (1.0 - modulus) * (1.0 + 8.0 * DOUBLE)
    if not modulus < 1.0 or not math.isfinite(bound):
        bound = math.inf
    # `value` is T of a value at most `change` away. So the choice that was best for that value may lose up to twice
    # modulus * change here.
    lost = best - taken - 2.0 * (modulus * change + 2.0 * rounding)
    wrong = off - (modulus * change + 2.0 * rounding)
    faults = (lost > 0.0) | (wrong > 0.0)
    if not faults.any():
        return Certified(residual, bound, exact)
    amounts = np.where(
        faults, np.maximum(np.where(lost > 0.0, best - taken, 0.0), np.where(wrong > 0.0, off, 0.0)), 0.0
    )
    state = int(amounts.argmax())
    return Certified(residual, bound, exact, int(faults.sum()), state, float(amounts[state]), bool(lost[state] > 0.0))
