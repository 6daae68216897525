"""The tables of a general problem: each alternative, and all of them together. See :mod:`beltline.gpu_ref.general`."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beltline.gpu_ref.general import checks
from beltline.gpu_ref.tables import Array

Indexes = NDArray[np.int32]


class Tables(NamedTuple):
    """The tables of one alternative at one age, all contiguous.

    Attributes
    ----------
    wealth, cost
        ``(N_k, N_z)``, ``float64``, units of consumption: cash on hand ``W[x, s]`` and cost ``G[x', s]``.
    transition
        ``(N_z, N_z)``, ``float64``.
    beta, kappa
        ``(N_z,)``, ``float64``; ``kappa`` in units of utility.
    mix
        ``(N_r,)``, ``float64``: probabilities of the regimes to which the alternative leads.
    low, high
        ``(N_k, N_z)``, ``int32``: lowest and highest index of ``x'``.
    """

    wealth: Array
    cost: Array
    transition: Array
    beta: Array
    kappa: Array
    mix: Array
    low: Indexes
    high: Indexes


_Tables = TypeVar("_Tables", "Branch", "Form")


def _copied(given: _Tables, **new: Any) -> _Tables:
    """Return a shallow copy with some attributes replaced, without checking anything."""
    found = copy.copy(given)
    for name, value in new.items():
        object.__setattr__(found, name, value)
    return found


@dataclass(frozen=True, eq=False)
class Branch:
    """Describe an alternative with a choice of ``x'``, such as "repay" or "work". Arrays are copied.

    Parameters
    ----------
    name
        Name in messages and results, not empty.
    regime
        Number of the regime to which the alternative belongs.
    wealth
        Cash on hand ``W``, ``(N_k, N_z)`` or with ages ``(T, N_k, N_z)``, units of consumption. It must not fall in
        ``x``, unless the form allows negative consumption.
    cost
        Cost ``G[x', s]`` of ending the period with ``x'``, in the same shapes and units.
    transition
        ``Q``, ``(N_z, N_z)`` or ``(T, N_z, N_z)``; rows sum to 1.
    beta
        Discount factor: a number, ``(N_z,)`` or ``(T, N_z)``.
    mix
        Number of the regime to which the alternative leads, or ``(N_r,)`` probabilities of the regimes.
    kappa
        Utility of the alternative itself: shapes as for ``beta``, units of utility.
    low, high
        Lowest and highest index of ``x'``: a number, or ``(N_k, N_z)`` that does not fall in ``x``. By default every
        ``x'`` is allowed.

    Raises
    ------
    ValueError
        A table has a wrong shape, a value that is not finite, or breaks a condition above. The message is one sentence.

    Example
    -------
    >>> import numpy as np
    >>> from beltline.gpu_ref.general import Branch
    >>> grid = np.linspace(0.0, 1.0, 5)[:, None]
    >>> Branch("save", 0, wealth=1.0 + grid, cost=grid, transition=np.eye(1), beta=0.9).high.max()
    np.int32(4)
    """

    name: str
    regime: int
    wealth: Array
    cost: Array
    transition: Array
    beta: Array
    mix: Array | int = 0
    kappa: Array | float = 0.0
    low: Indexes | int = 0
    high: Indexes | int | None = None

    def __post_init__(self) -> None:
        what = checks.alternative_name(self.name, self.regime)
        wealth = checks.table(what, "wealth", self.wealth)
        shape = wealth.shape[-2:]
        cost = checks.table(what, "cost", self.cost, shape)
        transition = checks.table(what, "transition", self.transition, (shape[1], shape[1]))
        checks.stochastic(what, transition)
        beta = checks.by_state(what, "beta", self.beta, shape[1])
        checks.positive(what, "beta", beta)
        kappa = checks.by_state(what, "kappa", self.kappa, shape[1])
        mix = checks.mix(what, self.mix)
        low = checks.bound(what, "low", self.low, shape)
        high = checks.bound(what, "high", shape[0] - 1 if self.high is None else self.high, shape)
        checks.bounds(what, low, high)
        for name, value in {
            "wealth": wealth, "cost": cost, "transition": transition, "beta": beta, "mix": mix,
            "kappa": kappa, "low": low, "high": high,
        }.items():  # fmt: skip
            object.__setattr__(self, name, value)

    @property
    def shape(self) -> tuple[int, int]:
        """``(N_k, N_z)``."""
        return self.wealth.shape[-2], self.wealth.shape[-1]

    def aged(self) -> dict[str, int]:
        """Return the length of the axis of ages, by name, for tables that have one."""
        found = {"wealth": 3, "cost": 3, "transition": 3, "beta": 2, "kappa": 2}
        return {name: getattr(self, name).shape[0] for name, ndim in found.items() if getattr(self, name).ndim == ndim}

    def with_cost(self, cost: ArrayLike) -> Branch:
        """Return the same alternative with another ``cost`` of the same shape, which is checked and copied."""
        what = f"alternative {self.name!r}: "
        found = checks.table(what, "cost", cost, self.shape)
        if found.shape != self.cost.shape:
            raise ValueError(f"{what}cost must have shape {self.cost.shape}, not {found.shape}")
        return _copied(self, cost=found)

    def at(self, age: int = 0) -> Tables:
        """Return the tables at an age. Call it for alternatives of a ``Form``, which makes ``mix`` an array."""
        ages = self.aged()
        chosen = [getattr(self, n)[age] if n in ages else getattr(self, n) for n in Tables._fields]
        return Tables(*chosen)


@dataclass(frozen=True, eq=False)
class Outside:
    """Describe an alternative without a choice of ``x'``, whose value is a table, such as "exit".

    Parameters
    ----------
    name, regime
        As for :class:`Branch`.
    value
        ``(N_k, N_z)`` or with ages ``(T, N_k, N_z)``, units of utility; ``-inf`` where it cannot be taken.

    Raises
    ------
    ValueError
        As :class:`Branch`.

    Example
    -------
    >>> import numpy as np
    >>> from beltline.gpu_ref.general import Outside
    >>> Outside("exit", 0, np.zeros((5, 1))).shape
    (5, 1)
    """

    name: str
    regime: int
    value: Array

    def __post_init__(self) -> None:
        what = checks.alternative_name(self.name, self.regime)
        object.__setattr__(self, "value", checks.table(what, "value", self.value, missing=True))

    @property
    def shape(self) -> tuple[int, int]:
        """``(N_k, N_z)``."""
        return self.value.shape[-2], self.value.shape[-1]

    def aged(self) -> dict[str, int]:
        """Return the length of the axis of ages, by name, for tables that have one."""
        return {"value": self.value.shape[0]} if self.value.ndim == 3 else {}

    def at(self, age: int = 0) -> Array:
        """Return the table at an age, ``(N_k, N_z)``."""
        table: Array = self.value[age] if self.value.ndim == 3 else self.value
        return table


Alternative = Branch | Outside


@dataclass(frozen=True, eq=False)
class Form:
    """Put the alternatives of a general problem together and check that they fit (:mod:`beltline.gpu_ref.general`).

    Parameters
    ----------
    alternatives
        The alternatives of all regimes. Of equally good ones the first is chosen. Regimes are numbered ``0 .. N_r -
        1``.
    eta
        Curvature of CRRA utility, 0 or more; 0 is ``U(c) = c``.
    sigma
        Scale of taste shocks, units of utility; 0 means none.
    negative
        Whether consumption (a dividend) may be negative, so that every ``x'`` within bounds can be chosen. Needs ``eta
        = 0``.
    horizon
        Number of ages ``T``. ``None`` is an infinite horizon, which needs ``beta`` below 1 and no table with ages.

    Raises
    ------
    ValueError
        Tables do not fit together, a number is out of range, or a state of a regime has no alternative. The message is
        one sentence.

    Example
    -------
    >>> import numpy as np
    >>> from beltline.gpu_ref.general import Branch, Form, Outside
    >>> grid = np.linspace(0.0, 1.0, 5)[:, None]
    >>> stay = Branch("stay", 0, wealth=1.0 + grid, cost=grid, transition=np.eye(1), beta=0.9)
    >>> Form((stay, Outside("exit", 0, np.zeros((5, 1)))), eta=2.0).shape
    (1, 5, 1)
    """

    alternatives: tuple[Alternative, ...]
    eta: float
    sigma: float = 0.0
    negative: bool = False
    horizon: int | None = None

    def __post_init__(self) -> None:
        for name in ("eta", "sigma"):
            object.__setattr__(self, name, checks.number(name, getattr(self, name)))
        if self.negative and self.eta != 0.0:
            raise ValueError(f"negative consumption needs eta = 0, not eta = {self.eta}")
        if self.horizon is not None:
            object.__setattr__(self, "horizon", checks.whole("horizon", self.horizon, 1, "or None"))
        for position, one in enumerate(self.alternatives):
            if not isinstance(one, (Branch, Outside)):
                raise ValueError(f"alternatives[{position}] must be a Branch or an Outside, not {one!r}")
        fitting = checks.alternatives(tuple(self.alternatives), self.horizon, self.negative)
        object.__setattr__(self, "alternatives", fitting)
        checks.everyone_can_choose(self)

    @property
    def shape(self) -> tuple[int, int, int]:
        """``(N_r, N_k, N_z)``."""
        return (1 + max(a.regime for a in self.alternatives), *self.alternatives[0].shape)

    def with_tables(self, tables: Mapping[str, Mapping[str, Any]]) -> Form:
        """Return the same problem with some tables replaced and checked.

        If only costs change, as with moving prices, this does not check that every state still has a choice: the next
        sweep then reports a value of ``-inf``.

        Parameters
        ----------
        tables
            New tables by the names of alternative and table: ``{"repay": {"cost": G}}``.

        Raises
        ------
        ValueError
            There is no such alternative or table, or a table breaks a condition of :class:`Branch`.

        Example
        -------
        >>> import numpy as np
        >>> from beltline.gpu_ref.general import Branch, Form
        >>> grid = np.linspace(0.0, 1.0, 5)[:, None]
        >>> form = Form((Branch("save", 0, wealth=1.0 + grid, cost=grid, transition=np.eye(1), beta=0.9),), eta=2.0)
        >>> form.with_tables({"save": {"cost": 2.0 * grid}}).alternatives[0].cost[4]
        array([2.])
        """
        names = [one.name for one in self.alternatives]
        new = list(self.alternatives)
        costs_only = True
        for name, given in tables.items():
            if name not in names:
                raise ValueError(f"there is no alternative {name!r}: there are {', '.join(map(repr, sorted(names)))}")
            d = names.index(name)
            one = new[d]
            for table in given:
                if table not in {field.name for field in dataclasses.fields(one)}:
                    raise ValueError(f"alternative {name!r} has no table {table!r}")
            if isinstance(one, Branch) and set(given) == {"cost"}:
                new[d] = one.with_cost(given["cost"])
            else:
                new[d] = dataclasses.replace(one, **given)
                costs_only = False
        if not costs_only:
            return dataclasses.replace(self, alternatives=tuple(new))
        return _copied(self, alternatives=tuple(new))

    def of_regime(self, regime: int) -> list[int]:
        """Return the numbers of the alternatives of a regime, in order."""
        return [d for d, a in enumerate(self.alternatives) if a.regime == regime]

    def start(self, value: ArrayLike | None = None) -> Array:
        """Check an initial value, ``(N_r, N_k, N_z)``, units of utility, and return a copy; zeros if none is given.

        Raises
        ------
        ValueError
            It has another shape or an entry that is not finite.
        """
        if value is None:
            return np.zeros(self.shape)
        found = np.array(value, np.float64, order="C")
        if found.shape != self.shape:
            raise ValueError(f"start must have shape {self.shape}, (N_r, N_k, N_z), not {found.shape}")
        checks.finite("start", found)
        return found

    def modulus(self, age: int = 0) -> float:
        """Return the modulus of contraction: by which factor a sweep at ``age`` shrinks distances of values.

        It is the largest ``beta_d(s) sum_s' Q_d(s, s')``, and 0 if no alternative has a continuation.
        """
        found = [0.0]
        for branch in self.alternatives:
            if isinstance(branch, Branch):
                tables = branch.at(age)
                found.append(float((tables.beta * tables.transition.sum(axis=1)).max() * tables.mix.sum()))
        return max(found)
