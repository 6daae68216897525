"""A Zynq-7000 or Zynq UltraScale+ board, through PYNQ.

Written against the package ``pynq`` 2.7 to 4.0 (4.0 dropped Zynq-7000), and tested with a stand-in of its calls: it
never ran on a board. There it needs root, as PYNQ does.

The design has one IP with two AXI slave interfaces, ``s_axi_registers`` and ``s_axi_tables``. Older versions of PYNQ
list such an IP once for each interface, as ``beltline/s_axi_tables``; from 3.0 on one of the two is lost. So addresses
come from ``ip_dict``, and what is not there from the ``.hwh`` file itself.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import mmap
import os
import re
import time
import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from beltline.host.devices.base import Backend, DeviceError, Progress, check_identity
from beltline.host.devices.known_builds import OPTION, check_build, recorded
from beltline.host.devices.lock import BoardLock
from beltline.host.devices.mapped import MappedDevice
from beltline.host.problem.checks import ProblemError, shown, whole
from beltline.hw.interface.builds import Build
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Command, Interrupt, Status, Table

if TYPE_CHECKING:
    # It takes a moment, and only interrupts need it.
    import asyncio

REGISTERS_INTERFACE, TABLES_INTERFACE = "s_axi_registers", "s_axi_tables"
"""Names of the slave interfaces in the block design."""

BITSTREAM = "beltline.bit"
"""What is loaded by default: PYNQ looks in the current directory and in the overlays that are installed."""

REGISTERS_BYTES = 4096

INTERRUPT_PATIENCE = 0.1
"""Seconds of waiting for an interrupt after which the status is looked at all the same: one that never comes, because
another event loop has it, costs time and nothing else."""

CLOCK_TOLERANCE = 1e-3
"""Largest difference, as a share, between the clock that PYNQ set and the build's: dividers are whole numbers."""

FPGA_MANAGER = Path("/sys/class/fpga_manager/fpga0")
"""Through which PYNQ loads bitstreams."""


