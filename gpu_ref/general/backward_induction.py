"""Backward induction: one exact sweep for each age, from the last to the first."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.general.form import Form, Indexes
from beltline.gpu_ref.general.operator import no_policy, states_first
from beltline.gpu_ref.general.outcome import overflow
from beltline.gpu_ref.general.solution import Iterate, Progress, Solution
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.utility import DOUBLE


class Sweeper(Protocol):
    """Sweeps of :func:`solve_ages`: :class:`beltline.gpu_ref.general.operator.Operator`, or the same on a GPU."""

    def replace(self, form: Form, age: int = 0) -> None:
        """Take the tables of another problem with the same alternatives, or of another age."""

    def sweep(self, V: Array, guess: Indexes) -> Iterate:
        """Maximise once from ``V``, ``(N_r, N_z, N_k)``, starting from the policy ``guess``, ``(N_d, N_z, N_k)``."""


def solve_ages(form: Form, V: Array, horizon: int, progress: Progress | None, operator: Sweeper) -> Solution:
    """Solve all ages from ``V``, ``(N_r, N_k, N_z)``, the value after the last age.

    ``operator`` must hold the tables of the last age. The error bound of an age is the rounding error of its sweep plus
    the discounted bound of the age after it.
    """
    regimes, points, states = form.shape
    count = len(form.alternatives)

    def of_ages(first: int, kind: type[np.generic]) -> NDArray[Any]:
        """Return a table for all ages, with exogenous states before ``x``, as sweeps have them."""
        return np.empty((horizon, first, states, points), kind)

    stored = {
        "value": of_ages(regimes, np.float64),
        "values": of_ages(count, np.float64),
        "policy": of_ages(count, np.int32),
        "choice": of_ages(regimes, np.int32),
        "probabilities": of_ages(count, np.float64),
    }
    evaluations: list[int] = []
    searched = 0
    V, guess = states_first(V), no_policy(form)
    bound = 0.0
    status, message = "ages done", f"All {horizon} ages were solved."
    for age in range(horizon - 1, -1, -1):
        if evaluations:
            operator.replace(form, age)
        last = operator.sweep(V, guess)
        for name, table in stored.items():
            table[age] = np.swapaxes(getattr(last, name), 1, 2)
        evaluations.insert(0, last.evaluations)
        searched = max(searched, last.searched)
        bound = (last.slack + form.modulus(age) * bound) * (1.0 + 8.0 * DOUBLE)
        if progress is not None:
            progress(len(evaluations), bound)
        if not last.finite:
            status, message, bound = "not finite", f"At age {age + 1}: {overflow(last.value)}", math.inf
            for table in stored.values():
                table[:age] = np.nan if table.dtype == np.float64 else -1
            break
        V, guess = last.found.value, last.found.policy
    return Solution(
        form=form,
        **{name: np.swapaxes(table, 2, 3) for name, table in stored.items()},
        residual=0.0,
        error_bound=bound,
        price_change=0.0,
        prices=None,
        sweeps=len(evaluations),
        evaluations=np.array(evaluations, np.int64),
        searched=searched,
        status=status,
        message=message,
    )
