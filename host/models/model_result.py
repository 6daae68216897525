"""Base class of the solutions of models of the general form: files, and rows of reports."""

from __future__ import annotations

import math
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from beltline.host.problem.checks import ProblemError, shown
from beltline.host.problem.discrete import DiscreteProblem
from beltline.host.problem.problem import Problem
from beltline.host.results import archive, dataset, discrete_record, netcdf, record
from beltline.host.results.archive import Archive
from beltline.host.results.machine_rows import machine_rows
from beltline.host.results.result import Result
from beltline.host.results.save import NETCDF, check_out

if TYPE_CHECKING:
    from xarray import Dataset


class ModelResult:
    """A model and its solution; derive a frozen dataclass from it whose first fields are these two."""

    archive_kind: ClassVar[str]
    """Kind of content of its files."""

    model: Any
    solution: Result

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Save model and solution to a file that :func:`beltline.load` reads.

        The file is written completely or not at all.

        Parameters
        ----------
        path : str or path
            Name that ends in ``.npz`` (arrays of the solution, and ``about``, JSON with everything else) or ``.nc``
            (netCDF-4 of :meth:`to_xarray`).

        Returns
        -------
        pathlib.Path
            The path of the file.

        Raises
        ------
        ProblemError
            A file of this name cannot be written there, or a package that writes netCDF is not installed.
        OSError
            The system could not write the file; an existing file is unchanged.
        """
        target = check_out(path)
        if target.suffix.lower() == NETCDF:
            netcdf.write(self.to_xarray(), target)
        else:
            facts, arrays = record.facts_of(self.solution), record.arrays_of(self.solution)
            archive.write(target, self.archive_kind, {**self._parts(), "solution": facts}, arrays)
        return target

    def to_xarray(self) -> Dataset:
        """Return the solution as an ``xarray.Dataset``, with the variables of ``solution.to_xarray()``.

        :func:`beltline.load` can read a netCDF file of the dataset.

        Raises
        ------
        ProblemError
            The package xarray is not installed.
        """
        return dataset.to_xarray(self.solution, self.archive_kind, self._parts())

    def _parts(self) -> dict[str, Any]:
        """Return the facts that a file holds beside the solution."""
        return {"model": asdict(self.model)}

    def _bound(self) -> str:
        """Return the error bound as text for the report."""
        bound = self.solution.error_bound
        if not math.isfinite(bound):
            return "none: max |V - V*| is not known"
        return f"max |V - V*| <= {bound:.3g}, V* exact on the same grid (including rounding errors)"

    def _spent(self) -> list[tuple[str, str]]:
        """Return the rows of the report on sweeps and time."""
        found = self.solution
        machine = []
        # A discrete program is solved on processors only.
        if found.clocks_source:
            machine = machine_rows(found.clocks, found.clocks_source, found.amount_bits, found.value_bits, found.proven)
        return [
            ("sweeps", f"{found.sweeps:,}" + (f", {found.evaluations:,} evaluations" if not machine else "")),
            *machine,
            ("this computer", ", ".join(f"{name} {spent:.2f} s" for name, spent in found.timing.items())),
        ]


def solution_from(file: Archive, given: Any, problem: Problem | DiscreteProblem) -> Result:
    """Read the solution from a file of a model, and check that it is one of the model's problem.

    Parameters
    ----------
    file
        The open file, from which the arrays are read.
    given
        Its facts on the solution.
    problem
        The problem of the model in the same file; a discrete one is not in the file.

    Raises
    ------
    ProblemError
        The facts or arrays are not those of a solution, or those of a problem with other alternatives, grid points,
        states or ages.
    """
    if not isinstance(given, dict):
        raise ProblemError(f"its solution must be an object, not {shown(given)}")
    if isinstance(problem, DiscreteProblem):
        # Earlier versions wrote no facts of the problem.
        facts = given if "result" in given else {"result": given, "problem": discrete_record.facts_of(problem)}
        record.check_facts(facts)
        return record.restored(facts, file.arrays(record.schema(facts, problem)), problem)
    record.check_facts(given)
    solution = record.restored(given, file.arrays(record.schema(given)))
    if _size(solution.problem) != _size(problem):
        ages = "" if problem.horizon is None else f" x {problem.horizon} ages"
        raise ProblemError(
            f"its solution does not fit its model, which has {problem.points:,} grid points x {problem.states} "
            f"states{ages}"
        )
    return solution


def _size(problem: Problem) -> tuple[object, ...]:
    return [one.name for one in problem.alternatives], problem.points, problem.states, problem.horizon
