"""The pass of a sweep that checks every choice of a lane, and makes the values of those that stay."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from amaranth.hdl import Cat, Module, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from numpy.typing import NDArray

from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline, Timed
from beltline.hw.memory.queue import Queue
from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.gather import Gather, GatherParameters
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.peak import NEIGHBOURS, Peak, PeakParameters
from beltline.hw.sweep.row_buses import RowPort

KEPT_BITS = len(NEIGHBOURS) * (WIDTH + 1)
"""What is kept of a state: the utilities of ``i - 1``, ``i``, ``i + 1``, then the three flags of those feasible."""

_AHEAD = 8
"""Choices that are read before they are needed: more than the clocks of a read and of the queue."""


@dataclass(frozen=True)
class CheckParameters:
    """Reads choice and kept utilities of ``count`` states, in table order, and tells of each whether its choice stays.

    Parameters
    ----------
    build
        Of the engine.
    """

    build: SweepParameters

    @property
    def begin(self) -> int:
        """Clocks from ``start`` to the first choice at the unit that gathers expected values."""
        return 1 + READ_LATENCY + 2

    @property
    def behind(self) -> int:
        """Clocks from the expected values to the result."""
        return PeakParameters().latency

    def clocks(self, choices: NDArray[np.int64], lane: int, start: int) -> NDArray[np.int64]:
        """The clock of each result, where no turn is lost to another lane.

        Parameters
        ----------
        choices
            int64, ``(points, N_z)``: of the lane.
        lane
            Which decides the turns on the bus.
        start
            The clock of ``start``, counted from the end of the last reset.
        """
        states = np.tile(np.arange(choices.shape[1]), choices.shape[0])
        gathered = GatherParameters(self.build).clocks(states, choices.ravel(), lane, start + self.begin)
        return gathered + self.behind


class Check(wiring.Component):
    """:class:`CheckParameters` in gateware.

    Attributes
    ----------
    start, count, last_state
        ``start`` begins a pass over ``count`` (at least 1) states of ``last_state + 1`` exogenous states. It must not
        come while one is under way.
    choice_address, choice_data, kept_address, kept_data, old_address, old_data
        Read ports of the lane's choices, of what it keeps (``KEPT_BITS``) and of its values, of ``READ_LATENCY``.
    fetch
        To the buses; ``inner`` is the exogenous state.
    valid, position, value, old, stays, rises, outside
        A result, of state number ``position``: see :class:`beltline.hw.sweep.peak.PeakParameters`. ``old`` is the value
        before.
    none
        With a result, of a build with alternatives: the kept choice is infeasible. As costs do not fall, and a walk
        ends at the lowest candidate if it finds none, the state can then afford nothing.
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
                "kept_address": Out(bits),
                "kept_data": In(KEPT_BITS),
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
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        build = self.parameters.build
        bits = build.position_bits
        m.submodules.gather = gather = Gather(GatherParameters(build))
        m.submodules.peak = peak = Peak(PeakParameters())
        m.submodules.choices = choices = Queue(build.index_bits, _AHEAD)
        wiring.connect(m, wiring.flipped(self.fetch), gather.fetch)

        # Choices are read as long as there is room for them in the queue.
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

        # What is kept of a state, and its old value, are read so that they come with what they are compared with.
        gathered = gather.parameters.latency
        self._count(m, self.kept_address, p.valid(p.input(gather.leaving), gathered - READ_LATENCY))
        words = [self.kept_data.word_select(k, WIDTH) for k in range(len(NEIGHBOURS))]
        flags = self.kept_data[len(NEIGHBOURS) * WIDTH :]
        for k, name in enumerate(NEIGHBOURS):
            m.d.comb += [
                getattr(peak, f"u_{name}").eq(words[k]),
                getattr(peak, f"feasible_{name}").eq(flags[k]),
                getattr(peak, f"ev_{name}").eq(getattr(gather, name)),
            ]
        end = gathered + self.parameters.behind
        self._count(m, self.old_address, p.valid(p.input(gather.leaving), end - READ_LATENCY))
        m.d.comb += [
            self.valid.eq(p.valid(Timed(gather.out_valid, gathered), end)),
            self.value.eq(peak.value),
            self.old.eq(self.old_data),
            Cat(self.stays, self.rises, self.outside).eq(Cat(peak.stays, peak.rises, peak.outside)),
        ]
        if build.alternatives:
            m.d.comb += self.none.eq(p.delay(p.input(~flags[NEIGHBOURS.index("here")]), self.parameters.behind).value)
        self._count(m, self.position, self.valid)
        return m

    def _count(self, m: Module, counter: Signal, event: Value) -> None:
        """Count events of a pass."""
        with m.If(self.start):
            m.d.sync += counter.eq(0)
        with m.Elif(event):
            m.d.sync += counter.eq(counter + 1)
