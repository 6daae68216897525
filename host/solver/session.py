"""Sessions: a device of the accelerator that stays open for many problems, and receives only tables that changed."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Literal

from beltline.gpu_ref.memory import check_memory
from beltline.gpu_ref.timing import timed
from beltline.host.devices import (
    ARGUMENTS,
    DEVICES,
    Device,
    DeviceError,
    DeviceInUseError,
    Progress,
    check_options,
    known,
    open_device,
    smallest_build,
)
from beltline.host.problem.checks import (
    ProblemError,
    check_former_names,
    check_progress,
    shown,
    suggestion,
    whole,
)
from beltline.host.problem.general import WORKAROUND, extras
from beltline.host.problem.memory import memory_as_problem_error
from beltline.host.problem.problem import Problem
from beltline.host.solver.complete import INVALID, Completed, or_plain, plain
from beltline.host.solver.driver import Driver
from beltline.host.solver.fixed_point import SMALLEST_TOLERANCE, Image
from beltline.host.solver.options import LEAST_TOL, MachineMethod, SolveOptions, Start, no_lanes, options_with
from beltline.host.solver.prepare import Prepared, from_last, image_of, needs_alternatives
from beltline.host.solver.run import Checkpoint, Run
from beltline.hw.interface.parameters import MachineParameters
from beltline.sim.ctrl_c import interruptible
from beltline.sim.progress import reporting


class Session:
    """A device of the accelerator that stays open to solve several problems, faster than one by one.

    Tables and settings that are on the device already are not transferred again. If only ``eta`` differs from the last
    problem and ``start="last"`` is given, two or three registers are written before the run begins.

    Use a session in a ``with`` statement, or call :meth:`close`. The device is opened by the first problem. The devices
    ``"emulator"`` and ``"rtl"``, which are built for the size of a problem, are opened again for a problem that is
    larger than all before. A session is for one thread at a time.

    Parameters
    ----------
    device : str or Device
        Name of a device (``beltline devices`` lists them), or an open device, which is not closed with the session.
    progress : function of str, or False, optional
        As in :func:`beltline.host.solver.solve.solve`; the default for all solves of the session.
    **options
        Options of the device; ``beltline devices --options`` lists them.

    Raises
    ------
    ProblemError
        There is no such device or option.

    Examples
    --------
    >>> import beltline as bl
    >>> with bl.Session("emulator") as session:
    ...     results = [session.solve(bl.rbc(grid=64, eta=eta), start="last") for eta in (1.0, 1.5)]
    >>> [result.success for result in results]
    [True, True]
    """

    def __init__(
        self, device: str | Device = "emulator", progress: Progress | Literal[False] | None = None, **options: Any
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
        check_options(device, options)
        self._name = known(device)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def open(self) -> None:
        """Open the device now instead of with the first problem.

        Of a device that is built for the size of a problem (``"emulator"``, ``"rtl"``) this only checks that it can be
        used on this computer.

        Raises
        ------
        DeviceError
            The device cannot be opened or used.
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
        """The open device, or None before it is opened."""
        return None if self._driver is None else self._driver.device

    @property
    def moved(self) -> tuple[str, ...]:
        """Names of the tables and registers that the last solve transferred; all others were on the device already."""
        return self._moved

    def close(self) -> None:
        """Close the device if this session opened it. The session cannot be used afterwards; closing twice is fine."""
        self._closed = True
        if self._driver is not None and self._name is not None:
            self._driver.device.close()
        self._driver = None

    def solve(
        self,
        problem: Problem,
        tol: float | None = None,
        max_sweeps: int = 10_000,
        *,
        start: Start = "given",
        method: MachineMethod | None = None,
        progress: Progress | Literal[False] | None = None,
        verify: bool = True,
        value_bits: int | None = None,
        amount_bits: int | None = None,
        timeout: float | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float | None = None,
        update: Any = None,
        update_every: int | None = None,
        **options: object,
    ) -> Any:
        """Solve a problem on this device. Parameters not listed here are those of :func:`beltline.solve`.

        Parameters
        ----------
        start : str
            The first guess of the value function. ``"given"`` or ``"problem"``: ``problem.start``. ``"last"``: the last
            solution of this session, which is still on the device, so that a problem similar to the last one takes few
            sweeps; the first problem starts from its own ``start``, and so does one with a horizon. ``"stay"``: the
            value of staying at ``x`` for ever. ``"coarse"``: a solution on a coarse grid, interpolated
            (:func:`beltline.host.solver.prepare.start_value`). Where a problem does not have one of the latter two,
            ``problem.start`` is used.
        method : str, optional
            ``"shift"``, on a sweep engine: after each sweep the values of each exogenous state are moved by the change
            that all further sweeps would make if it were the same at every ``x`` (extrapolation). This takes fewer
            sweeps to the same ``tol``; the result differs in its last bits from that of plain sweeps.
        progress : function of str, or False, optional
            By default that of the session.
        update : function, optional
            For a problem of the general form: returns new prices after each run of ``update_every`` sweeps (10 by
            default), as on device ``"cpu"`` after each sweep (:mod:`beltline.gpu_ref.general.prices`). Only tables that
            change are transferred.
        **options
            None are accepted: options of a device are set when it is opened.

        Returns
        -------
        Result

        Raises
        ------
        ProblemError, DeviceError, KeyboardInterrupt
            As :func:`beltline.solve`; also ``DeviceInUseError`` while another thread solves on this session.
        """
        no_options(options)
        given = options_with(
            tol, max_sweeps, verify, value_bits, amount_bits, timeout, checkpoint, checkpoint_every, method, start
        )
        moving = {"update": update, "update_every": update_every}
        return self.solve_with(problem, given, progress, {k: v for k, v in moving.items() if v is not None})

    @interruptible
    def solve_with(
        self,
        problem: Problem,
        options: SolveOptions,
        progress: Progress | Literal[False] | None = None,
        moving: Mapping[str, Any] = MappingProxyType({}),
    ) -> Any:
        """Solve ``problem`` as :meth:`solve` does, with options that were checked before."""
        check_progress(progress)
        if moving:
            return self._solve_moving(problem, options, progress, moving)
        saving = options.saving()
        if saving is not None and isinstance(problem, Problem) and problem.horizon is not None:
            raise ProblemError("checkpoint must be None for a problem with a horizon, which takes few sweeps")
        work = self.prepare(problem, options)
        if options.start == "last" and self._last is not None and problem.horizon is None:
            work = replace(work, image=from_last(work.image, *self._last))
        with reporting(self._progress if progress is None else progress) as report:
            completed = self.run(work, report, saving)
            result = completed.result(report)
            if saving is not None and (failed := saving.end(completed.run.converged)):
                result = replace(result, message=f"{result.message} {failed}")
            if not options.shift:
                return result
            return or_plain(result, lambda: self.run(self.prepare(problem, plain(options)), report).result(report))

    def _solve_moving(
        self,
        problem: Problem,
        options: SolveOptions,
        progress: Progress | Literal[False] | None,
        moving: Mapping[str, Any],
    ) -> Any:
        """Solve a problem whose prices depend on its solution."""
        # Here, because they compile.
        from beltline.host.solver.moving_prices import (
            UPDATE_EVERY,
            solve_moving,
        )
        from beltline.host.solver.solve_general import check_update

        if not isinstance(problem, Problem):
            raise ProblemError(f"problem must be a Problem, not {shown(problem)}")
        if "update" not in moving:
            raise ProblemError("update_every needs update, the function that returns new prices")
        check_update(problem, moving["update"])
        if options.checkpoint is not None or options.start != "given":
            name = "checkpoint" if options.checkpoint is not None else "start"
            raise ProblemError(f"{name} is not supported while prices move: leave it out")
        given = moving.get("update_every")
        if given is not None:
            given = whole("update_every", given, "a whole number from 1", lambda n: n > 0)
        work = self.prepare(problem, options, moving=True)
        every = UPDATE_EVERY if given is None else given
        with reporting(self._progress if progress is None else progress) as report:
            return solve_moving(work, self.run, moving["update"], every, report)

    def prepare(self, problem: Problem, options: SolveOptions | None = None, moving: bool = False) -> Prepared:
        """Check a problem and convert its tables to fixed point: the host's work before a run."""
        options = options or SolveOptions()
        if not isinstance(problem, Problem):
            raise ProblemError(f"problem must be a Problem, not {shown(problem)}")
        options = options.of(problem, LEAST_TOL)
        if moving or problem.general:
            self._check_general(problem, options, moving or needs_alternatives(problem))
        if options.method not in (None, "shift"):
            raise ProblemError(
                f"method must be 'shift' or None on a device of the accelerator, not {shown(options.method)}"
            )
        if self._closed:
            raise DeviceError("the session is closed")
        elastic = self._name is not None and DEVICES[self._name].elastic
        lanes, general = self._options.get("lanes"), bool(self._options.get("general"))
        build = smallest_build(problem, lanes, _product_count(problem), general) if elastic else None
        if options.shift and build is not None and not build.is_sweep:
            raise no_lanes(self._name)
        image = image_of(problem, options, any_start=lanes is not None, general=moving)
        if options.lowers_tol:
            options = replace(options, tol=max(options.tol, SMALLEST_TOLERANCE * image.value_unit))
        return Prepared(problem, image, build, options)

    def _check_general(self, problem: Problem, options: SolveOptions, alternatives: bool) -> None:
        """Check options for a problem of the general form, as far as that is possible before the device is open."""
        # Here, because it compiles.
        from beltline.host.solver.products import check_products

        check_products(problem)
        kind = "alternatives" if alternatives else "discount factors by state or tables by age"
        has = ", ".join(extras(problem))
        if has == "cost":
            has = kind = "a cost"
        if self._name is not None and DEVICES[self._name].elastic and not self._options.get("general"):
            raise ProblemError(
                f"problem {problem.name!r} has {has}, which device {self._name!r} supports only with the options "
                f"lanes= and general=1: pass these, or {WORKAROUND}"
            )
        if options.shift:
            raise ProblemError(f"method 'shift' does not support problems with {kind}: leave method out")
        if options.start in ("stay", "coarse"):
            raise ProblemError(f"start of a problem with {kind} must be 'given' or 'last', not {options.start!r}")

    def run(
        self,
        work: Prepared,
        report: Progress | None = None,
        saving: Checkpoint | None = None,
    ) -> Completed:
        """Run a prepared problem on the device; errors as of :meth:`solve`."""
        if self._closed:
            raise DeviceError("the session is closed")
        _check_fits(work)
        if not self._in_use.acquire(blocking=False):
            raise DeviceInUseError(
                "this session is solving another problem, in another thread or in a loop over solve_many"
            )
        try:
            problem, options = work.problem, work.options
            driver = self._opened(work.build, report)
            timing, self._opening = self._opening, {}
            run = driver.run(
                work.image,
                options.max_sweeps,
                problem.horizon,
                report,
                options.timeout,
                saving,
                options.shift,
            )
            self._moved = run.moved
            usable = problem.horizon is None and run.sweeps and not run.status & INVALID
            self._last = (work.image, run) if usable else None
            return Completed(work, run, timing | run.timing, driver.device.name, driver.device.clocks_source)
        finally:
            self._in_use.release()

    def _opened(self, build: MachineParameters | None, report: Progress | None) -> Driver:
        sizes = self._sizes
        if build is not None and sizes is not None:
            grid, states = max(build.grid, sizes.grid), max(build.states, sizes.states)
            results = 0 if build.is_sweep else max(build.results, sizes.results, grid * states)
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


