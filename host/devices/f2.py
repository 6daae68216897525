"""The device ``"f2"``: an FPGA card of AWS F2 (VU47P), through the library ``libfpga_mgmt.so`` of the AWS FPGA SDK.

The library is called by ctypes. It was written against the headers of SDK 2.0.2 and tested with a substitute for its
functions; it never ran on an instance.

Registers are on OCL (AXI4-Lite, ``APP_PF_BAR0``), accessed by ``fpga_pci_peek`` and ``fpga_pci_poke``. Tables are on
PCIS (512-bit AXI4, ``APP_PF_BAR4``), mapped into memory and copied by NumPy; the library's ``fpga_pci_write_burst``
stores only four bytes at a time and has no counterpart for reading. The mapping is write-combining if the shell allows
it: the processor then combines stores to bursts of 64 bytes, one beat of the bus, and may delay them, which
:class:`beltline.host.devices.mapped.PcieDevice` takes into account. Reading is slow on any such mapping: each load is a
round trip over PCIe.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.host.devices.base import Backend, DeviceError, Progress, check_identity
from beltline.host.devices.known_builds import OPTION, check_build, recorded
from beltline.host.devices.lock import BoardLock
from beltline.host.devices.mapped import PcieDevice
from beltline.host.problem.checks import ProblemError, shown, whole
from beltline.hw.interface.builds import Build
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Table

LIBRARY = "libfpga_mgmt.so"

FPGA_SLOT_MAX = 8
FPGA_APP_PF, FPGA_MGMT_PF, FPGA_PF_MAX = 0, 1, 2
APP_PF_BAR0, APP_PF_BAR4 = 0, 4
FPGA_BAR_PER_PF_MAX = 5
BURST_CAPABLE = 1
AFI_ID_STR_MAX = 64
FPGA_STATUS_LOADED = 0
FPGA_ERR_PCI_MISSING = 20
METRICS_BYTES = 504

IDENTITY, SUBSYSTEM = (0x1D0F, 0xF0BE), (0xFEDC, 0x1D51)
"""PCI vendor and device of Beltline's function and of its subsystem, as in ``constraints/cl_id_defines.vh``."""


class ResourceMap(ctypes.Structure):
    """``struct fpga_pci_resource_map``: the address of a physical function, and its base address registers."""

    _pack_ = 1
    _fields_ = (
        ("vendor_id", ctypes.c_uint16),
        ("device_id", ctypes.c_uint16),
        ("subsystem_device_id", ctypes.c_uint16),
        ("subsystem_vendor_id", ctypes.c_uint16),
        ("domain", ctypes.c_uint16),
        ("bus", ctypes.c_uint8),
        ("dev", ctypes.c_uint8),
        ("func", ctypes.c_uint8),
        ("resource_burstable", ctypes.c_bool * FPGA_BAR_PER_PF_MAX),
        ("resource_size", ctypes.c_uint64 * FPGA_BAR_PER_PF_MAX),
    )


class SlotSpec(ctypes.Structure):
    """``struct fpga_slot_spec``."""

    _pack_ = 1
    _fields_ = (("map", ResourceMap * FPGA_PF_MAX),)


class MetaIds(ctypes.Structure):
    """``struct fpga_meta_ids``."""

    _pack_ = 1
    _fields_ = (("afi_id", ctypes.c_char * AFI_ID_STR_MAX), ("afi_device_ids", ctypes.c_uint16 * 4))


class ImageInfo(ctypes.Structure):
    """``struct fpga_mgmt_image_info``."""

    _fields_ = (
        ("status", ctypes.c_int),
        ("status_q", ctypes.c_int),
        ("slot_id", ctypes.c_int),
        ("ids", MetaIds),
        ("spec", SlotSpec),
        ("sh_version", ctypes.c_uint32),
        ("metrics", ctypes.c_uint8 * METRICS_BYTES),
        # Other releases write more metrics, for which there must be space.
        ("reserved", ctypes.c_uint8 * 1024),
    )


