"""What a device of the accelerator returns from a run, or from several runs in succession."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from beltline.host.solver.checkpoint import Saved
from beltline.hw.interface.registers import Engine, Status


@dataclass(frozen=True, eq=False)
class Run:
    """What a device returned from a run, in its own fixed-point numbers.

    Parameters
    ----------
    status
        The status register at the end.
    value, policy : (N_k, N_z) int64 arrays, or (T, N_k, N_z) in the order of the sweeps
        ``V`` in units of the last fraction bit of values, and grid indexes of ``x'``.
    sweeps, states_done, clocks
        Counters of the run. Those of a run that continued from a checkpoint include the earlier part, with the clocks
        before the first sweep counted once.
    norm
        Largest change of ``V`` in the last sweep, in the units of ``value``.
    build_hash
        Hash of the build of the device.
    engine
        Engine of the device.
    timing
        Seconds of ``load``, ``solve`` and ``read``.
    moved
        Names of the tables and registers that were written; all others were on the device already.
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
        """Whether the run ended because the last change was below the tolerance."""
        return Status.CONVERGED in self.status


def of_ages(ages: list[Run]) -> Run:
    """Combine the runs of the ages solved so far, in their order, into one."""
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
    """Combine the two parts of a run that was continued from a checkpoint.

    Parameters
    ----------
    before, after
        The parts.
    begin_clocks
        Clocks of ``after`` before its first sweep, which an uninterrupted run does not have. The additional clocks of
        the first sweep of a sweep engine, which begins without choices, are not subtracted.
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
