"""Takes the log-sum over the alternatives of a state, between the values and the expectation."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from amaranth.hdl import Array, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from numpy.typing import NDArray

from beltline.compiled import njit, prange
from beltline.hw.arithmetic import log_sum
from beltline.hw.arithmetic.log_sum import ABSENT, LogSumParameters
from beltline.hw.arithmetic.log_sum_constants import TERMS, LogSumConstants
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline, Timed
from beltline.hw.interface.parameters import Multiplier


@njit(cache=True, parallel=True)
def _log_sums(values, begins, ends, slope, unit, lift, found, nothing, over):  # type: ignore[no-untyped-def]
    for x in prange(values.shape[0]):
        last = np.full(TERMS, ABSENT)
        for s in range(values.shape[1]):
            if begins[s]:
                last[:] = ABSENT
            last[TERMS - 1] = max(last[TERMS - 1], last[TERMS - 2])
            for k in range(TERMS - 2, 0, -1):
                last[k] = last[k - 1]
            last[0] = values[x, s]
            found[x, s], saturated = log_sum.log_sum_word(last, slope, unit, lift)
            over[x] = over[x] or saturated
            nothing[x] = nothing[x] or (ends[s] and found[x, s] == ABSENT)


@dataclass(frozen=True)
class TasteParameters:
    """Parameters of the log-sum over groups of neighbouring exogenous states.

    In a general build exogenous states are *product states*: one for each alternative in each exogenous state of the
    problem. The alternatives between which there is a choice form a *group*. With values ``v_s`` of a point, the result
    at ``s`` is the log-sum of the values from the first state of the group to ``s``:
    ``sigma log(sum of exp(v_q / sigma))``, or without shocks their maximum, which is exact. Of the values before the
    last ``TERMS - 1`` only the largest counts; so with shocks a group has at most ``TERMS`` states, and without any
    number. Formula, widths and error bound are those of :class:`beltline.hw.arithmetic.log_sum.LogSumParameters`.

    Parameters
    ----------
    states
        Largest number of exogenous states of a point, 8 to 128.
    multiplier
        The chip's multiplier. It changes the latency and no result.
    """

    states: int
    multiplier: Multiplier = Multiplier.DSP48E2

    @property
    def latency(self) -> int:
        """Clocks from a value to its log-sum, 67 with ``DSP48E2``."""
        return 1 + LogSumParameters(self.multiplier).latency

    def model(
        self,
        values: NDArray[np.int64],
        constants: LogSumConstants,
        begins: NDArray[np.bool_],
        ends: NDArray[np.bool_],
    ) -> tuple[NDArray[np.int64], bool, bool]:
        """Return the unit's results, bit by bit.

        Parameters
        ----------
        values
            int64, ``(points, N_z)``, in units of value.
        constants
            Constants of the scale of the shocks.
        begins, ends
            bool, ``(N_z,)``: whether each state is the first, or the last, of its group. The first state begins one.

        Returns
        -------
        found, nothing, over
            int64, ``(points, N_z)``: the log-sums; whether all values of any whole group are absent; and whether any
            log-sum was saturated.
        """
        found = np.empty_like(values)
        nothing, over = np.zeros((2, values.shape[0]), np.bool_)
        words = (np.uint64(word) for word in constants.words)
        _log_sums(np.ascontiguousarray(values), begins, ends, *words, found, nothing, over)
        return found, bool(nothing.any()), bool(over.any())


def ports_of(states: int) -> dict[str, wiring.Member]:
    """Return the ports of :class:`Taste` but for its constants."""
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


class Taste(wiring.Component):
    """Computes the log-sum over groups of a stream of values.

    Latency: ``parameters.latency`` clocks. Throughput: one value in every clock. Contract: ``valid`` without ``ready``.
    The ``count`` values of a point enter in the order of the exogenous states, with any number of clocks between two.
    ``count``, ``begins``, ``ends`` and the constants must not change while values are in the unit.

    The last values of a group are registers, from which the datapath of the log-sum reads all at once; the last of them
    has the largest value of those before.

    Attributes
    ----------
    count : in, 5 bits, or as many as ``states`` needs
        ``N_z`` of the problem.
    clear : in, 1 bit
        Discards the values of an incomplete point; the next value is the first of a point.
    begins, ends : in, ``states`` bits
        Whether each exogenous state is the first, or the last, of its group; bit ``s`` for state ``s``.
    slope, unit, lift : in; 63, 64 and 6 bits
        Constants, see :class:`beltline.hw.arithmetic.log_sum_constants.LogSumConstants`.
    value : in, signed 64 bits
        A value, in units of value.
    value_valid : in, 1 bit
        High in clocks with a value.
    largest : out, signed 64 bits
        Log-sum of the values from the first of the group to this one.
    largest_valid : out, 1 bit
        High in clocks with a log-sum.
    nothing : out, 1 bit
        High in clocks with the log-sum of a whole group of absent values.
    over : out, 1 bit
        High in clocks with a log-sum that is saturated.
    """

    def __init__(self, parameters: TasteParameters) -> None:
        self.parameters = parameters
        super().__init__({**ports_of(parameters.states), **log_sum.CONSTANTS, "over": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m, self.parameters.multiplier)
        begins, ends = self._place(m, p)
        values = [Signal(signed(WIDTH), reset_less=True, name=f"value{k}") for k in range(TERMS)]
        with m.If(self.value_valid):
            m.d.sync += values[0].eq(self.value)
            for before, after in pairwise(values):
                m.d.sync += after.eq(Mux(begins, ABSENT, before))
            with m.If(~begins & (values[-1] > values[-2])):
                m.d.sync += values[-1].eq(values[-1])
        result, over, absent = log_sum.build(p, [Timed(value, 1) for value in values], self.slope, self.unit, self.lift)
        assert result.time == self.parameters.latency
        valid = p.valid(p.input(self.value_valid), result.time)
        ended = p.delay(ends, result.time - ends.time).value
        m.d.comb += [
            self.largest.eq(result.value),
            self.largest_valid.eq(valid),
            self.nothing.eq(valid & ended & absent.value),
            self.over.eq(valid & over.value),
        ]
        return m

    def _place(self, m: Module, p: Pipeline) -> tuple[Value, Timed]:
        """Return whether the next value is the first of a group, and a clock after a value, whether it is the last."""
        states = self.parameters.states
        state, last = Signal(range(states)), Signal(range(states))
        m.d.sync += last.eq(self.count - 1)
        # Determined before the value arrives.
        begins = Signal(init=1)
        following = Signal.like(state)
        m.d.comb += following.eq(Mux(self.clear | (state == last), 0, state + 1))
        with m.If(self.value_valid | self.clear):
            m.d.sync += [state.eq(following), begins.eq((following == 0) | Array(self.begins)[following])]
        return begins, p.register(Array(self.ends)[state], 0)
