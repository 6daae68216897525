"""What results of models of the general form have in common: a file, and rows of the report."""

from __future__ import annotations

import math
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from beltline.host.problem.checks import ProblemError
from beltline.host.problem.problem import Problem
from beltline.host.results import archive, general_dataset, general_record, netcdf
from beltline.host.results.archive import Archive
from beltline.host.results.general_result import GeneralResult
from beltline.host.results.save import NETCDF, check_out

if TYPE_CHECKING:
    from xarray import Dataset


class ModelResult:
    """A model and its solution. Subclass it as a frozen dataclass with these two fields first."""

    archive_kind: ClassVar[str]
    """Of its archive."""

    model: Any
    solution: GeneralResult

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write everything to ``path``, whole or not at all, for :func:`beltline.load`; return the path.

        ``.npz``: the arrays of the solution, and ``about``, JSON with everything else. ``.nc``: netCDF-4 of
        :meth:`to_xarray`.

        Raises
        ------
        ProblemError
            ``path`` is no place for such a file, or what writes netCDF is not installed.
        OSError
            The disk refused; nothing is left behind.
        """
        target = check_out(path)
        if target.suffix.lower() == NETCDF:
            netcdf.write(self.to_xarray(), target)
        else:
            facts, arrays = general_record.parts_of(self.solution)
            archive.write(target, self.archive_kind, {**self._parts(), "solution": facts}, arrays)
        return target

    def to_xarray(self) -> Dataset:
        """Return the solution as an ``xarray.Dataset``, as ``solution.to_xarray()``; a file of it is one that
        :func:`beltline.load` reads.

        Raises
        ------
        ProblemError
            xarray is not installed.
        """
        return general_dataset.to_xarray(self.solution, self.archive_kind, self._parts())

    def _parts(self) -> dict[str, Any]:
        """What a file holds beside the solution."""
        return {"model": asdict(self.model)}

    def _bound(self) -> str:
        """The error bound, in the report."""
        bound = self.solution.error_bound
        if not math.isfinite(bound):
            return "none: max |V - V*| is not known"
        return f"max |V - V*| <= {bound:.3g}, V* exact on the same grid (roundings counted)"

    def _spent(self) -> list[tuple[str, str]]:
        """Rows of the report on the work."""
        found = self.solution
        return [
            ("sweeps", f"{found.sweeps:,}, {found.evaluations:,} evaluations"),
            ("this computer", ", ".join(f"{name} {spent:.2f} s" for name, spent in found.timing.items())),
        ]


def solution_from(file: Archive, given: object, problem: Problem) -> GeneralResult:
    """Return the solution that a file of a model has.

    Parameters
    ----------
    file
        With the arrays.
    given
        What it says of the solution.
    problem
        Of the model of the same file.

    Raises
    ------
    ProblemError
        It is none, or one of another problem: of other alternatives, grid points, states or ages.
    """
    solution = general_record.restored(given, file)
    if _size(solution.problem) != _size(problem):
        ages = "" if problem.horizon is None else f" x {problem.horizon} ages"
        raise ProblemError(
            f"its solution is not one of its model, {problem.points:,} grid points x {problem.states} states{ages}"
        )
    return solution


def _size(problem: Problem) -> tuple[object, ...]:
    return [one.name for one in problem.alternatives], problem.points, problem.states, problem.horizon