def _product_count(problem: Problem) -> int:
    """Return how many states of the accelerator an exogenous state of a problem takes: one for each distinct
    alternative.
    """
    if not problem.alternatives:
        return 1
    # Here, because it compiles.
    from beltline.host.solver.products import arrangement_of

    return arrangement_of(problem).count


@contextlib.contextmanager
def in_session(
    device: str | Device | Session, options: dict[str, Any], progress: Progress | Literal[False] | None = None
) -> Iterator[Session]:
    """Provide ``device`` itself if it is a session, or else a new :class:`Session` that the block closes."""
    if isinstance(device, Session):
        no_options(options)
        yield device
    else:
        with Session(device, progress, **options) as session:
            yield session


def no_options(options: dict[str, Any]) -> None:
    """Check that no options are given for a device that is open already."""
    if options:
        check_former_names(options)
        name = next(iter(options))
        raise ProblemError(
            f"option {name!r} can be set only when a device is opened, and this one is open"
            f"{suggestion(name, ARGUMENTS)}"
        )


def _check_fits(work: Prepared) -> None:
    """Check that the values and choices of all ages, which are read from the device, fit into the memory."""
    ages = work.problem.horizon
    if ages is None:
        return
    points, states = work.image.start.shape
    with memory_as_problem_error():
        check_memory(16 * ages * points * states, f"a run of {ages:,} ages of {points:,} x {states} states")
