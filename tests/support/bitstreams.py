"""A finished build of a bitstream, made without the tools."""

from __future__ import annotations

import json
from pathlib import Path

from beltline.constraints import bitstreams
from beltline.constraints.board_builds import recorded


def finished(directory: Path, board: str = "ecp5", digits: str = "", content: bytes = b"bits") -> Path:
    """Write what ``make bitstream`` leaves in a directory, and return the ``.bit``."""
    digits = digits or recorded()[board].digits
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"beltline-{board}-{digits}.bit"
    path.write_bytes(content)
    path.with_suffix(".svf").write_bytes(b"SVF " + content)
    report = {
        "board": board, "build_hash": digits, "part": "LFE5UM5G-85F-8BG381", "clock_hz": 84_000_000, "fmax_hz": 1.2e8,
        "seed": 1, "used": {}, "available": {}, "tools": {"amaranth": "0.5.10"}, "measured": "",
    }  # fmt: skip
    (directory / bitstreams.REPORT).write_text(json.dumps(report))
    (directory / bitstreams.FILE).write_text(bitstreams.to_json(bitstreams.of_build(directory)))
    return path
