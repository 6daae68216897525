"""Test whether a device works, for the first use of a board: ``beltline selftest --device NAME``.

Checks build on each other, so that the first one that fails is closest to the fault: identity, registers, every table,
a solve compared with the software model, clocks compared with the formula, the clock frequency compared with this
computer's timer, and the speed of transfers. The driver repeats damaged transfers; here nothing is tried twice.
"""

from __future__ import annotations

import enum
import importlib.util
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from beltline.constraints.board_builds import recorded
from beltline.host import __version__
from beltline.host.devices import Device, DeviceError, DeviceLostError, DeviceTimeoutError, Progress
from beltline.host.devices.base import built_sizes, check_identity
from beltline.host.models.rbc import rbc
from beltline.host.solver.checked import read_table, settle, settled, stop, write_table
from beltline.host.solver.driver import SWEEP_LIMIT_MAX, Driver
from beltline.host.solver.fixed_point import fixed_point
from beltline.host.solver.run import Run
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import (
    READABLE,
    REGISTERS,
    WRITABLE,
    Access,
    Command,
    Mode,
    Register,
    Status,
    Table,
    UtilityForm,
)
from beltline.hw.interface.sums import MODULUS, WRITTEN, table_sum
from beltline.hw.interface.windows import WindowParameters

SIZES = MachineParameters(grid=64, states=4)
"""Sizes of a device that is simulated or emulated for the test."""

POINTS, STATES = 48, 3
"""Size of the problems that are solved, unless the build is smaller."""

SWEEPS = 400
"""Largest number of sweeps of a solve."""

CLOCK_SECONDS = 2.0
"""Seconds over which the clock frequency is measured."""

CLOCK_TOLERANCE = 1e-3
"""Accepted relative error of crystals and timers, beside the uncertainty from the time to read a register."""

SPEED_SECONDS = 0.5
"""Least seconds over which transfers in one direction are measured."""

OFFSETS, COUNTS = range(10), (1, 2, 3, 7, 8, 9, 15, 16, 17)
"""First words and lengths of blocks that are not aligned to a line of eight words."""

STORED = {"INTERRUPT": 1, "MODE": int(Mode.HORIZON), "UTILITY_FORM": UtilityForm(True, True, 63).word}
"""Bits that a register must store, for registers with other bits that are ignored."""


class Verdict(enum.Enum):
    """Outcome of a check."""

    PASSED = "passed"
    FAILED = "FAILED"
    NOT_RUN = "not run"
    INAPPLICABLE = "-"
    """The device has nothing to check."""


@dataclass(frozen=True)
class Check:
    """One line of the report.

    Parameters
    ----------
    name
        What was checked.
    verdict
        Outcome.
    text
        What was found.
    """

    name: str
    verdict: Verdict
    text: str


@dataclass(frozen=True)
class SelfTest:
    """The report of a self-test; as text it can be pasted into an issue.

    Parameters
    ----------
    device
        Name of the device, and the options with which it was opened.
    checks
        All checks in order.
    """

    device: str
    checks: tuple[Check, ...]

    @property
    def success(self) -> bool:
        """Whether every applicable check was made and passed."""
        return all(check.verdict in (Verdict.PASSED, Verdict.INAPPLICABLE) for check in self.checks)

    def __str__(self) -> str:
        versions = f"Python {platform.python_version()}, NumPy {np.__version__}"
        lines = [
            f"beltline selftest {__version__}: device {self.device}",
            f"{platform.system()} {platform.release()}, {platform.machine()}, {versions}",
            "",
        ]
        width = max(len(check.name) for check in self.checks) + 2
        lines += [f"{check.verdict.value:<9}{check.name:<{width}}{check.text}" for check in self.checks]
        lines += ["", self._summary()]
        return "\n".join(lines)

    def _summary(self) -> str:
        parts = []
        for verdict, outcome in ((Verdict.FAILED, "failed"), (Verdict.NOT_RUN, "not run")):
            names = [check.name for check in self.checks if check.verdict is verdict]
            if names:
                parts.append(f"{len(names)} {outcome} ({', '.join(names)})")
        count = sum(check.verdict is not Verdict.INAPPLICABLE for check in self.checks)
        return f"Of {count} checks {' and '.join(parts)}." if parts else f"All {count} checks passed."


class _Wrong(Exception):
    """A check failed."""


class _Inapplicable(Exception):
    """A check does not apply to this device."""


class _Unavailable(Exception):
    """A check cannot be made on this computer."""


