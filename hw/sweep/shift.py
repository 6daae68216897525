"""Shifts of the value between sweeps: how far all sweeps to come will move it, from how far the last one did."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from amaranth.hdl import Array, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from numpy.typing import NDArray

from beltline.hw.arithmetic.expectation import FRACTION, Expectation, ExpectationParameters
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.interface.windows import WORD_BYTES
from beltline.hw.sweep.parameters import SweepParameters

SCALE = 12
"""Weights of a shift are below ``2**SCALE``."""

_INTERVAL = 4
"""Clocks between two words: a shift is made once a sweep, by few multipliers."""


@dataclass(frozen=True)
class ShiftParameters:
    """``c = M d`` and ``e = beta Q c`` with ``M = beta Q (I - beta Q)^-1``, of the change ``d`` of a sweep.

    Where a sweep changes the value of exogenous state ``s`` by ``d_s`` at every point, all sweeps after it change it by
    ``c_s`` more. So the next one may begin from ``V + c``: no choice depends on ``c``, its values are what they would
    be, and ``e_s`` more, and its norm is taken against ``V + c``. (Bertsekas and Castanon 1989, "Adaptive aggregation
    methods for infinite horizon dynamic programming", IEEE Transactions on Automatic Control 34; here with one
    aggregate for each exogenous state, and ``d_s`` taken at one point of the grid.)

    ``M`` comes from the host as ``M / 2**SCALE``, unsigned with 64 fraction bits. ``c`` is a multiple of ``2**SCALE``,
    rounded once, and all zero where one of it does not fit 64 bits; ``e`` is rounded once.

    Parameters
    ----------
    build
        Of the engine.
    """

    build: SweepParameters

    @property
    def expectation(self) -> ExpectationParameters:
        """The unit that multiplies, twice."""
        return ExpectationParameters(self.build.states, self.build.multiplier, min(_INTERVAL, self.build.states))

    def clocks(self, states: int) -> int:
        """Clocks in which it is busy."""
        unit = self.expectation
        return 2 * unit.latency + 4 * (states - 1) * unit.interval + 6

    def model(
        self, change: NDArray[np.int64], weights: NDArray[np.uint64], q: NDArray[np.uint64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """``(c, e)``, to the bit.

        Parameters
        ----------
        change
            int64, ``(N_z,)``: ``d``.
        weights, q
            uint64, ``(N_z, N_z)``: ``M / 2**SCALE`` and ``beta Q``, 64 fraction bits.
        """
        c, _ = self.expectation.model(change[None, :], weights)
        top = c >> (WIDTH - 1 - SCALE)
        if ((top != 0) & (top != -1)).any():
            c = np.zeros_like(c)
        e, _ = self.expectation.model(c << SCALE, q)
        return (c << SCALE)[0], e[0]


class Shift(wiring.Component):
    """:class:`ShiftParameters` in gateware.

    Attributes
    ----------
    sample_valid, sample_state, sample
        ``d``, a state at a time.
    clear, start, states
        ``clear`` makes both shifts 0; ``start`` makes them anew, for ``states`` exogenous states. Neither may come
        while ``busy``.
    busy
        From the clock behind ``start``.
    weight_write, q_write, row, column, data
        See :class:`beltline.hw.arithmetic.expectation.Expectation`.
    before, after
        ``c`` and ``e``, signed 64 bits for each exogenous state.
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

        # The change goes in word by word; then the shift that has come out.
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
