"""A second opinion on a solution of the general form, by code that shares no search with the solver.

Every alternative is maximised once more from the value that is certified, by
:func:`beltline.gpu_ref.general.proof.proven_column`, which begins from the policy that is certified; and that value,
the alternatives' values and choices, and probabilities are compared with what is found. It shares with the solver the
checks of the tables, utility, windows of bounds, and divide and conquer as a guess, which decides nothing; expectations
are those of :mod:`beltline.gpu_ref.tables`, which the solver does not take.

*What is allowed.* A solver that returns ``V = T V_before`` says by how much the two differ, ``change``. Then ``|T V -
V| <= m change``, and the policy, best for ``V_before``, loses twice that at most; so does the choice of an alternative.
With scale ``sigma`` a probability moves by ``p`` times the moves of two values over ``sigma``. To this come roundings
of both sweeps. With ages ``change`` is 0: each age was found from the very value of the age after it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit, prange
from beltline.gpu_ref.general import checks
from beltline.gpu_ref.general.form import Branch, Form, Indexes, Tables
from beltline.gpu_ref.general.log_sum import extremes, growth, reach
from beltline.gpu_ref.general.proof import proven_column
from beltline.gpu_ref.methods import DOUBLE
from beltline.gpu_ref.tables import Array, expectation
from beltline.gpu_ref.threads import threads, threads_for
from beltline.gpu_ref.utility import crra

ROUNDINGS = 4.0
"""How many times the rounding of the sweep here a value may be off by that another sweep has rounded."""

WORTH, CHOICE, VALUE, TAKEN, PROBABILITY = range(1, 6)
"""What may be wrong: an alternative's value, its choice of ``x'``, a regime's value, its choice of an alternative, the
probability of an alternative."""


class Answer(Protocol):
    """What is certified: arrays as of :class:`beltline.gpu_ref.general.solution.Solution`."""

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
    """Something that is not as the theorem proves it should be.

    Attributes
    ----------
    kind
        :data:`WORTH`, :data:`CHOICE`, :data:`VALUE`, :data:`TAKEN` or :data:`PROBABILITY`.
    alternative
        Number of the alternative; where a regime is concerned, of its best one.
    x, s, age
        Where; the first age is 0, as it is without a horizon.
    amount
        By how much, units of utility, or of probability; infinite for what is not allowed.
    """

    kind: int
    alternative: int
    x: int
    s: int
    age: int
    amount: float


class Certificate(NamedTuple):
    """What was found.

    Attributes
    ----------
    residual
        Largest ``|T V - V|``, or with a horizon ``|T V_next - V|`` of any age, units of utility.
    rounding
        How far ``T V`` as computed here may be from the one in real numbers, units of utility.
    error_bound
        Bound on the distance of the value from the problem's solution, roundings included, units of utility.
    missed
        How much is not as it should be: states of alternatives, and of regimes.
    miss
        The largest in utility of these, the first of equals, then the largest probability; ``None`` where all is well.
    evaluations
        Objectives that were computed.
    searched
        Exogenous states of alternatives in which all candidates were looked at because the theorem does not apply, at
        the age that has most.
    """

    residual: float
    rounding: float
    error_bound: float
    missed: int
    miss: Miss | None
    evaluations: int
    searched: int


@njit(cache=True)
def _judged(
    cost: Array, ev: Array, wealth: Array, eta: float, free: bool, low: Indexes, high: Indexes, change: float,
    best: Array, exact: Indexes, slack: Array, coarse: Array, value: Array, policy: Indexes, facts: Array,
) -> None:  # fmt: skip
    """Compare ``value`` and ``policy`` of one exogenous state with the ``best``, which ``exact`` has.

    ``facts``, ``(4,)``: how many states are wrong, and of the worst of them kind, ``x`` and amount.
    """
    for x in range(wealth.size):
        gap = loss = 0.0
        if value[x] != best[x]:
            gap = abs(best[x] - value[x])
        own = policy[x]
        if own != exact[x]:
            loss = np.inf
            if low[x] <= own <= high[x] and (free or cost[own] < wealth[x]):
                loss = best[x] - (crra(wealth[x] - cost[own], eta) + ev[own])
        allowed = change + ROUNDINGS * slack[x] + coarse[x]
        # Written so that what is not a number is wrong.
        if not (gap <= allowed and loss <= 2.0 * allowed):
            amount = loss if gap <= allowed else gap
            amount = amount if amount >= 0.0 else np.inf
            if facts[0] == 0.0 or amount > facts[3]:
                facts[1], facts[2], facts[3] = CHOICE if gap <= allowed else WORTH, x, amount
            facts[0] += 1.0


@njit(cache=True)
def _one_state(
    wealths: Array, costs: Array, lows: Indexes, highs: Indexes, evs: Array, noises: Array, eta: float, free: bool,
    change: float, values: Array, policies: Indexes, best: Array, slack: Array, coarse: Array, facts: Array,
    counts: Array, s: int,
) -> None:  # fmt: skip
    """Exogenous state ``s`` of :func:`_alternative`."""
    wealth, cost, low, high = wealths[:, s].copy(), costs[:, s].copy(), lows[:, s].copy(), highs[:, s].copy()
    policy, exact = policies[:, s].copy(), np.empty(wealth.size, np.int32)
    evaluations, searched = proven_column(
        cost, evs[s], wealth, eta, free, noises[s], low, high, policy, best[s], exact, slack[s]
    )  # fmt: skip
    counts[s, 0], counts[s, 1] = evaluations, searched
    _judged(
        cost, evs[s], wealth, eta, free, low, high, change, best[s], exact, slack[s], coarse[s], values[:, s], policy,
        facts[s],
    )  # fmt: skip


@njit(parallel=True, cache=True)
def _alternative(
    wealths: Array, costs: Array, lows: Indexes, highs: Indexes, evs: Array, noises: Array, eta: float, free: bool,
    change: float, values: Array, policies: Indexes, best: Array, slack: Array, coarse: Array, facts: Array,
    counts: Array,
) -> None:  # fmt: skip
    """Maximise one alternative, and judge it: ``best`` and ``slack``, ``(N_z, N_k)``; ``facts``, ``(N_z, 4)``.

    Tables are ``(N_k, N_z)``, ``evs`` and ``coarse`` are ``(N_z, N_k)``; ``counts``, ``(N_z, 2)``, are evaluations,
    and whether it searched in full.
    """
    for s in prange(evs.shape[0]):
        _one_state(
            wealths, costs, lows, highs, evs, noises, eta, free, change, values, policies, best, slack, coarse, facts,
            counts, s,
        )  # fmt: skip


@njit(cache=True)
def _doubt(best: Array, slack: Array, own: NDArray[np.int64], s: int, x: int, sigma: float, top: float) -> float:
    """How far the best of the alternatives ``own``, or their log-sum, may be from the one in real numbers.

    Of a maximum only those count that might truly be the best, of a log-sum those that can move it
    (:mod:`beltline.gpu_ref.general.log_sum`). It is rounded: an exponent weighted by its exponential by ``1 / e`` of
    ``sigma``, the rest by a few units each.
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
    return reach(grown, total, highest, own.size, sigma) + DOUBLE * (4.0 * abs(top) + sigma * (8.0 + 4.0 * own.size))


