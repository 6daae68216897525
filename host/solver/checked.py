"""Transfers to a device, waits for it, and checks of both: a fault of a device becomes an error and not a result.

Tables are compared by checksums, settings by reading them back, and the registers of a run with each other. All this
is independent of ``verify``. A device that computes wrong values and reports consistent registers is not found here,
but by verification.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType

import numpy as np
from numpy.typing import NDArray

from beltline.host.devices.base import Device, DeviceError, DeviceLostError, DeviceTimeoutError, expected, read_steady
from beltline.host.problem.checks import ProblemError
from beltline.host.problem.general import WORKAROUND
from beltline.host.solver.fixed_point import Image
from beltline.hw.arithmetic.log_sum_constants import TERMS
from beltline.hw.interface.layout import Words
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Command, Status, Table, status_text
from beltline.hw.interface.sums import MODULUS, WRITTEN, table_sum
from beltline.sim.ctrl_c import ENDING, handling, note

BLOCK_WORDS = 2**18
"""Words in a block (2 MiB): large enough for the full speed of the link, small enough for a quick interrupt."""


def write_table(device: Device, table: Table, words: NDArray[np.int64], blocks: Sequence[Words] | None = None) -> None:
    """Write the vector ``words`` (int64) to ``blocks`` of the window of a table; by default to its beginning."""
    for part in _transfers(blocks or (Words(0, 0, words.size),)):
        device.write_block(table, part.window, words[part.table : part.table + part.count])


def read_table(device: Device, table: Table, count: int, blocks: Sequence[Words] | None = None) -> NDArray[np.int64]:
    """Return ``count`` words (at least one) from ``blocks`` of the window of a table; by default from its beginning."""
    parts = _transfers(blocks or (Words(0, 0, count),))
    found = [device.read_block(table, part.window, part.count) for part in parts]
    # A single block, as for the largest problem of a build, is returned without another copy.
    return found[0] if len(found) == 1 else np.concatenate(found)


def _transfers(blocks: Sequence[Words]) -> Iterator[Words]:
    """Split ``blocks`` into transfers of at most ``BLOCK_WORDS`` words."""
    for block in blocks:
        for first in range(0, block.count, BLOCK_WORDS):
            count = min(BLOCK_WORDS, block.count - first)
            yield Words(block.window + first, block.table + first, count)


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
        """Wait for some seconds, ``POLL_SECONDS`` by default; return whether the device has finished."""
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
        """Read a register."""
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
    """Defer Ctrl-C, SIGTERM and SIGHUP during the block: give a function that returns whether one came.

    A second Ctrl-C interrupts.
    """
    presses = 0

    def press(number: int, frame: FrameType | None) -> None:
        nonlocal presses
        note(number)
        presses += 1
        if presses > 1 and number not in ENDING:
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


@dataclass(frozen=True, eq=False)
class Load:
    """A part of a table of the device: the vector ``words`` (int64), at ``blocks`` of the window of ``table``."""

    table: Table
    words: NDArray[np.int64]
    blocks: tuple[Words, ...]
    part: int = 0

    @property
    def sum(self) -> int:
        """The checksum of the words at their places in the window."""
        return _sum(self.words, self.blocks)

    def same(self, other: Load | None) -> bool:
        """Return whether ``other`` has the same words at the same places."""
        return other is not None and self.blocks == other.blocks and np.array_equal(self.words, other.words)


class CheckedTables:
    """The tables of one device. Only tables that changed are transferred, and every transfer is checked by checksums.

    The device accumulates its checksums over all transfers, so the host stores their last values; a register is read
    only once if it has the expected value. If a checksum changed without a transfer, the device was reset or another
    program has written to it: the table is written again, and ``lost`` is true after that load.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.lost = False
        self._contents: dict[tuple[Table, int], Load] = {}
        self._sums: dict[str, int] = {}
        self._sum_settings: dict[str, int] = {}

    def forget(self, *tables: Table) -> None:
        """Treat the contents of ``tables`` as unknown; without arguments all of them, and the checksums."""
        if not tables:
            self._sums.clear()
            self._sum_settings.clear()
        for key in [key for key in self._contents if not tables or key[0] in tables]:
            del self._contents[key]

    def hold(self, load: Load) -> None:
        """Record that the device has ``load`` in its table, as after a run that wrote it."""
        self._contents[load.table, load.part] = load

    def load(self, loads: Sequence[Load]) -> list[Load]:
        """Write ``loads`` to the device, except those that it has already; return those that were written."""
        device = self.device
        self.lost = False
        written = [load for load in loads if not load.same(self._contents.get((load.table, load.part)))]
        tables: dict[Table, list[Load]] = {}
        for load in loads:
            tables.setdefault(load.table, []).append(load)
        wanted = {}
        for table, parts in tables.items():
            name = WRITTEN[table]
            if name not in self._sums:
                self._sums[name] = settled(device, name)
            wanted[table] = (self._sums[name] + sum(load.sum for load in parts if load in written)) % MODULUS
        for load in written:
            self._contents.pop((load.table, load.part), None)
            write_table(device, load.table, load.words, load.blocks)
        settle(device)
        for table, parts in tables.items():
            if self._arrived(table, wanted[table]):
                self._contents |= {(table, load.part): load for load in parts}
                continue
            self.forget(table)
            for load in parts:
                if load not in written:
                    self.lost = True
                    written.append(load)
                self._write(load)
        return written

    def _arrived(self, table: Table, wanted: int) -> bool:
        name = WRITTEN[table]
        self._sums[name] = expected(self.device, name, wanted)
        return self._sums[name] == wanted

    def _write(self, load: Load) -> None:
        """Write a table again whose last transfer failed, or whose contents the device has lost."""
        name = WRITTEN[load.table]
        before = self._sums[name] = settled(self.device, name)
        write_table(self.device, load.table, load.words, load.blocks)
        settle(self.device)
        if not self._arrived(load.table, (before + load.sum) % MODULUS):
            found = (self._sums[name] - before) % MODULUS
            raise DeviceError(
                f"device {self.device.name!r} did not receive table {load.table.name} as it was sent: the checksum of "
                f"its {load.words.size:,} words is 0x{found:08x}, not 0x{load.sum:08x}, also after a second transfer"
            )
        self._contents[load.table, load.part] = load

    def fetch(self, count: int, *parts: tuple[Table, tuple[Words, ...]]) -> list[NDArray[np.int64]]:
        """Read ``count`` words of each of ``parts`` (a table and its blocks), a second time where checksums differ."""
        if "SUM" not in self._sums:
            self._sums["SUM"] = settled(self.device, "SUM")
        fetched, right = self._fetch(count, parts)
        return fetched if right else [self._fetch_again(count, table, blocks) for table, blocks in parts]

    def _fetch_again(self, count: int, table: Table, blocks: tuple[Words, ...]) -> NDArray[np.int64]:
        before = self._sums["SUM"] = settled(self.device, "SUM")
        self._sum_settings.clear()
        (words,), right = self._fetch(count, [(table, blocks)])
        if right:
            return words
        found, wanted = _sum(words, blocks), (self._sums["SUM"] - before) % MODULUS
        raise DeviceError(
            f"table {table.name} did not arrive as device {self.device.name!r} has it: the checksum of the {count:,} "
            f"words is 0x{found:08x}, not 0x{wanted:08x}, also when they were read a second time"
        )

    def _fetch(
        self, count: int, parts: Sequence[tuple[Table, tuple[Words, ...]]]
    ) -> tuple[list[NDArray[np.int64]], bool]:
        """Read tables; return them, and whether their checksum agrees with the one that the device computed."""
        fetched = []
        wanted = self._sums["SUM"]
        for table, blocks in parts:
            found = []
            for block in blocks:
                self._start_sum({"SUM_TABLE": table, "SUM_FIRST": block.window, "SUM_COUNT": block.count})
                found.append(read_table(self.device, table, block.count, (Words(block.window, 0, block.count),)))
                # The device must finish this block before it is given the next one.
                settle(self.device)
            # A single block, as for the largest problem of a build, is not copied again.
            words = found[0] if len(found) == 1 else np.concatenate(found)
            wanted += _sum(words, blocks)
            fetched.append(words)
        self._sums["SUM"] = expected(self.device, "SUM", wanted % MODULUS)
        return fetched, self._sums["SUM"] == wanted % MODULUS

    def _start_sum(self, settings: Mapping[str, int]) -> None:
        """Start the checksum of a block on the device; an error in these settings gives a wrong checksum."""
        for name, value in settings.items():
            if self._sum_settings.get(name) != value:
                self.device.write_register(name, value)
                self._sum_settings[name] = value
        self.device.write_register("COMMAND", Command.SUM)


