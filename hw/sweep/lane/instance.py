"""An instance of a lane, whose Verilog a machine has once for all its lanes."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import ClockSignal, Instance, ResetSignal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.sweep.lane.lane import MODULE
from beltline.hw.sweep.lane.parameters import LaneParameters


class LaneInstance(wiring.Component):
    """An instance of the Verilog module of :class:`beltline.hw.sweep.lane.lane.Lane`.

    It has the same ports, and ``reset`` (in, 1 bit).
    A machine has up to 256 lanes. As instances their Verilog is generated once, and a simulator compiles it once.
    """

    def __init__(self, parameters: LaneParameters) -> None:
        super().__init__({**parameters.ports, "reset": In(1)})

    def elaborate(self, platform: object) -> Instance:
        ports: dict[str, Any] = {}
        for path, member, value in self.signature.flatten(self):
            if path != ("reset",):
                ports[f"{'o' if member.flow is Out else 'i'}_{'_'.join(map(str, path))}"] = value
        return Instance(MODULE, i_clk=ClockSignal(), i_rst=ResetSignal() | self.reset, **ports)
