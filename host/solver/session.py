"""An open device that solves many problems, and moves only what changes between them."""

from __future__ import annotations

import contextlib
import math
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from beltline.host.devices import (
    DEVICES,
    REFERENCES,
    Device,
    DeviceError,
    DeviceInUseError,
    Progress,
    check_options,
    known,
    open_device,
    smallest_build,
)
from beltline.host.problem.checks import ProblemError, real, shown, whole
from beltline.host.problem.problem import Problem
from beltline.host.results.result import Outcome, Result
from beltline.host.solver.checkpoint import Checkpoint
from beltline.host.solver.driver import SWEEP_LIMIT_MAX, Driver, Run, timed
from beltline.host.solver.fixed_point import RANGE, Image, fixed_point, modulus
from beltline.host.solver.verify import UNBOUNDED, UNPROVEN, Verification, measure, peaked, trust
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Engine, Status
from beltline.sim.progress import check_progress, reporting


@dataclass(frozen=True, eq=False)
class Prepared:
    """A problem as it goes to a device: what :meth:`Session.prepare` returns, and :meth:`Session.run` takes.

    Parameters
    ----------
    problem
    image
        Its tables in fixed point.
    build
        Sizes of the machine to make, None where it is made already.
    tol, max_sweeps, verify, timeout
        As of :meth:`Session.solve`.
    shift
        Whether its method is ``"shift"``.
    """

    problem: Problem
    image: Image
    build: MachineParameters | None
    tol: float
    max_sweeps: int
    verify: bool
    timeout: float | None
    shift: bool = False


STARTS = ("problem", "stay", "coarse")
"""What a run of a machine can begin with, besides the last solution."""


def machine_method(
    device: object, method: object, options: dict[str, Any]
) -> tuple[Literal["shift"] | None, Literal["problem", "stay", "coarse"]]:
    """Return the method of a machine and its start, which is taken out of ``options``.

    Parameters
    ----------
    device
        Name, session or device.
    method
        ``"shift"`` or None.
    options
        With ``start``, of method ``"shift"`` only: ``"given"``, which is the problem's, ``"stay"`` or ``"coarse"``.

    Raises
    ------
    ProblemError
        No such method or start, or the device is made as an assembly line.
    """
    if method is None:
        return None, "problem"
    if method != "shift":
        raise ProblemError(f"method can be chosen on the devices {' and '.join(map(repr, REFERENCES))} only")
    if isinstance(device, str) and DEVICES[known(device)].elastic and "lanes" not in options:
        raise _no_lanes(device)
    start = options.pop("start", "given")
    wanted = {"given": "problem", "stay": "stay", "coarse": "coarse"}
    if not isinstance(start, str) or start not in wanted:
        raise ProblemError(f"start must be one of {', '.join(map(repr, wanted))}, not {shown(start)}")
    return "shift", cast(Any, wanted[start])


def _no_lanes(device: str | None) -> ProblemError:
    return ProblemError(f"method 'shift' is for sweep engines, and device {device!r} without lanes is none")


@dataclass(frozen=True, eq=False)
class Completed:
    """A run that has ended, and what reports say of its device."""

    work: Prepared
    run: Run
    timing: dict[str, float]
    device: str
    clocks_source: str

    def result(self, report: Progress | None = None) -> Result:
        """Return the result, verified if that was asked for: the host's work after a run, without the device."""
        return _result(self, report)


