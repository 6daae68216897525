"""Policies: checks before they are used, where they lead in a period, headings of reports."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit
from beltline.gpu_ref.general.form import Branch
from beltline.host.analysis.between import rounded
from beltline.host.analysis.chain import chain_distribution
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, shown, table, whole
from beltline.host.problem.discrete import DiscreteProblem
from beltline.host.problem.general import extras
from beltline.host.problem.problem import ROW_SUM_TOLERANCE, Problem
from beltline.host.results.result import Result
from beltline.host.results.variables import consumption_of, variables

Answer = Any
"""A :class:`Result`, or its refinement: what an analysis follows. :mod:`beltline.host.analysis.refine` imports this."""

PERIODS_LIMIT = 10**8
"""Largest number of simulated periods, so that a mistyped number is refused before memory is allocated."""


@njit(cache=True)
def _arrived(mass: Array, choice: NDArray[np.int32], share: Array) -> Array:
    """Return ``mass``, ``(N_k, N_z)``, moved to the points ``choice`` and, with this ``share``, to those above them.

    What has no choice, -1, is left out.
    """
    points, states = mass.shape
    moved = np.zeros((points, states))
    for x in range(points):
        for s in range(states):
            j = choice[x, s]
            if j >= 0:
                moved[j, s] += (1.0 - share[x, s]) * mass[x, s]
                if share[x, s] > 0.0:
                    moved[j + 1, s] += share[x, s] * mass[x, s]
    return moved


def carried(mass: Array, policy: NDArray[np.int32], chain: Array, share: Array | None = None) -> Array:
    """Return the distribution one period later, ``(N_k, N_z)``: mass moves to where the policy leads, then along
    ``chain``.

    With a ``share``, between 0 and 1, choices lie between grid points, and this share goes to the point above
    ``policy`` (:func:`lottery`).
    """
    above = np.zeros(mass.shape) if share is None else share
    return np.asarray(_arrived(mass, policy, above) @ chain)


@dataclass(frozen=True, eq=False)
class Policy:
    """What people do in a period, and where it leads.

    Parameters
    ----------
    regime : (N_d,) int array
        Regime of each alternative.
    choice : (N_d, N_k, N_z) int array
        Index of ``x'``; -1 without one, which ends the problem.
    probability : (N_d, N_k, N_z) array
        Probability of each alternative in its regime.
    chain : (N_d, N_z, N_z) array
        Markov matrix of the exogenous state.
    mix : (N_d, N_r) array
        Probability of each regime of the next period.
    share : (N_d, N_k, N_z) array, optional
        For choices between grid points: the share of people who go to the point above ``choice`` (:func:`lottery`).
        All choices are on the grid without it.
    """

    regime: NDArray[np.intp]
    choice: NDArray[Any]
    probability: Array
    chain: Array
    mix: Array
    share: Array | None = None

    @classmethod
    def single(cls, choice: NDArray[Any], chain: Array) -> Policy:
        """Return the policy of one alternative with choices on the grid, ``(N_k, N_z)``."""
        one = np.ones((1, 1))
        return cls(np.zeros(1, np.intp), choice[None], np.ones((1, *choice.shape)), chain[None], one)

    @property
    def shares(self) -> Array:
        """``share``, and zeros if all choices are on the grid."""
        return np.zeros(self.choice.shape) if self.share is None else self.share

    def forward(self, mass: Array) -> Array:
        """Return the distribution one period later, ``(N_r, N_k, N_z)``; who ends the problem is left out."""
        ahead = np.zeros(mass.shape)
        for d, regime in enumerate(self.regime):
            share = None if self.share is None else self.share[d]
            following = carried(self.probability[d] * mass[regime], self.choice[d], self.chain[d], share)
            for r in np.flatnonzero(self.mix[d]):
                ahead[r] += self.mix[d, r] * following
        return ahead

    def ahead(self, values: Array) -> Array:
        """Return the expectation of ``values``, ``(N_r, N_k, N_z)``, one period later, given the alternative of today.

        It is the adjoint of :meth:`forward`, ``(N_d, N_k, N_z)``, and 0 where the problem ends.
        """
        found = np.zeros(self.choice.shape)
        for d in range(self.regime.size):
            expected = np.tensordot(self.mix[d], values, 1) @ self.chain[d].T
            for choice, weight in self._ends(d, taken=False):
                found[d] += weight * np.take_along_axis(expected, np.maximum(choice, 0).astype(np.intp), axis=0)
        return found

    def by_state(self, values: Array) -> Array:
        """Return the mean of ``values``, ``(N_d, N_k, N_z)``, over the alternatives of each state, ``(N_r, N_k,
        N_z)``.
        """
        found = np.zeros((self.mix.shape[1], *values.shape[1:]))
        for d, regime in enumerate(self.regime):
            found[regime] += self.probability[d] * values[d]
        return found

    def by_regime(self) -> tuple[NDArray[np.intp], Array]:
        """Return the alternatives in the order of their regimes, and in this order the probability, ``(N_d, N_k,
        N_z)``, that it or an earlier one of its regime is taken.
        """
        order = np.argsort(self.regime, kind="stable")
        taken = np.empty(self.choice.shape)
        for place, d in enumerate(order):
            taken[place] = self.probability[d]
            if place and self.regime[d] == self.regime[order[place - 1]]:
                taken[place] += taken[place - 1]
        return order, taken

    def matrix(self) -> Any:
        """Return the Markov matrix of the states ``(r, x, s)`` in this order, sparse, ``(n, n)``.

        The rows of states in which the problem may end sum to less than 1.
        """
        from scipy.sparse import csr_array

        points, states = self.choice.shape[1:]
        regimes = self.mix.shape[1]
        size = regimes * points * states
        parts: list[tuple[Array, Array, Array]] = []
        for d, regime in enumerate(self.regime):
            to = np.flatnonzero(self.mix[d])
            for choice, weight in self._ends(d):
                x, s = np.nonzero(weight)
                chances = weight[x, s, None, None] * self.mix[d, to, None] * self.chain[d, s][:, None, :]
                columns = (to[:, None] * points + choice[x, s, None, None]) * states + np.arange(states)
                rows = np.broadcast_to(((regime * points + x) * states + s)[:, None, None], columns.shape)
                parts.append((chances.ravel(), rows.ravel(), columns.ravel()))
        chances, rows, columns = (np.concatenate([part[k] for part in parts]) for k in range(3))
        found = csr_array((chances, (rows, columns)), shape=(size, size))
        found.eliminate_zeros()
        return found

    def _ends(self, d: int, taken: bool = True) -> list[tuple[NDArray[Any], Array]]:
        """Return the points to which an alternative leads, ``(N_k, N_z)``, and their shares; 0 where it ends."""
        choice = self.choice[d]
        weight = np.where(choice >= 0, self.probability[d] if taken else 1.0, 0.0)
        if self.share is None:
            return [(choice, weight)]
        return [(choice, weight * (1.0 - self.share[d])), (choice + 1, weight * self.share[d])]


def policy_of(answer: Answer, age: int = 0, physical: Array | None = None) -> Policy:
    """Return the policy of an answer to a problem on a grid; with a horizon that of an age, counted from 0.

    ``physical`` is a Markov chain that the exogenous state follows in place of that of the problem.
    """
    problem = answer.problem
    share: Array | None = None
    if isinstance(answer, Result):
        tables = answer.tables
        part = slice(None) if problem.horizon is None else age
        choice, probability = tables.policy[part], tables.probabilities[part]
    else:
        chosen = answer.policies[0 if problem.horizon is None else age]
        choice, probability, share = chosen.below, chosen.probability, chosen.share
    branches = [one.at(age) if isinstance(one, Branch) else None for one in problem.form.alternatives]
    chain = np.zeros((len(branches), problem.states, problem.states))
    mix = np.zeros((len(branches), len(problem.regimes)))
    for d, branch in enumerate(branches):
        if branch is not None:
            chain[d], mix[d] = branch.transition if physical is None else physical, branch.mix
    regime = np.array([one.regime for one in problem.form.alternatives], np.intp)
    return Policy(regime, choice, probability, chain, mix, share)


def by_alternative(answer: Answer) -> dict[str, Array]:
    """Return the variables of :meth:`beltline.Result.variables` for each alternative, with an axis of alternatives.

    Shapes are ``(N_d, N_k, N_z)``, with a horizon ``(T, N_d, N_k, N_z)``; 0 where an alternative has no choice.
    """
    problem = answer.problem
    if isinstance(problem, DiscreteProblem):
        raise ProblemError(f"{problem.name} is a discrete problem: its states and actions have no amounts")
    if isinstance(answer, Result):
        policy = answer.tables.policy
        spent = [consumption_of(problem, policy[..., d, :, :], d) for d in range(policy.shape[-3])]
        consumption = np.stack(spent, axis=-3)
    else:
        ages = [_spent(problem, chosen.below, chosen.share, age) for age, chosen in enumerate(answer.policies)]
        consumption = ages[0] if problem.horizon is None else np.stack(ages)
    return {name: np.nan_to_num(table) for name, table in variables(problem, consumption).items()}


def choice_of(answer: Answer) -> Array:
    """Return ``x'`` of each alternative in units of the grid, shaped as by :func:`by_alternative`; nan without one."""
    if isinstance(answer, Result):
        policy = answer.tables.policy
        return np.where(policy >= 0, answer.problem.grid[policy], np.nan)
    ages = [chosen.choice for chosen in answer.policies]
    return ages[0] if answer.problem.horizon is None else np.stack(ages)


