"""Base class of models of the general form with a finite horizon, solved exactly age by age."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

from beltline.host.models.base import Model, Solved
from beltline.host.models.machines import on_machine
from beltline.host.results.result import Result
from beltline.host.solver.options import UNNAMED
from beltline.host.solver.solve import solve
from beltline.host.solver.solve_general import check_device

Solution = TypeVar("Solution", bound=Solved)


class AgedModel(Model, Generic[Solution]):
    """A model with a finite horizon; derive from it as from :class:`beltline.Model`, and define :meth:`of_ages`."""

    called: ClassVar[str]
    """What messages call the model."""

    @abstractmethod
    def of_ages(self, solution: Result) -> Solution:
        """Return the solution of the model, made from the result of its problem."""

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
        options = on_machine(
            device, problem.points, len(problem.alternatives) * problem.states, more, taste=problem.taste > 0.0
        )
        if options is None:
            device, options = check_device(self.called, device), more
        solution: Any = solve(problem, device=device, progress=progress, **options)
        return self.of_ages(solution)
