"""The device ``"pynq"``: a Zynq-7000 or Zynq UltraScale+ board, through PYNQ.

It was written against the package ``pynq`` 2.7 to 4.0 (4.0 dropped Zynq-7000) and tested with a substitute for its
functions; it never ran on a board. On a board it needs root, as PYNQ does.

The design has one IP with two AXI slave interfaces, ``s_axi_registers`` and ``s_axi_tables``. Older versions of PYNQ
list such an IP once for each interface, as ``beltline/s_axi_tables``; from 3.0 on they list only one of the two.
Therefore addresses are taken from ``ip_dict`` or, if missing there, from the ``.hwh`` file itself.
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
from beltline.host.problem.checks import ProblemError, flag, missing_package, path_of, pip_install, shown, whole
from beltline.hw.interface.builds import Build
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Command, Interrupt, Status, Table

if TYPE_CHECKING:
    # Not imported at run time: it takes a moment, and only interrupts need it.
    import asyncio

REGISTERS_INTERFACE, TABLES_INTERFACE = "s_axi_registers", "s_axi_tables"
"""Names of the slave interfaces in the block design."""

BITSTREAM = "beltline.bit"
"""Default bitstream; PYNQ looks for it in the current directory and among the installed overlays."""

REGISTERS_BYTES = 4096

INTERRUPT_SECONDS = 0.1
"""Seconds of waiting for an interrupt after which the status is read anyway. So an interrupt that never arrives,
because another event loop receives it, only costs time."""

CLOCK_TOLERANCE = 1e-3
"""Largest relative difference between the clock frequency that PYNQ has set and that of the build. They may differ
because clock dividers are whole numbers."""

FPGA_MANAGER = Path("/sys/class/fpga_manager/fpga0")
"""The kernel interface through which PYNQ loads bitstreams; it exists on boards only."""


class PynqDevice(MappedDevice):
    """A board as a :class:`~beltline.host.devices.base.Device`.

    Parameters
    ----------
    pynq
        The package.
    registers, tables
        Byte addresses of the two interfaces.
    tables_bytes
        Size of the second interface in bytes; 0 if it is not known.
    interrupt
        Name of the interrupt pin to wait for, such as ``"beltline/interrupt"``; empty to poll the status.
    lock
        Lock of the board, released with the device.
    known
        Builds that the board may have, in addition to those that this version of Beltline generates.

    Raises
    ------
    DeviceError
        There is no accelerator at these addresses, its tables do not fit the second interface, or its build is unknown.
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
        """Write the value of a register; if an interrupt is used, it is enabled before a run starts."""
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
            _loop().run_until_complete(_within(self._interrupt, min(left, INTERRUPT_SECONDS)))
        return True

    def _release(self) -> None:
        # The memory is unmapped when the last reference to it is gone.
        self._registers = self._interrupt = None
        self._tables = np.empty(0, dtype=np.int64)
        if self._lock is not None:
            self._lock.release()


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of all interrupts. PYNQ binds an interrupt to the loop that first uses it, permanently."""
    import asyncio

    return asyncio.new_event_loop()


def _loop_runs() -> bool:
    """Return whether this thread runs an event loop, as a notebook does; then no other loop can run in it."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def check_clock(pynq: Any, device: PynqDevice) -> None:
    """Compare the clock frequency of the programmable logic, as PYNQ reads it, with that of the build.

    Warns
    -----
    RuntimeWarning
        The clock is slower, so that runs take longer than documented, or PYNQ cannot read its frequency.

    Raises
    ------
    DeviceError
        The clock is faster than the one for which the timing of the build was checked.
    """
    built = device.read_register("CLOCK_HZ")
    if not built:
        return
    try:
        hertz = 1e6 * float(pynq.Clocks.fclk0_mhz)
    except Exception as error:
        # PYNQ raises errors of all kinds.
        warnings.warn(
            f"device 'pynq': PYNQ cannot read the clock frequency of the programmable logic: {error}", RuntimeWarning, 3
        )
        return
    if abs(hertz - built) <= CLOCK_TOLERANCE * built:
        return
    found = f"device 'pynq' has a clock of {hertz / 1e6:.6g} MHz, and its build was made for {built / 1e6:.6g} MHz"
    if hertz > built:
        raise DeviceError(f"{found}: load the bitstream with its .hwh file beside it, by which PYNQ sets the clock")
    warnings.warn(f"{found}: runs take longer", RuntimeWarning, 3)


