"""The functions :func:`solve` and :func:`open_session`, and solves for which no device is named."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any, Literal, overload

from beltline.host.devices import REFERENCES, renamed
from beltline.host.devices.base import Device, DeviceError, Progress
from beltline.host.problem.checks import ProblemError, check_progress, shown, word
from beltline.host.problem.discrete import DiscreteProblem
from beltline.host.problem.problem import Problem
from beltline.host.problem.solvable import Solvable
from beltline.host.results.result import Result
from beltline.host.results.services import service
from beltline.host.solver.judgement import tightened
from beltline.host.solver.options import (
    MACHINE_ONLY,
    OF_GENERAL,
    UNNAMED,
    SolveOptions,
    Start,
    boards,
    check_names,
    check_unnamed,
    checked_options,
    machine_method,
    options_with,
    start_named,
    without_gpu,
)
from beltline.host.solver.reference import reference_module, solve_reference
from beltline.host.solver.session import Session, in_session
from beltline.host.solver.solve_general import DEVICES, check_discrete, solve_discrete, solve_general
from beltline.sim.ctrl_c import interruptible
from beltline.sim.progress import reporting


def solve_automatic(
    problem: Problem, options: SolveOptions, more: dict[str, Any], progress: Progress | Literal[False] | None
) -> Result:
    """Solve a problem of the simple form on the first device that succeeds, by the method that suits it."""
    check_unnamed(options.method, more)
    failures = []
    for name, where in boards() if options.method is None and not more else ():
        try:
            with Session(name, progress, **where) as session:
                result = session.solve_with(problem, options, progress)
            if result.success:
                return replace(result, chosen=f"{name}: chosen because the board is present and free")
            failures.append(f"{name} failed: {result.message}")
        except (DeviceError, ProblemError) as error:
            failures.append(f"{name} failed: {error}")
    with reporting(progress) as report:
        result = solve_in_double(problem, options, UNNAMED, more, report)
    return replace(result, chosen="; ".join([result.chosen, *(failures or ["no board is ready"])]))


def of_general_form(problem: Problem, more: Mapping[str, Any]) -> bool:
    """Return whether the solver of the general form is needed: prices that move make the cost ``x'`` another one."""
    return problem.general or any(more.get(name) is not None for name in OF_GENERAL)


def solve_in_double(
    problem: Problem | DiscreteProblem,
    options: SolveOptions,
    device: str,
    more: dict[str, Any],
    report: Progress | None,
) -> Any:
    """Solve a problem of any form in double precision on ``"cpu"`` or ``"gpu"``; ``"auto"`` chooses one of them."""

    def solve(options: SolveOptions) -> Any:
        if isinstance(problem, DiscreteProblem):
            return solve_discrete(problem, options, device, more, report)
        if of_general_form(problem, more):
            return solve_general(problem, options, "cpu" if device == UNNAMED else device, more, report)
        if device == UNNAMED:
            return _on_processors(problem, options, more, report)
        return solve_reference(problem, options, device, dict(more), report)

    options = options.of(problem)
    # With another tolerance prices would move on.
    return solve(options) if more.get("update") is not None else tightened(problem, options, solve)


def _on_processors(problem: Problem, options: SolveOptions, more: dict[str, Any], report: Progress | None) -> Result:
    """Solve on a GPU if it saves time and succeeds, or else on the processor."""
    why = without_gpu(problem)
    if not why:
        try:
            result = solve_reference(problem, options, "gpu", dict(more), report)
            if result.success:
                return _with_reason(result, f"a GPU saves time with {problem.points * problem.states:,} states")
            why = f"gpu failed: {result.message}"
        except (DeviceError, ProblemError) as error:
            why = f"gpu failed: {error}"
    return _with_reason(solve_reference(problem, options, "cpu", more, report), why)


def _with_reason(result: Result, why: str) -> Result:
    """Return ``result`` with the reason ``why`` for its device added to its field ``chosen``."""
    chosen = result.chosen or f"{result.device}, {result.method}: the method was named"
    return replace(result, chosen=f"{chosen}; {why}")


