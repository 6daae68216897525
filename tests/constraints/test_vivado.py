"""The Vivado flow: the files written for each board, and its scripts, run with a substitute for Vivado.

These directories have a small machine with the buses of the real one: block designs depend on the buses only.
"""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path

import pytest

from beltline.constraints import vivado
from beltline.constraints.boards import BOARDS, Board, Flow
from beltline.constraints.wrapper import WRAPPER
from beltline.constraints.written_directory import manifest
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Table
from beltline.hw.interface.windows import WindowParameters
from beltline.hw.top import content, verilog
from beltline.sim.yosys import use_yosys
from support.vivado_projects import HASH, Builds, needs_tcl, replace, stand_in
from support.vivado_stub import MESSAGES, Ran

DESIGNS = [board for board in BOARDS.values() if board.flow in (Flow.ZYNQ, Flow.MPSOC, Flow.XDMA)]
NAMES = [board.name for board in DESIGNS]
PROCESSORS = [board for board in DESIGNS if board.flow is not Flow.XDMA]


@needs_tcl
@pytest.mark.parametrize("board", DESIGNS, ids=NAMES)
def test_one_command_leaves_bitstream_handoff_and_reports(board: Board, built: Builds) -> None:
    model, ran, directory = built(board)
    name = f"beltline-{board.name}-{HASH}"
    assert ran == Ran(0, f"build: {name}.bit, least slack 0.125 ns for setup and 0.010 ns for hold\n")
    for stem in (name, "beltline"):
        assert (directory / f"{stem}.bit").read_text() == "bitstream"
        assert (directory / f"{stem}.hwh").read_text() == "handoff"
    assert {path.name for path in (directory / "reports").iterdir()} == {
        "critical_warnings.txt",
        "drc.txt",
        "route_status.txt",
        "timing.txt",
        "utilization.txt",
        "utilization_hierarchical.txt",
    }
    assert model.part == board.part
    assert set(model.sources) == {f"sources/{file}" for file in ("beltline.v", "beltline_board.v", "beltline_build.v")}
    assert model.cells["beltline"] == WRAPPER
    assert set(model.fatal) == set(MESSAGES)
    assert set(model.fatal.values()) == {f"{directory}/sources/", f"{directory}/pins.xdc"}
    # Nothing is written before the timing is known.
    assert model.done.index("get_timing_paths") < model.done.index("write_bitstream")


@needs_tcl
@pytest.mark.parametrize("board", DESIGNS, ids=NAMES)
def test_machine_has_clock_reset_and_interrupt(board: Board, built: Builds) -> None:
    model, ran, _ = built(board)
    assert ran.code == 0
    clock, reset, line = {
        Flow.ZYNQ: ("ps/FCLK_CLK0", "ps/FCLK_RESET0_N", "ps/IRQ_F2P"),
        Flow.MPSOC: ("ps/pl_clk0", "ps/pl_resetn0", "ps/pl_ps_irq0"),
        Flow.XDMA: ("xdma/axi_aclk", "xdma/axi_aresetn", "xdma/usr_irq_req"),
    }[board.flow]
    assert model.drivers["beltline/clk"] == model.drivers["reset/slowest_sync_clk"] == clock
    assert model.drivers["reset/ext_reset_in"] == reset
    assert model.drivers["beltline/aresetn"] == "reset/peripheral_aresetn"
    if board.flow is Flow.XDMA:
        assert model.drivers[line] == "beltline/interrupt"
    else:
        # As PYNQ 3 requires.
        assert model.drivers["interrupts/intr"] == "beltline/interrupt"
        assert model.drivers[line] == "interrupts/irq"
        assert model.drivers["interrupts/s_axi_aclk"] == clock
        assert model.drivers["interrupts/s_axi_aresetn"] == "reset/peripheral_aresetn"
    crossbars = [cell for cell, ip in model.cells.items() if ip.endswith("smartconnect")]
    assert len(crossbars) == (2 if board.flow is Flow.XDMA else 1)
    for cell in crossbars:
        assert model.drivers[f"{cell}/aclk"] == clock
        assert model.drivers[f"{cell}/aresetn"] == "reset/interconnect_aresetn"