def _sum(words: NDArray[np.int64], blocks: Sequence[Words]) -> int:
    return sum(table_sum(words[part.table : part.table + part.count], part.window) for part in blocks) % MODULUS


def check_supported(device: Device, build: MachineParameters, image: Image) -> None:
    """Check that a device with the parameters ``build`` has the tables that an image needs."""
    single = image.products is None or image.products.single
    needs = {
        "costs of its choices": image.grid.ndim == 2,
        "alternatives or bounds": image.groups is not None and not single,
        "linear utility (eta = 0)": image.constants.linear,
    }
    for what, needed in needs.items():
        if needed and not build.general:
            raise ProblemError(
                f"the problem has {what}, and the build of device {device.name!r} is not general: {WORKAROUND}"
            )
    if image.groups is not None and any(image.groups.shocks):
        assert image.products is not None
        largest = image.products.arrangement.largest
        if largest > TERMS:
            raise ProblemError(
                f"a machine takes the log-sum of at most {TERMS} alternatives of a regime, and the problem with taste "
                f"shocks has {largest}: {WORKAROUND}"
            )


def settled(device: Device, name: str) -> int:
    """Read a checksum register after all checksums are complete; errors as :func:`settle`."""
    settle(device)
    return read_steady(device, name)


def settle(device: Device) -> None:
    """Wait until the device has computed all checksums."""
    last, since = -1, time.monotonic()
    while left := device.read_register("SUMMING"):
        now = time.monotonic()
        if left != last:
            last, since = left, now
        elif now - since >= STUCK_SECONDS:
            raise DeviceTimeoutError(
                f"device {device.name!r} is stuck: register SUMMING, which is 0 when checksums are complete, has been "
                f"{left} for {now - since:.1f} seconds"
            )


