"""Load results and solutions of models from files."""

from __future__ import annotations

import os
from typing import Any

from beltline.host.problem.checks import ProblemError, path_of, shown
from beltline.host.results import archive, netcdf
from beltline.host.results.dataset import check_netcdf
from beltline.host.results.save import NETCDF, SUFFIXES
from beltline.host.results.services import service, services


def load(path: str | os.PathLike[str]) -> Any:
    """Load a result or a solution of a model from a file that its ``save`` wrote.

    Parameters
    ----------
    path : str or path
        Name of a file that ends in ``.npz`` or ``.nc``.

    Returns
    -------
    Result, or the solution of a model
        An object of the class that was saved, such as :class:`beltline.Result` or :class:`beltline.Equilibrium`.

    Raises
    ------
    ProblemError
        The file is damaged, was not saved by Beltline, has another version of the format, or a package that reads
        netCDF is not installed. The message names the file and the reason.
    OSError
        The file does not exist or cannot be opened.

    Notes
    -----
    The checksum of the file is verified, and the type, shape and range of everything in it. Nothing in a file is
    executed, and HDF5 reads a netCDF file in a process of its own with limits of time and memory, so that files from
    other people are safe to load.

    Examples
    --------
    >>> import tempfile
    >>> import beltline as bl
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = bl.solve(bl.rbc(grid=64), progress=False).save(f"{folder}/rbc.npz")
    ...     bl.load(path).success
    True
    """
    file_name = path_of("path", path)
    suffix = file_name.suffix.lower()
    if suffix not in SUFFIXES:
        raise ProblemError(f"path must end in {' or '.join(SUFFIXES)}, not {str(file_name)!r}")
    if suffix == NETCDF:
        check_netcdf()
        with netcdf.reading(file_name) as file:
            return _solution(file)
    with archive.reading(path) as file:
        return _solution(file)


def _solution(file: archive.Archive) -> Any:
    if f"load.{file.kind}" not in services("load."):
        raise archive.FileError(repr(file.name), f"holds {shown(file.kind)}, which is not a kind of solution")
    return service(f"load.{file.kind}")(file)
