"""Load an equilibrium of Krusell and Smith (1998) from a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.host.models.krusell_smith.calibration import Calibration
from beltline.host.models.krusell_smith.model import KrusellSmith
from beltline.host.models.krusell_smith.result import KIND, Equilibrium
from beltline.host.problem.checks import ProblemError, first, place, shown
from beltline.host.results import archive, record
from beltline.host.results.archive import Archive, Table
from beltline.host.results.facts import (
    ANY_NUMBER,
    COUNT,
    FLAG,
    NUMBERS,
    POSITIVE,
    SECONDS,
    TEXT,
    checked,
)

_RESULT = {
    "success": FLAG,
    "status": record.RESULT["status"],
    "message": TEXT,
    "change": ANY_NUMBER,
    "tol": POSITIVE,
    "iterations": COUNT,
    "relaxation": POSITIVE,
    "household_iterations": COUNT,
    "discard": COUNT,
    "below": COUNT,
    "above": COUNT,
    "outside": COUNT,
    "household": TEXT,
    "device": TEXT,
    "interpolation": TEXT,
    "panel": TEXT,
    "seed": COUNT,
    "timing": SECONDS,
}
# Calibration checks the values of these facts.
_ECONOMY = {
    each.name: NUMBERS if each.name == "unemployment" else ANY_NUMBER
    for each in fields(Calibration)
    if each.name != "transition"
}
_NUMBERS, _WEALTH, _FLAGS = ("<f8",), ("<f8", "<f4"), ("|u1", "|i1")
_ARRAYS = {
    "law": Table(_NUMBERS, (2, 2)),
    "r2": Table(_NUMBERS, (2,)),
    "capital": Table(_NUMBERS, ("periods and one",)),
    "aggregate": Table(_FLAGS, ("periods",)),
    "wealth": Table(_WEALTH, ("agents",)),
    "employed": Table(_FLAGS, ("agents",)),
    "start": Table(_WEALTH, ("agents",)),
    "grid": Table(_NUMBERS, ("points",)),
    "policy": Table(_NUMBERS, ("points", "means", 2, 2)),
    "transition": Table(_NUMBERS, (4, 4)),
}


def load_equilibrium(path: str | os.PathLike[str]) -> Equilibrium:
    """Load an :class:`~beltline.Equilibrium` from a file that its ``save`` wrote.

    :func:`beltline.load` does the same and reads all kinds of solutions.

    Parameters
    ----------
    path : str or path
        Name of a ``.npz`` file.

    Raises
    ------
    ProblemError
        The file is damaged, or does not hold an equilibrium.
    OSError
        The file does not exist or cannot be opened.

    Examples
    --------
    >>> bl.load_equilibrium("economy.npz").law  # doctest: +SKIP
    """
    with archive.reading(path) as file:
        if file.kind != KIND:
            raise archive.FileError(repr(os.fspath(path)), f"holds {shown(file.kind)} and not an equilibrium")
        return read(file)


def read(archive: Archive) -> Equilibrium:
    """Read an equilibrium from an archive.

    Raises
    ------
    ProblemError
        The archive contains something else.
    """
    known = checked("its result", archive.facts["result"], _RESULT)
    made = checked("its economy", archive.facts["economy"], _ECONOMY)
    arrays: dict[str, Any] = archive.arrays(_ARRAYS)
    _check_ranges(known, arrays)
    made["unemployment"] = tuple(made["unemployment"])
    economy = KrusellSmith(**made, transition=arrays.pop("transition"))
    return Equilibrium(**arrays, **known, economy=economy)


def _check_ranges(known: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    periods = arrays["aggregate"].size
    if arrays["capital"].size != periods + 1 or not known["discard"] < periods:
        raise ProblemError(f"its panel has {periods} periods, {arrays['capital'].size} values of K, and discards "
                           f"{known['discard']}")  # fmt: skip
    for name in ("aggregate", "employed"):
        if (arrays[name] > 1).any() or (arrays[name] < 0).any():
            raise ProblemError(f"{name} must be 0 or 1 everywhere")
    if not known["success"]:
        return
    if known["status"] not in record.SOLVED:
        raise ProblemError(f"success of its result must be false with status {known['status']!r}, not true")
    for name, array in arrays.items():
        bad = ~np.isfinite(array)
        if bad.any():
            where = first(bad)
            raise ProblemError(f"{name} must be finite, but {place(name, where)} is {array[where]}")
