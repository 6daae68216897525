"""The clocks of the assembly line, by formula."""

from __future__ import annotations

from beltline.hw.arithmetic.expectation import ExpectationParameters
from beltline.hw.control.sequencer import SequencerParameters
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.line.fold import FoldedLineParameters
from beltline.hw.line.line import LineParameters
from beltline.hw.memory.ram import READ_LATENCY


def line_of(parameters: MachineParameters) -> LineParameters | FoldedLineParameters:
    """The line of a build, folded or not."""
    return (FoldedLineParameters if parameters.folded else LineParameters).of(parameters)


def expectation_of(parameters: MachineParameters) -> ExpectationParameters:
    """The expectation unit of a build."""
    return ExpectationParameters(parameters.states, parameters.multiplier, line_of(parameters).interval)


def pass_clocks(parameters: MachineParameters, grid: int, states: int, prologue: bool = False) -> int:
    """Clocks of a sweep (or of the prologue), ``N_k N_z + L`` of an assembly line that is not folded.

    From the first state read to the first state of the next sweep: table read; the last state's exit from the line (in
    the prologue, its entry); one register before the expectation; the expectation, and its rows but the first of the
    last point; and the turnaround.
    """
    line, expectation = line_of(parameters), expectation_of(parameters)
    count = grid * states
    last = (count - 1) * line.interval if prologue else line.last_exit(count)
    rows = (states - 1) * line.interval
    return READ_LATENCY + last + 1 + expectation.latency + rows + SequencerParameters(parameters).turnaround


def run_clocks(parameters: MachineParameters, grid: int, states: int, sweeps: int) -> int:
    """Clocks that register ``CLOCKS`` shows after a run of so many sweeps: the check, the prologue and the sweeps."""
    prologue = pass_clocks(parameters, grid, states, prologue=True)
    return SequencerParameters(parameters).check + prologue + sweeps * pass_clocks(parameters, grid, states)
