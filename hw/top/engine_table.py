"""Table of the engines, by the value of register ``ENGINE``. The rest of the machine refers to engines only by it."""

from __future__ import annotations

from beltline.hw.control.engine_kind import EngineKind
from beltline.hw.interface.registers import Engine
from beltline.hw.line.engine import LINE
from beltline.hw.sweep.engine import SWEEP

ENGINES: dict[Engine, EngineKind] = {Engine.ASSEMBLY_LINE: LINE, Engine.SWEEP: SWEEP}
