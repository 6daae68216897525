"""Sequencer of a run: prologue, sweeps, convergence test, counters and status."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.norm import below
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.interface.parameters import MachineParameters, Multiplier
from beltline.hw.interface.registers import Status

DRAIN = 16
"""Clocks from the last expectation of a sweep to the decision. By then it has been written to the memory of every
stage, and the norm, whose pipeline is longer, includes all values.

An engine with lanes has settled when it ends a pass, so its next pass begins at once. If the run ends, it waits this
number of clocks for the largest norm of all lanes."""

_WORD = 32
_TOTAL_BITS = 21
_SLOT_BITS = _WORD + _TOTAL_BITS


@dataclass(frozen=True)
class SequencerParameters:
    """Parameters of the sequencer of a build's :class:`beltline.hw.top.machine.Machine`.

    Parameters
    ----------
    machine
        The build.
    """

    machine: MachineParameters

    @property
    def check(self) -> int:
        """Clocks from the first clock in which the machine is busy to the first state of the prologue."""
        return check_clocks(self.machine.multiplier)

    @property
    def turnaround(self) -> int:
        """Clocks from the last expectation of a prologue or sweep to the first state of the next sweep, 19.

        Only for an engine without lanes.
        """
        return DRAIN + 3

    @property
    def retired_bits(self) -> int:
        """Bits of the number of states that are completed in a clock."""
        return self.machine.lanes.bit_length()


@functools.cache
def check_clocks(multiplier: Multiplier) -> int:
    """Return the clocks of the check whether a run fits the build, which computes two products: 9 with ``DSP48E2``."""
    p = Pipeline(multiplier=multiplier)
    total = p.total(p.products(p.input(Signal(17)), p.input(Signal(5))), _TOTAL_BITS)
    slots = p.total(p.products(total, p.input(Signal(_WORD))), _SLOT_BITS)
    return slots.time + 2


def sequencer_ports(parameters: SequencerParameters) -> dict[str, wiring.Member]:
    """Return the ports of :class:`Sequencer`, which describes them; those of absent features are left out."""
    machine = parameters.machine
    return {
        "run": In(1),
        "stop": In(1),
        "horizon": In(1),
        "grid": In(_WORD),
        "states": In(_WORD),
        "sweep_limit": In(_WORD),
        **({"below": In(1)} if machine.is_sweep else {"epsilon": In(WIDTH)}),
        "norm": In(WIDTH),
        "saturated": In(1),
        "infeasible": In(1),
        "retired": In(parameters.retired_bits),
        "pass_done": In(1),
        "take": In(1),
        **({"plain": In(1)} if machine.shifts else {}),
        **({"proven": In(1)} if machine.is_sweep else {}),
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
    """Controls a run: checks its configuration, starts its passes, decides when it ends, and counts.

    A run is a sequence of *passes* over all states: a prologue, which computes the expectations of the start values,
    and then sweeps. A pass begins with a clock of ``begin``; then the datapath reads one state in every clock in which
    ``stream`` and ``take`` are high. It ends ``DRAIN`` clocks after ``pass_done``; that of an engine with lanes a clock
    after it, or if the run ends there, ``DRAIN`` clocks later. The run ends after a pass in which a value or utility
    saturated or a state was infeasible; else after a sweep with a norm below ``epsilon``, unless ``horizon`` is set;
    else at the sweep limit; else, when ``stop`` was requested.

    Clocks: ``parameters.check`` from the first busy clock to the first state, ``parameters.turnaround`` from the last
    expectation of a pass to the first state of the next.

    Attributes
    ----------
    run, stop : in, 1 bit
        Start a run; end it after the present pass. One clock each.
    horizon : in, 1 bit
        The run is a finite horizon: it ends at ``sweep_limit`` only, and every sweep has its own results.
    grid, states, sweep_limit : in, 32 bits
        ``N_k``, ``N_z`` and the largest number of sweeps. Must not change during a run.
    epsilon : in, 64 bits; engines without lanes
        Threshold of the norm, in units of value.
    below : in, 1 bit; engines with lanes
        The norm of the sweep is below the threshold; valid from the clock after ``pass_done``.
    norm : in, 64 bits
        Norm of the sweep; final ``DRAIN`` clocks after ``pass_done``.
    saturated, infeasible : in, 1 bit
        A value, utility or expectation was out of range; a state has no feasible candidate. Of an engine with lanes
        they come until the clock after ``pass_done``.
    retired : in, ``retired_bits`` bits
        Number of states that were completed in this clock.
    pass_done : in, 1 bit
        High for one clock with the last expectation of a pass.
    take : in, 1 bit
        The datapath reads a state in this clock, if ``stream`` is high.
    plain : in, 1 bit; builds with shifts
        The sweep may end a run as converged: it neither evaluated a policy nor was shifted, and is proven.
    proven : in, 1 bit; engines with lanes
        From the end of a pass: its choices are proven.
    begin : out, 1 bit
        High for one clock before every pass.
    first_sweep, second_sweep : out, 1 bit
        No sweep, or one sweep, has been completed.
    prologue : out, 1 bit
        The pass is the prologue.
    stream : out, 1 bit
        High from the first state of a pass that is to be read to the last.
    position : out
        Number of the state in table order.
    state : out
        Its exogenous state.
    half : out, 1 bit
        The half of double-buffered memories that is read; changes after every pass.
    status : out, 32 bits
        Register ``STATUS``.
    clocks, states_done : out, 64 bits
        Clocks of the run, and states that were completed.
    sweeps : out, 32 bits
        Completed sweeps.
    """

    def __init__(self, parameters: SequencerParameters) -> None:
        self.parameters = parameters
        super().__init__(sequencer_ports(parameters))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        machine = self.parameters.machine
        quick = machine.is_sweep
        busy = Signal()
        never = Status.BUSY if quick else Status.BUSY | Status.PROVEN
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
        of_proof = [flags[Status.PROVEN].eq(self.proven)] if quick else []
        ends = self._converged(m)
        at_limit, at_last = Signal(), Signal()
        if quick:
            # Of the sweep that is in progress; `at_limit` is of the one that has ended.
            m.d.sync += at_last.eq(self.sweeps + 1 == self.sweep_limit)
            saturated_now, infeasible_now = saturated | self.saturated, infeasible | self.infeasible
        else:
            m.d.sync += at_limit.eq(self.sweeps == self.sweep_limit)
            saturated_now, infeasible_now = saturated, infeasible

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

        # The ends of a run, of which the first whose condition holds counts: condition, flags of `STATUS`, assignments.
        endings: list[tuple[Value, list[Status], list[Any]]] = [
            (
                saturated_now | infeasible_now,
                [],
                [flags[Status.SATURATED].eq(saturated_now), flags[Status.INFEASIBLE].eq(infeasible_now)],
            ),
            (~self.prologue & ~self.horizon & ends, [Status.CONVERGED], of_proof),
            (~self.prologue & at_limit, [Status.LIMIT], of_proof),
            (stopping, [Status.STOPPED], of_proof),
        ]

        def decide() -> None:
            m.d.sync += self.prologue.eq(0)
            m.next = "IDLE"
            for number, (condition, ended, assignments) in enumerate(endings):
                with m.Elif(condition) if number else m.If(condition):
                    finish(*ended)
                    m.d.sync += assignments
            with m.Else():
                m.d.comb += self.begin.eq(1)
                start_pass()
                m.next = "PASS"

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
                if quick:
                    m.d.sync += [self.half.eq(~self.half), at_limit.eq(at_last)]
                m.next = "DECIDE" if quick else "DRAIN"
            if quick:
                over = Cat(condition for condition, _, _ in endings).any()
                with m.State("DECIDE"), m.If(~over | (wait == 0)):
                    decide()
            else:
                with m.State("DRAIN"), m.If(wait == 0):
                    m.d.sync += self.half.eq(~self.half)
                    m.next = "DECIDE"
                with m.State("DECIDE"):
                    decide()

        self._count(m, self.clocks, busy, self.run & ~busy)
        self._count(m, self.states_done, self.retired, self.run & ~busy)
        return m

    def _configuration(self, m: Module) -> tuple[Signal, Signal]:
        """Return whether a run fits, and the last position of a pass; valid ``check`` clocks after the settings."""
        machine = self.parameters.machine
        p = Pipeline(m, machine.multiplier)
        total = p.total(
            p.products(p.input(self.grid[:17]), p.input(self.states[: max(5, machine.states.bit_length())])),
            _TOTAL_BITS,
        )
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
        if machine.is_sweep:
            fits = self.sweep_limit == 1
        good = Signal()
        last_position = Signal.like(self.position)
        m.d.sync += [good.eq(in_range & (fits | ~self.horizon)), last_position.eq(total.value - 1)]
        return good, last_position

    def _converged(self, m: Module) -> Value:
        """Return whether a sweep ends the run as converged: its norm is below epsilon, and it is a plain sweep."""
        machine = self.parameters.machine
        # Norm and epsilon are final many clocks before the decision.
        converged = self.below if machine.is_sweep else below(m, self.norm, self.epsilon)
        return converged & self.plain if machine.shifts else converged

    @staticmethod
    def _count(m: Module, counter: Signal, event: Signal, clear: object) -> None:
        """Add ``event`` to ``counter``, 64 bits, in two halves: the upper one is updated one clock later."""
        low, high, carry = Signal(_WORD), Signal(_WORD), Signal()
        m.d.comb += counter.eq(Cat(low, high))
        m.d.sync += Cat(low, carry).eq(low + event)
        m.d.sync += high.eq(high + carry)
        with m.If(clear):
            m.d.sync += [low.eq(0), high.eq(0), carry.eq(0)]