PROTOTYPES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "fpga_mgmt_init": (ctypes.c_int, ()),
    "fpga_mgmt_close": (ctypes.c_int, ()),
    "fpga_mgmt_strerror": (ctypes.c_char_p, (ctypes.c_int,)),
    "fpga_mgmt_get_status_name": (ctypes.c_char_p, (ctypes.c_int,)),
    "fpga_mgmt_describe_local_image": (
        ctypes.c_int,
        (ctypes.c_int, ctypes.POINTER(ImageInfo), ctypes.c_uint32),
    ),
    "fpga_mgmt_load_local_image_sync": (
        ctypes.c_int,
        (ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.POINTER(ImageInfo)),
    ),
    "fpga_mgmt_clear_local_image_sync": (
        ctypes.c_int,
        (ctypes.c_int, ctypes.c_uint32, ctypes.c_uint32, ctypes.POINTER(ImageInfo)),
    ),
    "fpga_pci_init": (ctypes.c_int, ()),
    "fpga_pci_get_all_slot_specs": (ctypes.c_int, (ctypes.POINTER(SlotSpec), ctypes.c_int)),
    "fpga_pci_get_resource_map": (ctypes.c_int, (ctypes.c_int, ctypes.c_int, ctypes.POINTER(ResourceMap))),
    "fpga_pci_attach": (
        ctypes.c_int,
        (ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_uint32, ctypes.POINTER(ctypes.c_int)),
    ),
    "fpga_pci_detach": (ctypes.c_int, (ctypes.c_int,)),
    "fpga_pci_peek": (ctypes.c_int, (ctypes.c_int, ctypes.c_uint64, ctypes.POINTER(ctypes.c_uint32))),
    "fpga_pci_poke": (ctypes.c_int, (ctypes.c_int, ctypes.c_uint64, ctypes.c_uint32)),
    "fpga_pci_get_address": (
        ctypes.c_int,
        (ctypes.c_int, ctypes.c_uint64, ctypes.c_uint64, ctypes.POINTER(ctypes.c_void_p)),
    ),
}
"""The functions of the library that are used, with the types of their results and arguments."""


def library() -> Any:
    """Load the FPGA library and declare its functions.

    Raises
    ------
    DeviceError
        The library is not installed, or lacks a function.
    """
    try:
        loaded = ctypes.CDLL(LIBRARY)
    except OSError:
        raise DeviceError(
            f"device 'f2' needs {LIBRARY} of the AWS FPGA SDK, which was not found: source its sdk_setup.sh"
        ) from None
    for name, (result, arguments) in PROTOTYPES.items():
        try:
            function = getattr(loaded, name)
        except AttributeError:
            raise DeviceError(f"device 'f2' needs the function {name}, which this {LIBRARY} lacks") from None
        function.restype, function.argtypes = result, arguments
    return loaded


def _check(fpga: Any, code: int, slot: int | None, doing: str) -> None:
    if code:
        text = (fpga.fpga_mgmt_strerror(code) or b"unknown error").decode("ascii", "replace")
        where = "" if slot is None else f", slot {slot}"
        raise DeviceError(f"device 'f2'{where}: {doing} failed: {text} ({code})")


@contextlib.contextmanager
def _management(fpga: Any, slot: int) -> Iterator[None]:
    """Open the management functions for the block; while open, they occupy the mailboxes of all slots."""
    _check(fpga, fpga.fpga_mgmt_init(), slot, "starting the management library")
    try:
        yield
    finally:
        fpga.fpga_mgmt_close()


def slots(fpga: Any = None) -> list[tuple[int, ResourceMap]]:
    """Return the slots of this instance that have an FPGA, with the physical function of the application in each.

    Raises
    ------
    DeviceError
        The library is missing, or its query fails.
    """
    fpga = fpga or library()
    specs = (SlotSpec * FPGA_SLOT_MAX)()
    code = fpga.fpga_pci_get_all_slot_specs(specs, FPGA_SLOT_MAX)
    if code == FPGA_ERR_PCI_MISSING:
        return []
    _check(fpga, code, None, "looking for slots")
    # A cleared slot has no application function, but always a management function.
    return [(slot, spec.map[FPGA_APP_PF]) for slot, spec in enumerate(specs) if spec.map[FPGA_MGMT_PF].vendor_id]


@dataclass(frozen=True)
class Image:
    """The image in a slot: ``status`` in the SDK's words, identifier ``afi`` or ``"none"``, and shell version."""

    status: str
    afi: str
    shell: int


