"""Solutions from files, of whatever kind they are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from beltline.host.problem.checks import ProblemError, shown
from beltline.host.results import archive, netcdf, record
from beltline.host.results.dataset import check_netcdf
from beltline.host.results.save import NETCDF, SUFFIXES
from beltline.host.results.services import service, services


def load(path: str | os.PathLike[str]) -> Any:
    """Return what was saved to ``path``: a :class:`~beltline.host.results.result.Result`, or the economy of a model
    that is more.

    A file says what kind of content it has, and the service ``load.`` of that name reads that of an economy
    (:mod:`beltline.host.results.services`). Its checksum, and the type, shape and range of all that it holds, are
    checked; nothing in it is executed.

    Raises
    ------
    ProblemError
        The file is damaged, was not saved by Beltline or by a version of other files, or what reads netCDF is not
        installed. One sentence says which, with the file's name.
    OSError
        There is no such file, or it cannot be opened.

    Examples
    --------
    >>> bl.load("rbc.nc").success  # doctest: +SKIP
    True
    """
    if not isinstance(path, str | os.PathLike):
        raise ProblemError(f"path must be a file name, not {shown(path)}")
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise ProblemError(f"path must end in {' or '.join(SUFFIXES)}, not {os.fspath(path)!r}")
    if suffix == NETCDF:
        check_netcdf()
        with netcdf.reading(Path(path)) as file:
            return _solution(file)
    with archive.reading(path) as file:
        return _solution(file)


def _solution(file: archive.Archive) -> Any:
    if file.kind == record.KIND:
        return record.read(file)
    if f"load.{file.kind}" not in services("load."):
        raise archive.FileError(repr(file.name), f"holds {shown(file.kind)}, which is no solution")
    return service(f"load.{file.kind}")(file)
