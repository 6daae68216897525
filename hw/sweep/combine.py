"""Takes the maximum over the alternatives of a state, between the values and the expectation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from numpy.typing import NDArray

from beltline.compiled import njit, prange
from beltline.hw.arithmetic.numbers import MINIMUM, WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline, Timed

_HALF = WIDTH // 2

NOTHING = MINIMUM
"""Value of an alternative that can afford no choice, the lowest of all values."""


@njit(cache=True, parallel=True)
def _combined(values, begins, ends, largest, nothing):  # type: ignore[no-untyped-def]
    for x in prange(values.shape[0]):
        best = np.int64(NOTHING)
        for s in range(values.shape[1]):
            best = values[x, s] if begins[s] else max(best, values[x, s])
            largest[x, s] = best
            nothing[x] = nothing[x] or (ends[s] and best == NOTHING)


@njit(cache=True, parallel=True)
def _paid(values, begins, unpaid, paid):  # type: ignore[no-untyped-def]
    for x in prange(values.shape[0]):
        best, pays = np.int64(NOTHING), False
        for s in range(values.shape[1]):
            if begins[s] or values[x, s] > best:
                best, pays = values[x, s], not unpaid[s]
            elif values[x, s] == best:
                pays = pays or not unpaid[s]
            paid[x, s] = pays


@dataclass(frozen=True)
class CombineParameters:
    """Parameters of the running maximum over groups of neighbouring exogenous states.

    In a build with alternatives, exogenous states are *product states*: one for each alternative in each exogenous
    state of the problem. The alternatives between which there is a choice form a *group*. With values ``v_s`` of a
    point, the maximum is ``m_s = v_s`` if a group begins at ``s``, and ``max(m_(s-1), v_s)`` otherwise. So at the last
    state of a group it is the maximum over the group.

    Values and maxima are signed 64 bits; the result is exact.

    Parameters
    ----------
    states
        Largest number of exogenous states of a point, 1 to 128.
    prices
        Whether the unit also says if bonds are paid: whether the maximum is that of a state without the mark
        :attr:`beltline.hw.interface.groups.Mark.UNPAID`. They are if such a state and another have the same value.
    """

    states: int
    prices: bool = False

    @property
    def latency(self) -> int:
        """Clocks from a value to its maximum, 2."""
        return 2

    def model(
        self, values: NDArray[np.int64], begins: NDArray[np.bool_], ends: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], bool]:
        """Return the unit's results, bit by bit.

        Parameters
        ----------
        values
            int64, ``(points, N_z)``, in units of value.
        begins, ends
            bool, ``(N_z,)``: whether each state is the first, or the last, of its group. The first state begins one.

        Returns
        -------
        largest, nothing
            int64, ``(points, N_z)``: the maxima; and whether that of any whole group is :data:`NOTHING`.
        """
        largest, nothing = np.empty_like(values), np.zeros(values.shape[0], np.bool_)
        _combined(np.ascontiguousarray(values), begins, ends, largest, nothing)
        return largest, bool(nothing.any())

    def paid(
        self, values: NDArray[np.int64], begins: NDArray[np.bool_], unpaid: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Return whether bonds are paid, of a unit with ``prices``: bool, ``(points, N_z)``.

        ``values`` and ``begins`` are those of :meth:`model`, and ``unpaid``, bool ``(N_z,)``, are the marks.
        """
        found = np.empty(values.shape, np.bool_)
        _paid(np.ascontiguousarray(values), begins, unpaid, found)
        return found


def ports_of(states: int) -> dict[str, wiring.Member]:
    """Return the ports that the units for groups of a stream of values have; :class:`Combine` describes them."""
    return {
        "count": In(max(5, states.bit_length())),
        "clear": In(1),
        "begins": In(states),
        "ends": In(states),
        "value": In(signed(WIDTH)),
        "value_valid": In(1),
        "largest": Out(signed(WIDTH)),
        "largest_valid": Out(1),
        "nothing": Out(1),
    }


def place_in_group(m: Module, p: Pipeline, unit: Any, states: int) -> tuple[Value, Value, Timed]:
    """Count the values that enter a ``unit`` with ports :func:`ports_of`.

    Returns
    -------
    state
        The exogenous state of the next value.
    begins
        Whether the next value is the first of a group.
    ends
        A clock after a value: whether it is the last of a group.
    """
    state, last = Signal(range(max(2, states))), Signal(range(max(2, states)))
    m.d.sync += last.eq(unit.count - 1)
    # Determined before the value arrives.
    begins = Signal(init=1)
    following = Signal.like(state)
    m.d.comb += following.eq(Mux(unit.clear | (state == last), 0, state + 1))
    with m.If(unit.value_valid | unit.clear):
        m.d.sync += [state.eq(following), begins.eq((following == 0) | Array(unit.begins)[following])]
    return state, begins, p.register(Array(unit.ends)[state], 0)


class Combine(wiring.Component):
    """Computes the running maximum over groups of a stream of values.

    Latency: ``parameters.latency`` clocks. Throughput: one value in every clock. Contract: ``valid`` without ``ready``.
    The ``count`` values of a point enter in the order of the exogenous states, with any number of clocks between two.
    ``count``, ``begins`` and ``ends`` must not change while values are in the unit.

    The maximum is stored in two halves, which are updated one clock apart. So the longest path in the loop is a
    comparison of 32 bits.

    Attributes
    ----------
    count : in, 5 bits, or as many as ``states`` needs
        ``N_z`` of the problem.
    clear : in, 1 bit
        Discards the values of an incomplete point; the next value is the first of a point.
    begins, ends : in, ``states`` bits
        Whether each exogenous state is the first, or the last, of its group; bit ``s`` for state ``s``.
    value : in, signed 64 bits
        A value, in units of value.
    value_valid : in, 1 bit
        High in clocks with a value.
    largest : out, signed 64 bits
        Largest value from the first of the group to this one.
    largest_valid : out, 1 bit
        High in clocks with a maximum.
    nothing : out, 1 bit
        High in clocks with the maximum of a whole group that is :data:`NOTHING`.
    unpaid : in, ``states`` bits
        Only with prices: whether bonds pay nothing where each exogenous state is chosen.
    paid : out, 1 bit
        Only with prices: whether bonds are paid at the maximum, with ``largest_valid``.
    """

    def __init__(self, parameters: CombineParameters) -> None:
        self.parameters = parameters
        prices = {"unpaid": In(parameters.states), "paid": Out(1)} if parameters.prices else {}
        super().__init__({**ports_of(parameters.states), **prices})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        state, begins, ends = place_in_group(m, p, self, self.parameters.states)

        # With the sign bit inverted, unsigned comparison gives the signed order.
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
        own = p.register(~Array(self.unpaid)[state], 0).value if self.parameters.prices else Const(0, 1)
        with m.If(replace | (compare & (lower > low))):
            m.d.sync += low.eq(lower)
            if self.parameters.prices:
                m.d.sync += self.paid.eq(own)
        if self.parameters.prices:
            with m.Elif(compare & (lower == low)):
                m.d.sync += self.paid.eq(self.paid | own)
        upper = p.register(high, 1)
        valid = p.valid(p.input(self.value_valid), self.parameters.latency)
        m.d.comb += [
            self.largest.eq(Cat(low, upper.value[:-1], ~upper.value[-1]).as_signed()),
            self.largest_valid.eq(valid),
            self.nothing.eq(valid & p.delay(ends, 1).value & ~(low.any() | upper.value.any())),
        ]
        return m
