"""Runs fixed-point images on a device. The only code that knows what to write where."""

from __future__ import annotations

import enum
import math
import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from beltline.host.devices.base import (
    Device,
    DeviceError,
    DeviceLostError,
    DeviceTimeoutError,
    Progress,
    built_sizes,
    check_fits,
    check_identity,
    expected,
    read_steady,
)
from beltline.host.problem.checks import ProblemError
from beltline.host.problem.general import WORKAROUND
from beltline.host.solver import waiting
from beltline.host.solver.checked import Asked, CheckedTables, Load, Report, configure
from beltline.host.solver.checkpoint import Checkpoint, Saved
from beltline.host.solver.fixed_point import PADDING, Image
from beltline.host.solver.run import Run, continued, of_ages, timed
from beltline.host.solver.shifts import shift_weights
from beltline.hw.interface.groups import Groups
from beltline.hw.interface.layout import Layout, Words
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Command, Mode, Status, Table

SWEEP_LIMIT_MAX = 2**32 - 1
"""Largest sweep limit: the register's width."""


UNKNOWN = -1
"""Build hash of a device that was not asked yet."""

RESETS = 2
"""How often the report of the last run is cleared before the device is given up."""


class _Ended(enum.Enum):
    """Why waiting for a run ended."""

    ITSELF = enum.auto()
    STOPPED = enum.auto()
    INTERRUPTED = enum.auto()


def _interrupted(checkpoint: Checkpoint | None, saved: Saved | None) -> KeyboardInterrupt:
    """Ctrl-C, with what was saved before."""
    if checkpoint is None or saved is None or not checkpoint.path.exists():
        return KeyboardInterrupt()
    return KeyboardInterrupt(
        f"checkpoint {str(checkpoint.path)!r} holds the {saved.sweeps:,} sweeps so far, and the same call resumes there"
    )


