"""The function :func:`solve`, with which users solve problems and models."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, Literal, overload

from beltline.host.devices import REFERENCES, Device, Progress
from beltline.host.problem.checks import ProblemError, check_progress, shown, word
from beltline.host.problem.discrete import DiscreteProblem
from beltline.host.problem.problem import Problem
from beltline.host.problem.solvable import Solvable
from beltline.host.results.result import Result
from beltline.host.results.services import service
from beltline.host.solver.automatic import of_general_form, solve_automatic, solve_in_double
from beltline.host.solver.options import UNNAMED, checked_options, machine_method, taken
from beltline.host.solver.processor_session import ProcessorSession, named
from beltline.host.solver.session import Session, in_session
from beltline.host.solver.solve_discrete import DEVICE, check_discrete
from beltline.sim.ctrl_c import interruptible
from beltline.sim.progress import reporting


def _models_solve_themselves(function: Callable[..., Any]) -> Callable[..., Any]:
    """Pass a model to its own method ``solve``, with the arguments that the caller gave: a model has its own defaults.

    All other problems go to ``function``, whose result is refined with ``choices="continuous"``.
    """
    signature = inspect.signature(function)

    @interruptible
    @wraps(function)
    def solved(problem: Any, *arguments: Any, **more: Any) -> Any:
        if isinstance(problem, Problem | type) or not isinstance(problem, Solvable):
            if word("choices", more.pop("choices", "grid"), ("grid", "continuous")) == "grid":
                return function(problem, *arguments, **more)
            if isinstance(problem, DiscreteProblem):
                raise ProblemError("choices='continuous' needs a grid of amounts, and this problem is discrete")
            return service("Refined.of")(function(problem, *arguments, **more))
        given = signature.bind(problem, *arguments, **more).arguments
        check_progress(given.get("progress"))
        options = given.pop("options", {})
        return problem.solve(**{name: value for name, value in given.items() if name != "problem"}, **options)

    return solved


@overload
def solve(problem: Problem | DiscreteProblem, *arguments: Any, **more: Any) -> Result: ...
@overload
def solve(problem: Solvable, *arguments: Any, **more: Any) -> Any: ...


@_models_solve_themselves
def solve(
    problem: Problem,
    tol: float | None = None,
    max_sweeps: int = 10_000,
    device: str | Device | Session | ProcessorSession = UNNAMED,
    progress: Progress | Literal[False] | None = None,
    verify: bool = True,
    value_bits: int | None = None,
    amount_bits: int | None = None,
    timeout: float | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float | None = None,
    method: str | None = None,
    **options: Any,
) -> Any:
    """Solve a Bellman equation: compute its value function and optimal policy on the grid, with an error bound.

    By default Beltline chooses the fastest device and method that suit the problem, and another method if these fail;
    the printed result says which were used, and why. The policy is exact on the grid: in each state it is the best of
    all grid points ``x'``, not the result of interpolation or of a local search that might have missed it. After the
    solve, one exact sweep in double precision measures the residual and checks the choices; if it finds a better one,
    ``success`` is false.

    The accelerator iterates ``V_n = T V_(n-1)`` from ``V_0 = problem.start``, where ``T`` is the Bellman operator,
    until ``max |V_n - V_(n-1)| < tol``. With a finite horizon it makes one sweep for each age.

    Parameters
    ----------
    problem : Problem, DiscreteProblem or model
        A :class:`~beltline.host.problem.problem.Problem`, a
        :class:`~beltline.host.problem.discrete.DiscreteProblem`, or a model such as ``bl.rbc(...)``. A model with a
        method ``solve`` of its own is solved by it, with these arguments.
    tol : float, optional
        Solve until the largest change of the value function between two sweeps, in units of utility, is below this; at
        least four units of the accelerator's format. By default ``1e-10``, or less if utility is small (``default_tol``
        of :mod:`beltline.host.solver.tolerance`). Not used with a horizon.
    max_sweeps : int
        Largest number of sweeps (applications of the Bellman operator); the solve then ends without success.
    device : str, Session or Device
        ``"auto"``, the default: a board that is present and free, or else a GPU if the problem is large enough to gain
        from one, or else the processor. A problem of the general form goes to the processor. ``"cpu"`` and ``"gpu"``
        solve in double precision. Other names (``beltline devices`` lists them) are those of the accelerator:
        ``"emulator"`` emulates it in software, bit for bit; ``"rtl"`` simulates its gateware; the rest are boards. An
        open session or device may also be passed, and stays open.
    progress : function of str, or False, optional
        Called now and then with a line of text. By default a line appears on standard error after two seconds, if that
        is a terminal. ``False`` shows nothing.
    verify : bool
        Whether to measure the residual and check the choices after the solve, by about one exact sweep. With ``False``
        this is done only where the error has no bound otherwise.
    value_bits, amount_bits : int, optional
        Fraction bits of the accelerator's fixed-point format for values (0 to 52) and for amounts of the good (0 to
        90). By default as many as cannot overflow. Only for devices of the accelerator that are named.
    timeout : float, optional
        Seconds after which a run of a named device, or the verification of its ages, is stopped.
    checkpoint : path, optional
        File (``.npz``) to which the value function and the number of sweeps are saved regularly, on Ctrl-C, on SIGTERM
        and at ``max_sweeps``. If it exists, the solve continues from it and returns the same bits as without a break;
        ``max_sweeps`` includes the sweeps made before. It is deleted when the result has converged and is verified. If
        it cannot be written, the message says so. Only for named devices of the accelerator and an infinite horizon.
    checkpoint_every : float, optional
        Seconds between two savings; 30 by default.
    method : str, optional
        On ``"cpu"`` and ``"gpu"`` one of ``beltline.gpu_ref.methods.METHODS``, by default ``"auto"``,
        the fastest exact method that suits the problem, whether or not the device is named. ``tol`` applies to the
        stopping rule of the method, and ``change`` of the result is what that rule measured. On a sweep engine of the
        accelerator ``"shift"``, which extrapolates values between sweeps.
    choices : str
        ``"grid"`` (default), or ``"continuous"``: choices between grid points (:func:`beltline.refine`).
    **options
        On ``"cpu"`` and ``"gpu"`` ``start`` (``"given"``, ``"stay"`` or ``"coarse"``). On the accelerator those of the
        device, such as ``lanes=16`` (``beltline devices --options`` lists them), and with ``method="shift"`` also
        ``start`` (``"given"``, ``"last"``, ``"stay"`` or ``"coarse"``:
        :meth:`beltline.host.solver.session.Session.solve`).

        For a problem of the general form ``update``, which returns new prices after each sweep, or on the accelerator
        after ``update_every`` sweeps (10); on ``"cpu"`` and ``"gpu"`` ``steps``, policy evaluation steps (20).

    Returns
    -------
    Result
        With ``choices="continuous"`` a :class:`~beltline.Refined`; for a model what its own ``solve`` returns.
        ``success``: it converged and was verified; ``message``: why not.

    Raises
    ------
    ProblemError
        An argument is wrong, or the problem does not fit the device. Nothing was computed.
    DeviceError
        The device cannot be opened, or does not work as it should. A ``DeviceTimeoutError`` after ``timeout``.
    KeyboardInterrupt
        On Ctrl-C, after the device was stopped at the end of its sweep.

    Examples
    --------
    A stochastic growth model:

    >>> import beltline as bl
    >>> result = bl.solve(bl.rbc(grid=256), device="cpu")
    >>> result.success, result.value.shape, result.error_bound < 1e-8
    (True, (256, 4), True)
    """
    check_progress(progress)
    where = _device_for(problem, named(device), options)
    given = checked_options(
        tol, max_sweeps, verify, value_bits, amount_bits, timeout, checkpoint, checkpoint_every, method, where
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
    given, moving = replace(given, method=way, start=start), taken(options, "update", "update_every")
    with in_session(where, options, progress) as session:
        return session.solve_with(problem, given, progress, moving)


def _device_for(problem: Any, device: Any, options: dict[str, Any]) -> Any:
    """Return the device that a problem goes to if none is named, else ``device``."""
    if not (isinstance(device, str) and device == UNNAMED):
        return device
    if isinstance(problem, DiscreteProblem):
        return DEVICE
    general = isinstance(problem, Problem) and of_general_form(problem, options)
    return REFERENCES[0] if general else device