def _spent(problem: Problem, below: NDArray[np.int32], share: Array, age: int) -> Array:
    """Return consumption of choices between grid points, ``(N_d, N_k, N_z)``; nan without one."""
    found = np.full(share.shape, np.nan)
    for d, one in enumerate(problem.form.alternatives):
        if isinstance(one, Branch):
            tables, at, states = one.at(age), np.maximum(below[d], 0), np.arange(problem.states)
            low, high = tables.cost[at, states], tables.cost[at + 1, states]
            found[d] = np.where(below[d] >= 0, tables.wealth - ((1.0 - share[d]) * low + share[d] * high), np.nan)
    return found


def lottery(grid: Array, chosen: Array) -> tuple[NDArray[np.int32], Array]:
    """Return how choices between grid points are split between the two points next to them (Young 2010).

    Parameters
    ----------
    grid
        ``(N_k,)``, increasing.
    chosen
        Choices in units of the grid, of any shape.

    Returns
    -------
    below : int32 array of the shape of ``chosen``
        Index of the grid point at or below each choice, at most ``N_k - 2``.
    share : float64 array of the same shape
        Share of the mass that goes to the point above, such that the mean of the two is the choice.
    """
    below = np.clip(np.searchsorted(grid, chosen, side="right") - 1, 0, grid.size - 2).astype(np.int32)
    return below, rounded((chosen - grid[below]) / np.diff(grid)[below])


