"""The retirement model's result from its file."""

from __future__ import annotations

from beltline.host.models.retirement.calibration import ALTERNATIVES
from beltline.host.models.retirement.model import retirement
from beltline.host.models.retirement.result import RetirementResult
from beltline.host.problem.checks import ProblemError
from beltline.host.results import general_record
from beltline.host.results.archive import Archive
from beltline.host.results.facts import PARTS, checked


def read(file: Archive) -> RetirementResult:
    """Return the result that :meth:`~beltline.host.models.retirement.result.RetirementResult.save` wrote.

    Raises
    ------
    ProblemError
        The archive holds something else.
    """
    known = checked("its model", file.facts, {"model": PARTS, "solution": PARTS})
    model = retirement(**known["model"])
    solution = general_record.restored(known["solution"], file)
    problem = solution.problem
    if solution.alternatives != ALTERNATIVES or (problem.points, problem.horizon) != (model.grid, model.ages):
        raise ProblemError(f"its solution is not one of its model, {model.grid:,} grid points x {model.ages} ages")
    return RetirementResult(model, solution)
