"""From a problem to a result."""

from __future__ import annotations

import os
from typing import Any, Literal, overload

import numpy as np

from beltline.host.devices import REFERENCES, Device, Progress
from beltline.host.models.base import Model
from beltline.host.problem.checks import ProblemError, shown
from beltline.host.problem.problem import Problem
from beltline.host.results.result import Result
from beltline.host.solver.reference import solve_reference
from beltline.host.solver.session import Session, in_session, machine_method, sweep_limit
from beltline.sim.progress import check_progress, reporting


@overload
def solve(problem: Problem, *arguments: Any, **more: Any) -> Result: ...
@overload
def solve(problem: Model, *arguments: Any, **more: Any) -> Any: ...


def solve(
    problem: Problem | Model,
    tol: float = 1e-10,
    max_sweeps: int = 10_000,
    device: str | Device | Session = "model",
    progress: Progress | Literal[False] | None = None,
    verify: bool = True,
    value_bits: int | None = None,
    money_bits: int | None = None,
    timeout: float | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float | None = None,
    method: str | None = None,
    **options: Any,
) -> Any:
    """Solve ``problem`` by value function iteration, ``V_n = T V_(n-1)`` from ``V_0 = problem.start``.

    The iteration ends when ``max |V_n - V_(n-1)| < tol``; with ``problem.horizon`` it is one sweep an age and nothing
    else. The choice of a sweep is exact on the grid: the policy is that of a search over all ``x'``. That rests on the
    objective being single-peaked, which concave values guarantee; therefore the result is verified by a search that
    needs no concavity, and a maximum that was missed makes ``success`` false.

    Parameters
    ----------
    problem
        Or a :class:`~beltline.host.models.base.Model`, whose own ``solve`` is called with these arguments and whose
        solution returned.
    tol
        Largest change of ``V`` at which to stop, in utility; above 0, at least four units of value.
    max_sweeps
        Sweeps after which to stop in any case.
    device
        Name of a device (``beltline.host.devices.DEVICES``), or an open :class:`~beltline.host.solver.session.Session`
        or device, which is left open; or ``"cpu"`` or ``"gpu"``, the solvers in double precision.
    progress
        Called with a short line now and then. By default a line on standard error, if that is a terminal, after two
        seconds; ``False`` for silence.
    verify
        Whether to recompute the residual, which takes about one sweep of double precision.
    value_bits, money_bits
        Fraction bits, 0 to 52 and 0 to 90; by default as many as cannot overflow. Not for ``"cpu"`` and ``"gpu"``.
    timeout
        Seconds after which a run of the machine that has not ended is stopped. Not for ``"cpu"`` and ``"gpu"``.
    checkpoint
        File (``.npz``) in which value and sweep count are saved every ``checkpoint_every`` seconds (30 by default), on
        Ctrl-C and at the sweep limit. If it is there, the solve begins where it left off, to the same bits;
        ``max_sweeps`` counts the sweeps of before. It is deleted when the solve has converged. Not for ``"cpu"`` and
        ``"gpu"``.
    method, **options
        For ``"cpu"`` and ``"gpu"``: one of ``beltline.gpu_ref.methods.METHODS``, by default ``"warm"``, and its
        options. ``tol`` is that of its stopping rule, and ``change`` of the result is what the rule measured. For a
        machine, options of the device that is opened, as ``beltline devices`` lists them; with a sweep engine also
        method ``"shift"``, whose option is ``start`` (``"given"``, ``"stay"`` or ``"coarse"``), as of
        :meth:`beltline.host.solver.session.Session.solve`.

    Raises
    ------
    ProblemError
        An argument is wrong or the problem does not fit; nothing was done.
    DeviceError
        The device cannot be opened or does not behave; ``DeviceTimeoutError`` after ``timeout``.
    KeyboardInterrupt
        After the device was stopped at the end of its sweep.
    """
    check_progress(progress)
    if isinstance(problem, Model):
        return problem.solve(
            tol=tol,
            max_sweeps=max_sweeps,
            device=device,
            progress=progress,
            verify=verify,
            value_bits=value_bits,
            money_bits=money_bits,
            timeout=timeout,
            checkpoint=checkpoint,
            checkpoint_every=checkpoint_every,
            method=method,
            **options,
        )
    if isinstance(device, str) and device in REFERENCES:
        for name, value in (
            ("value_bits", value_bits),
            ("money_bits", money_bits),
            ("timeout", timeout),
            ("checkpoint", checkpoint),
            ("checkpoint_every", checkpoint_every),
        ):
            if value is not None:
                raise ProblemError(f"{name} is for machines, and device {device!r} is none")
        if not isinstance(problem, Problem):
            raise ProblemError(f"problem must be a Problem, not {shown(problem)}")
        if not isinstance(verify, bool | np.bool_):
            raise ProblemError(f"verify must be True or False, not {shown(verify)}")
        max_sweeps = sweep_limit(max_sweeps)
        with reporting(progress) as report:
            return solve_reference(problem, tol, max_sweeps, device, method or "warm", options, report, bool(verify))
    way, start = machine_method(device, method, options)
    with in_session(device, options, progress) as session:
        return session.solve(
            problem,
            tol,
            max_sweeps,
            start=start,
            method=way,
            progress=progress,
            verify=verify,
            value_bits=value_bits,
            money_bits=money_bits,
            timeout=timeout,
            checkpoint=checkpoint,
            checkpoint_every=checkpoint_every,
        )
