"""Tables of the boards' machines in ``docs/boards``: ``python -m beltline.constraints.board_pages --write``.

The other text of these pages is written by hand.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from beltline.constraints import ecp5, sweep_area
from beltline.constraints.blocks import blocks
from beltline.constraints.board_builds import recorded
from beltline.constraints.boards import BOARDS, Board, Flow
from beltline.constraints.chips import chip_of
from beltline.constraints.custom_logic import REGION_LUTS, lanes_of_regions
from beltline.constraints.vivado import APERTURES, settings
from beltline.hw.bus.serial_frames import BAUD
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.line.clocks import line_of, pass_clocks
from beltline.hw.sweep.engine import quiet_clocks

COMMAND = "python -m beltline.constraints.board_pages"

DEVICES = {Flow.ZYNQ: "pynq", Flow.MPSOC: "pynq", Flow.F2: "f2", Flow.ECP5: "serial", Flow.XDMA: "xdma"}
"""Values of ``device=`` for the boards of each flow."""

PAGES = Path(__file__).resolve().parents[1] / "docs" / "boards"
"""Folder of the pages."""

_PARTS = {
    "TRELLIS_COMB": "LUTs",
    "TRELLIS_FF": "flip-flops",
    "MULT18X18D": "multipliers",
    "DP16KD": "RAM blocks of 18 kbit",
}

SOURCE = "source of the resources"
"""Name of the row that says how the use of the chip was found."""

BEGIN, END = f"<!-- Written by `{COMMAND} --write`. -->\n", "<!-- Until here. -->\n"


def sweep(board: Board) -> tuple[int, float]:
    """Return the clocks of a sweep of the largest problem, by formula, in total and for each state.

    Clocks of a sweep engine depend on the choices that change; these are of a sweep in which none does.
    """
    machine = board.machine
    clocks = quiet_clocks(machine) if machine.is_sweep else pass_clocks(machine, machine.grid, machine.states)
    return clocks, clocks / (machine.grid * machine.states)


def _time(clocks: float, board: Board) -> str:
    return f"{1e3 * clocks / board.machine.clock_hz:,.3g} ms"


def _sizes(board: Board) -> str:
    return f"{board.machine.grid:,} x {board.machine.states}"


def _evaluators(machine: MachineParameters) -> int:
    """Return the number of evaluators: one for each lane of a sweep engine; those of an assembly line are counted."""
    return machine.lanes if machine.is_sweep else blocks(machine).evaluators


def _engine(board: Board) -> tuple[str, str]:
    """Return a row with the engine and its size."""
    machine = board.machine
    if machine.is_sweep:
        count = f"{machine.lanes} lane{'s' if machine.lanes > 1 else ''}"
        return "sweep engine", f"{count} with one evaluator{' each' if machine.lanes > 1 else ''}"
    evaluators = _evaluators(machine)
    return "assembly line", f"{_line(machine)}; {evaluators} evaluator{'s' if evaluators > 1 else ''}"


def _line(machine: MachineParameters) -> str:
    stages = f"the search's {machine.stages} stages"
    count = len(line_of(machine).stages)
    if not machine.folded:
        return f"{stages}, one physical stage for each"
    return f"{count} physical {'stage serves' if count == 1 else 'stages serve'} {stages} in turn"


def _reached(board: Board) -> str:
    if board.flow is Flow.ECP5:
        return f"a serial line of {BAUD:,} bits a second"
    return f"AXI4-Lite for registers, AXI4 of {board.machine.bus_bits} bits for tables"


def _rows(rows: list[tuple[str, ...]]) -> str:
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)


def _share(used: int, there: int) -> str:
    return f"{used:,} of {there:,} ({used / there:.0%})"


def _sweep_row(board: Board) -> tuple[str, str]:
    clocks, share = sweep(board)
    if board.machine.is_sweep:
        what, where = "a sweep of the largest problem in which no choice moves", "beltline.hw.sweep.engine.quiet_clocks"
    else:
        what, where = "a sweep of the largest problem", "beltline.hw.line.clocks.pass_clocks"
    return what, f"{clocks:,} clocks, {share:.2f} per state, computed by `{where}`"


def _of_chip(board: Board) -> list[tuple[str, ...]]:
    """Return the rows with the shares of the chip that the machine uses: of a line by arithmetic, of a sweep engine by
    synthesis.
    """
    chip, more = chip_of(board), []
    if board.machine.is_sweep:
        entry = sweep_area.recorded()[board.name]
        used = sweep_area.total(entry, board.machine.lanes)
        rows = [("LUTs", f"{_share(used['lut'], chip.lut)}, {_share(used['lut_sites'], chip.lut)} with two to a site")]
        dsp, bram, uram = used["dsp"], used["bram18"] // 2, used["uram"]
        last = f"synthesis of build `{entry['hash']}` with Yosys; nothing was placed"
        if board.flow is Flow.F2:
            more += _regions(board, entry)
        if sweep_area.earlier(board.name, entry):
            digits = recorded()[board.name].digits
            more.append(("build that is made now", f"`{digits}`, a later version, which was not synthesised yet"))
    else:
        found = blocks(board.machine)
        rows, (dsp, bram, uram) = [], (found.dsp, found.bram, found.uram)
        last = "computed by `constraints/blocks.py`; figures of synthesis are in area.md, and nothing was placed"
    memory = f"{_share(bram, chip.bram18 // 2)} RAMB36"
    if chip.uram:
        memory += f", {_share(uram, chip.uram)} UltraRAM"
    return [*rows, ("multipliers", f"{_share(dsp, chip.dsp)} DSPs"), ("memory", memory), (SOURCE, last), *more]


def _regions(board: Board, entry: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return a row for each super logic region, with its lanes and their LUTs; the middle one has all other units."""
    rows: list[tuple[str, ...]] = []
    for number, (own, there) in enumerate(zip(lanes_of_regions(board.machine.lanes), REGION_LUTS, strict=True)):
        what, used = f"{len(own)} lanes", len(own) * entry["lane"]["lut"]
        if number == 1:
            what, used = f"{what} and all that is outside lanes", used + entry["rest"]["lut"]
        rows.append((f"LUTs of super logic region {number}", f"{_share(used, there)}: {what}"))
    return rows


