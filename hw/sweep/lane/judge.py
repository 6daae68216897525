"""The results of a lane's check, with their point and state, and what is marked of them."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.numbers import MINIMUM, WIDTH
from beltline.hw.sweep.parameters import SweepParameters


class Judge(wiring.Component):
    """Counts points and states of the check's results, and notes the points of which a state has lost its choice.

    A result a clock; latency 1.

    Attributes
    ----------
    go
        In: a pass begins; no result is under way.
    fixed
        In: all choices stay.
    last_state
        In: ``N_z - 1``.
    check_valid, check_stays, check_outside, check_position, check_value, check_old
        In: a result, see :class:`beltline.hw.sweep.check.Check`.
    valid, stays, outside, position, value, old
        Out: the result.
    point, state
        Out: its point and its exogenous state.
    point_ends
        Out: it is the last one of its point.
    note
        Out: it, or one before it at its point, does not keep its choice.
    any_mark
        Out: one before this clock has not kept its choice.
    check_none, none
        In and out, of a build with alternatives: the state can afford nothing. Then it stays so, and its value is the
        lowest.
    """

    def __init__(self, build: SweepParameters) -> None:
        self.build = build
        bits = build.position_bits
        super().__init__(
            {
                "go": In(1),
                "fixed": In(1),
                "last_state": In(build.state_bits),
                "check_valid": In(1),
                "check_stays": In(1),
                "check_outside": In(1),
                "check_position": In(bits),
                "check_value": In(signed(WIDTH)),
                "check_old": In(signed(WIDTH)),
                "valid": Out(1),
                "stays": Out(1),
                "outside": Out(1),
                "position": Out(bits),
                "value": Out(signed(WIDTH)),
                "old": Out(signed(WIDTH)),
                "point": Out(build.point_bits),
                "state": Out(build.state_bits),
                "point_ends": Out(1),
                "note": Out(1),
                "any_mark": Out(1),
                **({"check_none": In(1), "none": Out(1)} if build.alternatives else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        value, old = Signal(signed(WIDTH), reset_less=True), Signal(signed(WIDTH), reset_less=True)
        m.d.sync += [
            self.valid.eq(self.check_valid),
            self.stays.eq(self.check_stays | self.fixed),
            self.outside.eq(self.check_outside),
            self.position.eq(self.check_position),
            value.eq(self.check_value),
            old.eq(self.check_old),
        ]
        if self.build.alternatives:
            m.d.sync += [
                self.none.eq(self.check_none),
                self.stays.eq(self.check_stays | self.fixed | self.check_none),
                value.eq(Mux(self.check_none, MINIMUM, self.check_value)),
            ]
        noted = Signal()
        m.d.comb += [
            self.value.eq(value),
            self.old.eq(old),
            self.point_ends.eq(self.state == self.last_state),
            self.note.eq(noted | ~self.stays),
        ]
        with m.If(self.valid):
            m.d.sync += [
                self.state.eq(Mux(self.point_ends, 0, self.state + 1)),
                noted.eq(self.note & ~self.point_ends),
                self.any_mark.eq(self.any_mark | ~self.stays),
            ]
            with m.If(self.point_ends):
                m.d.sync += self.point.eq(self.point + 1)
        with m.If(self.go):
            m.d.sync += [self.point.eq(0), self.state.eq(0), noted.eq(0), self.any_mark.eq(0)]
        return m
