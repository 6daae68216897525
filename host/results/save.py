"""Results to files, ``.npz`` or netCDF."""

from __future__ import annotations

import os
from pathlib import Path

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
    elif isinstance(result, GeneralResult):
        archive.write(target, general_record.KIND, *general_record.parts_of(result))
    else:
        archive.write(target, record.KIND, record.facts_of(result), record.arrays_of(result))
    return target
