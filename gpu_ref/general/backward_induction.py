"""Backward induction: one exact sweep for each age, from the last to the first."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from beltline.gpu_ref.general.form import Form, Indexes
from beltline.gpu_ref.general.operator import no_policy, states_first
from beltline.gpu_ref.general.outcome import overflow
from beltline.gpu_ref.general.solution import Iterate, Progress, Solution
from beltline.gpu_ref.methods import DOUBLE
from beltline.gpu_ref.tables import Array


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
    done: list[Iterate] = []
    V, guess = states_first(V), no_policy(form)
    bound = 0.0
    status, message = "ages done", f"All {horizon} ages were solved."
    for age in range(horizon - 1, -1, -1):
        if done:
            operator.replace(form, age)
        last = operator.sweep(V, guess)
        done.insert(0, last)
        bound = (last.slack + form.modulus(age) * bound) * (1.0 + 8.0 * DOUBLE)
        if progress is not None:
            progress(len(done), bound)
        if not last.finite:
            status, message, bound = "not finite", f"At age {age + 1}: {overflow(last.value)}", math.inf
            break
        V, guess = last.found.value, last.found.policy

    def stacked(name: str, missing: float) -> Any:
        arrays = [getattr(one, name) for one in done]
        lacking = [np.full_like(arrays[0], missing)] * (horizon - len(done))
        return np.stack([*lacking, *arrays])

    return Solution(
        form=form,
        value=stacked("value", np.nan),
        values=stacked("values", np.nan),
        policy=stacked("policy", -1),
        choice=stacked("choice", -1),
        probabilities=stacked("probabilities", np.nan),
        residual=0.0,
        error_bound=bound,
        price_change=0.0,
        prices=None,
        sweeps=len(done),
        evaluations=np.array([one.evaluations for one in done], np.int64),
        searched=max(one.searched for one in done),
        status=status,
        message=message,
    )