class Session:
    """A device, open for one problem after the other. Use it in a ``with`` statement, or :meth:`close` it.

    Tables and settings that the device holds already are not moved again: after a change of ``eta`` alone, with
    ``start="last"``, two or three registers are written and the run begins.

    The device opens with the first problem. One that is made to measure (``model``, ``rtl``) opens once more for a
    problem that is larger than any before.

    Parameters
    ----------
    device
        Name of a device (``beltline.host.devices.DEVICES``), or one that is open, which is left open.
    progress
        As of :func:`beltline.host.solver.solve.solve`.
    **options
        Of the device; ``beltline devices`` and ``DEVICES[name].options`` list them.

    Raises
    ------
    ProblemError
        No such device or option.
    DeviceError
        The device cannot be opened.
    """

    def __init__(
        self, device: str | Device = "model", progress: Progress | Literal[False] | None = None, **options: Any
    ) -> None:
        check_progress(progress)
        self._progress = progress
        self._options = options
        self._sizes: MachineParameters | None = None
        self._driver: Driver | None = None
        self._last: tuple[Image, Run] | None = None
        self._closed = False
        self._in_use = threading.Lock()
        self._opening: dict[str, float] = {}
        self._moved: tuple[str, ...] = ()
        self._name: str | None = None
        if not isinstance(device, str):
            if not isinstance(device, Device):
                known(device)
            no_options(options)
            self._driver = Driver(device)
            return
        self._name = device
        check_options(device, options)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def open(self) -> None:
        """Open a board now. What is made to measure waits for its first problem, if it can be made here.

        Raises
        ------
        DeviceError
            It cannot be opened.
        """
        if self._driver is not None or self._name is None:
            return
        if not DEVICES[self._name].elastic:
            with reporting(self._progress) as report:
                self._open(None, report)
        elif missing := DEVICES[self._name].missing():
            raise DeviceError(f"device {self._name!r} cannot be used here: {missing}")

    @property
    def device(self) -> Device | None:
        """The device itself, None where it is not open yet. Who writes to it must know what the session relies on."""
        return None if self._driver is None else self._driver.device

    @property
    def moved(self) -> tuple[str, ...]:
        """Names of the tables and registers that the last solve wrote; the device held the others already."""
        return self._moved

    def close(self) -> None:
        """Close the device, if this session opened it. Closing twice is no error."""
        self._closed = True
        if self._driver is not None and self._name is not None:
            self._driver.device.close()
        self._driver = None

    def solve(
        self,
        problem: Problem,
        tol: float = 1e-10,
        max_sweeps: int = 10_000,
        *,
        start: Literal["problem", "last", "stay", "coarse"] = "problem",
        method: Literal["shift"] | None = None,
        progress: Progress | Literal[False] | None = None,
        verify: bool = True,
        value_bits: int | None = None,
        money_bits: int | None = None,
        timeout: float | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float | None = None,
    ) -> Result:
        """Solve ``problem`` as :func:`beltline.host.solver.solve.solve` does, on this device.

        Parameters
        ----------
        start
            ``"problem"``: ``V_0`` is ``problem.start``. ``"last"``: it is the last solution of this session, which is
            still in the device, so that a problem near the last one takes few sweeps; the first one begins as usual.
            ``"stay"``, ``"coarse"``: those of :func:`beltline.host.solver.starts.start_value`; where a problem has no
            such start, it is ``"problem"``.
        method
            ``"shift"``, on a sweep engine: ``V`` is shifted between sweeps, for each exogenous state by how far all
            sweeps to come would move it. Takes fewer sweeps to the same ``tol``, to other bits.
        progress
            By default that of the session.

        Raises
        ------
        ProblemError, DeviceError, KeyboardInterrupt
            As :func:`beltline.host.solver.solve.solve`; and ``DeviceInUseError`` where another thread is solving on
            this session.
        """
        if start not in ("last", *STARTS):
            raise ProblemError(f"start must be 'problem', 'last', 'stay' or 'coarse', not {shown(start)}")
        if method not in (None, "shift"):
            raise ProblemError(f"method of a machine must be 'shift' or None, not {shown(method)}")
        check_progress(progress)
        if checkpoint is None and checkpoint_every is not None:
            raise ProblemError("checkpoint_every needs a checkpoint, the file to save to")
        every = {} if checkpoint_every is None else {"every": checkpoint_every}
        saving = None if checkpoint is None else Checkpoint(checkpoint, **every)
        if saving is not None and isinstance(problem, Problem) and problem.horizon is not None:
            raise ProblemError("checkpoint must be None for a problem with a horizon, whose sweeps are few")
        work = self.prepare(
            problem,
            tol,
            max_sweeps,
            verify=verify,
            value_bits=value_bits,
            money_bits=money_bits,
            timeout=timeout,
            start="problem" if start == "last" else start,
            method=method,
        )
        if start == "last" and self._last is not None:
            last, run = self._last
            work = replace(work, image=_from_last(work.image, last, run))
        with reporting(self._progress if progress is None else progress) as report:
            result = self.run(work, report, saving).result(report)
            if not work.shift or result.status not in (Outcome.SATURATED, Outcome.NOT_VERIFIED):
                return result
            # What shifts led astray, plain sweeps from the problem's own start may solve.
            work = self.prepare(
                problem, tol, max_sweeps, verify=verify, value_bits=value_bits, money_bits=money_bits, timeout=timeout
            )
            again = self.run(work, report).result(report)
        if not again.success:
            return result
        return replace(again, message=f"{again.message} Plain sweeps took the place of shifted ones: {result.message}")

    def prepare(
        self,
        problem: Problem,
        tol: float = 1e-10,
        max_sweeps: int = 10_000,
        *,
        verify: bool = True,
        value_bits: int | None = None,
        money_bits: int | None = None,
        timeout: float | None = None,
        start: Literal["problem", "stay", "coarse"] = "problem",
        method: Literal["shift"] | None = None,
    ) -> Prepared:
        """Check the arguments, and convert the tables to fixed point: the host's work before a run.

        It does not touch the device, which may be in a run meanwhile.

        Raises
        ------
        ProblemError
            As of :meth:`solve`.
        """
        if not isinstance(problem, Problem):
            raise ProblemError(f"problem must be a Problem, not {shown(problem)}")
        max_sweeps = sweep_limit(max_sweeps)
        if not isinstance(verify, bool | np.bool_):
            raise ProblemError(f"verify must be True or False, not {shown(verify)}")
        timeout = seconds_limit(timeout)
        if self._closed:
            raise DeviceError("the session is closed")
        elastic = self._name is not None and DEVICES[self._name].elastic
        build = smallest_build(problem, self._options.get("lanes")) if elastic else None
        if method == "shift" and build is not None and build.engine is not Engine.SWEEP:
            raise _no_lanes(self._name)
        image = fixed_point(problem, tol, value_bits, money_bits, shift=method == "shift")
        if start != "problem":
            image = _from_elsewhere(problem, image, start, float(tol))
        return Prepared(problem, image, build, float(tol), max_sweeps, bool(verify), timeout, method == "shift")

    def run(self, work: Prepared, report: Progress | None = None, saving: Checkpoint | None = None) -> Completed:
        """Run what was prepared on the device; errors as of :meth:`solve`."""
        if self._closed:
            raise DeviceError("the session is closed")
        if not self._in_use.acquire(blocking=False):
            raise DeviceInUseError("another thread is solving on this session")
        try:
            problem = work.problem
            driver = self._opened(work.build, report)
            timing, self._opening = self._opening, {}
            run = driver.run(
                work.image,
                work.max_sweeps,
                problem.horizon,
                report,
                work.timeout,
                saving,
                work.shift,
                peaks=not work.verify,
            )
            self._moved = run.moved
            usable = problem.horizon is None and run.sweeps and not run.status & _SPOILED
            self._last = (work.image, run) if usable else None
            return Completed(work, run, timing | run.timing, driver.device.name, driver.device.clocks_source)
        finally:
            self._in_use.release()

    def _opened(self, build: MachineParameters | None, report: Progress | None) -> Driver:
        sizes = self._sizes
        if build is not None and sizes is not None:
            grid, states = max(build.grid, sizes.grid), max(build.states, sizes.states)
            horizons = build.engine is Engine.ASSEMBLY_LINE
            results = max(build.results, sizes.results, grid * states) if horizons else 0
            build = replace(build, grid=grid, states=states, results=results)
        if self._driver is None or (build is not None and build != sizes):
            if self._driver is not None:
                self._driver.device.close()
                self._driver = None
            self._open(build, report)
        assert self._driver is not None
        return self._driver

    def _open(self, build: MachineParameters | None, report: Progress | None) -> None:
        assert self._name is not None
        with timed(self._opening, "open"):
            self._driver = Driver(open_device(self._name, build, report, **self._options))
        self._sizes = build


