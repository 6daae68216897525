"""Boards without hardware: the software model at byte addresses, and substitutes for the libraries that access boards.

The stand-ins have the calls of these libraries that the project uses, and no others.
"""

from __future__ import annotations

import asyncio
import ctypes
import importlib.machinery
import mmap
import sys
import types
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from beltline.constraints.board_builds import recorded
from beltline.host.devices import DeviceError, f2, xdma
from beltline.host.devices.mapped import MappedDevice
from beltline.host.devices.software_model import open_model
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import (
    IDENTITY,
    READABLE,
    REGISTERS,
    WRITABLE,
    Access,
    Command,
    Interrupt,
    Status,
    Table,
)
from beltline.hw.interface.sums import WRITTEN, table_sum
from beltline.hw.interface.windows import WindowParameters
from support.fakes import problem

GUARD = -0x0123_4567_89AB_CDEF
"""Contents of the windows outside their tables."""

SLICE_SECONDS = 0.01
"""Seconds that the machine runs each time its status is read."""


class Fabric:
    """A machine at byte addresses: registers by :meth:`read` and :meth:`write`, tables in ``memory``.

    It runs whenever its status is read. Accesses that the gateware's slaves would refuse are failed assertions.
    """

    def __init__(self, parameters: MachineParameters) -> None:
        self.machine = open_model(parameters)
        self.sums = dict.fromkeys((*WRITTEN.values(), "SUM", "SUMMING"), 0)
        self.windows = WindowParameters(parameters)
        # Whole pages, as of a memory mapping.
        self._pages = mmap.mmap(-1, 1 << self.windows.address_bits)
        self.memory: NDArray[np.int64] = np.frombuffer(self._pages, dtype=np.int64)
        self.memory[:] = GUARD
        for table in Table:
            self.window(table)[:] = 0
        self.words = {r.offset + 4 * k: 0 for r in REGISTERS.values() for k in range(r.words)}
        self.identity = IDENTITY
        # A hash that drivers know, whatever the sizes are.
        self.build_hash = recorded()["pynq-z2"].build_hash
        self.lost = False
        self.stuck = False
        self.fault: Callable[[], None] = lambda: None
        self.status_reads = 0
        FABRICS.add(self)

    def wrote(self, offset: int, words: NDArray[np.int64]) -> None:
        """Record words that the bus has written to ``memory`` from byte ``offset`` on."""
        for table in WRITABLE:
            first = (offset - self.windows.offset(table)) // 8
            if 0 <= first < self.windows.words(table):
                self._add(WRITTEN[table], words, first)

    def _add(self, name: str, words: NDArray[np.int64], first: int) -> None:
        self.sums[name] = (self.sums[name] + table_sum(words, first)) % 2**32

    def window(self, table: Table) -> NDArray[np.int64]:
        first = self.windows.offset(table) // 8
        return self.memory[first : first + self.windows.words(table)]

    def guards_hold(self) -> bool:
        """Return whether no word outside the tables was written."""
        outside = np.ones(self.memory.size, dtype=np.bool_)
        for table in Table:
            first = self.windows.offset(table) // 8
            outside[first : first + self.windows.words(table)] = False
        return bool((self.memory[outside] == GUARD).all())

    def lose(self) -> None:
        """Disconnect the board: every later read returns all ones."""
        self.lost = True
        self.memory[:] = -1

    @property
    def line(self) -> bool:
        """Return whether the interrupt line is raised."""
        self.go_on()
        done = self.machine.read_register("STATUS") & Status.DONE
        return bool(done and self.machine.read_register("INTERRUPT") & Interrupt.ENABLE)

    def go_on(self) -> None:
        self.fault()
        if self.busy and not self.stuck:
            self.machine.wait(SLICE_SECONDS)
            if not self.busy:
                self._publish()

    @property
    def busy(self) -> bool:
        return bool(self.machine.read_register("STATUS") & Status.BUSY)

    def read(self, offset: int) -> int:
        if offset == REGISTERS["STATUS"].offset:
            self.status_reads += 1
            self.go_on()
        if self.lost:
            return 0xFFFF_FFFF
        if offset == REGISTERS["IDENTITY"].offset:
            return self.identity
        register, word = self._at(offset)
        assert register.access is not Access.WRITE, f"SLVERR: read of {register.name}"
        if register.name == "BUILD_HASH":
            return register.encode(self.build_hash)[word]
        if register.name in self.sums:
            return self.sums[register.name]
        return register.encode(self.machine.read_register(register.name))[word]

    def write(self, offset: int, word: int) -> None:
        assert 0 <= word < 2**32
        register, _ = self._at(offset)
        assert register.access is not Access.READ, f"SLVERR: write of {register.name}"
        if self.lost:
            return
        if register.name == "COMMAND":
            self._command(word)
            return
        self.words[offset] = word
        value = register.decode([self.words[register.offset + 4 * k] for k in range(register.words)])
        try:
            self.machine.write_register(register.name, value)
        except DeviceError:
            raise AssertionError(f"SLVERR: write of {register.name} while busy") from None

    def _at(self, offset: int) -> Any:
        for register in REGISTERS.values():
            if register.offset <= offset < register.offset + 4 * register.words and offset % 4 == 0:
                return register, (offset - register.offset) // 4
        raise AssertionError(f"SLVERR: no register at byte {offset}")

    def _command(self, word: int) -> None:
        if word & Command.SUM and not self.busy:
            at, first, count = (self.machine.read_register(f"SUM_{name}") for name in ("TABLE", "FIRST", "COUNT"))
            if at in READABLE:
                self._add("SUM", self.window(Table(at))[first : first + count], first)
            return
        if word & Command.RUN and not self.busy:
            for table in WRITABLE:
                self.machine.write_block(table, 0, self.window(table))
        before = self.busy
        self.machine.write_register("COMMAND", word)
        if (word & Command.RUN or before) and not self.busy:
            self._publish()

    def _publish(self) -> None:
        for table in (Table.V, Table.POLICY):
            window = self.window(table)
            window[:] = self.machine.read_block(table, 0, window.size)


