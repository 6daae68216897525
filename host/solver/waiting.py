"""Waits for a busy device, which may be stuck, and for Ctrl-C, which may come meanwhile."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

from beltline.host.devices.base import Device, DeviceLostError, DeviceTimeoutError
from beltline.hw.interface.registers import Command, Status

POLL_SECONDS = 0.2
"""Time between two looks at a busy device."""

STUCK_SECONDS = 10.0
"""Seconds after which a busy device whose counters stand still is given up."""

STOP_SECONDS = 60.0
"""Seconds that a sweep may take to end once the device was told to stop, before it is reset."""


class Watch:
    """Waits for a device that must go on: gives up where it stands still, and tells of its last sign of life."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._moved = time.monotonic()
        self._last: tuple[int, int, int] | None = None

    def wait(self, seconds: float | None = None) -> bool:
        """Wait a little, by default ``POLL_SECONDS``; true when the device is not busy.

        Raises
        ------
        DeviceTimeoutError
            It is busy, and its counters have stood still for ``STUCK_SECONDS``.
        DeviceLostError
            It does not answer any more.
        """
        device = self._device
        with self._signed():
            if device.wait(POLL_SECONDS if seconds is None else seconds):
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
def deferred_interrupt() -> Iterator[Callable[[], bool]]:
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


def stop(device: Device) -> None:
    """End the run in progress at the end of its sweep, or where that takes too long, at once."""
    watch = Watch(device)
    device.write_register("COMMAND", Command.STOP)
    end = time.monotonic() + STOP_SECONDS
    while not watch.wait():
        if time.monotonic() >= end:
            device.write_register("COMMAND", Command.RESET)
            raise DeviceTimeoutError(
                f"device {device.name!r} did not end its sweep within {STOP_SECONDS:g} seconds and was reset"
            )