async def _made(pynq: Any, pin: str) -> Any:
    return pynq.Interrupt(pin)


async def _within(interrupt: Any, seconds: float) -> None:
    import asyncio

    try:
        await asyncio.wait_for(interrupt.wait(), seconds)
    # Before Python 3.11 this is not the built-in TimeoutError.
    except asyncio.TimeoutError:
        return


def hwh_ranges(path: Path, interface: str) -> set[tuple[int, int]]:
    """Return byte address and size of all slave interfaces of this name in a hardware handoff file (``.hwh``).

    Raises
    ------
    DeviceError
        The file does not exist or is not such a file.
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
    """Return byte address and size of a slave interface of an overlay.

    Raises
    ------
    DeviceError
        The overlay has no interface of this name, or several.
    """
    # An interface that Vivado treats as memory is in mem_dict, which not every version of PYNQ has.
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
            + ", not one: pass the addresses as registers= and tables="
        )
    return found.pop()


def missing() -> str:
    """Return why the device cannot be used on this computer, in a few words; empty if it can."""
    if importlib.util.find_spec("pynq") is None:
        return f"package pynq not installed: {pip_install('pynq')}"
    return "" if FPGA_MANAGER.exists() else f"no board: there is no {FPGA_MANAGER}"


def ready() -> list[dict[str, Any]]:
    """Return the options of the board if the default bitstream is in the current directory, else an empty list."""
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
    """Load a bitstream into the board and open the accelerator in it.

    Parameters
    ----------
    parameters
        Ignored: a board has the sizes of its bitstream.
    progress
        Called with lines of progress.
    bitstream
        Path of the bitstream, with its ``.hwh`` file beside it. If both addresses are given, the ``.hwh`` file is not
        needed, and clock frequencies are left unchanged.
    registers, tables
        Byte addresses of the two interfaces, by default those in the ``.hwh`` file.
    download
        False if the bitstream is loaded already.
    interrupt
        Name of the interrupt pin to wait for, such as ``"beltline/interrupt"``; by default the status is polled.
    builds
        File of additional builds (:mod:`beltline.hw.interface.builds`) that the bitstream may have.

    Raises
    ------
    ProblemError
        An option is wrong; nothing was done.
    DeviceInUseError
        Another process uses the board.
    DeviceError
        PYNQ or the board is missing, the bitstream does not contain the accelerator, or its build is unknown.
    """
    bitstream = path_of("bitstream", bitstream, "the path of a file")
    download = flag("download", download)
    if not isinstance(interrupt, str):
        raise ProblemError(f"interrupt must be the name of a pin, such as 'beltline/interrupt', not {shown(interrupt)}")
    if (registers is None) != (tables is None):
        raise ProblemError(f"{'tables' if tables is None else 'registers'} must be given if the other address is given")
    given: list[int] = []
    for name, value in (("registers", registers), ("tables", tables)):
        if value is not None:
            wanted = f"a byte address, a multiple of {mmap.PAGESIZE}"
            given.append(whole(name, value, wanted, lambda v: v >= 0 and v % mmap.PAGESIZE == 0))
    known = recorded(builds)
    try:
        pynq = importlib.import_module("pynq")
    except ImportError as error:
        raise DeviceError(missing_package("device 'pynq'", str(error.name), "pynq")) from error
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
        # PYNQ raises errors of all kinds, its own and those of other packages.
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
        "bitstream": f"path of the bitstream, with its .hwh file beside it (default {BITSTREAM})",
        "registers": f"byte address of the registers, a multiple of {mmap.PAGESIZE}; needs tables= (default: that in "
        "the .hwh file)",
        "tables": f"byte address of the tables, a multiple of {mmap.PAGESIZE}; needs registers= (default: that in "
        "the .hwh file)",
        "download": "true or false: whether to load the bitstream; false if it is loaded already (default true)",
        "interrupt": "interrupt pin to wait for, such as beltline/interrupt (default: poll the status)",
        "builds": OPTION,
    },
    elastic=False,
    ready=ready,
)
