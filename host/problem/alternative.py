"""An alternative of a problem in the general form: what can be done in a period."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from numpy.typing import ArrayLike

from beltline.host.problem.checks import ProblemError, numbers_of, plain_text, real, shown


@dataclass(frozen=True, kw_only=True, eq=False)
class Alternative:
    """What can be done in a period, such as "repay", "work" or "exit": tables that replace the problem's own.

    Tables and mappings are copied; tables are checked by the :class:`~beltline.host.problem.problem.Problem` that they
    are given to.

    Parameters
    ----------
    name : str
        What reports, plots and messages call it.
    regime : str
        The regime in which it can be taken. Regimes come into being by being named, in this order; by default all
        alternatives are of one.
    leads_to : str or mapping of str to float, optional
        The regime of the next period, or the probability of each; by default the same regime.
    wealth : (N_k, N_z) array, optional
        Cash on hand ``W(x, s)``, non-decreasing in ``x``, units of money; with a horizon also ``(T, N_k, N_z)``. By
        default the problem's.
    cost : (N_k,) or (N_k, N_z) array, optional
        What ending the period with ``x'`` costs, ``G(x', s)``, units of money; with a horizon also ``(T, N_k, N_z)``.
        By default the problem's.
    low, high : int or (N_k,) or (N_k, N_z) array of int, optional
        Lowest and highest index of ``x'``, which do not fall in ``x``. By default the problem's.
    choice : int or array, optional
        The one index of ``x'`` that there is, in place of ``low`` and ``high``.
    transition : (N_z, N_z) array, optional
        Markov matrix; with a horizon also ``(T, N_z, N_z)``. By default the problem's.
    beta : float or (N_z,) array, optional
        Discount factor, above 0; with a horizon also ``(T, N_z)``, and any size. By default the problem's.
    kappa : float or (N_z,) array
        Utility of the alternative itself; with a horizon also ``(T, N_z)``.
    value : (N_k, N_z) array, optional
        What it is worth, of an alternative without a choice; ``-inf`` where it cannot be taken. Then there is nothing
        else but ``name`` and ``regime``.

    Raises
    ------
    ProblemError
        A name is none, both ``choice`` and a bound are given, or ``value`` and something else, or a table is not one
        of real numbers.

    Examples
    --------
    >>> Alternative(name="retire", leads_to="retired").name
    'retire'
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
                    raise ProblemError(f"alternative {self.name!r} has a value of its own, so it must have no {name}")
        for name in (*TABLES, "choice", "kappa", "value"):
            object.__setattr__(self, name, kept(f"{name} of alternative {self.name!r}", getattr(self, name)))
        chances = self.chances()
        if isinstance(self.leads_to, Mapping):
            object.__setattr__(self, "leads_to", MappingProxyType(chances))

    def __getstate__(self) -> dict[str, Any]:
        """What travels to other processes, to which a view of a mapping cannot."""
        return self.__dict__ | ({"leads_to": self.chances()} if isinstance(self.leads_to, Mapping) else {})

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, MappingProxyType(value) if isinstance(value, dict) else value)

    def chances(self) -> dict[str, float]:
        """The probability of each regime of the next period that is named.

        Raises
        ------
        ProblemError
            ``leads_to`` is neither the name of a regime nor probabilities of some.
        """
        given: Any = self.leads_to
        if given is None:
            return {self.regime: 1.0}
        if isinstance(given, str):
            return {given: 1.0}
        what = f"leads_to of alternative {self.name!r}"
        if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
            raise ProblemError(f"{what} must be the name of a regime, or probabilities by name, not {shown(given)}")
        found = {
            name: real(f"{what}: the probability of {name!r}", chance, "from 0 to 1", lambda p: 0 <= p <= 1)
            for name, chance in given.items()
        }
        if abs(sum(found.values()) - 1) > 1e-12:
            raise ProblemError(f"{what} must have probabilities that sum to 1, not {sum(found.values()):.15g}")
        return found


def kept(name: str, table: Any) -> Any:
    """A read-only copy of a table; a number, or what is no table, as it is, for the problem to check.

    Raises
    ------
    ProblemError
        It is a table, and not one of real numbers.
    """
    given = numbers_of(name, table, "an array of real numbers", scalars=True)
    if given.ndim == 0:
        return table
    copy = given.copy()
    copy.flags.writeable = False
    return copy


TABLES = ("wealth", "cost", "low", "high", "transition", "beta")
"""What an alternative takes from its problem where it has none of its own."""
