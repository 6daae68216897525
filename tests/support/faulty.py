"""A device with one fault between host and machine: data are lost, changed, or stored elsewhere."""

from __future__ import annotations

import random

import numpy as np
from numpy.typing import NDArray

from beltline.host.devices import Device
from beltline.hw.interface.registers import REGISTERS, WRITABLE, Command, Status, Table
from beltline.hw.interface.sums import WRITTEN

SETTINGS = ("MODE", "GRID", "STATES", "SWEEP_LIMIT", "EPSILON", "UTILITY_A", "UTILITY_B", "UTILITY_FORM")
SETTINGS += ("SUM_TABLE", "SUM_FIRST", "SUM_COUNT")
SUMS = ("SUM", "SUMMING", *WRITTEN.values())
COUNTERS = ("SWEEPS", "STATES_DONE", "CLOCKS", "NORM")
CONSTANTS = ("IDENTITY", "VERSION", "ENGINE", "LANES", "GRID_MAX", "STATES_MAX", "RESULTS_MAX", "MULTIPLIER")

WRITES = ("lost", "flipped", "astray", "doubled", "shifted", "swapped", "lost block of")
READS = ("flipped", "shifted", "swapped", "stale")

FAULTS: dict[str, tuple[object, ...]] = {
    **{f"{what} writes": WRITABLE for what in WRITES},
    **{f"{what} reads": (Table.V, Table.POLICY) for what in READS},
    "flipped settings": SETTINGS,
    "lost settings": SETTINGS,
    "lost commands": (Command.RUN, Command.RESET, Command.SUM),
    "sudden resets": (Command.RESET,),
    "wrong status": ("STATUS",),
    "wrong sweeps": ("SWEEPS",),
    "wrong states": ("STATES_DONE",),
    "wrong clocks": ("CLOCKS",),
    "wrong change": ("NORM",),
    "wrong sums": SUMS,
    "wrong constants": CONSTANTS,
}
"""Kinds of faults, and the targets that each can have."""

_STATUSES = [int(flag) for flag in Status] + [int(Status.CONVERGED | Status.LIMIT)]


class FaultyDevice:
    """``device`` with correct accesses, except for those of one kind.

    Parameters
    ----------
    device
        The device to which accesses are passed on.
    kind
        A key of :data:`FAULTS`.
    seed
        Chooses the target of the fault.
    always
        Whether it happens every time, or once.
    after
        Number of runs that begin before it happens.

    Attributes
    ----------
    target
        What is faulty.
    struck
        How often the fault has happened.
    """

    def __init__(self, device: Device, kind: str, seed: int, always: bool, after: int = 0) -> None:
        self.device = device
        self.target = random.Random(seed).choice(FAULTS[kind])
        self.struck = 0
        self._how, self._what = kind.rsplit(" ", 1)
        self._always, self._after, self._runs = always, after, 0
        self._loaded: dict[tuple[Table, int], NDArray[np.int64]] = {}
        self._random = random.Random(seed + 1)
        self._status = self._random.choice(_STATUSES)

    @property
    def name(self) -> str:
        return self.device.name

    @property
    def clocks_source(self) -> str:
        return self.device.clocks_source

    def _strikes(self, what: str, target: object) -> bool:
        if what != self._what or target != self.target or self._runs < self._after:
            return False
        if self.struck and not self._always:
            return False
        self.struck += 1
        return True

    def read_register(self, name: str) -> int:
        value = self.device.read_register(name)
        # Before the end of a run these must read 0, or are read for progress only.
        ended = name not in ("STATUS", *COUNTERS) or self.device.read_register("STATUS") & Status.DONE
        if self._how != "wrong" or not ended or not self._strikes(self._what, name):
            return value
        if name == "STATUS":
            return value ^ self._status
        return value ^ self._flip(min(value.bit_length() + 2, REGISTERS[name].bits))

    def write_register(self, name: str, value: int) -> None:
        if name == "COMMAND":
            lost = self._strikes("commands", Command(value))
            self._runs += bool(value & Command.RUN)
            if lost:
                return
        elif name in SETTINGS and self._strikes("settings", name):
            if self._how == "lost":
                return
            register = REGISTERS[name]
            words = register.encode(value)
            value = register.decode([words[0] ^ self._flip(32), *words[1:]])
        self.device.write_register(name, value)

    def write_block(self, table: Table, first: int, words: NDArray[np.int64]) -> None:
        self._loaded[table, first] = words.copy()
        parts = [(first, words)]
        if words.size and self._strikes("writes", table):
            parts = self._misplaced(first, words)
        for begin, part in parts:
            self.device.write_block(table, begin, part)

    def _misplaced(self, first: int, words: NDArray[np.int64]) -> list[tuple[int, NDArray[np.int64]]]:
        k, other = (self._random.randrange(words.size) for _ in "kj")
        word = words[k : k + 1]
        around = [(first, words[:k]), (first + k + 1, words[k + 1 :])]
        return {
            "lost": around,
            "flipped": [*around, (first + k, word ^ np.int64(self._flip(63)))],
            "astray": [*around, (first + other, word)],
            "doubled": [(first, words), (first + other, word)],
            "shifted": [(first, np.roll(words, 1))],
            "swapped": [(first, _swapped(words, k, other))],
            "lost block of": [],
        }[self._how]

    def read_block(self, table: Table, first: int, count: int) -> NDArray[np.int64]:
        words = self.device.read_block(table, first, count)
        if not count or not self._strikes("reads", table):
            return words
        k, other = (self._random.randrange(count) for _ in "kj")
        if self._how == "flipped":
            words[k] ^= np.int64(self._flip(63))
        elif self._how == "shifted":
            words = np.roll(words, -1)
        elif self._how == "swapped":
            words = _swapped(words, k, other)
        else:
            words = self._loaded.get((table, first), np.zeros_like(words)).copy()
        return words

    def _flip(self, bits: int) -> int:
        """Return a word with one bit set, the same bit every time if the fault always happens."""
        return 1 << (random.Random(bits) if self._always else self._random).randrange(bits)

    def wait(self, seconds: float) -> bool:
        if self._what == "resets" and not self.device.wait(0.0) and self._strikes(self._what, Command.RESET):
            self.device.write_register("COMMAND", Command.RESET)
        return self.device.wait(seconds)

    def close(self) -> None:
        self.device.close()


def _swapped(words: NDArray[np.int64], k: int, other: int) -> NDArray[np.int64]:
    words = words.copy()
    words[[k, other]] = words[[other, k]]
    return words
