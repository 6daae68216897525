"""Save results to ``.npz`` or netCDF files."""

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
"""File name endings of the two formats."""


def check_out(path: str | os.PathLike[str]) -> Path:
    """Check that a result can be saved to ``path``, and return it as a ``Path``; nothing is written.

    Raises
    ------
    ProblemError
        Another ending, a directory that does not exist or cannot be written to, or a missing package for netCDF.
    """
    target = check_target("out", path, SUFFIXES)
    if target.suffix.lower() == NETCDF:
        check_netcdf()
    return target


def save(result: Result | GeneralResult, path: str | os.PathLike[str]) -> Path:
    """Write ``result`` to ``path`` and return the path; the method ``save`` of results calls this."""
    target = check_out(path)
    if target.suffix.lower() == NETCDF:
        netcdf.write(result.to_xarray(), target)
    else:
        archive.write(target, *content(result))
    return target


def content(result: Result | GeneralResult) -> tuple[str, dict[str, Any], dict[str, NDArray[Any]]]:
    """Return what an archive of ``result`` consists of: the kind of content, the facts and the arrays.

    Raises
    ------
    ProblemError
        A fact or an array of the result is out of range, so that its file could not be loaded again.
    """
    if isinstance(result, GeneralResult):
        return general_record.KIND, *general_record.parts_of(result)
    return record.KIND, record.facts_of(result), record.arrays_of(result)
