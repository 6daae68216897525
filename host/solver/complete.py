"""The host's work after a run of the accelerator: verification, the result, and plain sweeps where others failed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.timing import timed
from beltline.host.devices.base import Progress
from beltline.host.problem.general import unused
from beltline.host.results.outcome import Outcome
from beltline.host.results.result import Result
from beltline.host.solver.fixed_point import SMALLEST_TOLERANCE
from beltline.host.solver.judgement import LOWER, judged, lowers, promised
from beltline.host.solver.options import SolveOptions, usual_utility
from beltline.host.solver.prepare import Prepared
from beltline.host.solver.run import Run
from beltline.host.solver.verify import (
    UNPROVEN,
    Verification,
    measure,
    peaked,
    rounding_of_choices,
    trust,
    with_best,
)
from beltline.hw.interface.registers import Status


def plain(options: SolveOptions) -> SolveOptions:
    """Return the options for plain sweeps of the accelerator from the problem's own ``start``."""
    return replace(options, method=None, start="given")


def failed(result: Result) -> bool:
    """Return whether a run failed in a way that extrapolation, or the values of another problem, can cause."""
    return result.status in (Outcome.SATURATED, Outcome.NOT_VERIFIED)


def or_plain(result: Result, again: Callable[[], Result], what: str = "shifted ones") -> Result:
    """Return the result of the accelerator or, if it :func:`failed`, that of plain sweeps if they succeed."""
    if not failed(result):
        return result
    other = again()
    if not other.success:
        return result
    return replace(other, message=f"{other.message} Plain sweeps replaced {what}, which had failed: {result.message}")


CURE = "use more fraction bits (amount_bits, value_bits), or measure amounts in other units"
"""What may lower the error bound of a result of the accelerator."""

INVALID = Status.SATURATED | Status.INFEASIBLE
"""Status flags of a run whose values cannot be used."""


@dataclass(frozen=True, eq=False)
class Completed:
    """A run that has ended, with the facts about the device that its result contains.

    Parameters
    ----------
    work, run
        The prepared problem, and what the device returned.
    timing
        Seconds of the parts so far.
    device, clocks_source
        Name of the device, and whether its clocks were counted by hardware, by simulation or by a model.
    """

    work: Prepared
    run: Run
    timing: dict[str, float]
    device: str
    clocks_source: str

    def result(self, report: Progress | None = None) -> Any:
        """Return the result, verified if the options ask for it. The device is not used."""
        return _result(self, report)


def _result(completed: Completed, report: Progress | None) -> Result:
    work, done, timing = completed.work, completed.run, completed.timing
    problem, image, options = work.problem, work.image, work.options
    if image.products is not None:
        return _of_products(completed, report)
    # Multiplication by a power of two is exact.
    value = np.multiply(done.value, image.value_unit, dtype=np.float64)
    policy = done.policy.astype(np.int32)
    if image.stands is not None:
        policy = image.stands[policy, np.arange(problem.states)].astype(np.int32)
    if problem.horizon is not None:
        # Sweeps go backwards in age: the first one solves the last age.
        value, policy = np.ascontiguousarray(value[::-1]), np.ascontiguousarray(policy[::-1])
    change = math.ldexp(done.norm, -image.value_bits)
    deadline = math.inf
    if problem.horizon is not None and options.timeout is not None:
        deadline = time.monotonic() + options.timeout - sum(done.timing.values())
    unproven = False
    proven = Status.PROVEN in done.status
    if not options.verify and not done.status & INVALID and not proven:
        costly = problem.cost is not None or Status.PEAKS in done.status
        unproven = costly or not peaked(problem, image, done.value, done.norm, deadline)
    if done.status & INVALID:
        quality = UNPROVEN
    elif options.verify or unproven:
        if report:
            report("verifying with an exact sweep in double precision")
        with timed(timing, "verify"):
            rounding = rounding_of_choices(problem, image, value, policy)
            quality = measure(problem, value, policy, change, rounding=rounding, deadline=deadline)
    else:
        quality = trust(problem, image, value, policy, change, proven)
    policy = policy if quality.policy is None else quality.policy
    outcome, message = _outcome(work, done, change, quality)
    outcome, message = _judged(work, outcome, message, value, quality)
    if unproven:
        found = "has several peaks" if Status.PEAKS in done.status else "may have several peaks"
        message += (
            f" The objective {found}, of which the engine may have found one that is not the highest, so the result "
            f"was verified although verify is False."
        )
    known = _known(completed, outcome, message, quality)
    return Result(value=value, policy=policy, change=change, **known)


def _known(completed: Completed, outcome: Outcome, message: str, quality: Verification) -> dict[str, Any]:
    """Return the fields that results of all forms have."""
    work, done = completed.work, completed.run
    return {
        "success": outcome in (Outcome.CONVERGED, Outcome.FINISHED),
        "status": outcome.value,
        "message": " ".join(filter(None, (message, work.image.note, unused(work.problem)))),
        "sweeps": done.sweeps,
        "residual": quality.residual,
        "error_bound": quality.error_bound,
        "verified": quality.independent,
        "tol": work.options.tol,
        "clocks": done.clocks,
        "clocks_source": completed.clocks_source,
        "timing": completed.timing,
        "device": completed.device,
        "amount_bits": work.image.amount_bits,
        "value_bits": work.image.value_bits,
        "build_hash": done.build_hash,
        "proven": Status.PROVEN in done.status,
        "problem": work.problem,
    }


