"""Certify values and choices of general problems, with code that shares no search with the solver.

From the value to be certified, every alternative is maximised once more by
:class:`~beltline.gpu_ref.general.applied.Applied`, starting from the policy to be certified. :func:`measured` does only
that, and compares a solver's solution with what it finds. :func:`certify_form` also bounds errors by state and judges
choices; :mod:`beltline.gpu_ref.bounds` has the argument. Shared with the solver are only the checks of tables, the
utility function, the windows of bounds, and divide and conquer as a source of guesses, which cannot affect the result.
Expectations are computed by :mod:`beltline.gpu_ref.tables`, which the solver does not use.

*Tolerances.* A solver that returns ``V = T V_before`` reports ``change``, the largest ``|V - V_before|``. With the
modulus ``m``, ``|T V - V| <= m change``. The policy is best for ``V_before``, so given ``V`` it loses at most ``2 m
change``, and so does the choice of an alternative. The rounding errors of both sweeps are added. Probabilities are
those that follow from the solution's own values of alternatives. With ages, ``change`` is 0, because the value of each
age was computed from the returned value of the next age.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.bounds import Certified, bound_by_state, status_of, uniform_bound
from beltline.gpu_ref.general.applied import NEGLIGIBLE, Applied, PossibleChoices
from beltline.gpu_ref.general.form import Branch, Form, Indexes
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.utility import DOUBLE

ROUNDINGS = 4.0
"""Tolerance for rounding: this many times the rounding error of the sweep here, since the solver's sweep rounded
differently.
"""


class _Answer(NamedTuple):
    """The arrays of a solution that are certified, as in :class:`beltline.gpu_ref.general.solution.Solution`."""

    value: Array
    values: Array
    policy: Indexes
    choice: Indexes
    probabilities: Array


class Miss(NamedTuple):
    """The largest error of a solution.

    Attributes
    ----------
    kind
        What is wrong: ``"value"`` or ``"choice"`` of an alternative, ``"regime"`` (its value), ``"alternative"`` (that
        chosen) or ``"probability"``.
    alternative
        Number of the alternative; for an error of a regime, of its best alternative.
    x, s, age
        Grid point, exogenous state and age, counted from 0; 0 without a horizon.
    amount
        Size of the error, units of utility, or a probability; infinite if the choice is not allowed.
    """

    kind: str
    alternative: int
    x: int
    s: int
    age: int
    amount: float


class Measured(NamedTuple):
    """Residual and error bound of a solution, units of utility, and how it compares with what was found.

    Attributes
    ----------
    residual, error_bound
        Largest ``|T V - V|``, or with a horizon ``|T V_next - V|`` at any age; and a bound on the distance of the value
        from the exact solution, rounding included.
    missed, miss
        Number of regimes' states in which something is wrong, and the largest error, the first of equals.
    policy, choice
        The best ``x'`` of each alternative and the first of the best alternatives of each regime given the value.
    evaluations
        Number of objectives computed.
    """

    residual: float
    error_bound: float
    missed: int
    miss: Miss | None
    policy: Indexes
    choice: Indexes
    evaluations: int


def _errors(
    form: Form, applied: Applied, answer: _Answer, change: float, coarse: Array, age: int
) -> tuple[int, list[Miss]]:
    """Return in how many states an answer of one age is wrong, and the largest error of each kind.

    Arrays have exogenous states before grid points. Values may be off by ``change``, ``coarse`` and rounding.
    """
    count, regimes = len(form.alternatives), np.array([one.regime for one in form.alternatives])
    best, first, taken = applied.values, applied.choice, np.clip(answer.choice, 0, count - 1)

    def of(table: Array, d: Indexes) -> Array:
        return np.take_along_axis(table, d, axis=0)

    # Comparisons are written such that NaN counts as wrong.
    with np.errstate(invalid="ignore", over="ignore"):
        allowed = change + coarse + ROUNDINGS * applied.slack
        loss = np.zeros(best.shape)
        for d in range(count):
            s, x = np.nonzero(answer.policy[d] != applied.policy[d])
            if s.size:
                loss[d, s, x] = best[d, s, x] - applied.objective(d, answer.policy[d, s, x], s, x)[0]
        gap = np.where(best == answer.values, 0.0, np.abs(best - answer.values))
        within = change + np.maximum(of(coarse, first), of(coarse, taken)) + ROUNDINGS * applied.error
        behind = of(best, first) - of(best, taken)
        own = (regimes[taken] == np.arange(len(first))[:, None, None]) & (taken == answer.choice)
        chances = (answer.choice[regimes] == np.arange(count)[:, None, None]).astype(np.float64)
        if form.sigma > 0.0:
            for r in range(len(first)):
                here = answer.values[form.of_regime(r)]
                weights = np.exp((here - here.max(axis=0)) / form.sigma)
                chances[form.of_regime(r)] = weights / weights.sum(axis=0)
        found = [
            ("value", gap, allowed),
            ("choice", loss, 2.0 * allowed),
            ("regime", np.abs(applied.value - answer.value), within),
            ("alternative", np.where(own, behind, np.inf), 2.0 * (within + ROUNDINGS * of(applied.slack, taken))),
            ("probability", np.abs(answer.probabilities - chances), (64.0 + 4.0 * count) * DOUBLE * (form.sigma > 0.0)),
        ]
        wrong = [~(amount <= most) for _, amount, most in found]
    states, misses = np.zeros(first.shape, np.bool_), []
    for (kind, amount, _), off in zip(found, wrong, strict=True):
        if not off.any():
            continue
        by_regime = kind in ("regime", "alternative")
        for n in range(len(off)):
            states[n if by_regime else regimes[n]] |= off[n]
        sizes = np.where(off, np.where(amount >= 0.0, amount, np.inf), -1.0)
        at = tuple(int(i) for i in np.unravel_index(int(np.argmax(sizes)), sizes.shape))
        misses.append(Miss(kind, int(first[at]) if by_regime else at[0], at[2], at[1], age, float(sizes[at])))
    return int(states.sum()), misses


def measured(
    form: Form,
    answer: Any,
    change: float = 0.0,
    after: Array | None = None,
    coarse: Array | None = None,
    before_age: Callable[[int], None] | None = None,
) -> Measured:
    """Measure the residual of a solution, and find states in which its value or one of its choices is wrong.

    About three evaluations per state and alternative if the answer is right.

    Parameters
    ----------
    form
        The problem; if prices move, with the tables of the last sweep.
    answer
        Its solution, with a finite value; with a horizon, arrays with an axis of ages, of all or of the last ones.
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

    Example
    -------
    >>> from dataclasses import replace
    >>> import numpy as np
    >>> from beltline.gpu_ref.general import Branch, Form, measured, solve
    >>> grid = np.linspace(0.0, 1.0, 5)[:, None]
    >>> form = Form((Branch("save", 0, wealth=0.1 + grid, cost=grid, transition=np.eye(1), beta=0.9),), eta=2.0)
    >>> solution = solve(form)
    >>> measured(form, solution, solution.residual).missed
    0
    >>> policy = solution.policy.copy()
    >>> policy[0, 4, 0] = 0
    >>> measured(form, replace(solution, policy=policy), solution.residual).miss.x
    4
    """
    given = _Answer(*(np.asarray(getattr(answer, name)) for name in _Answer._fields))
    coarse = np.zeros(given.values.shape) if coarse is None else coarse
    ages = 1 if form.horizon is None else len(given.value)
    following = given.value if form.horizon is None else form.start(after)
    residual = bound = error = 0.0
    missed, evaluations, misses = 0, 0, list[Miss]()
    best: list[tuple[Indexes, Indexes]] = []
    for done in range(ages):
        age, at = (form.horizon or 1) - 1 - done, ... if form.horizon is None else ages - 1 - done
        if before_age is not None:
            before_age(done)
        applied = Applied(form, following, np.ascontiguousarray(given.policy[at], np.int32), age)
        here = _Answer(*(array[at].swapaxes(1, 2) for array in given))
        factor = form.modulus(age)
        moved = factor * change if form.horizon is None else 0.0
        wrong, found = _errors(form, applied, here, moved, coarse[at].swapaxes(1, 2), age)
        missed, misses, evaluations = missed + wrong, misses + found, evaluations + applied.evaluations
        off = np.abs(applied.value - here.value)
        residual, most = max(residual, float(off.max())), float((off * (1.0 + DOUBLE) + applied.error).max())
        error = (most + factor * error) * (1.0 + 8.0 * DOUBLE) if form.horizon else uniform_bound(most, factor)
        bound = max(bound, error)
        following = np.ascontiguousarray(given.value[at])
        best.insert(0, (applied.policy.swapaxes(1, 2), applied.choice.swapaxes(1, 2)))
    policy, choice = best[0] if form.horizon is None else (np.stack(each) for each in zip(*best, strict=True))
    # An error of a probability is named if there is no other.
    miss = max(misses, key=lambda one: (one.kind != "probability", one.amount), default=None)
    return Measured(residual, bound, missed, miss, policy, choice, evaluations)


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
    return Certified(**stacked)


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
    return Certified(gap, bound, best, taken, status, loss)


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
