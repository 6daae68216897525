"""Area and speed: counts of cells, lengths of paths, and recorded figures that match the present gateware."""

from __future__ import annotations

import dataclasses
import importlib.util
from typing import Any

import pytest

from beltline.constraints import area, area_figures, area_page
from beltline.constraints.area_jobs import TOOLS, Job, build_of
from beltline.constraints.boards import BOARDS, LINES
from beltline.constraints.chips import FAMILIES, chip_of, family_of
from beltline.constraints.netlist import Area, Netlist, NetlistError, Path
from beltline.constraints.synthesis import synthesise
from beltline.constraints.units import UNITS

INSTALLED = all(importlib.util.find_spec(tool.replace("-", "_")) for tool in TOOLS)
QUICK = [("norm", "xcup"), ("pacer", "ecp5")]
"""Units that the test synthesises again, in a few seconds each."""

needs_tools = pytest.mark.skipif(
    not INSTALLED, reason="Yosys or nextpnr is not installed: pip install '.[rtl,ecp5,dev]'"
)


def cell(kind: str, inputs: dict[str, list[Any]], outputs: dict[str, list[Any]], **parameters: str) -> dict[str, Any]:
    return {
        "type": kind,
        "parameters": parameters,
        "connections": {**inputs, **outputs},
        "port_directions": {**dict.fromkeys(inputs, "input"), **dict.fromkeys(outputs, "output")},
    }


def module(cells: dict[str, dict[str, Any]], into: list[int], out: list[int]) -> dict[str, Any]:
    return {
        "ports": {"into": {"direction": "input", "bits": into}, "out": {"direction": "output", "bits": out}},
        "cells": cells,
        "netnames": {"first": {"bits": [10]}, "second": {"bits": [20]}},
    }


def register(d: int, q: int) -> dict[str, Any]:
    return cell("FDRE", {"C": [1], "D": [d]}, {"Q": [q]})


def lut(a: int, o: int) -> dict[str, Any]:
    return cell("LUT1", {"I0": [a]}, {"O": [o]})


def test_path_is_from_register_to_register() -> None:
    cells = {
        "r1": register(2, 10),
        "a": lut(10, 11),
        "b": lut(11, 12),
        "c": lut(12, 13),
        "r2": register(13, 20),
        "d": lut(20, 30),
        "e": lut(30, 3),
        "f": lut(2, 31),
        "r3": register(31, 32),
    }
    found = Netlist(module(cells, [2], [3]))
    assert found.path() == Path(3, 0, 1, 2, "first[0]", "second[0]")
    assert found.area() == Area(lut=6, ff=3)


def test_carries_and_multipliers_without_registers_are_passed() -> None:
    chain = cell(
        "CARRY4",
        {"CI": ["0"], "CYINIT": ["0"], "DI": ["0"] * 4, "S": [11, "0", "0", "0"]},
        {"CO": [40, 41, 42, 43], "O": [44, 45, 46, 47]},
    )
    bare = cell("DSP48E2", {"A": [47], "B": ["1"]}, {"P": [50]}, PREG="0", MREG="0", AREG="0", BREG="0", CREG="0")
    cells = {"r1": register(2, 10), "a": lut(10, 11), "chain": chain, "m": bare, "b": lut(50, 51)}
    found = Netlist(module({**cells, "r2": register(51, 20)}, [2], []))
    assert (found.path().levels, found.path().carry) == (2, 1)
    stored = dict(bare, parameters={**bare["parameters"], "PREG": "1"})
    assert Netlist(module({**cells, "m": stored, "r2": register(51, 20)}, [2], [])).path().levels == 1


def test_black_boxes_count_with_the_logic_around_their_registers() -> None:
    cells = {"r1": register(2, 10), "a": lut(10, 11), "box": cell("box", {"i": [11]}, {"o": [12]}), "b": lut(12, 13)}
    found = Netlist(module({**cells, "r2": register(13, 20)}, [2], []), {"box": Path(0, 0, into=4, out_of=2)})
    assert found.path().levels == 5
    assert found.instances("box") == 1
    assert found.area() == Area(lut=2, ff=2)


def test_a_loop_and_an_unknown_cell_are_refused() -> None:
    with pytest.raises(NetlistError, match="^the logic of .* has a combinational loop$"):
        Netlist(module({"a": lut(11, 12), "b": lut(12, 11)}, [2], [])).path()
    with pytest.raises(NetlistError, match="^cell BUFFALO is unknown: add it to beltline.constraints.netlist$"):
        Netlist(module({"a": cell("BUFFALO", {}, {})}, [2], [])).area()


DESIGN = """
module unit(input clk, input [16:0] a, input [16:0] b, input [9:0] place, output reg [33:0] product,
            output reg [63:0] word);
    reg [63:0] words [0:1023];
    always @(posedge clk) begin
        product <= a * b;
        words[a[9:0]] <= {a, b};
        word <= words[place];
    end
endmodule
"""


@needs_tools
@pytest.mark.gateware
@pytest.mark.parametrize("family", ["xc7"])
def test_multiplications_and_tables_of_the_verilog_are_counted(family: str) -> None:
    made = synthesise({"unit.v": DESIGN}, "unit", family)
    assert (made.multiplications, made.tables, made.tables_in_ram) == (1, 1, 1)
    found = Netlist(made.modules["unit"]).area()
    assert found.dsp == 1
    assert found.bram18 == 2  # 1,024 words of the 34 bits that are written


