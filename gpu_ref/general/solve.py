"""Solve a general problem: value iteration with exact sweeps, or backward induction if there is a horizon."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from beltline.gpu_ref.general import checks
from beltline.gpu_ref.general.backward_induction import solve_ages
from beltline.gpu_ref.general.form import Form
from beltline.gpu_ref.general.operator import Operator, no_policy, states_first
from beltline.gpu_ref.general.outcome import converged, not_finite, solution_of, unfinished
from beltline.gpu_ref.general.pace import Pace, rounding
from beltline.gpu_ref.general.solution import Iterate, Prices, Progress, Solution
from beltline.gpu_ref.memory import check_memory
from beltline.gpu_ref.tables import Array

MOVING_STEPS = 5
"""Largest number of policy evaluation steps after a sweep while prices move. More would be wasted: the next sweep has
other tables.
"""

CORRECTED_STEPS = 6
"""The same limit for steps with corrections between them (:mod:`beltline.gpu_ref.general.aggregation`)."""

STEP_TOL_SHARE = 0.1
"""Corrected policy evaluation ends when a step changes the value by less than this share of ``tol``."""

SHARE = 0.1
"""Where a policy is evaluated by solution of a linear system, a step may change its value by this share of ``1 - beta``
times the change in the last sweep.
"""

HEADROOM, FALL = 10.0, 0.9
"""The ``n``-th evaluation with corrections, or by a linear system, follows only a sweep whose change is at most
``HEADROOM FALL**n`` times that of the first sweep.
"""

SYSTEM_SWEEPS = 15
"""A linear system takes about as long as this number of sweeps. Those in vain, which fail or hardly lower the change of
the next sweep, may take as long as all sweeps so far, besides one.
"""

FAR_BELOW = 0.01
"""After the rule is met, a policy is evaluated a second time if the change is not below this share of ``tol``."""

NEAR = 1e3
"""A sweep computes its rounding errors if the change of the sweep before is below this number of tolerances: it may be
the last, and would have to be repeated for them.
"""

MOVING_SWEEPS = 200
"""Number of sweeps with moving prices after which policy evaluation is switched off: prices that respond to values
evaluated at a fixed policy can cycle.
"""

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
    """Solve a general problem by value iteration in which every maximising sweep is exact and proven.

    Each sweep applies the Bellman operator once (:mod:`beltline.gpu_ref.general.sweep`). Between sweeps the policy just
    found can be evaluated for several steps (modified policy iteration; Puterman and Shin 1978). This needs no
    concavity: a sweep is exact from whatever value it starts, and the result comes from the last sweep. With a horizon,
    backward induction takes one sweep per age.

    Parameters
    ----------
    form
        The problem.
    start
        Initial value, ``(N_r, N_k, N_z)``, finite, units of utility; with a horizon, the value after the last age.
        Zeros by default.
    tol
        The iteration ends when a sweep changes the value by less than this everywhere, units of utility, or when more
        sweeps do not lower a change that may be rounding errors. ``error_bound`` of the solution says how far the value
        then is from the exact one.
    max_sweeps
        Largest number of maximising sweeps. Ignored with a horizon.
    steps
        Policy evaluation steps after each maximising sweep, with every ``x'`` fixed. They save sweeps and do not affect
        exactness. With ``update``, prices stay fixed during these steps; while prices move, at most
        :data:`CORRECTED_STEPS` or :data:`MOVING_STEPS` are taken, and none after :data:`MOVING_SWEEPS` sweeps with
        moving prices.
    corrected
        Whether to extrapolate between evaluation steps (:mod:`beltline.gpu_ref.general.aggregation`), so that far fewer
        steps are needed, and to evaluate policies by solution of linear systems if the iteration is slow all the same
        (:mod:`beltline.gpu_ref.general.policy_system`). With ``False`` the iteration is the one that a CUDA device
        runs.
    update
        Called with the outcome of each sweep (:class:`~beltline.gpu_ref.general.solution.Iterate`); returns the tables
        of the next sweep and the prices behind them. The iteration then ends when value and prices both change by less
        than ``tol``, and it need not converge. If ``update`` raises ``ValueError`` or returns invalid tables, the solve
        ends with status "prices refused".
    progress
        Called after each sweep with the number of sweeps and the change of the value; with a horizon, after each age
        with the number of ages and the error bound.

    Returns
    -------
    Solution
        Value, policy, choice of alternatives, error bound and status.

    Raises
    ------
    ValueError
        ``start`` has a wrong shape or an entry that is not finite, a number is out of range, or ``update`` or ``steps``
        is given with a horizon.
    MemoryError
        The problem does not fit into the memory of this computer; nothing was allocated.

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
    """Check the arguments of :func:`solve` and return the initial value, ``tol``, ``max_sweeps`` and ``steps``.

    Raises
    ------
    ValueError
        An argument is out of range, or ``update`` or ``steps`` is given with a horizon.
    MemoryError
        The problem does not fit into the memory of this computer; nothing was allocated.
    """
    tol = checks.number("tol", tol)
    max_sweeps, steps = checks.whole("max_sweeps", max_sweeps, 1), checks.whole("steps", steps, 0)
    if form.horizon is not None and (update is not None or steps):
        raise ValueError(f"{'update' if update else 'steps'} needs an infinite horizon, not horizon = {form.horizon}")
    _check_fits(form)
    return form.start(start), tol, max_sweeps, steps


