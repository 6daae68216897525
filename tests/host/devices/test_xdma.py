"""A card on PCIe, with plain files in place of those in which Linux exposes its memory."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import beltline.host.devices.lock
from beltline.host.devices import DeviceError, open_device, xdma
from beltline.host.problem.checks import ProblemError
from beltline.hw.interface.registers import ENGINE_MEANINGS, IDENTITY, REGISTERS, VERSION, Table
from support.boards import CARD, SIZES, Fabric, install_xdma


@pytest.fixture(autouse=True)
def locks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(beltline.host.devices.lock, "directory", lambda: tmp_path)


def refused(sentence: str, **options: Any) -> None:
    with pytest.raises(DeviceError, match=f"^{re.escape(sentence)}$"):
        open_device("xdma", **options)


def test_writes_reach_the_card_before_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Writes reach the card before a run, as the driver reads a register and a table word after each block."""
    fabric = Fabric(SIZES)
    install_xdma(monkeypatch, tmp_path, fabric)
    device = open_device("xdma")
    done: list[tuple[int, int] | str] = []
    part, read = device._part, device._read_word
    monkeypatch.setattr(device, "_part", lambda offset, count: done.append((offset, count)) or part(offset, count))
    monkeypatch.setattr(device, "_read_word", lambda offset: done.append("register") or read(offset))
    device.write_block(Table.X, 0, np.arange(32))
    block = done.index((0, 32))
    assert done[block : block + 3] == [(0, 32), "register", (fabric.windows.offset(Table.W), 1)]
    device.close()


def test_registers_are_words_of_the_first_bar(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The driver reads registers as words of the first BAR, here a plain file without a software model."""
    card = tmp_path / CARD
    card.mkdir()
    words = np.zeros(1024, dtype="<u4")
    words[REGISTERS["IDENTITY"].offset // 4], words[REGISTERS["VERSION"].offset // 4] = IDENTITY, VERSION
    words[REGISTERS["ENGINE"].offset // 4] = 77
    engines = ", ".join(f"{number} ({meaning})" for number, meaning in ENGINE_MEANINGS.items())
    (card / "enable").write_text("1\n")
    (card / "resource0").write_bytes(words.tobytes())
    monkeypatch.setattr(xdma, "CARDS", tmp_path)
    monkeypatch.setattr(xdma, "check_build", lambda device, known: None)
    refused(f"device 'xdma' has engine 77, but this host knows only {engines}", card=CARD)
    device = object.__new__(xdma.XdmaDevice)
    device._registers = np.frombuffer(xdma._mapped(card / "resource0", 4096), dtype="<u4")
    device.write_register("EPSILON", 2**40 + 3)
    assert device.read_register("EPSILON") == 2**40 + 3
    offset = REGISTERS["EPSILON"].offset
    assert (card / "resource0").read_bytes()[offset : offset + 8] == (2**40 + 3).to_bytes(8, "little")


def test_card_that_cannot_be_opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cards = install_xdma(monkeypatch, tmp_path, Fabric(SIZES))
    none = "0000:01:00.0"
    refused(f"device 'xdma' finds no card {none} in '{cards}'", card=none)
    (cards / none).mkdir()
    refused(f"device 'xdma' cannot open '{cards / none / 'enable'}': No such file or directory", card=none)
    (cards / none / "enable").write_text("1")
    (cards / none / "resource0").write_bytes(bytes(64))
    refused(f"device 'xdma' needs 4096 bytes of '{cards / none / 'resource0'}', which has 64", card=none)
    (cards / CARD / "resource2_wc").unlink()
    refused(f"device 'xdma' has no resource2 in '{cards / CARD}': no BAR 2 for its tables")
    (cards / none / "vendor").write_text("0x10ee")
    refused(f"device 'xdma' finds 2 AMD cards in '{cards}', not one: choose one of {none}, {CARD} with option card")
    with pytest.raises(ProblemError, match="^card must be a PCIe address, such as '0000:65:00.0', not 'first'$"):
        open_device("xdma", card="first")


def test_cards_are_listed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install_xdma(monkeypatch, tmp_path, Fabric(SIZES))
    assert xdma.places() == [(f"card {CARD}", "PCI identity 10ee:903f", "")]
    assert xdma.missing() == ""
    monkeypatch.setattr(xdma, "CARDS", tmp_path / "none")
    assert xdma.missing() == "no AMD card on PCIe"
