"""Certify values, choices and solutions of general problems, with code that shares no search with the solver.

From the value to be certified, every alternative is maximised once more by
:class:`~beltline.gpu_ref.general.applied.Applied`, starting from the policy to be certified. :func:`certify_form`
certifies a value from anywhere, and choices, by state; :mod:`beltline.gpu_ref.bounds` has the argument.
:func:`certify` compares all that a solver returned with what it promises. Shared with the solver are only the checks of
tables, the utility function, the windows of bounds, and divide and conquer as a source of guesses, which cannot affect
the result. Expectations are computed by :mod:`beltline.gpu_ref.tables`, which the solver does not use.

*Tolerances.* A solver that returns ``V = T V_before`` reports ``change``, the largest ``|V - V_before|``. With the
modulus ``m``, ``|T V - V| <= m change``. The policy is best for ``V_before``, so given ``V`` it loses at most ``2 m
change``, and so does the choice of an alternative. With taste shocks of scale ``sigma``, a probability can move as far
as such changes of all values of its regime allow. The rounding errors of both sweeps are added. With ages, ``change``
is 0, because the value of each age was computed from the returned value of the next age.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit
from beltline.gpu_ref.bounds import Certified, bound_by_state, status_of, uniform_bound
from beltline.gpu_ref.general import checks
from beltline.gpu_ref.general.applied import NEGLIGIBLE, Applied, PossibleChoices
from beltline.gpu_ref.general.form import Branch, Form, Indexes
from beltline.gpu_ref.general.log_sum import extremes
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.utility import DOUBLE

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
        The best ``x'`` of each alternative and the first of the best alternatives of each regime given the value, of
        the shapes of those of the answer.
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
def _impossible(values: Array, moves: Array, sigma: float, probabilities: Array, found: NDArray[np.bool_]) -> None:
    """Mark in ``found`` the entries of ``probabilities``, ``(n, N_z, N_k)``, that those of a regime cannot be.

    ``values`` are those of its alternatives, and ``moves`` how far each may have moved.
    """
    count = values.shape[0]
    below, rounding = np.empty(count), (64.0 + 4.0 * count) * DOUBLE
    for s in range(values.shape[1]):
        for x in range(values.shape[2]):
            top = values[:, s, x].max()
            for n in range(count):
                below[n] = values[n, s, x] - top
            for n in range(count):
                least, most = extremes(below, moves[:, s, x].copy(), n, sigma)
                found[n, s, x] = not least - rounding <= probabilities[n, s, x] <= most + rounding


class _AnswerAtAge(NamedTuple):
    """The answer at one age; arrays as in :class:`Answer`, or with exogenous states before grid points."""

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

    def add(self, kind: int, wrong: NDArray[np.bool_], amount: Array, alternative: Any, age: int) -> None:
        """Add the errors of ``wrong`` states, ``(N_z, N_k)``; an amount that is not a number counts as infinite.

        ``alternative`` is a number, or one for each state.
        """
        if not wrong.any():
            return
        self.missed += int(wrong.sum())
        sizes = np.where(wrong, np.where(amount >= 0.0, amount, np.inf), -1.0)
        s, x = np.unravel_index(int(np.argmax(sizes)), sizes.shape)
        d = int(np.broadcast_to(alternative, sizes.shape)[s, x])
        found, old = Miss(kind, d, int(x), int(s), age, float(sizes[s, x])), self.miss
        # Errors in units of utility take precedence over those of probabilities.
        if old is None or (found.kind != PROBABILITY, found.amount) > (old.kind != PROBABILITY, old.amount):
            self.miss = found


def _compare(
    form: Form, applied: Applied, answer: _AnswerAtAge, change: float, coarse: Array | None, age: int, found: _Findings
) -> None:
    """Add the errors of one age, in which values may be off by ``change``, ``coarse`` and rounding."""
    allowed = ROUNDINGS * applied.slack
    allowed += change
    if coarse is not None:
        allowed += coarse
    # Comparisons are written such that NaN counts as wrong.
    with np.errstate(invalid="ignore", over="ignore"):
        counted = [_compare_alternative(form, applied, answer, allowed, d, age, found) for d in range(len(allowed))]
        for r in range(form.shape[0]):
            own = form.of_regime(r)
            if len(own) == 1 and form.sigma == 0.0 and _only(answer, r, own[0]):
                continue
            first, taken = applied.choice[r], answer.choice[r]
            top = applied.values[own].max(axis=0)
            loss, rough = np.full(top.shape, np.inf), np.zeros(top.shape)
            for d in own:
                lower = top - applied.values[d] - 2.0 * ROUNDINGS * applied.slack[d]
                loss = np.where(taken == d, lower, loss)
                if coarse is not None:
                    rough = np.where((taken == d) | (first == d), np.maximum(rough, coarse[d]), rough)
            within = change + ROUNDINGS * applied.error[r] + rough
            gap, off = np.abs(applied.value[r] - answer.value[r]), np.zeros(top.shape, np.bool_)
            for d in own:
                off |= counted[d] & (answer.values[d] == answer.value[r])
            found.add(REGIME_VALUE, ~(gap <= within) & ~off, gap, first, age)
            found.add(ALTERNATIVE_CHOICE, ~(loss <= 2.0 * within), loss, first, age)
            given = answer.probabilities[own]
            exact = np.stack([taken == d for d in own]).astype(np.float64)
            if form.sigma > 0.0:
                wrong = np.empty(given.shape, np.bool_)
                _impossible(applied.values[own], allowed[own], form.sigma, given, wrong)
                exact = np.exp((applied.values[own] - top) / form.sigma)
                exact /= exact.sum(axis=0)
            else:
                wrong = given != exact
            for n, d in enumerate(own):
                found.add(PROBABILITY, wrong[n], np.abs(given[n] - exact[n]), d, age)


def _only(answer: _AnswerAtAge, regime: int, d: int) -> bool:
    """Return whether an answer has nothing to compare for a regime besides the values of its only alternative."""
    same = np.array_equal(answer.value[regime], answer.values[d])
    return bool(same and (answer.choice[regime] == d).all() and (answer.probabilities[d] == 1.0).all())


def _compare_alternative(
    form: Form, applied: Applied, answer: _AnswerAtAge, allowed: Array, d: int, age: int, found: _Findings
) -> NDArray[np.bool_]:
    """Add the errors of one alternative; return where its value is wrong."""
    best, values, own = applied.values[d], answer.values[d], answer.policy[d]
    gap = np.abs(best - values)
    if not isinstance(form.alternatives[d], Branch):
        off = (best != values) | (own != -1)
        found.add(ALTERNATIVE_VALUE, off, np.where(gap > 0.0, gap, np.inf), d, age)
        return off
    off = ~((gap <= allowed[d]) | (best == values))
    found.add(ALTERNATIVE_VALUE, off, gap, d, age)
    s, x = np.nonzero((own != applied.policy[d]) & ~off)
    if s.size:
        loss, wrong = np.zeros(best.shape), np.zeros(best.shape, np.bool_)
        loss[s, x] = best[s, x] - applied.objective(d, own[s, x], s, x)[0]
        wrong[s, x] = ~(loss[s, x] <= 2.0 * allowed[d][s, x])
        found.add(POLICY, wrong, loss, d, age)
    return off


def _checked_arrays(form: Form, answer: Answer) -> _AnswerAtAge:
    """Return the arrays of an answer as contiguous arrays, after checking their shapes."""
    regimes, *here = form.shape
    count = len(form.alternatives)
    ages = () if form.horizon is None else (min(max(len(answer.value), 1), form.horizon),)
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
    form: Form,
    answer: Answer,
    change: float = 0.0,
    after: Array | None = None,
    coarse: Array | None = None,
    before_age: Callable[[int], None] | None = None,
) -> Certificate:
    """Certify a solution: measure its value, and find states in which another choice or alternative is better.

    About three evaluations per state and alternative if the answer is right.

    Parameters
    ----------
    form
        The problem; if prices move, with the tables of the last sweep.
    answer
        Its solution; with a horizon, arrays with an axis of ages, of all or of the last ones.
    change
        Largest change of the value in the sweep that found it, units of utility. Ignored with a horizon.
    after
        With a horizon, the value after the last age, ``(N_r, N_k, N_z)``; zeros by default.
    coarse
        How far values of alternatives may be off because the solver rounds more than double precision does, of the
        shape of ``answer.values``, units of utility; a choice may lose twice that. It decides what counts as an error,
        and changes neither residual nor bound. Zeros by default.
    before_age
        Called with the number of ages that are done before each age.

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
    coarse = None if coarse is None else np.asarray(coarse, np.float64)
    if coarse is not None and coarse.shape != given.values.shape:
        raise ValueError(f"coarse must have shape {given.values.shape}, not {coarse.shape}")
    following = given.value if horizon is None else form.start(after)
    residual = rounding = bound = error = 0.0
    evaluations = searched = 0
    best: list[tuple[Indexes, Indexes]] = []
    count = 1 if horizon is None else len(given.value)
    for done in range(count):
        age, at = (horizon or 1) - 1 - done, count - 1 - done
        if before_age is not None:
            before_age(done)
        now = given if horizon is None else _AnswerAtAge(*(array[at] for array in given))
        applied = Applied(form, following, now.policy, age)
        factor = form.modulus(age)
        rough = None if coarse is None else (coarse if horizon is None else coarse[at]).swapaxes(1, 2)
        here = _AnswerAtAge(*(array.swapaxes(1, 2) for array in now))
        _compare(form, applied, here, 0.0 if horizon else factor * change, rough, age, found)
        off = np.abs(applied.value - here.value)
        residual, rounding = max(residual, float(off.max())), max(rounding, float(applied.error.max()))
        evaluations, searched = evaluations + applied.evaluations, max(searched, applied.searched)
        most = float((off * (1.0 + DOUBLE) + applied.error).max())
        error = uniform_bound(most, factor) if horizon is None else (most + factor * error) * (1.0 + 8.0 * DOUBLE)
        bound = max(bound, error)
        following = now.value
        best.append((applied.policy.swapaxes(1, 2), applied.choice.swapaxes(1, 2)))
    policy, choice = best[0] if horizon is None else (np.stack(each[::-1]) for each in zip(*best, strict=True))
    return Certificate(residual, rounding, bound, found.missed, found.miss, evaluations, searched, policy, choice)


