"""Draws the diagrams of the gateware and of the project's parts into ``docs/figures``: ``python docs/draw.py``.

The clocks of the diagram of a sweep are computed from the parameters that the gateware is made from.
"""

from __future__ import annotations

import runpy
import sys
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from beltline.hw.arithmetic.expectation import ExpectationParameters
from beltline.hw.arithmetic.norm import NormParameters
from beltline.hw.control.sequencer import SequencerParameters
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.line.clocks import pass_clocks
from beltline.hw.line.datapath import OLD_VALUE_CLOCKS
from beltline.hw.line.line import LineParameters
from beltline.hw.memory.ram import READ_LATENCY

FIGURES = Path(__file__).parent / "figures"

INK, GREY, RULE = "#1c2733", "#5b6b7b", "#e3e8ed"
CONTROL, DATA, MEMORY, BUS, PALE = "#fde9c9", "#d3e7f8", "#dcefd6", "#ece2f5", "#f6f8fa"


@dataclass
class Drawing:
    """An SVG of ``width`` x ``height`` on white, so that it can be read on a dark page too."""

    width: int
    height: int
    title: str
    parts: list[str] = field(default_factory=list)

    def rectangle(self, x: float, y: float, w: float, h: float, fill: str, more: str = f'stroke="{INK}"') -> None:
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="4" fill="{fill}" {more}/>')

    def text(self, x: float, y: float, words: str, size: int = 12, fill: str = INK, more: str = "") -> None:
        self.parts.append(f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{fill}" {more}>{escape(words)}</text>')

    def box(self, x: float, y: float, w: float, h: float, fill: str, *lines: str) -> None:
        """Draw a box with centred lines, the first of them in bold."""
        self.rectangle(x, y, w, h, fill)
        top = y + h / 2 - 8 * (len(lines) - 1) + 4
        for k, line in enumerate(lines):
            bold = 'text-anchor="middle" font-weight="bold"' if k == 0 else 'text-anchor="middle"'
            self.text(x + w / 2, top + 16 * k, line, 13 if k == 0 else 11, INK if k == 0 else GREY, bold)

    def path(self, *points: tuple[float, float], ends: str = "end", dash: bool = False, colour: str = INK) -> None:
        """Draw a line with arrows at its ``"end"``, at ``"both"`` ends or ``"none"``."""
        way = " ".join(f"{'L' if k else 'M'}{x:g} {y:g}" for k, (x, y) in enumerate(points))
        arrows = {
            "end": 'marker-end="url(#arrow)"',
            "both": 'marker-end="url(#arrow)" marker-start="url(#arrow)"',
            "none": "",
        }[ends]
        dashes = 'stroke-dasharray="5 4"' if dash else ""
        self.parts.append(f'<path d="{way}" fill="none" stroke="{colour}" stroke-width="1.4" {dashes} {arrows}/>')

    def svg(self) -> str:
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
            f'height="{self.height}" font-family="Helvetica, Arial, sans-serif" role="img">\n'
            f"<title>{escape(self.title)}</title>\n"
            '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7" '
            f'orient="auto-start-reverse"><path d="M0 0.6 L8 4 L0 7.4 z" fill="{INK}"/></marker></defs>\n'
            f'<rect width="{self.width}" height="{self.height}" rx="6" fill="#ffffff"/>\n'
        )
        return head + "\n".join(" ".join(part.split()).replace(" />", "/>") for part in self.parts) + "\n</svg>\n"


