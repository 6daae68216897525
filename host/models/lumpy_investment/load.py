"""Lumpy investment's result from its file."""

from __future__ import annotations

from beltline.host.models.lumpy_investment.calibration import ALTERNATIVES
from beltline.host.models.lumpy_investment.model import lumpy_investment
from beltline.host.models.lumpy_investment.result import LumpyInvestmentResult
from beltline.host.problem.checks import ProblemError
from beltline.host.results import general_record
from beltline.host.results.archive import Archive
from beltline.host.results.facts import PARTS, checked


def read(file: Archive) -> LumpyInvestmentResult:
    """Return the result that :meth:`~beltline.host.models.lumpy_investment.result.LumpyInvestmentResult.save` wrote.

    Raises
    ------
    ProblemError
        The archive holds something else.
    """
    known = checked("its model", file.facts, {"model": PARTS, "solution": PARTS})
    model = lumpy_investment(**known["model"])
    solution = general_record.restored(known["solution"], file)
    problem, shape = solution.problem, (model.points, model.states)
    if solution.alternatives != ALTERNATIVES or (problem.points, problem.states) != shape:
        raise ProblemError(f"its solution is not one of its model, {shape[0]:,} grid points x {shape[1]:,} states")
    return LumpyInvestmentResult(model, solution)