def certify_form(
    form: Form, value: Array, policy: Indexes | None, alternative: Indexes | None, after: Array
) -> Certified:
    """Certify a value of a general problem.

    Parameters
    ----------
    form
        The problem.
    value
        ``(N_r, N_k, N_z)``, finite, or with a horizon ``(T, N_r, N_k, N_z)``.
    policy
        ``(N_d, N_k, N_z)`` by alternative: its choices of ``x'``, -1 where it has none. Those of the best alternatives
        are judged, and with taste shocks those of all. ``None`` for the best choices.
    alternative
        ``(N_r, N_k, N_z)``: the alternatives chosen; the best ones by default.
    after
        With a horizon, the value after the last age, ``(N_r, N_k, N_z)``.

    Returns
    -------
    Certified
        With choices by regime, or with taste shocks by alternative.
    """
    if form.horizon is None:
        return _in_user_order(_one_age(form, value, value, policy, alternative, 0, None))
    error, following, ages = np.zeros(form.shape).swapaxes(1, 2), after, []
    for age in range(form.horizon - 1, -1, -1):
        at = [None if table is None else table[age] for table in (policy, alternative)]
        ages.append(_one_age(form, following, value[age], at[0], at[1], age, error))
        error, following = ages[-1].error, value[age]
    ages = [_in_user_order(one) for one in reversed(ages)]
    stacked: dict[str, Any] = {
        name: None if getattr(ages[0], name) is None else np.stack([getattr(one, name) for one in ages])
        for name in ("off", "error", "policy", "alternative", "status", "loss")
    }
    return Certified(
        **stacked, evaluations=sum(one.evaluations for one in ages), searched=max(one.searched for one in ages)
    )