def configure(device: Device, settings: Mapping[str, int]) -> None:
    """Write registers and read them back; a register with another value is written a second time."""
    for name, value in settings.items():
        device.write_register(name, value)
    for name, value in settings.items():
        if expected(device, name, value) == value:
            continue
        device.write_register(name, value)
        found = read_steady(device, name)
        if found != value:
            raise DeviceError(
                f"device {device.name!r} has {found} in register {name}, not {value}, also after it was written again"
            )


_ENDED = sum(set(Status) - {Status.BUSY, Status.BAD_CONFIGURATION})
"""Flags that the status of an ended run can have."""


@dataclass(frozen=True)
class Asked:
    """The settings of a run, as written to the registers, with which its report must agree."""

    build: MachineParameters
    points: int
    states: int
    limit: int
    epsilon: int
    horizon: bool
    shift: bool


@dataclass(frozen=True)
class Report:
    """The registers of a device after a run, each read until two readings agree."""

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
        """Return a clause that says which registers contradict each other; empty if none do."""
        # Imported here because it loads all engines.
        from beltline.hw.top.engine_table import ENGINES

        status, sweeps, limit, work = self.status, self.sweeps, asked.limit, asked.points * asked.states
        if self.states_done != sweeps * work:
            return f"{self.states_done:,} states in {sweeps:,} sweeps of {work:,}"
        clocks = ENGINES[asked.build.engine].run_clocks(asked.build, asked.points, asked.states, sweeps)
        if clocks is not None and self.clocks != clocks:
            return f"{self.clocks:,} clocks for {sweeps:,} sweeps, which take {clocks:,}"
        failed = bool(status & (Status.SATURATED | Status.INFEASIBLE))
        reasons = failed + sum(flag in status for flag in (Status.CONVERGED, Status.LIMIT, Status.STOPPED))
        proven = asked.build.is_sweep and not failed
        if reasons != 1 or int(status) & ~_ENDED or (Status.PROVEN in status and not proven):
            return f"its status is {status_text(status)}"
        stopped, tested = Status.STOPPED in status, sweeps > 0 and not asked.horizon
        if (
            sweeps > limit
            or (Status.LIMIT in status and sweeps != limit)
            or (stopped and sweeps == limit)
            or (Status.CONVERGED in status and not tested)
        ):
            return f"it made {sweeps:,} sweeps of at most {limit:,} (status {status_text(status)})"
        # A run does not end with a sweep that extrapolates or evaluates a policy, so it can be stopped after one whose
        # change is below the tolerance.
        below = self.norm < asked.epsilon
        may_continue = asked.shift and stopped
        if tested and not failed and below != (Status.CONVERGED in status) and not may_continue:
            ends = f"where one below {asked.epsilon} ends it (status {status_text(status)})"
            return f"the last change of V is {self.norm}, {ends}"
        return ""
