"""The Bellman operator of a general problem: its tables, packed once, and sweeps of all its alternatives."""

from __future__ import annotations

import numpy as np

from beltline.gpu_ref.general.aggregation import evaluated
from beltline.gpu_ref.general.form import Alternative, Form, Indexes
from beltline.gpu_ref.general.packed import pack, put
from beltline.gpu_ref.general.policy_evaluation import evaluation_steps, fixed
from beltline.gpu_ref.general.solution import Iterate
from beltline.gpu_ref.general.sweep import Found, swept
from beltline.gpu_ref.tables import Array


class Operator:
    """Sweeps of a problem at one age; tables may be replaced, and utilities are kept where they are not.

    Parameters
    ----------
    form
        The problem.
    age
        At which tables are taken.
    """

    def __init__(self, form: Form, age: int = 0) -> None:
        self._form = form
        self._given: list[Alternative] = list(form.alternatives)
        self._tables = [one.at(age) for one in form.alternatives]
        regimes = [one.regime for one in form.alternatives]
        self._packed = pack(list(zip(regimes, self._tables, strict=True)), form.shape[0])

    def replace(self, form: Form, age: int = 0) -> None:
        """Go on with another problem of the same alternatives, or at another age."""
        for d, one in enumerate(form.alternatives):
            if one is not self._given[d] or one.aged():
                tables = one.at(age)
                put(self._packed, d, one.regime, tables, self._tables[d])
                self._tables[d] = tables
        self._form, self._given = form, list(form.alternatives)

    def sweep(self, V: Array, wanted: Indexes, *, doubts: bool = True) -> Iterate:
        """Maximise once from ``V``, ``(N_r, N_z, N_k)``, beginning from ``wanted``, ``(N_d, N_z, N_k)``.

        ``V`` must be finite; nothing is checked. Without ``doubts`` the :attr:`Iterate.slack` is not computed.
        """
        form = self._form
        return Iterate(form, swept(self._packed, V, form.eta, form.sigma, form.negative, wanted, doubts=doubts), doubts)

    def evaluate(self, found: Found, steps: int, enough: float | None = None) -> Array:
        """The value, ``(N_r, N_z, N_k)``, after ``steps`` sweeps with every ``x'`` of ``found`` fixed.

        With ``enough`` they are corrected (:mod:`beltline.gpu_ref.general.aggregation`), and end at a change of that.
        """
        choices = fixed(self._packed, found.policy, self._form.eta, self._form.sigma)
        if enough is None:
            return evaluation_steps(self._packed, found.value, choices, self._form.sigma, steps).value
        return evaluated(self._packed, found, choices, self._form.sigma, steps, enough)


def nowhere(form: Form) -> Indexes:
    """Choices to begin from where there are none, ``(N_d, N_z, N_k)``."""
    _, grid, states = form.shape
    return np.full((len(form.alternatives), states, grid), -1, np.int32)


def states_first(table: Array) -> Array:
    """``(..., N_k, N_z)`` as a contiguous ``(..., N_z, N_k)``, or the other way round."""
    return np.ascontiguousarray(np.swapaxes(table, -1, -2))


def sweep(form: Form, V: Array, policy: Indexes, age: int = 0) -> Iterate:
    """Maximise once from ``V``, ``(N_r, N_k, N_z)``, beginning from ``policy``, ``(N_d, N_k, N_z)``.

    ``V`` must be finite; nothing is checked.
    """
    return Operator(form, age).sweep(states_first(V), np.ascontiguousarray(np.swapaxes(policy, -1, -2), np.int32))
