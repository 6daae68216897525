"""Description of an engine for the machine, the Verilog generator and the software model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from amaranth.lib import wiring

from beltline.hw.control.datapath import Datapath
from beltline.hw.control.software_machine import SoftwareMachine
from beltline.hw.interface.parameters import MachineParameters


@dataclass(frozen=True)
class EngineKind:
    """An engine: functions that make its parts for a build.

    Parameters
    ----------
    datapath
        Returns the gateware.
    software
        Returns the software model, which has the same results bit by bit and the same clock counts.
    modules
        Returns the Verilog modules that the gateware instantiates and that belong to this engine alone, by name.
    run_clocks
        Returns the content of register ``CLOCKS`` after a run, from the build, ``N_k``, ``N_z`` and the number of
        sweeps; None if it depends on more than these. For 0 sweeps it is never None: the clocks of the check of the
        configuration and of the prologue.
    """

    datapath: Callable[[MachineParameters], Datapath]
    software: Callable[[MachineParameters], SoftwareMachine]
    modules: Callable[[MachineParameters], dict[str, wiring.Component]]
    run_clocks: Callable[[MachineParameters, int, int, int], int | None]
