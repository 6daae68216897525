"""The driver: runs fixed-point images on a device. It is the only code that knows what to write where."""

from __future__ import annotations

import enum
import math
import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.timing import timed
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
from beltline.host.solver import checked
from beltline.host.solver.checked import Asked, CheckedTables, Load, Report, check_supported, configure
from beltline.host.solver.fixed_point import PADDING, Image, shift_weights
from beltline.host.solver.run import Checkpoint, Run, Saved, continued, of_ages
from beltline.hw.interface.bounds import words_of
from beltline.hw.interface.layout import Layout, Words
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Command, Mode, Status, Table, status_text

SWEEP_LIMIT_MAX = 2**32 - 1
"""Largest sweep limit that fits the register."""


UNKNOWN = -1
"""Stands for the build hash of a device as long as it has not been read."""

_GROUPS = 1
"""Number of the part of table ``Q`` that has the groups of exogenous states."""

_BOUNDS = 1
"""Number of the part of table ``X`` that has the candidates of each state."""

RESETS = 2
"""Number of attempts to clear the registers of the last run before that counts as an error."""


class _Ended(enum.Enum):
    """Why waiting for a run ended."""

    ITSELF = enum.auto()
    STOPPED = enum.auto()
    INTERRUPTED = enum.auto()


def _interrupted(checkpoint: Checkpoint | None, saved: Saved | None) -> KeyboardInterrupt:
    """Return the exception for Ctrl-C, with a message about the checkpoint if one was saved."""
    if checkpoint is None or saved is None:
        return KeyboardInterrupt()
    if checkpoint.failure:
        return KeyboardInterrupt(checkpoint.failure)
    return KeyboardInterrupt(
        f"checkpoint {str(checkpoint.path)!r} holds the {saved.sweeps:,} sweeps so far, and the same call continues "
        f"from there"
    )


