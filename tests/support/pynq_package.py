"""Print, as JSON, which of PYNQ's functions are called, and whether a solve by PYNQ's own ``Bitstream`` and ``MMIO`` on
a simulated device has the model's bits. An interpreter that has PYNQ runs this file.
"""

from __future__ import annotations

import inspect
import json
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]

import numpy as np  # noqa: E402
import pynq  # noqa: E402

import beltline.host.devices.lock  # noqa: E402
from beltline.host.devices.pynq import REGISTERS_INTERFACE, TABLES_INTERFACE, address, open_pynq  # noqa: E402
from beltline.host.solver.driver import run  # noqa: E402
from beltline.host.solver.fixed_point import fixed_point  # noqa: E402
from beltline.hw.interface.parameters import MachineParameters  # noqa: E402
from support.boards import REGISTERS_AT, TABLES_AT, Fabric, hwh  # noqa: E402
from support.fakes import problem  # noqa: E402

CALLED = ("Overlay.__init__", "Bitstream.__init__", "Bitstream.download", "MMIO.__init__", "MMIO.read")
CALLED += ("MMIO.write_mm", "Interrupt.__init__", "Interrupt.wait")


class Live(np.ndarray):
    """Registers as an array of 32-bit words."""

    fabric: Fabric

    def __getitem__(self, number: Any) -> Any:
        return np.uint32(self.fabric.read(4 * int(number)))

    def __setitem__(self, number: Any, word: Any) -> None:
        self.fabric.write(4 * int(number), int(word))


class Board(pynq.Device):
    def __init__(self, fabric: Fabric) -> None:
        super().__init__("here")
        self.fabric = fabric
        self.capabilities = {"MEMORY_MAPPED": True}
        self.loaded: list[str] = []

    def mmap(self, base: int, length: int) -> Any:
        if base == REGISTERS_AT:
            live = np.zeros(length // 4, dtype=np.uint32).view(Live)
            live.fabric = self.fabric
            return live
        return self.fabric.memory.view(np.uint32)[: length // 4]

    def download(self, bitstream: Any, parser: Any = None) -> None:
        self.loaded.append(bitstream.bitfile_name)


def signature(name: str) -> list[list[str]]:
    kind, _, method = name.partition(".")
    parameters = inspect.signature(getattr(getattr(pynq, kind), method)).parameters.values()
    return [[p.name, "" if p.default is p.empty else repr(p.default)] for p in parameters]


def solve() -> bool:
    fabric = Fabric(MachineParameters(grid=64, states=4))
    board = pynq.Device.active_device = Board(fabric)
    given = fixed_point(problem(50, 3, seed=2), 1e-7)
    with tempfile.TemporaryDirectory() as directory:
        beltline.host.devices.lock.directory = lambda: Path(directory)  # type: ignore[assignment]
        bitstream = Path(directory) / "beltline.bit"
        bitstream.touch()
        device = open_pynq(bitstream=bitstream, registers=REGISTERS_AT, tables=TABLES_AT)
        done = run(device, given, 10_000)
        device.close()
        assert board.loaded == [str(bitstream)]
    from beltline.host.devices.software_model import open_model

    model = run(open_model(MachineParameters(grid=64, states=4)), given, 10_000)
    return bool((done.value == model.value).all() and (done.policy == model.policy).all() and fabric.guards_hold())


def listed(kind: str) -> list[list[int]]:
    """Return where the interfaces are according to PYNQ's reading of a handoff, and which of them PYNQ lists itself."""
    from pynqmetadata.frontends import Metadata

    try:
        from pynqmetadata.views.runtime.runtime_metadata_parser import RuntimeMetadataParser
    except ImportError:
        from pynq.metadata.runtime_metadata_parser import RuntimeMetadataParser
    with tempfile.TemporaryDirectory() as directory:
        handoff = Path(directory) / "beltline.hwh"
        handoff.write_text(hwh(REGISTERS_AT, TABLES_AT, 1 << 16, kind))
        overlay = RuntimeMetadataParser(Metadata(input=str(handoff)))
        overlay.bitfile_name = str(handoff.with_suffix(".bit"))
        return [list(address(overlay, name)) for name in (REGISTERS_INTERFACE, TABLES_INTERFACE)]


warnings.simplefilter("ignore")
print(
    json.dumps(
        {
            "version": pynq.__version__,
            "signatures": {n: signature(n) for n in CALLED},
            "same_bits": solve(),
            "listed": [listed(k) for k in ("MEMORY", "REGISTER")],
        }
    )
)