@njit(cache=True)
def _unlikely(p: float, below: Array, moves: Array, d: int, sigma: float) -> bool:
    """Whether ``p`` is no probability of alternative ``d`` of a regime whose values, relative to the largest ``below``,
    may have moved by ``moves``; ``(n,)`` both.
    """
    least, most = extremes(below, moves, d, sigma)
    rounding = (64.0 + 4.0 * below.size) * DOUBLE
    return not least - rounding <= p <= most + rounding


@njit(cache=True)
def _note(facts: Array, kind: int, d: int, x: int, amount: float) -> None:
    """Count a miss of a state, and keep the largest; ``facts``, ``(5,)``: number, kind, alternative, ``x``, amount."""
    amount = amount if amount >= 0.0 else np.inf
    worse = amount > facts[4] if (kind == PROBABILITY) == (facts[1] == PROBABILITY) else kind != PROBABILITY
    if facts[0] == 0.0 or worse:
        facts[1], facts[2], facts[3], facts[4] = kind, d, x, amount
    facts[0] += 1.0


@njit(cache=True)
def _regime_of_state(
    best: Array, slack: Array, coarse: Array, own: NDArray[np.int64], sigma: float, change: float,
    value: Array, choice: Indexes, probabilities: Array, s: int, facts: Array,
) -> tuple[float, float]:  # fmt: skip
    """Exogenous state ``s`` of a regime that has the alternatives ``own``: largest gap of the value, and rounding."""
    residual = rounding = 0.0
    relative, moves = np.empty(own.size), np.empty(own.size)
    for x in range(value.shape[0]):
        first = own[0]
        for d in own:
            if best[d, s, x] > best[first, s, x]:
                first = d
        top = best[first, s, x]
        doubt = _doubt(best, slack, own, s, x, sigma, top)
        found = top
        if sigma > 0.0:
            total = 0.0
            for n, d in enumerate(own):
                relative[n] = best[d, s, x] - top
                moves[n] = change + ROUNDINGS * slack[d, s, x]
                total += math.exp(relative[n] / sigma)
            found = top + sigma * math.log(total)
        gap = abs(found - value[x, s])
        residual, rounding = max(residual, gap if gap < np.inf else np.inf), max(rounding, doubt)
        taken = choice[x, s]
        loss, rough = np.inf, coarse[first, s, x]
        for d in own:
            if d == taken:
                loss = top - best[d, s, x] - 2.0 * ROUNDINGS * slack[d, s, x]
                rough = max(rough, coarse[d, s, x])
        allowed = change + ROUNDINGS * doubt + rough
        if not gap <= allowed:
            _note(facts, VALUE, first, x, gap)
        if not loss <= 2.0 * allowed:
            _note(facts, TAKEN, first, x, loss)
        for n, d in enumerate(own):
            p = probabilities[d, x, s]
            if sigma == 0.0:
                if p != (1.0 if d == taken else 0.0):
                    _note(facts, PROBABILITY, d, x, abs(p - (1.0 if d == taken else 0.0)))
            elif _unlikely(p, relative, moves, n, sigma):
                _note(facts, PROBABILITY, d, x, abs(p - math.exp(relative[n] / sigma) / total))
    return residual, rounding


