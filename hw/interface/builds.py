"""JSON files of builds, which are written beside generated Verilog and read by hosts without the gateware's sources.

Such a file holds a list with one entry for each build::

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
"""Name of the file beside the Verilog of a build, with this build as its only entry."""


@dataclass(frozen=True)
class Build:
    """Description of a build.

    Parameters
    ----------
    top
        Name of the top module.
    build_hash
        Content hash of the build's Verilog, 64 bits, which register ``BUILD_HASH`` reads.
    parameters
        Parameters of the machine.
    baud
        Rate of the serial line to the host, in bits per second; 0 without a serial line.
    board
        Name of the board in :mod:`beltline.constraints.boards` that the build is for; empty for none of them.
    """

    top: str
    build_hash: int
    parameters: MachineParameters
    baud: int = 0
    board: str = ""

    @property
    def digits(self) -> str:
        """The build hash as 16 hexadecimal digits."""
        return f"{self.build_hash:016x}"


def to_json(builds: Iterable[Build]) -> str:
    """Return the text of a file with ``builds``."""
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
    """Return the builds in ``text``, the contents of a file of builds.

    Raises
    ------
    ValueError
        ``text`` is not valid JSON, not a list of builds, or has a build that does not exist.
    """
    try:
        entries = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(entries, list):
        raise ValueError(f"a file of builds must hold a list, not {_brief(entries)}")
    return tuple(_build(entry) for entry in entries)


def read(path: Path) -> tuple[Build, ...]:
    """Return the builds in the file ``path``.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        It is not a file of builds.
    """
    return from_json(path.read_text(encoding="utf-8"))


_FIELDS = {"board": str, "top": str, "hash": str, "parameters": dict, "baud": int}


def _build(entry: Any) -> Build:
    if not isinstance(entry, dict) or {name: type(value) for name, value in entry.items()} != _FIELDS:
        raise ValueError(
            f"a build must be an object with exactly {', '.join(_FIELDS)}, each of its type, not {_brief(entry)}"
        )
    if not re.fullmatch("[0-9a-f]{16}", entry["hash"]):
        raise ValueError(f"hash of a build must be 16 hexadecimal digits, not {_brief(entry['hash'])}")
    # A build without a named engine is one of the assembly line.
    given = entry["parameters"]
    sizes = {"engine": Engine.ASSEMBLY_LINE.name} | given
    try:
        named = {"multiplier": Multiplier[sizes["multiplier"]], "engine": Engine[sizes["engine"]]}
        parameters = MachineParameters(**sizes | named)
    except (KeyError, TypeError):
        raise ValueError(f"parameters of a build must be those of MachineParameters, not {_brief(given)}") from None
    return Build(entry["top"], int(entry["hash"], 16), parameters, entry["baud"], entry["board"])


def _brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
