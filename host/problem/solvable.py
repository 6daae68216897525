"""What the solver needs to know of a model: that it can solve itself."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Solvable(Protocol):
    """Anything with a ``solve`` of its own that is no :class:`~beltline.host.problem.problem.Problem`: a model."""

    def solve(self, **options: Any) -> Any:
        """Solve it; ``options`` are the arguments of :func:`beltline.host.solver.solve.solve`."""
