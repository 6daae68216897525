"""The function ``bl.open``, and sessions of the devices that solve in double precision, ``"cpu"`` and ``"gpu"``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from beltline.host.devices import REFERENCES, renamed
from beltline.host.devices.base import Device, DeviceError, Progress
from beltline.host.problem.checks import ProblemError, check_progress, shown
from beltline.host.problem.discrete import DiscreteProblem
from beltline.host.problem.problem import Problem
from beltline.host.solver.automatic import solve_in_double
from beltline.host.solver.options import MACHINE_ONLY, UNNAMED, SolveOptions, Start, options_with, start_named
from beltline.host.solver.reference import reference_module
from beltline.host.solver.rules import boards, check_names, check_unnamed
from beltline.host.solver.session import Session
from beltline.sim.ctrl_c import interruptible
from beltline.sim.progress import reporting


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
