"""Runs fixed-point images on a device. The only code that knows what to write where."""

from __future__ import annotations

import contextlib
import enum
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import FrameType

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
)
from beltline.host.problem.checks import ProblemError
from beltline.host.solver.checkpoint import Checkpoint, Saved
from beltline.host.solver.fixed_point import PADDING, Image
from beltline.host.solver.shifts import shift_weights
from beltline.hw.interface.layout import Layout, Words
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Command, Engine, Mode, Status, Table

BLOCK_WORDS = 2**18
"""Words of a transfer (2 MiB): large enough for the speed of the link, small enough to be interrupted between two."""

POLL_SECONDS = 0.2
"""Time between two looks at a busy device."""

STUCK_SECONDS = 10.0
"""Seconds after which a busy device whose counters stand still is given up."""

STOP_SECONDS = 60.0
"""Seconds that a sweep may take to end once the device was told to stop, before it is reset."""

SWEEP_LIMIT_MAX = 2**32 - 1
"""Largest sweep limit: the register's width."""


class _Ended(enum.Enum):
    """Why waiting for a run ended."""

    ITSELF = enum.auto()
    STOPPED = enum.auto()
    INTERRUPTED = enum.auto()


@dataclass(frozen=True, eq=False)
class Run:
    """What a device gave back, still in its own numbers.

    Parameters
    ----------
    status
        The status register at the end.
    value, policy : (N_k, N_z) int64 arrays, or (T, N_k, N_z) in the order of the sweeps
        ``V`` in units of value, and indexes of ``x'``.
    sweeps, states_done, clocks
        Counters of the run; of a run that was resumed, those before included.
    norm
        Largest change of ``V`` in the last sweep, in units of value.
    build_hash
        Content hash of the build.
    engine
        What swept.
    timing
        Seconds of ``load``, ``solve`` and ``read``.
    moved
        Names of the tables and registers that were written, less those that the device held already.
    """

    status: Status
    value: NDArray[np.int64]
    policy: NDArray[np.int64]
    sweeps: int
    states_done: int
    clocks: int
    norm: int
    build_hash: int
    engine: Engine
    timing: dict[str, float]
    moved: tuple[str, ...]

    @property
    def converged(self) -> bool:
        """Whether it ended because the last change was small enough."""
        return Status.CONVERGED in self.status


@contextlib.contextmanager
def timed(timing: dict[str, float], name: str) -> Iterator[None]:
    """Add the seconds that the block takes to ``timing[name]``."""
    begin = time.perf_counter()
    try:
        yield
    finally:
        timing[name] = timing.get(name, 0.0) + time.perf_counter() - begin


