"""The Verilog of a build."""

from __future__ import annotations

import re

import pytest
from amaranth.lib.wiring import Out

from hw import verilog
from hw.axi import Axi, AxiLite
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
    seen = {name: (way, int(high or 0) + 1) for way, high, name in ports}
    buses = {"s_axi_registers": AxiLite(12), "s_axi_tables": Axi(15, 64, 4)}
    wanted = {
        f"{bus}_{name}": ("input" if member.flow is Out else "output", member.shape)
        for bus, signature in buses.items()
        for name, member in signature.members.items()
    }
    assert seen == wanted | {"clk": ("input", 1), "rst": ("input", 1), "interrupt": ("output", 1)}


def test_same_build_same_text_and_hash(files: dict[str, str]) -> None:
    assert verilog.generate(MachineParameters(grid=4, states=1)) == files
    assert re.search(r"assign hash = 64'h[0-9a-f]{16};", files["beltline_build.v"])


def test_other_build_other_hash(files: dict[str, str]) -> None:
    other = verilog.generate(MachineParameters(grid=4, states=2))
    assert other["beltline_build.v"] != files["beltline_build.v"]
    assert other["beltline_evaluator.v"] == files["beltline_evaluator.v"]
