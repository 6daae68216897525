"""Load a transition path of the Aiyagari economy from a file."""

from __future__ import annotations

import math

import numpy as np

from beltline.host.models.aiyagari.model import aiyagari
from beltline.host.models.aiyagari_path.model import AiyagariPath, aiyagari_path
from beltline.host.models.aiyagari_path.result import TABLES, Rest, TransitionPath
from beltline.host.problem.checks import ProblemError, real
from beltline.host.results import record
from beltline.host.results.archive import Archive, Table
from beltline.host.results.facts import ANY_NUMBER, FLAG, LIST, MEASURE, NUMBERS, PARTS, POSITIVE, TEXT, checked

_FACTS = {
    "model": PARTS,
    "initial": PARTS,
    "final": PARTS,
    "success": FLAG,
    "status": record.RESULT["status"],
    "message": TEXT,
    "steps": LIST,
    "seconds": MEASURE,
}
_MODEL = {"economy": PARTS, "productivity": NUMBERS, "after": POSITIVE}
_REST = dict.fromkeys(("productivity", "interest", "wage", "capital", "excess"), ANY_NUMBER)


def read(file: Archive) -> TransitionPath:
    """Read a path that :meth:`beltline.TransitionPath.save` wrote.

    Raises
    ------
    ProblemError
        The archive contains something else.
    """
    known = checked("its path", file.facts, _FACTS)
    if known["success"] and known["status"] not in record.SOLVED:
        raise ProblemError(f"success of its path must be false with status {known['status']!r}, not true")
    steps = tuple(real("a step of its search", step, "at least 0", lambda v: v >= 0) for step in known["steps"])
    model = _model(checked("its model", known["model"], _MODEL))
    arrays = file.arrays({name: Table(("<f8",), shape) for name, shape in TABLES.items()})
    wanted = (model.periods, model.economy.grid, model.economy.states)
    ends = arrays["excess"].size, *arrays["distribution"].shape
    if arrays["value"].shape != wanted or ends != (wanted[0] + 1, wanted[0] + 1, *wanted[1:]):
        raise ProblemError("its tables do not have the dates, grid points and states of its model")
    if known["success"] and not all(np.isfinite(array).all() for array in arrays.values()):
        raise ProblemError("success of its path must be false if a table is not finite, not true")
    return TransitionPath(
        model=model,
        initial=Rest(**checked("its steady state before", known["initial"], _REST)),
        final=Rest(**checked("its steady state after", known["final"], _REST)),
        **arrays,
        success=known["success"],
        status=known["status"],
        message=known["message"],
        steps=steps,
        seconds=known["seconds"],
    )


def _model(known: dict[str, object]) -> AiyagariPath:
    economy: dict[str, object] = known["economy"]  # type: ignore[assignment]
    levels: list[float] = known["productivity"]  # type: ignore[assignment]
    checked_path = aiyagari_path(productivity=levels, periods=len(levels), grid=2, states=1)
    after = real("after", known["after"], "a number above 0", lambda v: 0 < v < math.inf)
    return AiyagariPath(aiyagari(**economy), checked_path.productivity, after)  # type: ignore[arg-type]