def _placed(board: Board) -> list[tuple[str, ...]]:
    """Return the rows with the results of place and route."""
    report = ecp5.recorded_report(board.name)
    rows: list[tuple[str, ...]] = [
        ("greatest clock", f"{report.fmax_hz / 1e6:.1f} MHz by nextpnr's timing analysis: the requested clock is met"),
        *((what, _share(report.used[part], report.available[part])) for part, what in _PARTS.items()),
        (SOURCE, f"place and route of build `{report.measured or report.build_hash}`"),
    ]
    if report.measured not in ("", report.build_hash):
        rows.append(("build that is made now", f"`{report.build_hash}`, a later version, which was not placed yet"))
    return rows


def machine_table(board: Board) -> str:
    """Return the Markdown table of a board's machine."""
    machine = board.machine
    clocks, _ = sweep(board)
    rows: list[tuple[str, ...]] = [
        ("the machine", ""),
        ("---", "---"),
        ("chip", f"`{board.part}`"),
        ("largest problem", f"{_sizes(board)} (`N_k x N_z`); the same bitstream solves smaller problems"),
        ("numbers", "64-bit fixed point; results have the same bits as on every other device"),
        _engine(board),
        ("clock", f"{machine.clock_hz:,} Hz, which register `CLOCK_HZ` reports"),
        ("reached by", _reached(board)),
        _sweep_row(board),
        ("time of this sweep", f"{_time(clocks, board)} if timing closes at this clock: modelled, not measured"),
    ]
    if board.flow in APERTURES:
        places = settings(board, "")
        rows.append(("byte addresses", f"registers `{places['registers_at']}`, tables `{places['tables_at']}`"))
    if board.flow is not Flow.ECP5:
        rows += _of_chip(board)
    if board.flow is Flow.ECP5:
        rows += _placed(board)
    return _rows(rows)


def boards_table() -> str:
    """Return the Markdown table of all boards."""
    rows: list[tuple[str, ...]] = [
        ("board", "chip", "`N_k x N_z`", "evaluators", "clock", "clocks per state", "time of a sweep", "`device=`"),
        ("---",) * 8,
    ]
    for board in BOARDS.values():
        clocks, share = sweep(board)
        rows.append(
            (
                f"[{board.title}]({board.name}.md)",
                f"`{board.part}`",
                _sizes(board),
                str(_evaluators(board.machine)),
                f"{board.machine.clock_hz / 1e6:.7g} MHz",
                f"{share:.2f}",
                _time(clocks, board),
                f"`{DEVICES[board.flow]}`",
            )
        )
    return _rows(rows)


def page(name: str, text: str) -> str:
    """Update the table in the text of a page.

    Parameters
    ----------
    name
        Name of a board, or ``index``.
    text
        The present page.

    Returns
    -------
    str
        The page with an up-to-date table.

    Raises
    ------
    ValueError
        The page lacks the lines before and after the table.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"page of '{name}' has no lines '{BEGIN.strip()}' and '{END.strip()}'")
    table = boards_table() if name == "index" else machine_table(BOARDS[name])
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def main(argv: list[str] | None = None) -> int:
    """Print the table of all boards, or update the pages; returns the exit code."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--write", action="store_true", help="update docs/boards instead of printing")
    if not parser.parse_args(argv).write:
        print(boards_table(), end="")
        return 0
    written = {}
    for name in ("index", *BOARDS):
        path = PAGES / f"{name}.md"
        try:
            written[path] = page(name, path.read_text(encoding="ascii"))
        except (OSError, ValueError) as error:
            parser.exit(1, f"board_pages: {error}\n")
    for path, text in written.items():
        path.write_text(text, encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
