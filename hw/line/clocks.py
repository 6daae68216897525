"""Clock counts of the assembly line, by formula; tests compare them with the gateware's counter."""

from __future__ import annotations

from beltline.hw.arithmetic.expectation import ExpectationParameters
from beltline.hw.control.sequencer import SequencerParameters
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.line.fold import FoldedLineParameters
from beltline.hw.line.line import LineParameters
from beltline.hw.memory.ram import READ_LATENCY


def line_of(parameters: MachineParameters) -> LineParameters | FoldedLineParameters:
    """Return the parameters of the line of a build, complete or folded."""
    return (FoldedLineParameters if parameters.folded else LineParameters).of(parameters)


def expectation_of(parameters: MachineParameters) -> ExpectationParameters:
    """Return the parameters of the expectation unit of a build."""
    return ExpectationParameters(parameters.states, parameters.multiplier, line_of(parameters).interval)


def pass_clocks(parameters: MachineParameters, grid: int, states: int, prologue: bool = False) -> int:
    """Return the clocks of a sweep or of the prologue: ``N_k N_z + L`` with an assembly line that is not folded.

    They are counted from the first state that is read to the first state of the next sweep, and are the sum of: the
    read of a table; the clocks until the last state leaves the line (in the prologue, until it enters); one register
    before the expectation unit; the latency of that unit; its further rows for the last grid point; and the turnaround.

    Parameters
    ----------
    parameters
        The build.
    grid, states
        ``N_k`` and ``N_z`` of the problem.
    prologue
        Whether the pass is the prologue.
    """
    line, expectation = line_of(parameters), expectation_of(parameters)
    count = grid * states
    last = (count - 1) * line.interval if prologue else line.last_exit(count)
    rows = (states - 1) * line.interval
    return READ_LATENCY + last + 1 + expectation.latency + rows + SequencerParameters(parameters).turnaround


def run_clocks(parameters: MachineParameters, grid: int, states: int, sweeps: int) -> int:
    """Return register ``CLOCKS`` after a run of ``sweeps`` sweeps: clocks of check, prologue and sweeps.

    ``grid`` and ``states`` are ``N_k`` and ``N_z`` of the problem.
    """
    prologue = pass_clocks(parameters, grid, states, prologue=True)
    return SequencerParameters(parameters).check + prologue + sweeps * pass_clocks(parameters, grid, states)
