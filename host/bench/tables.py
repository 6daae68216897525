"""The results of the bench as Markdown tables."""

from __future__ import annotations

import math
from typing import Any

from beltline.host.bench.rows import EPSILON, OTHER, Row
from beltline.host.bench.throughput import TOL
from beltline.host.bench.throughput import table as rate_table


def _seconds(value: float) -> str:
    if math.isnan(value):
        return ""
    if value < 1e-3:
        return f"{value * 1e6:.1f} us"
    return f"{value * 1e3:.3g} ms" if value < 1 else f"{value:.3g} s"


def table(result: dict[str, Any], grid: int | None = None) -> str:
    """Return the rows as a Markdown table: each method at its largest grid, or all rows of one grid."""
    rows = [Row(**row) for row in result["rows"]]
    if grid is None:
        largest: dict[tuple[str, str, str], Row] = {}
        for row in rows:
            if row.grid <= 65_536:
                key = row.device, row.method, row.kind
                if key not in largest or row.grid >= largest[key].grid:
                    largest[key] = row
        rows = list(largest.values())
    else:
        rows = [row for row in rows if row.grid == grid]
    head = (
        "device", "method", "N_k", "sweeps", "allocate", "load", "solve", "read", "total", "call to return", "joules",
        "a sweep", "ratio", "max TV - V", "bound", "policy differs", "agrees", "kind", "note",
    )  # fmt: skip
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    for row in rows:
        cells = (
            row.device,
            row.method,
            f"{row.grid:,}",
            f"{row.sweeps:,}",
            *(_seconds(value) for value in (row.allocate, row.load, row.solve, row.read, row.total, row.call)),
            "" if math.isnan(row.joules) else f"{row.joules:.3g}",
            _seconds(row.per_sweep),
            "" if math.isnan(row.ratio) else f"{row.ratio:.3g}",
            f"{row.residual:.2g}",
            "none" if math.isinf(row.error_bound) else f"{row.error_bound:.2g}",
            f"{row.policy_differences:,}",
            "yes" if row.agrees and row.note != OTHER else ("" if row.agrees else "NO"),
            row.kind,
            row.note,
        )
        lines.append(" | ".join(cells))
    return "\n".join(f"| {line} |" for line in lines)


def title(about: dict[str, Any]) -> str:
    """Return a heading that identifies a run by the computer and the day."""
    cores = about.get("cores", "?")
    where = f"{cores} core{'' if cores == 1 else 's'}" + (f" and {about['gpu']}" if "gpu" in about else "")
    return f"Bench of {about.get('date', 'no date')}: {where}"


def markdown(result: dict[str, Any]) -> str:
    """Return the whole report as Markdown: the computer, the table, times by grid, and what was left out."""
    rows = [Row(**row) for row in result["rows"]]
    parts = [
        f"# {title(result['about'])}",
        "",
        f"RBC, 4 states, epsilon {EPSILON:g}; each method at its largest grid up to 65,536 points.",
        "",
    ]
    parts += [f"- {name}: {value}" for name, value in result["about"].items()]
    parts += ["", table(result), "", "## Total time by grid", ""]
    grids = sorted({row.grid for row in rows})
    comparable = [row for row in rows if "epsilon" not in row.note]
    names = list(dict.fromkeys((row.device, row.method, row.kind) for row in comparable))
    parts.append("| device | method | " + " | ".join(f"{grid:,}" for grid in grids) + " |")
    parts.append("| --- | --- |" + " --- |" * len(grids))
    for device, method, kind in names:
        times = {
            row.grid: row.total for row in comparable if (row.device, row.method, row.kind) == (device, method, kind)
        }
        cells = " | ".join(_seconds(times[grid]) if grid in times else "" for grid in grids)
        parts.append(f"| {device}{' (modelled)' if kind == 'modelled' else ''} | {method} | {cells} |")
    # Files of earlier versions do not have it.
    if result.get("throughput"):
        parts += ["", "## Problems a second", "", f"Batches of calibrations, epsilon {TOL:g}, end to end.", ""]
        parts.append(rate_table(result["throughput"]))
    if result["notes"]:
        parts += ["", "## Left out", "", *(f"- {note}" for note in result["notes"])]
    return "\n".join(parts) + "\n"
