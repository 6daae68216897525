"""Shifts of the value function between sweeps: anticipate from the last sweep's change what all later sweeps add."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from numpy.typing import NDArray

from beltline.hw.arithmetic.expectation import FRACTION, Expectation, ExpectationParameters
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.interface.windows import WORD_BYTES
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.trees import join_clocks, joined

SCALE = 12
"""Weights ``M`` of a shift are below ``2**SCALE``."""

_INTERVAL = 4
"""Most clocks from one word to the next. A shift is computed once a sweep, so few multipliers are enough."""


@dataclass(frozen=True)
class ShiftParameters:
    """Parameters of the shifts ``c = M d`` and ``e = beta Q c``, with ``M = beta Q (I - beta Q)^-1``.

    ``d`` is the change of the value by a sweep. If a sweep changes ``V(., s)`` by ``d_s`` at every point, all later
    sweeps together change it by ``c_s`` more. So the next sweep may start from ``V + c``. Its choices do not depend on
    ``c``; its values are those of a sweep from ``V``, plus ``e_s``; its norm compares them with ``V + c``.

    ``M`` is given as ``M / 2**SCALE``, unsigned with 64 fraction bits. ``c`` is a multiple of ``2**SCALE`` units of
    value, rounded to the nearest: error at most ``2**(SCALE - 1)`` units. If any ``c_s`` does not fit signed 64 bits,
    all are 0. ``e`` is rounded once: error at most half a unit.

    Source: Bertsekas and Castanon 1989, "Adaptive aggregation methods for infinite horizon dynamic programming", IEEE
    Transactions on Automatic Control 34. Here each exogenous state is one aggregate, and ``d_s`` is the change at one
    point of the grid.

    Parameters
    ----------
    build
        Sizes of the engine.
    """

    build: SweepParameters

    @property
    def expectation(self) -> ExpectationParameters:
        """Parameters of the two units that multiply by a matrix, one for ``c`` and one for ``e``."""
        return ExpectationParameters(self.build.states, self.build.multiplier, min(_INTERVAL, self.build.states))

    def clocks(self, states: int) -> int:
        """Return the number of clocks in which ``busy`` is high, for ``states`` exogenous states."""
        unit = self.expectation
        return 2 * unit.latency + 4 * (states - 1) * unit.interval + 6

    def model(
        self, change: NDArray[np.int64], weights: NDArray[np.uint64], q: NDArray[np.uint64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the unit's results, bit by bit.

        Parameters
        ----------
        change
            int64, ``(N_z,)``: ``d``, in units of value.
        weights, q
            uint64, ``(N_z, N_z)``, unit ``2**-64``: ``M / 2**SCALE`` and ``beta Q``.

        Returns
        -------
        c, e
            int64, ``(N_z,)``, in units of value.
        """
        c, _ = self.expectation.model(change[None, :], weights)
        top = c >> (WIDTH - 1 - SCALE)
        if ((top != 0) & (top != -1)).any():
            c = np.zeros_like(c)
        e, _ = self.expectation.model(c << SCALE, q)
        return (c << SCALE)[0], e[0]


