"""Whether an error bound says enough about a solution, and solves to a lower default tolerance where it does not."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.timing import added
from beltline.host.problem.problem import Problem
from beltline.host.results.outcome import Outcome
from beltline.host.solver.options import SolveOptions, spread, usual_utility

if TYPE_CHECKING:
    from beltline.host.problem.discrete import DiscreteProblem
    from beltline.host.results.result import Result
    from beltline.host.solver.certificate import Certificate

Solved = TypeVar("Solved", bound="Result")

LOWER = "lower tol"
"""What lowers an error bound that comes from the last change."""

LIMITED = "rounding errors of double precision allow no better"
"""What the message says where nothing lowers an error bound."""

RESCALE = "use units in which values are of similar size"
"""What lowers an error bound that comes from rounding alone."""

NOTICEABLE, LARGEST = 1e-3, 0.1
"""Shares of the spread of ``V`` above which an error bound is mentioned, and above which it is no success."""

CLOSE, FAR = 1e-3, 10.0
"""Share of ``|V|`` up to which an error bound is a success whatever the spread, of values that are as good as equal,
and of one that is more than ``FAR`` times as large as most.
"""

ROUNDED = " Rounding errors of double precision exceed tol for values of this size; the error bound includes them."
"""Sentence for the message where the last change is not below ``tol``, or the bound is larger than it promises."""

DIFFER = "choices may differ from those of the exact solution"
"""What a noticeable error bound means."""

EQUAL = 1e-12
"""Values whose spread is below this share of their size are as good as equal."""

SAMPLE = 64
"""Number of values that are looked at to learn what size is typical."""

EXACT = 1e-7
"""Share of :func:`usual_utility` up to which an error bound is not mentioned: values may be equal."""

SMALLEST = 1e-300
"""Bounds below this, in units of utility, come from products near the smallest number alone."""

UNBOUNDED = " The error has no finite bound: values are too large, or the discount factor is too close to 1."
"""Sentence for the message of a result without an error bound."""


def judged(
    outcome: Outcome,
    message: str,
    value: NDArray[np.float64],
    bound: float,
    cure: str = LIMITED,
    accepted: float = 0.0,
    usual: Callable[[], float] = float,
    unbounded: str = UNBOUNDED,
    by_state: Callable[[], NDArray[np.float64]] | None = None,
    relative: Callable[[], NDArray[np.float64]] | None = None,
) -> tuple[Outcome, str]:
    """Return outcome and message of a solve that ended, in the light of its error bound.

    A bound that is infinite, or above :data:`LARGEST` of the spread of the value function, says too little about it:
    the solve is then no success, unless the user's own ``tol`` leads to this bound. A bound of more than
    :data:`NOTICEABLE` of the spread is mentioned. Where values differ by orders of magnitude, bounds ``by_state``
    decide: each is compared with the size of its own state's value.
    """
    if outcome not in (Outcome.CONVERGED, Outcome.FINISHED):
        return outcome, message
    if not math.isfinite(bound):
        return Outcome.NOT_VERIFIED, message + unbounded
    typical = 0.0
    if by_state is not None:
        some = np.sort(np.abs(value.flat[:: max(1, value.size // SAMPLE)]))
        typical = float(some[(some.size - 1) // 4])
    small = by_state is None or bound <= max(LARGEST * typical, SMALLEST) or bound <= EXACT * usual()
    if small and not noticeable(value, bound, usual):
        return outcome, message
    size, between = float(np.median(np.abs(value))), spread(value)
    share = f"{100 * bound / between:.2g}% of" if bound < between else "not below"
    without = f"the spread of the values without the most extreme, {between:.2g}"
    compared = f"{message} The error bound, {bound:.2g}, is {share} {without}, so that"
    if by_state is not None and bound > max(min(LARGEST * between, LARGEST * typical), accepted):
        bounds, apart = by_state(), np.abs(value)
        scale = np.minimum(between, np.maximum(apart, typical))
        least, relative = max(accepted, SMALLEST, EXACT * usual()), relative if between > EQUAL * size else None
        far = apart > FAR * size
        own = np.where(far, CLOSE * apart, 0.0) if relative else CLOSE * apart
        allowed = np.maximum(np.maximum(LARGEST * scale, own), least)
        near = float(bounds[apart <= size].max())
        if (bounds <= allowed).all():
            found = f"The error bound, {bound:.2g}, is of large values; for half of them it is {near:.2g}."
            return outcome, f"{message} {found}" if near < 0.1 * bound else f"{compared} {DIFFER}: {cure}."
        if relative and (bounds <= allowed)[far].all():
            differ = float(relative()[~far].max())
            if differ <= max(LARGEST * between, least):
                found = f"all values may be off by the same {bound:.2g}, and their differences by {differ:.2g}."
                return outcome, f"{message} With beta near 1 {found}"
        worst = int(np.argmax(bounds - allowed))
        return Outcome.INEXACT, (
            f"{message} The error bound of a value of {value.flat[worst]:.3g} is {bounds.flat[worst]:.2g}, which says "
            f"too little about it: {cure}."
        )
    if bound <= max(LARGEST * between, CLOSE * size, accepted):
        return outcome, f"{compared} {DIFFER}: {cure}."
    return Outcome.INEXACT, f"{compared} it says too little about them: {cure}."


def concluded(
    certificate: Certificate,
    options: SolveOptions,
    outcome: Outcome,
    message: str,
    value: NDArray[np.float64],
    modulus: float,
    cure: str = "",
    accepted: float | None = None,
    unbounded: str = UNBOUNDED,
    by_state: bool = True,
) -> dict[str, Any]:
    """Return the fields of a result that say how good it is: its outcome as :func:`judged` by its certificate.

    With ``by_state`` bounds by state count. The defaults of ``cure`` and ``accepted`` follow from residual and ``tol``.
    """
    problem, bound = certificate.problem, certificate.error_bound
    if problem.horizon is None:
        cure = cure or lowers(certificate.residual, bound, modulus)
        accepted = promised(options, modulus) if accepted is None else accepted
    finite: Any = ... if isinstance(problem, Problem) else value > -np.inf
    if value[finite].size:
        outcome, message = judged(
            outcome,
            message,
            value[finite],
            bound,
            cure or RESCALE,
            accepted or 0.0,
            partial(usual_utility, problem),
            unbounded,
            (lambda: certificate.error_bound_by_state.reshape(value.shape)[finite]) if by_state else None,
            (lambda: certificate.differences(bound).reshape(value.shape)[finite])
            if by_state and problem.horizon is None and modulus < 1.0
            else None,
        )
    return {
        "success": outcome in (Outcome.CONVERGED, Outcome.FINISHED),
        "status": outcome.value,
        "message": message,
        "residual": certificate.residual,
        "error_bound": bound,
        "verified": certificate.verified,
    }


def noticeable(value: NDArray[np.float64], bound: float, usual: Callable[[], float]) -> bool:
    """Return whether an error bound is more than a small share of the spread of the values.

    Parameters are those of :func:`judged`.
    """
    # Almost always these two states decide, so that the others are not read.
    eighth = value.size // 8
    apart = abs(float(value.flat[eighth]) - float(value.flat[value.size - 1 - eighth]))
    if bound <= max(NOTICEABLE * apart, SMALLEST):
        return False
    return bound > EXACT * usual() and bound > NOTICEABLE * spread(value)


def lowers(residual: float, bound: float, modulus: float) -> str:
    """Return the cure of an error bound in double precision: a lower ``tol`` if it comes from the residual."""
    return LOWER if modulus < 1.0 and residual >= 0.5 * bound * (1.0 - modulus) else LIMITED


ENDED = (Outcome.CONVERGED, Outcome.INEXACT)
"""Outcomes of a solve that has met its tolerance."""

TIGHTENINGS, STEP = 4, 1e-3
"""Largest number of solves to a lower default tolerance, and the smallest share of the last one that it may be."""


def tightened(
    problem: Problem | DiscreteProblem, options: SolveOptions, solve: Callable[[SolveOptions], Solved]
) -> Solved:
    """Solve to the default tolerance or, if that leaves an error bound noticeable beside the values, to a lower one."""
    result, usual = solve(options), partial(usual_utility, problem)
    for _ in range(TIGHTENINGS if options.lowers_tol and problem.horizon is None else 0):
        bound, residual = result.error_bound, result.residual
        if result.status not in ENDED or not math.isfinite(bound):
            break
        modulus = problem.modulus if isinstance(problem, Problem) else problem.program.modulus
        if lowers(residual, bound, modulus) != LOWER or not noticeable(result.value, bound, usual):
            break
        share = max(STEP, 0.1 * NOTICEABLE * spread(result.value) / bound)
        options = replace(options, tol=min(options.tol, residual) * share)
        again = solve(options)
        if again.status not in ENDED or not again.error_bound < bound:
            break
        result = replace(again, timing=added(result.timing, again.timing))
    return result


def promised(options: SolveOptions, modulus: float) -> float:
    """Return the error bound to which the user's own ``tol`` leads, units of utility; 0 if the user gave none."""
    return 0.0 if options.lowers_tol or not modulus < 1.0 else 2.0 * options.tol / (1.0 - modulus)
