"""The simulated board, with a substitute for the machine."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

from beltline.host.devices.base import DeviceError
from beltline.host.devices.rtl import RtlDevice
from beltline.hw.interface.registers import REGISTERS, Command, Status, Table
from beltline.sim.board import SimulatedBoard, compile_board
from beltline.sim.cache import SimulationError
from support.stand_in import machine, norm

pytestmark = pytest.mark.gateware

INSTANCES, MULTIPLIES, WORDS = 4, 2, 4096
FOREVER = 2**32 - 1


READ_BACK = (Table.W, Table.V)
"""Tables that can be written and read."""


def board_of(files: dict[str, str]) -> RtlDevice:
    return RtlDevice(SimulatedBoard(files))


@pytest.fixture(params=[512, *(pytest.param(bits, marks=pytest.mark.slow) for bits in (64, 128, 256))])
def board(request: pytest.FixtureRequest) -> Iterator[RtlDevice]:
    """Return boards with every width of the tables' bus."""
    opened = board_of(machine(INSTANCES, MULTIPLIES, WORDS, bus_bits=request.param))
    yield opened
    opened.close()


@pytest.fixture
def narrow() -> Iterator[RtlDevice]:
    opened = board_of(machine(INSTANCES, MULTIPLIES, WORDS))
    yield opened
    opened.close()


def run(board: RtlDevice, sweeps: int) -> None:
    board.write_register("SWEEP_LIMIT", sweeps)
    board.write_register("COMMAND", Command.RUN)


@pytest.mark.parametrize("table", READ_BACK)
def test_blocks_come_back_and_leave_their_neighbours(board: RtlDevice, table: Table) -> None:
    rng = np.random.default_rng(int(table))
    limits = np.iinfo(np.int64)
    contents = {}
    for other in READ_BACK:
        contents[other] = rng.integers(limits.min, limits.max, WORDS, endpoint=True)
        board.write_block(other, 0, contents[other])
    for first, count in [(0, 1), (1, 1), (WORDS - 1, 1), (7, 20), (3, 0), (0, WORDS), (5, 700), (513, 2000)]:
        words = rng.integers(limits.min, limits.max, count, endpoint=True)
        board.write_block(table, first, words)
        contents[table][first : first + count] = words
        np.testing.assert_array_equal(board.read_block(table, first, count), words)
        for other in READ_BACK:
            np.testing.assert_array_equal(board.read_block(other, 0, WORDS), contents[other])


def test_what_the_gateware_refuses(narrow: RtlDevice) -> None:
    """The board reports requests that the gateware refuses; the device never sends such requests."""
    simulated = narrow._board
    with pytest.raises(SimulationError, match="^the register bus refused a read .SLVERR.$"):
        simulated.read_register(REGISTERS["COMMAND"].offset)
    with pytest.raises(SimulationError, match="^the register bus refused a write .SLVERR.$"):
        simulated.write_register(REGISTERS["STATUS"].offset, 1)
    windows = narrow.windows()
    words = np.zeros(8, dtype=np.int64)
    with pytest.raises(SimulationError, match="^the tables' bus refused a write .SLVERR.$"):
        simulated.write_block(windows.offset(Table.POLICY), words)
    with pytest.raises(SimulationError, match="^the tables' bus refused a read .SLVERR.$"):
        simulated.read_block(windows.offset(Table.X), words)
    narrow.write_block(Table.V, 0, words)
    assert narrow.read_block(Table.V, 0, 8).tolist() == [0] * 8


def test_bad_blocks(narrow: RtlDevice) -> None:
    for bad in (np.zeros(3), np.arange(8)[::2]):
        with pytest.raises(TypeError, match="^words must be a contiguous vector of int64, not 1-dimensional "):
            narrow._board.write_block(0, bad)


