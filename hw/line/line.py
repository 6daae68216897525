"""The assembly line: search stages connected one after the other."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring

from beltline.hw.interface.parameters import MachineParameters, Multiplier
from beltline.hw.line.stage import Stage, StageParameters, line_ports, shared_ports


@dataclass(frozen=True)
class LineParameters:
    """Parameters of the assembly line, which finds the best of ``2**index_bits`` candidates of every state.

    It has ``index_bits - 1`` stages with 3 evaluators each, and 4 in the last: 46 for 65,536 grid points. Source: Peri
    (2019), appendix C.

    Parameters
    ----------
    index_bits
        Bits of the index of a grid point.
    states
        Largest number of exogenous states.
    multiplier
        The chip's multiplier.
    """

    index_bits: int
    states: int
    multiplier: Multiplier = Multiplier.DSP48E2

    @classmethod
    def of(cls, machine: MachineParameters) -> LineParameters:
        """Return the line of a build."""
        return cls(machine.index_bits, machine.states, machine.multiplier)

    @property
    def stages(self) -> list[StageParameters]:
        """Parameters of the stages, in order."""
        return [
            StageParameters(self.index_bits, self.states, number, self.multiplier)
            for number in range(1, self.index_bits)
        ]

    @property
    def latency(self) -> int:
        """Clocks from a state to its result, 61 for each stage and 1 more, with ``DSP48E2``."""
        return sum(stage.latency for stage in self.stages)

    @property
    def interval(self) -> int:
        """Least number of clocks between two results."""
        return 1

    def last_exit(self, count: int) -> int:
        """Return the clocks from the entry of the first of ``count`` states to the result of the last one."""
        return self.latency + count - 1


class Line(wiring.Component):
    """Finds the best candidate of a state, for one state in every clock.

    Latency: ``parameters.latency`` clocks. Throughput: one state in every clock. Contract: ``valid`` without ``ready``.
    It finds the best candidate, the lowest among equals, if the objective of the state is single-peaked.

    Attributes
    ----------
    in_valid, in_wealth, in_state : in
        A state, as at the ports of :class:`Stage`.
    out_valid : out, 1 bit
        High in clocks with a result.
    index, value, infeasible, saturated : out
        The result, as at the ports of the last :class:`Stage`.
    over : out, 1 bit
        The utility of a candidate was out of range in some stage: high in a clock in which its state is still in the
        line, or leaves it.
    others : in
        Constants and table writes, see :func:`beltline.hw.line.stage.shared_ports`.
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
