"""What a solve of a general problem returns, and what it shows after each sweep."""

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
    "prices refused": "update returned tables that are not valid",
}
"""Every status, with its meaning."""


Progress = Callable[[int, float], None]
"""Called with the number of finished sweeps and the change of the value; with a horizon, with the number of ages and
the error bound.
"""


class Prices(NamedTuple):
    """What the function ``update`` returns to a solve.

    Attributes
    ----------
    tables
        New tables by the names of alternative and table: ``{"repay": {"cost": G}}``.
    prices
        The prices from which the tables follow, in any shape and unit. The largest change from one sweep to the next is
        reported, and must fall below ``tol``.

    Examples
    --------
    Costs of bonds at their prices, for an alternative named "repay":

    >>> import numpy as np
    >>> import beltline as bl
    >>> bonds, prices = np.linspace(-1.0, 0.0, 5), np.full((5, 2), 0.97)
    >>> found = bl.Prices(tables={"repay": {"cost": prices * bonds[:, None]}}, prices=prices)
    >>> found.tables["repay"]["cost"].shape
    (5, 2)
    """

    tables: Mapping[str, Mapping[str, Array]]
    prices: Array


def _read_only_view(table: NDArray[_Number]) -> NDArray[_Number]:
    """Return a read-only view of a table with ``x`` before exogenous states."""
    view = table.swapaxes(1, 2)
    view.flags.writeable = False
    return view


class Iterate:
    """Outcome of one sweep, as ``update`` sees it: read-only arrays as in :class:`Solution`, without ages.

    Attributes
    ----------
    form
        The problem, with the tables of this sweep.
    found
        The same arrays with exogenous states before ``x``, and counts of work.
    """

    def __init__(self, form: Form, found: Found, with_slack: bool = True) -> None:
        self.form = form
        self.found = found
        self._with_slack = with_slack

    @property
    def value(self) -> Array:
        """Value of each regime, ``(N_r, N_k, N_z)``, ``float64``, units of utility."""
        return _read_only_view(self.found.value)

    @property
    def values(self) -> Array:
        """Value of each alternative, ``(N_d, N_k, N_z)``, ``float64``; ``-inf`` where it cannot be taken."""
        return _read_only_view(self.found.values)

    @property
    def policy(self) -> Indexes:
        """Index of ``x'`` under each alternative, ``(N_d, N_k, N_z)``, ``int32``; -1 where it has no choice."""
        return _read_only_view(self.found.policy)

    @property
    def choice(self) -> Indexes:
        """Number of the best alternative, the first of equals, ``(N_r, N_k, N_z)``, ``int32``."""
        return _read_only_view(self.found.choice)

    @property
    def probabilities(self) -> Array:
        """Probability of each alternative within its regime, ``(N_d, N_k, N_z)``; 0 or 1 without taste shocks."""
        if self.form.sigma > 0.0:
            return _read_only_view(self.found.probabilities)
        taken = [self.choice[one.regime] == d for d, one in enumerate(self.form.alternatives)]
        return np.array(taken, np.float64)

    @property
    def change(self) -> float:
        """Largest change of the value, units of utility."""
        return float(self.found.facts[:, 0].max())

    @property
    def slack(self) -> float:
        """Bound on the distance of ``value`` from the same sweep in exact arithmetic, units of utility; infinite if not
        computed.
        """
        return float(self.found.facts[:, 1].max()) if self.finite and self._with_slack else np.inf

    @property
    def finite(self) -> bool:
        """Whether every ``value`` is finite."""
        return bool(self.found.facts[:, 2].all())

    @property
    def evaluations(self) -> int:
        """Number of utilities computed."""
        return int(self.found.counts[..., 0].sum())

    @property
    def searched(self) -> int:
        """Number of pairs of alternative and exogenous state that were searched in full."""
        return int(self.found.counts[..., 2].sum())


@dataclass(frozen=True, eq=False)
class Solution:
    """Solution of a general problem; with a horizon, ages are the first axis of every array.

    Attributes
    ----------
    form
        The problem, with the tables of the last sweep.
    value
        ``(N_r, N_k, N_z)``, ``float64``, units of utility: value of each regime.
    values
        ``(N_d, N_k, N_z)``, ``float64``: value of each alternative; ``-inf`` where it cannot be taken.
    policy
        ``(N_d, N_k, N_z)``, ``int32``: index of ``x'`` under each alternative; -1 where it cannot be taken or has no
        choice.
    choice
        ``(N_r, N_k, N_z)``, ``int32``: number of the best alternative, the first of equals.
    probabilities
        ``(N_d, N_k, N_z)``: probability of each alternative within its regime; 0 or 1 without taste shocks.
    residual
        Largest change of the value in the last maximising sweep, units of utility; 0 with a horizon.
    error_bound
        Bound on the distance of ``value`` from the exact solution, rounding included, units of utility. If prices move,
        it is the bound given the prices of the last sweep.
    price_change
        Largest change of the prices in the last sweep, in their units; 0 without ``update``.
    prices
        The prices that ``update`` returned last; ``None`` without ``update``.
    sweeps
        Number of maximising sweeps; with a horizon one per age.
    evaluations
        ``(sweeps,)``, ``int64``: utilities computed in each sweep.
    searched
        Number of pairs of alternative and exogenous state that the last sweep searched in full, because no order of
        candidates suits their bounds; with a horizon, the largest number of any age.
    status
        A key of :data:`STATUS`.
    message
        What happened, in one sentence.
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
        """Whether the iteration ended as intended with a finite ``error_bound``, so that every choice is proven."""
        return self.status in ("converged", "ages done") and bool(np.isfinite(self.error_bound))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the alternatives, by their numbers."""
        return tuple(one.name for one in self.form.alternatives)