def check_result(answer: object, what: str, wanted: str = "a Result") -> None:
    """Check that ``answer`` is the :class:`Result` of a problem on a grid or its refinement.

    ``what`` is what the caller computes, and ``wanted`` says what else the argument could be.

    Raises
    ------
    ProblemError
        It is not.
    """
    result = getattr(answer, "result", answer)
    if not isinstance(result, Result):
        raise ProblemError(f"result must be {wanted}, not {shown(answer)}")
    if isinstance(result.problem, DiscreteProblem):
        raise ProblemError(
            f"{what} needs a grid of amounts, and this problem is discrete: result.transitions() is the Markov matrix "
            "of its states"
        )


def check_smooth(result: object, what: str, wanted: str = "a Result") -> None:
    """Check that ``result`` has one choice of ``x'`` at the cost ``x'``, as first-order conditions need.

    Raises
    ------
    ProblemError
        It has not; the message says which feature of the problem is in the way.
    """
    check_result(result, what, wanted)
    problem = result.problem  # type: ignore[attr-defined]
    if problem.general:
        raise ProblemError(
            f"{what} needs a single choice of x' that costs x', and {problem.name} has {', '.join(extras(problem))}"
        )


def check_forever(problem: Problem | DiscreteProblem, what: str) -> None:
    """Check that a problem has an infinite horizon; ``what`` is what the caller computes."""
    if problem.horizon is not None:
        ages = f"{problem.horizon} age{'' if problem.horizon == 1 else 's'}"
        raise ProblemError(f"{what} needs an infinite horizon, and this problem has {ages}")


