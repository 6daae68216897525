"""The device ``"emulator"``: the accelerator emulated bit for bit, with its registers and table windows."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from beltline.host.devices.base import (
    Backend,
    DeviceError,
    Progress,
    check_block,
    check_words,
    encoded,
    register_named,
)
from beltline.host.devices.made import OPTIONS, check_options, made
from beltline.hw.interface.layout import Layout
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import (
    IDENTITY,
    READABLE,
    REGISTERS,
    VERSION,
    Access,
    Command,
    Mode,
    Refused,
    Status,
    Table,
)
from beltline.hw.interface.sums import MODULUS, WRITTEN, table_sum
from beltline.hw.interface.windows import WindowParameters

if TYPE_CHECKING:
    from beltline.hw.control.software_machine import SoftwareMachine


class ModelDevice:
    """A :class:`~beltline.host.devices.base.Device` with the registers, tables and results of the gateware.

    Commands act at once. A run makes progress only inside :meth:`wait`, one whole sweep at a time.

    Parameters
    ----------
    machine
        The emulated engine with its tables, which are in table order. If the engine has no lanes, these tables are the
        windows. Otherwise they are filled from the windows when a run begins, and the results are written to the
        windows when it has ended.
    build
        Parameters of the build, by default ``machine.parameters``.
    """

    name = "emulator"

    def __init__(self, machine: SoftwareMachine, build: MachineParameters | None = None) -> None:
        self._machine = machine
        self.clocks_source = machine.clocks_source
        self._build = build or machine.parameters
        self._constants = {"IDENTITY": IDENTITY, "VERSION": VERSION, "BUILD_HASH": 0} | self._build.reported
        self._windows = WindowParameters(self._build)
        self._tables: dict[Table, NDArray[Any]] = {
            Table.X: machine.x,
            Table.W: machine.w,
            Table.Q: machine.q,
            Table.V: machine.v,
            Table.POLICY: machine.policy,
        }
        self._in_lanes = self._build.is_sweep
        if self._in_lanes:
            self._tables = {t: np.zeros(self._windows.words(t), words.dtype) for t, words in self._tables.items()}
        self._layout: Layout | None = None
        self._refused = Refused(0)
        self._closed = False
        self._settings = {name: 0 for name, register in REGISTERS.items() if register.access is Access.READ_WRITE}
        self._sums = dict.fromkeys((*WRITTEN.values(), "SUM", "SUMMING"), 0)

    def read_register(self, name: str) -> int:
        register_named(name, Access.WRITE)
        self._check_open()
        if name in self._constants:
            return self._constants[name]
        if name in self._settings:
            return self._settings[name]
        if name in self._sums:
            return self._sums[name]
        machine = self._machine
        counters = {
            "STATUS": machine.status,
            "REFUSED": self._refused,
            "CLOCKS": machine.clocks,
            "SWEEPS": machine.sweeps,
            "STATES_DONE": machine.states_done,
            "NORM": machine.norm,
        }
        return int(counters[name])

    def write_register(self, name: str, value: int) -> None:
        encoded(register_named(name, Access.READ), value)
        self._check_open()
        if name == "COMMAND":
            self._command(Command(value & sum(Command)))
            return
        self._check_idle(f"register {name}", Refused.REGISTER)
        self._settings[name] = value

    def write_block(self, table: Table, first: int, words: NDArray[np.int64]) -> None:
        check_words(words)
        self._check_open()
        check_block(self._windows, table, first, words.size, writing=True)
        self._check_idle(f"table {table.name}", Refused.TABLE)
        window = self._window(table)
        window[first : first + words.size] = words.view(window.dtype)
        self._add(WRITTEN[table], words, first)

    def read_block(self, table: Table, first: int, count: int) -> NDArray[np.int64]:
        self._check_open()
        check_block(self._windows, table, first, count, writing=False)
        self._check_idle(f"table {table.name}", Refused(0))
        return self._words(table, first, count)

    def _words(self, table: Table, first: int, count: int) -> NDArray[np.int64]:
        part = self._window(table)[first : first + count]
        return part.view(np.int64).copy() if part.itemsize == 8 else part.astype(np.int64)

    def _add(self, name: str, words: NDArray[np.int64], first: int) -> None:
        """Add the checksum of words to a register, as the gateware does."""
        self._sums[name] = (self._sums[name] + table_sum(words, first)) % MODULUS

    def wait(self, seconds: float) -> bool:
        self._check_open()
        end = time.monotonic() + seconds
        while self._busy and not self._machine.step() and time.monotonic() < end:
            pass
        self._publish()
        return not self._busy

    def close(self) -> None:
        """Close the device. Closing twice is fine; any other use of a closed device raises ``DeviceError``."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise DeviceError(f"device {self.name!r} is closed")

    @property
    def _busy(self) -> bool:
        return bool(self._machine.status & Status.BUSY)

    def _check_idle(self, what: str, flag: Refused) -> None:
        if self._busy:
            self._refused |= flag
            raise DeviceError(f"device {self.name!r} is busy, and {what} cannot be accessed until its run has ended")

    def _window(self, table: Table) -> NDArray[Any]:
        return self._tables[table]

    def _fill(self) -> None:
        """Copy the problem from the windows to the tables of the engine."""
        machine, build = self._machine, self._build
        grid, states = self._settings["GRID"], self._settings["STATES"]
        if not self._in_lanes or not (2 <= grid <= build.grid and 1 <= states <= build.states):
            return
        self._layout = Layout(build, grid, states)
        given = self._tables[Table.Q].reshape(len(machine.matrices), -1)
        for matrix, words in zip(machine.matrices, given, strict=True):
            matrix[:] = words
        tables = [(Table.X, machine.x), (Table.W, machine.w), (Table.V, machine.v)]
        copied = [(table, words, self._layout.blocks(table)) for table, words in tables]
        if machine.bounds is not None:
            copied.append((Table.X, machine.bounds, self._layout.bounds))
        for table, words, blocks in copied:
            for part in blocks:
                words[part.table : part.table + part.count] = part.of(self._tables[table])

    def _publish(self) -> None:
        """Copy the results of a run that has ended to the windows."""
        if self._layout is None or self._busy:
            return
        machine = self._machine
        for table, words in ((Table.V, machine.v), (Table.POLICY, machine.policy)):
            # Before the first sweep the policy is that of another problem.
            if table is Table.V or machine.sweeps:
                for part in self._layout.blocks(table):
                    part.of(self._tables[table])[:] = words[part.table : part.table + part.count]
        self._layout = None

    def _command(self, command: Command) -> None:
        if Command.RESET in command:
            self._machine.reset()
            self._refused = Refused(0)
            self._layout = None
            return
        if Command.STOP in command and self._busy:
            self._machine.stop()
        if Command.SUM in command and not self._busy and Command.RUN not in command:
            table, first, count = (self._settings[f"SUM_{what}"] for what in ("TABLE", "FIRST", "COUNT"))
            if table in READABLE:
                self._add("SUM", self._words(Table(table), first, count), first)
        if Command.RUN in command and not self._busy:
            # Imported here because it loads compiled code, which a list of devices does not need.
            from beltline.hw.arithmetic.utility_constants import UtilityConstants

            settings = self._settings
            self._fill()
            self._machine.start(
                grid=settings["GRID"],
                states=settings["STATES"],
                mode=Mode(settings["MODE"]),
                sweep_limit=settings["SWEEP_LIMIT"],
                epsilon=settings["EPSILON"],
                constants=UtilityConstants.from_registers(settings, self._machine.parameters.general),
            )
            self._publish()


def open_model(
    parameters: MachineParameters | None,
    progress: Progress | None = None,
    *,
    fold: int | None = None,
    evaluators: int | None = None,
    lanes: int | None = None,
    general: int | None = None,
) -> ModelDevice:
    """Open the emulator: the bit-exact software model of an accelerator.

    Parameters
    ----------
    parameters
        Sizes; by default 65,536 grid points and 4 exogenous states.
    progress
        Called with lines of progress.
    fold, evaluators, lanes, general
        Options of the build, which ``beltline.host.devices.made.OPTIONS`` describes.
    """
    if progress:
        progress("preparing the software model (it is compiled once and cached)")
    build = made(parameters or MachineParameters(), fold, evaluators, lanes, general)
    from beltline.hw.top.engine_table import ENGINES

    return ModelDevice(ENGINES[build.engine].software(build), build)


BACKEND = Backend(
    description="the bit-exact software model, compiled",
    missing=lambda: "",
    open=open_model,
    options=OPTIONS,
    elastic=True,
    check=check_options,
)
