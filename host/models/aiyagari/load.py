"""Load an Aiyagari economy from a file."""

from __future__ import annotations

import numpy as np

from beltline.host.models.aiyagari.model import aiyagari
from beltline.host.models.aiyagari.result import Economy, Step
from beltline.host.problem.checks import ProblemError
from beltline.host.results import record
from beltline.host.results.archive import Archive, Table
from beltline.host.results.facts import COUNT, FLAG, LIST, MEASURE, NUMBER, PARTS, TEXT, TEXTS, checked

_ECONOMY = {
    "model": PARTS,
    "interest": NUMBER,
    "success": FLAG,
    "status": record.RESULT["status"],
    "message": TEXT,
    "steps": LIST,
}
_STEP = {
    "interest": NUMBER,
    "supply": MEASURE,
    "demand": MEASURE,
    "sweeps": COUNT,
    "clocks": COUNT,
    "solving": MEASURE,
    "spreading": MEASURE,
    "moved": TEXTS,
}


def read(archive: Archive) -> Economy:
    """Read an economy that :meth:`beltline.Economy.save` wrote.

    Raises
    ------
    ProblemError
        The archive contains something else.
    """
    record.check_facts(archive.facts)
    known = checked("its economy", archive.facts["economy"], _ECONOMY)
    steps = [checked(f"step {number} of its search", step, _STEP) for number, step in enumerate(known["steps"])]
    if not steps:
        raise ProblemError("its economy has no steps")
    if known["success"] and known["status"] not in record.SOLVED:
        raise ProblemError(f"success of its economy must be false with status {known['status']!r}, not true")
    arrays = archive.arrays(record.schema(archive.facts) | {"distribution": Table(("<f8",), ("grid points", "states"))})
    mass = arrays.pop("distribution")
    if not (np.isfinite(mass).all() and (mass >= 0).all()):
        raise ProblemError("shares of households must be finite and not negative")
    return Economy(
        model=aiyagari(**known["model"]), interest=known["interest"],
        household=record.restored(archive.facts, arrays), distribution=mass,
        success=known["success"], status=known["status"], message=known["message"],
        steps=tuple(Step(**{**step, "moved": tuple(step["moved"])}) for step in steps),
    )  # fmt: skip
