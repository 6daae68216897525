"""First pass of a sweep in a lane: checks every choice, and computes the values of states whose choice remains."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline, Timed
from beltline.hw.memory.queue import Queue
from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.gather import Gather, GatherParameters
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.peak import NEIGHBOURS, Peak, PeakParameters
from beltline.hw.sweep.row_buses import RowPort

CACHED_BITS = len(NEIGHBOURS) * (WIDTH + 1)
"""Bits of the cached utilities of a state with choice ``i``.

From the lowest bit on: utilities of ``i - 1``, ``i`` and ``i + 1``, signed 64 bits each, and whether each is feasible.
"""

_AHEAD = 8
"""Choices that are read ahead. More than the latency of memory and queue, so that a choice is ready in every clock."""


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


class Check(wiring.Component):
    """Checks all states of a lane, in table order.

    Throughput: a state in every clock, if the expected values arrive in time (:class:`Gather`). Latency from ``start``
    to the first result: ``parameters.begin`` clocks, then the time until the first rows arrive, then the latencies of
    :class:`Gather` and :class:`Peak`. Contract: ``valid`` without ``ready``. ``cached`` stands for cached utilities.

    Attributes
    ----------
    start : in, 1 bit
        Begins a pass. It must not be high during a pass.
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
    outside : out, 1 bit
        ``value`` was saturated.
    none : out, 1 bit
        Only in general builds: the choice is infeasible. Since costs do not fall, and a local search that
        finds no feasible candidate ends at the lowest one, the state can then afford nothing.
    """

    def __init__(self, parameters: CheckParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        bits = build.position_bits
        super().__init__(
            {
                "start": In(1),
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
                "outside": Out(1),
                **({"none": Out(1)} if build.general else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m, self.parameters.build.multiplier)
        build = self.parameters.build
        bits = build.position_bits
        m.submodules.gather = gather = Gather(GatherParameters(build))
        m.submodules.peak = peak = Peak(PeakParameters(build.multiplier))
        m.submodules.choices = choices = Queue(build.index_bits, _AHEAD)
        wiring.connect(m, wiring.flipped(self.fetch), gather.fetch)

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
            gather.valid.eq(choices.head_valid),
            gather.index.eq(choices.head),
            gather.state.eq(state),
            choices.pop.eq(gather.ready),
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
            Cat(self.stays, self.outside).eq(Cat(peak.stays, peak.outside)),
        ]
        if build.general:
            m.d.comb += self.none.eq(
                p.delay(p.input(~flags[NEIGHBOURS.index("here")]), self.parameters.result_latency).value
            )
        self._count(m, self.position, self.valid)
        return m

    def _count(self, m: Module, counter: Signal, event: Value) -> None:
        """Count the events of a pass in ``counter``, from 0."""
        with m.If(self.start):
            m.d.sync += counter.eq(0)
        with m.Elif(event):
            m.d.sync += counter.eq(counter + 1)