@njit(parallel=True, cache=True)
def _regime(
    best: Array, slack: Array, coarse: Array, own: NDArray[np.int64], sigma: float, change: float,
    value: Array, choice: Indexes, probabilities: Array, sizes: Array, facts: Array,
) -> None:  # fmt: skip
    """Judge a regime; ``sizes``, ``(N_z, 2)``, receives gaps and roundings, ``facts``, ``(N_z, 5)``, what is missed."""
    for s in prange(sizes.shape[0]):
        sizes[s] = _regime_of_state(
            best, slack, coarse, own, sigma, change, value, choice, probabilities, s, facts[s]
        )  # fmt: skip


class _Age(NamedTuple):
    """The answer at one age, as of :class:`Answer`."""

    value: Array
    values: Array
    policy: Indexes
    choice: Indexes
    probabilities: Array


class _Findings:
    """What is missed, as far as it was looked for."""

    def __init__(self) -> None:
        self.missed = 0
        self.miss: Miss | None = None

    def add(self, facts: Array, age: int) -> None:
        """Take in rows of number, kind, alternative, ``x`` and amount, one for each exogenous state."""
        for s in np.flatnonzero(facts[:, 0]):
            count, kind, d, x, amount = facts[s]
            self.missed += int(count)
            found = Miss(int(kind), int(d), int(x), int(s), age, float(amount))
            old = self.miss
            if old is None or (found.kind != PROBABILITY, found.amount) > (old.kind != PROBABILITY, old.amount):
                self.miss = found


def _promise(tables: Tables, V: Array, eta: float, largest: float) -> tuple[Array, Array]:
    """``kappa + beta Q sum_r mix_r V_r``, ``(N_z, N_k)``, and what it and a logarithm round, ``(N_z,)``."""
    mixed = np.ascontiguousarray(np.tensordot(tables.mix, V, 1))
    promise = expectation(tables.transition, mixed, 1.0) * tables.beta[:, None] + tables.kappa[:, None]
    terms = (V.shape[2] + V.shape[0] + 6) * tables.beta * largest + 2.0 * np.abs(tables.kappa)
    return promise, 1.001 * DOUBLE * (terms + (1.0 if eta == 1.0 else 0.0))


def _one_age(
    form: Form, V: Array, answer: _Age, change: float, coarse: Array, age: int, found: _Findings
) -> tuple[float, ...]:
    """Certify one age against a sweep from ``V``: residual, rounding, evaluations, and what was searched in full."""
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
            promise, noise = _promise(tables, V, form.eta, largest)
            _alternative(
                tables.wealth, tables.cost, tables.low, tables.high, promise, noise, form.eta, form.negative, allowed,
                answer.values[d], answer.policy[d], best[d], slack[d], coarse[d], facts, counts[d],
            )  # fmt: skip
        else:
            best[d] = one.at(age).T
            wrong = (answer.values[d] != one.at(age)) | (answer.policy[d] != -1)
            for s in np.flatnonzero(wrong.any(axis=0)):
                x = int(np.argmax(wrong[:, s]))
                gap = abs(answer.values[d][x, s] - one.at(age)[x, s])
                facts[s] = wrong[:, s].sum(), WORTH, x, gap if gap > 0.0 else np.inf
        found.add(np.insert(facts, 2, d, axis=1), age)
    sizes = np.zeros((regimes, states, 2))
    for r in range(regimes):
        facts = np.zeros((states, 5))
        own = np.array(form.of_regime(r))
        _regime(
            best, slack, coarse, own, form.sigma, allowed, answer.value[r], answer.choice[r], answer.probabilities,
            sizes[r], facts,
        )  # fmt: skip
        found.add(facts, age)
    return (*(float(size) for size in sizes.max(axis=(0, 1))), *(int(n) for n in counts.sum(axis=(0, 1))))


