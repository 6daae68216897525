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
from beltline.gpu_ref.methods import Arguments, modulus

_ROWS_OF_BLOCKS = 2**16 - 1
"""Largest second dimension of a launch in CUDA."""


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
            self.stay, self.smooth, self.draw = start_kernels(cupy.cuda.Device().id, eta, self.states, per)

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
            self.values, self.choices = (self.cupy.empty((count, self.rows, self.states)) for _ in range(2))

    def load(self) -> None:
        """Tell the device which problems bring their own starting values."""
        if self.requested:
            self.given.set(np.array([problem.start == "given" for problem in self.problems], dtype=np.int32))

    def work(self, tables: Tables) -> bool:
        """Fill ``V0`` on the device; return whether the policy was guessed as well."""
        if not self.requested:
            return False
        count = len(self.problems)
        over = (math.ceil(self.points / 128), min(count, _ROWS_OF_BLOCKS)), (128,)
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
        replace_bad_starts(self.cupy, self.problems, tables.X, tables.W, tables.V0, tables.policy)
        return True


_SLACK = 1e-3
"""A starting value may exceed its bounds by this share of the distance between them."""


_AT_A_TIME = 2**22
"""States whose starting values are checked together, so that temporary tables fit into memory."""


def replace_bad_starts(cupy: Any, problems: Sequence[Arguments], X: Any, W: Any, V0: Any, policy: Any) -> None:
    """Replace starting values ``V0`` that cannot be near a solution by the values of staying.

    The guess in ``policy`` is then the middle of the grid. Problems that bring their own starting values are left out.

    A solution is at least the value of staying at ``x`` for ever in the worst exogenous state, and at most that of
    consuming all of the largest wealth for ever. A ``V0`` between these bounds may still be poor, but not worse than
    the value of staying by more than their distance.

    Parameters
    ----------
    cupy
        CuPy, or NumPy for tables of the host.
    problems
        Of one shape.
    X : (n, N_k) array
    W, V0, policy : (n, N_k, N_z) arrays
        Tables of all problems, on the device.
    """
    contractions = np.array([modulus(problem.Q, problem.beta) for problem in problems])
    asked = [problem.start != "given" for problem in problems]
    etas = np.array([problem.eta for problem in problems])
    step = max(1, _AT_A_TIME // problems[0].W.size)
    for begin in range(0, len(problems), step):
        some = slice(begin, begin + step)
        known = contractions[some] < 1.0
        left = cupy.asarray(np.where(known, 1.0 - contractions[some], 1.0))[:, None, None]
        # A number is faster than an array of equal ones.
        eta = float(etas[begin]) if (etas[some] == etas[begin]).all() else cupy.asarray(etas[some])[:, None, None]
        stay = utility(cupy, W[some] - X[some, :, None], eta)
        # Wealth does not fall in x.
        richest = W[some, -1:].max(axis=2, keepdims=True) - X[some, :1, None]
        low = cupy.minimum(stay.min(axis=2, keepdims=True), 0.0) / left
        high = cupy.maximum(utility(cupy, richest, eta), 0.0) / left
        slack = _SLACK * (high - low)
        inside = (V0[some] >= low - slack) & (V0[some] <= high + slack)
        # CuPy computes one number from a whole table faster than from an axis.
        between = [bool(inside.all())] if inside.shape[0] == 1 else inside.all(axis=(1, 2)).tolist()
        for i, good in enumerate(between):
            at = begin + i
            if not good and known[i] and asked[at]:
                V0[at] = stay[i] / (1.0 - problems[at].beta)
                policy[at] = X.shape[1] // 2


def utility(cupy: Any, consumption: Any, eta: Any) -> Any:
    """Return the utility of consumption, tables on the device; ``eta`` is a number or an array that fits."""
    if isinstance(eta, float):
        return cupy.log(consumption) if eta == 1.0 else consumption ** (1.0 - eta) / (1.0 - eta)
    curved = cupy.where(eta == 1.0, 0.0, eta)
    return cupy.where(eta == 1.0, cupy.log(consumption), consumption ** (1.0 - curved) / (1.0 - curved))
