"""Measure the area of the sweep engine for several sizes: ``python -m beltline.constraints.sweep_area``.

One lane, with all modules that it instantiates, and everything around the lanes are synthesised separately. The area is
their sum, with the lane multiplied by the number of lanes. Nothing is placed or routed. Each of the two is recorded
with the hash of its Verilog and of the tools, and measured again only if this has changed; a lane takes some minutes.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from beltline.constraints.area_jobs import figures_hash
from beltline.constraints.board_builds import recorded as recorded_builds
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
from beltline.sim.progress import reporting
from beltline.sim.yosys import use_yosys

FILE = Path(__file__).with_suffix(".json")
"""File of the recorded figures."""

PAGE = Path(__file__).resolve().parents[1] / "docs" / "sweep-engine.md"
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
        if board.machine.is_sweep
    },
    "large": Preset(
        MachineParameters(grid=65_536, states=4, bus_bits=512, engine=Engine.SWEEP, lanes=64), CHIPS["xcvu47p"], "xcup"
    ),
}
"""Sizes by name: those of the boards, and ``large``, of which no board is, for which the documentation models times."""


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


@dataclass(frozen=True)
class Part:
    """A part of a preset that is synthesised alone.

    Parameters
    ----------
    files
        Its Verilog, ``{file name: text}``.
    top
        Name of its top module.
    boxes
        Modules that it instantiates but that are not part of it.
    family
        Family of the chip.
    """

    files: dict[str, str]
    top: str
    boxes: tuple[str, ...]
    family: str

    @property
    def content(self) -> str:
        """Hash of the Verilog, of the command and of the tools' versions.

        Of a module that is not part of it only the ports count, and the constant that is the build hash does not.
        """
        texts = {name: text for name, text in self.files.items() if name != f"{content.BUILD_MODULE}.v"}
        for box in self.boxes:
            own = re.search(rf"^module {box}\b.*?^endmodule", texts[f"{box}.v"], re.M | re.S)
            assert own is not None
            texts[f"{box}.v"] = "\n".join(_PORT.findall(own.group()))
        return figures_hash(texts, self.family)

    def measure(self, progress: Progress | None = None) -> dict[str, Any]:
        """Measure the part by synthesis; returns its entry in the file, with the numbers of the boxes' instances.

        Raises
        ------
        SimulationError
            A tool failed.
        """
        made = synthesise(self.files, self.top, self.family, self.boxes, progress)
        found = Netlist(made.modules[self.top], dict.fromkeys(self.boxes, LogicPath(0, 0, 0, 0)))
        path = found.path()
        return {
            "content": self.content,
            **asdict(found.area()),
            "lut_sites": found.sites(),
            "levels": path.levels,
            "begins": path.begins,
            "ends": path.ends,
            "multiplications": made.multiplications,
            "tables": made.tables,
            "tables_in_ram": made.tables_in_ram,
            "instances": {box: found.instances(box) for box in self.boxes},
        }


_PORT = re.compile(r"^\s*(?:module|input|output)\b.*$", re.M)
"""A line of generated Verilog that says which ports a module has."""

_COUNTED = ("multiplications", "tables", "tables_in_ram")
"""Figures of the Verilog, added up for the complete engine."""

PARTS = ("lane", "rest")
"""Names of the parts."""


def parts_of(preset: Preset) -> tuple[str, dict[str, Part]]:
    """Generate a preset's Verilog; returns its build hash and its parts by name. Needs Yosys."""
    use_yosys()
    if preset.serial:
        files, top = verilog.generate_serial(SerialParameters(preset.machine)), serial_machine.MODULE
    else:
        files, top = verilog.generate(preset.machine), axi_machine.MODULE
    boxes = (lane.MODULE,)
    parts = {
        "lane": Part(instanced(files, lane.MODULE), lane.MODULE, (), preset.family),
        "rest": Part(instanced(files, top, boxes), top, boxes, preset.family),
    }
    return content.build_hash(files), parts


def measure(
    preset: Preset, entry: Mapping[str, Any] | None = None, progress: Progress | None = None
) -> Iterator[dict[str, Any]]:
    """Measure those parts of a preset that are not up to date in ``entry``, by synthesis.

    Yields the entry after each part, as the file stores it.

    Raises
    ------
    SimulationError
        A tool failed, or the number of lanes in the netlist is wrong.
    """
    digits, parts = parts_of(preset)
    now: dict[str, Any] = {**(entry or {}), "hash": ""}
    for name in PARTS:
        if now.get(name, {}).get("content") != parts[name].content:
            now[name] = parts[name].measure(progress)
            if all(part in now for part in PARTS):
                yield now
    count = now["rest"]["instances"][lane.MODULE]
    if count != preset.machine.lanes:
        raise SimulationError(f"the netlist has {count} lanes, not {preset.machine.lanes}")
    sums = {what: now["lane"][what] * count + now["rest"][what] for what in _COUNTED}
    yield now | {"hash": digits} | sums


def stale(name: str, entry: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each part of preset ``name`` that was measured with other Verilog or tools. Needs Yosys."""
    _, parts = parts_of(PRESETS[name])
    return [
        f"{name}: {FILE.name} has figures of other Verilog or tools for the {part}; "
        f"python -m beltline.constraints.sweep_area --preset {name} measures them again"
        for part in PARTS
        if entry[part].get("content") != parts[part].content
    ]


def earlier(name: str, entry: Mapping[str, Any]) -> bool:
    """Return whether the figures of a preset are of another build than the recorded one, or without hashes."""
    if any("content" not in entry[part] for part in PARTS):
        return True
    return name in recorded_builds() and entry["hash"] != recorded_builds()[name].digits


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
    if old := [f"`{name}`" for name in PRESETS if name in results and earlier(name, results[name])]:
        rows += ["", f"Measured with an earlier version of the gateware: {', '.join(old)}."]
    return "\n".join(rows) + "\n"


def _write(results: Mapping[str, Any]) -> None:
    """Store the content of the file, in the order of presets, and update the page."""
    figures = {name: results[name] for name in PRESETS if name in results}
    FILE.write_text(json.dumps(figures, indent=1) + "\n", encoding="ascii")
    page = PAGE.read_text(encoding="utf-8")
    head, rest = page.split(BEGIN)
    PAGE.write_text(f"{head}{BEGIN}{table(figures)}{END}{rest.split(END)[1]}", encoding="utf-8")


def main(argv: list[str] | None = None) -> int:
    """Measure presets, record the figures, and write them to the page; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m beltline.constraints.sweep_area", description=__doc__)
    parser.add_argument("--preset", choices=PRESETS, action="append", help="measure only this preset (default: all)")
    parser.add_argument("--all", action="store_true", help="also measure what is up to date")
    given = parser.parse_args(argv)
    for name in given.preset or PRESETS:
        before = {} if given.all else recorded().get(name, {})
        try:
            with reporting(None) as progress:
                for entry in measure(PRESETS[name], before, progress):
                    # Read the file again, since another process may have stored results meanwhile.
                    _write(recorded() | {name: entry})
        except SimulationError as error:
            parser.exit(1, f"sweep_area: {name}: {error}\n")
        print(f"{name}: " + ", ".join(f"{what} {share:.1%}" for what, share in shares(name, entry).items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