def open_session(device: str = "model", progress: Progress | Literal[False] | None = None, **options: Any) -> Session:
    """Open a device for many problems: ``with bl.open("rtl") as device: device.solve(...)``.

    Arguments, errors and result as of :class:`Session`. A board is opened at once.
    """
    session = Session(device, progress, **options)
    session.open()
    return session


@contextlib.contextmanager
def in_session(
    device: str | Device | Session, options: dict[str, Any], progress: Progress | Literal[False] | None = None
) -> Iterator[Session]:
    """``device`` where it is a session, which is left open, or else a :class:`Session` of it, closed at the end.

    Raises
    ------
    ProblemError, DeviceError
        As of :class:`Session`, and for options of a session that is given.
    """
    if isinstance(device, Session):
        no_options(options)
        yield device
    else:
        with Session(device, progress, **options) as session:
            yield session


def no_options(options: dict[str, Any]) -> None:
    """Check that there are none, for a device that is open already.

    Raises
    ------
    ProblemError
        There is one.
    """
    if options:
        raise ProblemError(f"option {next(iter(options))!r} is for a device that is opened, not for an open one")


_SPOILED = Status.SATURATED | Status.INFEASIBLE


def sweep_limit(max_sweeps: object) -> int:
    """Return ``max_sweeps`` if it is a limit that the register holds.

    Raises
    ------
    ProblemError
        It is not.
    """
    wanted = f"a whole number from 1 to {SWEEP_LIMIT_MAX}"
    return whole("max_sweeps", max_sweeps, wanted, lambda v: 1 <= v <= SWEEP_LIMIT_MAX)


