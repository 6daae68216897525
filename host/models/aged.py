"""Models of the general form with a horizon, all of whose ages are solved by exact sweeps."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

from beltline.host.models.base import Model, Solved
from beltline.host.results.general_result import GeneralResult
from beltline.host.solver.options import UNNAMED
from beltline.host.solver.solve import solve
from beltline.host.solver.solve_general import check_device

Solution = TypeVar("Solution", bound=Solved)


class AgedModel(Model, Generic[Solution]):
    """Such a model. Subclass it as :class:`~beltline.host.models.base.Model`, and give it :meth:`of_ages`."""

    called: ClassVar[str]
    """What messages call it."""

    @abstractmethod
    def of_ages(self, solution: GeneralResult) -> Solution:
        """Return the model's result, made from that of its problem."""

    def solve(self, device: str = UNNAMED, progress: Any = None, **more: Any) -> Solution:
        """Solve all ages, the last first, by exact sweeps on the grid.

        Parameters
        ----------
        device
            ``"cpu"`` or ``"gpu"``; by default ``"auto"``, which is the processor.
        progress, **more
            As of :func:`beltline.host.solver.solve.solve` for a problem of the general form with a horizon.

        Raises
        ------
        ProblemError, KeyboardInterrupt
            As :func:`beltline.host.solver.solve.solve`.
        """
        device = check_device(self.called, device)
        solution: Any = solve(self.problem(), device=device, progress=progress, **more)
        return self.of_ages(solution)
