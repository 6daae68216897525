"""What a device of the accelerator returns from a run, and files from which a long run continues to the same bits."""

from __future__ import annotations

import hashlib
import math
import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.checks import ProblemError, first, place, real, shown
from beltline.host.results import archive
from beltline.host.results.facts import COUNT, TEXT, checked
from beltline.host.results.files import check_target
from beltline.host.solver.fixed_point import Image
from beltline.hw.interface.registers import Status

EVERY = 30.0
"""Default number of seconds between two savings."""

KIND = "checkpoint"
"""Kind of the archive file."""

COUNTERS = ("sweeps", "states_done", "clocks", "norm")


@dataclass(frozen=True, eq=False)
class Saved:
    """Value, policy and counters of a run between two sweeps, in the units of the run."""

    value: NDArray[np.int64]
    policy: NDArray[np.int64]
    sweeps: int
    states_done: int
    clocks: int
    norm: int


class Checkpoint:
    """A file (``.npz``) with the :class:`Saved` state of a run of one problem, written after ``every`` seconds.

    A sweep depends on ``V`` alone, so a run that starts from a saved ``V`` returns the bits of one without a break.
    If the file ``stays``, the caller removes it. After a solve that converged it is ``over``; ``failure`` says why the
    last state could not be saved.
    """

    def __init__(self, path: str | os.PathLike[str], every: float = EVERY, stays: bool = False) -> None:
        self.path: Path = check_target("checkpoint", path, (".npz",))
        self.every = real("checkpoint_every", every, "a number of seconds above 0", lambda v: 0 < v < math.inf)
        self.stays = stays
        self.over = False
        self.failure = ""

    def __fspath__(self) -> str:
        return str(self.path)

    def load(self, image: Image) -> Saved | None:
        """Return the saved state of the run of ``image``; None if there is no file."""
        title = f"checkpoint {str(self.path)!r}"
        try:
            with archive.reading(self.path, title) as file:
                if file.kind != KIND:
                    raise archive.FileError(title, f"contains {shown(file.kind)}, not a checkpoint of a run")
                facts = checked("its run", file.facts, {"key": TEXT} | dict.fromkeys(COUNTERS, COUNT))
                if facts.pop("key") != _key(image):
                    raise archive.FileError(title, "belongs to another problem, tolerance or number format")
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
        """Replace the file by a new state, atomically: an interrupt leaves the old file intact."""
        facts = {"key": _key(image), **{name: getattr(saved, name) for name in COUNTERS}}
        archive.write(self.path, KIND, facts, {"value": saved.value, "policy": saved.policy}, packed=False)

    def keep(self, image: Image, saved: Saved) -> None:
        """Save a new state; if that fails, as on a full disk, note the ``failure``, which does not end the run."""
        try:
            self.save(image, saved)
            self.failure = ""
        except OSError as error:
            self.failure = f"checkpoint {str(self.path)!r} could not be written: {error.strerror}"

    def end(self, converged: bool) -> str:
        """Note that the solve is verified; delete the file if it has converged. Return a sentence on what failed."""
        self.over = converged
        if converged and not self.stays:
            self.remove()
        return f"The {self.failure}." if self.failure else ""

    def remove(self) -> None:
        """Delete the file, if there is one."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            self.failure = f"checkpoint {str(self.path)!r} could not be deleted: {error.strerror}"


def _key(image: Image) -> str:
    """Return a hash of all data that the bits of a run depend on."""
    digest = hashlib.sha256()
    for array in (image.grid, image.wealth, image.transition, image.start):
        digest.update(repr((array.shape, array.dtype.str)).encode())
        digest.update(np.ascontiguousarray(array).data)
    if image.groups is not None:
        digest.update(image.groups.kappa.data)
        digest.update(image.groups.marks.data)
        digest.update(image.groups.lowest.data)
        digest.update(image.groups.highest.data)
        if any(image.groups.shocks):
            digest.update(repr(image.groups.shocks).encode())
    if image.bounds is not None:
        digest.update(image.bounds.data)
    digest.update(repr((image.amount_bits, image.value_bits, image.constants, image.epsilon)).encode())
    return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class Run:
    """What a device returned from a run, in its own fixed-point numbers.

    ``value`` (units of its last fraction bit) and ``policy`` (grid indexes) are ``(N_k, N_z)`` int64 arrays, with a
    horizon ``(T, N_k, N_z)`` in the order of the sweeps. ``norm`` is the largest change of ``V`` in the last sweep.
    Counters include those before a checkpoint, with the clocks before the first sweep counted once. ``timing`` has the
    seconds of ``load``, ``solve`` and ``read``, and ``moved`` the names of the tables and registers that were written.
    """

    status: Status
    value: NDArray[np.int64]
    policy: NDArray[np.int64]
    sweeps: int
    states_done: int
    clocks: int
    norm: int
    build_hash: int
    timing: dict[str, float]
    moved: tuple[str, ...]

    @property
    def converged(self) -> bool:
        """Whether the run ended because the last change was below the tolerance."""
        return Status.CONVERGED in self.status


def of_ages(ages: list[Run]) -> Run:
    """Combine the runs of the ages solved so far, in their order, into one."""
    status = ages[-1].status
    if not all(Status.PROVEN in run.status for run in ages):
        status &= ~Status.PROVEN
    return replace(
        ages[-1],
        status=status,
        value=np.stack([run.value for run in ages]),
        policy=np.stack([run.policy for run in ages]),
        sweeps=sum(run.sweeps for run in ages),
        states_done=sum(run.states_done for run in ages),
        clocks=sum(run.clocks for run in ages),
    )


def continued(before: Saved, after: Run, begin_clocks: int) -> Run:
    """Combine the two parts of a run that was continued from a checkpoint."""
    swept = after.sweeps > 0
    return replace(
        after,
        policy=after.policy if swept else before.policy,
        norm=after.norm if swept else before.norm,
        sweeps=before.sweeps + after.sweeps,
        states_done=before.states_done + after.states_done,
        clocks=before.clocks + after.clocks - begin_clocks,
    )
