"""Load an economy of Arellano (2008) from a file."""

from __future__ import annotations

from beltline.host.models.arellano.model import arellano
from beltline.host.models.arellano.result import DefaultEconomy
from beltline.host.models.model_result import solution_from
from beltline.host.problem.checks import ProblemError
from beltline.host.results.archive import Archive
from beltline.host.results.facts import PARTS, checked


def read(file: Archive) -> DefaultEconomy:
    """Read an economy that :meth:`beltline.DefaultEconomy.save` wrote.

    Raises
    ------
    ProblemError
        The archive contains something else.
    """
    known = checked("its economy", file.facts, {"model": PARTS, "solution": PARTS})
    model = arellano(**known["model"])
    solution, shape = solution_from(file, known["solution"], model.problem()), (model.bonds, model.incomes)
    if solution.prices is not None and solution.prices.shape != shape:
        raise ProblemError(f"array 'prices' has shape {solution.prices.shape}, not {shape}")
    return DefaultEconomy(model, solution)