def machine() -> Drawing:
    """Draw the block diagram."""
    d = Drawing(1060, 600, "Block diagram of the accelerator")
    dashed = f'stroke="{GREY}" stroke-dasharray="6 4"'
    d.rectangle(160, 20, 880, 560, PALE, dashed)
    d.text(172, 40, "AxiMachine, the top module beltline", 12, GREY)
    d.rectangle(345, 50, 680, 515, "#ffffff", dashed)
    d.text(357, 68, "Machine", 12, GREY)

    d.box(180, 85, 130, 60, BUS, "AxiRegisters", "one access at a time")
    d.box(380, 85, 130, 60, CONTROL, "registers", "settings, reports")
    d.box(625, 85, 140, 60, CONTROL, "sequencer", "prologue, sweeps, end")
    d.box(870, 85, 115, 60, DATA, "sup norm", "of V - old V")
    d.path((20, 115), (180, 115), ends="both")
    d.text(20, 92, "s_axi_registers")
    d.text(20, 106, "AXI4-Lite, 32 bits", 11, GREY)
    d.path((310, 115), (380, 115), ends="both")
    d.path((510, 105), (625, 105))
    d.text(530, 99, "settings, run", 11, GREY)
    d.path((625, 127), (510, 127))
    d.text(530, 142, "status, clocks", 11, GREY)
    d.path((870, 115), (765, 115))
    d.text(795, 109, "norm", 11, GREY)
    d.path((400, 145), (400, 175), (20, 175))
    d.text(20, 169, "interrupt")

    d.box(180, 270, 130, 60, BUS, "AxiTables", "one word a clock")
    d.path((20, 300), (180, 300), ends="both")
    d.text(20, 277, "s_axi_tables")
    d.text(20, 291, "AXI4, 64 to 512 bits", 11, GREY)
    d.path((310, 300), (362, 300), ends="none")
    d.path((362, 205), (362, 535), ends="none")
    d.path((362, 300), (390, 300), ends="both")
    d.path((362, 205), (935, 205), ends="none")
    d.text(372, 199, "X", 11, GREY)
    d.path((362, 465), (390, 465))
    d.path((362, 535), (925, 535), (925, 500), ends="both")
    d.text(372, 529, "start of V; V and policy", 11, GREY)

    d.box(390, 270, 100, 60, MEMORY, "W", "memory")
    d.box(390, 435, 100, 60, MEMORY, "beta Q", "memory")
    d.path((675, 145), (675, 170), (440, 170), (440, 270), dash=True)
    d.text(520, 164, "position", 11, GREY)
    stages = ((545, "stage 1", 3), (690, "stage 2", 3), (880, "stage p - 1", 4))
    for x, name, evaluators in stages:
        d.path((x + 55, 205), (x + 55, 235))
        d.box(
            x,
            235,
            110,
            120,
            DATA,
            name,
            "X and two halves",
            "of EV, in 4 banks",
            f"{evaluators} evaluators",
            "decision",
        )
    d.path((490, 300), (545, 300))
    d.text(496, 293, "W(x, s)", 11, GREY)
    d.path((655, 300), (690, 300))
    d.path((800, 300), (818, 300), ends="none")
    for x in (828, 838, 848):
        d.parts.append(f'<circle cx="{x}" cy="300" r="1.8" fill="{INK}"/>')
    d.path((858, 300), (880, 300))

    d.box(640, 440, 120, 60, DATA, "expectation", "beta sum Q V")
    d.box(870, 440, 115, 60, MEMORY, "V and policy", "memories")
    d.path((490, 480), (640, 480))
    d.path((955, 355), (955, 440))
    d.text(961, 395, "V, x'", 11, GREY)
    d.path((955, 410), (700, 410), (700, 440))
    d.text(770, 404, "V(x, s)", 11, GREY)
    d.path((640, 455), (520, 455), (520, 383), (910, 383), ends="none")
    for x, _, _ in stages:
        d.path((min(x + 55, 910), 383), (min(x + 55, 910), 355))
    d.text(612, 377, "EV of the next sweep", 11, GREY)
    d.path((985, 470), (1008, 470), (1008, 115), (985, 115))
    d.text(994, 300, "old and new V", 11, GREY, 'transform="rotate(-90 1003 300)"')
    return d


SMALL = MachineParameters(grid=16, states=4)
"""The build whose sweep is drawn: small enough to be drawn to scale."""