def _of_products(completed: Completed, report: Progress | None) -> Result:
    """Return the result of a problem with alternatives, verified if the options ask for it or if it is not proven."""
    # Here, because it compiles.
    from beltline.host.solver.verify_products import found_of, measure_products, trust_products

    work, done = completed.work, completed.run
    problem, image, options = work.problem, work.image, work.options
    found = found_of(image, done.value, done.policy)
    if problem.horizon is not None:
        # Sweep t solves the age that t others follow.
        found = found._replace(**{name: np.ascontiguousarray(part[::-1]) for name, part in found._asdict().items()})
    change = math.ldexp(done.norm, -image.value_bits)
    # An age that was not reached has no value to measure.
    whole = problem.horizon is None or done.value.shape[0] == problem.horizon
    proven = Status.PROVEN in done.status
    message = ""
    if done.status & INVALID or not whole or not done.sweeps:
        quality = UNPROVEN
    elif proven and not options.verify:
        quality = trust_products(problem, image, found, change)
    else:
        if report:
            report("verifying by a second search")
        with timed(completed.timing, "verify"):
            quality = measure_products(problem, image, found, change)
        if not options.verify:
            message = (
                " The choices of the last sweep are not proven, so the result was verified although verify is False."
            )
    outcome, sentence = _outcome(work, done, change, quality)
    outcome, sentence = _judged(work, outcome, sentence, found.value, quality)
    return Result.of(
        tables=with_best(problem, found, quality),
        change=change,
        **_known(completed, outcome, sentence + message, quality),
    )


def _modulus(work: Prepared) -> float:
    products = work.image.products
    return work.problem.modulus if products is None else products.form.modulus()


def _judged(
    work: Prepared, outcome: Outcome, message: str, value: NDArray[np.float64], quality: Verification
) -> tuple[Outcome, str]:
    """Return outcome and message in the light of the error bound (:func:`beltline.host.solver.judgement.judged`)."""
    problem, options, bound = work.problem, work.options, quality.error_bound
    cure, accepted = CURE, 0.0
    # With a horizon there is no tolerance.
    if problem.horizon is None:
        modulus, lowest = _modulus(work), SMALLEST_TOLERANCE * work.image.value_unit
        accepted = promised(options, modulus)
        if options.tol > lowest and lowers(quality.residual, bound, modulus) == LOWER:
            cure = LOWER
    return judged(outcome, message, value, bound, cure, accepted, partial(usual_utility, problem))


def _outcome(work: Prepared, done: Run, change: float, quality: Verification) -> tuple[Outcome, str]:
    problem, image, tol, max_sweeps = work.problem, work.image, work.options.tol, work.options.max_sweeps
    after = f"after {done.sweeps:,} sweep{'' if done.sweeps == 1 else 's'}"
    if Status.SATURATED in done.status:
        cure = "use fewer value bits" if image.value_bits else "rescale the problem"
        return Outcome.SATURATED, f"A value left the range of the fixed-point format {after}; {cure}."
    if Status.INFEASIBLE in done.status:
        return Outcome.INFEASIBLE, f"No affordable choice of some state had a finite utility {after}."
    if quality.missed and image.products is not None:
        return Outcome.NOT_VERIFIED, f"The run ended {after}, but {quality.missed}."
    if quality.missed:
        return Outcome.NOT_VERIFIED, (
            f"The run ended {after}, but {quality.missed}: either the objective has several peaks, which device 'cpu' "
            f"can search and this engine cannot, or the device made an error."
        )
    if Status.STOPPED in done.status:
        return Outcome.STOPPED, f"The run was stopped {after}, with the last change of V at {change:.3g}."
    if problem.horizon is not None:
        if done.sweeps == problem.horizon:
            return Outcome.FINISHED, f"All {done.sweeps:,} age{' was' if done.sweeps == 1 else 's were'} solved."
        return Outcome.STOPPED, f"The run ended {after}, before the first of {problem.horizon:,} ages."
    if Status.CONVERGED in done.status and change < tol:
        return Outcome.CONVERGED, f"The largest change of V fell below {tol:g} {after}."
    factor = _modulus(work)
    more = math.ceil(math.log(tol / change) / math.log(factor)) + 1 if change >= tol and factor > 0 else 1
    limit = f"the limit of {max_sweeps:,} sweep{'' if max_sweeps == 1 else 's'}"
    if done.sweeps > max_sweeps:
        limit = f"{done.sweeps:,} sweeps, with those of the checkpoint, which is over {limit}"
    return Outcome.LIMIT, (
        f"The largest change of V is still {change:.3g} after {limit}, not below {tol:g}; about {more:,} more are "
        f"needed: increase max_sweeps."
    )
