"""The figures in ``constraints/area.json``: reading, writing, checking, and comparison with new measurements."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from beltline.constraints.area_jobs import TOOLS, Job
from beltline.constraints.boards import LINES
from beltline.constraints.chips import FAMILIES
from beltline.constraints.units import UNITS

FILE = Path(__file__).with_name("area.json")
"""The file."""

LEVELS = 8
"""Largest number of LUTs between two registers of any unit."""

TOLERANCE = 0.05
"""Relative change of a number of LUTs, flip-flops or carry cells that is accepted."""

CELLS = 8
"""Absolute change of such a number that is accepted, if it is larger."""

FMAX_TOLERANCE = 0.15
"""Relative change of a frequency that is accepted: placement is random, and a small change of a netlist can change the
frequency by this much."""

EXACT = ("dsp", "bram18", "uram", "levels", "into", "out_of")
"""Figures that must not change."""

LOOSE = ("lut", "lutram", "ff", "carry")
"""Figures with a tolerance."""


def complaints(title: str, entry: Mapping[str, Any]) -> list[str]:
    """Return sentences about what is wrong with an entry; ``title`` names it."""
    said = []
    if entry["levels"] > LEVELS:
        said.append(
            f"{title}: {entry['levels']} LUTs in a row from {entry['begins']} to {entry['ends']}, more than {LEVELS}"
        )
    if entry["dsp"] < entry["multiplications"]:
        said.append(f"{title}: {entry['multiplications']} multiplications, but only {entry['dsp']} multipliers")
    if entry["tables_in_ram"] < entry["tables"]:
        said.append(f"{title}: only {entry['tables_in_ram']} of {entry['tables']} tables are in block RAM or UltraRAM")
    return said


def load() -> dict[str, Any]:
    """Read the stored figures; empty if the file does not exist."""
    figures: dict[str, Any] = json.loads(FILE.read_text(encoding="ascii")) if FILE.exists() else {}
    return figures


def save(results: dict[str, Any]) -> None:
    """Write the figures atomically, in the order of units and boards."""
    ordered = {
        "tools": {name: importlib.metadata.version(name) for name in ("amaranth", *TOOLS)},
        "units": {
            name: {family: results["units"][name][family] for family in FAMILIES if family in results["units"][name]}
            for name in UNITS
            if name in results.get("units", {})
        },
        "machines": {name: results["machines"][name] for name in LINES if name in results.get("machines", {})},
    }
    partial = FILE.with_suffix(".partial")
    partial.write_text(json.dumps(ordered, indent=1) + "\n", encoding="ascii")
    partial.rename(FILE)


def moved(title: str, recorded: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """Return a sentence for every figure of ``found`` that differs from the stored one by more than its tolerance."""
    sentences = []
    for name in (*EXACT, *LOOSE, "evaluators", "fmax"):
        if name not in found:
            continue
        before, now = recorded[name], found[name]
        room = 0.0
        if name in LOOSE:
            room = max(CELLS, TOLERANCE * before)
        elif name == "fmax":
            room = FMAX_TOLERANCE * before
        if abs(now - before) > room:
            sentences.append(f"{title}: {name} is {now}, and {before} in {FILE.name}; make area rewrites the file")
    return sentences


def stale(job: Job, results: Mapping[str, Any]) -> list[str]:
    """Return a sentence if the figures of a job are missing, or were measured with other Verilog or tools."""
    entry = job.entry_in(results)
    if entry is None:
        return [f"{job.title}: {FILE.name} has no figures; make area measures them"]
    if entry["content"] != job.content:
        return [f"{job.title}: {FILE.name} has figures of other Verilog or tools; make area measures it again"]
    return []