@pytest.mark.parametrize("sweeps", [1, 4])
def test_run(board: RtlDevice, sweeps: int) -> None:
    before = np.random.default_rng(sweeps).integers(-(2**63), 2**63 - 1, WORDS)
    board.write_block(Table.V, 0, before)
    assert board.wait(10.0), "a machine that was never started is not busy"
    run(board, sweeps)
    assert board.wait(10.0)
    assert board.read_register("STATUS") == Status.DONE
    assert board.read_register("CLOCKS") == sweeps * WORDS
    assert board.read_register("NORM") == norm(INSTANCES, MULTIPLIES, WORDS, sweeps)
    np.testing.assert_array_equal(board.read_block(Table.V, 0, WORDS), ~before if sweeps % 2 else before)


def test_flat_and_hierarchical_builds_agree(narrow: RtlDevice) -> None:
    files = machine(1, MULTIPLIES, WORDS)
    single = board_of(files)
    for sweeps in (1, 3):
        run(single, sweeps)
        run(narrow, sweeps)
        assert single.wait(10.0)
        assert narrow.wait(10.0)
        assert single.read_register("NORM") == norm(1, MULTIPLIES, WORDS, sweeps)
        assert narrow.read_register("NORM") == norm(INSTANCES, MULTIPLIES, WORDS, sweeps)
    single.close()
    run(narrow, 2)
    assert narrow.wait(10.0), "closing one board leaves the others running"


def test_two_boards_of_one_build_are_independent(narrow: RtlDevice) -> None:
    other = board_of(machine(INSTANCES, MULTIPLIES, WORDS))
    narrow.write_register("GRID", 5)
    other.write_register("GRID", 6)
    run(narrow, 3)
    assert narrow.wait(10.0)
    assert other.read_register("NORM") == 0
    assert (narrow.read_register("GRID"), other.read_register("GRID")) == (5, 6)
    run(other, 3)
    assert other.wait(10.0)
    assert other.read_register("NORM") == narrow.read_register("NORM")
    other.close()


def test_interrupt_leaves_the_board_usable(narrow: RtlDevice) -> None:
    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    run(narrow, FOREVER)
    previous = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        started = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            narrow.wait(60.0)
        assert time.monotonic() - started < 3.0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, previous)
    assert narrow.read_register("STATUS") == Status.BUSY
    assert 0 < narrow.read_register("CLOCKS") <= narrow._board.clocks_simulated
    assert not narrow.wait(0.1)
    assert narrow._board.seconds_simulating > 0.3


def test_second_opening_takes_the_compiled_library(tmp_path: Path) -> None:
    files = machine(2, 1, 8)
    said: list[str] = []
    path = compile_board(files, progress=said.append, cache_dir=tmp_path)
    assert all(line.startswith("compiling the gateware: ") for line in said)
    built = path.stat().st_mtime_ns
    assert compile_board(files, progress=said.append, cache_dir=tmp_path) == path
    assert path.stat().st_mtime_ns == built
    assert not list(tmp_path.glob("*.building"))
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["board.so", "log"]


def test_gateware_that_does_not_compile(tmp_path: Path) -> None:
    files = machine(2, 1, 8, fault="assign interrupt = nonsense;")
    with pytest.raises(SimulationError) as failure:
        compile_board(files, cache_dir=tmp_path)
    message = str(failure.value)
    assert message.startswith("the gateware does not compile:\n%Error")
    assert "nonsense" in message
    stored = Path(message.rpartition(" are in ")[2])
    assert "nonsense" in (stored / "log").read_text()
    assert (stored / "beltline.v").read_text() == files["beltline.v"]
    assert not list(tmp_path.glob("*.building"))


def test_simulation_that_stops_itself() -> None:
    narrow = board_of(machine(2, 1, 8, fault='always @(posedge clk) if (sweeps == 2) $fatal(1, "two sweeps");'))
    run(narrow, FOREVER)
    with pytest.raises(DeviceError, match="^the simulation stopped: "):
        narrow.wait(10.0)
    narrow.close()
