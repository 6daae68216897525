"""The maximum over the alternatives of a state, on its way from the values to the expectation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from amaranth.hdl import Array, Cat, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from numpy.typing import NDArray

from beltline.compiled import njit, prange
from beltline.hw.arithmetic.numbers import MINIMUM, WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline

_HALF = WIDTH // 2

NOTHING = MINIMUM
"""The value of an alternative that can afford no choice: less than every other value."""


@njit(cache=True, parallel=True)
def _combined(values, begins, ends, largest, nothing):  # type: ignore[no-untyped-def]
    for x in prange(values.shape[0]):
        best = np.int64(NOTHING)
        for s in range(values.shape[1]):
            best = values[x, s] if begins[s] else max(best, values[x, s])
            largest[x, s] = best
            nothing[x] = nothing[x] or (ends[s] and best == NOTHING)


@dataclass(frozen=True)
class CombineParameters:
    """The running maximum over neighbouring exogenous states: ``m_s = v_s`` where a group begins at ``s``, and else
    ``max(m_(s-1), v_s)``. At the last state of a group it is the maximum over the group.

    Values and maxima are signed 64 bits; the result is exact.

    Parameters
    ----------
    states
        Most exogenous states of a point, 1 to 16.
    """

    states: int

    @property
    def latency(self) -> int:
        """Clocks from a value to its maximum; a value enters every clock."""
        return 2

    def model(
        self, values: NDArray[np.int64], begins: NDArray[np.bool_], ends: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], bool]:
        """The maxima, and whether that of a whole group is :data:`NOTHING`.

        Parameters
        ----------
        values
            int64, ``(points, N_z)``.
        begins, ends
            bool, ``(N_z,)``: the first and the last state of each group; the first of all begins one.
        """
        largest, nothing = np.empty_like(values), np.zeros(values.shape[0], np.bool_)
        _combined(np.ascontiguousarray(values), begins, ends, largest, nothing)
        return largest, bool(nothing.any())


class Combine(wiring.Component):
    """:class:`CombineParameters` in gateware. Fixed latency ``parameters.latency``, a value a clock, no ready.

    Values of a point come in the order of the exogenous states, ``count`` of them, with any number of clocks between
    two. The running maximum is kept in two halves, a clock apart, so that its loop holds a comparison of 32 bits.

    Attributes
    ----------
    count
        In, 5 bits: the problem's ``N_z``. It must not change while values are under way.
    clear
        In: forgets a point that was begun; the next value is the first of a point.
    begins, ends
        In, a bit for each exogenous state: it is the first, or the last, of its group. They must stand.
    value, value_valid
        In, signed 64 bits: a value.
    largest, largest_valid
        Out, signed 64 bits: the largest value from the first of the group to this one.
    nothing
        Out, with ``largest_valid``: it is the last of its group, and the largest is :data:`NOTHING`.
    """

    def __init__(self, parameters: CombineParameters) -> None:
        self.parameters = parameters
        states = parameters.states
        super().__init__(
            {
                "count": In(5),
                "clear": In(1),
                "begins": In(states),
                "ends": In(states),
                "value": In(signed(WIDTH)),
                "value_valid": In(1),
                "largest": Out(signed(WIDTH)),
                "largest_valid": Out(1),
                "nothing": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        states = self.parameters.states
        state, last = Signal(range(max(2, states))), Signal(range(max(2, states)))
        m.d.sync += last.eq(self.count - 1)
        # Whether the value to come begins a group, known before it comes.
        begins = Signal(init=1)
        following = Signal.like(state)
        m.d.comb += following.eq(Mux(self.clear | (state == last), 0, state + 1))
        with m.If(self.value_valid | self.clear):
            m.d.sync += [state.eq(following), begins.eq((following == 0) | Array(self.begins)[following])]
        ends = p.register(Array(self.ends)[state], 0)

        # Unsigned order is signed order once the sign bit is inverted.
        biased = Cat(self.value[:-1], ~self.value[-1])
        high, low = Signal(_HALF, reset_less=True), Signal(_HALF, reset_less=True)
        replace, compare = Signal(), Signal()
        m.d.sync += [replace.eq(0), compare.eq(0)]
        with m.If(self.value_valid):
            with m.If(begins | (biased[_HALF:] > high)):
                m.d.sync += [high.eq(biased[_HALF:]), replace.eq(1)]
            with m.Elif(biased[_HALF:] == high):
                m.d.sync += compare.eq(1)
        lower = p.register(biased[:_HALF], 0).value
        with m.If(replace | (compare & (lower > low))):
            m.d.sync += low.eq(lower)
        upper = p.register(high, 1)
        valid = p.valid(p.input(self.value_valid), self.parameters.latency)
        m.d.comb += [
            self.largest.eq(Cat(low, upper.value[:-1], ~upper.value[-1]).as_signed()),
            self.largest_valid.eq(valid),
            self.nothing.eq(valid & p.delay(ends, 1).value & ~(low.any() | upper.value.any())),
        ]
        return m