def selftest(device: Device, name: str | None = None, progress: Progress | None = None) -> SelfTest:
    """Check ``device`` and return the report. The contents of its tables and settings are lost.

    Parameters
    ----------
    device
        An open and idle device, which stays open.
    name
        What the report calls it; by default its own name.
    progress
        A function that is called with a line of text for each check.

    Returns
    -------
    SelfTest

    Examples
    --------
    >>> from beltline.host.devices import open_device
    >>> report = selftest(open_device("emulator", SIZES))
    >>> report.success, report.checks[0].name
    (True, 'identity')
    """
    tester = _Tester(device)
    checks: list[Check] = []
    lost = ""
    for what, check in tester.checks():
        if lost:
            checks.append(Check(what, Verdict.NOT_RUN, lost))
            continue
        if progress:
            progress(f"checking {what}")
        verdict = Verdict.PASSED
        try:
            text = check()
        except _Inapplicable as reason:
            verdict, text = Verdict.INAPPLICABLE, str(reason)
        except _Unavailable as reason:
            verdict, text = Verdict.NOT_RUN, str(reason)
        except (_Wrong, DeviceError) as error:
            verdict, text = Verdict.FAILED, str(error)
            if what == "identity" or isinstance(error, DeviceLostError | DeviceTimeoutError):
                lost = f"because of {what}"
        checks.append(Check(what, verdict, text))
    return SelfTest(name or repr(device.name), tuple(checks))


def words_of(table: Table, count: int) -> NDArray[np.int64]:
    """Return random words that differ from each other and between tables, so that misplaced words are detected."""
    made = np.random.default_rng(int(table)).integers(-(2**63), 2**63 - 1, count, dtype=np.int64, endpoint=True)
    return np.asarray(made, dtype=np.int64)


def single_bits(count: int, zeros: bool = False) -> NDArray[np.int64]:
    """Return words with a single one at increasing bit positions, or with a single zero."""
    ones = np.uint64(1) << (np.arange(count) % 64).astype(np.uint64)
    return (~ones if zeros else ones).view(np.int64)


def blocks(words: int) -> Iterator[tuple[int, int]]:
    """Yield first word and length of blocks, aligned and not, within a table of ``words`` words."""
    for first in OFFSETS:
        for count in COUNTS:
            if first + count <= words:
                yield first, count


def patterns(register: Register) -> Iterator[int]:
    """Yield values with a single one in each bit that a register must store, all ones, and 0."""
    mask = STORED.get(register.name, (1 << register.bits) - 1)
    for bit in range(register.bits):
        if mask >> bit & 1:
            yield _signed(register, 1 << bit)
    yield _signed(register, mask)
    yield 0


def _signed(register: Register, bits: int) -> int:
    return bits - (1 << register.bits) if bits > register.highest else bits


