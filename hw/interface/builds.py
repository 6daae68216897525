"""Builds by their content hash, as JSON: written beside generated Verilog, and read by hosts, without the gateware.

A file of builds is a list, each of its entries one build::

    [{"board": "", "top": "beltline", "hash": "0123456789abcdef", "parameters": {"grid": 256, ...}, "baud": 0}]
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from beltline.hw.interface.parameters import MachineParameters, Multiplier
from beltline.hw.interface.registers import Engine

FILE = "build.json"
"""Name of such a file beside the Verilog of its one build."""


@dataclass(frozen=True)
class Build:
    """What was built.

    Parameters
    ----------
    top
        The top module.
    build_hash
        What register ``BUILD_HASH`` reads, of 64 bits.
    parameters
        The machine.
    baud
        Bits a second of a serial line in front of it, 0 where there is none.
    board
        The board of :mod:`beltline.constraints.boards` that it is for, empty if for none of them.
    """

    top: str
    build_hash: int
    parameters: MachineParameters
    baud: int = 0
    board: str = ""

    @property
    def digits(self) -> str:
        """The hash as it is written: 16 hexadecimal digits."""
        return f"{self.build_hash:016x}"


def to_json(builds: Iterable[Build]) -> str:
    """Text of a file of builds."""
    entries = [
        {
            "board": build.board,
            "top": build.top,
            "hash": build.digits,
            "parameters": asdict(build.parameters)
            | {"multiplier": build.parameters.multiplier.name, "engine": build.parameters.engine.name},
            "baud": build.baud,
        }
        for build in builds
    ]
    return json.dumps(entries, indent=2) + "\n"


def from_json(text: str) -> tuple[Build, ...]:
    """The builds in a file's ``text``.

    Raises
    ------
    ValueError
        It is no such text.
    """
    entries = json.loads(text)
    if not isinstance(entries, list):
        raise ValueError(f"it must be a list of builds, not {_brief(entries)}")
    return tuple(_build(entry) for entry in entries)


def read(path: Path) -> tuple[Build, ...]:
    """The builds in a file.

    Raises
    ------
    OSError
        It cannot be read.
    ValueError
        It is none of builds.
    """
    return from_json(path.read_text(encoding="utf-8"))


_FIELDS = {"board": str, "top": str, "hash": str, "parameters": dict, "baud": int}


def _build(entry: Any) -> Build:
    if not isinstance(entry, dict) or {name: type(value) for name, value in entry.items()} != _FIELDS:
        raise ValueError(f"a build must have {', '.join(_FIELDS)}, which {_brief(entry)} is not")
    if not re.fullmatch("[0-9a-f]{16}", entry["hash"]):
        raise ValueError(f"hash of a build must be 16 hexadecimal digits, not {_brief(entry['hash'])}")
    # A file in which no engine is named is of builds of the assembly line.
    given = entry["parameters"]
    sizes = {"engine": Engine.ASSEMBLY_LINE.name} | given
    try:
        named = {"multiplier": Multiplier[sizes["multiplier"]], "engine": Engine[sizes["engine"]]}
        parameters = MachineParameters(**sizes | named)
    except (KeyError, TypeError):
        raise ValueError(f"parameters of a build must be those of a machine, not {_brief(given)}") from None
    return Build(entry["top"], int(entry["hash"], 16), parameters, entry["baud"], entry["board"])


def _brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
