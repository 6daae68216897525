"""What a solve of a general problem returns, and what it shows on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.general.form import Form, Indexes
from beltline.gpu_ref.general.sweep import Found
from beltline.gpu_ref.tables import Array

_Number = TypeVar("_Number", bound=np.generic)

STATUS = {
    "converged": "the change of the value fell below tol",
    "ages done": "all ages were solved",
    "sweep limit": "the change did not fall below tol within max_sweeps",
    "not finite": "a value is not finite",
    "prices refused": "update returned tables that are no problem",
}
"""Every status, and what it says."""


Progress = Callable[[int, float], None]
"""Told how many sweeps or ages are done, and the change of the value or the bound."""


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


def _seen(table: NDArray[_Number]) -> NDArray[_Number]:
    """A view of a table with ``x`` before exogenous states, which cannot be written to."""
    view = table.swapaxes(1, 2)
    view.flags.writeable = False
    return view


class Iterate:
    """A sweep's outcome, as ``update`` sees it; arrays as of :class:`Solution`, without ages, and not to be written to.

    Attributes
    ----------
    form
        With the tables of the sweep.
    found
        The same arrays with exogenous states before ``x``, and what the sweep took.
    """

    def __init__(self, form: Form, found: Found, doubts: bool = True) -> None:
        self.form = form
        self.found = found
        self._doubts = doubts

    @property
    def value(self) -> Array:
        """``(N_r, N_k, N_z)``, ``float64``, units of utility."""
        return _seen(self.found.value)

    @property
    def values(self) -> Array:
        """``(N_d, N_k, N_z)``, ``float64``: of each alternative; ``-inf`` where it cannot be taken."""
        return _seen(self.found.values)

    @property
    def policy(self) -> Indexes:
        """``(N_d, N_k, N_z)``, ``int32``: index of ``x'``; -1 where there is none."""
        return _seen(self.found.policy)

    @property
    def choice(self) -> Indexes:
        """``(N_r, N_k, N_z)``, ``int32``: number of the best alternative, the first of equals."""
        return _seen(self.found.choice)

    @property
    def probabilities(self) -> Array:
        """``(N_d, N_k, N_z)``: of taking each alternative within its regime; 0 or 1 without taste shocks."""
        if self.form.sigma > 0.0:
            return _seen(self.found.probabilities)
        taken = [self.choice[one.regime] == d for d, one in enumerate(self.form.alternatives)]
        return np.array(taken, np.float64)

    @property
    def change(self) -> float:
        """Largest change of the value, units of utility."""
        return float(self.found.facts[:, 0].max())

    @property
    def slack(self) -> float:
        """How far ``value`` may be from the sweep in real numbers, units of utility; infinite where nobody knows."""
        return float(self.found.facts[:, 1].max()) if self.finite and self._doubts else np.inf

    @property
    def finite(self) -> bool:
        """Whether ``value`` is."""
        return bool(self.found.facts[:, 2].all())

    @property
    def evaluations(self) -> int:
        """Utilities that were computed."""
        return int(self.found.counts[..., 0].sum())

    @property
    def searched(self) -> int:
        """Exogenous states of alternatives that were searched in full."""
        return int(self.found.counts[..., 2].sum())


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
        ``(sweeps,)``, ``int64``: utilities computed in each.
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
