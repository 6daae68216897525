"""Discrete dynamic programs: any reward of a state and an action, any distribution of the next state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beltline.gpu_ref.remedies import of_sums
from beltline.host.problem.checks import (
    ProblemError,
    first,
    numbers_of,
    place,
    plain_text,
    real,
    shown,
    table,
    whole,
)
from beltline.host.problem.memory import memory_as_problem_error
from beltline.host.problem.problem import HORIZON_LIMIT, ROW_SUM_TOLERANCE
from beltline.host.problem.report import Report, as_html, as_text, report

if TYPE_CHECKING:
    from beltline.gpu_ref.discrete.program import Program

INDEX_LIMIT = 2**31 - 1
"""Largest number of states, of actions, and of different distributions of the next state."""

PAIRS_PER_CALL = 2**22
"""Number of pairs of a state and an action for which ``reward`` and other functions are called at once, about."""

NOTHING = "no state has a value above minus infinity: from every state a state without an action may be reached"
"""Message of a problem in which nothing can be done."""


@dataclass(frozen=True, eq=False)
class DiscreteProblem:
    """A discrete dynamic program: finitely many states and actions, with any rewards and any transitions.

        V(i) = max over a in A(i) of  R(i, a) + beta * sum_j Q(i, a, j) V(j)

    Make one with :func:`beltline.from_discrete_dp` or :func:`beltline.from_factors`. ``bl.solve`` solves it on the
    processor. The value is minus infinity, and the policy -1, where no action can be taken, and where every action may
    lead to such states.

    Parameters
    ----------
    program : Program
        Its rewards and transitions as the solver stores them (:mod:`beltline.gpu_ref.discrete`).
    shape : tuple of int
        Shape of the tables of its solution: ``(n,)``, or ``(N_k, N_z)`` where state ``k * N_z + z`` is the endogenous
        state ``k`` together with the exogenous state ``z``.
    name : str
        Name in reports.
    horizon : int, optional
        Number of ages ``T``; tables of the solution then have an axis of ages before those of ``shape``. By default the
        horizon is infinite.
    start : array of ``shape``, optional
        With a horizon the value after the last age, in units of utility.

    Raises
    ------
    ProblemError
        No state has a value above minus infinity; or ``beta`` is 1, the horizon is infinite, and a state cannot surely
        reach an end. An end is a state, or several, among which actions of reward 0 can be taken for ever.

    Examples
    --------
    >>> import beltline as bl
    >>> problem = bl.from_discrete_dp(R=[[5, 10], [-1, 2]], Q=[[(0.5, 0.5), (0, 1)], [(0, 1), (0.5, 0.5)]], beta=0.95)
    >>> problem.states, problem.pairs, problem.beta
    (2, 4, 0.95)
    """

    program: Program
    shape: tuple[int, ...]
    name: str = "discrete problem"
    horizon: int | None = None
    start: NDArray[np.float64] | None = None

    regimes: ClassVar[tuple[str, ...]] = ("",)
    alternatives: ClassVar[tuple[()]] = ()

    def __post_init__(self) -> None:
        plain_text("name", self.name)
        if self.program.lost.all():
            raise ProblemError(NOTHING)
        if self.horizon is None and self.beta == 1.0:
            from beltline.gpu_ref.discrete.ending import merged, surely_ending

            one = merged(self.program)
            stuck = surely_ending(one.program)[one.place] < 0
            if stuck.any():
                raise ProblemError(
                    "with beta = 1 every state must be able to reach, with probability 1, a state that stays where it "
                    f"is for a reward of 0, and {self.state_name(int(np.argmax(stuck)))} is not"
                )

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
        """Number of pairs of a state and an action that the solver compares.

        Actions of one state that lead to the same distribution of the next state count once: only the best can be
        chosen, and the others are dropped when the problem is made, as are those that may lead to a value of minus
        infinity.
        """
        return self.program.pairs - int(self.program.lost.sum())

    @property
    def answer_shape(self) -> tuple[int, ...]:
        """Shape of the tables of the solution: :attr:`shape`, with a horizon after an axis of ages."""
        return self.shape if self.horizon is None else (self.horizon, *self.shape)

    @property
    def size(self) -> str:
        """The number of states as text for reports."""
        if len(self.shape) == 1:
            return f"{self.states:,} states"
        return f"{self.shape[0]:,} endogenous x {self.shape[1]:,} exogenous states"

    def state_name(self, number: int) -> str:
        """Return how messages name the state of this number."""
        wanted = f"a whole number from 0 to {self.states - 1}"
        return _state_name(whole("number", number, wanted, lambda v: 0 <= v < self.states), self.shape)

    def _report(self) -> Report:
        rows = [
            ("states", self.size),
            ("actions", f"{self.pairs:,} pairs of a state and an action"),
            ("transitions", f"{self.program.chances.shape[0]:,} distributions of the next state"),
            ("beta", f"{self.beta:.6g}"),
        ]
        if self.horizon is not None:
            rows.append(("horizon", f"{self.horizon:,} ages"))
        if lost := int(self.program.lost.sum()):
            rows.append(("value -inf", f"that of {lost:,} states, which no action may lead to"))
        return report(self.name, rows)

    __str__ = __repr__ = as_text
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
    horizon: int | None = None,
    start: ArrayLike | None = None,
    name: str = "discrete problem",
) -> DiscreteProblem:
    """Make a discrete dynamic program whose actions choose the next endogenous state.

    The exogenous state follows a Markov chain:

        V(k, z) = max over a with feasible(k, z, a) of  reward(k, z, a) + beta * sum_z' P(z, z') V(k', z'),
                  k' = endog_next(k, z, a)

    The transition matrix of the pair of states is never formed, so that memory is needed for rewards only. The
    arguments are those proposed for ``DiscreteDP`` of QuantEcon.py (its issue 228).

    Parameters
    ----------
    endog_size : int
        ``N_k``, the number of endogenous states.
    exog_chain : (N_z, N_z) array
        Markov matrix ``P(z, z')``; rows sum to 1 within ``ROW_SUM_TOLERANCE`` (1e-12). Or an object with such an
        attribute ``P``, such as QuantEcon's ``MarkovChain``.
    num_actions : int, optional
        ``N_a``, the number of actions; by default ``N_k``.
    reward : (N_k, N_z, N_a) array, or function
        In units of utility; ``-inf`` where an action cannot be taken. A function is called as ``reward(k, z, a)`` with
        three integer arrays of one shape and must return an array of that shape.
    endog_next : (N_k, N_z, N_a) array of int, or function, optional
        The next endogenous state ``k'``; by default the action itself. A function is called as ``reward`` is.
    beta : float
        Discount factor, as in :func:`beltline.from_discrete_dp`.
    feasible : (N_k, N_z, N_a) array of bool, or function, optional
        Whether an action can be taken; by default every action can. Where it is false, ``reward`` and ``endog_next``
        are ignored. A function is called as ``reward`` is.
    horizon, start : int and (N_k, N_z) array, optional
        Number of ages, and the value after the last one, as in :func:`beltline.from_discrete_dp`.
    name : str
        Name in reports and messages.

    Returns
    -------
    DiscreteProblem
        Its solution has tables of shape ``(N_k, N_z)``, with a horizon ``(T, N_k, N_z)``.

    Raises
    ------
    ProblemError
        An argument has a wrong type, shape or value, the problem has no finite solution, or it does not fit in memory.
        The message is one sentence about the first error found.

    Examples
    --------
    A savings problem with assets and income on grids, in which consumption must be above 0:

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

    n_k = whole("endog_size", endog_size, f"a whole number from 1 to {INDEX_LIMIT}", lambda v: 1 <= v <= INDEX_LIMIT)
    chain = table("exog_chain", getattr(exog_chain, "P", exog_chain), 2)
    n_z = chain.shape[0]
    if chain.shape != (n_z, n_z):
        raise ProblemError(f"exog_chain must be square, one row and one column per exogenous state, not {chain.shape}")
    check_chances(chain, lambda z, j: place("exog_chain", (z, j)), lambda z: f"row {z} of exog_chain")
    wanted = f"a whole number from 1 to {INDEX_LIMIT}, or None for endog_size"
    n_a = n_k if num_actions is None else whole("num_actions", num_actions, wanted, lambda v: 1 <= v <= INDEX_LIMIT)
    if reward is None:
        raise ProblemError("reward must be an array or a function, not None")
    if endog_next is None and n_a > n_k:
        raise ProblemError(f"endog_next must be given where num_actions = {n_a} is above endog_size = {n_k}")
    beta, horizon, start = discounting(beta, horizon, start, (n_k, n_z))
    state, action, rewards, following = _pairs(reward, endog_next, feasible, (n_k, n_z, n_a))
    if not state.size:
        raise ProblemError(NOTHING)
    exogenous = np.arange(n_k * n_z) % n_z
    with memory_as_problem_error():
        lottery = exogenous[state] * n_k + following
        program = program_of(state, action, rewards, lottery, next_states(chain, n_k), beta, exogenous, horizon is None)
        return DiscreteProblem(program, (n_k, n_z), name, horizon, start)


def _pairs(reward: Any, endog_next: Any, feasible: Any, shape: tuple[int, int, int]) -> list[NDArray[Any]]:
    """Return state, action, reward and next endogenous state of every feasible pair, ``(L,)`` each."""
    from beltline.gpu_ref.discrete.program import check_pairs

    with memory_as_problem_error():
        check_pairs(int(np.prod(shape, dtype=np.float64)))
    n_k, n_z, n_a = shape
    rewards = _rows_of("reward", reward, shape, "iuf", "real numbers")
    next_rows = None if endog_next is None else _rows_of("endog_next", endog_next, shape, "iu", "whole numbers")
    feasible_rows = None if feasible is None else _rows_of("feasible", feasible, shape, "b", "True and False")
    parts = []
    step = max(1, PAIRS_PER_CALL // (n_z * n_a))
    for begin in range(0, n_k, step):
        end = min(begin + step, n_k)
        found = rewards(begin, end)
        allowed = np.ones(found.shape, np.bool_) if feasible_rows is None else feasible_rows(begin, end)
        bad = allowed & ~(np.isfinite(found) | (found == -np.inf))
        if bad.any():
            at = first(bad)
            where = place("reward", (begin + at[0], *at[1:]))
            raise ProblemError(
                f"reward must be finite, or -inf where an action cannot be taken, but {where} is {found[at]}"
            )
        k, z, a = np.nonzero(allowed & (found > -np.inf))
        following = a if next_rows is None else next_rows(begin, end)[k, z, a]
        out = (following < 0) | (following >= n_k)
        if out.any():
            p = int(np.argmax(out))
            where = place("endog_next", (begin + k[p], z[p], a[p]))
            raise ProblemError(f"endog_next must be from 0 to {n_k - 1}, but {where} is {following[p]}")
        parts.append(((begin + k) * n_z + z, a, found[k, z, a].astype(np.float64), following))
    return [np.concatenate(each) for each in zip(*parts, strict=True)]


def _rows_of(
    name: str, given: Any, shape: tuple[int, int, int], kinds: str, what: str
) -> Callable[[int, int], NDArray[Any]]:
    """Return a function of ``(begin, end)`` that checks and returns the rows ``begin`` to ``end - 1`` of an argument.

    A row belongs to one endogenous state. The argument ``given``, called ``name``, is a table of ``shape`` or a
    function of ``k``, ``z`` and ``a``. ``kinds`` are the accepted kinds of NumPy dtypes, and ``what`` describes them in
    words.
    """

    def checked(found: NDArray[Any], wanted: tuple[int, ...]) -> NDArray[Any]:
        if found.shape != wanted:
            raise ProblemError(f"{name} must have shape {wanted}, one axis each for k, z and a, not {found.shape}")
        return found

    if not callable(given):
        whole_table = checked(numbers_of(name, given, f"an array of {what} or a function", kinds), shape)
        return lambda begin, end: whole_table[begin:end]

    def called(begin: int, end: int) -> NDArray[Any]:
        k, z, a = np.indices((end - begin, *shape[1:]))
        try:
            with np.errstate(all="ignore"):
                found = given(k + begin, z, a)
        except ValueError as error:
            if "truth value" not in str(error):
                raise
            raise ProblemError(
                f"{name} must take arrays of k, z and a; wrap a function of single numbers: numpy.vectorize({name})"
            ) from error
        return checked(numbers_of(name, found, f"made of {what}", kinds), k.shape)

    return called


def discounting(
    beta: Any, horizon: Any, start: Any, shape: tuple[int, ...]
) -> tuple[float, int | None, NDArray[np.float64] | None]:
    """Return discount factor, number of ages, and the value after the last age after checking them.

    Raises
    ------
    ProblemError
        ``beta`` is not a number from 0 to 1, with a horizon from 0; ``horizon`` is not None or a whole number above 0;
        or ``start`` does not have the shape of a value, ``shape``, is not finite or minus infinity, or has no horizon.
    """
    if horizon is None:
        if start is not None:
            raise ProblemError(
                "start is the value after the last age: give the number of ages, horizon, or leave it out"
            )
        return real("beta", beta, "a number from 0 to 1, as the horizon is infinite", lambda b: 0 <= b <= 1), None, None
    beta = real("beta", beta, "a finite number from 0", lambda b: 0 <= b < np.inf)
    wanted = f"a whole number from 1 to {HORIZON_LIMIT}, or None for an infinite horizon"
    horizon = whole("horizon", horizon, wanted, lambda ages: 1 <= ages <= HORIZON_LIMIT)
    wanted = f"an array of real numbers of shape {shape}"
    value = np.zeros(shape) if start is None else numbers_of("start", start, wanted)
    if value.shape != shape:
        raise ProblemError(f"start must be {wanted}, not {shown(start)}")
    bad = ~(np.isfinite(value) | (value == -np.inf))
    if bad.any():
        where = first(bad)
        raise ProblemError(f"start must be finite, or -inf, but {place('start', where)} is {value[where]}")
    return beta, horizon, value.astype(np.float64)


def check_chances(rows: Any, entry: Callable[[int, int], str], row: Callable[[int], str]) -> None:
    """Check that the rows of a matrix are probability distributions.

    Parameters
    ----------
    rows : (m, n) array or scipy.sparse array
        Finite numbers.
    entry : function of (row, column)
        How messages name an entry.
    row : function of row
        How messages name a row.

    Raises
    ------
    ProblemError
        An entry is negative, or a row does not sum to 1 within ``ROW_SUM_TOLERANCE``; the message is about the first.
    """
    at, to = (rows < 0).nonzero()
    if at.size:
        raise ProblemError(f"{entry(int(at[0]), int(to[0]))} must not be negative, and is {rows[at[0], to[0]]:.6g}")
    sums = np.asarray(rows.sum(axis=1)).reshape(-1)
    off = np.abs(sums - 1.0) > ROW_SUM_TOLERANCE
    if off.any():
        bad = int(np.argmax(off))
        wanted = f"must sum to 1 within {ROW_SUM_TOLERANCE:g}"
        raise ProblemError(f"{row(bad)} {wanted}, not to {sums[bad]:.15g}{of_sums(rows)}")


def _state_name(number: int, shape: tuple[int, ...]) -> str:
    if len(shape) == 1:
        return f"state {number}"
    return f"endogenous state {number // shape[1]}, exogenous state {number % shape[1]}"
