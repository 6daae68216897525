"""The figures as kept in ``constraints/area.json``: read, written, judged, and compared with those measured now."""

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

KEPT = Path(__file__).with_name("area.json")

LEVELS = 8
"""Most LUTs between two registers of any unit."""

TOLERANCE = 0.05
CELLS = 8
"""A count of LUTs, flip-flops or carries may differ by this share, or by so many cells."""

FMAX_TOLERANCE = 0.15
"""Placement is a matter of luck: a small change of a netlist moves the frequency by so much."""

EXACT = ("dsp", "bram18", "uram", "levels", "into", "out_of")
LOOSE = ("lut", "lutram", "ff", "carry")


def complaints(title: str, entry: Mapping[str, Any]) -> list[str]:
    """What an entry must not be, in sentences."""
    said = []
    if entry["levels"] > LEVELS:
        said.append(
            f"{title}: {entry['levels']} LUTs in a row from {entry['begins']} to {entry['ends']}, and {LEVELS} may be"
        )
    if entry["dsp"] < entry["multiplications"]:
        said.append(f"{title}: {entry['multiplications']} multiplications, and only {entry['dsp']} multipliers")
    if entry["tables_in_ram"] < entry["tables"]:
        said.append(f"{title}: of {entry['tables']} tables only {entry['tables_in_ram']} are in block RAM or UltraRAM")
    return said


def load() -> dict[str, Any]:
    """The figures as kept in the repository; empty where there are none."""
    kept: dict[str, Any] = json.loads(KEPT.read_text(encoding="ascii")) if KEPT.exists() else {}
    return kept


def save(results: dict[str, Any]) -> None:
    """Write the figures, whole or not at all, in the order of units and boards."""
    ordered = {
        "tools": {name: importlib.metadata.version(name) for name in ("amaranth", *TOOLS)},
        "units": {
            name: {family: results["units"][name][family] for family in FAMILIES if family in results["units"][name]}
            for name in UNITS
            if name in results.get("units", {})
        },
        "machines": {name: results["machines"][name] for name in LINES if name in results.get("machines", {})},
    }
    partial = KEPT.with_suffix(".partial")
    partial.write_text(json.dumps(ordered, indent=1) + "\n", encoding="ascii")
    partial.rename(KEPT)


def moved(title: str, kept: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """A sentence for every figure that is not what the file keeps, by more than its tolerance."""
    sentences = []
    for name in (*EXACT, *LOOSE, "evaluators", "fmax"):
        if name not in found:
            continue
        before, now = kept[name], found[name]
        room = 0.0
        if name in LOOSE:
            room = max(CELLS, TOLERANCE * before)
        elif name == "fmax":
            room = FMAX_TOLERANCE * before
        if abs(now - before) > room:
            sentences.append(f"{title}: {name} is {now}, and {before} in {KEPT.name}; make area rewrites the file")
    return sentences


def stale(job: Job, results: Mapping[str, Any]) -> list[str]:
    """A sentence if what is kept of a unit or machine is not of its Verilog as it is now."""
    entry = job.kept(results)
    if entry is None:
        return [f"{job.title}: {KEPT.name} has no figures; make area measures them"]
    if entry["content"] != job.content:
        return [f"{job.title}: {KEPT.name} has figures of other Verilog or tools; make area measures it again"]
    return []
