"""Where a long solve leaves what it has, so that another process resumes to the same bits."""

from __future__ import annotations

import hashlib
import json
import math
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.checks import ProblemError, real
from beltline.host.results.files import check_target, replacing
from beltline.host.solver.fixed_point import Image

EVERY = 30.0
"""Seconds between two savings."""

FILE_FORMAT = 1
"""Version of the file."""


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
            The file is no checkpoint, or one of another problem, tolerance or format.
        """
        try:
            with np.load(self.path, allow_pickle=False) as file:
                about = json.loads(str(file["about"]))
                value, policy = file["value"], file["policy"]
                counters = {name: int(about[name]) for name in ("sweeps", "states_done", "clocks", "norm")}
                key = about["key"]
                known = about["format"] == FILE_FORMAT
        except FileNotFoundError:
            return None
        except (KeyError, ValueError, TypeError, EOFError, zipfile.BadZipFile) as error:
            raise ProblemError(f"checkpoint {str(self.path)!r} is not a file that a solve was saved to") from error
        if not known or key != _key(image):
            raise ProblemError(
                f"checkpoint {str(self.path)!r} is of another problem, tolerance or number format: "
                f"delete it, or name another file"
            )
        return Saved(value, policy, **counters)

    def save(self, image: Image, saved: Saved) -> None:
        """Replace the file, whole or not at all."""
        about = {
            "format": FILE_FORMAT,
            "key": _key(image),
            **{name: getattr(saved, name) for name in ("sweeps", "states_done", "clocks", "norm")},
        }
        with replacing(self.path) as neighbour:
            np.savez(neighbour, about=np.array(json.dumps(about)), value=saved.value, policy=saved.policy)

    def remove(self) -> None:
        """Delete the file, if there is one."""
        self.path.unlink(missing_ok=True)


def _key(image: Image) -> str:
    """What two images have in common only if their runs have the same bits."""
    digest = hashlib.sha256()
    for array in (image.grid, image.wealth, image.transition, image.start):
        digest.update(repr((array.shape, array.dtype.str)).encode())
        digest.update(np.ascontiguousarray(array).data)
    digest.update(repr((image.money_bits, image.value_bits, image.constants, image.epsilon)).encode())
    return digest.hexdigest()
