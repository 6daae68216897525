"""Value iteration on exact sweeps, and backward induction where there is a horizon."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from beltline.gpu_ref.general import checks
from beltline.gpu_ref.general.form import Alternative, Form
from beltline.gpu_ref.general.operator import evaluate, sweep
from beltline.gpu_ref.general.solution import Iterate, Prices, Solution
from beltline.gpu_ref.methods import DOUBLE
from beltline.gpu_ref.tables import Array

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
        nothing: choices and bound come from the sweeps. With ``update``, prices are held in them too.
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
    V: Array,
    tol: float,
    max_sweeps: int,
    steps: int,
    update: Update | None,
    progress: Progress | None,
) -> Solution:
    policy = np.full((len(form.alternatives), *form.shape[1:]), -1, np.int32)
    prices: Array | None = None
    evaluations = []
    status, message = "", ""
    while not status:
        last = sweep(form, V, policy)
        evaluations.append(last.evaluations)
        # A difference of infinities is no number, and no change below tol.
        with np.errstate(invalid="ignore"):
            residual = float(np.abs(last.value - V).max())
        price_change = 0.0
        if not np.isfinite(last.value).all():
            status, message = "not finite", _not_finite(last.value)
            break
        if update is not None:
            try:
                form, new = _with_prices(form, update(last))
            except ValueError as fault:
                status, message = "prices refused", f"After sweep {len(evaluations)}: {fault}"
                break
            price_change = _change(new, prices)
            prices = new
        if progress is not None:
            progress(len(evaluations), residual)
        if residual < tol and (update is None or price_change < tol):
            status, message = "converged", _converged(residual, price_change, len(evaluations), update is not None)
        elif len(evaluations) >= max_sweeps:
            status = "sweep limit"
            message = f"After {max_sweeps} sweeps the value still changed by {residual:.3g}, and tol is {tol:g}."
            if update is not None:
                message += f" Prices changed by {price_change:.3g}."
        policy = last.policy
        V = evaluate(last, steps) if steps and not status else last.value
    return _solution(last, residual, price_change, prices, evaluations, status, message)


def _converged(residual: float, price_change: float, sweeps: int, moving: bool) -> str:
    prices = f", and of the prices {price_change:.3g}" if moving else ""
    return f"The last of {sweeps} sweeps changed the value by {residual:.3g}{prices}."


def _not_finite(value: Array) -> str:
    r, x, s = (int(i) for i in np.argwhere(~np.isfinite(value))[0])
    return (
        f"The value of regime {r} in state [{x}, {s}] is {value[r, x, s]}: consumption there is so small that its "
        "utility overflows, or a table holds numbers too large."
    )


def _with_prices(form: Form, found: Prices) -> tuple[Form, Array]:
    """The problem with the tables that ``update`` returned, checked, and its prices."""
    tables: Mapping[str, Mapping[str, Any]] = found.tables
    known = {one.name for one in form.alternatives}
    for name in tables:
        if name not in known:
            raise ValueError(f"update names alternative {name!r}, and there are {', '.join(map(repr, sorted(known)))}")
    new: list[Alternative] = []
    for one in form.alternatives:
        fields = {field.name for field in dataclasses.fields(one)}
        for name in tables.get(one.name, {}):
            if name not in fields:
                raise ValueError(f"update names table {name!r}, and alternative {one.name!r} has none of that name")
        new.append(dataclasses.replace(one, **tables[one.name]) if one.name in tables else one)
    prices = np.array(found.prices, np.float64)
    if not np.isfinite(prices).all():
        where = [int(i) for i in np.argwhere(~np.isfinite(prices))[0]]
        raise ValueError(f"prices{where} is {prices[tuple(where)]}, not finite")
    return dataclasses.replace(form, alternatives=tuple(new)), prices


def _change(new: Array, old: Array | None) -> float:
    if old is None or old.shape != new.shape:
        return math.inf
    return float(np.abs(new - old).max(initial=0.0))


def _bound(last: Iterate, residual: float) -> float:
    """Bound on the distance of the last value from the fixed point of the last sweep's tables."""
    factor = last.form.modulus()
    if factor >= 1.0 or not np.isfinite(last.value).all():
        return math.inf
    # The residual is a difference of two values, and rounded.
    rounding = last.slack + DOUBLE * residual
    return (factor * residual + rounding) / (1.0 - factor) * (1.0 + 8.0 * DOUBLE)


def _solution(
    last: Iterate,
    residual: float,
    price_change: float,
    prices: Array | None,
    evaluations: list[int],
    status: str,
    message: str,
) -> Solution:
    return Solution(
        form=last.form,
        value=last.value,
        values=last.values,
        policy=last.policy,
        choice=last.choice,
        probabilities=last.probabilities,
        residual=residual,
        error_bound=_bound(last, residual),
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
    policy = np.full((len(form.alternatives), *form.shape[1:]), -1, np.int32)
    bound = 0.0
    status, message = "ages done", f"All {horizon} ages were solved."
    for age in range(horizon - 1, -1, -1):
        last = sweep(form, V, policy, age)
        done.insert(0, last)
        bound = (last.slack + form.modulus(age) * bound) * (1.0 + 8.0 * DOUBLE)
        if progress is not None:
            progress(len(done), bound)
        if not np.isfinite(last.value).all():
            status, message, bound = "not finite", f"At age {age}: {_not_finite(last.value)}", math.inf
            break
        V, policy = last.value, last.policy

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
