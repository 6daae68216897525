"""Load the solution of lumpy investment from a file."""

from __future__ import annotations

from beltline.host.models.lumpy_investment.model import lumpy_investment
from beltline.host.models.lumpy_investment.result import LumpyInvestmentResult
from beltline.host.models.model_result import solution_from
from beltline.host.results.archive import Archive
from beltline.host.results.facts import PARTS, checked


def read(file: Archive) -> LumpyInvestmentResult:
    """Read a result that :meth:`beltline.LumpyInvestmentResult.save` wrote.

    Raises
    ------
    ProblemError
        The archive contains something else.
    """
    known = checked("its model", file.facts, {"model": PARTS, "solution": PARTS})
    model = lumpy_investment(**known["model"])
    problem = model.discrete_problem() if model.convex > 0.0 else model.problem()
    return LumpyInvestmentResult(model, solution_from(file, known["solution"], problem))
