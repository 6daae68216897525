"""What the host compares with a device, so that a fault is no result: tables by their sums, settings by reading them
back, and the report of a run by what its numbers have to do with each other.

None of it depends on ``verify``. What a device computes wrongly and reports consistently is not found here.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beltline.host.devices.base import Device, DeviceError, DeviceTimeoutError, read_steady
from beltline.host.solver import waiting
from beltline.host.solver.transfers import read_table, write_table
from beltline.hw.interface.layout import Words
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Command, Status, Table
from beltline.hw.interface.sums import MODULUS, WRITTEN, table_sum

TRIES = 2
"""How often a transfer or a setting is tried before the device is given up."""


def load_table(device: Device, table: Table, words: NDArray[np.int64], blocks: Sequence[Words]) -> None:
    """Write ``words``, a vector of int64, to ``blocks`` of a table, and once more where another sum arrived.

    Raises
    ------
    DeviceError
        The sum was another one again.
    """
    wanted = _sum(words, blocks)
    for _ in range(TRIES):
        before = _settled(device, WRITTEN[table])
        write_table(device, table, words, blocks)
        found = (_settled(device, WRITTEN[table]) - before) % MODULUS
        if found == wanted:
            return
    raise DeviceError(
        f"device {device.name!r} did not take table {table.name} as it was written: its sum of the {words.size:,} "
        f"words is 0x{found:08x}, not 0x{wanted:08x}, also when they were written again"
    )


def fetch_table(device: Device, table: Table, count: int, blocks: Sequence[Words]) -> NDArray[np.int64]:
    """Return ``count`` words in ``blocks`` of a table, read once more where their sum is not the device's.

    Raises
    ------
    DeviceError
        The sum was another one again.
    """
    for _ in range(TRIES):
        words = read_table(device, table, count, blocks)
        wanted, found = _device_sum(device, table, blocks), _sum(words, blocks)
        if found == wanted:
            return words
    raise DeviceError(
        f"device {device.name!r} did not return table {table.name} as it holds it: the sum of the {count:,} words is "
        f"0x{found:08x}, not 0x{wanted:08x}, also when they were read again"
    )


def _sum(words: NDArray[np.int64], blocks: Sequence[Words]) -> int:
    return sum(table_sum(words[part.table : part.table + part.count], part.window) for part in blocks) % MODULUS


def _device_sum(device: Device, table: Table, blocks: Sequence[Words]) -> int:
    """What the device makes of the words that it holds."""
    before = _settled(device, "SUM")
    device.write_register("SUM_TABLE", table)
    for part in blocks:
        device.write_register("SUM_FIRST", part.window)
        device.write_register("SUM_COUNT", part.count)
        device.write_register("COMMAND", Command.SUM)
        # The next block waits for this one.
        _settled(device, "SUM")
    return (_settled(device, "SUM") - before) % MODULUS


def _settled(device: Device, name: str) -> int:
    """A sum, when it stands still."""
    last, since = -1, time.monotonic()
    while left := device.read_register("SUMMING"):
        now = time.monotonic()
        if left != last:
            last, since = left, now
        elif now - since >= waiting.STUCK_SECONDS:
            raise DeviceTimeoutError(
                f"device {device.name!r} is stuck: register SUMMING reads {left} and did so for {now - since:.1f} "
                f"seconds"
            )
    return read_steady(device, name)


def configure(device: Device, settings: Mapping[str, int], changed: Sequence[str]) -> None:
    """Write the registers in ``changed``, and read back all of ``settings``; what one does not hold is written again.

    Raises
    ------
    DeviceError
        A register held something else again.
    """
    for name in changed:
        device.write_register(name, settings[name])
    for name, value in settings.items():
        if read_steady(device, name) == value:
            continue
        device.write_register(name, value)
        found = read_steady(device, name)
        if found != value:
            raise DeviceError(
                f"device {device.name!r} holds {found} in register {name}, not {value}, also when it was written again"
            )


_ENDED = sum(set(Status) - {Status.BUSY, Status.BAD_CONFIGURATION})
"""Flags that a run which has ended may have."""


@dataclass(frozen=True)
class Asked:
    """A run as it was asked for.

    Parameters
    ----------
    build
        Of the device.
    points, states, limit, epsilon
        As in its registers.
    horizon, shift, peaks
        Flags of its mode.
    """

    build: MachineParameters
    points: int
    states: int
    limit: int
    epsilon: int
    horizon: bool
    shift: bool
    peaks: bool


@dataclass(frozen=True)
class Report:
    """What the registers of a device say of a run that has ended, each read until two readings agree."""

    status: Status
    sweeps: int
    states_done: int
    clocks: int
    norm: int

    @classmethod
    def of(cls, device: Device) -> Report:
        return cls(
            status=Status(read_steady(device, "STATUS")),
            sweeps=read_steady(device, "SWEEPS"),
            states_done=read_steady(device, "STATES_DONE"),
            clocks=read_steady(device, "CLOCKS"),
            norm=read_steady(device, "NORM"),
        )

    def contradiction(self, asked: Asked) -> str:
        """What cannot be so, in a clause; empty where everything fits.

        A run has one reason to have ended, which agrees with its sweeps and its norm; every sweep does all states; and
        the clocks of an assembly line follow from its sweeps.
        """
        # Here, because it brings the engines.
        from beltline.hw.top.engine_table import ENGINES

        status, sweeps, limit, work = self.status, self.sweeps, asked.limit, asked.points * asked.states
        if self.states_done != sweeps * work:
            return f"{self.states_done:,} states in {sweeps:,} sweeps of {work:,}"
        clocks = ENGINES[asked.build.engine].run_clocks(asked.build, asked.points, asked.states, sweeps)
        if clocks is not None and self.clocks != clocks:
            return f"{self.clocks:,} clocks for {sweeps:,} sweeps, which take {clocks:,}"
        failed = bool(status & (Status.SATURATED | Status.INFEASIBLE))
        reasons = failed + sum(flag in status for flag in (Status.CONVERGED, Status.LIMIT, Status.STOPPED))
        seeks = asked.peaks and not failed and Status.STOPPED not in status
        if reasons != 1 or int(status) & ~_ENDED or (Status.PEAKS in status and not seeks):
            return f"its status is {status!r}"
        stopped, tested = Status.STOPPED in status, sweeps > 0 and not asked.horizon
        if (
            sweeps > limit
            or (Status.LIMIT in status and sweeps != limit)
            or (stopped and sweeps == limit)
            or (Status.CONVERGED in status and not tested)
        ):
            return f"it made {sweeps:,} sweeps of at most {limit:,} (status {status!r})"
        # A sweep that is shifted or keeps the choices ends no run, so such a one may be stopped behind.
        below = self.norm < asked.epsilon
        if tested and not failed and below != (Status.CONVERGED in status) and not (asked.shift and stopped):
            return f"the last change of V is {self.norm}, where one below {asked.epsilon} ends it (status {status!r})"
        return ""
