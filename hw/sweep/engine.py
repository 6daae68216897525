"""Registration of the sweep engine: its datapath, its separate modules, its software model and its clocks."""

from __future__ import annotations

import numpy as np
from amaranth.lib import wiring

from beltline.hw.control.engine_kind import EngineKind
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.sweep.clocks import END_CLOCKS, begin_clocks, pass_clocks
from beltline.hw.sweep.datapath import SweepDatapath
from beltline.hw.sweep.dealt import Dealt, SweepLog
from beltline.hw.sweep.lane import lane
from beltline.hw.sweep.lane.parameters import LaneParameters
from beltline.hw.sweep.model import SweepSoftwareMachine
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.search.parameters import SearchParameters


def _modules(build: MachineParameters) -> dict[str, wiring.Component]:
    return {lane.MODULE: lane.Lane(LaneParameters(SweepParameters.of(build)))}


def _search(build: MachineParameters) -> SearchParameters:
    """Return the parameters of the local search of a build."""
    return LaneParameters(SweepParameters.of(build)).search


def _software(build: MachineParameters) -> SweepSoftwareMachine:
    return SweepSoftwareMachine(SweepParameters.of(build), logged=True)


def _run_clocks(build: MachineParameters, grid: int, states: int, sweeps: int) -> int | None:
    """Return the clocks of a run without sweeps; ``None`` with sweeps, whose clocks depend on the choices, too."""
    return None if sweeps else begin_clocks(Dealt(_search(build), grid, states)) + END_CLOCKS


def quiet_clocks(build: MachineParameters) -> int:
    """Return the clocks of a sweep without a proof in which no choice changes and every state chooses its own point.

    The problem is the largest of the build.
    """
    dealt = Dealt(_search(build), build.grid, build.states)
    shape = build.grid, build.states
    log = SweepLog(
        dealt,
        choices=np.repeat(np.arange(build.grid)[:, None], build.states, axis=1),
        searched=np.zeros(shape, np.bool_),
        counts=np.zeros((build.lanes, dealt.search.contexts), np.int64),
        probes=np.zeros((build.lanes * dealt.search.contexts, 1), np.int32),
        unchecked=np.zeros(build.lanes, np.bool_),
    )
    return pass_clocks(dealt, log, meets=True)


SWEEP = EngineKind(datapath=SweepDatapath, software=_software, modules=_modules, run_clocks=_run_clocks)
