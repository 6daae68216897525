"""The interface by which ``bl.solve`` recognizes a model that brings its own method of solution."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Solvable(Protocol):
    """An object other than a :class:`~beltline.host.problem.problem.Problem` that has a method ``solve``: a model."""

    def solve(self, **options: Any) -> Any:
        """Solve the model. ``options`` are keyword arguments of :func:`beltline.host.solver.solve.solve`."""
