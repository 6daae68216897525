"""The bridge between a serial line and the machine's ports, and the frames on the line."""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable

import pytest
from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.bus import serial_frames
from beltline.hw.bus.serial_bridge import SerialBridge
from beltline.hw.bus.serial_frames import BLOCK_WORDS, Operation, Outcome
from beltline.hw.bus.uart import UartParameters
from beltline.hw.control.register_file import RegisterFile
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import IDENTITY, REGISTERS, WRITABLE, Access, Table
from beltline.hw.interface.windows import WORD_BYTES, WindowParameters
from beltline.hw.line.datapath import TABLE_READ_CLOCKS
from beltline.hw.memory.ram import Ram
from beltline.hw.top.serial_machine import SerialParameters
from beltline.sim.cocotb_runner import run_bench

COUNTERS = ("commands", "register_writes", "word_writes", "refusals_register", "refusals_table")


class Probe(wiring.Component):
    """The bridge connected to a register file and tables, and counters of what reaches them."""

    def __init__(self, parameters: MachineParameters, divisor: int, silence: int) -> None:
        self._parameters = parameters
        self._bridge = SerialBridge(parameters, UartParameters(divisor), silence)
        super().__init__({"rx": In(1), "tx": Out(1), "locked": In(1), **{name: Out(32) for name in COUNTERS}})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        windows = WindowParameters(self._parameters)
        m.submodules.bridge = bridge = self._bridge
        reports = {r.name: Signal(r.bits) for r in REGISTERS.values() if r.access is Access.READ}
        m.d.comb += reports["IDENTITY"].eq(IDENTITY)
        m.submodules.file = file = RegisterFile(reports)
        registers, tables = bridge.registers, bridge.tables
        m.d.comb += [
            bridge.rx.eq(self.rx),
            self.tx.eq(bridge.tx),
            bridge.locked.eq(self.locked),
            file.locked.eq(self.locked),
            file.address.eq(registers.address),
            file.write.eq(registers.write),
            file.write_data.eq(registers.write_data),
            registers.read_data.eq(file.read_data),
        ]
        depth = 1 << windows.address_bits - 3
        m.submodules.ram = ram = Ram(64, depth, WORD_BYTES)
        valid = Signal(TABLE_READ_CLOCKS)
        asked, place = Signal(), Signal(range(depth))
        m.d.sync += [asked.eq(tables.read), place.eq(Cat(tables.read_address, tables.read_table))]
        m.d.sync += valid.eq(Cat(tables.read, valid))
        m.d.comb += [
            ram.write.eq(tables.write),
            ram.write_address.eq(Cat(tables.write_address, tables.write_table)),
            ram.write_data.eq(tables.write_data),
            ram.read_address.eq(place),
            tables.read_valid.eq(valid[-1]),
        ]
        # Tables return data only in the clock in which they are valid.
        held = Signal(64)
        m.d.sync += held.eq(ram.read_data)
        with m.If(tables.read_valid):
            m.d.comb += tables.read_data.eq(held)
        for name, raised in (
            ("commands", registers.write & (registers.address == REGISTERS["COMMAND"].offset // 4)),
            ("register_writes", registers.write & (registers.address != REGISTERS["COMMAND"].offset // 4)),
            ("word_writes", tables.write.any()),
            ("refusals_register", bridge.refused[0]),
            ("refusals_table", bridge.refused[1]),
        ):
            counter = getattr(self, name)
            m.d.sync += counter.eq(counter + raised)
        return m


@pytest.mark.gateware
@pytest.mark.parametrize(("divisor", "few"), [(4, 1), pytest.param(50, 6, marks=pytest.mark.slow)])
def test_requests_on_the_line(
    with_shared: Callable[[wiring.Component], dict[str, str]], divisor: int, few: int
) -> None:
    parameters = MachineParameters(grid=64, states=4)
    silence = 40
    run_bench(
        with_shared(Probe(parameters, divisor, silence * divisor)),
        "beltline.sim.benches.serial_bridge",
        parameters={"divisor": divisor, "silence": silence, "few": few, "grid": 64, "states": 4},
    )


def test_a_silence_is_longer_than_a_byte() -> None:
    with pytest.raises(ValueError, match=r"^silence must be at least 16 bits of 50 clocks, not 799 clocks$"):
        SerialBridge(MachineParameters(grid=4), UartParameters(50), 799)


def test_builds_over_a_serial_line() -> None:
    built = SerialParameters(MachineParameters(grid=4, clock_hz=50_000_000))
    assert (built.uart.divisor, built.silence_clocks) == (50, 2_500_000)
    assert SerialParameters(MachineParameters(grid=4, clock_hz=50_000_000), 3_000_000, 16 / 3e6).silence_clocks == 272
    assert SerialParameters(MachineParameters(grid=4, clock_hz=4_000_000), 320).silence_clocks == 200_000
    for arguments, sentence in (
        ((MachineParameters(grid=4),), "clock_hz of a build with a serial line must be given, not 0"),
        (
            (MachineParameters(grid=4, clock_hz=12_000_000), 5_000_000),
            "baud of a serial line must be, within 2%, a clock of 12000000 Hz divided by a whole number of at least 4, "
            "not 5000000",
        ),
        (
            (MachineParameters(grid=4, clock_hz=4_000_000), 1_000_000, 1e-6),
            "silence of a serial line must be from 16 bits, 1.6e-05 seconds here, to 10 seconds, not 1e-06",
        ),
        (
            (MachineParameters(grid=4, clock_hz=4_000_000), 319),
            "baud of a serial line must be at least 320, so that 16 bits take no more than 0.05 seconds, not 319",
        ),
    ):
        with pytest.raises(ValueError, match="^" + re.escape(sentence) + "$"):
            SerialParameters(*arguments)


def test_frames_are_those_of_the_description() -> None:
    data = bytes.fromhex("b1070501 00100000".replace(" ", ""))
    assert serial_frames.request(7, 5, 0x1000, 2) == data + binascii.crc32(data).to_bytes(4, "little")
    data = bytes.fromhex("1b0700") + b"word"
    assert serial_frames.answer(7, Outcome.DONE, b"word") == data + binascii.crc32(data).to_bytes(4, "little")
    assert serial_frames.sound(serial_frames.answer(7, Outcome.BUSY))
    assert not serial_frames.sound(serial_frames.answer(7, Outcome.BUSY)[1:])
    assert not serial_frames.sound(b"")
    assert {op: serial_frames.payload_bytes(op, 3) for op in Operation} == {
        Operation.READ_REGISTER: (0, 4),
        Operation.WRITE_REGISTER: (4, 0),
        Operation.READ_WORDS: (0, 24),
        Operation.WRITE_WORDS: (24, 0),
    }


def test_a_request_can_hold_every_count() -> None:
    assert [serial_frames.request(0, Operation.READ_WORDS, 0, n)[3] for n in (1, BLOCK_WORDS)] == [0, 255]
    largest = MachineParameters(results=2**24)
    assert WindowParameters(largest).address_bits <= 32
    assert max(WindowParameters(largest).offset(table) for table in WRITABLE) < 2**32
    assert WindowParameters(largest).words(Table.V) == 2**24