class Driver:
    """Runs images on one device, and moves only what the device does not hold already.

    Nobody else may write to the device meanwhile. What an error or Ctrl-C interrupts is moved anew the next time.

    Parameters
    ----------
    device
        Open, and left open.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self._tables = CheckedTables(device)
        self._settings: dict[str, int] = {}
        self._moved: list[str] = []
        self._build = MachineParameters()
        self._build_hash = UNKNOWN
        self._weights: NDArray[np.uint64] | None = None
        self._seeks = False

    def run(
        self,
        image: Image,
        sweep_limit: int,
        horizon: int | None = None,
        progress: Progress | None = None,
        timeout: float | None = None,
        checkpoint: Checkpoint | None = None,
        shift: bool = False,
        peaks: bool = False,
    ) -> Run:
        """Load ``image``, run it to the end, and read the results back.

        Parameters
        ----------
        image
        sweep_limit
            Sweeps after which the run ends, 1 to ``SWEEP_LIMIT_MAX``; those of a checkpoint count.
        horizon
            Number of ages; each sweep is then kept, and ``sweep_limit`` is not looked at.
        progress
        timeout
            Seconds after which a run that has not ended is stopped.
        checkpoint
            Where to begin, if it is there, and to save value and sweeps now and then, on Ctrl-C, and after a run that
            did not converge. Not with a horizon.
        shift
            Whether a sweep engine shifts ``V`` between its sweeps. Not with a horizon or a checkpoint.
        peaks
            Whether a sweep engine seeks other peaks behind its last sweep: ``PEAKS`` of the run's status. Other engines
            search where more peaks are no matter.

        Raises
        ------
        DeviceError, ProblemError
            The device answers with another identity or another version of the register map, its engine is unknown, or
            the problem is larger than the build. And ``DeviceError`` where the device refuses its configuration or
            returns a policy that is no index of the grid; of its kinds, ``DeviceTimeoutError`` after ``timeout``, or
            where the device is stuck in a run, which is then still under way, and ``DeviceLostError`` where it does not
            answer any more.
        ProblemError
            The checkpoint belongs to another problem, or there is no shift on this device or for this problem.
        KeyboardInterrupt
            Passed on once the device has stopped at the end of its sweep.
        """
        if horizon is not None and checkpoint is not None:
            raise ProblemError("checkpoint must be None for a problem with a horizon, whose sweeps are few")
        if shift and (horizon is not None or checkpoint is not None):
            raise ProblemError("method 'shift' is for problems without a horizon, and for solves without a checkpoint")
        self._moved = []
        self._check_device(image, horizon)
        if shift and not self._build.features.shifts:
            kind = "sweep engines without alternatives" if self._build.features.alternatives else "sweep engines"
            raise ProblemError(f"method 'shift' is for {kind}, and device {self.device.name!r} is none")
        self._weights = shift_weights(image.transition) if shift else None
        self._seeks = peaks and self._build.features.peaks
        before = checkpoint.load(image) if checkpoint is not None else None
        if before is not None and (before.sweeps >= sweep_limit or before.norm < image.epsilon):
            return self._from_checkpoint(before, image, checkpoint)
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        timing: dict[str, float] = {}
        self._make_idle()
        if horizon is not None and not self._build.features.ages:
            return self._run_ages(image, horizon, progress, timeout, deadline, timing)
        while True:
            start = image if before is None else replace(image, start=before.value)
            done = 0 if before is None else before.sweeps
            pause = math.inf if checkpoint is None else time.monotonic() + checkpoint.every
            limit = horizon if horizon is not None else sweep_limit - done
            with timed(timing, "load"):
                self._load(start, limit, horizon is not None)
            with timed(timing, "solve"):
                end = self._solve(image, done, limit, progress, deadline, pause)
            run = self._results(image, limit, horizon, timing)
            if end is _Ended.ITSELF and Status.STOPPED in run.status and not run.sweeps:
                raise DeviceError(f"device {self.device.name!r} was stopped before its first sweep")
            if before is not None:
                run = continued(before, run, self._begin_clocks(image))
            if checkpoint is not None:
                settled = Status.CONVERGED in run.status or run.status & (Status.SATURATED | Status.INFEASIBLE)
                # Whoever interrupts does not see the result, converged or not.
                if settled and (end is not _Ended.INTERRUPTED or run.status & (Status.SATURATED | Status.INFEASIBLE)):
                    checkpoint.remove()
                elif run.sweeps:
                    before = Saved(run.value, run.policy, run.sweeps, run.states_done, run.clocks, run.norm)
                    checkpoint.save(image, before)
            if end is _Ended.INTERRUPTED:
                raise _interrupted(checkpoint, before)
            if end is _Ended.ITSELF or Status.STOPPED not in run.status:
                return run
            if time.monotonic() >= deadline:
                raise self._late(timeout, run)

    def _late(self, timeout: float | None, run: Run) -> DeviceTimeoutError:
        return DeviceTimeoutError(
            f"the run on device {self.device.name!r} took more than {timeout:g} seconds and was stopped "
            f"after {run.sweeps:,} sweeps (status {run.status!r})"
        )

    def _run_ages(
        self,
        image: Image,
        horizon: int,
        progress: Progress | None,
        timeout: float | None,
        deadline: float,
        timing: dict[str, float],
    ) -> Run:
        """A horizon on an engine that keeps one age: a run for each, which begins with the value of the one before."""
        ages: list[Run] = []
        start = image if image.last_groups is None else replace(image, groups=image.last_groups)
        while True:
            with timed(timing, "load"):
                self._load(start, 1, True)
            with timed(timing, "solve"):
                end = self._solve(image, len(ages), horizon - len(ages), progress, deadline, math.inf)
            run = self._results(image, 1, None, timing, age=True)
            if end is _Ended.INTERRUPTED:
                raise KeyboardInterrupt
            if run.sweeps or not ages:
                ages.append(run)
            failed = run.status & (Status.SATURATED | Status.INFEASIBLE)
            if failed or (run.sweeps and len(ages) == horizon):
                return of_ages(ages)
            if end is _Ended.STOPPED or time.monotonic() >= deadline:
                raise self._late(timeout, of_ages(ages))
            if Status.STOPPED in run.status:
                if not ages[0].sweeps:
                    raise DeviceError(f"device {self.device.name!r} was stopped before its first sweep")
                return of_ages(ages)
            start = replace(image, start=run.value)

    def _from_checkpoint(self, saved: Saved, image: Image, checkpoint: Checkpoint | None) -> Run:
        converged = saved.norm < image.epsilon
        if converged and checkpoint is not None:
            checkpoint.remove()
        return Run(
            status=Status.DONE | (Status.CONVERGED if converged else Status.LIMIT),
            value=saved.value,
            policy=saved.policy,
            sweeps=saved.sweeps,
            states_done=saved.states_done,
            clocks=saved.clocks,
            norm=saved.norm,
            build_hash=self._build_hash,
            engine=self._build.engine,
            timing={},
            moved=(),
        )

    def _check_device(self, image: Image, horizon: int | None) -> None:
        """Check that the device is one of ours, and that the problem fits it.

        A build's hash says all of its sizes, so they are read when another build answers than the last time.
        """
        device = self.device
        check_identity(device)
        known = self._build_hash
        if known == UNKNOWN or expected(device, "BUILD_HASH", known) != known:
            self._build_hash = UNKNOWN
            self._tables.forget()
            self._settings.clear()
            self._build = built_sizes(device)
            self._build_hash = read_steady(device, "BUILD_HASH")
        points, states = image.start.shape
        if image.grid.ndim == 2 and not self._build.features.costs:
            raise ProblemError(
                f"device {device.name!r} has no table of costs, and the problem has a cost: {WORKAROUND}"
            )
        if image.groups is not None and not self._build.features.alternatives:
            raise ProblemError(
                f"device {device.name!r} takes no alternatives, and the problem has some, or bounds or discounts by "
                f"state: {WORKAROUND}"
            )
        ages = horizon if horizon is not None and self._build.features.ages else 1
        check_fits(device, self._build, points, states, ages * points * states)

    def _make_idle(self) -> None:
        """End a run that somebody else began, who may have died."""
        device = self.device
        if not device.read_register("STATUS") & Status.BUSY:
            return
        self._tables.forget()
        self._settings.clear()
        device.write_register("COMMAND", Command.RESET)
        if not device.wait(waiting.POLL_SECONDS):
            status = Status(device.read_register("STATUS"))
            raise DeviceTimeoutError(f"device {device.name!r} is busy and a reset does not end it (status {status!r})")

    def _forget(self) -> None:
        """Clear the report of the last run, so that it is not taken for that of a run that never began."""
        device = self.device
        for _ in range(RESETS):
            device.write_register("COMMAND", Command.RESET)
            status = Status(read_steady(device, "STATUS"))
            if not status:
                return
        raise DeviceError(f"device {device.name!r} is not reset by command RESET (status {status!r})")

    def _begin_clocks(self, image: Image) -> int:
        """Clocks of a run before its first sweep."""
        # Here, because it brings the engines.
        from beltline.hw.top.engine_table import ENGINES

        points, states = image.start.shape
        clocks = ENGINES[self._build.engine].run_clocks(self._build, points, states, 0)
        assert clocks is not None
        return clocks

    def _load(self, image: Image, sweep_limit: int, horizon: bool) -> None:
        build = self._build
        points, states = image.start.shape
        stride = build.states
        grid = image.grid
        if build.features.padded:
            grid = np.full(build.grid, PADDING, dtype=np.int64)
            grid[:points] = image.grid
        elif build.features.costs:
            grid = np.zeros((points, stride), dtype=np.int64)
            grid[:, :states] = image.grid if image.grid.ndim == 2 else image.grid[:, None]
        layout = Layout(build, points, states)
        groups = self._groups(image)
        second = self._weights is not None or groups is not None
        transition = np.zeros((1 + second, stride, stride), dtype=np.int64)
        transition[0, :states, :states] = image.transition.view(np.int64)
        if groups is not None:
            transition[1] = groups.matrix(stride)
        elif self._weights is not None:
            transition[1, :states, :states] = self._weights.view(np.int64)
        tables = {
            Table.X: grid.reshape(-1),
            Table.W: image.wealth.reshape(-1),
            Table.Q: transition.reshape(-1),
            Table.V: image.start.reshape(-1),
        }
        whole = (Words(0, 0, transition.size),)
        written = self._tables.load(
            [Load(at, words, whole if at is Table.Q else layout.blocks(at)) for at, words in tables.items()]
        )
        if self._tables.lost:
            self._settings = {}
        self._moved += [table.name for table in written]
        mode = (Mode.HORIZON if horizon else Mode(0)) | (Mode(0) if self._weights is None else Mode.SHIFT)
        mode |= Mode.PEAKS if self._seeks else Mode(0)
        settings = {
            "MODE": int(mode),
            "GRID": points,
            "STATES": states,
            "SWEEP_LIMIT": sweep_limit,
            "EPSILON": image.epsilon,
            **image.constants.registers,
        }
        changed = {name: value for name, value in settings.items() if self._settings.get(name) != value}
        self._settings = {}
        configure(self.device, changed)
        self._settings = settings
        self._moved += changed

    def _groups(self, image: Image) -> Groups | None:
        """The groups of exogenous states that a build with alternatives is to be told of, None for the others."""
        if not self._build.features.alternatives:
            return None
        return Groups.single(image.start.shape[1]) if image.groups is None else image.groups

    def _solve(
        self, image: Image, done: int, limit: int, progress: Progress | None, deadline: float, pause: float
    ) -> _Ended:
        """Run to the end, until ``deadline``, or until the first sweep after ``pause``; ``done`` sweeps came before."""
        device = self.device
        self._forget()
        self._tables.forget(Table.V)
        watch = waiting.Watch(device)
        with waiting.deferred_interrupt() as pressed:
            try:
                device.write_register("COMMAND", Command.RUN)
                while not watch.wait(min(waiting.POLL_SECONDS, max(deadline - time.monotonic(), 0.0))):
                    if pressed():
                        waiting.stop(device)
                        return _Ended.INTERRUPTED
                    sweeps = watch.read("SWEEPS")
                    now = time.monotonic()
                    if now >= deadline or (now >= pause and sweeps):
                        waiting.stop(device)
                        return _Ended.STOPPED
                    if progress:
                        change = watch.read("NORM") * image.value_unit
                        text = f"sweep {done + sweeps:,} of at most {done + limit:,}"
                        # The norm starts anew with every sweep.
                        progress(f"{text}, largest change of V {change:.2e}" if sweeps and change else text)
            except DeviceError:
                raise
            except BaseException:
                # A second Ctrl-C, or an error of the user's own progress: no time for the end of the sweep.
                device.write_register("COMMAND", Command.RESET)
                raise
            return _Ended.INTERRUPTED if pressed() else _Ended.ITSELF

    def _results(
        self, image: Image, limit: int, horizon: int | None, timing: dict[str, float], age: bool = False
    ) -> Run:
        """The report and the tables of a run of at most ``limit`` sweeps; ``age`` of a horizon's age alone."""
        device = self.device
        report = Report.of(device)
        if Status.DONE not in report.status:
            raise DeviceLostError(
                f"device {device.name!r} forgot the run: it is idle and not done (status {report.status!r})"
            )
        if Status.BAD_CONFIGURATION in report.status:
            raise DeviceError(f"device {device.name!r} refused its configuration (status {report.status!r})")
        points, states = image.start.shape
        asked = Asked(
            self._build,
            points,
            states,
            limit,
            image.epsilon,
            horizon=age or horizon is not None,
            shift=self._weights is not None,
            peaks=self._seeks,
        )
        if cannot := report.contradiction(asked):
            raise DeviceError(f"device {device.name!r} reports a run that cannot be: {cannot}")
        sweeps = report.sweeps
        kept = 1 if horizon is None else max(1, min(sweeps, horizon))
        count = kept * points * states
        # Engines that keep several ages have no lanes.
        blocks = Layout(self._build, points, states).blocks(Table.V) if horizon is None else (Words(0, 0, count),)
        with timed(timing, "read"):
            # Before the first sweep the policy memory holds another problem's.
            parts = [(table, blocks) for table in ((Table.V, Table.POLICY) if sweeps else (Table.V,))]
            value, *rest = self._tables.fetch(count, *parts)
            policy = rest[0] if rest else np.zeros_like(value)
        foreign = (policy < 0) | (policy >= points)
        if foreign.any() and not report.status & (Status.SATURATED | Status.INFEASIBLE):
            raise DeviceError(
                f"device {device.name!r} returned policy {policy[foreign][0]}, "
                f"which is no index of {points} grid points"
            )
        if horizon is None:
            self._tables.hold(Load(Table.V, value, blocks))
        shape = (points, states) if horizon is None else (kept, points, states)
        return Run(
            status=report.status,
            value=value.reshape(shape),
            policy=np.clip(policy, 0, points - 1).reshape(shape),
            sweeps=sweeps,
            states_done=report.states_done,
            clocks=report.clocks,
            norm=report.norm,
            build_hash=self._build_hash,
            engine=self._build.engine,
            timing=timing,
            moved=tuple(dict.fromkeys(self._moved)),
        )


def run(
    device: Device,
    image: Image,
    sweep_limit: int,
    horizon: int | None = None,
    progress: Progress | None = None,
    timeout: float | None = None,
    checkpoint: Checkpoint | None = None,
) -> Run:
    """Run one image on a device of which nothing is known: ``Driver(device).run(...)``."""
    return Driver(device).run(image, sweep_limit, horizon, progress, timeout, checkpoint)
