"""Results to files, ``.npz`` or netCDF."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from beltline.host.results import archive, general_record, netcdf, record
from beltline.host.results.dataset import check_netcdf
from beltline.host.results.files import check_target
from beltline.host.results.general_result import GeneralResult
from beltline.host.results.result import Result

NETCDF = ".nc"
SUFFIXES = (".npz", NETCDF)
"""File types that results are saved as."""


def check_out(path: str | os.PathLike[str]) -> Path:
    """Return ``path`` if a result can be saved there; nothing is written.

    Raises
    ------
    ProblemError
        It cannot: as :func:`save`.
    """
    target = check_target("out", path, SUFFIXES)
    if target.suffix.lower() == NETCDF:
        check_netcdf()
    return target


def save(result: Result | GeneralResult, path: str | os.PathLike[str]) -> Path:
    """Write ``result`` to ``path``, and return the path; ``save`` of results is this."""
    target = check_out(path)
    if target.suffix.lower() == NETCDF:
        netcdf.write(result.to_xarray(), target)
    else:
        archive.write(target, *content(result))
    return target


def content(result: Result | GeneralResult) -> tuple[str, dict[str, Any], dict[str, NDArray[Any]]]:
    """Return kind, facts and arrays of the archive of ``result``.

    Raises
    ------
    ProblemError
        The result holds what no solve returns, so that its file would not be loaded.
    """
    if isinstance(result, GeneralResult):
        return general_record.KIND, *general_record.parts_of(result)
    return record.KIND, record.facts_of(result), record.arrays_of(result)
