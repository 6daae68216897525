# amaranth: UnusedElaboratable=no
"""The register file against the map that it is built from, clock by clock."""

from __future__ import annotations

import random
import re

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.control.register_file import WORD, RegisterFile
from beltline.hw.interface.registers import REGISTERS, Access, Command
from support.streams import Segment, Stream

SETTINGS = {name: r.bits for name, r in REGISTERS.items() if r.access is Access.READ_WRITE}
REPORTS = {name: r.bits for name, r in REGISTERS.items() if r.access is Access.READ}
PORTS = ("address", "write", "write_data", "locked")


class Probe(wiring.Component):
    """The register file with its settings and reports as ports."""

    def __init__(self) -> None:
        super().__init__(
            {
                "address": In(8),
                "write": In(1),
                "write_data": In(WORD),
                "locked": In(1),
                "read_data": Out(WORD),
                "command": Out(len(Command)),
                **{f"report_{name}": In(bits) for name, bits in REPORTS.items()},
                **{f"setting_{name}": Out(bits) for name, bits in SETTINGS.items()},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        file = RegisterFile({name: getattr(self, f"report_{name}") for name in REPORTS})
        m.submodules.file = file
        m.d.comb += [getattr(file, name).eq(getattr(self, name)) for name in PORTS]
        m.d.comb += [getattr(self, name).eq(getattr(file, name)) for name in ("read_data", "command")]
        m.d.comb += [getattr(self, f"setting_{name}").eq(file.settings[name]) for name in SETTINGS]
        return m


@pytest.mark.gateware
def test_every_word_of_every_register(stream: Stream) -> None:
    rng = random.Random(3)
    count = 4000
    owner = {r.offset // 4 + k: (name, k) for name, r in REGISTERS.items() for k in range(r.words)}
    addresses = [*owner, len(owner), 0x7F, 0x80, 0xFF]
    operands = {
        "address": [*range(256), *(rng.choice(addresses) for _ in range(count - 256))],
        "write": [0] * 256 + [int(rng.random() < 0.5) for _ in range(count - 256)],
        "write_data": [rng.getrandbits(WORD) for _ in range(count)],
        "locked": [int(rng.random() < 0.3) for _ in range(count)],
        **{f"report_{name}": [rng.getrandbits(bits) for _ in range(count)] for name, bits in REPORTS.items()},
    }
    outputs = ["read_data", "command", *(f"setting_{name}" for name in SETTINGS)]
    found = stream(Probe(), operands, outputs, 1, segments=[Segment(count)], valid=None)

    settings = dict.fromkeys(SETTINGS, 0)
    written = dict.fromkeys(REGISTERS, 0)
    for clock in range(count):
        address, write, data, locked = (operands[name][clock] for name in PORTS)
        name, part = owner.get(address, ("", 0))
        whole = operands[f"report_{name}"][clock] if name in REPORTS else settings.get(name, 0)
        assert int(found["read_data"][clock]) == whole >> WORD * part & 0xFFFFFFFF, (clock, name, part)
        command = data % 2 ** len(Command) if write and name == "COMMAND" else 0
        assert int(found["command"][clock]) == command, clock
        if write and name in SETTINGS and not locked:
            mask = 0xFFFFFFFF << WORD * part
            settings[name] = (settings[name] & ~mask | data << WORD * part) % 2 ** SETTINGS[name]
        if write and name:
            written[name] += 1
        for setting, value in settings.items():
            assert int(found[f"setting_{setting}"][clock]) == value, (clock, setting)
    assert min(written.values()) > 10


def test_map_has_no_holes_and_no_overlaps() -> None:
    offset = 0
    for name, register in REGISTERS.items():
        assert (register.name, register.offset) == (name, offset)
        assert register.words == -(-register.bits // 32) > 0
        offset += 4 * register.words
    assert offset <= 4 * 256


def test_reports_must_be_those_of_the_map() -> None:
    message = f"reports must be {sorted(REPORTS)}, not ['NORM']"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        RegisterFile({"NORM": Signal(64)})
