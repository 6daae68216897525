"""Load an economy of Hopenhayn and Rogerson (1993) from a file."""

from __future__ import annotations

from beltline.host.models.hopenhayn_rogerson.model import hopenhayn_rogerson
from beltline.host.models.hopenhayn_rogerson.result import FirmEconomy, Step
from beltline.host.models.model_result import solution_from
from beltline.host.problem.checks import ProblemError
from beltline.host.results.archive import Archive
from beltline.host.results.facts import ANY_NUMBER, COUNT, LIST, MEASURE, NUMBER, PARTS, POSITIVE, checked

_ECONOMY = {
    "model": PARTS,
    "price": POSITIVE,
    "entry_cost": ANY_NUMBER,
    "disutility": ANY_NUMBER,
    "steps": LIST,
}
_STEP = {"tau": MEASURE, "price": POSITIVE, "entry_value": NUMBER, "sweeps": COUNT, "seconds": MEASURE}


def read(file: Archive) -> FirmEconomy:
    """Read an economy that :meth:`beltline.FirmEconomy.save` wrote.

    The distribution and the market conditions are computed again.

    Raises
    ------
    ProblemError
        The archive contains something else.
    """
    facts = checked("its content", file.facts, {"economy": PARTS, "solution": PARTS})
    known = checked("its economy", facts["economy"], _ECONOMY)
    steps = [checked(f"step {number} of its search", step, _STEP) for number, step in enumerate(known["steps"])]
    model = hopenhayn_rogerson(**known["model"])
    solution = solution_from(file, facts["solution"], model.problem())
    if "tau" not in solution.problem.parameters:
        raise ProblemError("parameters of its problem have no 'tau'")
    return FirmEconomy(
        model, known["price"], known["entry_cost"], known["disutility"], solution, tuple(Step(**step) for step in steps)
    )