def _check_fits(form: Form) -> None:
    """Raise ``MemoryError`` if the tables of the alternatives and the solution do not fit into the memory."""
    regimes, points, states = form.shape
    count = len(form.alternatives)
    # Value and choice of each regime; values, policy and probabilities of each alternative.
    solution = 12 * regimes + 20 * count
    # At least wealth, cost, bounds and windows of each alternative (:mod:`beltline.gpu_ref.general.packed`).
    needed = (32 * count + (form.horizon or 1) * solution) * points * states
    ages = "" if form.horizon is None else f"{form.horizon:,} ages of "
    named = f"{count} alternative{'' if count == 1 else 's'}"
    check_memory(needed, f"a problem with {named} on {ages}{points:,} x {states} states")


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
    """Iterate on values, for :func:`solve` with an infinite horizon.

    With fixed prices the change falls below any ``tol``. Evaluation steps without corrections converge from any value:
    if lost discount leads to one more state, with the value 0, a constant added to all values only shifts all that
    follow, so that the first value can be taken as one that ``T`` raises, and then values rise at least as fast as in
    value iteration (Puterman and Shin 1978). Corrections follow only ever smaller changes (:data:`HEADROOM`): either
    they come to an end, and such steps remain, or there are changes as small as one likes.
    """
    moving_steps, step_tol = (CORRECTED_STEPS, STEP_TOL_SHARE * tol) if corrected else (MOVING_STEPS, None)
    operator = Operator(form)
    V, guess = states_first(start), no_policy(form)
    prices: Array | None = None
    evaluations = []
    moving_sweeps = 0
    pace, slow, solved, in_vain, allowed = Pace(), False, False, 0, math.inf
    status, message, near = "", "", False
    # Once the rule is met, the policy is evaluated once more, or twice: far less is then left than the rule asks for.
    spare = 2 if corrected and update is None and steps > 0 else 0
    while not status:
        last = operator.sweep(V, guess, with_slack=near)
        evaluations.append(last.evaluations)
        price_change = 0.0
        if not last.finite:
            status, message = not_finite(form, last.value)
            break
        if update is not None:
            try:
                form, new = with_prices(form, update(last))
            except ValueError as fault:
                status, message = "prices refused", f"After sweep {len(evaluations)}: {fault}"
                break
            price_change = change_of(new, prices)
            prices = new
        if progress is not None:
            progress(len(evaluations), last.change)
        near = last.change < NEAR * tol
        pace.add(last.change)
        in_vain += solved and pace.stalled
        met = last.change < tol and (update is None or price_change < tol)
        enough = spare == 0 or (spare == 1 and last.change < FAR_BELOW * tol)
        if met and not enough and 1 < len(evaluations) < max_sweeps and not pace.rounded(last.found.value, V):
            spare -= 1
        elif met:
            status, message = "converged", converged(last.change, price_change, len(evaluations), update is not None)
        elif update is None and pace.rounded(last.found.value, V):
            status, message = "converged", converged(last.change, 0.0, len(evaluations), False)
        elif len(evaluations) >= max_sweeps:
            status = "sweep limit"
            more = pace.more(tol) if update is None else None
            message = unfinished(last.change, price_change, max_sweeps, tol, update is not None, last.value, more)
        if not status:
            guess = last.found.policy
            moving_sweeps += price_change >= tol
            if moving_sweeps > MOVING_SWEEPS:
                steps = 0
            fixed_steps = steps if price_change < tol else min(steps, moving_steps)
            if len(evaluations) == 1:
                allowed = HEADROOM * last.change
            close = corrected and (update is not None or last.change <= allowed)
            allowed *= FALL if close else 1.0
            slow = slow or pace.slow
            affordable = SYSTEM_SWEEPS * (in_vain - 1) < len(evaluations)
            solved, value = close and slow and affordable and steps > 0 and update is None, None
            # Evaluate the policy with the tables for which it was chosen; new prices follow in the next sweep.
            if solved:
                wanted = max(SHARE * (1.0 - form.modulus()) * last.change, rounding(last.found.value))
                value = operator.solve(last.found, V, wanted)
                in_vain, solved = in_vain + (value is None), value is not None
            if value is None and fixed_steps:
                value = operator.evaluate(last.found, fixed_steps, step_tol if close else None)
            V = last.found.value if value is None else value
            operator.replace(form)
    if last.finite and not math.isfinite(last.slack):
        # Repeat the last sweep to get its rounding error; starting from its own policy, it ends with the same bits.
        operator.replace(last.form)
        last = operator.sweep(V, last.found.policy)
    return solution_of(last, price_change, prices, evaluations, status, message)


def with_prices(form: Form, found: Prices) -> tuple[Form, Array]:
    """Return the problem with the tables that ``update`` returned, after checking them, and the prices.

    Raises
    ------
    ValueError
        They are not valid.
    """
    if not isinstance(found, Prices):
        raise ValueError(f"update must return Prices(tables, prices), not {checks.brief(found)}")
    for name, tables in checks.mapping("tables of update", found.tables).items():
        checks.mapping(f"tables of update for {name!r}", tables)
    new = form.with_tables(found.tables)
    prices = checks.real_numbers("prices of update", found.prices)
    checks.finite("prices", prices)
    return new, prices


def change_of(new: Array, old: Array | None) -> float:
    """Return the largest change of the prices; infinite if the old ones have another shape or are missing."""
    if old is None or old.shape != new.shape:
        return math.inf
    return float(np.abs(new - old).max(initial=0.0))
