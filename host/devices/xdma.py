"""The device ``"xdma"``: a PCIe card with AMD's XDMA bridge, such as the Alveo U250, through files of Linux.

Linux gives access to the memory of a card through files in ``/sys``. The device was written against the kernel's
documentation of these files (``PCI/sysfs-pci``) and the guide of the bridge (PG195), and tested with ordinary files in
their place; it was never used with a card. Neither a driver of the vendor nor the bridge's DMA engines are needed.

Registers are on BAR 0, the bridge's AXI4-Lite master. Tables are on BAR 2, its bypass master, which is prefetchable;
Linux maps it write-combining as ``resource2_wc`` if the processor supports that.
"""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.host.devices.base import Backend, DeviceError, Progress, check_identity
from beltline.host.devices.known_builds import OPTION, check_build, recorded
from beltline.host.devices.lock import BoardLock
from beltline.host.devices.mapped import PcieDevice
from beltline.host.problem.checks import ProblemError, shown
from beltline.hw.interface.builds import Build
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Table

CARDS = Path("/sys/bus/pci/devices")
"""One directory for each function on PCIe."""

VENDOR = "0x10ee"
"""PCI vendor of the cards: AMD, formerly Xilinx."""

REGISTERS_FILE, TABLES_FILES = "resource0", ("resource2_wc", "resource2")
"""Files of the two BARs; for the second, the first file that exists is used."""

REGISTERS_BYTES = 4096


class XdmaDevice(PcieDevice):
    """One card as a :class:`~beltline.host.devices.base.Device`.

    Parameters
    ----------
    directory
        Directory of the card, in ``CARDS``.
    lock
        Lock of the card, released with the device.
    known
        Builds that the card may have, in addition to those that this version of Beltline generates.

    Raises
    ------
    DeviceError
        The memory of the card cannot be mapped, it does not contain the accelerator, or the build is unknown.
    """

    name = "xdma"
    clocks_source = "counted by the gateware on the card"

    def __init__(self, directory: Path, lock: BoardLock | None = None, known: Sequence[Build] = ()) -> None:
        self._lock = lock
        _enable(directory)
        self._registers = np.frombuffer(_mapped(directory / REGISTERS_FILE, REGISTERS_BYTES), dtype="<u4")
        check_identity(self)
        check_build(self, known)
        windows = self.windows()
        needed = windows.offset(Table.POLICY) + 8 * windows.words(Table.POLICY)
        file = next((directory / name for name in TABLES_FILES if (directory / name).exists()), None)
        if file is None:
            raise DeviceError(f"device 'xdma' has no {TABLES_FILES[-1]} in '{directory}': no BAR 2 for its tables")
        self._tables = np.frombuffer(_mapped(file, -(-needed // mmap.PAGESIZE) * mmap.PAGESIZE), dtype=np.int64)

    def _read_word(self, offset: int) -> int:
        return int(self._registers[offset // 4])

    def _write_word(self, offset: int, word: int) -> None:
        self._registers[offset // 4] = word

    def _release(self) -> None:
        # The memory is unmapped when the last reference to it is gone.
        self._registers = np.empty(0, dtype="<u4")
        self._tables: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        if self._lock is not None:
            self._lock.release()


def _enable(directory: Path) -> None:
    """Enable the card's memory, which is disabled as long as no driver uses the card."""
    file = directory / "enable"
    try:
        if file.read_text(encoding="ascii").strip() == "0":
            file.write_text("1", encoding="ascii")
    except OSError as error:
        raise _closed(file, error) from None


def _mapped(file: Path, size: int) -> mmap.mmap:
    try:
        number = os.open(file, os.O_RDWR | os.O_SYNC | os.O_CLOEXEC)
    except OSError as error:
        raise _closed(file, error) from None
    try:
        there = os.fstat(number).st_size
        if there < size:
            raise DeviceError(f"device 'xdma' needs {size} bytes of '{file}', which has {there}")
        return mmap.mmap(number, size)
    except (OSError, ValueError) as error:
        raise DeviceError(f"device 'xdma' cannot map {size} bytes of '{file}': {error}") from None
    finally:
        os.close(number)


def _closed(file: Path, error: OSError) -> DeviceError:
    cure = ": only root may open it" if isinstance(error, PermissionError) else ""
    return DeviceError(f"device 'xdma' cannot open '{file}': {error.strerror}{cure}")


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def places() -> list[tuple[str, str, str]]:
    """Return the vendor's cards on PCIe. Whether one contains the accelerator is checked when it is opened."""
    found = []
    for directory in sorted(CARDS.glob("*")):
        if _text(directory / "vendor") == VENDOR:
            identity = f"{VENDOR[2:]}:{_text(directory / 'device')[2:]}"
            found.append((f"card {directory.name}", f"PCI identity {identity}", ""))
    return found


def missing() -> str:
    """Return why the device cannot be used on this computer, in a few words; empty if it can."""
    return "" if places() else "no AMD card on PCIe"


def open_xdma(
    parameters: MachineParameters | None = None,
    progress: Progress | None = None,
    *,
    card: str | None = None,
    builds: str | os.PathLike[str] | None = None,
) -> XdmaDevice:
    """Open the accelerator on a PCIe card, whose bitstream must be loaded already.

    Parameters
    ----------
    parameters
        Ignored: a card has the sizes of its bitstream.
    progress
        Not called: opening takes no time.
    card
        PCIe address of the card, as in ``"0000:65:00.0"``; not needed if there is only one card of the vendor.
    builds
        File of additional builds (:mod:`beltline.hw.interface.builds`) that the bitstream may have.

    Raises
    ------
    ProblemError
        An option is wrong; nothing was done.
    DeviceInUseError
        Another process uses the card.
    DeviceError
        There is no card, or there are several and none is named; or the card does not contain the accelerator, or the
        build is unknown.
    """
    if card is not None:
        _check_card(card)
    known = recorded(builds)
    if card is None:
        there = [place.removeprefix("card ") for place, *_ in places()]
        if len(there) != 1:
            cure = f"choose one of {', '.join(there)} with option card" if there else "load it and rescan the PCIe bus"
            raise DeviceError(f"device 'xdma' finds {len(there)} AMD cards in '{CARDS}', not one: {cure}")
        card = there[0]
    directory = CARDS / card
    if not directory.is_dir():
        raise DeviceError(f"device 'xdma' finds no card {card} in '{CARDS}'")
    lock = BoardLock(f"xdma-{card.replace(':', '-')}")
    try:
        return XdmaDevice(directory, lock, known)
    except BaseException:
        lock.release()
        raise


def _check_card(card: Any) -> None:
    if not isinstance(card, str) or not re.fullmatch(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", card):
        raise ProblemError(f"card must be a PCIe address, such as '0000:65:00.0', not {shown(card)}")


BACKEND = Backend(
    description="a PCIe card with the XDMA bridge, such as the Alveo U250",
    missing=missing,
    open=open_xdma,
    options={
        "card": "PCIe address, such as 0000:65:00.0 (default: the only card)",
        "builds": OPTION,
    },
    elastic=False,
    places=places,
)
