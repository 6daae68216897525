"""Load the solution of the retirement model from a file."""

from __future__ import annotations

from beltline.host.models.model_result import solution_from
from beltline.host.models.retirement.model import retirement
from beltline.host.models.retirement.result import RetirementResult
from beltline.host.results.archive import Archive
from beltline.host.results.facts import PARTS, checked


def read(file: Archive) -> RetirementResult:
    """Read a result that :meth:`beltline.RetirementResult.save` wrote.

    Raises
    ------
    ProblemError
        The archive contains something else.
    """
    known = checked("its model", file.facts, {"model": PARTS, "solution": PARTS})
    model = retirement(**known["model"])
    return RetirementResult(model, solution_from(file, known["solution"], model.problem()))
