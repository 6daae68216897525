"""The resources of the sweep engine: how lanes and the rest are counted and added up."""

from __future__ import annotations

import json
from typing import Any

from beltline.constraints import sweep_area
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
