"""Bond prices that respond to the default set: lenders break even on average."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beltline.compiled import njit
from beltline.gpu_ref.general.checks import brief, finite, real_numbers
from beltline.gpu_ref.general.solution import Iterate, Prices
from beltline.gpu_ref.tables import Array


@njit(cache=True)
def _break_even(defaults: NDArray[np.bool_], transition: Array, interest: float, prices: Array) -> None:
    """Fill ``prices``, ``(N_z, N_k)``; ``defaults``, ``(N_z, N_k)``, marks where nothing is paid.

    Probabilities are added in the order of states, so that every processor computes the same bits.
    """
    ends = np.zeros(transition.shape[1], np.int64)
    for t in range(ends.size):
        for i in range(defaults.shape[1]):
            ends[t] = i + 1 if defaults[t, i] else ends[t]
    for s in range(transition.shape[0]):
        own = prices[s]
        own[:] = 0.0
        for t in range(ends.size):
            # Beyond the last default there is nothing to add.
            chance, default, part = transition[s, t], defaults[t, : ends[t]], own[: ends[t]]
            for i in range(part.size):
                part[i] += chance if default[i] else 0.0
        for i in range(own.size):
            # Because of rounding, probabilities can sum to slightly more than 1.
            own[i] = max(1.0 - own[i], 0.0) / (1.0 + interest)


def break_even(defaults: ArrayLike, transition: ArrayLike, interest: float) -> Array:
    """Return the price at which a lender breaks even.

    It is ``q(x', s) = (1 - sum_t Q(s, t) defaults(x', t)) / (1 + interest)``.

    Parameters
    ----------
    defaults
        ``(N_k, N_z)``, ``bool``: where nothing is paid next period, by ``x'`` and next period's exogenous state.
    transition
        ``Q``, ``(N_z, N_z)``.
    interest
        Interest rate of a safe bond, above -1.

    Returns
    -------
    numpy.ndarray
        ``(N_k, N_z)``, ``float64``, a view whose exogenous states come first in memory.

    Example
    -------
    >>> break_even([[True, False], [False, False]], [[0.5, 0.5], [0.0, 1.0]], 0.25)
    array([[0.4, 0.8],
           [0.8, 0.8]])
    """
    by_state = np.ascontiguousarray(np.asarray(defaults, np.bool_).T)
    chain = np.ascontiguousarray(transition, np.float64)
    prices = np.empty(by_state.shape)
    _break_even(by_state, chain, float(interest), prices)
    return prices.T


@dataclass(frozen=True, eq=False)
class BondPrices:
    """Move bond prices with the default set during a solve: pass an instance as ``update``.

    Ending a period with ``x'`` costs ``G(x', s) = q(x', s) face(x')``, where ``q`` is the price of :func:`break_even`
    for the default set of the last sweep. A CUDA device recognises this type and computes the prices itself.

    Parameters
    ----------
    repay
        Name of the alternative whose cost is set, and whose transition matrix lenders use.
    default
        Name of the alternative in which nothing is paid.
    face
        What a bond pays, ``(N_k,)``, units of consumption.
    interest
        Interest rate of a safe bond, above -1.

    Raises
    ------
    ValueError
        ``face`` is not a one-dimensional array of finite numbers, ``interest`` is not above -1, or a name is not a
        string.

    Examples
    --------
    >>> rule = bl.BondPrices("repay", "default", face=bonds, interest=0.017)  # doctest: +SKIP
    >>> bl.solve(problem, update=rule, device="gpu")  # doctest: +SKIP
    """

    repay: str
    default: str
    face: Array
    interest: float

    def __post_init__(self) -> None:
        for name in ("repay", "default"):
            if not isinstance(getattr(self, name), str):
                raise ValueError(f"{name} must be the name of an alternative, not {brief(getattr(self, name))}")
        face = real_numbers("face", self.face)
        if face.ndim != 1 or not np.isfinite(face).all():
            what = f"one of shape {face.shape}" if face.ndim != 1 else "one with an entry that is not finite"
            raise ValueError(f"face must be a one-dimensional array of finite numbers, not {what}")
        object.__setattr__(self, "face", face)
        interest = real_numbers("interest", self.interest)
        if interest.ndim or not -1.0 < interest < np.inf:
            raise ValueError(f"interest must be a number above -1, not {brief(self.interest)}")
        object.__setattr__(self, "interest", float(interest))

    def __call__(self, last: Iterate) -> Prices:
        """Return the tables of the next sweep, and the prices, ``(N_k, N_z)``."""
        repay, default = self.numbers([one.name for one in last.form.alternatives])
        regime = last.form.alternatives[default].regime
        transition = last.form.alternatives[repay].at().transition  # type: ignore[union-attr]
        prices = break_even(last.choice[regime] == default, transition, self.interest)
        return Prices({self.repay: {"cost": self.costs(prices)}}, prices)

    def numbers(self, names: list[str]) -> tuple[int, int]:
        """Return the numbers of the two alternatives among ``names``.

        Raises
        ------
        ValueError
            There is no alternative of that name, or ``names`` is not a list of strings.
        """
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError(f"names must be a list of names of alternatives, not {brief(names)}")
        for name in (self.repay, self.default):
            if name not in names:
                raise ValueError(f"there is no alternative {name!r}: there are {', '.join(map(repr, sorted(names)))}")
        return names.index(self.repay), names.index(self.default)

    def costs(self, prices: Array) -> Array:
        """Return the cost ``G``, ``(N_k, N_z)``, at ``prices`` of that shape.

        Raises
        ------
        ValueError
            ``prices`` does not consist of finite numbers, or has another shape.
        """
        given = real_numbers("prices", prices)
        if given.ndim != 2 or len(given) != self.face.size:
            raise ValueError(f"prices must have shape ({self.face.size}, N_z), not {given.shape}")
        finite("prices", given)
        found: Array = given * self.face[:, None]
        return found
