"""Save results to ``.npz`` or netCDF files."""

from __future__ import annotations

import os
from pathlib import Path

from beltline.host.problem.discrete import DiscreteProblem
from beltline.host.results import archive, netcdf, record
from beltline.host.results.dataset import check_netcdf
from beltline.host.results.files import check_target
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


def save(result: Result, path: str | os.PathLike[str]) -> Path:
    """Write ``result`` to ``path`` and return the path; the method ``save`` of results calls this."""
    if isinstance(result.problem, DiscreteProblem):
        # Its problem has no dataset.
        target = check_target("out", path, SUFFIXES[:1])
    else:
        target = check_out(path)
    if target.suffix.lower() == NETCDF:
        netcdf.write(result.to_xarray(), target)
    else:
        archive.write(target, record.KIND, record.facts_of(result), record.arrays_of(result))
    return target