class _Tester:
    """The checks of one device in order; later checks use the results of earlier ones."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._build: MachineParameters | None = None
        self._runs: list[tuple[Run, Run]] = []

    def checks(self) -> Iterator[tuple[str, Callable[[], str]]]:
        yield "identity", self.identity
        yield "registers", self.registers
        for table in WRITABLE:
            yield f"table {table.name}", lambda table=table: self.table(table)  # type: ignore[misc]
        yield "solve", self.solve
        yield "table POLICY", lambda: self.reads(Table.POLICY)
        yield "clocks", self.clocks
        yield "clock", self.clock
        yield "transfers", self.transfers

    @property
    def build(self) -> MachineParameters:
        assert self._build is not None
        return self._build

    def _words(self, table: Table) -> int:
        return WindowParameters(self.build).words(table)

    def identity(self) -> str:
        device = self.device
        check_identity(device)
        if device.read_register("STATUS") & Status.BUSY:
            # A run that another program left active.
            device.write_register("COMMAND", Command.RESET)
        hertz = device.read_register("CLOCK_HZ")
        self._build = replace(built_sizes(device), clock_hz=hertz)
        build_hash, build = device.read_register("BUILD_HASH"), self._build
        boards = [name for name, known in recorded().items() if known.build_hash == build_hash]
        of = f" ({' or '.join(boards)})" if boards else ""
        shape = f"{build.lanes} lanes" if build.is_sweep else f"fold {build.fold}"
        made_for = f", {hertz:,} Hz" if hertz else ""
        return (
            f"build {build_hash:016x}{of}: {build.engine.name.lower().replace('_', ' ')}, {shape}, "
            f"{build.grid:,} x {build.states}{made_for}"
        )

    def registers(self) -> str:
        device = self.device
        settings = [register for register in REGISTERS.values() if register.access is Access.READ_WRITE]
        before = {register.name: device.read_register(register.name) for register in settings}
        count = 0
        try:
            for register in settings:
                mask = STORED.get(register.name, -1)
                for value in patterns(register):
                    device.write_register(register.name, value)
                    found = device.read_register(register.name)
                    if found & mask != value & mask:
                        raise _Wrong(f"register {register.name} reads 0x{found:x} after 0x{value:x} was written")
                    count += 1
                # A stuck address line writes two registers.
                for other in settings:
                    if other is not register and device.read_register(other.name) != before[other.name]:
                        raise _Wrong(f"register {other.name} changed when {register.name} was written")
                device.write_register(register.name, before[register.name])
        finally:
            for name, value in before.items():
                device.write_register(name, value)
        return f"{len(settings)} registers store {count} values"

    def table(self, table: Table) -> str:
        words = self._words(table)
        for what, written in (
            ("walking ones", single_bits(words)),
            ("walking zeros", single_bits(words, zeros=True)),
            ("random words", words_of(table, words)),
        ):
            self._write(table, 0, written, what)
            self._compare(table, written, what)
        content = words_of(table, words)
        for first, count in blocks(words):
            content[first : first + count] = ~np.roll(content[first : first + count], 1) + first
            self._write(table, first, content[first : first + count], f"block of {count} at word {first}")
        self._compare(table, content, "unaligned blocks")
        if table in READABLE:
            self._read_blocks(table, content)
        seen = "read back" if table in READABLE else "checked by the device's sum, as it cannot be read"
        return f"{words:,} words, aligned and not, {seen}"

    def _write(self, table: Table, first: int, words: NDArray[np.int64], what: str) -> None:
        """Write a block, and compare the device's sum of it with the expected one."""
        device, name = self.device, WRITTEN[table]
        before = settled(device, name)
        write_table_at(device, table, first, words)
        found = (settled(device, name) - before) % MODULUS
        wanted = table_sum(words, first)
        if found != wanted:
            raise _Wrong(f"{what}: the device's sum of the received words is 0x{found:08x}, not 0x{wanted:08x}")

    def _compare(self, table: Table, words: NDArray[np.int64], what: str) -> None:
        """Compare the contents of a table with ``words``, as read and as summed by the device."""
        if table not in READABLE:
            return
        device = self.device
        _same(read_table(device, table, words.size), words, 0, what)
        before = settled(device, "SUM")
        for name, value in (("SUM_TABLE", int(table)), ("SUM_FIRST", 0), ("SUM_COUNT", words.size)):
            device.write_register(name, value)
        device.write_register("COMMAND", Command.SUM)
        settle(device)
        found, wanted = (settled(device, "SUM") - before) % MODULUS, table_sum(words)
        if found != wanted:
            raise _Wrong(f"{what}: the device's sum of the table is 0x{found:08x}, not 0x{wanted:08x}")

    def _read_blocks(self, table: Table, words: NDArray[np.int64]) -> None:
        for first, count in blocks(words.size):
            found = self.device.read_block(table, first, count)
            _same(found, words[first : first + count], first, f"a read of {count} at word {first}")

    def reads(self, table: Table) -> str:
        """Check a table that can only be read: blocks, aligned and not, must have the words of the whole table."""
        if not self._runs:
            raise _Unavailable("needs the solve")
        size = self._runs[-1][1].policy.size
        if self.build.is_sweep:
            size = self._words(table)
            words = read_table(self.device, table, size)
        else:
            words = self._runs[-1][1].policy.reshape(-1).astype(np.int64)
        self._compare(table, words, "the policy of the last solve")
        self._read_blocks(table, words)
        return f"{size:,} words, aligned and not"

    def solve(self) -> str:
        if importlib.util.find_spec("numba") is None:
            raise _Unavailable("needs the Python package numba, for the software model")
        # Imported here because it imports the engines.
        from beltline.host.devices.software_model import open_model

        build = self.build
        points, states = min(POINTS, build.grid), min(STATES, build.states)
        model = Driver(open_model(build))
        sweeps = 0
        driver = Driver(self.device)
        for eta in (2.0, 1.0):
            image = fixed_point(rbc(grid=points, states=states, beta=0.8, eta=eta), 1e-7)
            right, found = (runner.run(image, SWEEPS) for runner in (model, driver))
            for what in ("value", "policy"):
                _same(
                    getattr(found, what).reshape(-1),
                    getattr(right, what).reshape(-1),
                    0,
                    f"{what} at eta = {eta:g}, compared with the software model",
                )
            for what in ("status", "sweeps", "states_done", "norm"):
                if getattr(found, what) != getattr(right, what):
                    raise _Wrong(
                        f"{what} at eta = {eta:g} is {getattr(found, what)!r}, and that of the software model "
                        f"{getattr(right, what)!r}"
                    )
            self._runs.append((found, right))
            sweeps += found.sweeps
        return f"2 problems of {points} x {states} in {sweeps} sweeps, bit by bit as the software model"

    def clocks(self) -> str:
        if not self._runs:
            raise _Unavailable("needs the solve")
        for found, right in self._runs:
            if found.clocks != right.clocks:
                raise _Wrong(f"{found.clocks:,} clocks for {found.sweeps} sweeps, which should take {right.clocks:,}")
        clocks = ", ".join(f"{found.clocks:,}" for found, _ in self._runs)
        return f"{clocks}, as by {'the model' if self.build.is_sweep else 'the formula'}"

    def clock(self) -> str:
        hertz, device = self.build.clock_hz, self.device
        if not hertz:
            raise _Inapplicable("the build has no clock frequency: it is not made for a board")
        if not self._runs:
            raise _Unavailable("needs the solve, whose tables it runs on")
        # No change is below 0, so only the command ends this run.
        for name, value in (("EPSILON", 0), ("SWEEP_LIMIT", SWEEP_LIMIT_MAX)):
            device.write_register(name, value)
        device.write_register("COMMAND", Command.RUN)
        try:
            begun, first, first_read = self._sample()
            while time.perf_counter() - begun < CLOCK_SECONDS:
                if device.wait(0.05):
                    raise _Wrong(f"a run without end has ended (status {self._status()!r})")
            last_begun, last, last_read = self._sample()
        finally:
            stop(device)
        lowest, highest = (last - first) / (last_read - begun), (last - first) / (last_begun - first_read)
        measured = f"{lowest / 1e6:.6g} to {highest / 1e6:.6g} MHz by this computer's timer"
        if not lowest * (1 - CLOCK_TOLERANCE) <= hertz <= highest * (1 + CLOCK_TOLERANCE):
            raise _Wrong(f"{measured}, and the build was made for {hertz / 1e6:.6g} MHz")
        return f"{measured}, made for {hertz / 1e6:.6g} MHz"

    def _sample(self) -> tuple[float, int, float]:
        begun = time.perf_counter()
        clocks = self.device.read_register("CLOCKS")
        return begun, clocks, time.perf_counter()

    def _status(self) -> Status:
        return Status(self.device.read_register("STATUS"))

    def transfers(self) -> str:
        table = Table.V
        words = words_of(table, self._words(table))
        writing = _speed(words.nbytes, lambda: write_table(self.device, table, words))
        found: list[NDArray[np.int64]] = []
        reading = _speed(words.nbytes, lambda: found.append(read_table(self.device, table, words.size)))
        for read in found:
            _same(read, words, 0, "a read at full speed")
        return f"table V, {words.nbytes:,} bytes: {writing / 1e6:.3g} MB/s written, {reading / 1e6:.3g} MB/s read"


def write_table_at(device: Device, table: Table, first: int, words: NDArray[np.int64]) -> None:
    """Write a block; one at the start of the table is written by the driver's transfer function."""
    if first:
        device.write_block(table, first, words)
    else:
        write_table(device, table, words)


def _speed(size: int, move: Callable[[], None]) -> float:
    """Return bytes per second of ``move``, which transfers ``size`` bytes, repeated for some time."""
    moved, begun = 0, time.perf_counter()
    while not moved or time.perf_counter() - begun < SPEED_SECONDS:
        move()
        moved += size
    return moved / (time.perf_counter() - begun)


def _same(found: NDArray[np.int64], wanted: NDArray[np.int64], first: int, what: str) -> None:
    if found.shape != wanted.shape:
        raise _Wrong(f"{what}: {found.size} words were read, not {wanted.size}")
    different = np.flatnonzero(found != wanted)
    if different.size:
        k = int(different[0])
        read, right = int(found[k]) % 2**64, int(wanted[k]) % 2**64
        raise _Wrong(
            f"{what}: {different.size} of {wanted.size} words are wrong; word {first + k} is 0x{read:016x}, not "
            f"0x{right:016x}, so bits 0x{read ^ right:016x} differ"
        )
