"""What a model is: parameters that become a :class:`~beltline.host.problem.problem.Problem`, and results with economic
names.

A function that returns a ``Problem`` is model enough for many (:func:`beltline.host.models.rbc.rbc`). A class is worth
it where results have names of their own (hours, taxes), or where a model is more than one problem, as an economy whose
prices clear markets is. On the command line both stand in ``host/models/catalogue.py``.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar, Protocol

from beltline.host.problem.arrays import Array
from beltline.host.problem.problem import Problem
from beltline.host.results.result import Result
from beltline.host.results.save import SUFFIXES
from beltline.host.solver.solve import solve


class Solved(Protocol):
    """What every model's solution can do; :class:`~beltline.host.results.result.Result` is one. ``str`` of it is the
    report.
    """

    @property
    def success(self) -> bool:
        """Whether it is solved."""

    @property
    def status(self) -> str:
        """One of :class:`~beltline.host.results.outcome.Outcome`."""

    @property
    def message(self) -> str:
        """Whether, and if not why not, in a sentence."""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write everything to ``path``, whole or not at all, for :func:`beltline.host.results.load.load` to read."""

    def plot(self, path: str | os.PathLike[str] | None = None, kind: str = ...) -> Any:
        """Draw a figure; with ``path`` also write it there."""


class Model(ABC):
    """A model. Subclass it as a frozen dataclass whose fields are the parameters, and give it :meth:`problem`.

    ``bl.solve(model, ...)`` calls :meth:`solve` with its own arguments. ``epsilon`` is none of a problem's: it is
    ``tol`` of the solve.
    """

    suffixes: ClassVar[tuple[str, ...]] = SUFFIXES
    """File types that its solution is saved as."""

    kinds: ClassVar[tuple[str, ...]] = ()
    """Kinds of figures of its solution, the first being the usual one; none: those of a :class:`Result`."""

    @abstractmethod
    def problem(self) -> Problem:
        """Return the tables ``{X, W, Q, V0, beta, eta, horizon}`` of these parameters.

        Raises
        ------
        ProblemError
            A parameter out of range, in one sentence.
        """

    def variables(self, result: Result) -> dict[str, Array]:
        """Return tables of a period by economic name, each of the shape of ``result.value``.

        By default those of :meth:`beltline.host.results.result.Result.variables`; a model adds its own, or puts them
        right.
        """
        return result.variables()

    def solve(self, **arguments: Any) -> Any:
        """Solve the model; arguments of :func:`beltline.host.solver.solve.solve`, whose result this returns unless a
        model has its own.

        What it returns is a :class:`Solved`.
        """
        return solve(self.problem(), **arguments)