@needs_tcl
@pytest.mark.parametrize("board", DESIGNS, ids=NAMES)
def test_every_master_reaches_what_it_should(board: Board, built: Builds) -> None:
    model, ran, _ = built(board)
    assert ran.code == 0
    size = 1 << WindowParameters(board.machine).address_bits
    seen = {(space, segment): (offset, length) for space, segment, offset, length in model.addresses}
    registers, tables = "beltline/s_axi_registers/reg0", "beltline/s_axi_tables/reg0"
    if board.flow is Flow.XDMA:
        assert seen == {
            ("xdma/M_AXI_LITE", registers): (0, 4096),
            ("xdma/M_AXI", tables): (0, size),
            ("xdma/M_AXI_BYPASS", tables): (0, size),
        }
    else:
        start = vivado.APERTURES[board.flow]
        assert seen == {
            ("ps/Data", registers): (start, 4096),
            ("ps/Data", tables): (start + 0x100_0000, size),
            ("ps/Data", "interrupts/s_axi/Reg"): (start + 0x1_0000, 4096),
        }
    # The driver maps all windows up to the end of the policy table.
    windows = WindowParameters(board.machine)
    assert windows.offset(Table.POLICY) + 8 * windows.words(Table.POLICY) <= size


@needs_tcl
@pytest.mark.parametrize("board", DESIGNS, ids=NAMES)
def test_clock_and_width_are_those_of_the_build(board: Board, built: Builds) -> None:
    model, ran, _ = built(board)
    assert ran.code == 0
    # The frequency that the PLL makes for the requested one, to the Hz.
    assert model.hertz(model.drivers["beltline/clk"]) == board.machine.clock_hz
    if board.flow is Flow.ZYNQ:
        assert board.machine.bus_bits == 64
    elif board.flow is Flow.MPSOC:
        assert model.properties["ps"]["PSU__MAXIGP0__DATA_WIDTH"] == str(board.machine.bus_bits)
        assert model.properties["ps"]["preset"] == model.board == board.board_part.replace("*", model.board[-3:])
    else:
        assert model.properties["xdma"]["axi_data_width"] == f"{board.machine.bus_bits}_bit"
        bypass = model.properties["xdma"]
        assert bypass["axist_bypass_scale"] == "Megabytes"
        assert int(bypass["axist_bypass_size"]) << 20 == 1 << WindowParameters(board.machine).address_bits


@needs_tcl
def test_fan_of_kv260_is_driven(built: Builds) -> None:
    model, ran, directory = built(BOARDS["kv260"])
    assert ran.code == 0
    assert model.drivers["/fan_en_b"] == "fan/Dout"
    assert model.drivers["fan/Din"] == "ps/emio_ttc0_wave_o"
    assert model.constraints == ["pins.xdc"]
    assert "PACKAGE_PIN A12" in (directory / "pins.xdc").read_text()


@needs_tcl
@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        (
            {"slacks": {"setup": "-0.003", "hold": "0.010"}},
            "timing is not met: least slack is -0.003 ns for setup and 0.010 ns for hold, see reports/timing.txt",
        ),
        (
            {"slacks": {"setup": "0.003", "hold": "-0.010"}},
            "timing is not met: least slack is 0.003 ns for setup and -0.010 ns for hold, see reports/timing.txt",
        ),
        (
            {"slacks": {"setup": "", "hold": "0.010"}},
            "no path was checked for setup: the clocks' constraints are lost",
        ),
        (
            {"results": {"synth_1": {"PROGRESS": "0%", "STATUS": "synth_design ERROR"}}},
            "synth_1 ended with 'synth_design ERROR': see project/beltline.runs/synth_1/runme.log",
        ),
        (
            {"results": {"impl_1": {"PROGRESS": "100%", "STATUS": "route_design ERROR"}}},
            "impl_1 ended with 'route_design ERROR': see project/beltline.runs/impl_1/runme.log",
        ),
    ],
)
def test_failure_is_one_sentence_and_no_bitstream(state: dict[str, object], sentence: str, built: Builds) -> None:
    def older(directory: Path) -> None:
        (directory / "beltline.bit").touch()

    _, ran, directory = built(BOARDS["pynq-z2"], older, **state)
    assert ran == Ran(1, f"build: {sentence}\n")
    assert not list(directory.glob("*.bit"))
    assert not list(directory.glob("*.hwh"))


