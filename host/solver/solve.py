"""From a problem to a result."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, Literal, overload

from beltline.host.devices import REFERENCES, Device, Progress
from beltline.host.problem.checks import ProblemError, check_progress, shown
from beltline.host.problem.discrete import DiscreteProblem
from beltline.host.problem.problem import Problem
from beltline.host.problem.solvable import Solvable
from beltline.host.results.discrete_result import DiscreteResult
from beltline.host.results.result import Result
from beltline.host.solver.automatic import solve_automatic, solve_in_double
from beltline.host.solver.options import UNNAMED, SolveOptions, machine_method
from beltline.host.solver.processor_session import ProcessorSession, named
from beltline.host.solver.session import Session, in_session
from beltline.host.solver.solve_discrete import DEVICE, check_discrete
from beltline.sim.progress import reporting


def _models_solve_themselves(function: Callable[..., Any]) -> Callable[..., Any]:
    """Hand the arguments that are given, and no others, to ``solve`` of a model: it has defaults of its own."""
    signature = inspect.signature(function)

    @wraps(function)
    def solved(problem: Any, *arguments: Any, **more: Any) -> Any:
        if isinstance(problem, Problem | type) or not isinstance(problem, Solvable):
            return function(problem, *arguments, **more)
        given = signature.bind(problem, *arguments, **more).arguments
        check_progress(given.get("progress"))
        options = given.pop("options", {})
        return problem.solve(**{name: value for name, value in given.items() if name != "problem"}, **options)

    return solved


@overload
def solve(problem: Problem, *arguments: Any, **more: Any) -> Result: ...
@overload
def solve(problem: DiscreteProblem, *arguments: Any, **more: Any) -> DiscreteResult: ...
@overload
def solve(problem: Solvable, *arguments: Any, **more: Any) -> Any: ...


@_models_solve_themselves
def solve(
    problem: Problem,
    tol: float = 1e-10,
    max_sweeps: int = 10_000,
    device: str | Device | Session | ProcessorSession = UNNAMED,
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
    """Solve ``problem``: find its value and policy, exact on the grid, with a bound on what is left.

    By default the fastest device and method that suit the problem are chosen; the report says which and why, and where
    they fail another method takes their place. A machine iterates ``V_n = T V_(n-1)`` from ``V_0 = problem.start``
    until ``max |V_n - V_(n-1)| < tol``; with ``problem.horizon`` it is one sweep an age and nothing else. The choice of
    a sweep is exact on the grid: the policy is that of a search over all ``x'``. The result is verified by a search
    that needs no concavity, and a maximum that was missed makes ``success`` false.

    Parameters
    ----------
    problem
        Or a model (:class:`~beltline.host.problem.solvable.Solvable`), whose own ``solve`` is called with those of
        these arguments that are given, and whose solution is returned. Or a
        :class:`~beltline.host.problem.discrete.DiscreteProblem`, which processors solve by policy iteration, and the
        result is a :class:`~beltline.host.results.discrete_result.DiscreteResult`.
    tol
        Largest change of ``V`` at which to stop, in utility; above 0, at least four units of value.
    max_sweeps
        Sweeps after which to stop in any case.
    device
        By default ``"auto"``: a board that is known to be there and is free, else a GPU where it pays, else the
        processor; for a problem of the general form the processor. ``"cpu"`` or ``"gpu"``: the solvers in double
        precision. Or the name of a machine (``beltline.host.devices.DEVICES``), such as ``"emulator"``, the bit-exact
        software model; or an open session or device, which is left open.
    progress
        Called with a short line now and then. By default a line on standard error, if that is a terminal, after two
        seconds; ``False`` for silence.
    verify
        Whether to recompute the residual, which takes about one sweep of double precision. For a problem of the general
        form also whether to prove every choice by a second search.
    value_bits, money_bits
        Fraction bits, 0 to 52 and 0 to 90; by default as many as cannot overflow. For machines that are named.
    timeout
        Seconds after which a run of the machine that has not ended is stopped, and, with a horizon, the verification of
        its ages. For machines that are named.
    checkpoint
        File (``.npz``) in which value and sweep count are saved every ``checkpoint_every`` seconds (30 by default), on
        Ctrl-C and at the sweep limit. If it is there, the solve begins where it left off, to the same bits;
        ``max_sweeps`` counts the sweeps of before. It is deleted when the solve has converged. For machines
        that are named.
    method, **options
        For ``"cpu"`` and ``"gpu"``: one of ``beltline.gpu_ref.methods.METHODS``, by default ``"warm"``, and its
        options, or ``"auto"``, the fastest exact one that suits the problem, which is also what device ``"auto"``
        takes. ``tol`` is that of its stopping rule, and ``change`` of the result is what the rule measured. For a
        machine, options of the device that is opened, as ``beltline devices`` lists them; with a sweep engine also
        method ``"shift"``, whose option is ``start`` (``"given"``, ``"last"``, ``"stay"`` or ``"coarse"``), as of
        :meth:`beltline.host.solver.session.Session.solve`.

        A problem of the general form is solved by ``"cpu"`` or ``"gpu"``, by exact sweeps that are proven, and the
        result is a :class:`~beltline.host.results.general_result.GeneralResult`. Its options are ``steps``, how often
        choices are held between two sweeps (20), and ``update``, a function for prices that move
        (:func:`beltline.gpu_ref.general.solve.solve`); on ``"gpu"`` that is a
        :class:`~beltline.gpu_ref.general.prices.BondPrices`.

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
    where: Any = named(device)
    if isinstance(where, str) and where == UNNAMED:
        if isinstance(problem, DiscreteProblem):
            where = DEVICE
        elif isinstance(problem, Problem) and problem.general:
            where = REFERENCES[0]
    given = SolveOptions(
        tol, max_sweeps, verify, value_bits, money_bits, timeout, checkpoint, checkpoint_every, method, device=where
    )
    if isinstance(problem, DiscreteProblem):
        check_discrete(given, where, options)
    if isinstance(where, str) and where in (UNNAMED, *REFERENCES):
        if not isinstance(problem, Problem | DiscreteProblem):
            raise ProblemError(f"problem must be a Problem, not {shown(problem)}")
        if where == UNNAMED:
            return solve_automatic(problem, given, options, progress)
        with reporting(progress) as report:
            return solve_in_double(problem, given, where, options, report)
    way, start = machine_method(where, method, options)
    with in_session(where, options, progress) as session:
        return session.solve_with(problem, replace(given, method=way, start=start), progress)