class Driver:
    """Runs fixed-point images on one open device, and transfers only what is not on the device already.

    No other code may write to the device. A table whose transfer was interrupted, by an error or by Ctrl-C, is
    transferred again by the next run.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self._tables = CheckedTables(device)
        self._settings: dict[str, int] = {}
        self._moved: list[str] = []
        self._build = MachineParameters()
        self._build_hash = UNKNOWN
        self._weights: NDArray[np.uint64] | None = None
        self._sparse = False
        # Whether the device still has the choices of the last run that ended.
        self._chosen = False

    def run(
        self,
        image: Image,
        sweep_limit: int,
        horizon: int | None = None,
        progress: Progress | None = None,
        timeout: float | None = None,
        checkpoint: Checkpoint | None = None,
        shift: bool = False,
    ) -> Run:
        """Load an image, run it to the end, and read the results.

        Parameters
        ----------
        sweep_limit
            Largest number of sweeps, 1 to ``SWEEP_LIMIT_MAX``, including those of a checkpoint.
        horizon
            Number of ages; then the result of every sweep is read, and ``sweep_limit`` is ignored.
        timeout
            Seconds after which an unfinished run is stopped.
        checkpoint
            File from which the run continues if it exists, and to which it is saved regularly, on Ctrl-C, and after the
            run. Not with a horizon.
        shift
            Whether a sweep engine extrapolates ``V`` between its sweeps. Not with a horizon or a checkpoint.
        """
        if horizon is not None and checkpoint is not None:
            raise ProblemError("checkpoint must be None for a problem with a horizon, which takes few sweeps")
        if shift and (horizon is not None or checkpoint is not None):
            raise ProblemError("method 'shift' is for problems without a horizon, and for solves without a checkpoint")
        self._moved = []
        self._check_device(image, horizon)
        if shift and not self._build.shifts:
            kind = "a sweep engine that is not general" if self._build.general else "a sweep engine"
            raise ProblemError(f"method 'shift' needs {kind}, which device {self.device.name!r} does not have")
        self._weights = shift_weights(image.transition) if shift else None
        # The sweeps that are proven depend on where a run is interrupted.
        self._sparse = self._build.shifts and horizon is None and checkpoint is None
        before = checkpoint.load(image) if checkpoint is not None else None
        if before is not None and (before.sweeps >= sweep_limit or before.norm < image.epsilon):
            return self._from_checkpoint(before, image)
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        timing: dict[str, float] = {}
        self._make_idle()
        if horizon is not None and self._build.is_sweep:
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
                # The file stays even if the run has converged, until its result is verified.
                if run.status & (Status.SATURATED | Status.INFEASIBLE):
                    checkpoint.remove()
                    before = None
                elif run.sweeps:
                    before = Saved(run.value, run.policy, run.sweeps, run.states_done, run.clocks, run.norm)
                    checkpoint.keep(image, before)
            if end is _Ended.INTERRUPTED:
                raise _interrupted(checkpoint, before)
            if end is _Ended.ITSELF or Status.STOPPED not in run.status:
                return run
            if time.monotonic() >= deadline:
                raise self._late(timeout, run)

    def _late(self, timeout: float | None, run: Run) -> DeviceTimeoutError:
        after = f"more than {timeout:g} seconds and was stopped after {run.sweeps:,} sweeps"
        return DeviceTimeoutError(f"the run on device {self.device.name!r} took {after}")

    def _run_ages(
        self,
        image: Image,
        horizon: int,
        progress: Progress | None,
        timeout: float | None,
        deadline: float,
        timing: dict[str, float],
    ) -> Run:
        """Run a problem with a horizon on an engine that stores one age: one run for each age."""
        ages: list[Run] = []
        start = image if image.last_groups is None else replace(image, groups=image.last_groups)
        while True:
            with timed(timing, "load"):
                self._load(start, 1, True, bool(ages))
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
            start = image.before(horizon - len(ages) - 1, run.value)

    def _from_checkpoint(self, saved: Saved, image: Image) -> Run:
        converged = saved.norm < image.epsilon
        return Run(
            status=Status.DONE | (Status.CONVERGED if converged else Status.LIMIT),
            value=saved.value,
            policy=saved.policy,
            sweeps=saved.sweeps,
            states_done=saved.states_done,
            clocks=saved.clocks,
            norm=saved.norm,
            build_hash=self._build_hash,
            timing={},
            moved=(),
        )

    def _check_device(self, image: Image, horizon: int | None) -> None:
        """Check that the device is a Beltline, and that the problem fits it."""
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
        check_supported(device, self._build, image)
        ages = horizon if horizon is not None and not self._build.is_sweep else 1
        check_fits(device, self._build, points, states, ages * points * states)

    def build(self) -> MachineParameters:
        """Return the parameters of the device's build, which are read from it if they are not known."""
        if self._build_hash == UNKNOWN:
            check_identity(self.device)
            return built_sizes(self.device)
        return self._build

    def _make_idle(self) -> None:
        """Stop a run left over from another process."""
        device = self.device
        if not device.read_register("STATUS") & Status.BUSY:
            return
        self._tables.forget()
        self._settings.clear()
        device.write_register("COMMAND", Command.RESET)
        if not device.wait(checked.POLL_SECONDS):
            status = Status(device.read_register("STATUS"))
            raise DeviceTimeoutError(
                f"device {device.name!r} is busy and a reset does not end it (status {status_text(status)})"
            )

    def _forget(self) -> None:
        """Clear the registers of the last run, so that they cannot be taken for those of a run that did not start."""
        device = self.device
        for _ in range(RESETS):
            device.write_register("COMMAND", Command.RESET)
            status = Status(read_steady(device, "STATUS"))
            if not status:
                return
        raise DeviceError(f"device {device.name!r} is not reset by command RESET (status {status_text(status)})")

    def _begin_clocks(self, image: Image) -> int:
        """Return the number of clocks of a run before its first sweep."""
        # Imported here because it loads all engines.
        from beltline.hw.top.engine_table import ENGINES

        points, states = image.start.shape
        clocks = ENGINES[self._build.engine].run_clocks(self._build, points, states, 0)
        assert clocks is not None
        return clocks

    def _load(self, image: Image, sweep_limit: int, horizon: bool, next_age: bool = False) -> None:
        build = self._build
        points, states = image.start.shape
        stride = build.states
        grid = image.grid
        if not build.is_sweep:
            grid = np.full(build.grid, PADDING, dtype=np.int64)
            grid[:points] = image.grid
        elif build.general:
            grid = np.zeros((points, stride), dtype=np.int64)
            grid[:, :states] = image.grid if image.grid.ndim == 2 else image.grid[:, None]
        layout = Layout(build, points, states)
        second = self._weights is not None
        transition = np.zeros((1 + second, stride, stride), dtype=np.int64)
        transition[0, :states, :states] = image.transition.view(np.int64)
        if self._weights is not None:
            transition[1, :states, :states] = self._weights.view(np.int64)
        matrices = [Load(Table.Q, transition.reshape(-1), (Words(0, 0, transition.size),))]
        if build.general:
            rows = image.every_group.rows(stride).reshape(-1)
            matrices.append(Load(Table.Q, rows, (Words(transition.size, 0, rows.size),), _GROUPS))
        x, w, v = (
            Load(at, words.reshape(-1), layout.blocks(at))
            for at, words in ((Table.X, grid), (Table.W, image.wealth), (Table.V, image.start))
        )
        tables = [x, w, *matrices, v]
        if build.general:
            tables.append(Load(Table.X, words_of(image.candidates).reshape(-1), layout.bounds, _BOUNDS))
        written = self._tables.load(tables)
        if self._tables.lost:
            self._settings = {}
        self._moved += [load.table.name for load in written]
        mode = (Mode.HORIZON if horizon else Mode(0)) | (Mode(0) if self._weights is None else Mode.SHIFT)
        mode |= Mode.SPARSE if self._sparse else Mode(0)
        if self._continues(written, next_age):
            mode |= Mode.CHOICES
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

    def _continues(self, written: list[Load], next_age: bool) -> bool:
        """Return whether the next run may begin from the choices of the last one, after ``written`` were loaded."""
        moved = {load.table for load in written if (load.table, load.part) != (Table.Q, _GROUPS)}
        same = next_age or not {Table.W, Table.Q, Table.V} & moved
        return self._build.is_sweep and self._chosen and same

    def _solve(
        self, image: Image, done: int, limit: int, progress: Progress | None, deadline: float, pause: float
    ) -> _Ended:
        """Run to the end, until ``deadline``, or until the first sweep after ``pause``, the time of the next saving."""
        device = self.device
        self._chosen = False
        self._forget()
        self._tables.forget(Table.V)
        watch = checked.Watch(device)
        with checked.deferred_interrupt() as pressed:
            try:
                device.write_register("COMMAND", Command.RUN)
                while not watch.wait(min(checked.POLL_SECONDS, max(deadline - time.monotonic(), 0.0))):
                    if pressed():
                        checked.stop(device)
                        return _Ended.INTERRUPTED
                    sweeps = watch.read("SWEEPS")
                    now = time.monotonic()
                    if now >= deadline or (now >= pause and sweeps):
                        checked.stop(device)
                        return _Ended.STOPPED
                    if progress:
                        change = watch.read("NORM") * image.value_unit
                        text = f"sweep {done + sweeps:,} of at most {done + limit:,}"
                        # NORM is 0 at the beginning of every sweep.
                        progress(f"{text}, largest change of V {change:.2e}" if sweeps and change else text)
            except DeviceError:
                raise
            except BaseException:
                # A second Ctrl-C, or an error of the user's progress function: do not wait for the end of the sweep.
                device.write_register("COMMAND", Command.RESET)
                raise
            return _Ended.INTERRUPTED if pressed() else _Ended.ITSELF

    def _results(
        self, image: Image, limit: int, horizon: int | None, timing: dict[str, float], age: bool = False
    ) -> Run:
        """Read the registers and tables of a run of at most ``limit`` sweeps; ``age`` for a run of a single age."""
        device = self.device
        report = Report.of(device)
        if Status.DONE not in report.status:
            lost = f"it is idle, but no run has ended (status {status_text(report.status)})"
            raise DeviceLostError(f"device {device.name!r} has lost the run: {lost}")
        if Status.BAD_CONFIGURATION in report.status:
            raise DeviceError(f"device {device.name!r} refused its configuration (status {status_text(report.status)})")
        points, states = image.start.shape
        asked = Asked(
            self._build,
            points,
            states,
            limit,
            image.epsilon,
            horizon=age or horizon is not None,
            shift=self._weights is not None,
        )
        if cannot := report.contradiction(asked):
            raise DeviceError(f"device {device.name!r} reports a run that is not possible: {cannot}")
        sweeps = report.sweeps
        ages = 1 if horizon is None else max(1, min(sweeps, horizon))
        count = ages * points * states
        # Engines that store several ages have no lanes.
        blocks = Layout(self._build, points, states).blocks(Table.V) if horizon is None else (Words(0, 0, count),)
        with timed(timing, "read"):
            # Before the first sweep the policy memory has the policy of another problem.
            parts = [(table, blocks) for table in ((Table.V, Table.POLICY) if sweeps else (Table.V,))]
            value, *rest = self._tables.fetch(count, *parts)
            policy = rest[0] if rest else np.zeros_like(value)
        if policy.min() < 0 or policy.max() >= points:
            if not report.status & (Status.SATURATED | Status.INFEASIBLE):
                foreign = (policy < 0) | (policy >= points)
                raise DeviceError(
                    f"device {device.name!r} returned policy {policy[foreign][0]}, "
                    f"which is not an index of the {points} grid points"
                )
            policy = np.clip(policy, 0, points - 1)
        if horizon is None:
            self._tables.hold(Load(Table.V, value, blocks))
            self._chosen = sweeps > 0
        shape = (points, states) if horizon is None else (ages, points, states)
        return Run(
            status=report.status,
            value=value.reshape(shape),
            policy=policy.reshape(shape),
            sweeps=sweeps,
            states_done=report.states_done,
            clocks=report.clocks,
            norm=report.norm,
            build_hash=self._build_hash,
            timing=timing,
            moved=tuple(dict.fromkeys(self._moved)),
        )