class Shift(wiring.Component):
    """Computes the shifts of the next sweep from the changes of the last one.

    Latency: ``parameters.clocks(states)`` clocks, in which ``busy`` is high. Formula and error bound:
    :class:`ShiftParameters`. Contract: neither ``clear`` nor ``start`` may be high while ``busy`` is; samples,
    ``states`` and weights must not change meanwhile.

    Attributes
    ----------
    sample_valid : in, 1 bit
        High in clocks with a sample.
    sample_state : in, ``state_bits`` bits
        Exogenous state ``s`` of the sample.
    sample : in, signed 64 bits
        The change ``d_s``, in units of value. The unit stores the last one of each state.
    clear : in, 1 bit
        Sets both shifts to 0.
    start : in, 1 bit
        Computes both shifts again.
    states : in, 5 bits
        ``N_z`` of the problem.
    busy : out, 1 bit
        High from the clock after ``start`` until the shifts are valid.
    weight_write, q_write : in, 8 bits
        Byte strobes of a write of a weight of ``M / 2**SCALE``, or of ``beta Q``.
    row, column : in, ``state_bits`` bits
        Today's and tomorrow's state of the weight to write.
    data : in, 64 bits
        The weight, an unsigned fraction.
    before, after : out, 64 bits for each exogenous state
        Shifts ``c`` and ``e``, signed 64 bits each in units of value, state 0 in the lowest bits.
    """

    def __init__(self, parameters: ShiftParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        super().__init__(
            {
                "sample_valid": In(1),
                "sample_state": In(build.state_bits),
                "sample": In(signed(WIDTH)),
                "clear": In(1),
                "start": In(1),
                "states": In(5),
                "busy": Out(1),
                "weight_write": In(WORD_BYTES),
                "q_write": In(WORD_BYTES),
                "row": In(build.state_bits),
                "column": In(build.state_bits),
                "data": In(FRACTION),
                "before": Out(build.states * WIDTH),
                "after": Out(build.states * WIDTH),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        unit = self.parameters.expectation
        states = self.parameters.build.states
        m.submodules.first = first = Expectation(unit)
        m.submodules.second = second = Expectation(unit)
        last = Signal(self.parameters.build.state_bits)
        m.d.sync += last.eq(self.states - 1)
        for stage, write in ((first, self.weight_write), (second, self.q_write)):
            m.d.comb += [
                stage.count.eq(self.states),
                stage.clear.eq(self.start),
                stage.weight_write.eq(write),
                stage.weight_row.eq(self.row),
                stage.weight_column.eq(self.column),
                stage.weight_data.eq(self.data),
            ]

        change = [Signal(signed(WIDTH), name=f"change{s}") for s in range(states)]
        for s, word in enumerate(change):
            with m.If(self.sample_valid & (self.sample_state == s)):
                m.d.sync += word.eq(self.sample)

        # The first unit multiplies the changes, word by word; then the second multiplies the shifts `c`.
        shift = [Signal(signed(WIDTH), name=f"shift{s}") for s in range(states)]
        moved = [Signal(signed(WIDTH), name=f"moved{s}") for s in range(states)]
        turn = Signal(range(unit.interval))
        place = Signal(range(states))
        of_shift, feeding, beyond = Signal(), Signal(), Signal()
        word = Signal(signed(WIDTH))
        step = Signal()
        m.d.comb += step.eq(feeding & (turn == 0))
        m.d.sync += [
            word.eq(Mux(of_shift, Array(shift)[place], Array(change)[place])),
            first.value_valid.eq(step & ~of_shift),
            second.value_valid.eq(step & of_shift),
        ]
        m.d.comb += [first.value.eq(word), second.value.eq(word)]
        with m.If(feeding):
            m.d.sync += turn.eq(Mux(turn == unit.interval - 1, 0, turn + 1))
            with m.If(step):
                m.d.sync += place.eq(place + 1)
                with m.If(place == last):
                    m.d.sync += feeding.eq(0)
        outside = Signal()
        m.d.comb += outside.eq(~(first.ev[WIDTH - 1 - SCALE :].all() | ~first.ev[WIDTH - 1 - SCALE :].any()))
        for s in range(states):
            with m.If(first.ev_valid & (first.ev_state == s)):
                m.d.sync += shift[s].eq(first.ev << SCALE)
            with m.If(second.ev_valid & (second.ev_state == s)):
                m.d.sync += moved[s].eq(second.ev)
        first_ends, second_ends = Signal(), Signal()
        m.d.sync += [
            first_ends.eq(first.ev_valid & (first.ev_state == last)),
            second_ends.eq(second.ev_valid & (second.ev_state == last)),
        ]
        with m.If(first.ev_valid & outside):
            m.d.sync += beyond.eq(1)
        with m.If(first_ends):
            m.d.sync += [feeding.eq(1), turn.eq(0), place.eq(0), of_shift.eq(1)]
            with m.If(beyond):
                m.d.sync += [word.eq(0) for word in shift]
        with m.If(second_ends):
            m.d.sync += self.busy.eq(0)
        with m.If(self.start):
            m.d.sync += [self.busy.eq(1), feeding.eq(1), turn.eq(0), place.eq(0), of_shift.eq(0), beyond.eq(0)]
        with m.If(self.clear):
            m.d.sync += [word.eq(Const(0)) for word in (*shift, *moved)]
        for s in range(states):
            m.d.comb += [
                self.before.word_select(s, WIDTH).eq(shift[s]),
                self.after.word_select(s, WIDTH).eq(moved[s]),
            ]
        return m


def connect_samples(m: Module, p: Pipeline, lanes: Sequence[Any], shift: Shift) -> None:
    """Connect the unit to the changes at the reference point, which one of the lanes sends.

    ``lanes`` are :class:`beltline.hw.sweep.lane.instance.LaneInstance`. The unit receives a sample
    ``join_clocks(build)`` clocks after the lane has sent it.
    """
    width = len(shift.sample) + len(shift.sample_state) + 1
    words = [
        Cat(lane.sample_valid, lane.sample_state, lane.sample) & lane.sample_valid.replicate(width) for lane in lanes
    ]
    build = shift.parameters.build
    sample = joined(p, words, lambda group: functools.reduce(operator.or_, group), join_clocks(build))
    m.d.comb += Cat(shift.sample_valid, shift.sample_state, shift.sample).eq(sample)