FABRICS: weakref.WeakSet[Fabric] = weakref.WeakSet()

_WRITE_WORDS = MappedDevice._write_words


def _write_words(self: MappedDevice, offset: int, words: NDArray[np.int64]) -> None:
    """Write words, and report them to the fabric to which the memory belongs, as its bus would."""
    _WRITE_WORDS(self, offset, words)
    for fabric in FABRICS:
        if self._tables.ctypes.data == fabric.memory.ctypes.data:
            fabric.wrote(offset, words)


MappedDevice._write_words = _write_words  # type: ignore[method-assign]

REGISTERS_AT, TABLES_AT = 0xA000_0000, 0xA400_0000


def hwh(registers: int, tables: int, tables_bytes: int, kind: str = "MEMORY") -> str:
    """Return a hardware handoff with what PYNQ reads of one; ``kind`` is the type of the tables' memory."""
    clocks = "".join(
        f'<PARAMETER NAME="{name}" VALUE="{value}"/>'
        for i in range(4)
        for name, value in (
            (f"PSU__FPGA_PL{i}_ENABLE", 1),
            (f"PSU__CRL_APB__PL{i}_REF_CTRL__DIVISOR0", 10),
            (f"PSU__CRL_APB__PL{i}_REF_CTRL__DIVISOR1", 1),
            (f"PSU__CRL_APB__PL{i}_REF_CTRL__SRCSEL", "IOPLL"),
        )
    )

    def bus(name: str, role: str) -> str:
        kind = "xilinx.com:interface:aximm:1.0"
        return f'<BUSINTERFACE NAME="{name}" TYPE="{role}" VLNV="{kind}"><PORTMAPS/></BUSINTERFACE>'

    def part(interface: str, base: int, size: int, kind: str) -> str:
        block = "reg0" if kind == "REGISTER" else "mem0"
        return (
            f'<MEMRANGE ADDRESSBLOCK="{block}" BASENAME="C_BASEADDR" BASEVALUE="0x{base:08X}" HIGHNAME="C_HIGHADDR" '
            f'HIGHVALUE="0x{base + size - 1:08X}" INSTANCE="beltline" MASTERBUSINTERFACE="M_AXI_HPM0_FPD" '
            f'MEMTYPE="{kind}" SLAVEBUSINTERFACE="{interface}"/>'
        )

    return (
        '<?xml version="1.0" encoding="UTF-8" standalone="no" ?>\n'
        '<EDKSYSTEM><SYSTEMINFO NAME="design"/><EXTERNALPORTS/><EXTERNALINTERFACES/><MODULES>'
        '<MODULE FULLNAME="/ps" INSTANCE="ps" MODTYPE="zynq_ultra_ps_e" VLNV="xilinx.com:ip:zynq_ultra_ps_e:3.5">'
        f"<PARAMETERS>{clocks}</PARAMETERS><PORTS/><BUSINTERFACES>{bus('M_AXI_HPM0_FPD', 'MASTER')}</BUSINTERFACES>"
        f"<MEMORYMAP>{part('s_axi_registers', registers, 4096, 'REGISTER')}"
        f"{part('s_axi_tables', tables, tables_bytes, kind)}</MEMORYMAP></MODULE>"
        '<MODULE FULLNAME="/beltline" INSTANCE="beltline" MODTYPE="beltline" VLNV="beltline:user:beltline:1.0">'
        f"<PARAMETERS/><PORTS/><BUSINTERFACES>{bus('s_axi_registers', 'SLAVE')}{bus('s_axi_tables', 'SLAVE')}"
        "</BUSINTERFACES></MODULE></MODULES></EDKSYSTEM>"
    )


