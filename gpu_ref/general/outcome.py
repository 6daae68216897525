"""Turn the last sweep of a solve into its solution, status and message."""

from __future__ import annotations

import math

import numpy as np

from beltline.gpu_ref.general import checks
from beltline.gpu_ref.general.form import Form
from beltline.gpu_ref.general.solution import Iterate, Solution
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.utility import DOUBLE


def converged(residual: float, price_change: float, sweeps: int, moving: bool) -> str:
    """Return the message of an iteration that converged; ``moving`` says whether prices may move."""
    prices = f", and of the prices {price_change:.3g}" if moving else ""
    last = "The only sweep" if sweeps == 1 else f"The last of {sweeps} sweeps"
    return f"{last} changed the value by {residual:.3g}{prices}."


ALTERNATING = 4.0
"""Changes of up to this many units in the last place of the largest value may be rounding errors alone, by which values
can alternate for ever."""


def unfinished(
    residual: float,
    price_change: float,
    max_sweeps: int,
    tol: float,
    moving: bool,
    value: Array,
    more: int | None = None,
) -> str:
    """Return the message of an iteration that reached ``max_sweeps`` with ``value``.

    It says so if the change is no larger than rounding errors of values of this size, so that more sweeps do not help.
    ``more`` is an estimate of the sweeps that are missing.
    """
    message = f"After {max_sweeps} sweeps the value still changed by {residual:.3g}, and tol is {tol:g}."
    if moving:
        return f"{message} Prices changed by {price_change:.3g}."
    largest = np.abs(value).max(initial=0.0)
    if residual <= ALTERNATING * np.spacing(largest):
        return (
            f"{message} Values as large as {largest:.3g} are rounded to multiples of {np.spacing(largest):.2g}, so "
            "more sweeps may not change them by less: a larger tol is needed."
        )
    needed = "" if more is None else f": about {more:,} more if the change falls as in the last ones"
    return f"{message} More sweeps (max_sweeps) or a larger tol are needed{needed}."


def not_finite(form: Form, value: Array) -> tuple[str, str]:
    """Return status and message if a value is not finite, for example as prices left a state without a choice."""
    try:
        checks.everyone_can_choose(form)
    except ValueError as fault:
        return "prices refused", str(fault)
    return "not finite", overflow(value)


def overflow(value: Array) -> str:
    """Say where a value, ``(N_r, N_k, N_z)``, is not finite, and what the reason may be."""
    r, x, s = (int(i) for i in np.argwhere(~np.isfinite(value))[0])
    return (
        f"The value of regime {r} in state [{x}, {s}] is {value[r, x, s]}: consumption there is so small that its "
        "utility overflows, or a table holds numbers too large."
    )


def _bound(last: Iterate) -> float:
    """Bound the distance of the last value from the fixed point of the last sweep's Bellman operator.

    The sweep is a contraction of modulus ``m``. If it changed the value by ``h`` and is off by ``e``, the distance is
    at most ``(m h + e) / (1 - m)``.
    """
    factor = last.form.modulus()
    if factor >= 1.0 or not last.finite:
        return math.inf
    # The computed change is a rounded difference of two values.
    rounding = last.slack + DOUBLE * last.change
    return (factor * last.change + rounding) / (1.0 - factor) * (1.0 + 8.0 * DOUBLE)


def solution_of(
    last: Iterate,
    price_change: float,
    prices: Array | None,
    evaluations: list[int],
    status: str,
    message: str,
) -> Solution:
    """Build the solution from the last sweep; arguments as in :class:`~beltline.gpu_ref.general.solution.Solution`."""
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
