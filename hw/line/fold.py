"""The folded line: an assembly line with fewer physical stages, each of which does the work of several search stages.

The search, its candidates and its bits are those of :mod:`beltline.hw.line.line`. A physical stage processes *rounds*
of ``K`` states: all of them pass through the first of its search stages, then all through the second, and so on. The
pipeline is full, although the next search stage of a state must wait for the decision of the one before. A *slot* is a
clock in which candidates of one state enter the evaluators. A physical stage has one copy of the tables, in
:mod:`beltline.hw.line.prime_banks`.
"""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Value
from amaranth.lib import wiring

from beltline.hw.interface.parameters import MachineParameters, Multiplier
from beltline.hw.line.folded_stage import FoldedStage, FoldedStageParameters
from beltline.hw.line.stage import line_ports, shared_ports


@dataclass(frozen=True)
class FoldedLineParameters:
    """Parameters of a folded line: the same search as that of the complete line, with less area and speed.

    In every ``round_clocks`` clocks, ``round_states`` states enter in consecutive clocks. A state thus takes
    ``round_clocks / round_states`` clocks, the number of slots of the physical stage that has most of them. For a grid
    of ``2**p`` points and one physical stage, these are ``3 (p - 1) + 1`` with one evaluator, ``2 (p - 1)`` with two
    and ``p - 1`` with four.

    Parameters
    ----------
    index_bits
        The line searches ``2**index_bits`` grid points.
    states
        Largest number of exogenous states.
    fold
        Search stages in each physical stage.
    evaluators
        Evaluators of each physical stage: 1, 2 or 4.
    multiplier
        The chip's multiplier.
    """

    index_bits: int
    states: int
    fold: int
    evaluators: int
    multiplier: Multiplier = Multiplier.DSP48E2

    @classmethod
    def of(cls, machine: MachineParameters) -> FoldedLineParameters:
        """Return the folded line of a build."""
        return cls(machine.index_bits, machine.states, machine.fold, machine.evaluators, machine.multiplier)

    @property
    def stages(self) -> list[FoldedStageParameters]:
        """Parameters of the physical stages, in order."""
        count = self.index_bits - 1
        return [
            FoldedStageParameters(
                self.index_bits,
                self.states,
                first,
                min(first + self.fold - 1, count),
                self.evaluators,
                self.multiplier,
            )
            for first in range(1, count + 1, self.fold)
        ]

    @property
    def round_states(self) -> int:
        """States of a round."""
        return max(stage.least_round for stage in self.stages)

    @property
    def round_clocks(self) -> int:
        """Clocks from one round to the next."""
        return self.round_states * max(stage.round_slots for stage in self.stages)

    @property
    def interval(self) -> int:
        """Least number of clocks between two results."""
        return self.stages[-1].slots(self.index_bits - 1)

    def last_exit(self, count: int) -> int:
        """Return the clocks from the entry of the first of ``count`` states to the result of the last one."""
        rounds, place = divmod(count - 1, self.round_states)
        latency = sum(stage.latency(self.round_states) for stage in self.stages)
        return rounds * self.round_clocks + latency + place * self.interval


class FoldedLine(wiring.Component):
    """Finds the best candidate of a state, with the search of the assembly line but fewer physical stages.

    Latency: ``parameters.last_exit(1)`` clocks for the first state. Throughput: ``round_states`` states in
    ``round_clocks`` clocks.

    Contract: ``valid`` without ``ready``. States enter in rounds: in every ``round_clocks`` clocks, ``in_valid`` is
    high in ``round_states`` consecutive ones (:class:`beltline.hw.line.pacer.Pacer`). Counters still run when the last
    state has left, so the line must be reset before the next sweep.

    Attributes
    ----------
    in_live : in, 1 bit
        Whether there is a state in a clock with ``in_valid``; low in the gaps of an incomplete round.
    others
        As of :class:`beltline.hw.line.line.Line`.
    """

    def __init__(self, parameters: FoldedLineParameters) -> None:
        self.parameters = parameters
        super().__init__(line_ports(parameters.index_bits, parameters.states, live=True))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        parameters = self.parameters
        valid, live, wealth, state = self.in_valid, self.in_live, self.in_wealth, self.in_state
        h: Value = Const(0, 2)
        over = []
        for k, of_stage in enumerate(parameters.stages):
            stage = FoldedStage(of_stage, parameters.round_states)
            m.submodules[f"stage{k}"] = stage
            for name in shared_ports(parameters.index_bits, parameters.states):
                m.d.comb += getattr(stage, name).eq(getattr(self, name))
            m.d.comb += [
                stage.in_valid.eq(valid),
                stage.in_live.eq(live),
                stage.in_wealth.eq(wealth),
                stage.in_state.eq(state),
                stage.in_h.eq(h),
            ]
            over.append(stage.over)
            valid, live = stage.out_valid, stage.out_live
            if of_stage.final:
                m.d.comb += [
                    self.index.eq(stage.index),
                    self.value.eq(stage.value),
                    self.infeasible.eq(stage.infeasible),
                    self.saturated.eq(stage.saturated),
                ]
            else:
                wealth, state, h = stage.out_wealth, stage.out_state, stage.out_h
        m.d.comb += [self.out_valid.eq(live), self.over.eq(Cat(*over).any())]
        return m