def fake_pynq(fabric: Fabric, listing: str = "both", mapped_bytes: int | None = None) -> types.ModuleType:
    """Return a module with the calls of PYNQ, and one board on which ``fabric`` is loaded.

    Parameters
    ----------
    fabric
        The machine on the board.
    listing
        How ``ip_dict`` lists the IP: ``"both"`` interfaces, as before version 3; ``"last"``, only one of them, as
        since; ``"memory"``, the one in ``mem_dict``, which since version 3 is then no longer in ``ip_dict``.
    mapped_bytes
        Number of bytes of the tables that are mapped; by default all.
    """
    module = types.ModuleType("pynq")
    module.__spec__ = importlib.machinery.ModuleSpec("pynq", None)
    calls: list[tuple[str, Any]] = []
    tables_bytes = fabric.memory.nbytes

    class Device:
        class active_device:
            tag = "fake0"

    class Bitstream:
        def __init__(
            self, bitfile_name: str, dtbo: str | None = None, partial: bool = False, device: Any = None
        ) -> None:
            if not isinstance(bitfile_name, str):
                raise TypeError("Bitstream name has to be a string.")
            if not Path(bitfile_name).is_file():
                raise OSError(f"Bitstream file {bitfile_name} does not exist.")
            self.bitfile_name = str(Path(bitfile_name).resolve())

        def download(self, parser: Any = None) -> None:
            calls.append(("download", self.bitfile_name))

    class Overlay(Bitstream):
        def __init__(
            self,
            bitfile_name: str,
            dtbo: str | None = None,
            download: bool = True,
            ignore_version: bool = False,
            device: Any = None,
            gen_cache: bool = False,
        ) -> None:
            super().__init__(bitfile_name)
            if not Path(self.bitfile_name).with_suffix(".hwh").is_file():
                raise RuntimeError("Unable to find metadata for bitstream")
            registers = {"phys_addr": REGISTERS_AT, "addr_range": 4096, "mem_id": "s_axi_registers"}
            tables = {"phys_addr": TABLES_AT, "addr_range": tables_bytes, "mem_id": "S_AXI_TABLES"}
            self.ip_dict: dict[str, dict[str, Any]] = {"ps": {"type": "zynq", "parameters": {}}}
            self.mem_dict: dict[str, dict[str, Any]] = {"PSDDR": {"base_address": 0}}
            if listing == "both":
                self.ip_dict |= {"beltline/s_axi_registers": registers, "beltline/s_axi_tables": tables}
            elif listing == "last":
                self.ip_dict["beltline"] = tables
            else:
                self.mem_dict["beltline"] = tables
            self.interrupt_pins = {"beltline/interrupt": {"controller": "axi_intc_0", "index": 0}}
            if download:
                self.download()

    class MMIO:
        def __init__(self, base_addr: int, length: int = 4, device: Any = None, **kwargs: Any) -> None:
            calls.append(("MMIO", (base_addr, length)))
            self.base_addr, self.length = base_addr, length
            if base_addr >= TABLES_AT:
                first = base_addr - TABLES_AT
                end = min(first + length, tables_bytes if mapped_bytes is None else mapped_bytes)
                self.array = fabric.memory.view(np.uint32)[first // 4 : end // 4]

        def read(self, offset: int = 0, length: int = 4, word_order: str = "little") -> int:
            assert self.base_addr == REGISTERS_AT
            return fabric.read(offset)

        def write(self, offset: int, data: int) -> None:
            assert self.base_addr == REGISTERS_AT
            if type(data) is not int:
                raise ValueError("Data type must be int or bytes.")
            fabric.write(offset, data)

    class FakeInterrupt:
        def __init__(self, pinname: str) -> None:
            if pinname != "beltline/interrupt":
                raise ValueError(f"No Pin of name {pinname} found")
            self.loop = asyncio.get_running_loop()
            self.pin = pinname

        async def wait(self) -> None:
            assert asyncio.get_running_loop() is self.loop
            calls.append(("interrupt", self.pin))
            while not fabric.line:
                await asyncio.sleep(0.001)

    for name, thing in (
        ("Device", Device),
        ("Bitstream", Bitstream),
        ("Overlay", Overlay),
        ("MMIO", MMIO),
        ("Interrupt", FakeInterrupt),
        ("calls", calls),
    ):
        setattr(module, name, thing)
    return module


_INT, _U32, _U64, _TEXT = ctypes.c_int, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_char_p
_POINTER = ctypes.c_void_p

HEADER: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "fpga_mgmt_init": (_INT, ()),
    "fpga_mgmt_close": (_INT, ()),
    "fpga_mgmt_strerror": (_TEXT, (_INT,)),
    "fpga_mgmt_get_status_name": (_TEXT, (_INT,)),
    "fpga_mgmt_describe_local_image": (_INT, (_INT, _POINTER, _U32)),
    "fpga_mgmt_load_local_image_sync": (_INT, (_INT, _TEXT, _U32, _U32, _POINTER)),
    "fpga_mgmt_clear_local_image_sync": (_INT, (_INT, _U32, _U32, _POINTER)),
    "fpga_pci_init": (_INT, ()),
    "fpga_pci_get_all_slot_specs": (_INT, (_POINTER, _INT)),
    "fpga_pci_get_resource_map": (_INT, (_INT, _INT, _POINTER)),
    "fpga_pci_attach": (_INT, (_INT, _INT, _INT, _U32, _POINTER)),
    "fpga_pci_detach": (_INT, (_INT,)),
    "fpga_pci_peek": (_INT, (_INT, _U64, _POINTER)),
    "fpga_pci_poke": (_INT, (_INT, _U64, _U32)),
    "fpga_pci_get_address": (_INT, (_INT, _U64, _U64, _POINTER)),
}
"""The functions as ``fpga_pci.h`` and ``fpga_mgmt.h`` of aws/aws-fpga declare them at release 2.0.2, commit fd77a72
(branch f2), with every pointer except texts as ``void *``. They were transcribed by hand, independently of the table of
the device, because the SDK is in no package index.
"""

