"""Solutions from files, of whatever kind they are."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from beltline.host.problem.checks import ProblemError, shown
from beltline.host.results.dataset import check_netcdf, read
from beltline.host.results.record import restored
from beltline.host.results.save import NETCDF, SUFFIXES
from beltline.host.results.services import service, services


def load(path: str | os.PathLike[str]) -> Any:
    """Return what was saved to ``path``: a :class:`~beltline.host.results.result.Result`, or the economy of a model
    that is more.

    A file of an economy has a mark, the name of its model, and the service ``load.`` of that name reads it
    (:mod:`beltline.host.results.services`); a file without one holds a result.

    Raises
    ------
    ProblemError
        The file is not one of those, or what reads netCDF is not installed.
    OSError
        It cannot be read.
    """
    if not isinstance(path, str | os.PathLike):
        raise ProblemError(f"path must be a file name, not {shown(path)}")
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise ProblemError(f"path must end in {' or '.join(SUFFIXES)}, not {os.fspath(path)!r}")
    name = os.fspath(path)
    if suffix == NETCDF:
        check_netcdf()
    try:
        if suffix == NETCDF:
            return restored(name, *read(Path(path)))
        with np.load(path, allow_pickle=False) as file:
            text = str(file["economy" if "economy" in file else "about"])
            facts = json.loads(text)
            for reader in services("load."):
                if reader.removeprefix("load.") in facts:
                    return service(reader)(name, facts, file)
            return restored(name, text, file)
    except (KeyError, ValueError, TypeError, EOFError, zipfile.BadZipFile) as error:
        if isinstance(error, ProblemError):
            raise
        raise ProblemError(f"{name!r} is not a file that a result was saved to") from error
