"""Value iteration on exact sweeps, and backward induction where there is a horizon."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from beltline.gpu_ref.general import checks
from beltline.gpu_ref.general.form import Form, Indexes
from beltline.gpu_ref.general.operator import Operator, states_first
from beltline.gpu_ref.general.solution import Iterate, Prices, Solution
from beltline.gpu_ref.methods import DOUBLE
from beltline.gpu_ref.tables import Array

MOVING_STEPS = 5
"""Most policy evaluation steps while prices move: the tables of the next sweep are others."""

PATIENCE = 200
"""Sweeps in which prices may move before no choices are held any more: prices that follow such values may go in
circles."""

Update = Callable[[Iterate], Prices]
Progress = Callable[[int, float], None]


def solve(
    form: Form,
    start: ArrayLike | None = None,
    *,
    tol: float = 1e-8,
    max_sweeps: int = 10_000,
    steps: int = 0,
    update: Update | None = None,
    progress: Progress | None = None,
) -> Solution:
    """Solve a general problem; every maximising sweep is exact and proven.

    Parameters
    ----------
    form
        The problem.
    start
        First value, ``(N_r, N_k, N_z)``, finite; with a horizon the value after the last age. Zeros by default.
    tol
        A change of the value below it ends the iteration, units of utility; ``error_bound`` says what that is worth.
    max_sweeps
        Most maximising sweeps. Without meaning where there is a horizon.
    steps
        Policy evaluation steps after each maximising sweep, which hold every ``x'``. They save sweeps and decide
        nothing: choices and bound come from the sweeps. With ``update``, prices are held in them too, and while prices
        move there are at most :data:`MOVING_STEPS`, and none after :data:`PATIENCE` sweeps in which they did.
    update
        Called after every sweep; returns the tables of the next sweep, and the prices that they come from. The
        iteration then ends where value and prices change by less than ``tol``. It need not converge. A ``ValueError``
        of it, or tables that are no problem, ends the solve with status "prices refused".
    progress
        Called with the number of sweeps and the change after each of them.

    Raises
    ------
    ValueError
        ``start`` does not fit, or a number is out of range.

    Example
    -------
    See :mod:`beltline.gpu_ref.general`.
    """
    tol = checks.number("tol", tol)
    max_sweeps, steps = checks.whole("max_sweeps", max_sweeps, 1), checks.whole("steps", steps, 0)
    V = form.start(start)
    if form.horizon is None:
        return _iterate(form, V, tol, max_sweeps, steps, update, progress)
    if update is not None or steps:
        raise ValueError(f"{'update' if update else 'steps'} needs an infinite horizon, not horizon = {form.horizon}")
    return _ages(form, V, form.horizon, progress)


def _iterate(
    form: Form,
    start: Array,
    tol: float,
    max_sweeps: int,
    steps: int,
    update: Update | None,
    progress: Progress | None,
) -> Solution:
    operator = Operator(form)
    V, wanted = states_first(start), _nowhere(form)
    prices: Array | None = None
    evaluations = []
    moves = 0
    status, message = "", ""
    while not status:
        last = operator.sweep(V, wanted, doubts=False)
        evaluations.append(last.evaluations)
        price_change = 0.0
        if not last.finite:
            status, message = _not_finite(form, last.value)
            break
        if update is not None:
            try:
                form, new = _with_prices(form, update(last))
            except ValueError as fault:
                status, message = "prices refused", f"After sweep {len(evaluations)}: {fault}"
                break
            operator.replace(form)
            price_change = _change(new, prices)
            prices = new
        if progress is not None:
            progress(len(evaluations), last.change)
        if last.change < tol and (update is None or price_change < tol):
            status, message = "converged", _converged(last.change, price_change, len(evaluations), update is not None)
        elif len(evaluations) >= max_sweeps:
            status = "sweep limit"
            message = f"After {max_sweeps} sweeps the value still changed by {last.change:.3g}, and tol is {tol:g}."
            if update is not None:
                message += f" Prices changed by {price_change:.3g}."
        if not status:
            wanted = last.found.policy
            moves += price_change >= tol
            if moves > PATIENCE:
                steps = 0
            held = steps if price_change < tol else min(steps, MOVING_STEPS)
            V = operator.evaluate(last.found, held) if held else last.found.value
    if last.finite:
        # The same sweep again, from what it found and so with the same bits: how far it may be off.
        operator.replace(last.form)
        last = operator.sweep(V, last.found.policy)
    return _solution(last, price_change, prices, evaluations, status, message)


def _nowhere(form: Form) -> Indexes:
    """Choices to begin from where there are none, ``(N_d, N_z, N_k)``."""
    _, grid, states = form.shape
    return np.full((len(form.alternatives), states, grid), -1, np.int32)


def _converged(residual: float, price_change: float, sweeps: int, moving: bool) -> str:
    prices = f", and of the prices {price_change:.3g}" if moving else ""
    return f"The last of {sweeps} sweeps changed the value by {residual:.3g}{prices}."


def _not_finite(form: Form, value: Array) -> tuple[str, str]:
    """Status and message where a value is not finite: prices may have left a state without a choice."""
    try:
        checks.everyone_can_choose(form)
    except ValueError as fault:
        return "prices refused", str(fault)
    return "not finite", _overflow(value)


def _overflow(value: Array) -> str:
    r, x, s = (int(i) for i in np.argwhere(~np.isfinite(value))[0])
    return (
        f"The value of regime {r} in state [{x}, {s}] is {value[r, x, s]}: consumption there is so small that its "
        "utility overflows, or a table holds numbers too large."
    )


def _with_prices(form: Form, found: Prices) -> tuple[Form, Array]:
    """The problem with the tables that ``update`` returned, checked, and its prices."""
    new = form.with_tables(found.tables)
    prices = np.array(found.prices, np.float64)
    checks.finite("prices", prices)
    return new, prices


def _change(new: Array, old: Array | None) -> float:
    if old is None or old.shape != new.shape:
        return math.inf
    return float(np.abs(new - old).max(initial=0.0))


def _bound(last: Iterate) -> float:
    """Bound on the distance of the last value from the fixed point of the last sweep's tables."""
    factor = last.form.modulus()
    if factor >= 1.0 or not last.finite:
        return math.inf
    # The change is a difference of two values, and rounded.
    rounding = last.slack + DOUBLE * last.change
    return (factor * last.change + rounding) / (1.0 - factor) * (1.0 + 8.0 * DOUBLE)


