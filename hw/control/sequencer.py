"""Conducts a run: prologue, sweeps, the test for convergence, counters and status."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.interface.parameters import MachineParameters, Multiplier
from beltline.hw.interface.registers import Status

DRAIN = 16
"""Clocks between the last expectation of a sweep and the decision: it is then in every stage's memory, and the norm,
which lags it, is final."""

_WORD = 32
_TOTAL_BITS = 21
_SLOT_BITS = _WORD + _TOTAL_BITS


@dataclass(frozen=True)
class SequencerParameters:
    """A run of :class:`beltline.hw.top.machine.Machine`.

    From the first busy clock to the prologue's first state are ``check`` clocks; from the last expectation of a
    prologue or sweep to the first state of the next sweep are ``turnaround``.
    """

    machine: MachineParameters

    @property
    def check(self) -> int:
        return check_clocks(self.machine.multiplier)

    @property
    def turnaround(self) -> int:
        return DRAIN + 3

    @property
    def retired_bits(self) -> int:
        """Bits of the number of states that retire in a clock."""
        return self.machine.lanes.bit_length()


@functools.cache
def check_clocks(multiplier: Multiplier) -> int:
    """Clocks from the first busy one until it is known whether a run fits the build: those of two products."""
    p = Pipeline(multiplier=multiplier)
    total = p.total(p.products(p.input(Signal(17)), p.input(Signal(5))), _TOTAL_BITS)
    slots = p.total(p.products(total, p.input(Signal(_WORD))), _SLOT_BITS)
    return slots.time + 2


def sequencer_ports(parameters: SequencerParameters) -> dict[str, wiring.Member]:
    """Ports of :class:`Sequencer`."""
    machine = parameters.machine
    features = machine.features
    return {
        "run": In(1),
        "stop": In(1),
        "horizon": In(1),
        "grid": In(_WORD),
        "states": In(_WORD),
        "sweep_limit": In(_WORD),
        "epsilon": In(WIDTH),
        "norm": In(WIDTH),
        "saturated": In(1),
        "infeasible": In(1),
        "retired": In(parameters.retired_bits),
        "pass_done": In(1),
        "take": In(1),
        **({"plain": In(1), "below": Out(1)} if features.shifts else {}),
        **({"peaks": In(1)} if features.peaks else {}),
        **({"proven": In(1)} if features.proofs else {}),
        "begin": Out(1),
        "first_sweep": Out(1),
        "second_sweep": Out(1),
        "prologue": Out(1),
        "stream": Out(1),
        "position": Out((machine.grid * machine.states - 1).bit_length() or 1),
        "state": Out(max(1, (machine.states - 1).bit_length())),
        "half": Out(1),
        "status": Out(_WORD),
        "clocks": Out(64),
        "sweeps": Out(_WORD),
        "states_done": Out(64),
    }


class Sequencer(wiring.Component):
    """:class:`SequencerParameters` in gateware.

    ``stream`` rises with the first state that is to be read and stays until the last; one is read in every clock with
    ``take`` (``position`` counts them, ``state`` is the exogenous index). ``prologue`` tells the two kinds of pass
    apart. ``pass_done`` must be high for one clock when the last expectation of a pass is there. ``begin`` is high for
    one clock before every pass. A sweep engine says whether a sweep was ``plain``, and so may end a run as converged,
    and hears whether its norm is ``below`` epsilon; ``peaks`` is high where a search has found another peak, and
    ``proven`` from the end of a pass where its choices are.
    """

    def __init__(self, parameters: SequencerParameters) -> None:
        self.parameters = parameters
        super().__init__(sequencer_ports(parameters))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        machine = self.parameters.machine
        busy = Signal()
        never = Status.BUSY | (Status(0) if machine.features.peaks else Status.PEAKS)
        if not machine.features.proofs:
            never |= Status.PROVEN
        flags: dict[Status, Signal] = {flag: Signal(name=flag.name) for flag in Status if flag not in never}
        bits = [flags.get(flag, Const(0, 1)) for flag in Status if flag is not Status.BUSY]
        m.d.comb += self.status.eq(Cat(busy, *bits))
        good, last_position = self._configuration(m)
        last_state = Signal.like(self.state)
        m.d.sync += last_state.eq(self.states - 1)

        stopping = Signal()
        saturated = Signal()
        infeasible = Signal()
        with m.If(busy):
            m.d.sync += [
                stopping.eq(stopping | self.stop),
                saturated.eq(saturated | self.saturated),
                infeasible.eq(infeasible | self.infeasible),
            ]
        of_peaks, of_proof = [], []
        if machine.features.peaks:
            peaks = Signal()
            m.d.sync += peaks.eq((peaks | self.peaks) & busy)
            of_peaks.append(flags[Status.PEAKS].eq(peaks))
        if machine.features.proofs:
            of_proof.append(flags[Status.PROVEN].eq(self.proven))
        ends = self._converged(m)
        at_limit = Signal()
        m.d.sync += at_limit.eq(self.sweeps == self.sweep_limit)

        wait = Signal(range(max(DRAIN, self.parameters.check) + 1))
        m.d.sync += wait.eq(wait - 1)
        m.d.comb += [self.first_sweep.eq(self.sweeps == 0), self.second_sweep.eq(self.sweeps == 1)]

        with m.If(self.stream & self.take):
            m.d.sync += self.position.eq(self.position + 1)
            m.d.sync += self.state.eq(self.state + 1)
            with m.If(self.state == last_state):
                m.d.sync += self.state.eq(0)
            with m.If(self.position == last_position):
                m.d.sync += self.stream.eq(0)

        def start_pass() -> None:
            m.d.sync += [self.stream.eq(1), self.position.eq(0), self.state.eq(0)]

        def finish(*ended: Status) -> None:
            m.d.sync += busy.eq(0)
            m.d.sync += [flags[flag].eq(1) for flag in (*ended, Status.DONE)]

        with m.FSM():
            with m.State("IDLE"), m.If(self.run):
                m.d.sync += [busy.eq(1), wait.eq(self.parameters.check - 1)]
                m.d.sync += [flag.eq(0) for flag in flags.values()]
                m.d.sync += [stopping.eq(0), saturated.eq(0), infeasible.eq(0), self.sweeps.eq(0)]
                m.next = "CHECK"
            with m.State("CHECK"), m.If(wait == 0):
                with m.If(good):
                    m.d.comb += self.begin.eq(1)
                    m.d.sync += self.prologue.eq(1)
                    start_pass()
                    m.next = "PASS"
                with m.Else():
                    finish(Status.BAD_CONFIGURATION)
                    m.next = "IDLE"
            with m.State("PASS"), m.If(self.pass_done):
                m.d.sync += wait.eq(DRAIN)
                with m.If(~self.prologue):
                    m.d.sync += self.sweeps.eq(self.sweeps + 1)
                m.next = "DRAIN"
            with m.State("DRAIN"), m.If(wait == 0):
                m.d.sync += self.half.eq(~self.half)
                m.next = "DECIDE"
            with m.State("DECIDE"):
                m.d.sync += self.prologue.eq(0)
                m.next = "IDLE"
                with m.If(saturated | infeasible):
                    finish()
                    m.d.sync += [flags[Status.SATURATED].eq(saturated), flags[Status.INFEASIBLE].eq(infeasible)]
                with m.Elif(~self.prologue & ~self.horizon & ends):
                    finish(Status.CONVERGED)
                    m.d.sync += [*of_peaks, *of_proof]
                with m.Elif(~self.prologue & at_limit):
                    finish(Status.LIMIT)
                    m.d.sync += [*of_peaks, *of_proof]
                with m.Elif(stopping):
                    finish(Status.STOPPED)
                    m.d.sync += of_proof
                with m.Else():
                    m.d.comb += self.begin.eq(1)
                    start_pass()
                    m.next = "PASS"

        self._count(m, self.clocks, busy, self.run & ~busy)
        self._count(m, self.states_done, self.retired, self.run & ~busy)
        return m

    def _configuration(self, m: Module) -> tuple[Signal, Signal]:
        """Whether a run fits the build, and the last position of a pass, a few clocks after its settings."""
        machine = self.parameters.machine
        p = Pipeline(m, machine.multiplier)
        total = p.total(p.products(p.input(self.grid[:17]), p.input(self.states[:5])), _TOTAL_BITS)
        slots = p.total(p.products(total, p.input(self.sweep_limit)), _SLOT_BITS)
        fits: Value = p.compute(lambda value: value <= machine.results, slots).value
        in_range = p.compute(
            lambda grid, states, limit: (
                (grid >= 2) & (grid <= machine.grid) & (states >= 1) & (states <= machine.states) & (limit != 0)
            ),
            p.input(self.grid),
            p.input(self.states),
            p.input(self.sweep_limit),
        ).value
        if not machine.features.ages:
            fits = self.sweep_limit == 1
        good = Signal()
        last_position = Signal.like(self.position)
        m.d.sync += [good.eq(in_range & (fits | ~self.horizon)), last_position.eq(total.value - 1)]
        return good, last_position

    def _converged(self, m: Module) -> Value:
        """Whether a sweep ends the run: its norm is below epsilon, and it is a plain one."""
        # Norm against epsilon, in two halves; both stand long before the decision.
        below_high = Signal()
        same_high = Signal()
        below_low = Signal()
        converged = Signal()
        half = WIDTH // 2
        m.d.sync += [
            below_high.eq(self.norm[half:] < self.epsilon[half:]),
            same_high.eq(self.norm[half:] == self.epsilon[half:]),
            below_low.eq(self.norm[:half] < self.epsilon[:half]),
            converged.eq(below_high | (same_high & below_low)),
        ]
        if not self.parameters.machine.features.shifts:
            return converged
        m.d.comb += self.below.eq(converged)
        return converged & self.plain

    @staticmethod
    def _count(m: Module, counter: Signal, event: Signal, clear: object) -> None:
        """Count events in two 32-bit halves, the upper one a clock late."""
        low, high, carry = Signal(_WORD), Signal(_WORD), Signal()
        m.d.comb += counter.eq(Cat(low, high))
        m.d.sync += Cat(low, carry).eq(low + event)
        m.d.sync += high.eq(high + carry)
        with m.If(clear):
            m.d.sync += [low.eq(0), high.eq(0), carry.eq(0)]
