"""What is true of a value and its choices: the operator applied once more, to every pair, by NumPy alone.

``T`` is a contraction of modulus ``m``, ``beta`` times the largest sum of a lottery, so that of any value ``V``::

    max |V - V*|  <=  (max |TV - V| + e) / (1 - m)

with ``e`` what roundings of ``TV`` may come to (:meth:`beltline.gpu_ref.discrete.program.Program.rounding`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.discrete.program import DOUBLE, Program
from beltline.gpu_ref.tables import Array

PIECE = 2**22
"""Pairs that are looked at together."""


@dataclass(frozen=True)
class Certified:
    """What was measured.

    Attributes
    ----------
    residual
        Largest ``|TV - V|``, units of utility.
    error_bound
        Bound on the largest ``|V - V*|``, roundings included.
    missed
        States whose choice loses, or whose value is off, by more than the solver's last change and roundings explain.
    state
        The one that is off by most, -1 where there is none.
    amount
        By how much.
    better
        Whether it is the choice that loses; otherwise the value is wrong.
    """

    residual: float
    error_bound: float
    missed: int = 0
    state: int = -1
    amount: float = 0.0
    better: bool = False


def certify(program: Program, value: Array, chosen: NDArray[np.int64], change: float) -> Certified:
    """Measure a value, ``(n,)`` and finite, and its chosen pairs.

    Parameters
    ----------
    program
    value, chosen
        As of :class:`beltline.gpu_ref.discrete.policy_iteration.Iterated`: what a sweep returned.
    change
        Largest change of the value in that sweep.
    """
    expected = program.expected(value)
    first = program.first
    best, taken = np.empty(program.states), np.empty(program.states)
    own = (first[:-1] <= chosen) & (chosen < first[1:])
    begin = 0
    while begin < program.states:
        # At least one state, and as many more as fit.
        end = max(begin + 1, int(np.searchsorted(first, first[begin] + PIECE, side="right")) - 1)
        here = slice(first[begin], first[end])
        objectives = program.reward[here] + expected[program.lottery[here]]
        best[begin:end] = np.maximum.reduceat(objectives, first[begin:end] - first[begin])
        at = np.where(own[begin:end], chosen[begin:end], first[begin:end]) - first[begin]
        taken[begin:end] = np.where(own[begin:end], objectives[at], -np.inf)
        begin = end
    off = np.abs(best - value)
    residual = float(off.max())
    rounding = program.rounding(value, best)
    modulus = program.modulus
    bound = (residual * (1.0 + DOUBLE) + rounding) / (1.0 - modulus) * (1.0 + 8.0 * DOUBLE)
    if not modulus < 1.0 or not math.isfinite(bound):
        bound = math.inf
    # `value` is T of a value that is no more than `change` away, and the best choice there may lose twice that here.
    lost = best - taken - 2.0 * (modulus * change + 2.0 * rounding)
    wrong = off - (modulus * change + 2.0 * rounding)
    faults = (lost > 0.0) | (wrong > 0.0)
    if not faults.any():
        return Certified(residual, bound)
    amounts = np.where(
        faults, np.maximum(np.where(lost > 0.0, best - taken, 0.0), np.where(wrong > 0.0, off, 0.0)), 0.0
    )
    state = int(amounts.argmax())
    return Certified(residual, bound, int(faults.sum()), state, float(amounts[state]), bool(lost[state] > 0.0))
