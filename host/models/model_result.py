"""Base classes of the solutions of models: file, dataset, equality and report, made from the table of their fields."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from beltline.host.plots.figures import check_kind
from beltline.host.problem.checks import ProblemError
from beltline.host.problem.discrete import DiscreteProblem
from beltline.host.problem.problem import Problem
from beltline.host.problem.report import Report, as_html, as_text, report
from beltline.host.results import archive, discrete_record, netcdf, record
from beltline.host.results.archive import Archive, axes_of
from beltline.host.results.dataset import check_xarray
from beltline.host.results.facts import FLAG, PARTS, TEXT, checked
from beltline.host.results.fields import (
    Declared,
    arrays_of,
    check_finite,
    equal,
    fact,
    facts_of,
    restored,
    schema_of,
    table_of,
    variables_of,
)
from beltline.host.results.machine_rows import machine_rows
from beltline.host.results.outcome import Outcome
from beltline.host.results.save import NETCDF, check_out
from beltline.host.results.services import service

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

Solved = TypeVar("Solved", bound="ModelResult")

STATUS = record.RESULT["status"]
"""What a file may contain as the status of a solution."""


class ModelResult(Declared):
    """A model and its solution; derive a frozen dataclass from it whose first field is the model.

    Besides what it declares with :mod:`beltline.host.results.fields`, it may hold the solution of one problem, which is
    a :class:`~beltline.Result`.
    """

    archive_kind: ClassVar[str]
    """Kind of content of its files."""

    figures: ClassVar[Mapping[str, str]]
    """Kinds of figures that :meth:`plot` draws, the default first, and what each shows."""

    names: ClassVar[tuple[str, str]] = ("model", "solution")
    """Names of the fields that hold the model and the solution of its problem; the latter is empty without one."""

    group: ClassVar[str] = ""
    """Name under which a file has the facts on the model and its declared fields; empty if they are not grouped."""

    if TYPE_CHECKING:

        @property
        def success(self) -> bool: ...
        @property
        def status(self) -> str: ...
        @property
        def message(self) -> str: ...
        @property
        def timing(self) -> dict[str, float]: ...

    @property
    def error_bound(self) -> float:
        """Proven upper bound on the error of values; infinite, as here, where no bound can be proven.

        Values between grid points, from monotone cubics or an Euler equation, come from an operator of which no
        contraction is known, and a law of motion that is estimated from a panel has sampling errors.
        """
        return math.inf

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Save model and solution to a file that :func:`beltline.load` reads.

        The file is written completely or not at all.

        Parameters
        ----------
        path : str or path
            Name that ends in ``.npz`` (arrays, and ``about``, JSON with everything else) or ``.nc`` (netCDF-4 of
            :meth:`to_xarray`).

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
            archive.write(target, self.archive_kind, *self._content())
        return target

    def to_xarray(self) -> Dataset:
        """Return the solution as an ``xarray.Dataset``: its arrays and those of the solution of its problem.

        :func:`beltline.load` can read a netCDF file of the dataset.

        Raises
        ------
        ProblemError
            The package xarray is not installed.
        """
        check_xarray()
        import xarray

        facts, arrays = self._content()
        about = archive.describe(self.archive_kind, facts)
        known = {"about": about, "checksum": archive.checksum({**arrays, "about": np.array(about)})}
        variables = variables_of(self) | variables_of(getattr(self, self.names[0]))
        if self.names[1]:
            found: Dataset = getattr(self, self.names[1]).to_xarray()
            return found.assign(variables).assign_coords(self._coordinates()).assign_attrs(known)
        plain = {name: value for name, value in facts_of(self).items() if isinstance(value, int | float | str)}
        plain = {name: int(value) if isinstance(value, bool) else value for name, value in plain.items()}
        return xarray.Dataset(variables, self._coordinates(), {"source": "Beltline", **plain, **known})

    def plot(self, path: str | os.PathLike[str] | None = None, kind: str | None = None) -> Figure:
        """Draw the solution.

        Parameters
        ----------
        path : str or path, optional
            Also write the figure to this file, which ends in ``.png``, ``.pdf`` or ``.svg``.
        kind : str, optional
            One of :attr:`figures`, by default the first.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which a notebook displays.

        Raises
        ------
        ProblemError
            A figure cannot be written to ``path``, there is no figure ``kind``, or Matplotlib is not installed.
        """
        chosen = next(iter(self.figures)) if kind is None else kind
        check_kind(chosen, tuple(self.figures))
        figure: Figure = service("ModelResult.plot")(self, path, chosen)
        return figure

    __str__ = __repr__ = as_text
    _repr_html_ = as_html

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and equal(self._content(), other._content())

    __hash__ = None

    def _report(self) -> Report:
        rows = [("status", f"{self.status}: {self.message}"), *self._rows()]
        rows.append(("this computer", ", ".join(f"{name} {spent:.2f} s" for name, spent in self.timing.items())))
        return report(self._title(), rows, names=14 if max(len(name) for name, _ in rows) < 14 else 16)

    def _title(self) -> str:
        """Return the heading of the report."""
        raise NotImplementedError

    def _rows(self) -> list[tuple[str, str]]:
        """Return the rows of the report between the status and the time."""
        raise NotImplementedError

    def _coordinates(self) -> dict[str, Any]:
        """Return the coordinates of the dataset beside those of the solution of its problem."""
        return {}

    def _content(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the facts and the arrays of a file."""
        model, facts = getattr(self, self.names[0]), facts_of(self)
        arrays = arrays_of(self) | arrays_of(model)
        found = self._grouped(facts_of(model), facts)
        if not self.names[1]:
            return found, arrays
        solution = getattr(self, self.names[1])
        answers = record.arrays_of(solution)
        if isinstance(solution.problem, DiscreteProblem):
            # Its problem is made again from the model.
            answers = {name: answers[name] for name in ("value", "policy")}
        return {**found, "solution": record.facts_of(solution)}, arrays | answers

    @classmethod
    def _grouped(cls, model: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
        """Return the facts of a file without those of the solution of its problem."""
        return {cls.group: {"model": model, **facts}} if cls.group else {"model": model, **facts}

    @classmethod
    def _ungrouped(cls, facts: dict[str, Any]) -> tuple[object, dict[str, Any]]:
        """Return the facts on the model, and those on the declared fields, from those of a file."""
        known = dict(checked("its description", facts, {cls.group: PARTS})[cls.group] if cls.group else facts)
        return known.pop("model"), known

    @classmethod
    def _problem_of(cls, model: Any) -> Any:
        """Return the problem that was solved, at some prices; None if the model does not give its size."""
        return model.problem()

    @classmethod
    def _read_solution(cls, model: Any, facts: dict[str, Any], file: Archive) -> tuple[Any, dict[str, Any]]:
        """Read the solution of the model's problem, and the declared arrays, from a file."""
        problem, given = cls._problem_of(model), facts["solution"]
        if isinstance(problem, DiscreteProblem) and "result" not in given:
            # Earlier versions wrote no facts of the problem.
            given = {"result": given, "problem": discrete_record.facts_of(problem)}
        record.check_facts(given)
        own = schema_of(cls)
        arrays = file.arrays(record.schema(given, problem) | own)
        declared = {name: arrays.pop(name) for name in own if name in arrays}
        if isinstance(problem, DiscreteProblem):
            return record.restored(given, arrays, problem), declared
        solution = record.restored(given, arrays)
        if problem is not None and _size(solution.problem) != _size(problem):
            ages = "" if problem.horizon is None else f" x {problem.horizon} ages"
            raise ProblemError(
                f"its solution does not fit its model, which has {problem.points:,} grid points x {problem.states} "
                f"states{ages}"
            )
        return solution, declared

    def _sizes(self) -> dict[str, int]:
        """Return the sizes of axes that follow from the model."""
        return {}

    def _check_file(self) -> None:
        """Check what a file contains beyond the rules of the single fields."""
        arrays, sizes = arrays_of(self), self._sizes()
        for name, field in table_of(type(self)).items():
            if field.dims is not None and name in arrays:
                axes = axes_of(field.dims, arrays[name].ndim)
                wanted = tuple(sizes.get(axis, size) for axis, size in zip(axes, arrays[name].shape, strict=True))
                if arrays[name].shape != wanted:
                    raise ProblemError(f"array {name!r} has shape {arrays[name].shape}, not {wanted}")
        if self.success:
            if self.status not in record.SOLVED:
                raise ProblemError(f"success of its solution must be false with status {self.status!r}, not true")
            # An alternative that cannot be taken in a state has no choice there.
            dims = {name: field.dims or () for name, field in table_of(type(self)).items()}
            check_finite({name: table for name, table in arrays.items() if "alternative?" not in dims.get(name, ())})


def _size(problem: Problem) -> tuple[object, ...]:
    return [one.name for one in problem.alternatives], problem.points, problem.states, problem.horizon


def reading(result: type[Solved], make: type) -> Callable[[Archive], Solved]:
    """Return a function that reads the files of a class of solutions whose models are of class ``make``.

    The function raises ``ProblemError`` if the archive contains something else.
    """

    def read(file: Archive) -> Solved:
        model_name, solution_name = result.names
        facts = dict(file.facts)
        of_solution: dict[str, Any] = {}
        if solution_name and "solution" in facts:
            of_solution = checked("its description", {"solution": facts.pop("solution")}, {"solution": PARTS})
        elif solution_name:
            # Earlier versions did not group the facts on a household.
            flat = {name: facts.pop(name) for name in ("result", "problem") if name in facts}
            of_solution = {"solution": flat}
        of_model, known = result._ungrouped(facts)
        found: dict[str, Any] = {}
        model: Any
        if solution_name:
            model = restored(make, "its model", of_model)
            found[solution_name], arrays = result._read_solution(model, of_solution, file)
        else:
            of_make = schema_of(make)
            arrays = file.arrays(schema_of(result) | of_make)
            model = restored(make, "its model", of_model, **{name: arrays.pop(name) for name in of_make})
        made = restored(result, "its solution", known, **{model_name: model}, **found, **arrays)
        made._check_file()
        return made

    return read


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SearchResult(ModelResult):
    """A model whose solve is a search, which says how it ended."""

    success: bool = fact(FLAG, "Whether the economy is solved")
    status: str = fact(STATUS, '``"solved"``, or which part of the economy is not')
    message: str = fact(TEXT, "The status in a sentence and, after a failure, what to do")


class SolutionResult(ModelResult):
    """A model whose solution is that of one problem, if its grid is long enough."""

    solution: Any

    @property
    def _flaw(self) -> str:
        """What is wrong with the grid although the problem is solved, and what to do; empty if nothing is."""
        return ""

    @property
    def success(self) -> bool:
        """Whether the problem is solved, every choice is proven best on the grid, and the grid is long enough."""
        return self.solution.success and not self._flaw

    @property
    def status(self) -> str:
        """How the solve ended, one of :class:`~beltline.host.results.outcome.Outcome`."""
        return Outcome.GRID.value if self.solution.success and self._flaw else str(self.solution.status)

    @property
    def message(self) -> str:
        """The status in one or two sentences and, after a failure, what to do."""
        return (self.solution.success and self._flaw) or str(self.solution.message)

    @property
    def sweeps(self) -> int:
        """Number of sweeps that maximise; with a horizon the number of ages."""
        return int(self.solution.sweeps)

    @property
    def method(self) -> str:
        """Solution method."""
        return str(self.solution.method)

    @property
    def timing(self) -> dict[str, float]:
        """Wall-clock seconds of the host computer by part of the solve."""
        return dict(self.solution.timing)

    @property
    def residual(self) -> float:
        """Largest ``|TV - V|`` of the solution."""
        return float(self.solution.residual)

    @property
    def error_bound(self) -> float:
        """Proven upper bound on the largest ``|V - V*|``, where ``V*`` is exact on the same grid."""
        return float(self.solution.error_bound)

    def _bound(self) -> tuple[str, str]:
        """Return the row of the report on the error bound."""
        if not math.isfinite(self.error_bound):
            return "error bound", "none: max |V - V*| is not known"
        return (
            "error bound",
            f"max |V - V*| <= {self.error_bound:.3g}, V* exact on the same grid (including rounding errors)",
        )

    def _spent(self) -> list[tuple[str, str]]:
        """Return the rows of the report on sweeps and the machine."""
        found = self.solution
        machine = []
        if found.clocks_source:
            machine = machine_rows(found.clocks, found.clocks_source, found.amount_bits, found.value_bits, found.proven)
        return [
            ("sweeps", f"{found.sweeps:,}" + (f", {found.evaluations:,} evaluations" if not machine else "")),
            *machine,
        ]
