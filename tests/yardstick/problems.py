"""The list of all problems: each has a name, a kind, arguments of the solve, and devices."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import beltline as bl

from .general import GENERAL
from .other import OTHER, Pairs
from .simple import SIMPLE

KINDS: dict[str, tuple[int, Callable[[np.random.Generator, int], Any]]] = {**SIMPLE, **GENERAL, **OTHER}

EMULATED, STATES = ("rbc", "savings", "uneven", "eta", "kinks", "start", "tight"), 400
"""Kinds of which the first three problems of at most this number of states also go to the emulator."""

DEVICES = ("cpu", "emulator", "gpu")


@dataclass(frozen=True)
class Entry:
    """One problem; ``made`` is a ``Problem``, ``Pairs`` or a model."""

    kind: str
    number: int

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.number}"

    @cached_property
    def made(self) -> Any:
        return KINDS[self.kind][1](np.random.default_rng([zlib.crc32(self.kind.encode()), self.number]), self.number)

    @property
    def options(self) -> dict[str, float]:
        """Every fifth problem of tables has a tolerance; all others take the default."""
        return {"tol": 1e-6} if self.kind != "model" and self.number % 5 == 4 else {}

    @property
    def solvable(self) -> Any:
        """What ``bl.solve`` takes."""
        return self.made.problem if isinstance(self.made, Pairs) else self.made

    def fingerprint(self) -> int:
        """Return a checksum of the tables, by which a change of the problem itself is noticed; 0 of a model."""
        made, found = self.made, 0
        tables: list[Any] = []
        if isinstance(made, Pairs):
            tables = [made.reward, made.chances, made.beta]
        elif isinstance(made, bl.Problem) and self.kind != "model":
            names = ("wealth", "cost", "low", "high", "transition", "beta")
            tables = [made.grid, made.start, made.eta, made.horizon, made.taste]
            tables += [getattr(made, name) for name in names]
            for one in made.alternatives:
                tables += [getattr(one, name) for name in (*names, "choice", "kappa", "value")]
        for table in tables:
            found = zlib.crc32(b"none" if table is None else np.asarray(table, np.float64).tobytes(), found)
        return found


def entries(device: str, only: str = "") -> Iterator[Entry]:
    """Yield the problems of a device, of one kind only if it is named."""
    for kind, (count, _) in KINDS.items():
        if only not in ("", kind) or (device == "emulator" and kind not in EMULATED):
            continue
        left = 3 if device == "emulator" else count
        for number in range(count):
            entry = Entry(kind, number)
            if device == "emulator" and entry.made.points * entry.made.states > STATES:
                continue
            if left and not (device == "gpu" and not isinstance(entry.made, bl.Problem)):
                left -= 1
                yield entry