class PynqDevice(MappedDevice):
    """A board as a :class:`~beltline.host.devices.base.Device`.

    Parameters
    ----------
    pynq
        The package.
    registers, tables
        Byte addresses of the two interfaces.
    tables_bytes
        What is mapped behind the second one at most; 0 if that is not known.
    interrupt
        Pin to wait for, as in ``"beltline/interrupt"``; empty for polling.
    lock
    known
        Builds that it may be, besides those of the boards.

    Raises
    ------
    DeviceError
        No Beltline is at these addresses, or not all of its tables, or it is of a build that is not known.
    """

    name = "pynq"
    clocks_source = "counted by the gateware on the board"

    def __init__(
        self,
        pynq: Any,
        registers: int,
        tables: int,
        tables_bytes: int = 0,
        interrupt: str = "",
        lock: BoardLock | None = None,
        known: Sequence[Build] = (),
    ) -> None:
        self._lock = lock
        self._registers = pynq.MMIO(registers, REGISTERS_BYTES)
        self._interrupt: Any = None
        check_identity(self)
        check_build(self, known)
        windows = self.windows()
        needed = windows.offset(Table.POLICY) + 8 * windows.words(Table.POLICY)
        needed = -(-needed // mmap.PAGESIZE) * mmap.PAGESIZE
        if 0 < tables_bytes < needed:
            raise DeviceError(
                f"device 'pynq' has tables of {needed} bytes, but its design maps {tables_bytes} at 0x{tables:X}"
            )
        array = pynq.MMIO(tables, needed).array
        if not isinstance(array, np.ndarray):
            raise DeviceError(f"device 'pynq' is not mapped into memory here: MMIO gives a {type(array).__name__}")
        self._tables = array.view(np.int64)
        if interrupt:
            self._interrupt = _loop().run_until_complete(_made(pynq, interrupt))

    def _read_word(self, offset: int) -> int:
        return int(self._registers.read(offset))

    def _write_word(self, offset: int, word: int) -> None:
        self._registers.write(offset, int(word))

    def write_register(self, name: str, value: int) -> None:
        """Write a whole quantity; with an interrupt in use, a run is started with the interrupt enabled."""
        starting = self._interrupt is not None and name == "COMMAND" and value & Command.RUN
        if starting and not self.read_register("STATUS") & Status.BUSY:
            super().write_register("INTERRUPT", Interrupt.ENABLE)
        super().write_register(name, value)

    def wait(self, seconds: float) -> bool:
        if self._interrupt is None or _loop_runs():
            return super().wait(seconds)
        end = time.monotonic() + seconds
        while self.read_register("STATUS") & Status.BUSY:
            left = end - time.monotonic()
            if left <= 0:
                return False
            _loop().run_until_complete(_within(self._interrupt, min(left, INTERRUPT_PATIENCE)))
        return True

    def _release(self) -> None:
        # The mappings go with their last reference.
        self._registers = self._interrupt = None
        self._tables = np.empty(0, dtype=np.int64)
        if self._lock is not None:
            self._lock.release()


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    """The loop of all interrupts: PYNQ ties each line to the loop that first asks for it, and keeps it there."""
    import asyncio

    return asyncio.new_event_loop()


def _loop_runs() -> bool:
    """Whether this thread runs an event loop, as a notebook does; another cannot run beside it."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def check_clock(pynq: Any, device: PynqDevice) -> None:
    """Compare the clock that the board gives the fabric, as PYNQ reads it, with the one that the build was made for.

    Warns
    -----
    RuntimeWarning
        It is slower, so that times are longer than those of the documentation, or PYNQ cannot say.

    Raises
    ------
    DeviceError
        It is faster: the chip's timing was met at the build's clock and at no faster one.
    """
    built = device.read_register("CLOCK_HZ")
    if not built:
        return
    try:
        hertz = 1e6 * float(pynq.Clocks.fclk0_mhz)
    except Exception as error:
        # PYNQ raises errors of all kinds.
        warnings.warn(f"device 'pynq': PYNQ cannot say which clock the fabric has: {error}", RuntimeWarning, 3)
        return
    if abs(hertz - built) <= CLOCK_TOLERANCE * built:
        return
    said = f"device 'pynq' has a clock of {hertz / 1e6:.6g} MHz, and its build was made for {built / 1e6:.6g} MHz"
    if hertz > built:
        raise DeviceError(f"{said}: load the bitstream with its .hwh file beside it, by which PYNQ sets the clock")
    warnings.warn(f"{said}: runs take longer", RuntimeWarning, 3)


async def _made(pynq: Any, pin: str) -> Any:
    return pynq.Interrupt(pin)


async def _within(interrupt: Any, seconds: float) -> None:
    import asyncio

    try:
        await asyncio.wait_for(interrupt.wait(), seconds)
    # Until Python 3.11 another class than the built-in one.
    except asyncio.TimeoutError:
        return


def hwh_ranges(path: Path, interface: str) -> set[tuple[int, int]]:
    """Byte address and bytes of all slave interfaces of that name in a hardware handoff file.

    Raises
    ------
    DeviceError
        There is no such file, or it is none.
    """
    try:
        root = ElementTree.parse(path).getroot()
        return {
            (
                int(part.attrib["BASEVALUE"], 16),
                int(part.attrib["HIGHVALUE"], 16) - int(part.attrib["BASEVALUE"], 16) + 1,
            )
            for part in root.iter("MEMRANGE")
            if part.get("SLAVEBUSINTERFACE", "").casefold() == interface
        }
    except (OSError, ElementTree.ParseError, KeyError, ValueError) as error:
        raise DeviceError(f"hardware handoff '{path}' cannot be read: {error}") from None


def address(overlay: Any, interface: str) -> tuple[int, int]:
    """Byte address and bytes of a slave interface of an overlay.

    Raises
    ------
    DeviceError
        It has none of that name, or more than one.
    """
    # A window that Vivado takes for memory is in mem_dict, which not every version has.
    entries = [*overlay.ip_dict.values(), *getattr(overlay, "mem_dict", {}).values()]
    found = {
        (int(entry["phys_addr"]), int(entry["addr_range"]))
        for entry in entries
        if str(entry.get("mem_id", "")).casefold() == interface and "phys_addr" in entry
    }
    handoff = Path(overlay.bitfile_name).with_suffix(".hwh")
    if not found:
        found = hwh_ranges(handoff, interface)
    if len(found) != 1:
        addresses = ", ".join(f"0x{at:X}" for at, _ in sorted(found))
        raise DeviceError(
            f"overlay '{overlay.bitfile_name}' has "
            + (f"{len(found)} interfaces {interface} ({addresses})" if found else f"no interface {interface}")
            + ", not one: give registers= and tables="
        )
    return found.pop()


def missing() -> str:
    """What the device lacks here, in a few words."""
    if importlib.util.find_spec("pynq") is None:
        return "package not installed"
    return "" if FPGA_MANAGER.exists() else f"no board: there is no {FPGA_MANAGER}"


def ready() -> list[dict[str, Any]]:
    """The board, where the default bitstream lies in the current directory: nothing else says what is to run in it."""
    return [{}] if not missing() and Path(BITSTREAM).exists() else []


def open_pynq(
    parameters: MachineParameters | None = None,
    progress: Progress | None = None,
    *,
    bitstream: str | os.PathLike[str] = BITSTREAM,
    registers: int | None = None,
    tables: int | None = None,
    download: bool = True,
    interrupt: str = "",
    builds: str | os.PathLike[str] | None = None,
) -> PynqDevice:
    """Load a bitstream and open the machine in it. Its sizes are its own; ``parameters`` is not looked at.

    Parameters
    ----------
    parameters, progress
    bitstream
        With its ``.hwh`` file beside it; without, where both addresses are given. Clocks are then what they were.
    registers, tables
        Byte addresses of the two interfaces, by default those of the design.
    download
        False if the bitstream is loaded already.
    interrupt
        Pin to wait for, as in ``"beltline/interrupt"``; by default the status is polled.
    builds
        File of builds (:mod:`beltline.hw.interface.builds`) that the bitstream may be of, besides those of the boards.

    Raises
    ------
    ProblemError
        An option is wrong; nothing was done.
    DeviceInUseError
        Another process has the board.
    DeviceError
        There is no PYNQ, no board, or no Beltline in the bitstream, or one of a build that is not known.
    """
    if not isinstance(bitstream, str | os.PathLike):
        raise ProblemError(f"bitstream must be the path of a file, not {shown(bitstream)}")
    if not isinstance(download, bool):
        raise ProblemError(f"download must be True or False, not {shown(download)}")
    if not isinstance(interrupt, str):
        raise ProblemError(f"interrupt must be the name of a pin, such as 'beltline/interrupt', not {shown(interrupt)}")
    if (registers is None) != (tables is None):
        raise ProblemError(f"{'tables' if tables is None else 'registers'} must be given where the other address is")
    given: list[int] = []
    for name, value in (("registers", registers), ("tables", tables)):
        if value is not None:
            wanted = f"a byte address, a multiple of {mmap.PAGESIZE}"
            given.append(whole(name, value, wanted, lambda v: v >= 0 and v % mmap.PAGESIZE == 0))
    known = recorded(builds)
    try:
        pynq = importlib.import_module("pynq")
    except ImportError as error:
        raise DeviceError(f"device 'pynq' needs the Python package {error.name}, which is not installed") from error
    try:
        board = str(pynq.Device.active_device.tag)
    except Exception as error:
        raise DeviceError(f"device 'pynq' finds no board: {error}") from error
    lock = BoardLock("pynq-" + re.sub(r"[^\w.-]", "-", board, flags=re.ASCII))
    try:
        if progress:
            progress(f"loading '{os.fspath(bitstream)}'" if download else f"opening '{os.fspath(bitstream)}'")
        size = 0
        if given:
            if download:
                pynq.Bitstream(os.fspath(bitstream)).download()
            at, tables_at = given
        else:
            overlay = pynq.Overlay(os.fspath(bitstream), download=download)
            at, _ = address(overlay, REGISTERS_INTERFACE)
            tables_at, size = address(overlay, TABLES_INTERFACE)
        device = PynqDevice(pynq, at, tables_at, size, interrupt, lock, known)
        check_clock(pynq, device)
        return device
    except (DeviceError, ProblemError):
        lock.release()
        raise
    except Exception as error:
        # PYNQ raises errors of all kinds, of its own and of what it calls.
        lock.release()
        raise DeviceError(f"device 'pynq' cannot be opened with '{os.fspath(bitstream)}': {error}") from error
    except BaseException:
        lock.release()
        raise


BACKEND = Backend(
    description="a Zynq-7000 or Zynq UltraScale+ board, through PYNQ",
    missing=missing,
    open=open_pynq,
    options={
        "bitstream": f"path of the bitstream, its .hwh file beside it (default {BITSTREAM})",
        "registers": "byte address of the registers, where there is no .hwh file",
        "tables": "byte address of the tables, likewise",
        "download": "False if the bitstream is loaded already",
        "interrupt": "pin to wait for, as in beltline/interrupt; by default the status is polled",
        "builds": OPTION,
    },
    elastic=False,
    ready=ready,
)
