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

from beltline.host.devices.base import Device, DeviceError, DeviceTimeoutError, expected, read_steady
from beltline.host.solver import waiting
from beltline.host.solver.transfers import read_table, write_table
from beltline.hw.interface.layout import Words
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Command, Status, Table
from beltline.hw.interface.sums import MODULUS, WRITTEN, table_sum


@dataclass(frozen=True, eq=False)
class Load:
    """Words that a table holds, or is to hold: ``words``, a vector of int64, in ``blocks`` of its window."""

    table: Table
    words: NDArray[np.int64]
    blocks: tuple[Words, ...]

    @property
    def sum(self) -> int:
        """The sum of the words where they lie."""
        return _sum(self.words, self.blocks)

    def same(self, other: Load | None) -> bool:
        """Whether ``other`` has the same words in the same place."""
        return other is not None and self.blocks == other.blocks and np.array_equal(self.words, other.words)


class CheckedTables:
    """The tables of one device, of which only what it does not hold is moved, and what is moved is compared by sums.

    Sums run on, so the host remembers them, and a register is read once where it says what is expected. Where one has
    changed without a transfer, the chip was reset or somebody else has written to it, and its table is written anew.

    Parameters
    ----------
    device

    Attributes
    ----------
    lost
        Whether the last :meth:`load` found something else than the host knew of, so that nothing is where it was.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.lost = False
        self._held: dict[Table, Load] = {}
        self._sums: dict[str, int] = {}
        self._asked: dict[str, int] = {}

    def forget(self, *tables: Table) -> None:
        """Know nothing of what ``tables`` hold, by default all of them and of the device."""
        if not tables:
            self._sums.clear()
            self._asked.clear()
        for table in tables or Table:
            self._held.pop(table, None)

    def hold(self, load: Load) -> None:
        """Know that a table holds ``load``."""
        self._held[load.table] = load

    def load(self, loads: Sequence[Load]) -> list[Table]:
        """Have the device hold ``loads``; return the tables that were written.

        Raises
        ------
        DeviceError
            The sum of what arrived was another one twice.
        """
        device = self.device
        self.lost = False
        written = [load for load in loads if not load.same(self._held.get(load.table))]
        wanted = {}
        for load in loads:
            name = WRITTEN[load.table]
            if name not in self._sums:
                self._sums[name] = settled(device, name)
            wanted[load.table] = (self._sums[name] + (load.sum if load in written else 0)) % MODULUS
        for load in written:
            self.forget(load.table)
            write_table(device, load.table, load.words, load.blocks)
        settle(device)
        for load in loads:
            if self._arrived(load.table, wanted[load.table]):
                self._held[load.table] = load
                continue
            if load not in written:
                self.lost = True
                written.append(load)
            self.forget(load.table)
            self._write(load)
        return [load.table for load in written]

    def _arrived(self, table: Table, wanted: int) -> bool:
        name = WRITTEN[table]
        self._sums[name] = expected(self.device, name, wanted)
        return self._sums[name] == wanted

    def _write(self, load: Load) -> None:
        """Write a table whose last transfer went wrong, or that the device does not hold any more."""
        name = WRITTEN[load.table]
        before = self._sums[name] = settled(self.device, name)
        write_table(self.device, load.table, load.words, load.blocks)
        settle(self.device)
        if not self._arrived(load.table, (before + load.sum) % MODULUS):
            found = (self._sums[name] - before) % MODULUS
            raise DeviceError(
                f"device {self.device.name!r} did not take table {load.table.name} as it was written: its sum of the "
                f"{load.words.size:,} words is 0x{found:08x}, not 0x{load.sum:08x}, also when they were written again"
            )
        self._held[load.table] = load

    def fetch(self, count: int, *parts: tuple[Table, tuple[Words, ...]]) -> list[NDArray[np.int64]]:
        """Return ``count`` words of each of ``parts``, tables and blocks, read once more where sums differ.

        Raises
        ------
        DeviceError
            The sum was another one again.
        """
        if "SUM" not in self._sums:
            self._sums["SUM"] = settled(self.device, "SUM")
        fetched, right = self._fetch(count, parts)
        return fetched if right else [self._fetch_again(count, table, blocks) for table, blocks in parts]

    def _fetch_again(self, count: int, table: Table, blocks: tuple[Words, ...]) -> NDArray[np.int64]:
        before = self._sums["SUM"] = settled(self.device, "SUM")
        self._asked.clear()
        (words,), right = self._fetch(count, [(table, blocks)])
        if right:
            return words
        found, wanted = _sum(words, blocks), (self._sums["SUM"] - before) % MODULUS
        raise DeviceError(
            f"device {self.device.name!r} did not return table {table.name} as it holds it: the sum of the {count:,} "
            f"words is 0x{found:08x}, not 0x{wanted:08x}, also when they were read again"
        )

    def _fetch(
        self, count: int, parts: Sequence[tuple[Table, tuple[Words, ...]]]
    ) -> tuple[list[NDArray[np.int64]], bool]:
        """Tables, and whether their sum is what the device makes of what it holds while it hands them over."""
        fetched = []
        wanted = self._sums["SUM"]
        for table, blocks in parts:
            found = []
            for block in blocks:
                self._ask({"SUM_TABLE": table, "SUM_FIRST": block.window, "SUM_COUNT": block.count})
                found.append(read_table(self.device, table, block.count, (Words(block.window, 0, block.count),)))
                # The next block waits for this one.
                settle(self.device)
            # One block, as the tables of the largest problem are, is not copied again.
            words = found[0] if len(found) == 1 else np.concatenate(found)
            wanted += _sum(words, blocks)
            fetched.append(words)
        self._sums["SUM"] = expected(self.device, "SUM", wanted % MODULUS)
        return fetched, self._sums["SUM"] == wanted % MODULUS

    def _ask(self, settings: Mapping[str, int]) -> None:
        """Have the device add up words; what goes wrong here shows in the sum."""
        for name, value in settings.items():
            if self._asked.get(name) != value:
                self.device.write_register(name, value)
                self._asked[name] = value
        self.device.write_register("COMMAND", Command.SUM)


def _sum(words: NDArray[np.int64], blocks: Sequence[Words]) -> int:
    return sum(table_sum(words[part.table : part.table + part.count], part.window) for part in blocks) % MODULUS


def settled(device: Device, name: str) -> int:
    """Read a sum once it stands still; errors as of :func:`settle`."""
    settle(device)
    return read_steady(device, name)


def settle(device: Device) -> None:
    """Wait until all sums stand still.

    Raises
    ------
    DeviceTimeoutError
        They do not.
    """
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


def configure(device: Device, settings: Mapping[str, int]) -> None:
    """Write registers and read them back; what one does not hold is written again.

    Raises
    ------
    DeviceError
        A register held something else again.
    """
    for name, value in settings.items():
        device.write_register(name, value)
    for name, value in settings.items():
        if expected(device, name, value) == value:
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
        proven = asked.build.features.lanes and not failed
        if (
            reasons != 1
            or int(status) & ~_ENDED
            or (Status.PEAKS in status and not seeks)
            or (Status.PROVEN in status and not proven)
        ):
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
