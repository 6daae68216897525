"""Clocks chosen by a user: frequencies that each board can make, files written, and requests refused."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from beltline.constraints import board_builds as builds
from beltline.constraints import vivado
from beltline.constraints.boards import BOARDS, Flow
from beltline.constraints.fabric_clock import Mmcm, at_clock, clocks, megahertz, mmcm
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.top import content, verilog
from beltline.sim.yosys import use_yosys
from support.vivado_projects import HASH, Builds, needs_tcl, stand_in

RECIPES = (15.625, 62.5, 75, 100, 125, 150, 187.5, 200, 225, 250, 266.667, 300, 375, 400, 450, 500)
"""Clocks in MHz of the F2 kit's recipes, hdk/docs/Clock_Recipes_User_Guide.md of github.com/aws/aws-fpga, branch f2."""


@pytest.mark.parametrize(
    ("name", "mhz", "hertz", "suffix"),
    [
        ("pynq-z2", 125, 125_000_000, "-125MHz"),
        ("pynq-z2-sweep", 76.923, 76_923_077, "-76p923MHz"),
        ("arty-z7-20", 111.111, 111_111_111, "-111p111MHz"),
        ("zcu104", 150, 149_999_998, "-150MHz"),
        ("zcu104-sweep", 250, 249_999_998, "-250MHz"),
        ("kv260", 300, 299_997_000, "-299p997MHz"),
        ("f2", 125, 125_000_000, "-125MHz"),
        ("u250", 200, 200_000_000, "-200MHz"),
    ],
)
def test_clock_by_hand(name: str, mhz: float, hertz: int, suffix: str) -> None:
    board = at_clock(BOARDS[name], mhz)
    assert (board.machine.clock_hz, board.suffix) == (hertz, suffix)
    assert dataclasses.replace(board, machine=BOARDS[name].machine, suffix="") == BOARDS[name]


@pytest.mark.parametrize("board", [b for b in BOARDS.values() if b.flow is not Flow.ECP5], ids=lambda board: board.name)
def test_a_board_at_its_own_clock_is_that_board(board: object) -> None:
    assert isinstance(board, type(BOARDS["f2"]))
    own = board.machine.clock_hz
    assert own in clocks(board)
    for mhz in (own / 1e6, round(own / 1e6)):
        assert at_clock(board, mhz) is board
    assert (mmcm(board) is None) == (own == 250_000_000 or board.flow in (Flow.ZYNQ, Flow.MPSOC))


@pytest.mark.parametrize("mhz", RECIPES)
def test_f2_has_the_clocks_of_the_kits_recipes(mhz: float) -> None:
    board = at_clock(BOARDS["f2"], mhz)
    assert abs(board.machine.clock_hz / 1e6 / mhz - 1) < 2e-6
    made = mmcm(board)
    if mhz == 250:
        assert made is None
    else:
        assert made is not None
        assert made.hertz == pytest.approx(board.machine.clock_hz, abs=0.5)


