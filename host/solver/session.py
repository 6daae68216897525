"""An open device that solves many problems, and moves only what changes between them."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

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
from beltline.host.problem.checks import ProblemError, check_progress, meant, shown
from beltline.host.problem.general import WORKAROUND, extras
from beltline.host.problem.problem import Problem
from beltline.host.solver.checkpoint import Checkpoint
from beltline.host.solver.complete import SPOILED, Completed
from beltline.host.solver.costs import check_form
from beltline.host.solver.driver import Driver
from beltline.host.solver.fallback import or_plain, plain
from beltline.host.solver.fixed_point import Image
from beltline.host.solver.options import MachineMethod, SolveOptions, Start, no_lanes
from beltline.host.solver.prepare import Prepared, from_last, image_of, needs_alternatives
from beltline.host.solver.run import Run, timed
from beltline.hw.interface.parameters import MachineParameters
from beltline.sim.progress import reporting


class Session:
    """A device, open for one problem after the other. Use it in a ``with`` statement, or :meth:`close` it.

    Tables and settings that the device holds already are not moved again: after a change of ``eta`` alone, with
    ``start="last"``, two or three registers are written and the run begins.

    The device opens with the first problem. One that is made to measure (``emulator``, ``rtl``) opens once more for a
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
        start: Start = "given",
        method: MachineMethod | None = None,
        progress: Progress | Literal[False] | None = None,
        verify: bool = True,
        value_bits: int | None = None,
        money_bits: int | None = None,
        timeout: float | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float | None = None,
    ) -> Any:
        """Solve ``problem`` as :func:`beltline.host.solver.solve.solve` does, on this device.

        Parameters
        ----------
        start
            ``"given"``, or ``"problem"``, which means the same: ``V_0`` is ``problem.start``. ``"last"``: it is the
            last solution of this session, which is still in the device, so that a problem near the last one takes few
            sweeps; the first one begins as usual. ``"stay"``, ``"coarse"``: those of
            :func:`beltline.host.solver.starts.start_value`; where a problem has no such start, it is ``"given"``.
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
        options = SolveOptions(
            tol, max_sweeps, verify, value_bits, money_bits, timeout, checkpoint, checkpoint_every, method, start
        )
        return self.solve_with(problem, options, progress)

    def solve_with(
        self, problem: Problem, options: SolveOptions, progress: Progress | Literal[False] | None = None
    ) -> Any:
        """Solve ``problem`` as :meth:`solve` does, with options that are checked already."""
        check_progress(progress)
        saving = options.saving()
        if saving is not None and isinstance(problem, Problem) and problem.horizon is not None:
            raise ProblemError("checkpoint must be None for a problem with a horizon, whose sweeps are few")
        work = self.prepare(problem, options)
        if options.start == "last" and self._last is not None:
            work = replace(work, image=from_last(work.image, *self._last))
        with reporting(self._progress if progress is None else progress) as report:
            result = self.run(work, report, saving).result(report)
            if not options.shift:
                return result
            return or_plain(result, lambda: self.run(self.prepare(problem, plain(options)), report).result(report))

    def prepare(self, problem: Problem, options: SolveOptions | None = None) -> Prepared:
        """Check the problem, and convert its tables to fixed point: the host's work before a run.

        It does not touch the device, which may be in a run meanwhile; so start ``"last"``, which is not known before
        that has ended, is here as ``"given"``.

        Raises
        ------
        ProblemError
            As of :meth:`solve`.
        """
        options = options or SolveOptions()
        if not isinstance(problem, Problem):
            raise ProblemError(f"problem must be a Problem, not {shown(problem)}")
        general = needs_alternatives(problem)
        if general:
            self._check_general(problem, options)
        else:
            check_form(problem)
        if options.method not in (None, "shift"):
            raise ProblemError(f"method of a machine must be 'shift' or None, not {shown(options.method)}")
        if self._closed:
            raise DeviceError("the session is closed")
        elastic = self._name is not None and DEVICES[self._name].elastic
        if problem.cost is not None and not general:
            self._check_cost(problem, options, elastic)
        build = smallest_build(problem, self._options.get("lanes")) if elastic else None
        if options.shift and build is not None and not build.features.shifts:
            raise no_lanes(self._name)
        proves = bool(self._options.get("proof"))
        return Prepared(problem, image_of(problem, options, any_start=proves), build, options)

    def _check_general(self, problem: Problem, options: SolveOptions) -> None:
        """Check that a problem with alternatives can be solved so, as far as is known before the device is open."""
        # Here, because it compiles.
        from beltline.host.solver.products import check_products

        check_products(problem)
        named = self._name is not None and DEVICES[self._name].elastic
        if named and not self._options.get("alternatives"):
            raise ProblemError(
                f"problem {problem.name!r} has {', '.join(extras(problem)) or 'negative consumption'}, which device "
                f"{self._name!r} takes with options lanes=, proof=1, costs=1 and alternatives=1 only: pass these, or "
                f"{WORKAROUND}"
            )
        if options.shift:
            raise ProblemError("method 'shift' takes problems without alternatives: leave method out")
        if options.start in ("stay", "coarse"):
            raise ProblemError(f"start of a problem with alternatives must be 'given' or 'last', not {options.start!r}")

    def _check_cost(self, problem: Problem, options: SolveOptions, elastic: bool) -> None:
        """Check that a problem with a cost can be solved so, as far as that is known before the device is open."""
        if elastic and not self._options.get("costs"):
            raise ProblemError(
                f"problem {problem.name!r} has a cost, which device {self._name!r} takes with options lanes=, proof=1 "
                f"and costs=1 only: pass these, or {WORKAROUND}"
            )
        if options.shift:
            raise ProblemError("method 'shift' takes problems without a cost: leave method out")
        if options.start in ("stay", "coarse"):
            raise ProblemError(f"start of a problem with a cost must be 'given' or 'last', not {options.start!r}")

    def run(self, work: Prepared, report: Progress | None = None, saving: Checkpoint | None = None) -> Completed:
        """Run what was prepared on the device; errors as of :meth:`solve`."""
        if self._closed:
            raise DeviceError("the session is closed")
        if not self._in_use.acquire(blocking=False):
            raise DeviceInUseError("another thread is solving on this session")
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
                peaks=not options.verify,
            )
            self._moved = run.moved
            usable = problem.horizon is None and run.sweeps and not run.status & SPOILED
            self._last = (work.image, run) if usable else None
            return Completed(work, run, timing | run.timing, driver.device.name, driver.device.clocks_source)
        finally:
            self._in_use.release()

    def _opened(self, build: MachineParameters | None, report: Progress | None) -> Driver:
        sizes = self._sizes
        if build is not None and sizes is not None:
            grid, states = max(build.grid, sizes.grid), max(build.states, sizes.states)
            horizons = build.features.ages
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
        name = next(iter(options))
        raise ProblemError(
            f"option {name!r} is for a device that is opened, not for an open one{meant(name, ARGUMENTS)}"
        )
