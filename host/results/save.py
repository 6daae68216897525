"""Results to files, ``.npz`` or netCDF."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from beltline.host.results.dataset import check_netcdf, write
from beltline.host.results.files import check_target, replacing
from beltline.host.results.record import about, tables
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


def save(result: Result, path: str | os.PathLike[str]) -> Path:
    """Write ``result`` to ``path``, and return the path; :meth:`beltline.host.results.result.Result.save` is this."""
    target = check_out(path)
    if target.suffix.lower() == NETCDF:
        with replacing(target) as neighbour:
            write(result, neighbour)
        return target
    with replacing(target) as neighbour:
        np.savez_compressed(
            neighbour,
            about=np.array(about(result)),
            value=result.value,
            policy=result.policy,
            policy_values=result.policy_values,
            **tables(result.problem),
        )
    return target