def test_mmcms_stay_within_their_limits() -> None:
    assert mmcm(at_clock(BOARDS["f2"], 125)) == Mmcm(100_000_000, 120, 96)
    for name in ("f2", "u250"):
        for hertz in clocks(BOARDS[name])[::97]:
            made = mmcm(at_clock(BOARDS[name], hertz / 1e6))
            if made is not None:
                assert 800e6 <= made.reference * made.multiplier / 8 <= 1600e6
                assert 16 <= made.multiplier <= 1024
                assert made.divider == 8 or 16 <= made.divider <= 1024


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        (
            "pynq-z2",
            "140",
            "clock of board 'pynq-z2' must be the IO PLL's 1,000 MHz divided by two whole numbers up to 63, from 10 "
            "to 250 MHz, not 140 MHz: the nearest are 125 MHz and 142.857 MHz",
        ),
        (
            "zcu104",
            "140.5",
            "clock of board 'zcu104' must be the IO PLL's 1,500 MHz divided by two whole numbers up to 63, from 10 "
            "to 333 MHz, not 140.5 MHz: the nearest are 136.364 MHz and 150 MHz",
        ),
        (
            "kv260-sweep",
            "400",
            "clock of board 'kv260-sweep' must be the IO PLL's 1,500 MHz divided by two whole numbers up to 63, from "
            "10 to 333 MHz, not 400 MHz: the nearest is 299.997 MHz",
        ),
        (
            "f2",
            "1000",
            "clock of board 'f2' must be the shell's 250 MHz, or 100 MHz through an MMCM, from 10 to 500 MHz, "
            "not 1000 MHz: the nearest is 500 MHz",
        ),
        (
            "u250",
            "1",
            "clock of board 'u250' must be XDMA's 250 MHz, or that through an MMCM, from 10 to 500 MHz, "
            "not 1 MHz: the nearest is 10 MHz",
        ),
        ("f2", "125MHz", "clock must be a number of MHz, such as 125, not '125MHz'"),
        ("f2", "-5", "clock must be a number of MHz, such as 125, not '-5'"),
        ("f2", "nan", "clock must be a number of MHz, such as 125, not 'nan'"),
        ("f2", "0", "clock must be a number of MHz, such as 125, not '0'"),
        ("", "125", "clock 125 needs a board, because boards can generate different clocks: name one"),
    ],
)
def test_clock_that_cannot_be_is_refused_before_any_work(
    name: str, text: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        vivado.main([*([name] if name else []), f"--clock={text}", "--out", str(tmp_path / "build")])
    assert (stop.value.code, capsys.readouterr().err) == (2, f"vivado: {sentence}\n")
    assert not any(tmp_path.iterdir())


def test_boards_of_other_tools_have_their_own_clock() -> None:
    with pytest.raises(ValueError, match=r"^clock of board 'ecp5' cannot be chosen: its bitstream is not built by"):
        at_clock(BOARDS["ecp5"], 60)
    assert megahertz("62.5") == 62.5


@needs_tcl
@pytest.mark.parametrize(
    ("name", "mhz"),
    [("pynq-z2", 142.857), ("arty-z7-20", 125), ("zcu104", 214.286), ("kv260", 150), ("kv260-sweep", 187.49625)],
)
def test_processor_gives_the_clock_that_was_chosen(name: str, mhz: float, built: Builds) -> None:
    board = at_clock(BOARDS[name], mhz)
    model, ran, directory = built(board)
    assert ran.code == 0, ran.said
    clock = {Flow.ZYNQ: "ps/FCLK_CLK0", Flow.MPSOC: "ps/pl_clk0"}[board.flow]
    assert model.drivers["beltline/clk"] == clock
    assert model.hertz(clock) == board.machine.clock_hz
    assert (directory / f"beltline-{name}-{HASH}{board.suffix}.bit").exists()


@needs_tcl
@pytest.mark.parametrize("mhz", [125, 150, 62.5, 137.255])
def test_bridge_keeps_its_clock_and_the_machine_has_its_own(mhz: float, built: Builds) -> None:
    board = at_clock(BOARDS["u250"], mhz)
    model, ran, _ = built(board)
    assert ran.code == 0, ran.said
    assert model.drivers["beltline/clk"] == model.drivers["reset/slowest_sync_clk"] == "clock/clk_out1"
    assert abs(model.hertz("clock/clk_out1") / board.machine.clock_hz - 1) < 1e-4
    assert model.hertz("xdma/axi_aclk") == 250_000_000
    assert model.drivers["clock/clk_in1"] == "xdma/axi_aclk"
    assert model.drivers["reset/dcm_locked"] == "clock/locked"
    for crossbar in ("registers_fabric", "tables_fabric"):
        assert model.drivers[f"{crossbar}/aclk"] == "clock/clk_out1"
        assert model.drivers[f"{crossbar}/aclk1"] == "xdma/axi_aclk"
    assert model.drivers["xdma/usr_irq_req"] == "crossing/dest_out"
    assert model.drivers["crossing/src_in"] == "beltline/interrupt"
    assert (model.drivers["crossing/src_clk"], model.drivers["crossing/dest_clk"]) == (
        "clock/clk_out1",
        "xdma/axi_aclk",
    )


def test_command_writes_a_directory_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []

    def generate(machine: MachineParameters) -> dict[str, str]:
        asked.append(machine.clock_hz)
        return stand_in(BOARDS["zcu104"]) | {"beltline.v": f"// {machine.clock_hz}\n"}

    monkeypatch.setattr(verilog, "generate", generate)
    assert vivado.main(["zcu104", "--clock", "150", "--out", str(tmp_path)]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["zcu104-150MHz"]
    assert asked == [149_999_998, 249_999_998]
    out = tmp_path / "zcu104-150MHz"
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"{out} is written: build {HASH}, AMD ZCU104 at 149,999,998 Hz"
    assert said[-2] == f"    cd {out} && vivado -mode batch -source build.tcl"
    settings = (out / "settings.tcl").read_text()
    assert "set clock_mhz {150}\nset clock_hz {149999998}\n" in settings
    assert f"set name {{beltline-zcu104-{HASH}-150MHz}}\n" in settings
    assert (out / "sources" / "beltline.v").read_text() == "// 149999998\n"


@pytest.mark.gateware
def test_the_build_hash_does_not_depend_on_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hash of a build does not depend on the clock, so drivers know it; the Verilog differs in CLOCK_HZ only."""
    use_yosys()
    machine = MachineParameters(grid=4, states=1, clock_hz=100_000_000)
    monkeypatch.setitem(BOARDS, "pynq-z2", dataclasses.replace(BOARDS["pynq-z2"], machine=machine))
    own, chosen = (builds.verilog_of(board) for board in (BOARDS["pynq-z2"], at_clock(BOARDS["pynq-z2"], 125)))
    assert content.build_hash(own) == content.build_hash(chosen)
    changed = [name for name in own if own[name] != chosen[name]]
    assert changed == ["beltline.v"]
    assert re.sub(r"32'd100000000\b", "32'd125000000", own["beltline.v"]) == chosen["beltline.v"]
