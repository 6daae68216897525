"""First pass of a sweep in a lane: checks every choice, and computes the values of states whose choice remains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from amaranth.hdl import Cat, Const, Module, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from numpy.typing import NDArray

from beltline.hw.arithmetic.evaluator import OBJECTIVE_BITS
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline, Timed
from beltline.hw.memory.queue import Queue
from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.gather import Gather, GatherParameters
from beltline.hw.sweep.gather_clocks import AHEAD_STATES
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.peak import NEIGHBOURS, Peak, PeakParameters
from beltline.hw.sweep.row_buses import RowPort

CACHED_BITS = len(NEIGHBOURS) * (WIDTH + 1)
"""Bits of the cached utilities of a state with choice ``i``.

From the lowest bit on: utilities of ``i - 1``, ``i`` and ``i + 1``, signed 64 bits each, and whether each is feasible.
"""

_AHEAD = 8
"""Choices that are read ahead. More than the latency of memory and queue, so that a choice is ready in every clock."""

_BETWEEN = AHEAD_STATES + 4
"""Choices between the entry to unit :class:`Gather` and the exit: those that wait there, and those on the way."""

PREPARE_CLOCKS = 1 + READ_LATENCY + 2 + 8
"""Clocks from ``start`` of a check that is held until it waits: until its first choices have been read, and the request
for the first row is ready. The first state enters after ``CheckParameters.begin`` clocks, and needs at most 2 rows."""


@dataclass(frozen=True)
class CheckParameters:
    """Parameters of the check, which determines for every state of a lane whether its choice remains.

    Choice ``i`` remains if ``O(i-1) < O(i) >= O(i+1)``, with objectives ``O(j) = U(j) + EV(j, s)`` from cached
    utilities ``U`` and expected values ``EV``. No utility is evaluated. Widths: :class:`PeakParameters`.

    Parameters
    ----------
    build
        Sizes of the engine.
    """

    build: SweepParameters

    @property
    def begin(self) -> int:
        """Clocks from ``start`` to the first choice at unit :class:`Gather`, which reads the expected values."""
        return 1 + READ_LATENCY + 2

    @property
    def result_latency(self) -> int:
        """Clocks from a state's expected values to its result."""
        return PeakParameters().latency

    def clocks(self, choices: NDArray[np.int64], lane: int, start: int, hold: int = 0) -> NDArray[np.int64]:
        """Return the clock of each result, if the lane loses no turn on the bus to another lane.

        Parameters
        ----------
        choices
            int64, ``(points, N_z)``: choices of the lane's states.
        lane
            Number of the lane, which determines its turns on the bus.
        start
            Clock of ``start``, counted from the end of the last reset.
        hold
            Clocks from ``start`` to the first one in which the check is not held: 0 if it never is, else at least
            ``PREPARE_CLOCKS``.

        Returns
        -------
        NDArray[np.int64]
            ``(points * N_z,)``: clocks, counted from the end of the last reset.
        """
        states = np.tile(np.arange(choices.shape[1]), choices.shape[0])
        opens = start + hold if hold else 0
        gathered = GatherParameters(self.build).clocks(states, choices.ravel(), lane, start + self.begin, opens)
        return gathered + self.result_latency