@needs_tcl
def test_clock_that_the_machine_was_not_made_for_is_refused(built: Builds) -> None:
    change = replace(
        "settings.tcl", "CONFIG.PCW_FPGA0_PERIPHERAL_FREQMHZ {100}", "CONFIG.PCW_FPGA0_PERIPHERAL_FREQMHZ {125}"
    )
    _, ran, directory = built(BOARDS["pynq-z2"], change)
    assert ran == Ran(1, "build: the clock is '125000000' Hz, and the machine was made for 100000000 Hz\n")
    assert not (directory / "project" / "beltline.runs").exists()


@needs_tcl
def test_critical_warnings_are_reported(built: Builds) -> None:
    said = "INFO: one\nCRITICAL WARNING: [PSU-1] two\nWARNING: three\n"
    _, ran, directory = built(BOARDS["zcu104"], said=said)
    assert ran.code == 0
    # Reports of synthesis and of implementation.
    assert (directory / "reports" / "critical_warnings.txt").read_text() == "CRITICAL WARNING: [PSU-1] two\n" * 2


@needs_tcl
@pytest.mark.parametrize("message", MESSAGES)
@pytest.mark.parametrize("whose", ["own", "others"])
def test_messages_are_errors_about_own_files_alone(message: str, whose: str, built: Builds) -> None:
    files = ("pins.xdc", "project/clocks.xdc") if message == "Common 17-55" else ("sources/a.v", "project/ip/b.v")
    file = files[whose == "others"]
    _, ran, directory = built(
        BOARDS["zcu104"], said=f"CRITICAL WARNING: [{message}] {MESSAGES[message]} [@HERE@/{file}:12]\n"
    )
    if whose == "others":
        assert ran.code == 0
        return
    sentence = "build: synth_1 ended with 'synth_design ERROR': see project/beltline.runs/synth_1/runme.log\n"
    assert ran == Ran(1, sentence)
    assert not list(directory.glob("*.bit"))


@needs_tcl
def test_module_and_carrier_of_kv260_belong_together(built: Builds) -> None:
    model, ran, _ = built(BOARDS["kv260"])
    assert ran.code == 0
    # Not the latest version, 2.0.
    assert model.board == "xilinx.com:kv260_som:part0:1.4"
    assert model.properties["project"]["board_connections"].endswith(":1.3")


@needs_tcl
def test_missing_board_file_is_one_sentence(built: Builds) -> None:
    _, ran, _ = built(BOARDS["zcu104"], boards={})
    assert ran == Ran(
        1,
        "build: this Vivado has no board file xilinx.com:zcu104:part0:*: install it (Tools, Vivado Store, Boards)\n",
    )


SMALL = dataclasses.replace(BOARDS["pynq-z2"], machine=MachineParameters(grid=4, states=1, clock_hz=100_000_000))


def command(directory: Path, *boards: str) -> int:
    """Run the command and return its exit code."""
    try:
        return vivado.main([*boards, "--out", str(directory)])
    except SystemExit as stop:
        return int(stop.code or 0)


