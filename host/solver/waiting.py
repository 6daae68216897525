"""Waiting for a busy device, with detection of a device that is stuck and of Ctrl-C."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from types import FrameType

from beltline.host.devices.base import Device, DeviceLostError, DeviceTimeoutError
from beltline.hw.interface.registers import Command, Status, status_text
from beltline.sim.ctrl_c import handling, note

POLL_SECONDS = 0.2
"""Seconds between two polls of a busy device."""

STUCK_SECONDS = 10.0
"""Seconds after which a busy device whose counters do not change counts as stuck."""

STOP_SECONDS = 60.0
"""Seconds that the sweep in progress may take to end after a stop command, before the device is reset."""


class Watch:
    """Waits for a busy device whose counters must advance; raises an error with its last known state if they do not."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._moved = time.monotonic()
        self._last: tuple[int, int, int] | None = None

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for some seconds, ``POLL_SECONDS`` by default; return whether the device has finished.

        Raises
        ------
        DeviceTimeoutError
            It is busy, and its counters have not changed for ``STUCK_SECONDS``.
        DeviceLostError
            It does not respond any more.
        """
        device = self._device
        with self._with_last_state():
            if device.wait(POLL_SECONDS if seconds is None else seconds):
                return True
            now = device.read_register("STATUS"), device.read_register("SWEEPS"), device.read_register("CLOCKS")
        if self._last is None or now[1:] != self._last[1:]:
            self._moved = time.monotonic()
        self._last = now
        still = time.monotonic() - self._moved
        if still >= STUCK_SECONDS:
            raise DeviceTimeoutError(
                f"device {device.name!r} is stuck: it is busy, but its counters have not changed for {still:.1f} "
                f"seconds; {self._last_state()}"
            )
        return False

    def read(self, name: str) -> int:
        """Read a register.

        Raises
        ------
        DeviceLostError
            The device does not respond any more.
        """
        with self._with_last_state():
            return self._device.read_register(name)

    @contextlib.contextmanager
    def _with_last_state(self) -> Iterator[None]:
        try:
            yield
        except DeviceLostError as error:
            raise DeviceLostError(f"{error}; {self._last_state()}") from error

    def _last_state(self) -> str:
        if self._last is None:
            return "it has not responded in this run"
        status, sweeps, clocks = self._last
        return f"last seen with status {status_text(Status(status))} after {sweeps:,} sweeps and {clocks:,} clocks"


@contextlib.contextmanager
def deferred_interrupt() -> Iterator[Callable[[], bool]]:
    """Defer Ctrl-C and SIGTERM during the block: give a function that returns whether one came. A second interrupts.

    This works in the main thread, and only if no other handler of the signal is installed; otherwise nothing changes.
    """
    presses = 0

    def press(number: int, frame: FrameType | None) -> None:
        nonlocal presses
        note(number)
        presses += 1
        if presses > 1:
            raise KeyboardInterrupt

    with handling(press):
        yield lambda: presses > 0


def stop(device: Device) -> None:
    """Stop the run in progress at the end of its sweep; if that takes too long, reset the device and raise an error."""
    watch = Watch(device)
    device.write_register("COMMAND", Command.STOP)
    end = time.monotonic() + STOP_SECONDS
    while not watch.wait():
        if time.monotonic() >= end:
            device.write_register("COMMAND", Command.RESET)
            raise DeviceTimeoutError(
                f"device {device.name!r} did not end its sweep within {STOP_SECONDS:g} seconds and was reset"
            )
