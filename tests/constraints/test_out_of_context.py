"""Scripts that place and route single units, run with a substitute for Vivado, and their Verilog."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from beltline.constraints import out_of_context
from beltline.constraints.boards import BOARDS, Board
from beltline.constraints.out_of_context import MEMORY, Memory, Unit, directory_of, main, memories, memory_wrapper
from beltline.hw.memory import ram
from beltline.hw.top import verilog
from beltline.sim.cache import run_tool
from beltline.sim.yosys import use_yosys
from support.out_of_context_stub import REPORTS, OutOfContext
from support.vivado_projects import needs_tcl
from support.vivado_stub import Ran, run

UNITS = {
    "evaluator": Unit("one", {"one.v": "module one(input clk); endmodule\n"}),
    "lane": Unit("two", {"two.v": "module two(input clk); endmodule\n", "three.v": "module three; endmodule\n"}),
}


def implemented(
    tmp_path: Path, units: dict[str, Unit] = UNITS, board: Board = BOARDS["zcu104-sweep"], **state: Any
) -> tuple[OutOfContext, Ran]:
    verilog.write(directory_of(board, units), tmp_path / "ooc")
    model = OutOfContext(tmp_path / "ooc", **state)
    return model, run(model, tmp_path / "ooc" / "out_of_context.tcl")


@needs_tcl
def test_every_unit_is_routed_for_the_boards_part_and_clock_and_reported(tmp_path: Path) -> None:
    model, ran = implemented(tmp_path)
    assert ran.code == 0
    assert [line for line in ran.said.splitlines() if line] == [
        f"out_of_context: {unit}: least slack 0.125 ns for setup" for unit in UNITS
    ]
    assert model.implemented == ["one", "two"]
    hertz = BOARDS["zcu104-sweep"].machine.clock_hz
    assert model.constraints == [f"create_clock -name clk -period {1e9 / hertz:.3f} [get_ports clk]\n"]
    reports = tmp_path / "ooc" / "reports"
    assert {path.name for path in (reports / "lane").iterdir()} == {
        "timing.txt", "utilization.txt", "logic_levels.txt", "qor_assessment.txt", "ram.txt"
    }  # fmt: skip
    assert len(REPORTS) == 5
    assert (reports / "summary.txt").read_text() == (
        f"evaluator slack_ns 0.125 clock_hz {hertz}\nlane slack_ns 0.125 clock_hz {hertz}\n"
    )
    assert set(model.fatal) == {"Synth 8-327", "Synth 8-3352", "Synth 8-5559", "Synth 8-6858", "Synth 8-6859"}


@needs_tcl
@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ({"slack_of": {"one": "-0.5"}}, "evaluator: timing is not met by -0.5 ns, see reports/evaluator/timing.txt"),
        ({"slack_of": {"one": ""}}, "evaluator: no path was checked for setup: the clock's constraint is lost"),
        ({"broken": {"one"}}, "evaluator: synthesis failed"),
    ],
)
def test_a_unit_that_fails_is_one_sentence_and_the_others_are_still_tried(
    state: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    model, ran = implemented(tmp_path, **state)
    assert ran.code == 1
    assert f"out_of_context: {sentence}" in ran.said.split("\n")
    assert "out_of_context: lane: least slack 0.125 ns for setup" in ran.said
    assert "two" in model.implemented


def test_memories_of_generated_verilog_are_found() -> None:
    use_yosys(None)
    text = verilog.convert(_ram_component(24, 300), "unit")
    assert memories({"unit.v": text}) == [Memory(300, 24, 2, "ultra")]


def _ram_component(width: int, depth: int) -> Any:
    from amaranth.hdl import Module
    from amaranth.lib import wiring
    from amaranth.lib.wiring import In, Out

    class Holder(wiring.Component):
        def __init__(self) -> None:
            super().__init__({"address": In(9), "data": Out(width)})

        def elaborate(self, platform: object) -> Module:
            m = Module()
            m.submodules.words = words = ram.Ram(width, depth, 2, "ultra")
            m.d.comb += [words.read_address.eq(self.address), self.data.eq(words.read_data)]
            return m

    return Holder()


@pytest.mark.parametrize(
    "memory", [Memory(8192, 64, 8, "ultra"), Memory(2, 1, 1, "auto"), Memory(600, 195, 1, "block")]
)
def test_memory_has_a_register_on_both_sides(memory: Memory, tmp_path: Path) -> None:
    files = {f"{ram.MODULE}.v": ram.verilog(), f"{MEMORY}.v": memory_wrapper(memory)}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    script = (
        f"read_verilog {' '.join(files)}; hierarchy -check -top {MEMORY}; proc; opt_clean; check -assert; "
        # There are only registers between the ports and those of the memory.
        f"select -assert-none {MEMORY}/t:$mux {MEMORY}/t:$and; select -assert-count 5 {MEMORY}/t:$dff"
    )
    (tmp_path / "check.ys").write_text(script.replace("; ", "\n") + "\n")
    log = tmp_path / "log"
    run_tool(
        [use_yosys(None), "-q", "-s", "check.ys"],
        directory=tmp_path, log=log, environment=os.environ, doing="checking", progress=None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "a board must be named, one of pynq-z2,"),
        (["ecp5"], "board must be one of pynq-z2,"),
        (["f2-sweep", "--unit", "stage"], "unit of f2-sweep must be one of evaluator, lane, memory, not 'stage'"),
        (["f2", "--unit", "lane"], "unit of f2 must be one of evaluator, stage, memory, not 'lane'"),
        (["f2", "--clock", "fast"], "clock must be "),
    ],
)
def test_command_refuses_in_one_sentence(
    arguments: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--out", str(tmp_path / "out")])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith(f"out_of_context: {sentence}")
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()


@needs_tcl
@pytest.mark.parametrize("name", ["pynq-z2", "pynq-z2-sweep"])
def test_command_writes_units_of_a_machine_that_are_whole(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([name, "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert f"cd {tmp_path / name} && vivado -mode batch -source out_of_context.tcl" in said
    model = OutOfContext(tmp_path / name)
    assert run(model, tmp_path / name / "out_of_context.tcl").code == 0
    assert model.implemented[-1] == MEMORY
    assert len(model.implemented) == 3
    # All modules that a unit instantiates are in the file.
    for directory in sorted(path for path in (tmp_path / name).iterdir() if path.is_dir() and path.name != "reports"):
        top = dict(zip(out_of_context.units_of(BOARDS[name]), model.implemented, strict=True))[directory.name]
        files = " ".join(file.name for file in sorted(directory.iterdir()))
        checked = subprocess.run(
            [use_yosys(None), "-q", "-p", f"read_verilog {files}; hierarchy -check -top {top}"],
            cwd=directory, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert checked.returncode == 0, checked.stderr
    # Results of an earlier run are not overwritten.
    shutil.copy(tmp_path / name / "settings.tcl", tmp_path / name / "mine.tcl")
    (tmp_path / name / "SHA256SUMS").write_text("")
    with pytest.raises(SystemExit) as ended:
        main([name, "--out", str(tmp_path)])
    assert ended.value.code == 2
    assert "holds the results or changes of another run" in capsys.readouterr().err