def check_device(device: Device, image: Image, horizon: int | None) -> MachineParameters:
    """Check that ``device`` is one of ours, and that the problem fits it; return what it is.

    Raises
    ------
    DeviceError
        It answers with another identity or with another version of the register map, or its engine is unknown.
    ProblemError
        The problem is larger than the build.
    """
    check_identity(device)
    build = built_sizes(device)
    points, states = image.start.shape
    ages = horizon if horizon is not None and build.engine is Engine.ASSEMBLY_LINE else 1
    check_fits(device, points, states, ages * points * states)
    return build


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
        self._tables: dict[Table, tuple[NDArray[np.int64], tuple[Words, ...]]] = {}
        self._settings: dict[str, int] = {}
        self._moved: list[str] = []
        self._build = MachineParameters()
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
            As :func:`check_device`; and ``DeviceError`` where the device refuses its configuration or returns a policy
            that is no index of the grid; of its kinds, ``DeviceTimeoutError`` after ``timeout``, or where the device is
            stuck in a run, which is then still under way, and ``DeviceLostError`` where it does not answer any more.
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
        self._build = check_device(self.device, image, horizon)
        if shift and self._build.engine is not Engine.SWEEP:
            raise ProblemError(f"method 'shift' is for sweep engines, and device {self.device.name!r} is none")
        self._weights = shift_weights(image.transition) if shift else None
        self._seeks = peaks and self._build.engine is Engine.SWEEP
        before = checkpoint.load(image) if checkpoint is not None else None
        if before is not None and (before.sweeps >= sweep_limit or before.norm < image.epsilon):
            return self._from_checkpoint(before, image, checkpoint)
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        timing: dict[str, float] = {}
        self._make_idle()
        if horizon is not None and self._build.engine is Engine.SWEEP:
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
            run = self._results(image, horizon, timing)
            if end is _Ended.ITSELF and Status.STOPPED in run.status and not run.sweeps:
                raise DeviceError(f"device {self.device.name!r} was stopped before its first sweep")
            if before is not None:
                run = _continued(before, run)
            if checkpoint is not None:
                settled = Status.CONVERGED in run.status or run.status & (Status.SATURATED | Status.INFEASIBLE)
                # Whoever interrupts does not see the result, converged or not.
                if settled and (end is not _Ended.INTERRUPTED or run.status & (Status.SATURATED | Status.INFEASIBLE)):
                    checkpoint.remove()
                elif run.sweeps:
                    before = Saved(run.value, run.policy, run.sweeps, run.states_done, run.clocks, run.norm)
                    checkpoint.save(image, before)
            if end is _Ended.INTERRUPTED:
                raise KeyboardInterrupt
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
        start = image
        while True:
            with timed(timing, "load"):
                self._load(start, 1, True)
            with timed(timing, "solve"):
                end = self._solve(image, len(ages), horizon - len(ages), progress, deadline, math.inf)
            run = self._results(image, None, timing)
            if end is _Ended.INTERRUPTED:
                raise KeyboardInterrupt
            if run.sweeps or not ages:
                ages.append(run)
            failed = run.status & (Status.SATURATED | Status.INFEASIBLE)
            if failed or (run.sweeps and len(ages) == horizon):
                return _of_ages(ages)
            if end is _Ended.STOPPED or time.monotonic() >= deadline:
                raise self._late(timeout, _of_ages(ages))
            if Status.STOPPED in run.status:
                if not ages[0].sweeps:
                    raise DeviceError(f"device {self.device.name!r} was stopped before its first sweep")
                return _of_ages(ages)
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
            build_hash=self.device.read_register("BUILD_HASH"),
            engine=self._build.engine,
            timing={},
            moved=(),
        )

    def _make_idle(self) -> None:
        """End a run that somebody else began, who may have died."""
        device = self.device
        if not device.read_register("STATUS") & Status.BUSY:
            return
        self._tables.clear()
        self._settings.clear()
        device.write_register("COMMAND", Command.RESET)
        if not device.wait(POLL_SECONDS):
            status = Status(device.read_register("STATUS"))
            raise DeviceTimeoutError(f"device {device.name!r} is busy and a reset does not end it (status {status!r})")

    def _load(self, image: Image, sweep_limit: int, horizon: bool) -> None:
        device, build = self.device, self._build
        points, states = image.start.shape
        stride = build.states
        grid = image.grid
        if build.engine is Engine.ASSEMBLY_LINE:
            grid = np.full(build.grid, PADDING, dtype=np.int64)
            grid[:points] = image.grid
        layout = Layout(build, points, states)
        transition = np.zeros((1 if self._weights is None else 2, stride, stride), dtype=np.int64)
        transition[0, :states, :states] = image.transition.view(np.int64)
        if self._weights is not None:
            transition[1, :states, :states] = self._weights.view(np.int64)
        self._write_table(Table.X, grid, layout)
        self._write_table(Table.W, image.wealth.reshape(-1), layout)
        self._write_table(Table.Q, transition.reshape(-1), layout)
        self._write_table(Table.V, image.start.reshape(-1), layout)
        constants = image.constants
        mode = (Mode.HORIZON if horizon else Mode(0)) | (Mode(0) if self._weights is None else Mode.SHIFT)
        mode |= Mode.PEAKS if self._seeks else Mode(0)
        for name, value in (
            ("MODE", int(mode)),
            ("GRID", points),
            ("STATES", states),
            ("SWEEP_LIMIT", sweep_limit),
            ("EPSILON", image.epsilon),
            ("UTILITY_A", constants.a),
            ("UTILITY_B", constants.b),
            ("UTILITY_FORM", int(constants.negative) | int(constants.log) << 1 | constants.shift << 8),
        ):
            if self._settings.get(name) != value:
                self._settings.pop(name, None)
                device.write_register(name, value)
                self._settings[name] = value
                self._moved.append(name)

    def _write_table(self, table: Table, words: NDArray[np.int64], layout: Layout) -> None:
        blocks = (Words(0, 0, words.size),) if table is Table.Q else layout.blocks(table)
        held = self._tables.get(table)
        if held is not None and held[1] == blocks and np.array_equal(held[0], words):
            return
        self._tables.pop(table, None)
        write_table(self.device, table, words, blocks)
        self._tables[table] = words, blocks
        self._moved.append(table.name)

    def _solve(
        self, image: Image, done: int, limit: int, progress: Progress | None, deadline: float, pause: float
    ) -> _Ended:
        """Run to the end, until ``deadline``, or until the first sweep after ``pause``; ``done`` sweeps came before."""
        device = self.device
        self._tables.pop(Table.V, None)
        watch = _Watch(device)
        with _deferred_interrupt() as pressed:
            try:
                device.write_register("COMMAND", Command.RUN)
                while not watch.wait(min(POLL_SECONDS, max(deadline - time.monotonic(), 0.0))):
                    if pressed():
                        _stop(device)
                        return _Ended.INTERRUPTED
                    sweeps = watch.read("SWEEPS")
                    now = time.monotonic()
                    if now >= deadline or (now >= pause and sweeps):
                        _stop(device)
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

    def _results(self, image: Image, horizon: int | None, timing: dict[str, float]) -> Run:
        device = self.device
        status = Status(device.read_register("STATUS"))
        if Status.DONE not in status:
            raise DeviceLostError(f"device {device.name!r} forgot the run: it is idle and not done (status {status!r})")
        if Status.BAD_CONFIGURATION in status:
            raise DeviceError(f"device {device.name!r} refused its configuration (status {status!r})")
        sweeps = device.read_register("SWEEPS")
        points, states = image.start.shape
        kept = 1 if horizon is None else max(1, min(sweeps, horizon))
        count = kept * points * states
        # Only the assembly line keeps several ages.
        blocks = Layout(self._build, points, states).blocks(Table.V) if horizon is None else (Words(0, 0, count),)
        with timed(timing, "read"):
            value = read_table(device, Table.V, count, blocks)
            # Before the first sweep the policy memory holds another problem's.
            policy = read_table(device, Table.POLICY, count, blocks) if sweeps else np.zeros_like(value)
        foreign = (policy < 0) | (policy >= points)
        if foreign.any() and not status & (Status.SATURATED | Status.INFEASIBLE):
            raise DeviceError(
                f"device {device.name!r} returned policy {policy[foreign][0]}, "
                f"which is no index of {points} grid points"
            )
        if horizon is None:
            self._tables[Table.V] = value, blocks
        shape = (points, states) if horizon is None else (kept, points, states)
        return Run(
            status=status,
            value=value.reshape(shape),
            policy=np.clip(policy, 0, points - 1).reshape(shape),
            sweeps=sweeps,
            states_done=device.read_register("STATES_DONE"),
            clocks=device.read_register("CLOCKS"),
            norm=device.read_register("NORM"),
            build_hash=device.read_register("BUILD_HASH"),
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


def _of_ages(ages: list[Run]) -> Run:
    """The runs of all ages so far, which followed each other, as one."""
    return replace(
        ages[-1],
        status=ages[-1].status | (Status.PEAKS if any(Status.PEAKS in run.status for run in ages) else Status(0)),
        value=np.stack([run.value for run in ages]),
        policy=np.stack([run.policy for run in ages]),
        sweeps=sum(run.sweeps for run in ages),
        states_done=sum(run.states_done for run in ages),
        clocks=sum(run.clocks for run in ages),
    )


def _continued(before: Saved, after: Run) -> Run:
    """A run as if it had never been parted."""
    swept = after.sweeps > 0
    return replace(
        after,
        policy=after.policy if swept else before.policy,
        norm=after.norm if swept else before.norm,
        sweeps=before.sweeps + after.sweeps,
        states_done=before.states_done + after.states_done,
        clocks=before.clocks + after.clocks,
    )


class _Watch:
    """Waits for a device that must go on: gives up where it stands still, and tells of its last sign of life."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._moved = time.monotonic()
        self._last: tuple[int, int, int] | None = None

    def wait(self, seconds: float = POLL_SECONDS) -> bool:
        """Wait a little; true when the device is not busy.

        Raises
        ------
        DeviceTimeoutError
            It is busy, and its counters have stood still for ``STUCK_SECONDS``.
        DeviceLostError
            It does not answer any more.
        """
        device = self._device
        with self._signed():
            if device.wait(seconds):
                return True
            now = device.read_register("STATUS"), device.read_register("SWEEPS"), device.read_register("CLOCKS")
        if self._last is None or now[1:] != self._last[1:]:
            self._moved = time.monotonic()
        self._last = now
        still = time.monotonic() - self._moved
        if still >= STUCK_SECONDS:
            raise DeviceTimeoutError(
                f"device {device.name!r} is stuck: it is busy, and did nothing for {still:.1f} seconds; {self._sign()}"
            )
        return False

    def read(self, name: str) -> int:
        """Read a register.

        Raises
        ------
        DeviceLostError
            The device does not answer any more.
        """
        with self._signed():
            return self._device.read_register(name)

    @contextlib.contextmanager
    def _signed(self) -> Iterator[None]:
        try:
            yield
        except DeviceLostError as error:
            raise DeviceLostError(f"{error}; {self._sign()}") from error

    def _sign(self) -> str:
        if self._last is None:
            return "it gave no sign of life in this run"
        status, sweeps, clocks = self._last
        return f"last seen with status {Status(status)!r} after {sweeps:,} sweeps and {clocks:,} clocks"


@contextlib.contextmanager
def _deferred_interrupt() -> Iterator[Callable[[], bool]]:
    """Give a function that tells whether Ctrl-C was pressed, which meanwhile interrupts nothing; a second one does.

    Only the main thread hears of Ctrl-C, and only where nobody else has taken it over.
    """
    presses = 0

    def press(number: int, frame: FrameType | None) -> None:
        nonlocal presses
        presses += 1
        if presses > 1:
            raise KeyboardInterrupt

    usual = threading.current_thread() is threading.main_thread() and (
        signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if not usual:
        yield lambda: False
        return
    signal.signal(signal.SIGINT, press)
    try:
        yield lambda: presses > 0
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _stop(device: Device) -> None:
    """End the run in progress at the end of its sweep, or where that takes too long, at once."""
    watch = _Watch(device)
    device.write_register("COMMAND", Command.STOP)
    end = time.monotonic() + STOP_SECONDS
    while not watch.wait():
        if time.monotonic() >= end:
            device.write_register("COMMAND", Command.RESET)
            raise DeviceTimeoutError(
                f"device {device.name!r} did not end its sweep within {STOP_SECONDS:g} seconds and was reset"
            )


def write_table(device: Device, table: Table, words: NDArray[np.int64], blocks: Sequence[Words] | None = None) -> None:
    """Write ``words``, a vector of int64, to where they lie in the window of a table, by default its beginning."""
    for part in _transfers(blocks or (Words(0, 0, words.size),)):
        device.write_block(table, part.window, words[part.table : part.table + part.count])


def read_table(device: Device, table: Table, count: int, blocks: Sequence[Words] | None = None) -> NDArray[np.int64]:
    """Return ``count`` words of a table, at least one, from where they lie in its window, by default its beginning."""
    parts = _transfers(blocks or (Words(0, 0, count),))
    found = [device.read_block(table, part.window, part.count) for part in parts]
    # One block, as the tables of the largest problem are, is not copied again.
    return found[0] if len(found) == 1 else np.concatenate(found)


def _transfers(blocks: Sequence[Words]) -> Iterator[Words]:
    """``blocks`` in parts of at most ``BLOCK_WORDS``."""
    for block in blocks:
        for first in range(0, block.count, BLOCK_WORDS):
            count = min(BLOCK_WORDS, block.count - first)
            yield Words(block.window + first, block.table + first, count)