STATUS_AT, IDS_AT, SPEC_AT, SHELL_AT, MAP_BYTES, SPEC_BYTES, INFO_BYTES = 0, 12, 84, 200, 58, 116, 708
BURSTABLE_AT, SIZES_AT, FUNCTIONS = 13, 18, 2
"""Byte offsets in the structures of those headers, printed by a C program that includes them."""

SOFTWARE_PROBLEM, AFI_INVALID, PCI_MISSING, INVALID = 24, 5, 20, -22
KNOWN_AFI, SHELL = "agfi-0123456789abcdef0", 0x1116_2427


class FakeFpga:
    """The FPGA library of an instance with a card in each of ``slots``: ``fabrics[slot]`` is what is loaded there.

    Its functions are C functions, called through libffi, so that wrong declarations fail.
    """

    def __init__(self, fabrics: list[Fabric | None]) -> None:
        self.fabrics = fabrics
        self.afis = ["agfi-00000000000000aaa" if fabric else "none" for fabric in fabrics]
        self.initialized = False
        self.attached: dict[int, tuple[int, int, int]] = {}
        self.calls: list[str] = []
        self.fail: dict[str, int] = {}
        self.burstable = True
        self._texts: dict[bytes, Any] = {}
        for name, (result, arguments) in HEADER.items():
            # A callback cannot return a text, only its address.
            kind = ctypes.CFUNCTYPE(_POINTER if result is _TEXT else result, *arguments)
            setattr(self, name, kind(self._logged(name)))

    def _logged(self, name: str) -> Callable[..., int]:
        function = getattr(self, "_" + name)

        def call(*arguments: Any) -> int:
            self.calls.append(name)
            if name in self.fail:
                return self.fail[name]
            return int(function(*arguments))

        return call

    def _text(self, text: bytes) -> int:
        stored = self._texts.setdefault(text, ctypes.create_string_buffer(text))
        return ctypes.addressof(stored)

    def _map(self, slot: int, function: int) -> bytes:
        """Return ``struct fpga_pci_resource_map``."""
        here = slot < len(self.fabrics)
        data = bytearray(MAP_BYTES)
        if here:
            identity = (0x1D0F, 0xF010, 0x1D51, 0xFEDC) if function == 0 else (0x1D0F, 0x9248, 0, 0)
            for k, value in enumerate((*identity, 0)):
                data[2 * k : 2 * k + 2] = value.to_bytes(2, "little")
            data[10:13] = bytes((0x34 + slot, 0, function))
            data[BURSTABLE_AT + 4] = self.burstable
            for bar, size in ((0, 1 << 26), (4, 1 << 37)):
                data[SIZES_AT + 8 * bar : SIZES_AT + 8 * bar + 8] = size.to_bytes(8, "little")
        return bytes(data)

    def _info(self, slot: int, info: int) -> None:
        data = bytearray(INFO_BYTES)
        data[STATUS_AT : STATUS_AT + 4] = (0 if self.fabrics[slot] else 1).to_bytes(4, "little")
        data[8:12] = slot.to_bytes(4, "little")
        afi = self.afis[slot].encode()
        data[IDS_AT : IDS_AT + len(afi)] = afi
        data[SPEC_AT : SPEC_AT + SPEC_BYTES] = self._map(slot, 0) + self._map(slot, 1)
        data[SHELL_AT : SHELL_AT + 4] = SHELL.to_bytes(4, "little")
        ctypes.memmove(info, bytes(data), INFO_BYTES)

    def _fpga_mgmt_init(self) -> int:
        self.initialized = True
        return 0

    def _fpga_mgmt_close(self) -> int:
        self.initialized = False
        return 0

    def _fpga_mgmt_strerror(self, error: int) -> int:
        names = {AFI_INVALID: b"invalid-afi-id", SOFTWARE_PROBLEM: b"software-problem", INVALID: b"Invalid argument"}
        return self._text(names.get(error, b"internal-error"))

    def _fpga_mgmt_get_status_name(self, status: int) -> int:
        return self._text({0: b"loaded", 1: b"cleared"}.get(status, b"internal-error"))

    def _fpga_mgmt_describe_local_image(self, slot: int, info: int, flags: int) -> int:
        if not self.initialized:
            return SOFTWARE_PROBLEM
        if not 0 <= slot < len(self.fabrics):
            return INVALID
        self._info(slot, info)
        return 0

    def _fpga_mgmt_load_local_image_sync(self, slot: int, afi: bytes, timeout: int, delay: int, info: int) -> int:
        if not self.initialized:
            return SOFTWARE_PROBLEM
        if afi.decode() != KNOWN_AFI:
            return AFI_INVALID
        self.afis[slot] = afi.decode()
        self._info(slot, info)
        return 0

    def _fpga_mgmt_clear_local_image_sync(self, slot: int, timeout: int, delay: int, info: int) -> int:
        if not self.initialized:
            return SOFTWARE_PROBLEM
        self.fabrics[slot], self.afis[slot] = None, "none"
        self._info(slot, info)
        return 0

    def _fpga_pci_init(self) -> int:
        return 0

    def _fpga_pci_get_all_slot_specs(self, specs: int, size: int) -> int:
        if not self.fabrics:
            return PCI_MISSING
        for slot in range(size):
            ctypes.memmove(specs + SPEC_BYTES * slot, self._map(slot, 0) + self._map(slot, 1), SPEC_BYTES)
        return 0

    def _fpga_pci_get_resource_map(self, slot: int, function: int, there: int) -> int:
        if not (0 <= slot < len(self.fabrics) and 0 <= function < FUNCTIONS):
            return INVALID
        ctypes.memmove(there, self._map(slot, function), MAP_BYTES)
        return 0

    def _fpga_pci_attach(self, slot: int, function: int, bar: int, flags: int, handle: int) -> int:
        if not 0 <= slot < len(self.fabrics) or function != 0 or (flags & 1 and not (self.burstable and bar == 4)):
            return INVALID
        number = next(n for n in range(80) if n not in self.attached)
        self.attached[number] = slot, bar, flags
        ctypes.c_int.from_address(handle).value = number
        return 0

    def _fpga_pci_detach(self, handle: int) -> int:
        return 0 if self.attached.pop(handle, None) else INVALID

    def _fpga_pci_peek(self, handle: int, offset: int, value: int) -> int:
        slot, bar, _ = self.attached[handle]
        fabric = self.fabrics[slot]
        assert bar == 0
        ctypes.c_uint32.from_address(value).value = fabric.read(offset) if fabric else 0xFFFF_FFFF
        return 0

    def _fpga_pci_poke(self, handle: int, offset: int, value: int) -> int:
        slot, bar, _ = self.attached[handle]
        fabric = self.fabrics[slot]
        assert bar == 0
        if fabric:
            fabric.write(offset, value)
        return 0

    def _fpga_pci_get_address(self, handle: int, offset: int, length: int, pointer: int) -> int:
        slot, bar, _ = self.attached[handle]
        fabric = self.fabrics[slot]
        assert bar == 4
        if fabric is None or offset + length > fabric.memory.nbytes:
            return INVALID
        ctypes.c_void_p.from_address(pointer).value = fabric.memory.ctypes.data + offset
        return 0


