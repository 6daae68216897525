"""A device that searches by brute force over all ``x'``, with faults on request; and small problems."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import beltline as bl
from beltline.gpu_ref import cpu
from beltline.gpu_ref.methods import Solution
from beltline.host.devices import Backend, Device
from beltline.host.devices.software_model import ModelDevice
from beltline.hw.arithmetic.utility import UtilityParameters
from beltline.hw.arithmetic.utility_constants import UtilityConstants
from beltline.hw.interface.parameters import MachineParameters, Multiplier
from beltline.hw.interface.registers import IDENTITY, REGISTERS, VERSION, Access, Command, Engine, Mode, Status, Table
from beltline.hw.interface.sums import table_sum
from beltline.hw.line.clocks import run_clocks
from beltline.hw.line.model import LineSoftwareMachine

LOSES = np.iinfo(np.int64).min


class BruteDevice:
    """The behaviour of the register map, written only from its description. Expectations are Python integers."""

    name = "brute"
    clocks_source = "invented"

    def __init__(
        self,
        grid: int = 64,
        states: int = 4,
        results: int = 0,
        *,
        fault: Callable[[BruteDevice], None] | None = None,
        version: int = VERSION,
        identity: int = IDENTITY,
    ) -> None:
        self.size = grid, states, max(results, grid * states)
        words = self.size[2]
        self.tables = {
            Table.X: np.full(grid, -7, dtype=np.int64),
            Table.W: np.full(grid * states, -7, dtype=np.int64),
            Table.Q: np.full(states * states, -7, dtype=np.int64),
            Table.V: np.full(words, -7, dtype=np.int64),
            Table.POLICY: np.full(words, -7, dtype=np.int64),
        }
        self.registers = dict.fromkeys(REGISTERS, 0)
        self.registers |= {"IDENTITY": identity, "VERSION": version, "GRID_MAX": grid}
        self.registers |= {"STATES_MAX": states, "RESULTS_MAX": words, "BUILD_HASH": 0xABC}
        self.registers |= {"ENGINE": Engine.ASSEMBLY_LINE, "LANES": 1, "FOLD": 1, "EVALUATORS": 4}
        self.registers |= {"MULTIPLIER": Multiplier.DSP48E2.word}
        self.utility: list[tuple[NDArray[np.int64], NDArray[np.bool_]]] = []
        self.fault = fault
        self.status = Status(0)
        self.stopping = False
        self.closed = False
        self.largest_block = 0

    def read_register(self, name: str) -> int:
        assert REGISTERS[name].access is not Access.WRITE
        return int(self.status) if name == "STATUS" else self.registers[name]

    def write_register(self, name: str, value: int) -> None:
        register = REGISTERS[name]
        assert register.access is not Access.READ
        if name == "COMMAND":
            if value & Command.RUN:
                self.status = Status.BUSY
                self.registers |= {"SWEEPS": 0, "CLOCKS": 0, "STATES_DONE": 0, "NORM": 0}
            self.stopping = bool(value & Command.STOP)
            if value & Command.RESET:
                self.status = Status(0)
            if value & Command.SUM:
                table, first = Table(self.registers["SUM_TABLE"]), self.registers["SUM_FIRST"]
                self.add("SUM", self.read_block(table, first, self.registers["SUM_COUNT"]), first)
            return
        assert not self.status & Status.BUSY
        low = -(2 ** (register.bits - 1)) if register.signed else 0
        assert low <= value < low + 2**register.bits
        self.registers[name] = value

    def write_block(self, table: Table, first: int, words: NDArray[np.int64]) -> None:
        assert words.dtype == np.int64
        assert table is not Table.POLICY
        assert not self.status & Status.BUSY
        assert first + words.size <= self.tables[table].size
        self.largest_block = max(self.largest_block, words.size)
        self.tables[table][first : first + words.size] = words
        self.add(f"WRITTEN_{table.name}", words, first)

    def add(self, name: str, words: NDArray[np.int64], first: int) -> None:
        self.registers[name] = (self.registers[name] + table_sum(words, first)) % 2**32

    def read_block(self, table: Table, first: int, count: int) -> NDArray[np.int64]:
        assert table is not Table.X
        assert not self.status & Status.BUSY
        assert first + count <= self.tables[table].size
        return self.tables[table][first : first + count].copy()

    def wait(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while self.status & Status.BUSY:
            self.sweep()
            if time.monotonic() > end:
                break
        return not self.status & Status.BUSY

    def close(self) -> None:
        self.closed = True

    def choose(self, total: NDArray[np.int64]) -> NDArray[np.int64]:
        return total.argmax(axis=1)

    def sweep(self) -> None:
        r = self.registers
        points, states = r["GRID"], r["STATES"]
        here = points * states
        horizon = bool(r["MODE"] & Mode.HORIZON)
        slot = r["SWEEPS"] if horizon else 0
        source = max(slot - 1, 0)
        before = self.tables[Table.V][source * here : source * here + here].reshape(points, states)
        x = self.tables[Table.X]
        assert (x[points:] == 2**63 - 1).all()
        w = self.tables[Table.W][:here].reshape(points, states)
        stride = self.size[1]
        q = self.tables[Table.Q][: states * stride].view(np.uint64).reshape(states, stride)[:, :states]
        form = r["UTILITY_FORM"]
        constants = UtilityConstants(r["UTILITY_A"], r["UTILITY_B"], bool(form & 1), bool(form & 2), form >> 8 & 63)
        if r["SWEEPS"] == 0:
            self.utility = []
            for s in range(states):
                u, feasible, over = UtilityParameters().model(w[:, s][:, None] - x[:points], constants)
                assert not over.any()
                self.utility.append((u, feasible))
        exact = before.astype(object) @ q.astype(object).T
        ev = ((exact + 2**63) // 2**64).astype(np.int64)
        value = np.empty((points, states), dtype=np.int64)
        policy = np.empty((points, states), dtype=np.int64)
        for s in range(states):
            u, feasible = self.utility[s]
            total = np.where(feasible, u + ev[:, s], LOSES)
            policy[:, s] = self.choose(total)
            value[:, s] = np.take_along_axis(total, policy[:, s : s + 1], axis=1)[:, 0]
        r["NORM"] = int(np.abs(value.astype(object) - before).max())
        self.tables[Table.V][slot * here : slot * here + here] = value.reshape(-1)
        self.tables[Table.POLICY][slot * here : slot * here + here] = policy.reshape(-1)
        r["SWEEPS"] += 1
        r["STATES_DONE"] += here
        build = MachineParameters(*self.size)
        r["CLOCKS"] = run_clocks(build, points, states, r["SWEEPS"])
        if status := self.ended(horizon):
            self.status = status | Status.DONE
            if self.fault:
                self.fault(self)

    def ended(self, horizon: bool) -> Status:
        """Return why the run ends with this sweep; empty if it continues."""
        r = self.registers
        if not horizon and r["NORM"] < r["EPSILON"]:
            return Status.CONVERGED
        if r["SWEEPS"] >= r["SWEEP_LIMIT"]:
            return Status.LIMIT
        return Status.STOPPED if self.stopping else Status(0)


class HillDevice(BruteDevice):
    """A device that stops at the first peak from the left, as a search that relies on concavity may."""

    def choose(self, total: NDArray[np.int64]) -> NDArray[np.int64]:
        falls = np.diff(total, axis=1) <= 0
        return np.where(falls.any(axis=1), falls.argmax(axis=1), total.shape[1] - 1)


def backend(opener: Callable[[MachineParameters], Device]) -> Backend:
    """Return an available backend without options, which builds devices of any size."""

    def opened(parameters: MachineParameters | None, progress: object = None) -> Device:
        assert parameters is not None
        return opener(parameters)

    return Backend("invented", lambda: "", opened, {}, elastic=True)


def tables(points: int = 24, states: int = 3, seed: int = 0) -> dict[str, object]:
    """Return arguments of a random concave :class:`beltline.Problem`."""
    random = np.random.default_rng(seed)
    grid = np.cumsum(random.uniform(0.5, 1.5, points)) * 4 / points
    shock = np.sort(random.uniform(0.6, 1.4, states))
    wealth = 1.03 * grid[:, None] + shock
    transition = random.uniform(0.1, 1, (states, states))
    transition /= transition.sum(axis=1, keepdims=True)
    return {
        "grid": grid,
        "wealth": wealth,
        "transition": transition,
        "start": np.zeros((points, states)),
        "beta": 0.9,
        "eta": 2.0,
    }


def problem(points: int = 24, states: int = 3, seed: int = 0, **changes: object) -> bl.Problem:
    """Return a random concave problem with ``changes``."""
    return bl.Problem(**(tables(points, states, seed) | changes))  # type: ignore[arg-type]


def interrupt_main_after(seconds: float) -> threading.Timer:
    """Return a started timer that presses Ctrl-C."""
    import _thread

    timer = threading.Timer(seconds, _thread.interrupt_main)
    timer.start()
    return timer


def convex_kink(bonus: float) -> bl.Problem:
    grid = np.linspace(0.1, 6, 60)
    wealth = (1.02 * grid + 1 + bonus * (grid > 3))[:, None]
    return problem(60, 1, grid=grid, wealth=wealth, transition=[[1.0]], start=np.zeros((60, 1)), beta=0.95)


class SlowDevice(BruteDevice):
    """A device that takes long for a sweep, as a simulation does."""

    def wait(self, seconds: float) -> bool:
        self.sweep()
        return not self.status & Status.BUSY


class EndlessDevice(BruteDevice):
    """A device that never converges and ignores the limit of sweeps."""

    def ended(self, horizon: bool) -> Status:
        self.registers["NORM"] = max(self.registers["NORM"], self.registers["EPSILON"])
        return Status.STOPPED if self.stopping else Status(0)


def slow_model(points: int, states: int) -> ModelDevice:
    """Return a software model that runs one sweep at a time, so that the driver can read its status in between."""

    class Slow(ModelDevice):
        def wait(self, seconds: float) -> bool:
            time.sleep(0.002)
            return super().wait(0.0)

    grid = max(4, 1 << (points - 1).bit_length())
    return Slow(LineSoftwareMachine(MachineParameters(grid=grid, states=states)))


def on_processor(
    *arguments: Any, checked: bool, previous: bool = False, contraction: float | None = None, **options: Any
) -> Solution:
    """Solve on the processor what a call hands to a graphics card, which may leave verification to the host."""
    return cpu.solve(*arguments, **options)


def batch_on_processor(
    tables: Any, epsilon: float, max_sweeps: int, method: str, *, contractions: Any, seen: Any, **options: Any
) -> list[Solution]:
    """Solve on the processor the batch that a call hands to a graphics card."""
    found = [on_processor(*one, epsilon, max_sweeps, method=method, **options) for one in tables]
    for number, one in enumerate(found):
        seen(number, one)
    return found
