"""Base class of models of the general form with a finite horizon, solved exactly age by age."""

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
    """A model with a finite horizon; derive from it as from :class:`beltline.Model`, and define :meth:`of_ages`."""

    called: ClassVar[str]
    """What messages call the model."""
    machines: ClassVar[bool] = False
    """Whether machines with alternatives take its problem, too, at least with some parameters."""

    @abstractmethod
    def of_ages(self, solution: GeneralResult) -> Solution:
        """Return the solution of the model, made from the result of its problem."""

    def solve(self, device: str = UNNAMED, progress: Any = None, **more: Any) -> Solution:
        """Solve all ages, the last one first, exactly on the grid.

        Parameters
        ----------
        device : str
            ``"cpu"`` or ``"gpu"``; by default ``"auto"``, which takes the processor. If the model's :attr:`machines` is
            true, also a machine whose sweep engine has proofs, costs and alternatives, such as ``"emulator"`` with
            options ``lanes=4, proof=1, costs=1, alternatives=1``.
        progress, **more
            As :func:`beltline.solve` has them for a problem of the general form with a horizon.

        Raises
        ------
        ProblemError, KeyboardInterrupt
            As :func:`beltline.solve`.
        """
        if not self.machines or device == UNNAMED:
            device = check_device(self.called, device)
        solution: Any = solve(self.problem(), device=device, progress=progress, **more)
        return self.of_ages(solution)
