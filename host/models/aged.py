"""Base class of models of the general form with a finite horizon, solved exactly age by age."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, TypeVar

from beltline.host.models.base import Model
from beltline.host.models.machines import placed
from beltline.host.models.model_result import SolutionResult
from beltline.host.solver.options import UNNAMED
from beltline.host.solver.solve import solve

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
        states = len(problem.alternatives) * problem.states
        device, options, _ = placed(self.called, device, problem.points, states, more, taste=problem.taste > 0.0)
        return self.solution(self, solve(problem, device=device, progress=progress, **options))