@dataclass(frozen=True)
class Span:
    """What a unit does from clock ``first`` to clock ``last``, both included; clock 0 reads a sweep's first state."""

    unit: str
    what: str
    first: int
    last: int
    fill: str


def spans(parameters: MachineParameters, states: int) -> list[Span]:
    """Where the states of a sweep over the whole grid of a build are, and when."""
    work = parameters.grid * states
    line = LineParameters.of(parameters)
    found: list[Span] = []

    def add(unit: str, what: str, first: int, fill: str) -> None:
        found.append(Span(unit, what, first, first + work - 1, fill))

    add("sequencer", "a state's position a clock", 0, CONTROL)
    entry = READ_LATENCY
    for stage in line.stages:
        add(f"stage {stage.number}", "states enter", entry, DATA)
        entry += stage.latency
    result = entry
    add("line", "value and policy leave", result, DATA)
    add("V, policy", "are written", result + OLD_VALUE_CLOCKS, MEMORY)
    add("sup norm", "takes in |V - old V|", result + OLD_VALUE_CLOCKS + NormParameters().latency, DATA)
    # A point's last value must be there before its first expectation can be.
    first_ev = result + 1 + ExpectationParameters(parameters.states, parameters.multiplier).latency + states - 1
    add("expectation", "EV of the next sweep, to all stages", first_ev, DATA)
    last_ev = first_ev + work - 1
    found.append(
        Span(
            "sequencer", "drain, decide", last_ev + 1, last_ev + SequencerParameters(parameters).turnaround - 1, CONTROL
        )
    )
    return found


def sweep() -> Drawing:
    """Draw a run, and one sweep of it to scale."""
    parameters, states = SMALL, SMALL.states
    work = parameters.grid * states
    length = pass_clocks(parameters, parameters.grid, states)
    check = SequencerParameters(parameters).check
    prologue = pass_clocks(parameters, parameters.grid, states, prologue=True)
    rows = spans(parameters, states)
    d = Drawing(1060, 510, "Clocks of a run and of a sweep")

    left, right = 140, 1030
    d.text(20, 32, f"A run of three sweeps, {parameters.grid} points x {states} states", 14, INK, 'font-weight="bold"')
    passes = [("", check), ("prologue", prologue), *((f"sweep {k}", length) for k in (1, 2, 3))]
    total = sum(clocks for _, clocks in passes)
    run_scale = (right - left - 60) / total
    at = 0.0
    for name, clocks in passes:
        x = left + at * run_scale
        d.rectangle(x, 50, clocks * run_scale, 30, CONTROL if name == "" else DATA)
        if name:
            d.text(x + clocks * run_scale / 2, 69, f"{name}: {clocks}", 11, INK, 'text-anchor="middle"')
        at += clocks
    end = left + total * run_scale
    d.text(20, 69, "passes (clocks)", 12, GREY)
    for y, name in ((108, "busy"), (138, "interrupt")):
        d.text(20, y, name, 12, GREY)
        high, low = y - 12, y + 4
        levels = ((left - 15, low), (left, low), (left, high), (end, high), (end, low), (right, low))
        if name == "interrupt":
            levels = ((left - 15, low), (end, low), (end, high), (right, high))
        d.path(*levels, ends="none")
    d.text(left, 165, f"{check} clocks of checks, then {prologue} + 3 x {length}: CLOCKS reads {total:,}", 11, GREY)

    top, pitch = 245, 30
    d.text(
        20,
        205,
        f"One sweep, to scale: {work} states and L = {length - work} clocks more",
        14,
        INK,
        'font-weight="bold"',
    )
    scale = (right - left) / (length + 12)
    names = list(dict.fromkeys(row.unit for row in rows))
    bottom = top + pitch * len(names)
    for clock in range(0, length + 1, 20):
        x = left + clock * scale
        d.path((x, top - 8), (x, bottom), ends="none", colour=RULE)
        d.text(x, top - 14, str(clock), 11, GREY, 'text-anchor="middle"')
    d.text(20, top - 14, "clock", 12, GREY)
    for k, name in enumerate(names):
        d.text(20, top + pitch * k + 16, name, 12)
    for row in rows:
        y = top + pitch * names.index(row.unit)
        x, width = left + row.first * scale, (row.last + 1 - row.first) * scale
        d.rectangle(x, y, width, 22, row.fill)
        label = f"{row.first} to {row.last}"
        if width > 7 * len(label):
            d.text(x + width / 2, y + 15, label, 11, INK, 'text-anchor="middle"')
        else:
            d.text(x - 5, y + 15, f"{row.what}, {label}", 11, GREY, 'text-anchor="end"')
            continue
        if x + width < 800:
            d.text(x + width + 6, y + 15, row.what, 11, GREY)
        else:
            d.text(x - 6, y + 15, row.what, 11, GREY, 'text-anchor="end"')
    x = left + length * scale
    d.path((x, top - 8), (x, bottom), ends="none", dash=True)
    d.text(x - 6, bottom + 14, f"clock {length}: the next sweep's first state", 11, INK, 'text-anchor="end"')
    return d