def describe(slot: int, fpga: Any = None) -> Image:
    """Return the image in a slot.

    Raises
    ------
    DeviceError
        The library is missing, or the slot does not respond.
    """
    fpga = fpga or library()
    info = ImageInfo()
    with _management(fpga, slot):
        _check(fpga, fpga.fpga_mgmt_describe_local_image(slot, info, 0), slot, "describing the image")
    return Image(
        status=fpga.fpga_mgmt_get_status_name(info.status).decode("ascii", "replace"),
        afi=info.ids.afi_id.decode("ascii", "replace"),
        shell=info.sh_version,
    )


def load_image(slot: int, afi: str, fpga: Any = None) -> None:
    """Load an Amazon FPGA image into a slot, and wait until it is loaded.

    Raises
    ------
    ProblemError
        ``afi`` is not the identifier of an image.
    DeviceError
        The image cannot be loaded.
    """
    _check_afi(afi)
    fpga = fpga or library()
    info = ImageInfo()
    with _management(fpga, slot):
        # 0 selects the library's own timeout.
        code = fpga.fpga_mgmt_load_local_image_sync(slot, afi.encode(), 0, 0, info)
        _check(fpga, code, slot, f"loading {afi}")
    if info.status != FPGA_STATUS_LOADED:
        name = fpga.fpga_mgmt_get_status_name(info.status).decode("ascii", "replace")
        raise DeviceError(f"device 'f2', slot {slot}: after loading {afi} the slot has status {name}, not loaded")


def clear_image(slot: int, fpga: Any = None) -> None:
    """Clear a slot, and wait until it is empty.

    Raises
    ------
    DeviceInUseError
        Another process uses the slot.
    DeviceError
        The slot cannot be cleared.
    """
    fpga = fpga or library()
    lock = _lock(slot)
    try:
        with _management(fpga, slot):
            _check(fpga, fpga.fpga_mgmt_clear_local_image_sync(slot, 0, 0, ImageInfo()), slot, "clearing the slot")
    finally:
        lock.release()


def _lock(slot: int) -> BoardLock:
    return BoardLock(f"f2-slot{slot}")


def _check_afi(afi: object) -> None:
    if not isinstance(afi, str) or not re.fullmatch(r"agfi-[0-9a-f]+", afi):
        raise ProblemError(
            f"afi must be the global identifier of an image, such as 'agfi-0123456789abcdef0', not {shown(afi)}"
        )


class F2Device(PcieDevice):
    """One slot of an instance as a :class:`~beltline.host.devices.base.Device`.

    Raises
    ------
    DeviceError
        The slot cannot be attached to, it does not contain the accelerator, or the build is unknown.
    """

    name = "f2"
    clocks_source = "counted by the gateware on the card"

    def __init__(self, fpga: Any, slot: int, lock: BoardLock | None = None, known: Sequence[Build] = ()) -> None:
        self._fpga = fpga
        self._slot = slot
        self._lock = lock
        self._handles: list[int] = []
        try:
            self._check(fpga.fpga_pci_init(), "starting the library")
            self._registers = self._attach(APP_PF_BAR0, 0)
            check_identity(self)
            check_build(self, known)
            self._tables = self._mapped()
        except BaseException:
            self._detach()
            raise

    def _mapped(self) -> NDArray[np.int64]:
        there = ResourceMap()
        self._check(self._fpga.fpga_pci_get_resource_map(self._slot, FPGA_APP_PF, there), "looking at its functions")
        handle = self._attach(APP_PF_BAR4, BURST_CAPABLE if there.resource_burstable[APP_PF_BAR4] else 0)
        windows = self.windows()
        words = windows.offset(Table.POLICY) // 8 + windows.words(Table.POLICY)
        pointer = ctypes.c_void_p()
        # The size is in bytes. The header says double words, but the library compares the number with bytes.
        self._check(self._fpga.fpga_pci_get_address(handle, 0, 8 * words, pointer), f"mapping {8 * words} bytes")
        if not pointer.value:
            raise DeviceError(f"device 'f2', slot {self._slot}: mapping {8 * words} bytes gave no address")
        return np.ctypeslib.as_array((ctypes.c_int64 * words).from_address(pointer.value))

    def _attach(self, bar: int, flags: int) -> int:
        handle = ctypes.c_int(-1)
        code = self._fpga.fpga_pci_attach(self._slot, FPGA_APP_PF, bar, flags, handle)
        self._check(code, f"attaching BAR {bar}")
        if handle.value < 0:
            raise DeviceError(f"device 'f2', slot {self._slot}: attaching BAR {bar} gave no handle")
        self._handles.append(handle.value)
        return handle.value

    def _check(self, code: int, doing: str) -> None:
        _check(self._fpga, code, self._slot, doing)

    def _read_word(self, offset: int) -> int:
        word = ctypes.c_uint32()
        self._check(self._fpga.fpga_pci_peek(self._registers, offset, word), f"reading register byte {offset}")
        return word.value

    def _write_word(self, offset: int, word: int) -> None:
        self._check(self._fpga.fpga_pci_poke(self._registers, offset, word), f"writing register byte {offset}")

    def _release(self) -> None:
        # The memory is unmapped next, so no reference to it may remain.
        self._tables = np.empty(0, dtype=np.int64)
        self._detach()
        if self._lock is not None:
            self._lock.release()

    def _detach(self) -> None:
        while self._handles:
            self._fpga.fpga_pci_detach(self._handles.pop())