def seconds_limit(timeout: object) -> float | None:
    """Return ``timeout`` if it is None or a number of seconds above 0.

    Raises
    ------
    ProblemError
        It is not.
    """
    if timeout is None:
        return None
    return real("timeout", timeout, "a number of seconds above 0, or None", lambda v: 0 < v < math.inf)


def _from_last(image: Image, last: Image, run: Run) -> Image:
    """``image`` with the last value as its start, in its own units."""
    if run.value.shape != image.start.shape:
        raise ProblemError(
            f"start = 'last' needs a problem of the last one's shape {run.value.shape}, not {image.start.shape}"
        )
    return replace(image, start=rescaled(run.value, image.value_bits - last.value_bits))


def _from_elsewhere(problem: Problem, image: Image, start: Literal["stay", "coarse"], tol: float) -> Image:
    """``image`` with another start than the problem's, where it has such a one."""
    # Here, because it compiles.
    from beltline.host.solver.starts import start_value

    value = start_value(problem, start, tol)
    if value is None:
        return image
    units = np.ldexp(value, image.value_bits)
    if not (np.abs(units) < RANGE).all():
        return image
    return replace(image, start=np.rint(units).astype(np.int64))


def rescaled(value: NDArray[np.int64], shift: int) -> NDArray[np.int64]:
    """``value`` with ``shift`` more fraction bits, fewer if that is negative, rounded to the nearest.

    Raises
    ------
    ProblemError
        It leaves the range.
    """
    if shift == 0:
        return value
    if shift < 0:
        half = np.int64(1) << np.int64(-shift - 1)
        return (value >> np.int64(-shift)) + ((value & ((half << np.int64(1)) - 1)) >= half)
    if np.abs(value.astype(np.float64)).max() * 2.0**shift >= RANGE:
        raise ProblemError(
            "the last value is out of the range of this problem's, so start = 'last' cannot be used: use 'problem'"
        )
    return value << np.int64(shift)


def _result(completed: Completed, report: Progress | None) -> Result:
    work, done, timing = completed.work, completed.run, completed.timing
    problem, image, tol, max_sweeps = work.problem, work.image, work.tol, work.max_sweeps
    value = np.ldexp(done.value.astype(np.float64), -image.value_bits)
    policy = done.policy.astype(np.int32)
    if problem.horizon is not None:
        # Sweep t solves the age that t others follow.
        value, policy = np.ascontiguousarray(value[::-1]), np.ascontiguousarray(policy[::-1])
    change = math.ldexp(done.norm, -image.value_bits)
    unproven = False
    if not work.verify and not done.status & _SPOILED:
        unproven = Status.PEAKS in done.status or not peaked(problem, image, done.value, done.norm)
    if done.status & _SPOILED or (unproven and done.engine is not Engine.SWEEP):
        quality = UNPROVEN
    elif work.verify or unproven:
        if report:
            report("verifying with an exact sweep in double precision")
        with timed(timing, "verify"):
            quality = measure(problem, image, value, policy, change)
    else:
        quality = trust(problem, image, value, policy, change)
    outcome, message = _outcome(problem, image, tol, max_sweeps, done, change, quality)
    if unproven and done.engine is not Engine.SWEEP:
        message += UNBOUNDED
    elif unproven:
        found = "has several peaks, as the engine found" if Status.PEAKS in done.status else "may have several peaks"
        message += (
            f" The objective {found}, where a sweep engine may settle on any of them, so the result was verified all "
            f"the same."
        )
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
        clocks_source=completed.clocks_source,
        timing=timing,
        device=completed.device,
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
            f"the objective has more than one peak, which this engine cannot search and device 'cpu' can, "
            f"or the device erred."
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
