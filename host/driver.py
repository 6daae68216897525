"""Runs a fixed-point image on a device. The only code that knows what to write where."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from host.devices.base import (
    Device,
    DeviceError,
    DeviceLostError,
    DeviceTimeoutError,
    Progress,
    check_fits,
    check_identity,
)
from host.formats import PADDING, Image
from hw.registers import Command, Mode, Status, Table

BLOCK_WORDS = 2**18
"""Words of a transfer (2 MiB): large enough for the speed of the link, small enough to be interrupted between two."""

POLL_SECONDS = 0.2
"""Time between two looks at a busy device."""

STUCK_SECONDS = 10.0
"""Seconds after which a busy device whose counters stand still is given up."""

SWEEP_LIMIT_MAX = 2**32 - 1
"""Largest sweep limit: the register's width."""


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
        Counters of the run.
    norm
        Largest change of ``V`` in the last sweep, in units of value.
    build_hash
        Content hash of the build.
    timing
        Seconds of ``load``, ``solve`` and ``read``.
    """

    status: Status
    value: NDArray[np.int64]
    policy: NDArray[np.int64]
    sweeps: int
    states_done: int
    clocks: int
    norm: int
    build_hash: int
    timing: dict[str, float]


@contextlib.contextmanager
def timed(timing: dict[str, float], name: str) -> Iterator[None]:
    """Add the seconds that the block takes to ``timing[name]``."""
    begin = time.perf_counter()
    try:
        yield
    finally:
        timing[name] = timing.get(name, 0.0) + time.perf_counter() - begin


def check_device(device: Device, image: Image, horizon: int | None) -> None:
    """Check that ``device`` is one of ours, and that the problem fits it.

    Raises
    ------
    DeviceError
        It answers with another identity or with another version of the register map.
    ProblemError
        The problem is larger than the build.
    """
    check_identity(device)
    points, states = image.start.shape
    check_fits(device, points, states, (horizon or 1) * points * states)


def run(
    device: Device, image: Image, sweep_limit: int, horizon: int | None = None, progress: Progress | None = None
) -> Run:
    """Load ``image``, run it to the end, and read the results back.

    Parameters
    ----------
    device
    image
    sweep_limit
        Sweeps after which the run ends, 1 to ``SWEEP_LIMIT_MAX``.
    horizon
        Number of ages; each sweep is then kept, and ``sweep_limit`` is not looked at.
    progress

    Raises
    ------
    DeviceError, ProblemError
        As :func:`check_device`; and ``DeviceError`` where the device refuses its configuration or returns a policy that
        is no index of the grid; of its kinds, ``DeviceTimeoutError`` where it is stuck in a run, which is then still
        under way, and ``DeviceLostError`` where it does not answer any more.
    KeyboardInterrupt
        Passed on once the device has stopped at the end of its sweep.
    """
    check_device(device, image, horizon)
    timing: dict[str, float] = {}
    if device.read_register("STATUS") & Status.BUSY:
        _stop(device)
    with timed(timing, "load"):
        _load(device, image, sweep_limit if horizon is None else horizon, horizon is not None)
    with timed(timing, "solve"):
        _solve(device, image, sweep_limit if horizon is None else horizon, progress)
    status = Status(device.read_register("STATUS"))
    if Status.DONE not in status:
        raise DeviceLostError(f"device {device.name!r} forgot the run: it is idle and not done (status {status!r})")
    if Status.BAD_CONFIGURATION in status:
        raise DeviceError(f"device {device.name!r} refused its configuration (status {status!r})")
    sweeps = device.read_register("SWEEPS")
    if sweeps == 0 and Status.STOPPED in status:
        raise DeviceError(f"device {device.name!r} was stopped before its first sweep")
    points, states = image.start.shape
    kept = 1 if horizon is None else max(1, min(sweeps, horizon))
    with timed(timing, "read"):
        value = _read(device, Table.V, kept * points * states)
        # Before the first sweep the policy memory holds another problem's.
        policy = _read(device, Table.POLICY, value.size) if sweeps else np.zeros_like(value)
    foreign = (policy < 0) | (policy >= points)
    if foreign.any() and not status & (Status.SATURATED | Status.INFEASIBLE):
        raise DeviceError(
            f"device {device.name!r} returned policy {policy[foreign][0]}, which is no index of {points} grid points"
        )
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
        timing=timing,
    )


def _load(device: Device, image: Image, sweep_limit: int, horizon: bool) -> None:
    points, states = image.start.shape
    stride = device.read_register("STATES_MAX")
    grid = np.full(device.read_register("GRID_MAX"), PADDING, dtype=np.int64)
    grid[:points] = image.grid
    transition = np.zeros((states, stride), dtype=np.int64)
    transition[:, :states] = image.transition.view(np.int64)
    for table, words in (
        (Table.X, grid),
        (Table.W, image.wealth.reshape(-1)),
        (Table.Q, transition.reshape(-1)),
        (Table.V, image.start.reshape(-1)),
    ):
        for first in range(0, words.size, BLOCK_WORDS):
            device.write_block(table, first, words[first : first + BLOCK_WORDS])
    constants = image.constants
    for name, value in (
        ("MODE", int(Mode.HORIZON) if horizon else 0),
        ("GRID", points),
        ("STATES", states),
        ("SWEEP_LIMIT", sweep_limit),
        ("EPSILON", image.epsilon),
        ("UTILITY_A", constants.a),
        ("UTILITY_B", constants.b),
        ("UTILITY_FORM", int(constants.negative) | int(constants.log) << 1 | constants.shift << 8),
    ):
        device.write_register(name, value)


class _Watch:
    """Waits for a device that must go on: gives up where it stands still, and tells of its last sign of life."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._moved = time.monotonic()
        self._last: tuple[int, int, int] | None = None

    def wait(self) -> bool:
        """Wait a little; true when the device is not busy.

        Raises
        ------
        DeviceTimeoutError
            It is busy, and its counters have stood still for ``STUCK_SECONDS``.
        DeviceLostError
            It does not answer any more.
        """
        device = self._device
        try:
            if device.wait(POLL_SECONDS):
                return True
            now = device.read_register("STATUS"), device.read_register("SWEEPS"), device.read_register("CLOCKS")
        except DeviceLostError as error:
            raise DeviceLostError(f"{error}; {self._sign()}") from error
        if self._last is None or now[1:] != self._last[1:]:
            self._moved = time.monotonic()
        self._last = now
        still = time.monotonic() - self._moved
        if still >= STUCK_SECONDS:
            raise DeviceTimeoutError(
                f"device {device.name!r} is stuck: it is busy, and did nothing for {still:.1f} seconds; {self._sign()}"
            )
        return False

    def _sign(self) -> str:
        if self._last is None:
            return "it gave no sign of life in this run"
        status, sweeps, clocks = self._last
        return f"last seen with status {Status(status)!r} after {sweeps:,} sweeps and {clocks:,} clocks"


def _solve(device: Device, image: Image, sweep_limit: int, progress: Progress | None) -> None:
    watch = _Watch(device)
    try:
        device.write_register("COMMAND", Command.RUN)
        while not watch.wait():
            if progress:
                sweeps = device.read_register("SWEEPS")
                change = device.read_register("NORM") * image.value_unit
                text = f"sweep {sweeps:,} of at most {sweep_limit:,}"
                # The norm starts anew with every sweep.
                progress(f"{text}, largest change of V {change:.2e}" if sweeps and change else text)
    except KeyboardInterrupt:
        _stop(device)
        raise


def _stop(device: Device) -> None:
    watch = _Watch(device)
    device.write_register("COMMAND", Command.STOP)
    while not watch.wait():
        pass


def _read(device: Device, table: Table, words: int) -> NDArray[np.int64]:
    blocks = [
        device.read_block(table, begin, min(BLOCK_WORDS, words - begin)) for begin in range(0, words, BLOCK_WORDS)
    ]
    return np.concatenate(blocks)