def missing() -> str:
    """Return why the device cannot be used on this computer, in a few words; empty if it can."""
    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        return f"{LIBRARY} not found"
    try:
        return "" if slots() else "no FPGA in any slot"
    except DeviceError as error:
        return str(error)


def places() -> list[tuple[str, str, str]]:
    """Return the slots of this instance, in the form of ``Backend.places``."""
    return [
        (
            f"slot {slot}",
            f"{there.domain:04x}:{there.bus:02x}:{there.dev:02x}.{there.func}, "
            f"PCI identity {there.vendor_id:04x}:{there.device_id:04x}",
            "",
        )
        for slot, there in slots()
    ]


def ready() -> list[dict[str, Any]]:
    """Return the options for each slot whose application has Beltline's PCI identity."""
    if missing():
        return []
    return [
        {"slot": slot}
        for slot, there in slots()
        if (there.vendor_id, there.device_id) == IDENTITY
        and (there.subsystem_vendor_id, there.subsystem_device_id) == SUBSYSTEM
    ]


def open_f2(
    parameters: MachineParameters | None = None,
    progress: Progress | None = None,
    *,
    slot: int = 0,
    afi: str | None = None,
    builds: str | os.PathLike[str] | None = None,
) -> F2Device:
    """Open the accelerator in a slot of an AWS F2 instance.

    Parameters
    ----------
    parameters
        Ignored: a board has the sizes of its bitstream.
    progress
        Called with lines of progress.
    slot
        Number of the slot, 0 to 7.
    afi
        Image to load first, as in ``"agfi-0123456789abcdef0"``, unless it is in the slot already. By default the image
        in the slot is used.
    builds
        File of additional builds (:mod:`beltline.hw.interface.builds`) that the image may have.

    Raises
    ------
    ProblemError
        An option is wrong; nothing was done.
    DeviceInUseError
        Another process uses the slot.
    DeviceError
        The library or the card is missing, the slot does not contain the accelerator, or the build is unknown.
    """
    slot = whole("slot", slot, f"a whole number from 0 to {FPGA_SLOT_MAX - 1}", lambda v: 0 <= v < FPGA_SLOT_MAX)
    if afi is not None:
        _check_afi(afi)
    known = recorded(builds)
    fpga = library()
    lock = _lock(slot)
    try:
        if afi is not None:
            present = describe(slot, fpga)
            if (present.status, present.afi) != ("loaded", afi):
                if progress:
                    progress(f"loading {afi} into slot {slot}")
                load_image(slot, afi, fpga)
        return F2Device(fpga, slot, lock, known)
    except BaseException:
        lock.release()
        raise


BACKEND = Backend(
    description="an FPGA card of AWS F2 (VU47P), through the library of the AWS FPGA SDK",
    missing=missing,
    open=open_f2,
    options={
        "slot": f"number of the slot, 0 to {FPGA_SLOT_MAX - 1} (default 0)",
        "afi": "image to load first, such as agfi-0123456789abcdef0 (default: use the image in the slot)",
        "builds": OPTION,
    },
    elastic=False,
    places=places,
    ready=ready,
)
