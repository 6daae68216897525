"""Value iteration on exact sweeps, and backward induction where there is a horizon."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from beltline.gpu_ref.general import checks
from beltline.gpu_ref.general.backward_induction import solve_ages
from beltline.gpu_ref.general.form import Form
from beltline.gpu_ref.general.operator import Operator, nowhere, states_first
from beltline.gpu_ref.general.outcome import converged, not_finite, solution_of, unfinished
from beltline.gpu_ref.general.solution import Iterate, Prices, Progress, Solution
from beltline.gpu_ref.tables import Array

MOVING_STEPS = 5
"""Most policy evaluation steps while prices move: the tables of the next sweep are others."""

CORRECTED_STEPS = 3
"""The same where steps are corrected."""

ENOUGH = 0.1
"""Share of ``tol`` below which a change of a corrected step ends the evaluation."""

PATIENCE = 200
"""Sweeps in which prices may move before policy evaluation steps are left out: prices that follow such values may go in
circles."""

Update = Callable[[Iterate], Prices]


def solve(
    form: Form,
    start: ArrayLike | None = None,
    *,
    tol: float = 1e-8,
    max_sweeps: int = 10_000,
    steps: int = 0,
    corrected: bool = True,
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
        Policy evaluation steps after each maximising sweep, in which every ``x'`` is fixed. They save sweeps and decide
        nothing: choices and bound come from the sweeps. With ``update``, prices are fixed in them too, and while prices
        move there are at most :data:`CORRECTED_STEPS` or :data:`MOVING_STEPS`, and none after :data:`PATIENCE` sweeps
        in which they did.
    corrected
        Whether steps alternate with corrections (:mod:`beltline.gpu_ref.general.aggregation`), so that far fewer are
        needed. Graphics cards make none: without them, the iteration is theirs.
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
    V, tol, max_sweeps, steps = checked(form, start, tol, max_sweeps, steps, update)
    if form.horizon is None:
        return _iterate(form, V, tol, max_sweeps, steps, corrected, update, progress)
    return solve_ages(form, V, form.horizon, progress, Operator(form, form.horizon - 1))


def checked(
    form: Form, start: ArrayLike | None, tol: float, max_sweeps: int, steps: int, update: Update | None
) -> tuple[Array, float, int, int]:
    """Check arguments of :func:`solve`: start, ``tol``, ``max_sweeps`` and ``steps``.

    Raises
    ------
    ValueError
        One is out of range, or does not go with a horizon.
    """
    tol = checks.number("tol", tol)
    max_sweeps, steps = checks.whole("max_sweeps", max_sweeps, 1), checks.whole("steps", steps, 0)
    V = form.start(start)
    if form.horizon is not None and (update is not None or steps):
        raise ValueError(f"{'update' if update else 'steps'} needs an infinite horizon, not horizon = {form.horizon}")
    return V, tol, max_sweeps, steps


def _iterate(
    form: Form,
    start: Array,
    tol: float,
    max_sweeps: int,
    steps: int,
    corrected: bool,
    update: Update | None,
    progress: Progress | None,
) -> Solution:
    moving_steps, enough = (CORRECTED_STEPS, ENOUGH * tol) if corrected else (MOVING_STEPS, None)
    operator = Operator(form)
    V, wanted = states_first(start), nowhere(form)
    prices: Array | None = None
    evaluations = []
    moves = 0
    status, message = "", ""
    while not status:
        last = operator.sweep(V, wanted, doubts=False)
        evaluations.append(last.evaluations)
        price_change = 0.0
        if not last.finite:
            status, message = not_finite(form, last.value)
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
            progress(len(evaluations), last.change)
        if last.change < tol and (update is None or price_change < tol):
            status, message = "converged", converged(last.change, price_change, len(evaluations), update is not None)
        elif len(evaluations) >= max_sweeps:
            status = "sweep limit"
            message = unfinished(last.change, price_change, max_sweeps, tol, update is not None)
        if not status:
            wanted = last.found.policy
            moves += price_change >= tol
            if moves > PATIENCE:
                steps = 0
            fixed_steps = steps if price_change < tol else min(steps, moving_steps)
            # At the tables that the choices were made for.
            V = operator.evaluate(last.found, fixed_steps, enough) if fixed_steps else last.found.value
            operator.replace(form)
    if last.finite:
        # The same sweep again, from what it found and so with the same bits: how far it may be off.
        operator.replace(last.form)
        last = operator.sweep(V, last.found.policy)
    return solution_of(last, price_change, prices, evaluations, status, message)


def _with_prices(form: Form, found: Prices) -> tuple[Form, Array]:
    """The problem with the tables that ``update`` returned, checked, and its prices."""
    if not isinstance(found, Prices):
        raise ValueError(f"update must return Prices(tables, prices), not {found!r:.200}")
    for name, tables in checks.mapping("tables of update", found.tables).items():
        checks.mapping(f"tables of update for {name!r}", tables)
    new = form.with_tables(found.tables)
    try:
        prices = np.array(found.prices, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"prices of update must be an array of numbers, not {found.prices!r:.200}") from None
    checks.finite("prices", prices)
    return new, prices


def _change(new: Array, old: Array | None) -> float:
    if old is None or old.shape != new.shape:
        return math.inf
    return float(np.abs(new - old).max(initial=0.0))