def _in_user_order(found: Certified) -> Certified:
    """Return the same with grid points before exogenous states."""
    arrays: dict[str, Any] = {}
    for name in ("off", "error", "policy", "alternative", "status", "loss"):
        table = getattr(found, name)
        arrays[name] = None if table is None else np.ascontiguousarray(table.swapaxes(-1, -2))
    return replace(found, **arrays)


def moduli(form: Form, age: int) -> tuple[float, float]:
    """Return the largest modulus of a choice, rounded up, and a lower bound on that of all; 0 for one that has none."""
    least = 0.0
    if all(isinstance(one, Branch) for one in form.alternatives):
        tables = [one.at(age) for one in form.alternatives if isinstance(one, Branch)]
        least = min(float((one.beta * one.transition.sum(axis=1)).min() * one.mix.sum()) for one in tables)
    rounded = 4.0 * sum(form.shape) * DOUBLE
    return form.modulus(age) * (1.0 + rounded), least * (1.0 - rounded)


def _one_age(
    form: Form, V: Array, value: Array, policy: Indexes | None, alternative: Indexes | None, age: int,
    error: Array | None,
) -> Certified:  # fmt: skip
    """Certify one age; arrays of the result have exogenous states first.

    ``V`` is the value after, and ``error``, ``(N_r, N_z, N_k)``, a bound on its error; ``None`` if it is ``value``.
    """
    guess = np.full((len(form.alternatives), *form.shape[1:]), -1, np.int32) if policy is None else policy
    applied = Applied(form, V, guess, age, tight=True)
    gap = np.abs(applied.value - value.swapaxes(1, 2))
    off = (gap * (1.0 + DOUBLE) + applied.error) * (1.0 + 4.0 * DOUBLE)
    if form.sigma > 0.0:
        off += 2.0 * form.sigma * len(form.alternatives) * math.exp(-NEGLIGIBLE)
    if error is None:
        largest, least = moduli(form, age)
        bound = bound_by_state(off, largest, least, lambda w: PossibleChoices(applied, w))
        error = bound
        choices = PossibleChoices(applied, error) if np.isfinite(bound).all() else None
    else:
        choices = PossibleChoices(applied, error) if np.isfinite(error).all() else None
        bound = np.full(off.shape, np.inf) if choices is None else off + choices.expected(error) * (1.0 + 4.0 * DOUBLE)
    best, taken, status, loss = _judged(form, applied, choices, policy, alternative)
    return Certified(gap, bound, best, taken, status, loss, applied.evaluations, applied.searched)


