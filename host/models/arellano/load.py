"""Arellano's economy from its file."""

from __future__ import annotations

from beltline.host.models.arellano.calibration import ALTERNATIVES
from beltline.host.models.arellano.model import arellano
from beltline.host.models.arellano.result import DefaultEconomy
from beltline.host.problem.checks import ProblemError
from beltline.host.results import general_record
from beltline.host.results.archive import Archive
from beltline.host.results.facts import PARTS, checked


def read(file: Archive) -> DefaultEconomy:
    """Return the economy that :meth:`~beltline.host.models.arellano.result.DefaultEconomy.save` wrote.

    Raises
    ------
    ProblemError
        The archive holds something else.
    """
    known = checked("its economy", file.facts, {"model": PARTS, "solution": PARTS})
    model = arellano(**known["model"])
    solution = general_record.restored(known["solution"], file)
    problem, shape = solution.problem, (model.bonds, model.incomes)
    if solution.alternatives != ALTERNATIVES or (problem.points, problem.states) != shape:
        raise ProblemError(f"its solution is not one of its model, {shape[0]:,} bonds x {shape[1]:,} incomes")
    if solution.prices is not None and solution.prices.shape != shape:
        raise ProblemError(f"array 'prices' has shape {solution.prices.shape}, not {shape}")
    return DefaultEconomy(model, solution)
