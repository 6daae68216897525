"""The Bellman operator of a general problem: its tables, packed once, and sweeps with them."""

from __future__ import annotations

import numpy as np

from beltline.gpu_ref.general.aggregation import memory
from beltline.gpu_ref.general.form import Alternative, Form, Indexes
from beltline.gpu_ref.general.packed import pack, put
from beltline.gpu_ref.general.policy_evaluation import evaluated
from beltline.gpu_ref.general.policy_system import solved
from beltline.gpu_ref.general.solution import Iterate
from beltline.gpu_ref.general.sweep import Found, chunks_of, swept
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.threads import threads, threads_for


class Operator:
    """Sweep a problem at one age. Tables may be replaced; cached utilities of unchanged tables stay valid.

    Parameters
    ----------
    form
        The problem.
    age
        Age whose tables are taken.
    """

    def __init__(self, form: Form, age: int = 0) -> None:
        self._form = form
        self._given: list[Alternative] = list(form.alternatives)
        self._tables = [one.at(age) for one in form.alternatives]
        regimes = [one.regime for one in form.alternatives]
        self._packed = pack(list(zip(regimes, self._tables, strict=True)), form.shape[0])
        self._corrections = memory(form)

    def replace(self, form: Form, age: int = 0) -> None:
        """Take the tables of another problem with the same alternatives, or of another age."""
        for d, one in enumerate(form.alternatives):
            if one is not self._given[d] or one.aged():
                tables = one.at(age)
                put(self._packed, d, one.regime, tables, self._tables[d])
                self._tables[d] = tables
        self._form, self._given = form, list(form.alternatives)

    def sweep(self, V: Array, guess: Indexes, *, with_slack: bool = True) -> Iterate:
        """Maximise once from ``V``, ``(N_r, N_z, N_k)``, starting from the policy ``guess``, ``(N_d, N_z, N_k)``.

        ``V`` must be finite; nothing is checked. Without ``with_slack``, :attr:`Iterate.slack` is not computed.
        """
        form = self._form
        found = swept(self._packed, V, form.eta, form.sigma, form.negative, guess, with_slack=with_slack)
        return Iterate(form, found, with_slack)

    def evaluate(self, found: Found, steps: int, step_tol: float | None = None) -> Array:
        """Evaluate the policy of ``found`` for ``steps`` steps; return the value, ``(N_r, N_z, N_k)``.

        With ``step_tol``, steps alternate with corrections (:mod:`beltline.gpu_ref.general.aggregation`), and end once
        a step changes the value by no more than this.
        """
        form, (_, states, grid) = self._form, found.value.shape
        # A step takes a few operations per state and next exogenous state, a sweep some fifty more: threads pay later.
        used = threads_for(grid * states * (states + 8) // 100)
        with threads(used):
            return evaluated(
                self._packed, found.value, found.policy, found.choice, found.probabilities, form.eta, form.sigma, steps,
                -1.0 if step_tol is None else step_tol, *self._corrections, chunks_of(states, used),
            )  # fmt: skip

    def solve(self, found: Found, V: Array, step_tol: float) -> Array | None:
        """Return the value of the policy of ``found``, ``(N_r, N_z, N_k)``, by solution of a linear system.

        ``found`` is a sweep from ``V``. ``None`` if the system is too large or the solution fails
        (:mod:`beltline.gpu_ref.general.policy_system`).
        """
        return solved(self._packed, found, V, self._form.sigma, step_tol)


def no_policy(form: Form) -> Indexes:
    """Return a guess for a first sweep without any policy, ``(N_d, N_z, N_k)``: -1 everywhere."""
    _, grid, states = form.shape
    return np.full((len(form.alternatives), states, grid), -1, np.int32)


def states_first(table: Array) -> Array:
    """Swap the last two axes: ``(..., N_k, N_z)`` becomes a contiguous ``(..., N_z, N_k)``, or the reverse."""
    return np.ascontiguousarray(np.swapaxes(table, -1, -2))