class Check(wiring.Component):
    """Checks all states of a lane, in table order.

    Throughput: a state in every clock, if the expected values arrive in time (:class:`Gather`). Latency from ``start``
    to the first result: ``parameters.begin`` clocks, then the time until the first rows arrive, then the latencies of
    :class:`Gather` and :class:`Peak`. Contract: ``valid`` without ``ready``. ``cached`` stands for cached utilities.

    Attributes
    ----------
    start : in, 1 bit
        Begins a pass. It must not be high during a pass.
    hold : in, 1 bit
        Only in builds that prepare a check (:attr:`beltline.hw.sweep.parameters.SweepParameters.prepares`): the pass
        waits before its first request. After ``PREPARE_CLOCKS`` clocks the request is ready, and is made in the lane's
        first turn without ``hold``.
    count : in, ``position_bits + 1`` bits
        Number of states in the lane, at least 1. Sampled with ``start``.
    last_state : in, ``state_bits`` bits
        ``N_z - 1`` of the problem. It must not change during a pass.
    choice_address, cached_address, old_address : out, ``position_bits`` bits
        Read addresses of the lane's memories of choices, cached utilities and values. Their latency is
        ``READ_LATENCY``.
    choice_data : in, ``index_bits`` bits
        The choice that was read.
    cached_data : in, ``CACHED_BITS`` bits
        The cached utilities that were read.
    old_data : in, signed 64 bits
        The value that was read, in units of value.
    fetch : out, :class:`RowPort`
        Port to the row buses; ``inner`` is the exogenous state.
    valid : out, 1 bit
        High in clocks with a result.
    position : out, ``position_bits`` bits
        The state of the result: ``point * N_z + s`` within the lane.
    value : out, signed 64 bits
        Value of the present choice, in units of value. Undefined if the choice is infeasible.
    old : out, signed 64 bits
        Value of the state before this sweep.
    stays : out, 1 bit
        The choice remains.
    rises : out, 1 bit
        Candidate ``i + 1`` is feasible and better than choice ``i``.
    outside : out, 1 bit
        ``value`` was saturated.
    none : out, 1 bit
        Only in builds with alternatives: the choice is infeasible. Since costs do not fall, and a local search that
        finds no feasible candidate ends at the lowest one, the state can then afford nothing.
    choice, feasible : out, ``index_bits`` and 1 bit
        Only in builds whose check hands states to the local search
        (:attr:`beltline.hw.sweep.parameters.SweepParameters.hands`), as the next two: the choice ``i``, and whether it
        is feasible.
    below, above : out, signed 65 bits each
        Objectives of ``i - 1`` and ``i + 1``, in units of value. Undefined if infeasible.
    """

    def __init__(self, parameters: CheckParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        bits = build.position_bits
        super().__init__(
            {
                "start": In(1),
                **({"hold": In(1)} if build.prepares else {}),
                "count": In(bits + 1),
                "last_state": In(build.state_bits),
                "choice_address": Out(bits),
                "choice_data": In(build.index_bits),
                "cached_address": Out(bits),
                "cached_data": In(CACHED_BITS),
                "old_address": Out(bits),
                "old_data": In(signed(WIDTH)),
                "fetch": Out(RowPort(build.row_bits, build.state_bits)),
                "valid": Out(1),
                "position": Out(bits),
                "value": Out(signed(WIDTH)),
                "old": Out(signed(WIDTH)),
                "stays": Out(1),
                "rises": Out(1),
                "outside": Out(1),
                **({"none": Out(1)} if build.alternatives else {}),
                **(self._of_hands() if build.hands else {}),
            }
        )

    def _of_hands(self) -> dict[str, wiring.Member]:
        """Return the ports that only a build has whose check hands states to the local search."""
        objectives = {name: Out(signed(OBJECTIVE_BITS)) for name in ("below", "above")}
        return {"choice": Out(self.parameters.build.index_bits), "feasible": Out(1), **objectives}

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m, self.parameters.build.multiplier)
        build = self.parameters.build
        bits = build.position_bits
        m.submodules.gather = gather = Gather(GatherParameters(build))
        m.submodules.peak = peak = Peak(PeakParameters(build.hands, build.multiplier))
        m.submodules.choices = choices = Queue(build.index_bits, _AHEAD)
        wiring.connect(m, wiring.flipped(self.fetch), gather.fetch)
        enters: Value = Const(1, 1)
        if build.prepares:
            # While the check is held, only its first state enters, and its request waits.
            entered = Signal()
            enters = ~(self.hold & entered)
            with m.If(gather.valid & gather.ready):
                m.d.sync += entered.eq(1)
            with m.If(self.start):
                m.d.sync += entered.eq(0)
            m.d.comb += self.fetch.request.eq(gather.fetch.request & ~self.hold)

        # Read choices while there is space for them in the queue.
        left = Signal(bits + 1)
        on_the_way = Signal(range(_AHEAD + 1))
        read = Signal()
        m.d.comb += read.eq((left != 0) & (on_the_way != _AHEAD))
        moved = gather.valid & gather.ready
        m.d.sync += on_the_way.eq(on_the_way + read - moved)
        with m.If(read):
            m.d.sync += [left.eq(left - 1), self.choice_address.eq(self.choice_address + 1)]
        with m.If(self.start):
            m.d.sync += [left.eq(self.count), self.choice_address.eq(0)]
        state = Signal(build.state_bits)
        with m.If(moved):
            m.d.sync += state.eq(state + 1)
            with m.If(state == self.last_state):
                m.d.sync += state.eq(0)
        with m.If(self.start):
            m.d.sync += state.eq(0)
        m.d.comb += [
            choices.push.eq(p.valid(p.input(read), READ_LATENCY)),
            choices.data.eq(self.choice_data),
            gather.clear.eq(self.start),
            gather.valid.eq(choices.head_valid & enters),
            gather.index.eq(choices.head),
            gather.state.eq(state),
            choices.pop.eq(gather.ready & enters),
        ]

        # Cached utilities are read to arrive together with the expected values, old values together with the result.
        gathered = gather.parameters.latency
        self._count(m, self.cached_address, p.valid(p.input(gather.leaving), gathered - READ_LATENCY))
        words = [self.cached_data.word_select(k, WIDTH) for k in range(len(NEIGHBOURS))]
        flags = self.cached_data[len(NEIGHBOURS) * WIDTH :]
        for k, name in enumerate(NEIGHBOURS):
            m.d.comb += [
                getattr(peak, f"u_{name}").eq(words[k]),
                getattr(peak, f"feasible_{name}").eq(flags[k]),
                getattr(peak, f"ev_{name}").eq(getattr(gather, name)),
            ]
        end = gathered + self.parameters.result_latency
        self._count(m, self.old_address, p.valid(p.input(gather.leaving), end - READ_LATENCY))
        m.d.comb += [
            self.valid.eq(p.valid(Timed(gather.out_valid, gathered), end)),
            self.value.eq(peak.value),
            self.old.eq(self.old_data),
            Cat(self.stays, self.rises, self.outside).eq(Cat(peak.stays, peak.rises, peak.outside)),
        ]
        if build.alternatives:
            m.d.comb += self.none.eq(
                p.delay(p.input(~flags[NEIGHBOURS.index("here")]), self.parameters.result_latency).value
            )
        if build.hands:
            m.submodules.checked = checked = Queue(build.index_bits, _BETWEEN)
            here = p.input(flags[NEIGHBOURS.index("here")])
            m.d.comb += [
                checked.push.eq(moved),
                checked.data.eq(choices.head),
                checked.pop.eq(gather.leaving),
                self.choice.eq(p.delay(p.input(checked.head), end).value),
                self.feasible.eq(p.delay(here, self.parameters.result_latency).value),
                self.below.eq(peak.below),
                self.above.eq(peak.above),
            ]
        self._count(m, self.position, self.valid)
        return m

    def _count(self, m: Module, counter: Signal, event: Value) -> None:
        """Count the events of a pass in ``counter``, from 0."""
        with m.If(self.start):
            m.d.sync += counter.eq(0)
        with m.Elif(event):
            m.d.sync += counter.eq(counter + 1)
