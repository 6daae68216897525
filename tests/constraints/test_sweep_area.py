"""The resources of the sweep engine: how lanes and the rest are counted and added up."""

from __future__ import annotations

import json
from typing import Any

import pytest

from beltline.constraints import board_builds, sweep_area
from beltline.constraints.netlist import Netlist


def lut(output: int, *inputs: int) -> dict[str, Any]:
    connections: dict[str, list[Any]] = {f"I{k}": [bit] for k, bit in enumerate(inputs)}
    return {"type": f"LUT{len(inputs)}", "connections": connections | {"O": [output]}}


def test_two_functions_of_five_inputs_share_a_lut() -> None:
    cells = {
        "sum": lut(10, 1, 2, 3),
        "carry": lut(11, 1, 2, 3),
        "wide": lut(12, 1, 2, 3, 4, 5, 6),
        "apart": lut(13, 7, 8, 9),
        "shift": {"type": "SRL16E", "connections": {}},
    }
    assert Netlist({"cells": cells}).sites() == 4
    # Six different inputs are too many.
    assert Netlist({"cells": {"a": lut(10, 1, 2, 3), "b": lut(11, 3, 4, 5, 6)}}).sites() == 2
    assert Netlist({"cells": {"a": lut(10, 1, 2, 3), "b": lut(11, 3, 4, 5)}}).sites() == 1


def test_lanes_count_as_often_as_there_are() -> None:
    part = {"lut": 100, "lutram": 0, "ff": 10, "carry": 1, "dsp": 2, "bram18": 3, "uram": 1, "lut_sites": 80}
    entry = {"lane": part | {"levels": 7}, "rest": part | {"levels": 5}}
    assert sweep_area.total(entry, 64)["lut"] == 6_500
    assert sweep_area.shares("large", entry)["dsp"] == 130 / 8016
    shown = sweep_area.table({"large": entry})
    assert shown.endswith("\nMeasured with an earlier version of the gateware: `large`.\n")
    cells = ("6,500 (1%)", "5,200 (0%)", "130 (2%)", "97.5 (5%)", "65 (8%)", "7")
    assert f"| `large` | VU47P in F2 | 65,536 x 4 | 64 | {' | '.join(cells)} |" in shown


def test_page_has_the_recorded_figures() -> None:
    stored = json.loads(sweep_area.FILE.read_text(encoding="ascii"))
    page = sweep_area.PAGE.read_text(encoding="utf-8")
    assert f"{sweep_area.BEGIN}{sweep_area.table(stored)}{sweep_area.END}" in page
    for name, entry in stored.items():
        assert entry["tables"] == entry["tables_in_ram"], name
        assert sweep_area.total(entry, sweep_area.PRESETS[name].machine.lanes)["dsp"] >= entry["multiplications"], name


def test_only_instantiated_modules_are_synthesised() -> None:
    files = {"a.v": "module a;\n  b one();\nendmodule", "b.v": "module b;\n  c two();\nendmodule", "c.v": "", "d.v": ""}
    assert set(sweep_area.instanced(files, "a")) == {"a.v", "b.v", "c.v"}
    assert set(sweep_area.instanced(files, "a", ("b",))) == {"a.v", "b.v"}


LANE = "module beltline_lane(clk, word);\n  input clk;\n  output word;\n{inside}endmodule\n"


def part(inside: str = "", digits: str = "1", rest: str = "") -> sweep_area.Part:
    files = {
        "top.v": f"module top;\n  beltline_lane one();\n  beltline_build two();\n{rest}endmodule\n",
        "beltline_lane.v": LANE.format(inside=inside),
        "beltline_build.v": f"module beltline_build; // {digits}\nendmodule\n",
    }
    return sweep_area.Part(files, "top", ("beltline_lane",), "xcup")


def test_the_rest_is_measured_again_only_if_its_own_verilog_changes() -> None:
    before = part().content
    assert part(inside="  assign word = clk;\n").content == before
    assert part(digits="2").content == before
    assert part(rest="  wire more;\n").content != before
    assert part(inside="  input more;\n").content != before
    assert sweep_area.Part(part().files, "top", ("beltline_lane",), "xc7").content != before


def test_only_a_part_whose_verilog_changed_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = []

    def measure(self: sweep_area.Part, progress: object) -> dict[str, Any]:
        measured.append(self.top)
        counts = {"multiplications": 5, "tables": 3, "tables_in_ram": 3}
        return {"content": self.content, "instances": {"beltline_lane": 4}, **counts}

    lane = sweep_area.Part({"beltline_lane.v": LANE}, "beltline_lane", (), "xcup")
    parts = {"lane": lane, "rest": part()}
    monkeypatch.setattr(sweep_area, "parts_of", lambda preset: ("abcd", parts))
    monkeypatch.setattr(sweep_area.Part, "measure", measure)
    preset = sweep_area.PRESETS["zcu104-sweep"]
    *_, entry = sweep_area.measure(preset)
    assert measured == ["beltline_lane", "top"]
    assert (entry["hash"], entry["multiplications"], entry["tables"]) == ("abcd", 25, 15)
    # A changed lane is stored before the rest is compared, and the hash only with both.
    parts["lane"] = sweep_area.Part({"beltline_lane.v": "module beltline_lane;"}, "beltline_lane", (), "xcup")
    assert [found["hash"] for found in sweep_area.measure(preset, entry)] == ["", "abcd"]
    assert measured == ["beltline_lane", "top", "beltline_lane"]
    with pytest.raises(sweep_area.SimulationError, match="^the netlist has 4 lanes, not 32$"):
        list(sweep_area.measure(sweep_area.PRESETS["f2-sweep"], entry))


def test_figures_of_another_build_are_seen() -> None:
    entry = {"hash": board_builds.recorded()["f2-sweep"].digits, "lane": {"content": ""}, "rest": {"content": ""}}
    assert not sweep_area.earlier("f2-sweep", entry)
    assert sweep_area.earlier("zcu104-sweep", entry)
    assert sweep_area.earlier("f2-sweep", entry | {"lane": {}})


@pytest.mark.gateware
@pytest.mark.parametrize("name", sweep_area.PRESETS)
def test_recorded_figures_are_of_the_present_verilog_or_marked(name: str) -> None:
    entry = sweep_area.recorded()[name]
    assert bool(sweep_area.stale(name, entry)) == sweep_area.earlier(name, entry), "run make area"
