"""The Verilog of a build."""

from __future__ import annotations

import re

import pytest

from hw import verilog
from hw.parameters import MachineParameters
from sim.yosys import use_yosys

pytestmark = pytest.mark.gateware


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    use_yosys()
    return verilog.generate(MachineParameters(grid=4, states=1))


def modules(text: str) -> list[str]:
    return re.findall(r"^module (\\?\S+?)\s*[#(]", text, re.M)


def test_files_and_top_modules(files: dict[str, str]) -> None:
    assert list(files) == ["beltline_evaluator.v", "beltline_ram.v", "beltline.v", "beltline_build.v"]
    for name, text in files.items():
        assert name.removesuffix(".v") in modules(text)
    # No module is there twice.
    every = [module for text in files.values() for module in modules(text)]
    assert len(every) == len(set(every))


def test_ports_are_those_of_the_design(files: dict[str, str]) -> None:
    top = files["beltline.v"].split("module beltline(")[1]
    ports = re.findall(r"^  (input|output) (?:\[(\d+):0\] )?(\w+);", top.split("endmodule")[0], re.M)
    assert {name: (way, int(high or 0) + 1) for way, high, name in ports} == {
        "clk": ("input", 1),
        "rst": ("input", 1),
        "register_address": ("input", 8),
        "register_write": ("input", 1),
        "register_write_data": ("input", 32),
        "register_read_data": ("output", 32),
        "table_select": ("input", 3),
        "table_address": ("input", 24),
        "table_write": ("input", 1),
        "table_write_data": ("input", 64),
        "table_read": ("input", 1),
        "table_read_valid": ("output", 1),
        "table_read_data": ("output", 64),
        "done": ("output", 1),
    }


def test_same_build_same_text_and_hash(files: dict[str, str]) -> None:
    assert verilog.generate(MachineParameters(grid=4, states=1)) == files
    assert re.search(r"assign hash = 64'h[0-9a-f]{16};", files["beltline_build.v"])


def test_other_build_other_hash(files: dict[str, str]) -> None:
    other = verilog.generate(MachineParameters(grid=4, states=2))
    assert other["beltline_build.v"] != files["beltline_build.v"]
    assert other["beltline_evaluator.v"] == files["beltline_evaluator.v"]
