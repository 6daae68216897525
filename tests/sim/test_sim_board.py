"""The simulated board, on a stand-in for the machine."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import numpy as np
import pytest
from stand_in import machine, norm

from hw.registers import IDENTITY, REGISTERS, Access, Command, Status, Table
from sim.board import SimulatedBoard, compile_board
from sim.cache import SimulationError

pytestmark = pytest.mark.gateware

INSTANCES, MULTIPLIES, WORDS = 4, 2, 64
FOREVER = 2**32 - 1


@pytest.fixture
def board() -> Iterator[SimulatedBoard]:
    with_blocks = SimulatedBoard(machine(INSTANCES, MULTIPLIES, WORDS))
    yield with_blocks
    with_blocks.close()


def run(board: SimulatedBoard, sweeps: int) -> None:
    board.write_register("SWEEP_LIMIT", sweeps)
    board.write_register("COMMAND", Command.RUN)


def test_registers_come_back(board: SimulatedBoard) -> None:
    rng = random.Random(1)
    assert board.read_register("IDENTITY") == IDENTITY
    for register in REGISTERS.values():
        if register.access is not Access.READ_WRITE:
            continue
        low = -(2 ** (register.bits - 1)) if register.signed else 0
        high = 2 ** (register.bits - register.signed) - 1
        for value in [low, high, 0, 1, *([-1] if register.signed else []), *(rng.randint(low, high) for _ in range(9))]:
            board.write_register(register.name, value)
            assert board.read_register(register.name) == value, register.name


@pytest.mark.parametrize(("name", "value"), [("UTILITY_B", 2**71), ("UTILITY_B", -(2**71) - 1), ("GRID", -1)])
def test_value_that_does_not_fit(board: SimulatedBoard, name: str, value: int) -> None:
    with pytest.raises(ValueError, match=rf"^register {name} holds -?\d+ to \d+, not {value}$"):
        board.write_register(name, value)


def test_unknown_register(board: SimulatedBoard) -> None:
    with pytest.raises(KeyError, match="no register SPEED in the register map"):
        board.read_register("SPEED")


@pytest.mark.parametrize("table", list(Table))
def test_blocks_come_back_and_leave_their_neighbours(board: SimulatedBoard, table: Table) -> None:
    rng = np.random.default_rng(int(table))
    limits = np.iinfo(np.int64)
    contents = {}
    for other in Table:
        contents[other] = rng.integers(limits.min, limits.max, WORDS, endpoint=True)
        board.write_block(other, 0, contents[other])
    for first, count in [(0, 1), (1, 1), (WORDS - 1, 1), (7, 20), (3, 0), (0, WORDS)]:
        words = rng.integers(limits.min, limits.max, count, endpoint=True)
        board.write_block(table, first, words)
        contents[table][first : first + count] = words
        np.testing.assert_array_equal(board.read_block(table, first, count), words)
        for other in Table:
            np.testing.assert_array_equal(board.read_block(other, 0, WORDS), contents[other])


def test_strided_words_are_written_in_order(board: SimulatedBoard) -> None:
    words = np.arange(2 * WORDS, dtype=np.int64)[::2]
    board.write_block(Table.W, 0, words)
    np.testing.assert_array_equal(board.read_block(Table.W, 0, WORDS), words)


def test_bad_blocks(board: SimulatedBoard) -> None:
    with pytest.raises(TypeError, match="^words must be a vector of int64, not 1-dimensional float64$"):
        board.write_block(Table.V, 0, np.zeros(3))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="^a table window holds words 0 to 16777215, not -1 to 3$"):
        board.read_block(Table.V, -1, 5)


@pytest.mark.parametrize("sweeps", [1, 4])
def test_run(board: SimulatedBoard, sweeps: int) -> None:
    before = np.random.default_rng(sweeps).integers(-(2**63), 2**63 - 1, WORDS)
    board.write_block(Table.V, 0, before)
    assert board.wait(10.0), "a machine that was never started is not busy"
    run(board, sweeps)
    assert board.wait(10.0)
    assert board.read_register("STATUS") == Status.DONE
    assert board.read_register("CLOCKS") == sweeps * WORDS
    assert board.read_register("NORM") == norm(INSTANCES, MULTIPLIES, WORDS, sweeps)
    np.testing.assert_array_equal(board.read_block(Table.V, 0, WORDS), ~before if sweeps % 2 else before)


def test_flat_and_hierarchical_builds_agree(board: SimulatedBoard) -> None:
    files = machine(1, MULTIPLIES, WORDS)
    single = SimulatedBoard(files)
    for sweeps in (1, 3):
        run(single, sweeps)
        run(board, sweeps)
        assert single.wait(10.0)
        assert board.wait(10.0)
        assert single.read_register("NORM") == norm(1, MULTIPLIES, WORDS, sweeps)
        assert board.read_register("NORM") == norm(INSTANCES, MULTIPLIES, WORDS, sweeps)
    single.close()
    run(board, 2)
    assert board.wait(10.0), "closing one board leaves the others running"


def test_two_boards_of_one_build_are_independent(board: SimulatedBoard) -> None:
    other = SimulatedBoard(machine(INSTANCES, MULTIPLIES, WORDS))
    board.write_register("GRID", 5)
    other.write_register("GRID", 6)
    run(board, 3)
    assert board.wait(10.0)
    assert other.read_register("NORM") == 0
    assert (board.read_register("GRID"), other.read_register("GRID")) == (5, 6)
    run(other, 3)
    assert other.wait(10.0)
    assert other.read_register("NORM") == board.read_register("NORM")
    other.close()


def test_busy_machine(board: SimulatedBoard) -> None:
    run(board, FOREVER)
    started = time.monotonic()
    assert not board.wait(0.3)
    assert 0.3 <= time.monotonic() - started < 3.0
    with pytest.raises(SimulationError, match="^only 0 of 5 words of table V came back: a machine that is busy"):
        board.read_block(Table.V, 0, 5)


def test_interrupt_leaves_the_board_usable(board: SimulatedBoard) -> None:
    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    run(board, FOREVER)
    previous = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        started = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            board.wait(60.0)
        assert time.monotonic() - started < 3.0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, previous)
    # STATUS is one clock after CLOCKS[1], which is one after CLOCKS[0].
    assert board.read_register("STATUS") == Status.BUSY
    assert 0 < board.read_register("CLOCKS") <= board.clocks_simulated
    assert not board.wait(0.1)
    assert board.seconds_simulating > 0.3


def test_closed_board(board: SimulatedBoard) -> None:
    board.close()
    board.close()
    with pytest.raises(SimulationError, match="^the simulated board is closed$"):
        board.read_register("STATUS")


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
    files = machine(2, 1, 8, fault="assign done = nonsense;")
    with pytest.raises(SimulationError) as failure:
        compile_board(files, cache_dir=tmp_path)
    message = str(failure.value)
    assert message.startswith("the gateware does not compile:\n%Error")
    assert "nonsense" in message
    kept = Path(message.rpartition(" are in ")[2])
    assert "nonsense" in (kept / "log").read_text()
    assert (kept / "beltline.v").read_text() == files["beltline.v"]
    assert not list(tmp_path.glob("*.building"))


def test_simulation_that_stops_itself() -> None:
    board = SimulatedBoard(machine(2, 1, 8, fault='always @(posedge clk) if (sweeps == 2) $fatal(1, "two sweeps");'))
    run(board, FOREVER)
    with pytest.raises(SimulationError, match="^the simulation stopped: "):
        board.wait(10.0)
    board.close()