def entry(**others: Any) -> dict[str, Any]:
    figures = {"lut": 1000, "lutram": 0, "ff": 1000, "carry": 10, "dsp": 4, "bram18": 2, "uram": 0, "levels": 8}
    rest = {"multiplications": 4, "tables": 1, "tables_in_ram": 1, "into": 1, "out_of": 1, "begins": "p", "ends": "q"}
    return {**figures, **rest, "fmax": 100.0, **others}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"levels": 9}, "it: 9 LUTs in a row from p to q, more than 8"),
        ({"dsp": 3}, "it: 4 multiplications, but only 3 multipliers"),
        ({"tables_in_ram": 0}, "it: only 0 of 1 tables are in block RAM or UltraRAM"),
    ],
)
def test_forbidden_changes_are_reported(change: dict[str, Any], sentence: str) -> None:
    assert area_figures.complaints("it", entry()) == []
    assert area_figures.complaints("it", entry(**change)) == [sentence]


@pytest.mark.parametrize(
    ("name", "within", "beyond"),
    [
        ("lut", 1050, 1051),
        ("ff", 950, 949),
        ("carry", 18, 19),
        ("dsp", 4, 5),
        ("levels", 8, 7),
        ("fmax", 115.0, 115.1),
        ("uram", 0, 1),
    ],
)
def test_a_changed_figure_is_reported(name: str, within: float, beyond: float) -> None:
    assert area_figures.moved("it", entry(), entry(**{name: within})) == []
    assert area_figures.moved("it", entry(), entry(**{name: beyond})) == [
        f"it: {name} is {beyond}, and {entry()[name]} in area.json; make area rewrites the file"
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--unit", "exp"], f"area: unit must be one of {', '.join(UNITS)}, not 'exp'\n"),
        (["--board", "f1"], f"area: board must be one of {', '.join(LINES)}, not 'f1'\n"),
        (["--unit", "exp2", "--board", "f2"], "area: either a unit or a board can be given, not both\n"),
    ],
)
def test_a_wrong_name_is_refused(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        area.main(arguments)
    assert ended.value.code == 2
    assert capsys.readouterr() == ("", sentence)


ENTRIES = [(f"{name}-{family}", Job(name, family)) for name in UNITS for family in FAMILIES]
ENTRIES += [(name, Job(name, family_of(board), board)) for name, board in LINES.items()]


@pytest.mark.parametrize("job", [job for _, job in ENTRIES], ids=[name for name, _ in ENTRIES])
def test_recorded_figures_exist_and_are_plausible(job: Job) -> None:
    """In recorded builds no path has more than 8 LUTs, and multiplications and tables use multipliers and block RAM."""
    stored = job.entry_in(area_figures.load())
    assert stored is not None, f"{area_figures.FILE.name} has no figures of {job.title}: run make area"
    assert area_figures.complaints(job.title, stored) == []
    assert stored["levels"] > 0
    assert job.placed == ("fmax" in stored)


@pytest.mark.parametrize("name", LINES)
def test_recorded_machine_is_of_the_boards_build_and_fits(name: str) -> None:
    board, results = BOARDS[name], area_figures.load()
    stored = Job(name, family_of(board), board).entry_in(results)
    assert stored is not None, f"{area_figures.FILE.name} has no figures of {name}: run make area"
    assert stored["build"] == build_of(board), f"{name}: area.json is of another build; run make area BOARD={name}"
    one = results["units"]["evaluator"][family_of(board)]
    chip = chip_of(board)
    assert stored["dsp"] >= stored["evaluators"] * one["dsp"]
    for resource in ("lut", "dsp", "bram18", "uram"):
        assert stored[resource] <= getattr(chip, resource), resource


def test_the_headline_machine_fits_with_room() -> None:
    """The machine for 65,536 x 4 takes less than 75% of each resource of a VU47P, whose shell takes about 12%."""
    stored = area_figures.load()["machines"]["f2"]
    chip = dataclasses.asdict(chip_of(BOARDS["f2"]))
    assert stored["evaluators"] == 46
    assert all(stored[resource] < 0.75 * chip[resource] for resource in ("lut", "dsp", "bram18", "uram"))


def test_the_page_has_the_recorded_figures() -> None:
    assert area_page.PAGE.read_text(encoding="ascii") == area_page.page(area_figures.load()), "run make area"


@needs_tools
@pytest.mark.gateware
@pytest.mark.parametrize("name", UNITS)
def test_recorded_figures_are_of_the_current_verilog(name: str) -> None:
    """Figures recorded for UltraScale+ are of the current Verilog; ``make sim-full`` tests the other families."""
    assert area_figures.stale(Job(name, "xcup"), area_figures.load()) == []


@needs_tools
@pytest.mark.gateware
@pytest.mark.slow
@pytest.mark.parametrize("job", [job for _, job in ENTRIES], ids=[name for name, _ in ENTRIES])
def test_all_recorded_figures_are_of_the_current_verilog(job: Job) -> None:
    assert area_figures.stale(job, area_figures.load()) == []


@needs_tools
@pytest.mark.gateware
@pytest.mark.parametrize(("name", "family"), QUICK)
def test_units_measured_again_have_the_recorded_figures(name: str, family: str) -> None:
    job = Job(name, family)
    stored = job.entry_in(area_figures.load())
    assert stored is not None, "run make area"
    assert area_figures.moved(job.title, stored, job.measure(None)) == []
