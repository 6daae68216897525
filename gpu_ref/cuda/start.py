"""Starting values that a CUDA device computes itself: those of staying at ``x``, and those of a coarse grid
(``coarse.cu``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from beltline.gpu_ref.cuda import arena
from beltline.gpu_ref.cuda.device import MOST_ACROSS, room
from beltline.gpu_ref.cuda.device_tables import Tables
from beltline.gpu_ref.cuda.kernels import extremes_kernels, kind_of, start_kernels
from beltline.gpu_ref.methods import Arguments, affords, can_stay
from beltline.gpu_ref.starts import is_guess, nearest

MOST, FEWEST, FEWER = 128, 1024, 128
"""Largest number of points of the coarse grid, and the number of grid points from which it saves time, without policy
evaluation along paths and with it."""

SHARE, LOOSER, LIMIT, INNER = 0.2, 1e4, 2000, 10
"""The coarse solve ends below this share of epsilon, without evaluation along paths and with it, or after this number
of sweeps; and the number of policy evaluation sweeps after each that maximises."""

MOST_BLOCKS = 128
"""Most blocks that look for the largest or lowest values of a problem."""

_SLACK = 1e-3
"""A starting value may exceed its bounds by this share of the distance between them."""


def spacing(grid: int, most: int) -> tuple[int, int]:
    """Return the stride of the coarse points, and their number: the first grid point, every ``stride``-th, the last."""
    stride = max(1, -(-(grid - 1) // (most - 1)))
    return stride, (grid - 2) // stride + 2


def with_guess(given: Arguments) -> Arguments:
    """Return the arguments with the nearest start as ``V0`` if they ask for it and bring a guess of their own.

    Guesses are compared on the host. Without one the device computes its start.
    """
    if given.start != "coarse" or not is_guess(given.V0) or not can_stay(given.X, given.W, given.eta):
        return given
    V0 = nearest(given.X, given.W, given.Q, given.beta, given.eta, given.epsilon, given.V0)
    return given._replace(V0=V0, start="given")


class Start:
    """Compute the starting values of problems that ask for it (option ``start``).

    ``paths`` is whether the solve evaluates policies along their paths, which soon finds what a start lacks.
    """

    def __init__(self, cupy: Any, problems: Sequence[Arguments], paths: bool = False) -> None:
        self.problems = list(problems)
        self.requested = any(problem.start != "given" for problem in problems)
        one = problems[0]
        self.points, self.states = one.W.shape
        fewest, self.share = (FEWER, LOOSER) if paths else (FEWEST, SHARE)
        self.coarse = self.requested and one.options["start"] == "coarse" and self.points >= fewest
        self.stride, self.rows = spacing(self.points, self._fits(room()) if self.coarse else MOST)
        self.threads = min(512, 32 * math.ceil(self.rows * self.states / 32))
        if self.requested:
            eta = kind_of([problem.eta for problem in problems])
            per = math.ceil(self.rows * self.states / self.threads) if self.coarse else 1
            device = cupy.cuda.Device().id
            kernels = start_kernels(device, eta, self.states, per)
            _, self.least = extremes_kernels(device)
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

    def tables(self) -> arena.Layout:
        """Return the layout of the tables on the device that this needs."""
        count = len(self.problems)
        if not self.requested:
            return {}
        small = {"given": ((count,), np.int32), "inverted": ((count,), np.uint64)}
        if not self.coarse:
            return small
        coarse = (count, self.rows, self.states), np.float64
        return {**small, "bad": ((count,), np.int32), "coarse values": coarse, "coarse choices": coarse}

    def load(self, tables: Tables) -> None:
        """Copy the starting values that problems bring themselves, once the other tables are on the device.

        A problem in which some state cannot afford to stay at its ``x`` brings its own, too.
        """
        if not all(problem.stays for problem in self.problems if problem.start != "given"):
            count, sizes = len(self.problems), (np.int32(self.points), np.int32(self.states))
            over = (min(MOST_BLOCKS, -(-self.points // 256)), min(count, MOST_ACROSS))
            self.least(over, (256,), (tables.rows, np.int32(count), *sizes, tables.addresses["inverted"]))
            lowest = (~tables["inverted"].get()).view(np.float64).tolist()
            for i, problem in enumerate(self.problems):
                if problem.start != "given" and not affords(lowest[i], problem.eta):
                    self.problems[i] = problem._replace(start="given", stays=True)
        starts = [i for i, problem in enumerate(self.problems) if problem.start == "given"]
        for i in starts:
            tables["V0"][i].set(self.problems[i].V0)
        if starts and self.requested:
            tables["given"].set(np.array([problem.start == "given" for problem in self.problems], dtype=np.int32))

    def _over(self) -> tuple[tuple[int, int], tuple[int]]:
        """Return blocks and threads of a launch over the grid points of all problems."""
        return (math.ceil(self.points / 128), min(len(self.problems), MOST_ACROSS)), (128,)

    def work(self, tables: Tables) -> bool:
        """Fill ``V0`` on the device; return whether the policy was guessed as well."""
        if not self.requested:
            return False
        count, over, at = len(self.problems), self._over(), tables.addresses
        if not self.coarse:
            self.stay(*over, (tables.rows, at["given"], np.int32(count), np.int32(self.points)))
            return False
        sizes = np.int32(self.points), np.int32(self.rows), np.int32(self.stride)
        limits = np.float64(self.share), np.int32(LIMIT), np.int32(INNER)
        found = at["coarse values"], at["coarse choices"]
        self.smooth(
            (count,),
            (self.threads,),
            (tables.rows, at["given"], *sizes, *limits, *found),
            shared_mem=self._shared(self.rows),
        )
        self.draw(*over, (tables.rows, at["given"], np.int32(count), *sizes, *found))
        self.replace_bad(tables)
        return True

    def replace_bad(self, tables: Tables) -> None:
        """Replace starting values that cannot be near a solution by the values of staying.

        The guess of the policy is then the middle of the grid. Problems that bring their own starting values are left
        out.
        """
        count, points = np.int32(len(self.problems)), np.int32(self.points)
        over, at = self._over(), tables.addresses
        self.judge(*over, (tables.rows, at["given"], count, points, np.float64(_SLACK), at["bad"]))
        self.redo(*over, (tables.rows, at["bad"], count, points))


def utility(cupy: Any, consumption: Any, eta: Any) -> Any:
    """Return the utility of consumption, tables on the device; ``eta`` is a number or an array that fits."""
    if isinstance(eta, float):
        return cupy.log(consumption) if eta == 1.0 else consumption ** (1.0 - eta) / (1.0 - eta)
    curved = cupy.where(eta == 1.0, 0.0, eta)
    return cupy.where(eta == 1.0, cupy.log(consumption), consumption ** (1.0 - curved) / (1.0 - curved))
