"""Where a long solve leaves what it has, so that another process resumes to the same bits."""

from __future__ import annotations

import hashlib
import math
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.checks import ProblemError, first, place, real, shown
from beltline.host.results import archive
from beltline.host.results.facts import COUNT, TEXT, checked
from beltline.host.results.files import check_target
from beltline.host.solver.fixed_point import Image

EVERY = 30.0
"""Seconds between two savings."""

KIND = "checkpoint"
"""Of an archive."""

COUNTERS = ("sweeps", "states_done", "clocks", "norm")


@dataclass(frozen=True, eq=False)
class Saved:
    """A run as far as it went.

    Parameters
    ----------
    value, policy : (N_k, N_z) int64 arrays
        ``V`` in units of value, and indexes of ``x'``, after ``sweeps``.
    sweeps, states_done, clocks
        Counters so far.
    norm
        Largest change of ``V`` in the last sweep, in units of value.
    """

    value: NDArray[np.int64]
    policy: NDArray[np.int64]
    sweeps: int
    states_done: int
    clocks: int
    norm: int


class Checkpoint:
    """A file ``.npz`` that holds a :class:`Saved` run of one problem.

    A sweep begins from nothing but ``V``, so a run that starts from a saved ``V`` gives the bits that it would have
    given without a break.

    Parameters
    ----------
    path
    every
        Seconds between two savings, above 0.

    Raises
    ------
    ProblemError
        ``path`` is no place for such a file, or ``every`` no such number.
    """

    def __init__(self, path: str | os.PathLike[str], every: float = EVERY) -> None:
        self.path: Path = check_target("checkpoint", path, (".npz",))
        self.every = real("checkpoint_every", every, "a number of seconds above 0", lambda v: 0 < v < math.inf)

    def load(self, image: Image) -> Saved | None:
        """Return what was saved of ``image``, None if there is no file.

        Raises
        ------
        ProblemError
            The file is damaged or no checkpoint, or one of another problem, tolerance or format.
        """
        title = f"checkpoint {str(self.path)!r}"
        try:
            with archive.reading(self.path, title) as file:
                if file.kind != KIND:
                    raise archive.FileError(title, f"holds {shown(file.kind)} and not a run")
                facts = checked("its run", file.facts, {"key": TEXT} | dict.fromkeys(COUNTERS, COUNT))
                if facts.pop("key") != _key(image):
                    raise archive.FileError(title, "is of another problem, tolerance or number format")
                whole = archive.Table(("<i8",), image.wealth.shape)
                arrays = file.arrays({"value": whole, "policy": whole})
                bad = (arrays["policy"] < 0) | (arrays["policy"] >= image.grid.shape[0])
                if bad.any():
                    where = first(bad)
                    raise ProblemError(f"{place('policy', where)} is {arrays['policy'][where]}, not a grid point")
        except FileNotFoundError:
            return None
        except archive.FileError as error:
            raise archive.FileError(title, f"{error.reason}: delete it, or name another file") from error
        return Saved(arrays["value"], arrays["policy"], **facts)

    def save(self, image: Image, saved: Saved) -> None:
        """Replace the file, whole or not at all."""
        facts = {"key": _key(image), **{name: getattr(saved, name) for name in COUNTERS}}
        archive.write(self.path, KIND, facts, {"value": saved.value, "policy": saved.policy}, packed=False)

    def remove(self) -> None:
        """Delete the file, if there is one."""
        self.path.unlink(missing_ok=True)


def _key(image: Image) -> str:
    """What two images have in common only if their runs have the same bits."""
    digest = hashlib.sha256()
    for array in (image.grid, image.wealth, image.transition, image.start):
        digest.update(repr((array.shape, array.dtype.str)).encode())
        digest.update(np.ascontiguousarray(array).data)
    if image.groups is not None:
        digest.update(image.groups.kappa.data)
        digest.update(image.groups.marks.data)
    digest.update(repr((image.money_bits, image.value_bits, image.constants, image.epsilon)).encode())
    return digest.hexdigest()
