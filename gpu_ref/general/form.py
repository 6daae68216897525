"""The tables of a general problem: its alternatives, and all of them together. See :mod:`beltline.gpu_ref.general`."""

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
    """What one alternative is at one age, all contiguous.

    Attributes
    ----------
    wealth, cost
        ``(N_k, N_z)``, ``float64``, units of money: ``W[x, s]`` and ``G[x', s]``.
    transition
        ``(N_z, N_z)``, ``float64``.
    beta, kappa
        ``(N_z,)``, ``float64``; ``kappa`` in units of utility.
    mix
        ``(N_r,)``, ``float64``.
    low, high
        ``(N_k, N_z)``, ``int32``, indexes of ``x'``.
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
    """A shallow copy with some attributes replaced, of which nothing is checked."""
    found = copy.copy(given)
    for name, value in new.items():
        object.__setattr__(found, name, value)
    return found


@dataclass(frozen=True, eq=False)
class Branch:
    """An alternative with a choice of ``x'``, such as "repay" or "work"; arrays are copied.

    Parameters
    ----------
    name
        How messages and results call it, not empty.
    regime
        Number of the regime whose alternative it is.
    wealth
        ``W``, ``(N_k, N_z)`` or with ages ``(T, N_k, N_z)``, units of money; does not fall in ``x``,
        unless the form allows negative consumption.
    cost
        ``G[x', s]``, of the same shapes, units of money.
    transition
        ``Q``, ``(N_z, N_z)`` or ``(T, N_z, N_z)``; rows sum to 1.
    beta
        Discount factor: a number, ``(N_z,)`` or ``(T, N_z)``.
    mix
        Regime to which it leads, or ``(N_r,)`` probabilities of the regimes.
    kappa
        Utility of the alternative itself: as ``beta``, units of utility.
    low, high
        Lowest and highest index of ``x'``: a number, or ``(N_k, N_z)`` that does not fall in ``x``. All by default.

    Raises
    ------
    ValueError
        A table has a wrong shape, a value that is not finite, or breaks a condition above; one sentence.

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
        """Lengths of the tables that have an axis of ages."""
        found = {"wealth": 3, "cost": 3, "transition": 3, "beta": 2, "kappa": 2}
        return {name: getattr(self, name).shape[0] for name, ndim in found.items() if getattr(self, name).ndim == ndim}

    def with_cost(self, cost: ArrayLike) -> Branch:
        """The same alternative with another ``cost`` of the same shape, which is checked and copied."""
        what = f"alternative {self.name!r}: "
        found = checks.table(what, "cost", cost, self.shape)
        if found.shape != self.cost.shape:
            raise ValueError(f"{what}cost must have shape {self.cost.shape}, not {found.shape}")
        return _copied(self, cost=found)

    def at(self, age: int = 0) -> Tables:
        """The tables at an age; ``Form`` has made ``mix`` an array by then."""
        ages = self.aged()
        chosen = [getattr(self, n)[age] if n in ages else getattr(self, n) for n in Tables._fields]
        return Tables(*chosen)


@dataclass(frozen=True, eq=False)
class Outside:
    """An alternative without a choice whose value is a table, such as "exit".

    Parameters
    ----------
    name, regime
        As of :class:`Branch`.
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
        """Lengths of the tables that have an axis of ages."""
        return {"value": self.value.shape[0]} if self.value.ndim == 3 else {}

    def at(self, age: int = 0) -> Array:
        """The table at an age, ``(N_k, N_z)``."""
        table: Array = self.value[age] if self.value.ndim == 3 else self.value
        return table


Alternative = Branch | Outside


@dataclass(frozen=True, eq=False)
class Form:
    """A general problem, as of :mod:`beltline.gpu_ref.general`.

    Parameters
    ----------
    alternatives
        Of all regimes, in the order in which the first of equals is taken. Regimes are ``0 .. N_r - 1``.
    eta
        Curvature of CRRA utility, 0 or more; 0 is ``U(c) = c``.
    sigma
        Scale of taste shocks, units of utility; 0 is none.
    negative
        With ``eta = 0`` only: consumption (a dividend) may be negative, and every choice in bounds can be taken.
    horizon
        Number of ages ``T``; ``None`` is an infinite horizon, which needs ``beta`` below 1 and no table with ages.

    Raises
    ------
    ValueError
        Tables do not fit together, a number is out of range, or a state has no alternative; one sentence.

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
        """The same problem with some tables replaced, checked.

        Where only costs are, as prices that move do, it is not checked whether every state still has a choice: a sweep
        finds out.

        Parameters
        ----------
        tables
            By the name of the alternative and of the table: ``{"repay": {"cost": G}}``.

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
        """Numbers of the alternatives of a regime, in order."""
        return [d for d, a in enumerate(self.alternatives) if a.regime == regime]

    def start(self, value: ArrayLike | None = None) -> Array:
        """Check a value to start from, ``(N_r, N_k, N_z)``, units of utility; zeros where none is given.

        Raises
        ------
        ValueError
            It has another shape or a value that is not finite.
        """
        if value is None:
            return np.zeros(self.shape)
        found = np.array(value, np.float64, order="C")
        if found.shape != self.shape:
            raise ValueError(f"start must have shape {self.shape}, (N_r, N_k, N_z), not {found.shape}")
        checks.finite("start", found)
        return found

    def modulus(self, age: int = 0) -> float:
        """Largest factor by which one sweep at ``age`` shrinks the distance of two values; 0 without a branch."""
        found = [0.0]
        for branch in self.alternatives:
            if isinstance(branch, Branch):
                tables = branch.at(age)
                found.append(float((tables.beta * tables.transition.sum(axis=1)).max() * tables.mix.sum()))
        return max(found)
