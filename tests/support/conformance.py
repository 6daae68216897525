"""The conformance suite: tests that every device must pass unchanged.

A test module of a device has a fixture ``bench`` that gives a :class:`Bench`, and takes over these tests by ``from
support.conformance import *``.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import beltline as bl
import beltline.host.devices.f2
import beltline.host.devices.lock
from beltline.host.devices import Device, DeviceError, open_device
from beltline.host.solver.checked import read_table
from beltline.host.solver.driver import Driver
from beltline.host.solver.fixed_point import fixed_point
from beltline.hw.interface.layout import Layout
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import (
    IDENTITY,
    READABLE,
    REGISTERS,
    VERSION,
    WRITABLE,
    Access,
    Command,
    Engine,
    Mode,
    Register,
    Status,
    Table,
)
from beltline.hw.interface.sums import WRITTEN, table_sum
from beltline.hw.interface.windows import WindowParameters
from support.alternatives import KINDS, with_alternatives
from support.boards import Fabric, install
from support.costs import SHAPES, with_cost
from support.fakes import problem
from support.serial_end import SerialEnd

SMALL = MachineParameters(grid=16, states=3, results=96)
HEADLINE = MachineParameters(grid=65_536, states=4)
LANES = 2
GENERAL = MachineParameters(grid=32, states=8, engine=Engine.SWEEP, lanes=LANES, general=True)
"""A machine for the general form."""


class Bench:
    """A kind of device: :meth:`open` opens one of given sizes; ``fabric`` is the machine on a board.

    ``small`` has the sizes of its smallest machine: the assembly line ``SMALL``, or a sweep engine that is a little
    larger.
    """

    def __init__(self, kind: str, patch: pytest.MonkeyPatch, directory: Path) -> None:
        self.kind = kind
        self.name = kind.split()[0]
        self.options: dict[str, Any] = {"interrupt": "beltline/interrupt"} if "interrupt" in kind else {}
        self.small = SMALL
        if "sweep" in kind:
            self.options["lanes"] = LANES
            self.small = MachineParameters(grid=64, states=4, engine=Engine.SWEEP, lanes=LANES)
        self.fabric: Fabric | None = None
        self.line: Any = None
        self._patch = patch
        self._directory = directory
        self._opened: list[Device] = []

    def install(self, parameters: MachineParameters) -> None:
        """Install a board of these sizes; emulator and gateware are created when they are opened."""
        if self.name in ("emulator", "rtl"):
            return
        if self.gateware:
            self._put_on_line(serial_gateware(parameters, self._directory / "build.json"))
            self.options |= {"patience": 60, "builds": self._directory / "build.json"}
            return
        self.fabric = Fabric(parameters)
        if self.name == "serial":
            self._put_on_line(SerialEnd(self.fabric))
        else:
            install(self.name, self._patch, self._directory, self.fabric)

    def _put_on_line(self, end: Any) -> None:
        if self.line:
            self.line.close()
        self.line = end
        self.options["port"] = end.port

    @property
    def gateware(self) -> bool:
        """Return whether every size needs a build that has to be compiled."""
        return self.name == "rtl" or "gateware" in self.kind

    @property
    def large(self) -> MachineParameters:
        """Return sizes for tests of blocks of many words; the small ones if a large machine would take too many
        steps.
        """
        return self.small if self.name in ("rtl", "serial") else HEADLINE

    def words(self, table: Table) -> int:
        """Return the number of words of a table of the small machine."""
        return WindowParameters(self.small).words(table)

    def open(self, parameters: MachineParameters | None = None) -> Device:
        parameters = parameters or self.small
        self.install(parameters)
        self._opened.append(open_device(self.name, parameters, None, **self.options))
        return self._opened[-1]

    def close(self) -> None:
        for device in self._opened:
            device.close()
        if self.line:
            self.line.close()


def serial_gateware(parameters: MachineParameters, record: Path) -> Any:
    """Return gateware on a serial line with as few clocks per bit as possible; its build is recorded in
    ``record``.
    """
    from beltline.hw.interface.builds import to_json
    from beltline.hw.top.serial_machine import SerialParameters
    from beltline.hw.top.verilog import build, generate_serial
    from beltline.sim.serial_board import SimulatedSerialBoard
    from beltline.sim.yosys import use_yosys

    use_yosys()
    built = SerialParameters(replace(parameters, clock_hz=4_000_000))
    files = generate_serial(built)
    record.write_text(to_json([build(files, built)]))
    return SimulatedSerialBoard(files, built)


def raises(sentence: str) -> Any:
    return pytest.raises(DeviceError, match="^" + re.escape(sentence) + "$")


def pattern(count: int, seed: int = 0) -> np.ndarray[Any, np.dtype[np.int64]]:
    limits = np.iinfo(np.int64)
    return np.random.default_rng(seed).integers(limits.min, limits.max, count, endpoint=True)


def load_endless(device: Device) -> dict[str, int]:
    """Load a small problem that never ends by itself; return the settings."""
    Driver(device).run(fixed_point(problem(12, 3), 1e-6), 1)
    device.write_register("SWEEP_LIMIT", 2**32 - 1)
    device.write_register("EPSILON", 0)
    return {name: device.read_register(name) for name, r in REGISTERS.items() if r.access is Access.READ_WRITE}


def run_until_busy(device: Device) -> None:
    device.write_register("COMMAND", Command.RUN)
    assert device.read_register("STATUS") == Status.BUSY


def end(device: Device) -> None:
    until = time.monotonic() + 120
    while not device.wait(1.0):
        assert time.monotonic() < until


def test_is_a_device(bench: Bench) -> None:
    device = bench.open()
    assert isinstance(device, Device)
    assert device.name == bench.name
    assert device.clocks_source


def test_prints_a_description(bench: Bench) -> None:
    device = bench.open()
    sizes = {"GRID_MAX": 16, "STATES_MAX": 3, "RESULTS_MAX": 96}
    engine = {"ENGINE": Engine.ASSEMBLY_LINE, "LANES": 1, "FOLD": 1, "EVALUATORS": 4}
    if "sweep" in bench.kind:
        sizes = {"GRID_MAX": 64, "STATES_MAX": 4, "RESULTS_MAX": 256}
        engine = {"ENGINE": Engine.SWEEP, "LANES": LANES, "FOLD": 1, "EVALUATORS": 1}
    wanted = {"IDENTITY": IDENTITY, "VERSION": VERSION} | sizes | engine
    assert {name: device.read_register(name) for name in wanted} == wanted
    assert device.read_register("STATUS") == 0
    assert device.wait(0.0)


def test_registers_read_and_write_whole_quantities(bench: Bench) -> None:
    device = bench.open()
    settings = [r for r in REGISTERS.values() if r.access is Access.READ_WRITE]
    assert {r.signed for r in settings} == {True, False}
    assert {r.words for r in settings} == {1, 2, 3}

    def stored(register: Register) -> int:
        # Bits without a meaning may be stored or not.
        return {"INTERRUPT": 1, "MODE": 1, "UTILITY_FORM": 0x3F03}.get(register.name, -1)

    written: dict[str, int] = {}
    for choose in (lambda r: r.lowest, lambda r: r.highest, lambda r: r.highest - 5, lambda r: 1):
        for register in settings:
            written[register.name] = choose(register) & stored(register)
            device.write_register(register.name, written[register.name])
        for register in settings:
            assert device.read_register(register.name) & stored(register) == written[register.name]


def test_registers_refuse_what_does_not_fit(bench: Bench) -> None:
    device = bench.open()
    for name, register in REGISTERS.items():
        if register.access is Access.WRITE:
            with raises(f"register {name} cannot be read"):
                device.read_register(name)
            continue
        before = device.read_register(name)
        if register.access is Access.READ:
            with raises(f"register {name} cannot be written"):
                device.write_register(name, 0)
        else:
            for value in (register.lowest - 1, register.highest + 1):
                with raises(f"register {name} holds {register.lowest} to {register.highest}, not {value}"):
                    device.write_register(name, value)
        assert device.read_register(name) == before
    for access in (device.read_register, lambda name: device.write_register(name, 0)):
        with raises("there is no register 'SPEED'"):
            access("SPEED")


@pytest.mark.parametrize("table", [t for t in Table if t in WRITABLE and t in READABLE])
def test_blocks_leave_their_neighbours_alone(bench: Bench, table: Table) -> None:
    device = bench.open()
    size = bench.words(table)
    ground = pattern(size)
    others = {other: device.read_block(other, 0, 48) for other in READABLE if other is not table}
    device.write_block(table, 0, ground)
    random = np.random.default_rng(1)
    blocks = [(0, 1), (size - 1, 1), (0, size), (7, 2), (8, 8), (3, 29), (size - 9, 9)]
    blocks += [(int(f), int(random.integers(1, size - f + 1))) for f in random.integers(0, size, 20)]
    for k, (first, count) in enumerate(blocks):
        words = pattern(count, seed=k + 2)
        device.write_block(table, first, words)
        ground[first : first + count] = words
        low, high = max(0, first - 9), min(size, first + count + 9)
        assert (device.read_block(table, low, high - low) == ground[low:high]).all()
        back = device.read_block(table, first, count)
        assert (back == words).all()
        assert back.dtype == np.int64
        assert back.flags.c_contiguous
    assert (device.read_block(table, 0, size) == ground).all()
    for other, words in others.items():
        assert (device.read_block(other, 0, 48) == words).all()


@pytest.mark.parametrize("table", [Table.X, Table.Q])
def test_tables_that_are_only_written(bench: Bench, table: Table) -> None:
    device = bench.open()
    size = bench.words(table)
    words = pattern(size)
    device.write_block(table, 0, words)
    device.write_block(table, size - 3, words[:3])
    words[size - 3 :] = words[:3]
    if bench.fabric:
        assert (bench.fabric.window(table) == words).all()
    with raises(f"table {table.name} is write only"):
        device.read_block(table, 0, 1)


def test_table_that_is_only_read(bench: Bench) -> None:
    device = bench.open()
    size = bench.words(Table.POLICY)
    before = device.read_block(Table.POLICY, 0, size)
    with raises("table POLICY is read only"):
        device.write_block(Table.POLICY, 0, pattern(3))
    assert (device.read_block(Table.POLICY, 0, size) == before).all()


def test_blocks_out_of_range(bench: Bench) -> None:
    device = bench.open()
    size = bench.words(Table.W)
    before = device.read_block(Table.W, 0, size)
    for first, count in ((size, 1), (size - 1, 2), (-1, 2), (0, size + 1), (10**12, 1)):
        sentence = f"table W has {size} words, not words {first} to {first + count - 1}"
        with raises(sentence):
            device.write_block(Table.W, first, pattern(count))
        with raises(sentence):
            device.read_block(Table.W, first, count)
    assert (device.read_block(Table.W, 0, size) == before).all()


def test_empty_blocks(bench: Bench) -> None:
    device = bench.open()
    size = bench.words(Table.W)
    before = device.read_block(Table.W, 0, size)
    for first in (0, 5, size):
        device.write_block(Table.W, first, np.empty(0, dtype=np.int64))
        assert device.read_block(Table.W, first, 0).shape == (0,)
    assert (device.read_block(Table.W, 0, size) == before).all()
    with pytest.raises(DeviceError, match=f"^table W has {size} words, not words "):
        device.read_block(Table.W, 3, -1)


def test_blocks_from_any_memory(bench: Bench) -> None:
    device = bench.open()
    source = pattern(200)
    unaligned = np.frombuffer(b"\0\0\0" + source[:40].tobytes(), dtype=np.int64, offset=3, count=40)
    for words in (source[::5], source[::-5], source[1:41], unaligned):
        device.write_block(Table.W, 1, words)
        assert (device.read_block(Table.W, 1, words.size) == words).all()
    fixed = source[:8].copy()
    fixed.flags.writeable = False
    device.write_block(Table.W, 0, fixed)
    assert (device.read_block(Table.W, 0, 8) == fixed).all()


@pytest.mark.parametrize(
    "words", [np.zeros(3), np.zeros(3, dtype=np.uint64), np.zeros(3, dtype=np.int32), np.zeros((3, 1), dtype=np.int64)]
)
def test_blocks_of_another_form(bench: Bench, words: Any) -> None:
    device = bench.open()
    with pytest.raises(
        TypeError, match=f"^words must be a vector of int64, not {words.ndim}-dimensional {words.dtype}$"
    ):
        device.write_block(Table.W, 0, words)


def test_large_block(bench: Bench) -> None:
    device = bench.open(bench.large)
    size = bench.large.grid * bench.large.states
    words = pattern(size)
    for table in (Table.W, Table.V):
        device.write_block(table, 0, words)
        assert (device.read_block(table, 0, size) == words).all()
    assert (device.read_block(Table.V, 1, size - 2) == words[1:-1]).all()


def test_a_block_takes_as_many_steps_as_a_larger_one(bench: Bench) -> None:
    """No loop of Python over the elements: lines executed do not depend on the size."""
    parameters = bench.large
    device = bench.open(parameters)
    size = parameters.grid * parameters.states

    def lines(act: Callable[..., Any], *arguments: Any) -> int:
        count = 0

        def trace(frame: Any, event: str, argument: Any) -> Any:
            nonlocal count
            if Path(frame.f_code.co_filename).parent.name in ("devices", "sim"):
                count += event == "line"
                return trace
            return None

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            act(*arguments)
        finally:
            sys.settrace(before)
        assert count
        return count

    words = pattern(size)
    # The ends of a block may be transferred word by word, so the compared blocks have equal ends.
    for first, count, less in ((0, size, 16), (0, size // 2, 8), (1, size - 2, 22)):
        many, few = words[first : first + count], words[first : first + less]
        assert lines(device.write_block, Table.W, first, many) == lines(device.write_block, Table.W, first, few)
        assert lines(device.read_block, Table.W, first, count) == lines(device.read_block, Table.W, first, less)


def settled(device: Device, name: str) -> int:
    """Wait until a sum has been computed, and return it."""
    until = time.monotonic() + 60
    while device.read_register("SUMMING"):
        assert time.monotonic() < until
    return device.read_register(name)


def test_sums_of_what_was_written(bench: Bench) -> None:
    device = bench.open()
    random = np.random.default_rng(8)
    for table in WRITABLE:
        size = bench.words(table)
        blocks = [(0, size), (1, size - 1), (size - 1, 1), (0, 0)]
        blocks += [(int(f), int(random.integers(1, size - f + 1))) for f in random.integers(0, size, 4)]
        for k, (first, count) in enumerate(blocks):
            before = {other: settled(device, WRITTEN[other]) for other in WRITABLE}
            device.write_block(table, first, pattern(count, seed=k))
            before[table] = (before[table] + table_sum(pattern(count, seed=k), first)) % 2**32
            assert {other: settled(device, WRITTEN[other]) for other in WRITABLE} == before


def test_sums_of_holdings(bench: Bench) -> None:
    device = bench.open()
    load_endless(device)
    device.write_register("COMMAND", Command.RESET)
    wealth = device.read_block(Table.W, 0, bench.words(Table.W))
    device.write_block(Table.W, 0, pattern(wealth.size))
    total = settled(device, "SUM")
    for table in READABLE:
        size = bench.words(table)
        for first, count in ((0, size), (size - 1, 1), (3, 29), (5, 0)):
            for name, value in (("TABLE", table), ("FIRST", first), ("COUNT", count)):
                device.write_register(f"SUM_{name}", value)
            device.write_register("COMMAND", Command.SUM)
            total = (total + table_sum(device.read_block(table, first, count), first)) % 2**32
            assert settled(device, "SUM") == total
    # No sum of tables is computed during a run, and a reset leaves the sums unchanged.
    device.write_block(Table.W, 0, wealth)
    run_until_busy(device)
    device.write_register("COMMAND", Command.SUM)
    assert device.read_register("SUMMING") == 0
    device.write_register("COMMAND", Command.RESET)
    assert settled(device, "SUM") == total


def test_busy_device_keeps_everything_to_itself(bench: Bench) -> None:
    device = bench.open()
    settings = load_endless(device)
    wealth, start = device.read_block(Table.W, 0, 36), device.read_block(Table.V, 0, 36)
    run_until_busy(device)
    for name in settings:
        with raises(f"device {bench.name!r} is busy, and register {name} cannot be accessed until its run has ended"):
            device.write_register(name, 1)
    for table in WRITABLE:
        with raises(
            f"device {bench.name!r} is busy, and table {table.name} cannot be accessed until its run has ended"
        ):
            device.write_block(table, 0, pattern(4))
    for table in READABLE:
        with raises(
            f"device {bench.name!r} is busy, and table {table.name} cannot be accessed until its run has ended"
        ):
            device.read_block(table, 0, 4)
    # A second start has no effect.
    while device.read_register("SWEEPS") < 2:
        device.wait(0.001)
    device.write_register("COMMAND", Command.RUN)
    assert device.read_register("SWEEPS") >= 2
    device.write_register("COMMAND", Command.STOP)
    end(device)
    assert {n: v for n, v in settings.items() if n != "INTERRUPT"} == {
        name: device.read_register(name) for name in settings if name != "INTERRUPT"
    }
    assert (device.read_block(Table.W, 0, 36) == wealth).all()
    assert (device.read_block(Table.V, 0, 36) != start).any()


def test_wait(bench: Bench) -> None:
    device = bench.open()
    load_endless(device)
    begin = time.monotonic()
    assert device.wait(60.0)
    assert time.monotonic() - begin < 30
    run_until_busy(device)
    assert not device.wait(0.0)
    begin = time.monotonic()
    clocks = device.read_register("CLOCKS")
    assert not device.wait(0.2)
    assert time.monotonic() - begin < 30
    assert device.read_register("CLOCKS") > clocks
    device.write_register("COMMAND", Command.STOP)
    end(device)
    assert device.wait(0.0)


def test_stop(bench: Bench) -> None:
    device = bench.open()
    load_endless(device)
    # On an idle device a stop has no effect.
    before = device.read_register("STATUS")
    device.write_register("COMMAND", Command.STOP)
    assert device.read_register("STATUS") == before
    run_until_busy(device)
    device.write_register("COMMAND", Command.STOP)
    end(device)
    assert device.read_register("STATUS") == Status.DONE | Status.STOPPED
    assert device.read_register("STATES_DONE") == 36 * device.read_register("SWEEPS")


def test_reset(bench: Bench) -> None:
    device = bench.open()
    settings = load_endless(device)
    run_until_busy(device)
    with pytest.raises(DeviceError):
        device.write_register("GRID", 3)
    device.write_register("COMMAND", Command.RESET)
    assert device.wait(0.0)
    counters = ("STATUS", "REFUSED", "CLOCKS", "SWEEPS", "STATES_DONE", "NORM")
    assert {name: device.read_register(name) for name in counters} == dict.fromkeys(counters, 0)
    assert {name: device.read_register(name) for name in settings if name != "INTERRUPT"} == {
        n: v for n, v in settings.items() if n != "INTERRUPT"
    }
    given = problem(12, 3)
    assert Driver(device).run(fixed_point(given, 1e-6), 10_000).status == ended(bench, Status.CONVERGED)


def ended(bench: Bench, status: Status) -> Status:
    """Return the status of a run that has ended so; a sweep engine has proven its last sweep."""
    return Status.DONE | status | (Status.PROVEN if bench.small.is_sweep else Status(0))


def same_run(bench: Bench, given: bl.Problem, tol: float, limit: int, horizon: int | None, status: Status) -> None:
    """Run the same problem on this device, on its software model, and on the model of an assembly line, and compare.

    The line makes as many sweeps: a sweep engine may need one more to prove the last one.
    """
    image = fixed_point(given, tol)
    own, model = (
        Driver(device).run(image, limit, horizon) for device in (bench.open(), open_device("emulator", bench.small))
    )
    sweeps = limit if horizon is not None else own.sweeps
    line = Driver(open_device("emulator", SMALL)).run(replace(image, epsilon=0), sweeps, horizon)
    for other in (model, line):
        for name in ("sweeps", "states_done", "norm"):
            assert getattr(own, name) == getattr(other, name)
        assert (own.value == other.value).all()
        assert (own.policy == other.policy).all()
    assert own.clocks == pytest.approx(model.clocks, rel=0.02 if bench.gateware and bench.small.is_sweep else 0.0)
    assert own.status == model.status == ended(bench, status)


def test_run_to_convergence(bench: Bench) -> None:
    same_run(bench, problem(12, 3, eta=3.0), 1e-5, 10_000, None, Status.CONVERGED)


def test_run_to_the_limit(bench: Bench) -> None:
    same_run(bench, problem(16, 2, seed=4, eta=0.5), 1e-9, 7, None, Status.LIMIT)


def test_run_of_ages(bench: Bench) -> None:
    same_run(bench, problem(10, 3, seed=5, eta=1.0, horizon=3), 1e-9, 1, 3, Status.LIMIT)


def test_run_in_two_parts_gives_the_same_bits(bench: Bench) -> None:
    device = bench.open()
    image = fixed_point(problem(12, 3), 1e-5)
    whole = Driver(device).run(image, 10_000)
    assert Driver(device).run(image, 5).sweeps == 5
    device.write_register("SWEEP_LIMIT", 10_000)
    device.write_register("COMMAND", Command.RUN)
    end(device)
    assert device.read_register("STATUS") == whole.status
    assert device.read_register("SWEEPS") == whole.sweeps - 5
    for table, words in ((Table.V, whole.value), (Table.POLICY, whole.policy)):
        blocks = Layout(bench.small, 12, 3).blocks(table)
        assert (read_table(device, table, 36, blocks) == words.reshape(-1)).all()


@pytest.mark.parametrize(
    "changes",
    [
        {"GRID": 1},
        {"GRID": 65},
        {"STATES": 0},
        {"STATES": 5},
        {"SWEEP_LIMIT": 0},
        {"MODE": int(Mode.HORIZON), "SWEEP_LIMIT": 3},
    ],
)
def test_bad_configuration(bench: Bench, changes: dict[str, int]) -> None:
    device = bench.open()
    load_endless(device)
    size = bench.words(Table.V)
    value = device.read_block(Table.V, 0, size)
    for name, number in changes.items():
        device.write_register(name, number)
    device.write_register("COMMAND", Command.RUN)
    end(device)
    assert device.read_register("STATUS") == Status.DONE | Status.BAD_CONFIGURATION
    assert device.read_register("SWEEPS") == 0
    assert (device.read_block(Table.V, 0, size) == value).all()


def test_close(bench: Bench) -> None:
    device = bench.open()
    device.close()
    device.close()
    for use in (
        lambda: device.read_register("STATUS"),
        lambda: device.write_register("GRID", 2),
        lambda: device.write_register("COMMAND", Command.RUN),
        lambda: device.write_block(Table.W, 0, pattern(3)),
        lambda: device.write_block(Table.W, 0, pattern(0)),
        lambda: device.read_block(Table.W, 0, 3),
        lambda: device.wait(0.0),
    ):
        with raises(f"device {bench.name!r} is closed"):
            use()
    device.close()


@pytest.mark.parametrize("seed", range(5))
def test_solves_to_the_bits_of_the_model(bench: Bench, seed: int) -> None:
    if bench.gateware and seed > 0:
        pytest.skip("one problem, which fits the build of the other tests")
    given = problem(5 + 11 * seed, 1 + seed % 4, seed, eta=[2.0, 1.0, 0.4, 5.0, 3.0][seed])
    if bench.gateware:
        result = bl.solve(given, tol=1e-6, device=bench.open())
    else:
        bench.install(MachineParameters(grid=64, states=4))
        options = bench.options if bench.line or "sweep" in bench.kind else {}
        result = bl.solve(given, tol=1e-6, device=bench.name, **options)
    model = bl.solve(given, tol=1e-6, device="emulator", **({"lanes": LANES} if bench.small.is_sweep else {}))
    assert result.success
    assert result.device == bench.name
    assert (result.value == model.value).all()
    assert (result.policy == model.policy).all()
    for name in ("status", "message", "sweeps", "change", "residual", "error_bound", "value_bits", "amount_bits"):
        assert getattr(result, name) == getattr(model, name)


@pytest.mark.parametrize("kind", [*SHAPES, *KINDS])
def test_solves_the_general_form(bench: Bench, kind: str) -> None:
    """Costs, alternatives and regimes: the bits and clocks of the model, all choices proven, and those of ``cpu``."""
    if bench.kind in ("emulator", "rtl", "serial gateware"):
        pytest.skip("the sweep engine of this device has the test, or needs a build of its own")
    if bench.gateware and kind not in KINDS[:2]:
        pytest.skip("one build of the gateware, and two problems")
    given = with_alternatives(kind, 3, 30, 2) if kind in KINDS else with_cost(kind, 3, 30, 3)
    bench.install(GENERAL)
    # For devices that are made for the problem.
    options = {"lanes": LANES, "general": 1}
    solve = partial(bl.solve, given, tol=1e-4)
    if "sweep" in bench.kind:
        result, model = solve(device=bench.name, **options), solve(device="emulator", **options)
    else:
        result = solve(device=bench.name, **(bench.options if bench.line else {}))
        model = solve(device=open_device("emulator", GENERAL))
    exact = solve(device="cpu")
    assert result.success
    assert result.proven
    assert "has proven every choice" in str(result)
    assert result.device == bench.name
    for ours, theirs in zip(result.tables, model.tables, strict=True):
        assert np.array_equal(ours, theirs)
    for name in ("status", "message", "sweeps", "change", "residual", "error_bound", "proven"):
        assert getattr(result, name, None) == getattr(model, name, None)
    assert result.clocks == pytest.approx(model.clocks, rel=0.02 if bench.gateware else 0.0)
    assert np.abs(result.value - exact.value).max() <= result.error_bound + exact.error_bound


def test_problem_that_does_not_fit(bench: Bench) -> None:
    device = bench.open()
    grid = bench.small.grid
    with pytest.raises(
        bl.ProblemError,
        match=f"^the problem has {grid + 1} grid points, more than the {grid} of device {bench.name!r}$",
    ):
        bl.solve(problem(grid + 1, 2), device=device)
