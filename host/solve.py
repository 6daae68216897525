"""From a problem to a result."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from host.checks import ProblemError, shown, whole
from host.devices import REFERENCES, Device, Progress, known, open_device, smallest_build
from host.driver import SWEEP_LIMIT_MAX, Run, run, timed
from host.formats import Image, fixed_point, modulus
from host.problem import Problem
from host.progress import StatusLine
from host.reference import solve_reference
from host.result import Outcome, Result
from host.verify import Verification, measure, trust
from hw.registers import Status


def solve(
    problem: Problem,
    tol: float = 1e-10,
    max_sweeps: int = 10_000,
    device: str | Device = "model",
    progress: Progress | Literal[False] | None = None,
    verify: bool = True,
    value_bits: int | None = None,
    money_bits: int | None = None,
    method: str | None = None,
    **options: Any,
) -> Result:
    """Solve ``problem`` by value function iteration, ``V_n = T V_(n-1)`` from ``V_0 = problem.start``.

    The iteration ends when ``max |V_n - V_(n-1)| < tol``; with ``problem.horizon`` it is one sweep an age and nothing
    else. The choice of a sweep is exact on the grid: the policy is that of a search over all ``x'``. That rests on the
    objective being single-peaked, which concave values guarantee; therefore the result is verified by a search that
    needs no concavity, and a maximum that was missed makes ``success`` false.

    Parameters
    ----------
    problem
    tol
        Largest change of ``V`` at which to stop, in utility; above 0, at least four units of value.
    max_sweeps
        Sweeps after which to stop in any case.
    device
        Name of a device (``host.devices.DEVICES``), or an open device, which is left open; or ``"cpu"`` or
        ``"gpu"``, the solvers in double precision.
    progress
        Called with a short line now and then. By default a line on standard error, if that is a terminal, after two
        seconds; ``False`` for silence.
    verify
        Whether to recompute the residual, which takes about one sweep of double precision.
    value_bits, money_bits
        Fraction bits, 0 to 52; by default as many as cannot overflow. Not for ``"cpu"`` and ``"gpu"``.
    method, **options
        For ``"cpu"`` and ``"gpu"``: one of ``gpu_ref.methods.METHODS``, by default ``"warm"``, and its options.
        ``tol`` is that of its stopping rule, and ``change`` of the result is what the rule measured.

    Raises
    ------
    ProblemError
        An argument is wrong or the problem does not fit; nothing was done.
    DeviceError
        The device cannot be opened or does not behave.
    KeyboardInterrupt
        After the device was stopped at the end of its sweep.
    """
    if not isinstance(problem, Problem):
        raise ProblemError(f"problem must be a Problem, not {shown(problem)}")
    max_sweeps = whole(
        "max_sweeps", max_sweeps, f"a whole number from 1 to {SWEEP_LIMIT_MAX}", lambda v: 1 <= v <= SWEEP_LIMIT_MAX
    )
    if not isinstance(verify, bool | np.bool_):
        raise ProblemError(f"verify must be True or False, not {shown(verify)}")
    if not (progress is None or progress is False or callable(progress)):
        raise ProblemError(f"progress must be a function of one string, None or False, not {shown(progress)}")
    if isinstance(device, str) and device in REFERENCES:
        if value_bits is not None or money_bits is not None:
            raise ProblemError(f"value_bits and money_bits are of fixed point, and device {device!r} has none")
        with _reporting(progress) as report:
            return solve_reference(problem, tol, max_sweeps, device, method or "warm", options, report, bool(verify))
    if method is not None or options:
        name = "method" if method is not None else next(iter(options))
        raise ProblemError(f"{name} can be chosen on the devices {' and '.join(map(repr, REFERENCES))} only")
    if not isinstance(device, Device):
        known(device)
        build = smallest_build(problem)
    image = fixed_point(problem, tol, value_bits, money_bits)
    timing: dict[str, float] = {}
    with _reporting(progress) as report:
        if isinstance(device, Device):
            return _solve_on(device, problem, image, float(tol), max_sweeps, report, bool(verify), timing)
        with timed(timing, "open"):
            opened = open_device(device, build, report)
        with contextlib.closing(opened):
            return _solve_on(opened, problem, image, float(tol), max_sweeps, report, bool(verify), timing)


@contextlib.contextmanager
def _reporting(progress: Progress | Literal[False] | None) -> Iterator[Progress | None]:
    if progress is None:
        with contextlib.closing(StatusLine()) as line:
            yield line
    else:
        yield progress or None


def _solve_on(
    device: Device,
    problem: Problem,
    image: Image,
    tol: float,
    max_sweeps: int,
    report: Progress | None,
    verifying: bool,
    timing: dict[str, float],
) -> Result:
    done = run(device, image, max_sweeps, problem.horizon, report)
    timing |= done.timing
    value = np.ldexp(done.value.astype(np.float64), -image.value_bits)
    policy = done.policy.astype(np.int32)
    if problem.horizon is not None:
        # Sweep t solves the age that t others follow.
        value, policy = np.ascontiguousarray(value[::-1]), np.ascontiguousarray(policy[::-1])
    change = math.ldexp(done.norm, -image.value_bits)
    if done.status & (Status.SATURATED | Status.INFEASIBLE):
        quality = Verification(math.inf, math.inf, False)
    elif verifying:
        if report:
            report("verifying with an exact sweep in double precision")
        with timed(timing, "verify"):
            quality = measure(problem, image, value, policy, change)
    else:
        quality = trust(problem, image, value, policy, change)
    outcome, message = _outcome(problem, image, tol, max_sweeps, done, change, quality)
    return Result(
        value=value,
        policy=policy,
        success=outcome in (Outcome.CONVERGED, Outcome.FINISHED),
        status=outcome.value,
        message=f"{message} {image.note}".strip(),
        sweeps=done.sweeps,
        change=change,
        residual=quality.residual,
        error_bound=quality.error_bound,
        verified=quality.independent,
        tol=tol,
        clocks=done.clocks,
        clocks_source=device.clocks_source,
        timing=timing,
        device=device.name,
        money_bits=image.money_bits,
        value_bits=image.value_bits,
        build_hash=done.build_hash,
        problem=problem,
    )


def _outcome(
    problem: Problem, image: Image, tol: float, max_sweeps: int, done: Run, change: float, quality: Verification
) -> tuple[Outcome, str]:
    after = f"after {done.sweeps:,} sweep{'' if done.sweeps == 1 else 's'}"
    if Status.SATURATED in done.status:
        cure = "use fewer value bits" if image.value_bits else "rescale the problem"
        return Outcome.SATURATED, f"A value left the range of the fixed-point format {after}; {cure}."
    if Status.INFEASIBLE in done.status:
        return Outcome.INFEASIBLE, f"A state could afford no choice of finite utility {after}."
    if quality.missed:
        return Outcome.NOT_VERIFIED, (
            f"The run ended {after}, but {quality.missed}: "
            f"the objective has more than one peak, which this engine cannot search, or the device erred."
        )
    if Status.STOPPED in done.status:
        return Outcome.STOPPED, f"The run was stopped {after}, with the last change of V at {change:.3g}."
    if problem.horizon is not None:
        if done.sweeps == problem.horizon:
            return Outcome.FINISHED, f"All {done.sweeps:,} age{' was' if done.sweeps == 1 else 's were'} solved."
        return Outcome.STOPPED, f"The run ended {after}, before the first of {problem.horizon:,} ages."
    if Status.CONVERGED in done.status and change < tol:
        return Outcome.CONVERGED, f"The largest change of V fell below {tol:g} {after}."
    more = math.ceil(math.log(tol / change) / math.log(modulus(problem))) + 1 if change >= tol else 1
    return Outcome.LIMIT, (
        f"The largest change of V is still {change:.3g} after the limit of {max_sweeps:,} "
        f"sweep{'' if max_sweeps == 1 else 's'}, not below {tol:g}; about {more:,} more are needed."
    )
