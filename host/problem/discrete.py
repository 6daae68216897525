"""Discrete dynamic programs: any reward of a state and an action, and any distribution of the next state."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beltline.host.problem.checks import ProblemError, first, place, plain_text, real, table, whole
from beltline.host.problem.problem import ROW_SUM_TOLERANCE
from beltline.host.problem.report import as_html, report

if TYPE_CHECKING:
    from beltline.gpu_ref.discrete.program import Program

MOST = 2**31 - 1
"""Most states, actions and lotteries."""

PIECE = 2**22
"""Pairs whose rewards are asked of a function together."""


@dataclass(frozen=True, eq=False)
class DiscreteProblem:
    """A discrete dynamic program, as :func:`beltline.from_discrete_dp` and :func:`beltline.from_factors` make it.

        V(i) = max over a in A(i) of  R(i, a) + beta * sum_j Q(i, a, j) V(j)

    ``bl.solve`` solves it on the processor, and returns a
    :class:`~beltline.host.results.discrete_result.DiscreteResult`.

    Parameters
    ----------
    program : Program
        Its tables (:mod:`beltline.gpu_ref.discrete`).
    shape : tuple of int
        Of the tables of its solution: ``(n,)``, or ``(N_k, N_z)`` where a state is an endogenous and an exogenous one,
        state ``k * N_z + z``.
    name : str
        What reports call it.
    """

    program: Program
    shape: tuple[int, ...]
    name: str = "discrete problem"

    def __post_init__(self) -> None:
        plain_text("name", self.name)

    @property
    def beta(self) -> float:
        """Discount factor."""
        return self.program.beta

    @property
    def states(self) -> int:
        """``n``, the number of states."""
        return self.program.states

    @property
    def pairs(self) -> int:
        """Pairs of a state and an action; of those of a state with the same transitions, the best alone is kept."""
        return self.program.pairs

    @property
    def size(self) -> str:
        """The number of states, in words."""
        if len(self.shape) == 1:
            return f"{self.states:,} states"
        return f"{self.shape[0]:,} endogenous x {self.shape[1]:,} exogenous states"

    def state_name(self, number: int) -> str:
        """What messages call a state."""
        return _state_name(number, self.shape)

    def __str__(self) -> str:
        rows = [
            ("states", self.size),
            ("actions", f"{self.pairs:,} pairs of a state and an action"),
            ("transitions", f"{self.program.chances.shape[0]:,} distributions of the next state"),
            ("beta", f"{self.beta:.6g}"),
        ]
        return report(self.name, rows)

    __repr__ = __str__
    _repr_html_ = as_html


def from_factors(
    endog_size: int,
    exog_chain: Any,
    num_actions: int | None = None,
    reward: ArrayLike | Callable[..., Any] | None = None,
    endog_next: ArrayLike | Callable[..., Any] | None = None,
    *,
    beta: float,
    feasible: ArrayLike | Callable[..., Any] | None = None,
    name: str = "discrete problem",
) -> DiscreteProblem:
    """Make a problem of which an action chooses the next endogenous state, while a chain moves the exogenous one.

        V(k, z) = max over a, feasible(k, z, a), of  reward(k, z, a) + beta * sum_z' P(z, z') V(k', z'),
                  k' = endog_next(k, z, a)

    Transitions are never written out: only rewards grow with the number of pairs. These are the arguments that
    QuantEcon.py discusses for its own ``DiscreteDP`` (its issue 228).

    Parameters
    ----------
    endog_size : int
        ``N_k``, the number of endogenous states.
    exog_chain : (N_z, N_z) array
        ``P``; rows sum to 1. Or an object with such a ``P``, such as QuantEcon's ``MarkovChain``.
    num_actions : int, optional
        ``N_a``; by default ``N_k``.
    reward : (N_k, N_z, N_a) array, or function
        In units of utility; ``-inf`` where an action cannot be taken. A function is called with arrays of ``k``, ``z``
        and ``a`` of one shape, and returns an array of it.
    endog_next : (N_k, N_z, N_a) array of int, or function, optional
        The next endogenous state; by default the action itself.
    beta : float
        Discount factor, from 0 and below 1.
    feasible : (N_k, N_z, N_a) array of bool, or function, optional
        Where an action can be taken; rewards elsewhere are not looked at.
    name : str

    Raises
    ------
    ProblemError
        An argument is wrong, or a state has no action; the first fault, in one sentence.

    Examples
    --------
    Savings, with assets and income on grids, and consumption that must be above 0:

    >>> import numpy as np
    >>> import beltline as bl
    >>> assets, income = np.linspace(0.0, 10.0, 50), np.array([0.6, 1.4])
    >>> def consumption(k, z, a):
    ...     return 1.02 * assets[k] + income[z] - assets[a]
    >>> problem = bl.from_factors(50, [[0.8, 0.2], [0.2, 0.8]], beta=0.95,
    ...     reward=lambda k, z, a: np.log(consumption(k, z, a)), feasible=lambda k, z, a: consumption(k, z, a) > 0)
    >>> result = bl.solve(problem)
    >>> result.success, result.policy.shape
    (True, (50, 2))
    """
    from beltline.gpu_ref.discrete.program import next_states, program_of

    n_k = whole("endog_size", endog_size, f"a whole number from 1 to {MOST}", lambda v: 1 <= v <= MOST)
    chain = table("exog_chain", getattr(exog_chain, "P", exog_chain), 2)
    n_z = chain.shape[0]
    if chain.shape != (n_z, n_z):
        raise ProblemError(f"exog_chain must be square, one row and one column per exogenous state, not {chain.shape}")
    check_chances(chain, lambda z, j: place("exog_chain", (z, j)), lambda z: f"row {z} of exog_chain")
    wanted = f"a whole number from 1 to {MOST}, or None for endog_size"
    n_a = n_k if num_actions is None else whole("num_actions", num_actions, wanted, lambda v: 1 <= v <= MOST)
    if reward is None:
        raise ProblemError("reward must be an array or a function, not None")
    if endog_next is None and n_a > n_k:
        raise ProblemError(f"endog_next must be given where num_actions = {n_a} is above endog_size = {n_k}")
    beta = discount(beta)
    state, action, rewards, following = _pairs(reward, endog_next, feasible, (n_k, n_z, n_a))
    everyone_chooses(np.bincount(state, minlength=n_k * n_z), (n_k, n_z))
    exogenous = np.arange(n_k * n_z) % n_z
    with refused():
        lottery = exogenous[state] * n_k + following
        program = program_of(state, action, rewards, lottery, next_states(chain, n_k), beta, exogenous)
    return DiscreteProblem(program, (n_k, n_z), name)


def _pairs(reward: Any, endog_next: Any, feasible: Any, shape: tuple[int, int, int]) -> list[NDArray[Any]]:
    """State, action, reward and next endogenous state of every pair that can be taken, ``(L,)`` each."""
    from beltline.gpu_ref.discrete.program import check_pairs

    with refused():
        check_pairs(int(np.prod(shape, dtype=np.float64)))
    n_k, n_z, n_a = shape
    rewards = _table("reward", reward, shape, "iuf", "real numbers")
    moves = None if endog_next is None else _table("endog_next", endog_next, shape, "iu", "whole numbers")
    taken = None if feasible is None else _table("feasible", feasible, shape, "b", "True and False")
    parts = []
    step = max(1, PIECE // (n_z * n_a))
    for begin in range(0, n_k, step):
        end = min(begin + step, n_k)
        found = rewards(begin, end)
        here = np.ones(found.shape, np.bool_) if taken is None else taken(begin, end)
        bad = here & ~(np.isfinite(found) | (found == -np.inf))
        if bad.any():
            at = first(bad)
            where = place("reward", (begin + at[0], *at[1:]))
            raise ProblemError(
                f"reward must be finite, or -inf where an action cannot be taken, but {where} is {found[at]}"
            )
        k, z, a = np.nonzero(here & (found > -np.inf))
        following = a if moves is None else moves(begin, end)[k, z, a]
        out = (following < 0) | (following >= n_k)
        if out.any():
            p = int(np.argmax(out))
            where = place("endog_next", (begin + k[p], z[p], a[p]))
            raise ProblemError(f"endog_next must be from 0 to {n_k - 1}, but {where} is {following[p]}")
        parts.append(((begin + k) * n_z + z, a, found[k, z, a].astype(np.float64), following))
    return [np.concatenate(each) for each in zip(*parts, strict=True)]


def _table(
    name: str, given: Any, shape: tuple[int, int, int], kinds: str, what: str
) -> Callable[[int, int], NDArray[Any]]:
    """What returns the rows from one to another endogenous state of an array or a function, checked."""

    def checked(found: NDArray[Any], wanted: tuple[int, ...]) -> NDArray[Any]:
        if found.dtype.kind not in kinds:
            raise ProblemError(f"{name} must be made of {what}, not of type {found.dtype}")
        if found.shape != wanted:
            raise ProblemError(f"{name} must have shape {wanted}, one axis each for k, z and a, not {found.shape}")
        return found

    if not callable(given):
        whole_table = checked(_array(name, given), shape)
        return lambda begin, end: whole_table[begin:end]

    def asked(begin: int, end: int) -> NDArray[Any]:
        k, z, a = np.indices((end - begin, *shape[1:]))
        try:
            with np.errstate(all="ignore"):
                found = given(k + begin, z, a)
        except ValueError as error:
            if "truth value" not in str(error):
                raise
            raise ProblemError(
                f"{name} must take arrays of k, z and a; a function of single numbers does as numpy.vectorize({name})"
            ) from error
        return checked(_array(name, found), k.shape)

    return asked


def _array(name: str, given: Any) -> NDArray[Any]:
    try:
        return np.asarray(given)
    except ValueError:
        raise ProblemError(f"{name} must be an array, not a ragged sequence") from None


def discount(beta: Any) -> float:
    """Return ``beta`` as a float, if it is from 0 and below 1."""
    return real("beta", beta, "a number from 0 and below 1, as the horizon is infinite", lambda b: 0 <= b < 1)


def check_chances(rows: Any, entry: Callable[[int, int], str], row: Callable[[int], str]) -> None:
    """Check that rows of finite numbers, dense or sparse, are distributions.

    Parameters
    ----------
    rows
    entry, row
        What an entry and a row are called.

    Raises
    ------
    ProblemError
        The first fault.
    """
    at, to = (rows < 0).nonzero()
    if at.size:
        raise ProblemError(f"{entry(int(at[0]), int(to[0]))} must not be negative, and is {rows[at[0], to[0]]:.6g}")
    sums = np.asarray(rows.sum(axis=1)).reshape(-1)
    off = np.abs(sums - 1.0) > ROW_SUM_TOLERANCE
    if off.any():
        bad = int(np.argmax(off))
        raise ProblemError(f"{row(bad)} must sum to 1 within {ROW_SUM_TOLERANCE:g}, not to {sums[bad]:.15g}")


def everyone_chooses(actions: NDArray[np.int64], shape: tuple[int, ...]) -> None:
    """Check that every state has an action; ``actions`` are their numbers by state.

    Raises
    ------
    ProblemError
        The first that has none.
    """
    if (actions == 0).any():
        where = _state_name(int(np.argmax(actions == 0)), shape)
        raise ProblemError(f"every state must have an action, and {where} has none with a reward above -inf")


def _state_name(number: int, shape: tuple[int, ...]) -> str:
    if len(shape) == 1:
        return f"state {number}"
    return f"endogenous state {number // shape[1]}, exogenous state {number % shape[1]}"


@contextlib.contextmanager
def refused() -> Iterator[None]:
    """What does not fit the memory, as an error of the problem."""
    try:
        yield
    except MemoryError as error:
        raise ProblemError(str(error) or "the problem does not fit the memory of this computer") from error
