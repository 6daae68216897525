"""The documentation page of area and speed, which ``python -m beltline.constraints.area`` writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from beltline.constraints.boards import LINES
from beltline.constraints.chips import chip_of

PAGE = Path(__file__).resolve().parents[1] / "docs" / "area.md"
"""The page."""


def _row(cells: Iterable[object]) -> str:
    """Return a row of a Markdown table."""
    return "| " + " | ".join(map(str, cells)) + " |\n"


def _table(heads: tuple[str, ...], rows: Iterable[Iterable[object]]) -> str:
    """Return a Markdown table; all columns but the first are aligned to the right."""
    aligned = ["---", *["---:"] * (len(heads) - 1)]
    return _row(heads) + _row(aligned) + "".join(map(_row, rows))


def _blocks(bram18: int) -> str:
    """Return a number of RAM blocks of 36 kbit, from that of 18 kbit."""
    return f"{bram18 / 2:g}"


def _units(results: Mapping[str, Any], family: str) -> str:
    """Return the table of the units for a family."""
    heads = ("unit", "LUT", "of which RAM", "FF", "DSP", "BRAM", "URAM", "levels")
    if family == "ecp5":
        heads = ("unit", "LUT", "of which RAM", "FF", "MULT18", "RAM blocks", "levels", "Fmax, MHz")
    rows = []
    for name, families in results["units"].items():
        if family not in families:
            continue
        e = families[family]
        row = [f"`{name}`", f"{e['lut']:,}", f"{e['lutram']:,}", f"{e['ff']:,}", e["dsp"]]
        row += [e["bram18"], e["levels"], e.get("fmax", "")] if family == "ecp5" else [_blocks(e["bram18"]), e["uram"]]
        rows.append(row if family == "ecp5" else [*row, e["levels"]])
    return _table(heads, rows)


def _share(count: int, of: int) -> str:
    """Return ``count`` as a percentage of ``of``, a chip's number of a resource."""
    return f"{100 * count / of:.0f}%" if of else ("-" if not count else "more than there is")


def _machines(results: Mapping[str, Any]) -> str:
    """Return the table of the machines of the boards."""
    heads = ("board", "chip", "machine", "evaluators", "LUT", "FF", "DSP", "BRAM", "URAM", "levels")
    rows = []
    for name, e in results["machines"].items():
        board = LINES[name]
        chip, build = chip_of(board), board.machine
        folded = f", {-(-build.stages // build.fold)} of {build.stages} stages" if build.folded else ""
        row = [
            f"`{name}`",
            chip.name,
            f"{build.grid:,} x {build.states}{folded}",
            e["evaluators"],
            f"{e['lut']:,} ({_share(e['lut'], chip.lut)})",
            f"{e['ff']:,} ({_share(e['ff'], chip.ff)})",
            f"{e['dsp']:,} ({_share(e['dsp'], chip.dsp)})",
            f"{_blocks(e['bram18'])} ({_share(e['bram18'], chip.bram18)})",
            f"{e['uram']} ({_share(e['uram'], chip.uram)})",
            e["levels"],
        ]
        rows.append(row)
    return _table(heads, rows)


def page(results: Mapping[str, Any]) -> str:
    """Return the page in Markdown; ``results`` is the content of ``constraints/area.json``."""
    tools = ", ".join(f"{name} {version}" for name, version in results["tools"].items())
    return f"""\
<!-- Written by `make area`. -->
# Area and speed

This page lists the chip resources that the gateware takes, and its speed, from synthesis with open tools:
{tools}. Nothing here was tried on hardware, and only the units for ECP5 were placed and routed.

| command | effect |
| --- | --- |
| `make area` | synthesises units whose figures are out of date, and writes `constraints/area.json` and this page |
| `make area UNIT=NAME`, `make area BOARD=NAME` | only this unit or board |
| `make area CHECK=1` | synthesises all units and compares the figures with the file |

The tests synthesise a few units, and fail if their figures differ from those in the file.

## The machines of the boards
The share of the chip is in parentheses. A machine is the sum of two parts: everything around its evaluators, flattened
and synthesised at full size, and the number of evaluators times one evaluator, which is synthesised once.

{_machines(results)}
BRAM counts blocks of 36 kbit; on ECP5 two blocks of 18 kbit count as one. The U250 holds the same machine as AWS F2. A
shell, a processing system or a bridge needs resources in addition.

## How to read it
- *LUT*: of 6 inputs (4 on ECP5), including those that are RAM or shift registers. Vivado will need fewer, for two
  reasons. It puts two small functions into one LUT, which Yosys does not. And Yosys builds the multiplexers of deep
  memories from LUTs, for which UltraScale+ has cascades.
- *DSP*: one for each multiplication of the Verilog; an assertion checks this. Yosys uses no register inside a DSP48E2,
  so it counts flip-flops that Vivado will not need; and it adds with LUTs where Vivado may add in the DSP. On 7-series
  it uses both: `expectation` takes half the LUTs there.
- *BRAM, URAM*: every table of 512 words or more is in one of them; an assertion checks this.
- *levels*: number of LUTs in series on the longest path between registers, where ports count as registers. It is at
  most 8 for everything on this page; an assertion checks this. Machines with a sweep engine are not on this page, and
  two that no board has have [9 or 10](sweep-engine.md#area). Carry chains, multiplexers inside a slice, and
  multipliers do not count. On ECP5 the LUTs before a carry count as one level. For a unit with evaluators, the
  evaluators' first and last LUTs are included.
- *Fmax*: the unit alone on LFE5UM5G-85F, speed grade 8, between registers, placed and routed by nextpnr with one seed.
  `machine` has no figure, because no ECP5 has room for its evaluators.

Units with a size are built for 256 points and 4 exogenous states. Units that contain evaluators are counted without
them: `stage` (the middle one of 7), `last-stage`, `folded-stage-N` (all stages with N evaluators), `machine` and
`folded-machine` (one stage, one evaluator).

## UltraScale+
{_units(results, "xcup")}
## 7-series
{_units(results, "xc7")}
## ECP5
{_units(results, "ecp5")}"""


def write(results: Mapping[str, Any]) -> None:
    """Write ``docs/area.md``."""
    PAGE.write_text(page(results), encoding="ascii")