class ProcessorSession:
    """A session of the devices that solve in double precision, with the methods of :class:`beltline.Session`.

    It stores the last solution, from which ``start="last"`` begins.

    Parameters
    ----------
    name : str
        ``"cpu"``, ``"gpu"``, or ``"auto"``: for each problem the faster of the two.
    progress : function of str, or False, optional
        As in :func:`beltline.host.solver.solve.solve`; the default for all solves of the session.
    """

    moved: tuple[str, ...] = ()
    """Empty: no tables are transferred to a device of the accelerator."""

    device: None = None
    """None: there is no device of the accelerator."""

    def __init__(self, name: str = UNNAMED, progress: Progress | Literal[False] | None = None) -> None:
        check_progress(progress)
        self.name = name
        self._progress = progress
        self._last: Any = None
        self._closed = False

    def __enter__(self) -> ProcessorSession:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Discard the last solution. The session cannot be used afterwards; closing twice is fine."""
        self._closed, self._last = True, None

    @interruptible
    def solve(
        self,
        problem: Problem | DiscreteProblem,
        tol: float | None = None,
        max_sweeps: int = 10_000,
        *,
        start: Start = "given",
        method: str | None = None,
        progress: Progress | Literal[False] | None = None,
        verify: bool = True,
        **options: Any,
    ) -> Any:
        """Solve a problem. Parameters not listed here are those of :func:`beltline.solve`.

        Parameters
        ----------
        start : str
            The first guess of the value function. ``"given"``: the one that the method uses by default. ``"last"``: the
            last solution of this session, if it has the shape of this problem. Discrete problems, and problems of the
            general form or with a horizon, always begin as with ``"given"``. ``"stay"``, ``"coarse"``: the option
            ``start`` of the method.

        Raises
        ------
        ProblemError, DeviceError, KeyboardInterrupt
            As :func:`beltline.solve`.
        """
        if self._closed:
            raise DeviceError("the session is closed")
        check_progress(progress)
        if not isinstance(problem, Problem | DiscreteProblem):
            raise ProblemError(f"problem must be a Problem, not {shown(problem)}")
        start = start_named(start)
        if start in ("stay", "coarse"):
            options["start"] = start
        machine = {name: options.pop(name) for name in MACHINE_ONLY if name in options}
        given = options_with(tol, max_sweeps, verify, **machine, method=method, device=self.name)
        if self.name == UNNAMED and isinstance(problem, Problem) and not problem.general:
            check_unnamed(method, options)
        with reporting(self._progress if progress is None else progress) as report:
            result = None
            if start == "last" and not isinstance(problem, DiscreteProblem):
                result = self._from_last(problem, given, options, report)
            if result is None or not result.success:
                result = solve_in_double(problem, given, self.name, options, report)
        if result.success and not isinstance(problem, DiscreteProblem):
            self._last = result
        return result

    def _from_last(
        self, problem: Problem, given: SolveOptions, options: dict[str, Any], report: Progress | None
    ) -> Any:
        """Solve from the last solution; return None if that cannot be the first guess of this problem."""
        last = self._last
        if last is None or problem.general or last.problem.general or problem.horizon is not None:
            return None
        if last.problem.horizon is not None or last.value.shape != problem.start.shape:
            return None
        result = solve_in_double(replace(problem, start=last.value), given, self.name, options, report)
        return replace(result, problem=problem)


def open_session(
    device: str = UNNAMED, progress: Progress | Literal[False] | None = None, **options: Any
) -> Session | ProcessorSession:
    """Open a device to solve many problems with it, each optionally starting from the last solution.

    Parameters
    ----------
    device : str
        ``"auto"``, the default: the first board that is present and free; without a board, for each problem a GPU if
        the problem is large enough to gain from one, or else the processor. ``"cpu"`` or ``"gpu"``. Or the name of a
        device of the accelerator (``beltline devices`` lists them); a board is opened at once.
    progress : function of str, or False, optional
        As in :func:`beltline.solve`; the default for all solves of the session.
    **options
        Options of a device of the accelerator that is named.

    Returns
    -------
    Session or ProcessorSession
        For a ``with`` statement. Its ``solve`` takes a problem and the arguments of :func:`beltline.solve`, and
        ``start="last"``.

    Raises
    ------
    ProblemError
        There is no such device or option.
    DeviceError
        The device cannot be opened.

    Examples
    --------
    >>> import beltline as bl
    >>> with bl.open() as device:
    ...     results = [device.solve(bl.rbc(grid=64, eta=eta), start="last") for eta in (1.0, 1.5)]
    >>> all(result.success for result in results)
    True
    """
    if isinstance(device, str) and device in (UNNAMED, *REFERENCES):
        return _in_double(device, progress, options)
    session = Session(device, progress, **options)
    session.open()
    return session


def _in_double(
    device: str, progress: Progress | Literal[False] | None, options: dict[str, Any]
) -> Session | ProcessorSession:
    """Return a session of a board if ``device`` is ``"auto"`` and one is free, or else one in double precision."""
    check_progress(progress)
    if device == UNNAMED:
        check_unnamed(None, options)
    check_names(options, f"bl.open({device!r})", ())
    if device == "gpu":
        reference_module(device)
    for name, where in boards() if device == UNNAMED else ():
        session = Session(name, progress, **where)
        try:
            session.open()
        except DeviceError:
            continue
        return session
    return ProcessorSession(device, progress)


def named(device: str | Device | Session | ProcessorSession) -> Any:
    """Return ``device``, or the current name for a former one, or the name of a session in double precision."""
    return device.name if isinstance(device, ProcessorSession) else renamed(device)


def _models_solve_themselves(function: Callable[..., Any]) -> Callable[..., Any]:
    """Pass a model to its own method ``solve``, with the arguments that the caller gave: it has its own defaults."""
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
        if "choices" in more and "choices" not in inspect.signature(problem.solve).parameters:
            raise ProblemError(f"choices is for a Problem: a model of class {type(problem).__name__} has its own")
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
    all grid points ``x'``. After the solve, one exact sweep in double precision measures the residual and checks the
    choices; if it finds a better one, ``success`` is false.

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
        least four units of the accelerator's format. By default ``1e-10``, or less if utility is small. Not used with a
        horizon.
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
        File (``.npz``) to which the value function and the number of sweeps are saved regularly, on Ctrl-C, SIGTERM
        or SIGHUP and at ``max_sweeps``. If it exists, the solve continues from it to the same bits as without a break;
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
    given = replace(given, method=way, start=start)
    moving = {k: v for k in ("update", "update_every") if (v := options.pop(k, None)) is not None}
    with in_session(where, options, progress) as session:
        return session.solve_with(problem, given, progress, moving)


def _device_for(problem: Any, device: Any, options: dict[str, Any]) -> Any:
    """Return the device that a problem goes to if none is named, else ``device``."""
    if not (isinstance(device, str) and device == UNNAMED):
        return device
    if isinstance(problem, DiscreteProblem):
        return DEVICES[0]
    general = isinstance(problem, Problem) and of_general_form(problem, options)
    return REFERENCES[0] if general else device
