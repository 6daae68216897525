"""Load the solution of a cohort from a file."""

from __future__ import annotations

from dataclasses import fields

from beltline.host.models.cohort.calibration import Calibration
from beltline.host.models.cohort.model import cohort
from beltline.host.models.cohort.result import CohortResult
from beltline.host.models.model_result import solution_from
from beltline.host.problem.checks import ProblemError
from beltline.host.results.archive import Archive
from beltline.host.results.facts import PARTS, checked


def read(file: Archive) -> CohortResult:
    """Read a result that :meth:`beltline.CohortResult.save` wrote.

    Raises
    ------
    ProblemError
        The archive contains something else.
    """
    known = checked("its model", file.facts, {"model": PARTS, "solution": PARTS})
    if set(known["model"]) != {field.name for field in fields(Calibration)}:
        raise ProblemError("its model is not that of a cohort")
    model = cohort(**known["model"])
    return CohortResult(model, solution_from(file, known["solution"], model.problem()))
