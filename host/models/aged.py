"""Models of the general form: on devices of the accelerator, and with a finite horizon, solved exactly age by age."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Generic, TypeVar

from beltline.host.devices import DEVICES, REFERENCES, known
from beltline.host.devices.made import general_options
from beltline.host.models.base import Model
from beltline.host.models.model_result import SolutionResult
from beltline.host.solver.options import UNNAMED
from beltline.host.solver.solve import solve
from beltline.host.solver.solve_general import check_device


def placed(
    called: str,
    device: Any,
    points: int,
    options: Mapping[str, Any],
) -> tuple[Any, dict[str, Any], bool]:
    """Return the device that solves a model with alternatives, its options, and whether it is of the accelerator.

    ``"emulator"`` and ``"rtl"`` are built for alternatives unless the user names the lanes of a build. Messages call
    the model ``called``; it needs ``states`` of the machine, distinct alternatives times exogenous states.
    """
    if isinstance(device, str):
        if device == UNNAMED or device in REFERENCES:
            return check_device(called, device), dict(options), False
        if DEVICES[known(device)].elastic:
            return device, general_options(points, options), True
    return device, dict(options), True


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
