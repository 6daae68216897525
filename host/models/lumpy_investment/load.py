"""Lumpy investment's result from its file."""

from __future__ import annotations

from beltline.host.models.lumpy_investment.model import lumpy_investment
from beltline.host.models.lumpy_investment.result import LumpyInvestmentResult
from beltline.host.models.model_result import solution_from
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
    return LumpyInvestmentResult(model, solution_from(file, known["solution"], model.problem()))
