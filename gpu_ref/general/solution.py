"""What a solve of a general problem returns, and what it shows on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.general.form import Form, Indexes
from beltline.gpu_ref.tables import Array

STATUS = {
    "converged": "the change of the value fell below tol",
    "ages done": "all ages were solved",
    "sweep limit": "the change did not fall below tol within max_sweeps",
    "not finite": "a value is not finite",
    "prices refused": "update returned tables that are no problem",
}
"""Every status, and what it says."""


class Prices(NamedTuple):
    """What ``update`` returns.

    Attributes
    ----------
    tables
        New tables by the name of the alternative and of the table: ``{"repay": {"cost": G}}``.
    prices
        What they come from, any shape, units of its own: its largest change is reported, and must fall below ``tol``.
    """

    tables: Mapping[str, Mapping[str, Array]]
    prices: Array


class Iterate(NamedTuple):
    """A sweep's outcome, as ``update`` sees it; arrays as of :class:`Solution`, without ages.

    Attributes
    ----------
    form
        With the tables of the sweep.
    value, values, policy, choice, probabilities
        As of :class:`Solution`.
    slack
        How far ``value`` may be from the sweep in real numbers, units of utility.
    evaluations
        Objectives that were computed.
    searched
        Exogenous states of alternatives that were searched in full.
    """

    form: Form
    value: Array
    values: Array
    policy: Indexes
    choice: Indexes
    probabilities: Array
    slack: float
    evaluations: int
    searched: int


@dataclass(frozen=True, eq=False)
class Solution:
    """The solution of a general problem; with a horizon, ages are the first axis of every array.

    Attributes
    ----------
    form
        The problem, with the tables of the last sweep.
    value
        ``(N_r, N_k, N_z)``, ``float64``, units of utility.
    values
        ``(N_d, N_k, N_z)``, ``float64``: of each alternative; ``-inf`` where it cannot be taken.
    policy
        ``(N_d, N_k, N_z)``, ``int32``: index of ``x'`` under each alternative; -1 where it cannot be taken or has no
        choice.
    choice
        ``(N_r, N_k, N_z)``, ``int32``: number of the best alternative, the first of equals.
    probabilities
        ``(N_d, N_k, N_z)``: of taking each alternative within its regime; 0 or 1 without taste shocks.
    residual
        Largest change of the value in the last maximising sweep, units of utility; 0 with a horizon.
    error_bound
        Bound on the distance of ``value`` from the problem's solution, roundings included, units of utility. With
        prices that move it is that given the prices of the last sweep.
    price_change
        Largest change of the prices in the last sweep, in their units; 0 without ``update``.
    prices
        As ``update`` last returned them; ``None`` without.
    sweeps
        Maximising sweeps; with a horizon one an age.
    evaluations
        ``(sweeps,)``, ``int64``: objectives computed in each.
    searched
        Exogenous states of alternatives that the last sweep (any age) searched in full, because no order of candidates
        fits their bounds.
    status
        A key of :data:`STATUS`.
    message
        A sentence.
    """

    form: Form
    value: Array
    values: Array
    policy: Indexes
    choice: Indexes
    probabilities: Array
    residual: float
    error_bound: float
    price_change: float
    prices: Array | None
    sweeps: int
    evaluations: NDArray[np.int64]
    searched: int
    status: str
    message: str

    @property
    def success(self) -> bool:
        """Whether every choice is proven and the value is within a finite ``error_bound``."""
        return self.status in ("converged", "ages done") and bool(np.isfinite(self.error_bound))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the alternatives, by their numbers."""
        return tuple(one.name for one in self.form.alternatives)