SIZES = MachineParameters(grid=32, states=3)


GIVEN = problem(20, 3)


def install_pynq(patch: pytest.MonkeyPatch, directory: Path, fabric: Fabric, **options: Any) -> Any:
    """Install a package ``pynq`` whose only board is ``fabric``, with its bitstream in ``directory``."""
    (directory / "beltline.bit").write_bytes(b"")
    (directory / "beltline.hwh").write_text(hwh(REGISTERS_AT, TABLES_AT, fabric.memory.nbytes))
    module = fake_pynq(fabric, **options)
    patch.setitem(sys.modules, "pynq", module)
    patch.chdir(directory)
    return module


def install_f2(patch: pytest.MonkeyPatch, *fabrics: Fabric | None) -> FakeFpga:
    """Install the FPGA library of a computer with a card in each slot, or none."""
    fpga = FakeFpga(list(fabrics))
    patch.setattr(f2.ctypes, "CDLL", lambda name: fpga)
    return fpga


CARD = "0000:65:00.0"


def install_xdma(patch: pytest.MonkeyPatch, directory: Path, fabric: Fabric) -> Path:
    """Install a computer with one card that holds ``fabric``; return the directory of all cards.

    The card's files are plain ones. The mapped tables are the memory of the fabric, and its registers are reached by
    calls, because a plain file does not respond to reads.
    """
    cards = directory / "cards"
    for name, identity in ((CARD, "0x10ee"), ("0000:00:1f.0", "0x8086")):
        (cards / name).mkdir(parents=True, exist_ok=True)
        (cards / name / "vendor").write_text(f"{identity}\n")
        (cards / name / "device").write_text("0x903f\n")
        (cards / name / "enable").write_text("0\n")
    (cards / CARD / "resource0").write_bytes(bytes(1 << 20))
    (cards / CARD / "resource2_wc").write_bytes(bytes(fabric.memory.nbytes))
    mapped = xdma._mapped
    patch.setattr(xdma, "CARDS", cards)
    patch.setattr(xdma, "_mapped", lambda file, size: fabric._pages if "2" in file.name else mapped(file, size))
    patch.setattr(xdma.XdmaDevice, "_read_word", lambda self, offset: fabric.read(offset))
    patch.setattr(xdma.XdmaDevice, "_write_word", lambda self, offset, word: fabric.write(offset, word))
    return cards


def install(name: str, patch: pytest.MonkeyPatch, directory: Path, fabric: Fabric) -> None:
    """Install a board that holds ``fabric`` for device ``name``, one of ``pynq``, ``f2`` and ``xdma``."""
    if name == "f2":
        install_f2(patch, fabric)
    else:
        {"pynq": install_pynq, "xdma": install_xdma}[name](patch, directory, fabric)