@pytest.mark.gateware
def test_command_writes_a_directory_and_says_what_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use_yosys()
    monkeypatch.setitem(BOARDS, "pynq-z2", SMALL)
    assert command(tmp_path / "new", "pynq-z2") == 0
    out = tmp_path / "new" / "pynq-z2"
    generated = verilog.generate(SMALL.machine)
    files = vivado.project(SMALL, generated)
    files["SHA256SUMS"] = manifest(files)
    assert {str(path.relative_to(out)): path.read_text() for path in out.rglob("*") if path.is_file()} == files
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"{out} is written: build {content.build_hash(generated)}, TUL PYNQ-Z2"
    assert said[1].startswith("drivers do not know build ")
    assert said[2] == f"    cd {out} && vivado -mode batch -source build.tcl"
    assert [path.name for path in out.parent.iterdir()] == ["pynq-z2"]
    assert subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=out, check=False).returncode == 0
    # Once more, with results of Vivado in the folder.
    (out / "beltline.bit").touch()
    assert command(tmp_path / "new", "pynq-z2") == 0
    assert capsys.readouterr().out.splitlines()[0].startswith(f"{out} is up to date: build ")
    assert (out / "beltline.bit").exists()


def test_command_writes_all_boards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(verilog, "generate", lambda machine: stand_in(SMALL))
    assert command(tmp_path / "new") == 0
    assert {path.name for path in (tmp_path / "new").iterdir()} == {*NAMES, "f2", "f2-sweep"}
    assert f"    cd {tmp_path / 'new' / 'f2'} && sh build.sh" in capsys.readouterr().out.splitlines()


def test_command_replaces_only_what_it_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(verilog, "generate", lambda machine: stand_in(SMALL))
    out = tmp_path / "new" / "pynq-z2"
    assert command(out.parent, "pynq-z2") == 0
    before = (out / "settings.tcl").read_text()
    other = dataclasses.replace(SMALL, machine=dataclasses.replace(SMALL.machine, clock_hz=50_000_000))
    monkeypatch.setitem(BOARDS, "pynq-z2", other)
    assert command(out.parent, "pynq-z2") == 0
    after = (out / "settings.tcl").read_text()
    assert after != before
    assert [path.name for path in out.parent.iterdir()] == ["pynq-z2"]
    monkeypatch.setitem(BOARDS, "pynq-z2", SMALL)
    for change in ("beltline.bit", "settings.tcl"):
        (out / change).write_text("what took an hour")
        capsys.readouterr()
        assert command(out.parent, "pynq-z2") == 2
        assert capsys.readouterr().err == (
            f"vivado: '{out}' has results or changes of another build: move it, or delete it\n"
        )
        assert (out / change).read_text() == "what took an hour"
        (out / "beltline.bit").unlink(missing_ok=True)


def test_command_refuses_a_directory_of_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "f2").mkdir()
    (tmp_path / "f2" / "kept").touch()
    with pytest.raises(SystemExit) as stop:
        vivado.main(["--out", str(tmp_path)])
    assert stop.value.code == 2
    assert capsys.readouterr().err == (
        f"vivado: '{tmp_path / 'f2'}' was not written by this program: move it, or give another --out\n"
    )
    # The error occurs before any other file is written.
    assert [path.name for path in tmp_path.iterdir()] == ["f2"]
    assert [path.name for path in (tmp_path / "f2").iterdir()] == ["kept"]


@pytest.mark.parametrize("name", ["pynq-z1", "ecp5", ""])
def test_command_refuses_an_unknown_board(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    built = ", ".join(board.name for board in BOARDS.values() if board.flow is not Flow.ECP5)
    with pytest.raises(SystemExit) as stop:
        vivado.main(["pynq-z2", name, "--out", str(tmp_path / "build")])
    assert (stop.value.code, capsys.readouterr().err) == (
        2,
        f"vivado: board must be one of {built}, not '{name}'\n",
    )
    assert not any(tmp_path.iterdir())


def test_command_without_yosys_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("YOSYS", str(tmp_path / "nowhere"))
    verilog._generated.cache_clear()
    monkeypatch.setitem(BOARDS, "pynq-z2", SMALL)
    with pytest.raises(SystemExit) as stop:
        vivado.main(["pynq-z2", "--out", str(tmp_path / "build")])
    assert stop.value.code == 1
    assert capsys.readouterr().err.startswith("vivado: Yosys could not write the Verilog: ")
    assert not any(tmp_path.iterdir())