def _solution(
    last: Iterate,
    price_change: float,
    prices: Array | None,
    evaluations: list[int],
    status: str,
    message: str,
) -> Solution:
    return Solution(
        form=last.form,
        value=np.ascontiguousarray(last.value),
        values=np.ascontiguousarray(last.values),
        policy=np.ascontiguousarray(last.policy),
        choice=np.ascontiguousarray(last.choice),
        probabilities=np.ascontiguousarray(last.probabilities),
        residual=last.change if last.finite else math.inf,
        error_bound=_bound(last),
        price_change=price_change,
        prices=prices,
        sweeps=len(evaluations),
        evaluations=np.array(evaluations, np.int64),
        searched=last.searched,
        status=status,
        message=message,
    )


def _ages(form: Form, V: Array, horizon: int, progress: Progress | None) -> Solution:
    """Backward induction: the error of an age is its sweep's, and the discounted one of the age after it."""
    done: list[Iterate] = []
    operator = Operator(form, horizon - 1)
    V, wanted = states_first(V), _nowhere(form)
    bound = 0.0
    status, message = "ages done", f"All {horizon} ages were solved."
    for age in range(horizon - 1, -1, -1):
        if done:
            operator.replace(form, age)
        last = operator.sweep(V, wanted)
        done.insert(0, last)
        bound = (last.slack + form.modulus(age) * bound) * (1.0 + 8.0 * DOUBLE)
        if progress is not None:
            progress(len(done), bound)
        if not last.finite:
            status, message, bound = "not finite", f"At age {age}: {_overflow(last.value)}", math.inf
            break
        V, wanted = last.found.value, last.found.policy

    def stacked(name: str, missing: float) -> Any:
        arrays = [getattr(one, name) for one in done]
        lacking = [np.full_like(arrays[0], missing)] * (horizon - len(done))
        return np.stack([*lacking, *arrays])

    return Solution(
        form=form,
        value=stacked("value", np.nan),
        values=stacked("values", np.nan),
        policy=stacked("policy", -1),
        choice=stacked("choice", -1),
        probabilities=stacked("probabilities", np.nan),
        residual=0.0,
        error_bound=bound,
        price_change=0.0,
        prices=None,
        sweeps=len(done),
        evaluations=np.array([one.evaluations for one in done], np.int64),
        searched=max(one.searched for one in done),
        status=status,
        message=message,
    )
