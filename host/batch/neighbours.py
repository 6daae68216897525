"""Warm starts of a batch: a problem starts from the solution of the solved problem with the nearest parameters."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.concavity import first_convexity
from beltline.host.problem.problem import Problem
from beltline.host.solver.complete import Completed
from beltline.host.solver.fixed_point import RANGE, Image
from beltline.host.solver.prepare import Prepared, rescaled

NEIGHBOURS_BYTES = 2**26
"""Memory for the value functions that a process stores for warm starts: 32 of the largest problem, or thousands of
small ones."""


@dataclass(frozen=True, eq=False)
class _Neighbour:
    where: NDArray[np.float64]
    value: NDArray[np.int64]
    value_bits: int


class Neighbours:
    """The last solutions of a worker, from which problems with similar parameters can start.

    Parameters
    ----------
    limit
        Memory in bytes, after which the oldest solutions are dropped.
    """

    def __init__(self, limit: int = NEIGHBOURS_BYTES) -> None:
        self._limit = limit
        self._bytes = 0
        self._stored: OrderedDict[int, tuple[object, _Neighbour]] = OrderedDict()
        self._number = itertools.count()

    def __len__(self) -> int:
        return len(self._stored)

    def add(self, completed: Completed) -> None:
        """Store the solution of a run, if it converged and the problem has no horizon."""
        problem, run = completed.work.problem, completed.run
        if problem.horizon is not None or not run.converged:
            return
        family, where = _place(problem)
        self._stored[next(self._number)] = family, _Neighbour(where, run.value, completed.work.image.value_bits)
        self._bytes += run.value.nbytes
        while self._bytes > self._limit and len(self._stored) > 1:
            _, (_, oldest) = self._stored.popitem(last=False)
            self._bytes -= oldest.value.nbytes

    def nearest(self, work: Prepared) -> NDArray[np.int64] | None:
        """Return the nearest solution as a first guess of ``work``, in its fixed-point units; None if none fits.

        The distance is Euclidean in ``beta``, ``eta`` and ``parameters``, each divided by its range among the solutions
        that are compared. A solution that does not fit the number format, or is not concave enough for the search on
        the new problem, is not used. A problem with a horizon has no first guess.
        """
        problem = work.problem
        family, here = _place(problem)
        others = [neighbour for kind, neighbour in self._stored.values() if kind == family]
        if problem.horizon is not None or not others:
            return None
        table = np.stack([neighbour.where for neighbour in others])
        spread = np.ptp(np.vstack([table, here]), axis=0)
        distance = np.sum(((table - here) / np.where(spread > 0, spread, 1.0)) ** 2, axis=1)
        found = others[int(np.argmin(distance))]
        return _as_start(problem, work.image, found)


def _place(problem: Problem) -> tuple[object, NDArray[np.float64]]:
    """Return what two problems must have in common to be compared, and the coordinates of this one."""
    names = tuple(sorted(problem.parameters))
    where = np.array([problem.beta, problem.eta, *(problem.parameters[name] for name in names)])
    return (problem.wealth.shape, problem.name, names), where


def _as_start(problem: Problem, image: Image, found: _Neighbour) -> NDArray[np.int64] | None:
    shift = image.value_bits - found.value_bits
    if float(np.abs(found.value.astype(np.float64)).max()) * 2.0**shift >= RANGE:
        return None
    value = np.ldexp(found.value.astype(np.float64), -found.value_bits)
    if first_convexity(problem.grid, value, problem.wealth, problem.beta, problem.eta) is not None:
        return None
    return rescaled(found.value, shift)
