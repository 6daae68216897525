"""Base class of models: parameters that define a :class:`~beltline.host.problem.problem.Problem`.

Often a function that returns a ``Problem`` is enough (:func:`beltline.host.models.rbc.rbc`). A class is useful if the
results have variables of their own (hours, taxes), or if solving the model means solving more than one problem, as in
an economy whose prices clear markets. ``host/models/catalogue.py`` lists the models that the command line offers.
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
    """Attributes that the solution of every model has, such as :class:`~beltline.host.results.result.Result`.

    ``str`` of it is the report that commands print.
    """

    @property
    def success(self) -> bool:
        """Whether the model is solved."""

    @property
    def status(self) -> str:
        """How the solve ended, one of :class:`~beltline.host.results.outcome.Outcome`."""

    @property
    def message(self) -> str:
        """The status in a sentence and, after a failure, what to do."""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write everything to ``path``, completely or not at all; :func:`beltline.load` reads it."""

    def plot(self, path: str | os.PathLike[str] | None = None, kind: str = ...) -> Any:
        """Draw a figure, and write it to ``path`` if there is one."""


class Model(ABC):
    """A model that :func:`beltline.solve` solves.

    Derive a frozen dataclass whose fields are the parameters, and define :meth:`problem`. ``bl.solve(model, ...)``
    passes its arguments to :meth:`solve`.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> import beltline as bl
    >>> @dataclass(frozen=True)
    ... class CakeEating(bl.Model):
    ...     beta: float = 0.95
    ...     def problem(self):
    ...         cake = bl.grid_uniform(0.1, 1.0, 50)
    ...         table = cake[:, None] + 0.1
    ...         return bl.Problem(grid=cake, wealth=table, transition=np.ones((1, 1)),
    ...                           beta=self.beta, eta=1.0)
    >>> bl.solve(CakeEating(), progress=False).success
    True
    """

    suffixes: ClassVar[tuple[str, ...]] = SUFFIXES
    """File name endings that ``save`` of its solution accepts."""

    kinds: ClassVar[tuple[str, ...]] = ()
    """Kinds of figures that ``plot`` of its solution draws, the default first; empty for those of a :class:`Result`."""

    finds_prices: ClassVar[bool] = False
    """Whether :meth:`solve` also finds prices, so that :meth:`problem` alone, at given prices, is not the model."""

    @abstractmethod
    def problem(self) -> Problem:
        """Return the Bellman equation of these parameters as tables.

        Raises
        ------
        ProblemError
            A parameter is out of range.
        """

    def variables(self, result: Result) -> dict[str, Array]:
        """Return consumption and the other variables of a period by name, each of the shape of ``result.value``.

        By default those of :meth:`beltline.Result.variables`; a model can add or correct variables.
        """
        return result.variables()

    def solve(self, **arguments: Any) -> Any:
        """Solve the model with the arguments of :func:`beltline.solve`.

        By default this solves :meth:`problem` and returns a :class:`~beltline.Result`. A model that defines its own
        ``solve`` returns an object with the attributes and methods of :class:`Solved`.
        """
        return solve(self.problem(), **arguments)
