"""The tables of problems in the memory of a device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from beltline.gpu_ref.cuda.layout import Layout
from beltline.gpu_ref.methods import Arguments

_POINTERS = ("X", "W", "Q", "V0", "value", "previous", "policy", "outcome")

_PROBLEM = np.dtype(
    [(name, np.uint64) for name in _POINTERS] + [(name, np.float64) for name in ("beta", "eta", "epsilon")]
)
"""``struct Problem`` of ``common.cu``."""


def memory(points: int, states: int, problems: int = 1, *, previous: bool = True, teams: int = 1) -> int:
    """Return the bytes of device memory that a solve of ``problems`` problems takes; proportional to ``N_k N_z``."""
    size = points * states
    tables = 8 * (points + 3 * size + states * states) + 4 * size + (8 * size if previous else 0) + 256
    return problems * tables + teams * 16 * states * (points + 2) + 2**22


class Tables:
    """Tables of problems of one shape on the current device, and room for their results. :meth:`load` fills them."""

    def __init__(self, cupy: Any, problems: Sequence[Arguments], plan: Layout, previous: bool, near: bool) -> None:
        self.problems = problems
        count = len(problems)
        points, states = problems[0].W.shape
        shape = (count, points, states)
        self.X = cupy.empty((count, points))
        self.Q = cupy.empty((count, states, states))
        self.W = cupy.empty(shape)
        self.V0 = cupy.empty(shape)
        self.value = cupy.empty(shape)
        self.previous: Any = cupy.empty(shape) if previous else None
        self.policy = cupy.empty(shape, dtype=np.int32)
        self.outcome = cupy.zeros((count, 7))
        self.words = cupy.zeros((plan.teams, 32), dtype=np.uint64)
        self.expectations = cupy.zeros((1,) if near else (plan.teams, 2, states, points + 2))
        self.parts = cupy.empty((plan.teams, 2, plan.blocks, 2 * states))
        rows = np.zeros(count, dtype=_PROBLEM)
        for name in _POINTERS:
            table = getattr(self, name)
            if table is not None:
                rows[name] = table.data.ptr + np.arange(count, dtype=np.uint64) * np.uint64(table[0].nbytes)
        for name in ("beta", "eta", "epsilon"):
            rows[name] = [getattr(problem, name) for problem in problems]
        self.rows = cupy.empty(rows.nbytes, dtype=np.uint8)
        self._rows = rows

    def load(self) -> None:
        """Copy the problems to the device, except for starting values that it computes itself."""
        self.rows.set(self._rows.view(np.uint8))
        for i, problem in enumerate(self.problems):
            self.X[i].set(problem.X)
            self.Q[i].set(problem.Q)
            self.W[i].set(problem.W)
            if problem.start == "given":
                self.V0[i].set(problem.V0)
