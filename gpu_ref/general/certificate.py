"""Certify a solution of a general problem, with code that shares no search with the solver.

From the value to be certified, every alternative is maximised once more by
:func:`beltline.gpu_ref.general.proof.proven_column`, starting from the policy to be certified. Then the value, the
values and choices of alternatives, and the probabilities are compared with this maximum. Shared with the solver are
only the checks of tables, the utility function, the windows of bounds, and divide and conquer as a source of guesses,
which cannot affect the result. Expectations are computed by :mod:`beltline.gpu_ref.tables`, which the solver does not
use.

*Tolerances.* A solver that returns ``V = T V_before`` reports ``change``, the largest ``|V - V_before|``. With the
modulus ``m``, ``|T V - V| <= m change``. The policy is best for ``V_before``, so given ``V`` it loses at most ``2 m
change``, and so does the choice of an alternative. With taste shocks of scale ``sigma``, a probability can move as far
as such changes of all values of its regime allow. The rounding errors of both sweeps are added. With ages, ``change``
is 0, because the value of each age was computed from the returned value of the next age.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit, prange
from beltline.gpu_ref.general import checks
from beltline.gpu_ref.general.form import Branch, Form, Indexes, Tables
from beltline.gpu_ref.general.log_sum import extremes, growth, log_sum_error
from beltline.gpu_ref.general.proof import proven_column
from beltline.gpu_ref.tables import Array, expectation
from beltline.gpu_ref.threads import threads, threads_for
from beltline.gpu_ref.utility import DOUBLE, crra

ROUNDINGS = 4.0
"""Tolerance for rounding: this many times the rounding error of the sweep here, since the solver's sweep rounded
differently.
"""

ALTERNATIVE_VALUE, POLICY, REGIME_VALUE, ALTERNATIVE_CHOICE, PROBABILITY = range(1, 6)
"""Kinds of errors: an alternative's value, its choice of ``x'``, a regime's value, its choice of an alternative, the
probability of an alternative.
"""


class Answer(Protocol):
    """A solution to certify, with arrays as in :class:`beltline.gpu_ref.general.solution.Solution`."""

    @property
    def value(self) -> Array: ...
    @property
    def values(self) -> Array: ...
    @property
    def policy(self) -> Indexes: ...
    @property
    def choice(self) -> Indexes: ...
    @property
    def probabilities(self) -> Array: ...


class Miss(NamedTuple):
    """One state in which the answer is wrong.

    Attributes
    ----------
    kind
        :data:`ALTERNATIVE_VALUE`, :data:`POLICY`, :data:`REGIME_VALUE`, :data:`ALTERNATIVE_CHOICE` or
        :data:`PROBABILITY`.
    alternative
        Number of the alternative; for an error of a regime, of its best alternative.
    x, s, age
        Grid point, exogenous state and age, counted from 0; 0 without a horizon.
    amount
        Size of the error, units of utility, or a probability; infinite if the choice is not allowed.
    """

    kind: int
    alternative: int
    x: int
    s: int
    age: int
    amount: float


class Certificate(NamedTuple):
    """Outcome of a certification.

    Attributes
    ----------
    residual
        Largest ``|T V - V|``, or with a horizon ``|T V_next - V|`` at any age, units of utility.
    rounding
        Bound on the distance of ``T V`` as computed here from the one in exact arithmetic, units of utility.
    error_bound
        Bound on the distance of the value from the exact solution, rounding included, units of utility.
    missed
        Number of errors found: states of alternatives, and states of regimes.
    miss
        The largest error in units of utility, the first of equals; otherwise the largest error of a
        probability; ``None`` if nothing is wrong.
    evaluations
        Number of objectives computed.
    searched
        Number of pairs of alternative and exogenous state in which all candidates were evaluated because the theorem
        does not apply, at the age with most of them.
    policy, choice
        The best ``x'`` of each alternative and the first of the best alternatives of each regime at the value, of the
        shapes of those of the answer.
    """

    residual: float
    rounding: float
    error_bound: float
    missed: int
    miss: Miss | None
    evaluations: int
    searched: int
    policy: Indexes
    choice: Indexes


@njit(cache=True)
def _compare_policy(
    cost: Array, ev: Array, wealth: Array, eta: float, negative: bool, low: Indexes, high: Indexes, change: float,
    best: Array, exact: Indexes, slack: Array, coarse: Array, value: Array, policy: Indexes, facts: Array,
) -> None:  # fmt: skip
    """Compare ``value`` and ``policy`` of one alternative and exogenous state with the maximum ``best`` at ``exact``.

    Fills ``facts``, ``(4,)``: the number of wrong states, and kind, ``x`` and amount of the worst.
    """
    for x in range(wealth.size):
        gap = loss = 0.0
        if value[x] != best[x]:
            gap = abs(best[x] - value[x])
        own = policy[x]
        if own != exact[x]:
            loss = np.inf
            if low[x] <= own <= high[x] and (negative or cost[own] < wealth[x]):
                loss = best[x] - (crra(wealth[x] - cost[own], eta) + ev[own])
        allowed = change + ROUNDINGS * slack[x] + coarse[x]
        # Written such that NaN counts as wrong.
        if not (gap <= allowed and loss <= 2.0 * allowed):
            amount = loss if gap <= allowed else gap
            amount = amount if amount >= 0.0 else np.inf
            if facts[0] == 0.0 or amount > facts[3]:
                facts[1], facts[2], facts[3] = POLICY if gap <= allowed else ALTERNATIVE_VALUE, x, amount
            facts[0] += 1.0


@njit(cache=True)
def _one_state(
    wealths: Array, costs: Array, lows: Indexes, highs: Indexes, evs: Array, ev_errors: Array, eta: float,
    negative: bool, change: float, values: Array, policies: Indexes, best: Array, exacts: Indexes, slack: Array,
    coarse: Array, facts: Array, counts: Array, s: int,
) -> None:  # fmt: skip
    """Maximise and compare one alternative in exogenous state ``s``; arguments as for :func:`_alternative`."""
    wealth, cost, low, high = wealths[:, s].copy(), costs[:, s].copy(), lows[:, s].copy(), highs[:, s].copy()
    policy, exact = policies[:, s].copy(), np.empty(wealth.size, np.int32)
    evaluations, searched = proven_column(
        cost, evs[s], wealth, eta, negative, ev_errors[s], low, high, policy, best[s], exact, slack[s]
    )  # fmt: skip
    counts[s, 0], counts[s, 1] = evaluations, searched
    exacts[:, s] = exact
    _compare_policy(
        cost, evs[s], wealth, eta, negative, low, high, change, best[s], exact, slack[s], coarse[s], values[:, s],
        policy, facts[s],
    )  # fmt: skip


@njit(parallel=True, cache=True)
def _alternative(
    wealths: Array, costs: Array, lows: Indexes, highs: Indexes, evs: Array, ev_errors: Array, eta: float,
    negative: bool, change: float, values: Array, policies: Indexes, best: Array, exacts: Indexes, slack: Array,
    coarse: Array, facts: Array, counts: Array,
) -> None:  # fmt: skip
    """Maximise one alternative, and compare it with the answer.

    Fills ``best`` and ``slack``, ``(N_z, N_k)``; ``exacts``, ``(N_k, N_z)``, with the best choices; ``facts``, ``(N_z,
    4)``, as :func:`_compare_policy`; and ``counts``, ``(N_z, 2)``: evaluations, and 1 if searched in full. Tables are
    ``(N_k, N_z)``, expectations ``evs`` ``(N_z, N_k)``, as is ``coarse``.
    """
    for s in prange(evs.shape[0]):
        _one_state(
            wealths, costs, lows, highs, evs, ev_errors, eta, negative, change, values, policies, best, exacts, slack,
            coarse, facts, counts, s,
        )  # fmt: skip


@njit(cache=True)
def _regime_slack(best: Array, slack: Array, own: NDArray[np.int64], s: int, x: int, sigma: float, top: float) -> float:
    """Return a bound on the error of the best value among alternatives ``own``, or of their log-sum.

    Without taste shocks the maximum lies between the largest ``v_d - slack_d`` and the largest ``v_d + slack_d``, so an
    alternative far below does not matter; nor does it in a log-sum (:mod:`beltline.gpu_ref.general.log_sum`). The
    log-sum itself is rounded: an exponent, weighted by its exponential, by up to ``1 / e`` of ``sigma``, the rest by a
    few units each.
    """
    above = below = highest = -np.inf
    total = grown = 0.0
    for d in own:
        v, error = best[d, s, x], slack[d, s, x]
        above, below = max(above, v + error), max(below, v - error)
        if sigma > 0.0 and v > -np.inf:
            highest, total = max(highest, v - top + error), total + math.exp((v - top) / sigma)
            grown += growth(v - top, error, sigma)
    if sigma == 0.0:
        return max(above - top, top - below) + 4.0 * DOUBLE * abs(top)
    rounding = DOUBLE * (4.0 * abs(top) + sigma * (8.0 + 4.0 * own.size))
    return log_sum_error(grown, total, highest, own.size, sigma) + rounding


@njit(cache=True)
def _impossible(p: float, below: Array, moves: Array, d: int, sigma: float) -> bool:
    """Return whether ``p`` cannot be the probability of alternative ``d`` of a regime.

    ``below``, ``(n,)``, has the values relative to the largest, and ``moves``, ``(n,)``, how far each may have moved.
    """
    least, most = extremes(below, moves, d, sigma)
    rounding = (64.0 + 4.0 * below.size) * DOUBLE
    return not least - rounding <= p <= most + rounding


@njit(cache=True)
def _record(facts: Array, kind: int, d: int, x: int, amount: float) -> None:
    """Count an error of a state, and store the largest in ``facts``: number, kind, alternative, ``x``, amount.

    Errors in units of utility take precedence over those of probabilities.
    """
    amount = amount if amount >= 0.0 else np.inf
    worse = amount > facts[4] if (kind == PROBABILITY) == (facts[1] == PROBABILITY) else kind != PROBABILITY
    if facts[0] == 0.0 or worse:
        facts[1], facts[2], facts[3], facts[4] = kind, d, x, amount
    facts[0] += 1.0


@njit(cache=True)
def _regime_of_state(
    best: Array, slack: Array, coarse: Array, own: NDArray[np.int64], sigma: float, change: float,
    value: Array, choice: Indexes, probabilities: Array, firsts: Indexes, s: int, facts: Array,
) -> tuple[float, float]:  # fmt: skip
    """Compare one regime in exogenous state ``s``; return its largest difference in value, and its rounding error.

    ``own`` has the numbers of its alternatives; ``best`` and ``slack`` are their maxima and rounding errors.
    """
    residual = rounding = 0.0
    relative, moves = np.empty(own.size), np.empty(own.size)
    for x in range(value.shape[0]):
        first = own[0]
        for d in own:
            if best[d, s, x] > best[first, s, x]:
                first = d
        firsts[x, s] = first
        top = best[first, s, x]
        regime_slack = _regime_slack(best, slack, own, s, x, sigma, top)
        found = top
        if sigma > 0.0:
            total = 0.0
            for n, d in enumerate(own):
                relative[n] = best[d, s, x] - top
                moves[n] = change + ROUNDINGS * slack[d, s, x]
                total += math.exp(relative[n] / sigma)
            found = top + sigma * math.log(total)
        gap = abs(found - value[x, s])
        residual, rounding = max(residual, gap if gap < np.inf else np.inf), max(rounding, regime_slack)
        taken = choice[x, s]
        loss, rough = np.inf, coarse[first, s, x]
        for d in own:
            if d == taken:
                loss = top - best[d, s, x] - 2.0 * ROUNDINGS * slack[d, s, x]
                rough = max(rough, coarse[d, s, x])
        allowed = change + ROUNDINGS * regime_slack + rough
        if not gap <= allowed:
            _record(facts, REGIME_VALUE, first, x, gap)
        if not loss <= 2.0 * allowed:
            _record(facts, ALTERNATIVE_CHOICE, first, x, loss)
        for n, d in enumerate(own):
            p = probabilities[d, x, s]
            if sigma == 0.0:
                if p != (1.0 if d == taken else 0.0):
                    _record(facts, PROBABILITY, d, x, abs(p - (1.0 if d == taken else 0.0)))
            elif _impossible(p, relative, moves, n, sigma):
                _record(facts, PROBABILITY, d, x, abs(p - math.exp(relative[n] / sigma) / total))
    return residual, rounding


@njit(parallel=True, cache=True)
def _regime(
    best: Array, slack: Array, coarse: Array, own: NDArray[np.int64], sigma: float, change: float,
    value: Array, choice: Indexes, probabilities: Array, firsts: Indexes, sizes: Array, facts: Array,
) -> None:  # fmt: skip
    """Compare one regime with the answer, in all exogenous states.

    Fills ``firsts``, ``(N_k, N_z)``, with the best alternatives, ``sizes``, ``(N_z, 2)``, with differences and rounding
    errors, and ``facts``, ``(N_z, 5)``, as :func:`_record`.
    """
    for s in prange(sizes.shape[0]):
        sizes[s] = _regime_of_state(
            best, slack, coarse, own, sigma, change, value, choice, probabilities, firsts, s, facts[s]
        )  # fmt: skip


class _AnswerAtAge(NamedTuple):
    """The answer at one age; arrays as in :class:`Answer`."""

    value: Array
    values: Array
    policy: Indexes
    choice: Indexes
    probabilities: Array


class _Findings:
    """Collect the errors found so far."""

    def __init__(self) -> None:
        self.missed = 0
        self.miss: Miss | None = None

    def add(self, facts: Array, age: int) -> None:
        """Add rows of number, kind, alternative, ``x`` and amount, one for each exogenous state."""
        for s in np.flatnonzero(facts[:, 0]):
            count, kind, d, x, amount = facts[s]
            self.missed += int(count)
            found = Miss(int(kind), int(d), int(x), int(s), age, float(amount))
            old = self.miss
            if old is None or (found.kind != PROBABILITY, found.amount) > (old.kind != PROBABILITY, old.amount):
                self.miss = found


def _continuation(tables: Tables, V: Array, eta: float, largest: float) -> tuple[Array, Array]:
    """Return ``kappa + beta Q sum_r mix_r V_r``, ``(N_z, N_k)``, and a bound on its rounding error, ``(N_z,)``.

    The bound includes the rounding of the logarithm if ``eta = 1``.
    """
    mixed = np.ascontiguousarray(np.tensordot(tables.mix, V, 1))
    continuation = expectation(tables.transition, mixed, 1.0) * tables.beta[:, None] + tables.kappa[:, None]
    # The bound of values at the end of double precision is infinite.
    with np.errstate(over="ignore"):
        terms = (V.shape[2] + V.shape[0] + 6) * tables.beta * largest + 2.0 * np.abs(tables.kappa)
    return continuation, 1.001 * DOUBLE * (terms + (1.0 if eta == 1.0 else 0.0))


def _one_age(
    form: Form, V: Array, answer: _AnswerAtAge, change: float, coarse: Array, age: int, found: _Findings,
    policy: Indexes, choice: Indexes,
) -> tuple[float, ...]:  # fmt: skip
    """Certify one age against a sweep from ``V``, and fill ``policy`` and ``choice`` with the best ones.

    Returns residual, rounding error, number of evaluations, and number of exogenous states searched in full.
    """
    regimes, grid, states = form.shape
    count = len(form.alternatives)
    best, slack = np.empty((count, states, grid)), np.zeros((count, states, grid))
    counts = np.zeros((count, states, 2))
    largest = float(np.abs(V).max())
    allowed = form.modulus(age) * change
    for d, one in enumerate(form.alternatives):
        facts = np.zeros((states, 4))
        if isinstance(one, Branch):
            tables = one.at(age)
            continuation, ev_error = _continuation(tables, V, form.eta, largest)
            _alternative(
                tables.wealth, tables.cost, tables.low, tables.high, continuation, ev_error, form.eta, form.negative,
                allowed, answer.values[d], answer.policy[d], best[d], policy[d], slack[d], coarse[d], facts, counts[d],
            )  # fmt: skip
        else:
            best[d], policy[d] = one.at(age).T, -1
            wrong = (answer.values[d] != one.at(age)) | (answer.policy[d] != -1)
            for s in np.flatnonzero(wrong.any(axis=0)):
                x = int(np.argmax(wrong[:, s]))
                gap = abs(answer.values[d][x, s] - one.at(age)[x, s])
                facts[s] = wrong[:, s].sum(), ALTERNATIVE_VALUE, x, gap if gap > 0.0 else np.inf
        found.add(np.insert(facts, 2, d, axis=1), age)
    sizes = np.zeros((regimes, states, 2))
    for r in range(regimes):
        facts = np.zeros((states, 5))
        own = np.array(form.of_regime(r))
        _regime(
            best, slack, coarse, own, form.sigma, allowed, answer.value[r], answer.choice[r], answer.probabilities,
            choice[r], sizes[r], facts,
        )  # fmt: skip
        found.add(facts, age)
    return (*(float(size) for size in sizes.max(axis=(0, 1))), *(int(n) for n in counts.sum(axis=(0, 1))))


def _checked_arrays(form: Form, answer: Answer) -> _AnswerAtAge:
    """Return the arrays of an answer as contiguous arrays, after checking their shapes."""
    regimes, *here = form.shape
    count = len(form.alternatives)
    ages = () if form.horizon is None else (form.horizon,)
    found: dict[str, Any] = {}
    for name in _AnswerAtAge._fields:
        kind = np.int32 if name in ("policy", "choice") else np.float64
        array = np.ascontiguousarray(getattr(answer, name), kind)
        shape = (*ages, regimes if name in ("value", "choice") else count, *here)
        if array.shape != shape:
            raise ValueError(f"{name} must have shape {shape}, not {array.shape}")
        found[name] = array
    checks.finite("value", found["value"])
    return _AnswerAtAge(**found)


def certify(
    form: Form, answer: Answer, change: float = 0.0, after: Array | None = None, coarse: Array | None = None
) -> Certificate:
    """Certify a solution: measure its value, and find states in which another choice or alternative is better.

    About three evaluations per state and alternative if the answer is right.

    Parameters
    ----------
    form
        The problem; if prices move, with the tables of the last sweep.
    answer
        Its solution; with a horizon, arrays with an axis of ages.
    change
        Largest change of the value in the sweep that found it, units of utility. Ignored with a horizon.
    after
        With a horizon, the value after the last age, ``(N_r, N_k, N_z)``; zeros by default.
    coarse
        How far values of alternatives may be off because the solver rounds more than double precision does, of the
        shape of ``answer.values``, units of utility; a choice may lose twice that. It decides what counts as an error,
        and changes neither residual nor bound. Zeros by default; not for use with taste shocks.

    Returns
    -------
    Certificate
        Residual, error bound, and the errors found.

    Raises
    ------
    ValueError
        An array of the answer has a wrong shape, its value is not finite, or ``change`` is negative or not finite.

    Example
    -------
    >>> from dataclasses import replace
    >>> import numpy as np
    >>> from beltline.gpu_ref.general import Branch, Form, certify, solve
    >>> grid = np.linspace(0.0, 1.0, 5)[:, None]
    >>> form = Form((Branch("save", 0, wealth=0.1 + grid, cost=grid, transition=np.eye(1), beta=0.9),), eta=2.0)
    >>> solution = solve(form)
    >>> certify(form, solution, solution.residual).missed
    0
    >>> policy = solution.policy.copy()
    >>> policy[0, 4, 0] = 0
    >>> certify(form, replace(solution, policy=policy), solution.residual).miss.x
    4
    """
    change = checks.number("change", change)
    given = _checked_arrays(form, answer)
    found = _Findings()
    horizon = form.horizon
    coarse = np.zeros(given.values.shape) if coarse is None else np.asarray(coarse, np.float64)
    if coarse.shape != given.values.shape:
        raise ValueError(f"coarse must have shape {given.values.shape}, not {coarse.shape}")
    following = given.value if horizon is None else form.start(after)
    policy, choice = np.empty_like(given.policy), np.empty_like(given.choice)
    residual = rounding = bound = error = evaluations = searched = 0.0
    with threads(threads_for(form.shape[1] * form.shape[2])):
        for age in range((horizon or 1) - 1, -1, -1):
            now = given if horizon is None else _AnswerAtAge(*(array[age] for array in given))
            rough = np.ascontiguousarray((coarse if horizon is None else coarse[age]).swapaxes(1, 2))
            last = 0.0 if horizon else change
            here = (policy, choice) if horizon is None else (policy[age], choice[age])
            gap, regime_slack, tried, in_full = _one_age(form, following, now, last, rough, age, found, *here)
            residual, rounding = max(residual, gap), max(rounding, regime_slack)
            evaluations, searched = evaluations + tried, max(searched, in_full)
            # The computed gap is a rounded difference of two values.
            off, factor = gap + regime_slack + DOUBLE * gap, form.modulus(age)
            if horizon is None:
                bound = off / (1.0 - factor) * (1.0 + 8.0 * DOUBLE) if factor < 1.0 else math.inf
            else:
                error = (off + factor * error) * (1.0 + 8.0 * DOUBLE)
                bound = max(bound, error)
            following = now.value
    counts = int(evaluations), int(searched)
    return Certificate(residual, rounding, bound, found.missed, found.miss, *counts, policy, choice)
