"""The units of the gateware that are measured alone, and their Verilog."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from amaranth.lib import wiring

from beltline.hw.arithmetic.evaluator import Evaluator, EvaluatorParameters
from beltline.hw.arithmetic.exp2 import Exp2, Exp2Parameters
from beltline.hw.arithmetic.expectation import Expectation, ExpectationParameters
from beltline.hw.arithmetic.log2 import Log2, Log2Parameters
from beltline.hw.arithmetic.norm import Norm, NormParameters
from beltline.hw.arithmetic.utility import Utility, UtilityParameters
from beltline.hw.bus.axi_registers import AxiRegisters
from beltline.hw.bus.axi_tables import AxiTables
from beltline.hw.bus.serial_bridge import SerialBridge
from beltline.hw.control.sequencer import Sequencer, SequencerParameters
from beltline.hw.control.table_sums import TableSums
from beltline.hw.interface.parameters import MachineParameters, Multiplier
from beltline.hw.interface.windows import WindowParameters
from beltline.hw.line.datapath import TABLE_READ_CLOCKS
from beltline.hw.line.fold import FoldedLineParameters
from beltline.hw.line.folded_stage import FoldedStage
from beltline.hw.line.pacer import Pacer, PacerParameters
from beltline.hw.line.stage import Stage, StageParameters
from beltline.hw.sweep.check import Check, CheckParameters
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.top import content, serial_machine, verilog
from beltline.hw.top.machine import Machine

SIZE = MachineParameters(grid=256, states=4)
"""Build whose sizes the units have."""

TOP = "unit"
"""Name of the Verilog module of a unit."""


def _sized(multiplier: Multiplier, **others: Any) -> MachineParameters:
    """Return a build with the sizes of :data:`SIZE`."""
    return MachineParameters(grid=SIZE.grid, states=SIZE.states, multiplier=multiplier, **others)


def _stage(number: int) -> Callable[[Multiplier], wiring.Component]:
    return lambda m: Stage(StageParameters(SIZE.index_bits, SIZE.states, number, m))


def _folded(multiplier: Multiplier, evaluators: int) -> FoldedLineParameters:
    return FoldedLineParameters.of(_sized(multiplier, fold=SIZE.stages, evaluators=evaluators))


def _folded_stage(evaluators: int) -> Callable[[Multiplier], wiring.Component]:
    def build(multiplier: Multiplier) -> wiring.Component:
        line = _folded(multiplier, evaluators)
        return FoldedStage(line.stages[-1], line.round_states)

    return build


def _pacer(multiplier: Multiplier) -> wiring.Component:
    line = _folded(multiplier, 1)
    return Pacer(PacerParameters(line.round_states, line.round_clocks, line.interval))


def _serial_bridge(multiplier: Multiplier) -> wiring.Component:
    parameters = serial_machine.SerialParameters(_sized(multiplier, clock_hz=50_000_000))
    return SerialBridge(parameters.machine, parameters.uart, parameters.silence_clocks)


UNITS: dict[str, Callable[[Multiplier], wiring.Component]] = {
    "log2": lambda m: Log2(Log2Parameters(m)),
    "exp2": lambda m: Exp2(Exp2Parameters(m)),
    "utility": lambda m: Utility(UtilityParameters(m)),
    "evaluator": lambda m: Evaluator(EvaluatorParameters(m)),
    "stage": _stage(SIZE.stages // 2),
    "last-stage": _stage(SIZE.stages),
    "folded-stage-1": _folded_stage(1),
    "folded-stage-2": _folded_stage(2),
    "folded-stage-4": _folded_stage(4),
    "pacer": _pacer,
    "expectation": lambda m: Expectation(ExpectationParameters(SIZE.states, m)),
    "norm": lambda m: Norm(NormParameters()),
    "table-sums": lambda m: TableSums(WindowParameters(SIZE), TABLE_READ_CLOCKS),
    "sequencer": lambda m: Sequencer(SequencerParameters(_sized(m))),
    "machine": lambda m: Machine(_sized(m)),
    "folded-machine": lambda m: Machine(_sized(m, fold=SIZE.stages, evaluators=1)),
    "axi-registers": lambda m: AxiRegisters(),
    "axi-tables-64": lambda m: AxiTables(_sized(m), 4),
    "axi-tables-512": lambda m: AxiTables(_sized(m, bus_bits=512), 4),
    "serial-bridge": _serial_bridge,
    "sweep-check": lambda m: Check(CheckParameters(SweepParameters(SIZE.grid, SIZE.states, 8, multiplier=m))),
}
"""Functions that make the units, by name. Units that contain evaluators are measured without them."""


UNPLACED = ("machine",)
"""Units that are not placed and routed on ECP5: no chip of the family has room for the evaluators."""


@functools.cache
def _shared(multiplier: Multiplier) -> dict[str, str]:
    """Return the Verilog of the modules that all engines share; cached."""
    return verilog.shared_modules(multiplier)


def sources(unit: wiring.Component, multiplier: Multiplier) -> dict[str, str]:
    """Generate the Verilog of a unit and of the modules that it instantiates, ``{file name: text}``."""
    text = verilog.convert(unit, TOP)
    files = {f"{TOP}.v": text}
    for name, module in _shared(multiplier).items():
        if re.search(rf"^ +{name.removesuffix('.v')} ", text, re.M):
            files[name] = module
    if content.BUILD_MODULE in text:
        files[f"{content.BUILD_MODULE}.v"] = (
            f"module {content.BUILD_MODULE}(output [63:0] hash); assign hash = 64'h123456789abcdef; endmodule\n"
        )
    return files
