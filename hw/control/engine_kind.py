"""What an engine is to the machine, to the generator of Verilog and to the software model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from amaranth.lib import wiring

from beltline.hw.control.datapath import Datapath
from beltline.hw.control.software_machine import SoftwareMachine
from beltline.hw.interface.parameters import MachineParameters


@dataclass(frozen=True)
class EngineKind:
    """An engine, each of whose parts is made for a build. What it can do is ``features`` of the build.

    Parameters
    ----------
    datapath
        Its gateware.
    software
        Its software model, to the bit, which knows the clocks of the gateware.
    modules
        The modules of its own that the gateware instances, by their names.
    run_clocks
        What register ``CLOCKS`` shows after a run, from the build, ``N_k``, ``N_z`` and the number of sweeps; None
        where it follows from more. For no sweeps it is known: the check of a run and its prologue.
    """

    datapath: Callable[[MachineParameters], Datapath]
    software: Callable[[MachineParameters], SoftwareMachine]
    modules: Callable[[MachineParameters], dict[str, wiring.Component]]
    run_clocks: Callable[[MachineParameters, int, int, int], int | None]