def followed(answer: Answer, what: str) -> Problem:
    """Return the problem of ``answer`` after checking that its policy can be applied for ever.

    Parameters
    ----------
    answer
        A result or its refinement; a warning is given if it is not solved.
    what
        What the caller computes, for messages.

    Raises
    ------
    ProblemError
        ``answer`` is not that of a problem on a grid, has a horizon, or has a state without a choice.
    """
    check_result(answer, what)
    problem: Problem = answer.problem
    check_forever(problem, what)
    usable(answer, what, stacklevel=4)
    return problem


def usable(answer: Answer, what: str, stacklevel: int = 3) -> None:
    """Check that every state has a choice; warn if ``answer`` is not solved.

    Raises
    ------
    ProblemError
        A state has no choice.
    """
    problem = answer.problem
    missing = bool(~np.isfinite(answer.value).all())
    if isinstance(answer, Result) and not problem.general:
        missing = bool((answer.policy < 0).any() or not (problem.wealth > answer.choice).all())
    if missing:
        raise ProblemError(f"{what} needs a choice in every state, and this result is {answer.status}")
    if not answer.success:
        warnings.warn(f"{what} of a result that is not solved: {answer.status}", stacklevel=stacklevel)


def heading(what: str, answer: Answer) -> str:
    """Return the first line of a report on ``answer``; it ends with the status if that is not solved."""
    problem = answer.problem
    title = f"{what} of {problem.name}, {problem.size}"
    return title if answer.success else f"{title} ({answer.status})"


def chain_of(problem: Problem, physical: Any) -> Array | None:
    """Return ``physical``, checked: a Markov chain for the exogenous state in place of that of the problem, or None."""
    if physical is None:
        return None
    chain = table("physical", physical, 2)
    if chain.shape != (problem.states, problem.states):
        raise ProblemError(
            f"physical must be a Markov matrix of the {problem.states} exogenous states, not of shape {chain.shape}"
        )
    off = np.abs(chain.sum(axis=1) - 1.0)
    if (chain < 0).any() or off.max() > ROW_SUM_TOLERANCE:
        raise ProblemError(
            f"rows of physical must be probabilities that sum to 1, but row {int(off.argmax())} sums to "
            f"{chain[off.argmax()].sum():.15g} and the lowest entry is {chain.min():.6g}"
        )
    return chain


def followed_by_age(policies: Sequence[Policy], mass: Array) -> Array:
    """Return the distribution at each age, given all policies and that at the first age, ``(N_r, N_k, N_z)``."""
    found = [mass]
    for policy in policies[:-1]:
        found.append(policy.forward(found[-1]))
    return np.stack(found)


def policies_by_age(
    answer: Answer, what: str, endless: str, start: int, physical: Any
) -> tuple[list[Policy], Array, int]:
    """Return the policies of all ages, the distribution of the exogenous state at the first, and ``start``, checked.

    ``endless`` is the sentence for a problem without a horizon; ``start`` is the index of everybody's first grid point.

    Raises
    ------
    ProblemError
        There is no horizon, an age was not solved, or an argument is out of range.
    """
    problem = answer.problem
    if problem.horizon is None:
        raise ProblemError(endless)
    usable(answer, what, stacklevel=4)
    ages = answer.value.shape[0]
    if ages != problem.horizon:
        raise ProblemError(f"{what} needs all {problem.horizon} ages, and of this result only {ages} were solved")
    start = whole("start", start, f"a whole number from 0 to {problem.points - 1}", lambda v: 0 <= v < problem.points)
    chain = chain_of(problem, physical)
    first = problem.transition if chain is None else chain
    policies = [policy_of(answer, age, chain) for age in range(ages)]
    return policies, chain_distribution(first if first.ndim == 2 else first[0]), start
