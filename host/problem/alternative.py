"""One alternative of a problem of the general form: one of the things that a decision maker can do in a period."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from beltline.host.problem.checks import ProblemError, first, numbers_of, place, plain_text, real, shown


@dataclass(frozen=True, kw_only=True, eq=False)
class Alternative:
    """One of several things that a decision maker can do in a period, such as "repay", "work" or "exit".

    Pass a list of these as ``alternatives=`` of a :class:`~beltline.host.problem.problem.Problem`. The problem then has
    the general form: in each regime ``r`` the best of its alternatives ``d`` is taken,

        v_d(x, s) = max over x' of  U(W(x, s) - G(x', s)) + kappa(s) + beta(s) * E[V_r'(x', s')]

    where ``W``, ``G``, ``beta`` and the distribution of ``s'`` and ``r'`` are those of the alternative. A table that an
    alternative leaves out is the problem's. Tables and mappings are copied. The problem checks shapes and values.

    Parameters
    ----------
    name : str
        Name in reports, plots and messages; not empty.
    regime : str
        Regime in which the alternative can be taken. A regime exists as soon as an alternative names it; regimes are
        numbered in the order of first mention. By default all alternatives belong to one regime without a name.
    leads_to : str or mapping of str to float, optional
        Regime of the next period, or the probability of each regime. By default the regime does not change.
    wealth : (N_k, N_z) array, optional
        Cash on hand ``W(x, s)``, in units of the good; must not fall in ``x``. With a horizon of ``T`` ages also
        ``(T, N_k, N_z)``.
    cost : (N_k,) or (N_k, N_z) array, optional
        Cost ``G(x', s)`` of ending the period with ``x'``, in units of the good. With a horizon also
        ``(T, N_k, N_z)``. Where neither the alternative nor the problem has one, the cost is ``x'`` itself.
    low, high : int, or (N_k,) or (N_k, N_z) array of int, optional
        Lowest and highest grid index of ``x'``; must not fall in ``x``.
    choice : int, or (N_k,) or (N_k, N_z) array of int, optional
        The only grid index of ``x'`` that is allowed, in place of ``low`` and ``high``.
    transition : (N_z, N_z) array, optional
        Markov matrix of the exogenous state. With a horizon also ``(T, N_z, N_z)``.
    beta : float or (N_z,) array, optional
        Discount factor, above 0. With a horizon also ``(T, N_z)``, and then it may be 1 or more.
    kappa : float or (N_z,) array, optional
        Utility of the alternative itself, added to that of consumption; 0 by default. With a horizon also
        ``(T, N_z)``.
    value : (N_k, N_z) array, optional
        Value of an alternative without a choice of ``x'``, in units of utility; ``-inf`` where it cannot be taken. With
        a horizon also ``(T, N_k, N_z)``. All other parameters but ``name`` and ``regime`` must then be left out.

    Raises
    ------
    ProblemError
        The name is empty or not a string, ``choice`` is given together with a bound, ``value`` is given together with
        another table, a table does not consist of real numbers, or the probabilities of ``leads_to`` do not sum to 1.

    Examples
    --------
    >>> import beltline as bl
    >>> exclusion = bl.Alternative(name="wait", regime="excluded", leads_to={"good": 0.28, "excluded": 0.72}, choice=0)
    >>> exclusion.chances()
    {'good': 0.28, 'excluded': 0.72}
    """

    name: str
    regime: str = ""
    leads_to: str | Mapping[str, float] | None = None
    wealth: ArrayLike | None = None
    cost: ArrayLike | None = None
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    choice: ArrayLike | None = None
    transition: ArrayLike | None = None
    beta: ArrayLike | None = None
    kappa: ArrayLike | None = None
    value: ArrayLike | None = None

    def __post_init__(self) -> None:
        if not plain_text("name of an alternative", self.name):
            raise ProblemError("name of an alternative must not be empty")
        plain_text(f"regime of alternative {self.name!r}", self.regime)
        if self.choice is not None and (self.low is not None or self.high is not None):
            raise ProblemError(f"alternative {self.name!r} has choice, so it must have neither low nor high")
        if self.value is not None:
            for name in ("leads_to", *TABLES, "choice", "kappa"):
                if getattr(self, name) is not None:
                    raise ProblemError(f"alternative {self.name!r} is given by its value, so it must have no {name}")
        for name in (*TABLES, "choice", "kappa", "value"):
            object.__setattr__(
                self, name, read_only(f"{name} of alternative {self.name!r}", getattr(self, name), name == "value")
            )
        chances = self.chances()
        if isinstance(self.leads_to, Mapping):
            object.__setattr__(self, "leads_to", MappingProxyType(chances))

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickling. It has a copy of ``leads_to``: a read-only view cannot be pickled."""
        return self.__dict__ | ({"leads_to": self.chances()} if isinstance(self.leads_to, Mapping) else {})

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, MappingProxyType(value) if isinstance(value, dict) else value)

    def chances(self) -> dict[str, float]:
        """Return the probability of each regime of the next period by name; regimes that are not named have probability
        0.

        Raises
        ------
        ProblemError
            ``leads_to`` is neither the name of a regime nor a mapping of names to probabilities that sum to 1.
        """
        given: Any = self.leads_to
        what = f"leads_to of alternative {self.name!r}"
        if given is None:
            return {self.regime: 1.0}
        if isinstance(given, str):
            return {plain_text(what, given): 1.0}
        if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
            raise ProblemError(
                f"{what} must be the name of a regime, or a mapping of names to probabilities, not {shown(given)}"
            )
        found = {
            plain_text(what, name): real(
                f"{what}: the probability of {name!r}", chance, "from 0 to 1", lambda p: 0 <= p <= 1
            )
            for name, chance in given.items()
        }
        if abs(sum(found.values()) - 1) > 1e-12:
            raise ProblemError(f"{what} must have probabilities that sum to 1, not {sum(found.values()):.15g}")
        return found


def read_only(name: str, table: Any, missing: bool = False) -> Any:
    """Return a read-only copy of an array; return a number and None unchanged.

    Raises
    ------
    ProblemError
        ``table`` is neither None nor made of finite real numbers, with ``missing`` also ``-inf``.
    """
    if table is None:
        return None
    given = numbers_of(name, table)
    bad = ~(np.isfinite(given) | (missing & (given == -np.inf)))
    if bad.any():
        where = place(name.partition(" ")[0], first(bad)) if given.ndim else "it"
        raise ProblemError(f"{name} must be finite, but {where} is {given[first(bad)]}")
    if given.ndim == 0:
        return table
    copy = given.copy()
    copy.flags.writeable = False
    return copy


TABLES = ("wealth", "cost", "low", "high", "transition", "beta")
"""Tables that an alternative takes from its problem where it is not given any of its own."""
