"""Base class of models: parameters that define a :class:`~beltline.host.problem.problem.Problem`.

Often a function that returns a ``Problem`` is enough (:func:`beltline.host.models.rbc.rbc`). A class is useful if the
results have variables of their own (hours, taxes), or if solving the model means solving more than one problem, as in
an economy whose prices clear markets. ``host/models/catalogue.py`` lists the models that the command line offers.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Generic, TypeVar

from beltline.host.devices import DEVICES, REFERENCES, known
from beltline.host.devices.made import general_options
from beltline.host.models.model_result import SolutionResult
from beltline.host.problem.arrays import Array
from beltline.host.problem.problem import Problem
from beltline.host.results.result import Result
from beltline.host.results.save import SUFFIXES
from beltline.host.solver.options import MACHINE_ONLY, UNNAMED, check_unnamed, machine_method
from beltline.host.solver.session import in_session
from beltline.host.solver.solve import ProcessorSession, named, solve
from beltline.host.solver.solve_general import check_device


@contextlib.contextmanager
def session_of(device: Any, options: dict[str, Any], progress: Any = None) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Open the device on which a model solves one problem of the simple form after the other.

    Gives a session, and the options of its solves with the ``start`` of the first; ``"auto"`` is the processor. An open
    session stays open.
    """
    where, more = named(device), dict(options)
    method = more.pop("method", None)
    if isinstance(where, str) and where in (UNNAMED, *REFERENCES):
        if where == UNNAMED:
            check_unnamed(method, more)
        with ProcessorSession(REFERENCES[0] if where == UNNAMED else where) as processor:
            yield processor, {"method": method, **more}
        return
    of_solves = {name: more.pop(name) for name in MACHINE_ONLY if name in more}
    method, start = machine_method(where, method, more)
    with in_session(where, more, progress) as machine:
        yield machine, {"method": method, "start": start, **of_solves}


def placed(called: str, device: Any, points: int, options: Mapping[str, Any]) -> tuple[Any, dict[str, Any], bool]:
    """Return the device that solves a model with alternatives, its options, and whether it is of the accelerator.

    ``"emulator"`` and ``"rtl"`` are built for alternatives unless the user names the lanes of a build. Messages call
    the model ``called``.
    """
    if isinstance(device, str):
        if device == UNNAMED or device in REFERENCES:
            return check_device(called, device), dict(options), False
        if DEVICES[known(device)].elastic:
            return device, general_options(points, options), True
    return device, dict(options), True


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

        By default this solves :meth:`problem` and returns a :class:`~beltline.Result`. What the ``solve`` of another
        model returns has ``success``, ``status``, ``message``, ``save`` and ``plot`` like a result, and ``str`` of it
        is the report.
        """
        return solve(self.problem(), **arguments)


Solution = TypeVar("Solution", bound=SolutionResult)


class AgedModel(Model, Generic[Solution]):
    """A model with a finite horizon; derive from it as from :class:`beltline.Model`."""

    called: ClassVar[str]
    """What messages call the model."""

    solution: ClassVar[Any]
    """Class of its solution, made from the model and the result of its problem."""

    def solve(self, device: Any = UNNAMED, progress: Any = None, **more: Any) -> Solution:
        """Solve all ages, the last one first, exactly on the grid.

        Parameters
        ----------
        device : str, Session or Device
            ``"cpu"`` or ``"gpu"``; by default ``"auto"``, which takes the processor. Also a device of the accelerator;
            ``"emulator"`` and ``"rtl"`` are built for alternatives.
        progress, **more
            As :func:`beltline.solve` has them for a problem of the general form with a horizon.

        Raises
        ------
        ProblemError, KeyboardInterrupt
            As :func:`beltline.solve`.
        """
        problem = self.problem()
        device, options, _ = placed(self.called, device, problem.points, more)
        return self.solution(self, solve(problem, device=device, progress=progress, **options))
