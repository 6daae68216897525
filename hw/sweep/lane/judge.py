"""Bookkeeping of a lane's check: the point and exogenous state of each result, and which points need a patch."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.numbers import MINIMUM, WIDTH
from beltline.hw.sweep.parameters import SweepParameters


class Judge(wiring.Component):
    """Adds point and exogenous state to each result of the check, and reports which states and points failed it.

    The check delivers results in table order without their coordinates; two counters supply these. A point fails if one
    of its states does; the patch then computes its expected values again. In a policy evaluation sweep (``fixed``)
    every result passes.

    Latency 1 clock; throughput a result a clock. Contract: fixed latency, no ready.

    Widths such as ``point_bits`` and ``state_bits`` are those of :class:`beltline.hw.sweep.parameters.SweepParameters`.

    Attributes
    ----------
    go : in, 1 bit
        A pass begins: counters and flags are cleared. No result may be in flight.
    fixed : in, 1 bit
        All choices are kept, even those that the check rejects.
    last_state : in, ``state_bits``
        ``N_z - 1``.
    check_valid : in, 1 bit
        High in clocks with a result of :class:`beltline.hw.sweep.check.Check`.
    check_stays, check_outside : in, 1 bit each
        Of that result: its choice passed the check; its value left the range of 64 bits.
    check_position : in, ``position_bits``
        The number of its state in the lane.
    check_value, check_old : in, signed 64 bits each
        Its new value, and the value before the sweep.
    valid : out, 1 bit
        High in clocks with a result, to which all outputs but ``any_mark`` belong.
    stays, outside, position, value, old : out
        The inputs of those names a clock later. ``stays`` is also set by ``fixed``.
    point, state : out, ``point_bits`` and ``state_bits``
        Point in the lane, and exogenous state.
    point_ends : out, 1 bit
        The result is the last one of its point.
    note : out, 1 bit
        The result, or an earlier one of its point, failed the check.
    any_mark : out, 1 bit
        A result of this pass before this clock failed the check.
    check_none, none : in and out, 1 bit each
        Only in general builds: the state can afford no candidate. It then passes the check, and its value is the lowest
        number, ``-2**63``.
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
                **({"check_none": In(1), "none": Out(1)} if build.general else {}),
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
        if self.build.general:
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
