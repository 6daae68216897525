"""Krusell and Smith's equilibrium from its file."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from beltline.host.models.krusell_smith.model import KrusellSmith
from beltline.host.models.krusell_smith.result import FILE_FORMAT, Equilibrium
from beltline.host.problem.checks import ProblemError

_DAMAGED = (KeyError, ValueError, TypeError, EOFError, zipfile.BadZipFile)
"""Errors of reading what is no file of an equilibrium."""


def load_equilibrium(path: str | os.PathLike[str]) -> Equilibrium:
    """Return the :class:`~beltline.Equilibrium` that its ``save`` wrote to ``path``; :func:`beltline.load` does that,
    too, and reads other solutions.

    Raises
    ------
    ProblemError
        The file is not one of those.
    OSError
        It cannot be read.
    """
    name = os.fspath(path)
    try:
        with np.load(path, allow_pickle=False) as file:
            return read(name, json.loads(str(file["about"])), file)
    except _DAMAGED as error:
        raise _refusal(name, error) from error


def read(name: str, facts: Mapping[str, Any], arrays: Mapping[str, Any]) -> Equilibrium:
    """Return the equilibrium that ``facts``, the JSON of a file, and its arrays describe.

    Raises
    ------
    ProblemError
        They are of another version, or not those of an equilibrium.
    """
    try:
        if facts["krusell_smith"] != FILE_FORMAT:
            raise ProblemError(f"{name!r} has file format {facts['krusell_smith']}, not {FILE_FORMAT}")
        known = dict(facts["economy"])
        known["unemployment"] = tuple(known["unemployment"])
        if "gamma" in known:
            # In files of before risk aversion had one name.
            known["eta"] = known.pop("gamma")
        economy = KrusellSmith(**known, transition=arrays["transition"])
        tables = {key: arrays[key] for key in arrays if key not in ("about", "transition")}
        return Equilibrium(**tables, **facts["result"], economy=economy)
    except _DAMAGED as error:
        raise _refusal(name, error) from error


def _refusal(name: str, error: Exception) -> ProblemError:
    if isinstance(error, ProblemError):
        return error
    return ProblemError(f"{name!r} is not a file that an equilibrium was saved to")