def _taken(form: Form, answer: Answer) -> _Age:
    """The arrays of an answer, checked."""
    regimes, *here = form.shape
    count = len(form.alternatives)
    ages = () if form.horizon is None else (form.horizon,)
    found: dict[str, Any] = {}
    for name in _Age._fields:
        kind = np.int32 if name in ("policy", "choice") else np.float64
        array = np.ascontiguousarray(getattr(answer, name), kind)
        shape = (*ages, regimes if name in ("value", "choice") else count, *here)
        if array.shape != shape:
            raise ValueError(f"{name} must have shape {shape}, not {array.shape}")
        found[name] = array
    checks.finite("value", found["value"])
    return _Age(**found)


def certify(
    form: Form, answer: Answer, change: float = 0.0, after: Array | None = None, coarse: Array | None = None
) -> Certificate:
    """Certify a solution: measure its value, and find where a candidate or an alternative beats what was chosen.

    About three evaluations a state and alternative where the answer is right.

    Parameters
    ----------
    form
        The problem, with the tables of the last sweep where prices move.
    answer
        Its solution; arrays with an axis of ages where the problem has a horizon.
    change
        By how much the value changed in the sweep that found it, units of utility; without meaning where there is a
        horizon.
    after
        The value after the last age, ``(N_r, N_k, N_z)``; zeros by default. Without meaning without a horizon.
    coarse
        How much an alternative's value may be off, and its choice lose twice, because the solver rounds more than
        double precision does: ``(N_d, N_k, N_z)``, with ages in front where there is a horizon; units of utility. It
        changes what is missed, and neither residual nor bound. Zeros by default. Not with taste shocks.

    Raises
    ------
    ValueError
        An array of the answer, or ``coarse``, has another shape, its value is not finite, or ``change`` is negative or
        not finite.

    Example
    -------
    >>> import numpy as np
    >>> from beltline.gpu_ref.general import Branch, Form, certify, solve
    >>> grid = np.linspace(0.0, 1.0, 5)[:, None]
    >>> form = Form((Branch("save", 0, wealth=0.1 + grid, cost=grid, transition=np.eye(1), beta=0.9),), eta=2.0)
    >>> solution = solve(form)
    >>> certify(form, solution, solution.residual).missed
    0
    >>> solution.policy[0, 4, 0] = 0
    >>> certify(form, solution, solution.residual).miss.x
    4
    """
    change = checks.number("change", change)
    given = _taken(form, answer)
    found = _Findings()
    horizon = form.horizon
    coarse = np.zeros(given.values.shape) if coarse is None else np.asarray(coarse, np.float64)
    if coarse.shape != given.values.shape:
        raise ValueError(f"coarse must have shape {given.values.shape}, not {coarse.shape}")
    following = given.value if horizon is None else form.start(after)
    residual = rounding = bound = error = evaluations = searched = 0.0
    with threads(threads_for(form.shape[1] * form.shape[2])):
        for age in range((horizon or 1) - 1, -1, -1):
            now = given if horizon is None else _Age(*(array[age] for array in given))
            rough = np.ascontiguousarray((coarse if horizon is None else coarse[age]).swapaxes(1, 2))
            gap, doubt, tried, in_full = _one_age(form, following, now, 0.0 if horizon else change, rough, age, found)
            residual, rounding = max(residual, gap), max(rounding, doubt)
            evaluations, searched = evaluations + tried, max(searched, in_full)
            # The gap is a difference of two values, and rounded.
            off, factor = gap + doubt + DOUBLE * gap, form.modulus(age)
            if horizon is None:
                bound = off / (1.0 - factor) * (1.0 + 8.0 * DOUBLE) if factor < 1.0 else math.inf
            else:
                error = (off + factor * error) * (1.0 + 8.0 * DOUBLE)
                bound = max(bound, error)
            following = now.value
    return Certificate(residual, rounding, bound, found.missed, found.miss, int(evaluations), int(searched))
