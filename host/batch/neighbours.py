"""Solutions that problems near them start from: warm starts of a batch."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.concavity import convex_at
from beltline.host.problem.problem import Problem
from beltline.host.solver.complete import Completed
from beltline.host.solver.fixed_point import RANGE, Image
from beltline.host.solver.prepare import Prepared, rescaled

NEIGHBOURS_BYTES = 2**26
"""Of values that a process keeps for warm starts: 32 of the largest problem's, thousands of small ones'."""


@dataclass(frozen=True, eq=False)
class _Neighbour:
    where: NDArray[np.float64]
    value: NDArray[np.int64]
    value_bits: int


class Neighbours:
    """The last solutions, for problems near them to start from; as many as ``NEIGHBOURS_BYTES`` hold."""

    def __init__(self, limit: int = NEIGHBOURS_BYTES) -> None:
        self._limit = limit
        self._bytes = 0
        self._kept: OrderedDict[int, tuple[object, _Neighbour]] = OrderedDict()
        self._number = itertools.count()

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, completed: Completed) -> None:
        """Remember a run that converged."""
        problem, run = completed.work.problem, completed.run
        if problem.horizon is not None or not run.converged:
            return
        family, where = _place(problem)
        self._kept[next(self._number)] = family, _Neighbour(where, run.value, completed.work.image.value_bits)
        self._bytes += run.value.nbytes
        while self._bytes > self._limit and len(self._kept) > 1:
            _, (_, oldest) = self._kept.popitem(last=False)
            self._bytes -= oldest.value.nbytes

    def nearest(self, work: Prepared) -> NDArray[np.int64] | None:
        """The nearest solution as a start of ``work``, in its units; None where there is none that can be.

        Distances are between the parameters, ``beta`` and ``eta``, each over its spread among those that are compared.
        A start must be as concave as any, and in range; with a horizon it is part of the problem, and none is given.
        """
        problem = work.problem
        family, here = _place(problem)
        others = [neighbour for kind, neighbour in self._kept.values() if kind == family]
        if problem.horizon is not None or not others:
            return None
        table = np.stack([neighbour.where for neighbour in others])
        spread = np.ptp(np.vstack([table, here]), axis=0)
        distance = np.sum(((table - here) / np.where(spread > 0, spread, 1.0)) ** 2, axis=1)
        found = others[int(np.argmin(distance))]
        return _as_start(problem, work.image, found)


def _place(problem: Problem) -> tuple[object, NDArray[np.float64]]:
    """What two problems must have in common to be neighbours, and where among its kind this one is."""
    names = tuple(sorted(problem.parameters))
    where = np.array([problem.beta, problem.eta, *(problem.parameters[name] for name in names)])
    return (problem.wealth.shape, problem.name, names), where


def _as_start(problem: Problem, image: Image, found: _Neighbour) -> NDArray[np.int64] | None:
    shift = image.value_bits - found.value_bits
    if float(np.abs(found.value.astype(np.float64)).max()) * 2.0**shift >= RANGE:
        return None
    value = np.ldexp(found.value.astype(np.float64), -found.value_bits)
    if convex_at(problem.grid, value, problem.wealth, problem.beta, problem.eta) is not None:
        return None
    return rescaled(found.value, shift)
