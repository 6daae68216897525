"""Load an Aiyagari economy with several types of households from a file."""

from __future__ import annotations

from typing import Any

import numpy as np

from beltline.host.models.aiyagari_types.model import aiyagari_types
from beltline.host.models.aiyagari_types.result import TABLES, TypesEconomy
from beltline.host.problem.checks import ProblemError
from beltline.host.results import record
from beltline.host.results.archive import Archive, Table
from beltline.host.results.facts import ANY_NUMBER, COUNT, FLAG, MEASURE, NUMBERS, PARTS, TEXT, checked

_FACTS = {
    "model": PARTS,
    "interest": ANY_NUMBER,
    "excess": ANY_NUMBER,
    "success": FLAG,
    "status": record.RESULT["status"],
    "message": TEXT,
    "steps": COUNT,
    "seconds": MEASURE,
}
_MODEL = {"economy": PARTS, "betas": NUMBERS, "etas": NUMBERS, "weights": NUMBERS}


def read(file: Archive) -> TypesEconomy:
    """Read an economy that :meth:`beltline.TypesEconomy.save` wrote.

    Raises
    ------
    ProblemError
        The archive contains something else.
    """
    known = checked("its economy", file.facts, _FACTS)
    if known["success"] and known["status"] not in record.SOLVED:
        raise ProblemError(f"success of its economy must be false with status {known['status']!r}, not true")
    given = checked("its model", known["model"], _MODEL)
    # Discount factor and risk aversion are given by type.
    economy: dict[str, Any] = {name: fact for name, fact in given.pop("economy").items() if name not in ("beta", "eta")}
    model = aiyagari_types(**economy, **given)
    shape = len(model.betas), model.economy.grid, model.economy.states
    arrays = file.arrays({name: Table(("<f8",), shape) for name in TABLES})
    finite = all(np.isfinite(array).all() for array in arrays.values()) and np.isfinite(known["interest"])
    if known["success"] and not finite:
        raise ProblemError("success of its economy must be false if a table is not finite, not true")
    return TypesEconomy(**known | arrays | {"model": model})
