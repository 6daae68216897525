"""What a device gave back of a run, or of several that followed each other."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from beltline.host.solver.checkpoint import Saved
from beltline.hw.interface.registers import Engine, Status


@dataclass(frozen=True, eq=False)
class Run:
    """What a device gave back, still in its own numbers.

    Parameters
    ----------
    status
        The status register at the end.
    value, policy : (N_k, N_z) int64 arrays, or (T, N_k, N_z) in the order of the sweeps
        ``V`` in units of value, and indexes of ``x'``.
    sweeps, states_done, clocks
        Counters of the run; of a run that was resumed, those before included, and one prologue.
    norm
        Largest change of ``V`` in the last sweep, in units of value.
    build_hash
        Content hash of the build.
    engine
        What swept.
    timing
        Seconds of ``load``, ``solve`` and ``read``.
    moved
        Names of the tables and registers that were written, less those that the device held already.
    """

    status: Status
    value: NDArray[np.int64]
    policy: NDArray[np.int64]
    sweeps: int
    states_done: int
    clocks: int
    norm: int
    build_hash: int
    engine: Engine
    timing: dict[str, float]
    moved: tuple[str, ...]

    @property
    def converged(self) -> bool:
        """Whether it ended because the last change was small enough."""
        return Status.CONVERGED in self.status


@contextlib.contextmanager
def timed(timing: dict[str, float], name: str) -> Iterator[None]:
    """Add the seconds that the block takes to ``timing[name]``."""
    begin = time.perf_counter()
    try:
        yield
    finally:
        timing[name] = timing.get(name, 0.0) + time.perf_counter() - begin


def of_ages(ages: list[Run]) -> Run:
    """The runs of all ages so far, which followed each other, as one."""
    status = ages[-1].status
    if any(Status.PEAKS in run.status for run in ages):
        status |= Status.PEAKS
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
    """A run as if it had never been parted.

    Parameters
    ----------
    before, after
        Its parts.
    begin_clocks
        Clocks of ``after`` before its first sweep, which a run in one does not have. What a sweep engine's first sweep
        takes more, for it begins without choices, is counted.
    """
    swept = after.sweeps > 0
    return replace(
        after,
        policy=after.policy if swept else before.policy,
        norm=after.norm if swept else before.norm,
        sweeps=before.sweeps + after.sweeps,
        states_done=before.states_done + after.states_done,
        clocks=before.clocks + after.clocks - begin_clocks,
    )
