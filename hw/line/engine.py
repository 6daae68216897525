"""Engine description of the assembly line."""

from __future__ import annotations

from beltline.hw.control.engine_kind import EngineKind
from beltline.hw.line.clocks import run_clocks
from beltline.hw.line.datapath import LineDatapath
from beltline.hw.line.model import LineSoftwareMachine

LINE = EngineKind(datapath=LineDatapath, software=LineSoftwareMachine, modules=lambda build: {}, run_clocks=run_clocks)