def _judged(
    form: Form, applied: Applied, choices: PossibleChoices | None, policy: Indexes | None, alternative: Indexes | None
) -> tuple[NDArray[Any], NDArray[Any] | None, NDArray[np.int8], Array]:
    """Return the best choices, their alternatives, and status and loss of the given ones."""
    count = len(form.alternatives)
    given = applied.policy if policy is None else np.ascontiguousarray(policy.swapaxes(1, 2))
    objective, rounding, own = np.empty(given.shape), np.empty(given.shape), np.zeros(given.shape)
    for d in range(count):
        objective[d], rounding[d] = applied.objective(d, given[d], *np.indices(given[d].shape, sparse=True))
        if choices is not None:
            own[d] = choices.error_of(d, given[d])
    # An alternative that offers nothing leaves nothing to choose.
    nothing = (given == -1) & (applied.policy == -1)
    if form.sigma > 0.0:
        top, slack, gap = applied.values, applied.slack, applied.gap
        best: NDArray[Any] = applied.policy
        taken: NDArray[Any] | None = None
        maximal = nothing | (given == best)
        with np.errstate(invalid="ignore"):
            loss = np.where(maximal, 0.0, np.where(objective == -np.inf, np.inf, top - objective))
        most, of_best = (choices.most, choices.own) if choices else (np.zeros(top.shape),) * 2
    else:
        first, chosen = applied.choice, applied.choice if alternative is None else alternative.swapaxes(1, 2)
        regimes = first.shape[0]

        def of(table: NDArray[Any], d: NDArray[Any]) -> NDArray[Any]:
            return np.take_along_axis(table, d, axis=0)

        top, slack, gap = (of(table, first) for table in (applied.values, applied.slack, applied.gap))
        best, taken = of(applied.policy, first), first
        for r in range(regimes):
            for d in form.of_regime(r):
                apart = top[r] - slack[r] - applied.values[d] - applied.slack[d]
                gap[r] = np.where(first[r] == d, gap[r], np.minimum(gap[r], apart))
        objective, rounding, own = of(objective, chosen), of(rounding, chosen), of(own, chosen)
        maximal = (chosen == first) & (of(given, chosen) == best)
        loss = np.where(maximal, 0.0, top - objective)
        zero = np.zeros(top.shape)
        most, of_best = (choices.most_of_regimes(), of(choices.own, first)) if choices else (zero, zero)
    if choices is None:
        most = of_best = np.full(top.shape, np.inf)
    with np.errstate(invalid="ignore"):
        lead = (loss - slack - rounding) * (1.0 - 8.0 * DOUBLE) - 4.0 * DOUBLE * np.abs(top)
        lead[np.isposinf(loss)] = np.inf
    status = status_of(maximal, gap, lead, own, most, of_best)
    status[np.isposinf(loss)] = -1
    return best, taken, status, loss
