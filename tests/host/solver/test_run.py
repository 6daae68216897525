"""Runs in several parts give the same as a single run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from beltline.host.solver.run import Run, Saved, continued
from beltline.hw.interface.registers import Status

BEFORE = Saved(np.full((2, 1), 3), np.full((2, 1), 1), sweeps=5, states_done=10, clocks=700, norm=9)
AFTER = Run(
    status=Status.DONE | Status.CONVERGED,
    value=np.full((2, 1), 4),
    policy=np.full((2, 1), 0),
    sweeps=2,
    states_done=4,
    clocks=300,
    norm=1,
    build_hash=0,
    timing={},
    moved=(),
)


def test_parts_of_a_run_add_up() -> None:
    whole = continued(BEFORE, AFTER, 20)
    assert (whole.sweeps, whole.states_done, whole.clocks, whole.norm) == (7, 14, 980, 1)
    assert whole.value is AFTER.value
    assert whole.policy is AFTER.policy


def test_what_made_no_sweep_has_the_policy_and_the_change_of_before() -> None:
    stopped = replace(AFTER, status=Status.DONE | Status.STOPPED, sweeps=0, states_done=0, norm=0)
    whole = continued(BEFORE, stopped, 20)
    assert (whole.sweeps, whole.states_done, whole.norm) == (5, 10, 9)
    assert whole.policy is BEFORE.policy
