"""The assembly line: the search stages in a row."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring

from beltline.hw.interface.parameters import MachineParameters, Multiplier
from beltline.hw.line.stage import Stage, StageParameters, line_ports, shared_ports


@dataclass(frozen=True)
class LineParameters:
    """``index_bits - 1`` stages that find the best of ``2**index_bits`` choices of every state.

    After Peri (2019), appendix C. 3 evaluators a stage and 4 in the last: 46 for 65,536 points.
    """

    index_bits: int
    states: int
    multiplier: Multiplier = Multiplier.DSP48E2

    @classmethod
    def of(cls, machine: MachineParameters) -> LineParameters:
        return cls(machine.index_bits, machine.states, machine.multiplier)

    @property
    def stages(self) -> list[StageParameters]:
        return [
            StageParameters(self.index_bits, self.states, number, self.multiplier)
            for number in range(1, self.index_bits)
        ]

    @property
    def latency(self) -> int:
        """Clocks from a state's entry to its result; a state enters every clock."""
        return sum(stage.latency for stage in self.stages)

    @property
    def interval(self) -> int:
        """Least clocks between two results."""
        return 1

    def last_exit(self, count: int) -> int:
        """Clocks from the entry of the first state to the result of the last of ``count``."""
        return self.latency + count - 1


class Line(wiring.Component):
    """:class:`LineParameters` in gateware. Fixed latency, one state a clock, no ready; ports as of :class:`Stage`.

    ``over`` may come before the state it belongs to leaves, but never after it.
    """

    def __init__(self, parameters: LineParameters) -> None:
        self.parameters = parameters
        super().__init__(line_ports(parameters.index_bits, parameters.states))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        valid, wealth, state = self.in_valid, self.in_wealth, self.in_state
        h = None
        over = []
        for parameters in self.parameters.stages:
            stage = Stage(parameters)
            m.submodules[f"stage{parameters.number}"] = stage
            for name in shared_ports(self.parameters.index_bits, self.parameters.states):
                m.d.comb += getattr(stage, name).eq(getattr(self, name))
            m.d.comb += [stage.in_valid.eq(valid), stage.in_wealth.eq(wealth), stage.in_state.eq(state)]
            if h is not None:
                m.d.comb += stage.in_h.eq(h)
            over.append(stage.over)
            valid = stage.out_valid
            if parameters.last:
                m.d.comb += [
                    self.index.eq(stage.index),
                    self.value.eq(stage.value),
                    self.infeasible.eq(stage.infeasible),
                    self.saturated.eq(stage.saturated),
                ]
            else:
                wealth, state, h = stage.out_wealth, stage.out_state, stage.out_h
        m.d.comb += [self.out_valid.eq(valid), self.over.eq(Cat(*over).any())]
        return m