COLOURS = {"hw": DATA, "sim": MEMORY, "constraints": CONTROL, "gpu_ref": "#f9dcdc", "host": BUS, "beltline": PALE}
"""Of the parts, by their folder."""


PLACES = {
    "beltline": (3.0, 14), "host/cli": (3.0, 13), "host/bench": (3.0, 12),
    "host/batch": (2.0, 11), "host/models": (2.9, 11),
    "host/solver": (2.4, 10), "host/plots": (3.7, 10),
    "host/analysis": (4.02, 9), "host": (5.2, 9),
    "host/devices": (2.2, 8), "host/results": (4.0, 8),
    "constraints": (1.85, 7),
    "sim": (1.95, 6), "hw/top": (1.95, 5),
    "hw/bus": (1.0, 4), "hw/line": (1.95, 4), "hw/sweep": (2.9, 4),
    "hw/memory": (1.5, 3), "hw/control": (2.45, 3), "host/problem": (4.0, 3),
    "gpu_ref": (0.0, 2), "hw/arithmetic": (1.95, 2), "beltline/compiled": (0.97, 0), "hw/interface": (1.95, 1),
}  # fmt: skip
"""Column and row of every part, so that no arrow runs behind a box."""


def parts() -> Drawing:
    """Draw the parts of the project and the imports between them, without imports that follow from others.

    Raises
    ------
    ValueError
        A part has no place, or an import would be drawn upwards.
    """
    code = runpy.run_path(str(Path(__file__).with_name("parts.py")))
    graph = code["reduced"]()
    if set(graph) != set(PLACES):
        raise ValueError(f"PLACES and the parts differ: {sorted(set(graph) ^ set(PLACES))}")
    wide, high, column, row = 150, 30, 168, 70
    top = max(place[1] for place in PLACES.values())
    width = int(max(place[0] for place in PLACES.values()) * column) + wide + 40
    d = Drawing(width, (top + 1) * row + 30, "The parts of the project")
    at = {part: (20 + x * column, 20 + (top - y) * row) for part, (x, y) in PLACES.items()}
    for part, others in sorted(graph.items()):
        for other in sorted(others):
            if PLACES[part][1] <= PLACES[other][1]:
                raise ValueError(f"{part} imports {other}, which has no lower place")
            (x, y), (u, v) = at[part], at[other]
            d.path((x + wide / 2, y + high), (u + wide / 2, v - 2), colour=GREY)
    for part, (x, y) in at.items():
        d.box(x, y, wide, high, COLOURS[part.split("/")[0]], part)
    d.text(20, d.height - 8, "An arrow: imports. An import that follows from other arrows is not drawn.", 12, GREY)
    return d


DRAWINGS = {"machine.svg": machine, "sweep.svg": sweep, "parts.svg": parts}


def main() -> int:
    """Draw everything."""
    for name, draw in DRAWINGS.items():
        (FIGURES / name).write_text(draw().svg(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
