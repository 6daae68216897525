"""Starting values that a CUDA device computes itself: those of staying at ``x``, and those of a coarse grid
(``coarse.cu``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from beltline.gpu_ref.coarse import FEWEST, INNER, LIMIT, MOST, SHARE, spacing
from beltline.gpu_ref.cuda.device import room
from beltline.gpu_ref.cuda.device_tables import Tables
from beltline.gpu_ref.cuda.kernels import kind_of, start_kernels
from beltline.gpu_ref.methods import Arguments

ROWS_OF_BLOCKS = 2**16 - 1
"""Largest second dimension of a launch in CUDA."""

_SLACK = 1e-3
"""A starting value may exceed its bounds by this share of the distance between them."""


class Start:
    """Compute the starting values of problems that ask for it (option ``start``)."""

    def __init__(self, cupy: Any, problems: Sequence[Arguments]) -> None:
        self.cupy = cupy
        self.problems = problems
        self.requested = any(problem.start != "given" for problem in problems)
        one = problems[0]
        self.points, self.states = one.W.shape
        self.coarse = self.requested and one.options["start"] == "coarse" and self.points >= FEWEST
        self.stride, self.rows = spacing(self.points, self._fits(room()) if self.coarse else MOST)
        self.threads = min(512, 32 * math.ceil(self.rows * self.states / 32))
        if self.requested:
            eta = kind_of([problem.eta for problem in problems])
            per = math.ceil(self.rows * self.states / self.threads) if self.coarse else 1
            kernels = start_kernels(cupy.cuda.Device().id, eta, self.states, per)
            self.stay, self.smooth, self.draw, self.judge, self.redo = kernels

    def _shared(self, rows: int) -> int:
        """Return the bytes of shared memory for a coarse grid of ``rows`` points."""
        return 8 * (5 * rows + self.states * (self.states + 1) + 3 * rows * self.states)

    def _fits(self, room: int) -> int:
        """Return the largest number of coarse points that fits into ``room`` bytes of shared memory."""
        rows = MOST
        while self._shared(rows) > room:
            rows -= 1
        return rows

    def memory(self) -> int:
        """Return the bytes of device memory that this takes."""
        return 16 * self.rows * self.states * len(self.problems) if self.coarse else 0

    def allocate(self) -> None:
        """Allocate memory on the device."""
        count = len(self.problems)
        if self.requested:
            self.given = self.cupy.empty(count, dtype=np.int32)
        if self.coarse:
            self.bad = self.cupy.zeros(count, dtype=np.int32)
            self.values, self.choices = (self.cupy.empty((count, self.rows, self.states)) for _ in range(2))

    def load(self) -> None:
        """Tell the device which problems bring their own starting values."""
        if self.requested:
            self.given.set(np.array([problem.start == "given" for problem in self.problems], dtype=np.int32))

    def _over(self) -> tuple[tuple[int, int], tuple[int]]:
        """Return blocks and threads of a launch over the grid points of all problems."""
        return (math.ceil(self.points / 128), min(len(self.problems), ROWS_OF_BLOCKS)), (128,)

    def work(self, tables: Tables) -> bool:
        """Fill ``V0`` on the device; return whether the policy was guessed as well."""
        if not self.requested:
            return False
        count, over = len(self.problems), self._over()
        if not self.coarse:
            self.stay(*over, (tables.rows, self.given, np.int32(count), np.int32(self.points)))
            return False
        sizes = np.int32(self.points), np.int32(self.rows), np.int32(self.stride)
        limits = np.float64(SHARE), np.int32(LIMIT), np.int32(INNER)
        self.smooth(
            (count,),
            (self.threads,),
            (tables.rows, self.given, *sizes, *limits, self.values, self.choices),
            shared_mem=self._shared(self.rows),
        )
        self.draw(*over, (tables.rows, self.given, np.int32(count), *sizes, self.values, self.choices))
        self.replace_bad(tables)
        return True

    def replace_bad(self, tables: Tables) -> None:
        """Replace starting values that cannot be near a solution by the values of staying.

        The guess of the policy is then the middle of the grid. Problems that bring their own starting values are left
        out.
        """
        count, points = np.int32(len(self.problems)), np.int32(self.points)
        over = self._over()
        self.judge(*over, (tables.rows, self.given, count, points, np.float64(_SLACK), self.bad))
        self.redo(*over, (tables.rows, self.bad, count, points))


def utility(cupy: Any, consumption: Any, eta: Any) -> Any:
    """Return the utility of consumption, tables on the device; ``eta`` is a number or an array that fits."""
    if isinstance(eta, float):
        return cupy.log(consumption) if eta == 1.0 else consumption ** (1.0 - eta) / (1.0 - eta)
    curved = cupy.where(eta == 1.0, 0.0, eta)
    return cupy.where(eta == 1.0, cupy.log(consumption), consumption ** (1.0 - curved) / (1.0 - curved))
