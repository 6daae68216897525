"""Measure the area of the sweep engine for several sizes: ``python -m beltline.constraints.sweep_area``.

One lane, with all modules that it instantiates, and everything around the lanes are synthesised separately. The area is
their sum, with the lane multiplied by the number of lanes. Nothing is placed or routed.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from beltline.constraints.boards import BOARDS, Flow
from beltline.constraints.chips import CHIPS, Chip, chip_of, family_of
from beltline.constraints.netlist import Area, Netlist
from beltline.constraints.netlist import Path as LogicPath
from beltline.constraints.synthesis import synthesise
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Engine
from beltline.hw.sweep.lane import lane
from beltline.hw.top import axi_machine, content, serial_machine, verilog
from beltline.hw.top.serial_machine import SerialParameters
from beltline.sim.cache import Progress, SimulationError
from beltline.sim.yosys import use_yosys

FILE = Path(__file__).with_suffix(".json")
"""File of the recorded figures."""

PAGE = Path(__file__).resolve().parents[1] / "docs" / "sweep-engine-clocks.md"
"""Documentation page with the table of figures."""

BEGIN, END = "<!-- area -->\n", "<!-- end of area -->\n"
"""Lines of the page before and after the table."""


@dataclass(frozen=True)
class Preset:
    """A size of the engine.

    Parameters
    ----------
    machine
        The build.
    chip
        The chip for whose resources shares are computed.
    family
        Its family, of :data:`beltline.constraints.chips.FAMILIES`.
    serial
        Whether the build has a serial line in place of AXI.
    """

    machine: MachineParameters
    chip: Chip
    family: str
    serial: bool = False


PRESETS = {
    **{
        name: Preset(board.machine, chip_of(board), family_of(board), serial=board.flow is Flow.ECP5)
        for name, board in BOARDS.items()
        if board.machine.features.lanes
    },
    "large": Preset(
        MachineParameters(grid=65_536, states=4, bus_bits=512, engine=Engine.SWEEP, lanes=64), CHIPS["xcvu47p"], "xcup"
    ),
}
"""Sizes by name: those of the boards, and the engine for which the documentation models times."""


def instanced(files: Mapping[str, str], top: str, boxes: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the files of module ``top`` and of the modules that it instantiates; those of ``boxes`` are not searched
    further.
    """
    wanted = {f"{top}.v"}
    texts = [files[f"{top}.v"]]
    while texts:
        text = texts.pop()
        for name in files:
            module = name.removesuffix(".v")
            if name not in wanted and re.search(rf"^\s*{module}\s", text, re.M):
                wanted.add(name)
                if module not in boxes:
                    texts.append(files[name])
    return {name: files[name] for name in files if name in wanted}


def measure(preset: Preset, progress: Progress | None = None) -> dict[str, Any]:
    """Measure a preset by synthesis; returns its figures as the file stores them.

    Raises
    ------
    SimulationError
        A tool failed.
    """
    use_yosys(progress)
    if preset.serial:
        files, top = verilog.generate_serial(SerialParameters(preset.machine)), serial_machine.MODULE
    else:
        files, top = verilog.generate(preset.machine), axi_machine.MODULE
    own = instanced(files, lane.MODULE)
    one = synthesise(own, lane.MODULE, preset.family, progress=progress)
    of_lane = Netlist(one.modules[lane.MODULE])
    around = instanced(files, top, (lane.MODULE,))
    rest = synthesise(around, top, preset.family, (lane.MODULE,), progress)
    boxes = {lane.MODULE: LogicPath(0, 0, 0, 0)}
    of_rest = Netlist(rest.modules[top], boxes)
    count = of_rest.instances(lane.MODULE)
    if count != preset.machine.lanes:
        raise SimulationError(f"the netlist has {count} lanes, not {preset.machine.lanes}")
    return {
        "hash": content.build_hash(files),
        "lane": asdict(of_lane.area()) | {"lut_sites": of_lane.sites(), "levels": of_lane.path().levels},
        "rest": asdict(of_rest.area()) | {"lut_sites": of_rest.sites(), "levels": of_rest.path().levels},
        "multiplications": one.multiplications * count + rest.multiplications,
        "tables": one.tables * count + rest.tables,
        "tables_in_ram": one.tables_in_ram * count + rest.tables_in_ram,
    }


def recorded() -> dict[str, Any]:
    """Read the recorded figures, by the name of the preset."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="ascii"))
    return found


def total(entry: Mapping[str, Any], lanes: int) -> dict[str, int]:
    """Return the figures of the complete engine with ``lanes`` lanes, from an entry of the file."""
    names = [*asdict(Area()), "lut_sites"]
    return {name: entry["lane"][name] * lanes + entry["rest"][name] for name in names}


def shares(name: str, entry: Mapping[str, Any]) -> dict[str, float]:
    """Return the shares of the chip's resources that the engine uses, without those that the chip does not have."""
    preset = PRESETS[name]
    chip, used = preset.chip, total(entry, preset.machine.lanes)
    has = {"lut": chip.lut, "lut_sites": chip.lut, "dsp": chip.dsp, "bram18": chip.bram18, "uram": chip.uram}
    return {what: used[what] / amount for what, amount in has.items() if amount}


def table(results: Mapping[str, Any]) -> str:
    """Return the Markdown table of the presets; ``results`` is the content of the file."""
    rows = [
        "| preset | chip | holds | lanes | LUT | with two to a site | DSP | block RAM | UltraRAM | LUT levels |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, preset in PRESETS.items():
        if name not in results:
            continue
        entry, machine = results[name], preset.machine
        used, share = total(entry, machine.lanes), shares(name, entry)
        cells = [f"{used['lut']:,} ({share['lut']:.0%})"]
        cells.append(f"{used['lut_sites']:,} ({share['lut_sites']:.0%})" if preset.family != "ecp5" else "")
        cells.append(f"{used['dsp']:,} ({share['dsp']:.0%})")
        cells.append(f"{used['bram18'] / 2:g} ({share['bram18']:.0%})")
        cells.append(f"{used['uram']:,} ({share['uram']:.0%})" if "uram" in share else "")
        levels = max(entry["lane"]["levels"], entry["rest"]["levels"])
        holds = f"{machine.grid:,} x {machine.states}"
        rows.append(f"| `{name}` | {preset.chip.name} | {holds} | {machine.lanes} | {' | '.join(cells)} | {levels} |")
    return "\n".join(rows) + "\n"


def main(argv: list[str] | None = None) -> int:
    """Measure presets, record the figures, and write them to the page; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m beltline.constraints.sweep_area", description=__doc__)
    parser.add_argument("--preset", choices=PRESETS, action="append", help="measure only this preset (default: all)")
    given = parser.parse_args(argv)
    for name in given.preset or PRESETS:
        try:
            entry = measure(PRESETS[name], lambda line: print(line, file=sys.stderr))
        except SimulationError as error:
            parser.exit(1, f"sweep_area: {name}: {error}\n")
        results = (json.loads(FILE.read_text(encoding="ascii")) if FILE.exists() else {}) | {name: entry}
        figures = {name: results[name] for name in PRESETS if name in results}
        FILE.write_text(json.dumps(figures, indent=1) + "\n", encoding="ascii")
        page = PAGE.read_text(encoding="utf-8")
        head, rest = page.split(BEGIN)
        PAGE.write_text(f"{head}{BEGIN}{table(figures)}{END}{rest.split(END)[1]}", encoding="utf-8")
        print(f"{name}: " + ", ".join(f"{what} {share:.1%}" for what, share in shares(name, entry).items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
