"""The expected values of a lane's points, from the values of their states."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.expectation import Expectation
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.combine import Combine
from beltline.hw.sweep.lane.parameters import SHIFT_CLOCKS, LaneParameters
from beltline.hw.sweep.parameters import ROW_SHIFT


class Expects(wiring.Component):
    """Values to the expectation unit, and its expectations to the lane's rows.

    The states of a point come one after the other, in order, from the check or the patch; a state a clock. What is made
    of the value of a state that is yet to be walked is made anew by the patch, and does not count as saturated. The
    first expectation of a point comes ``parameters.expectation.latency + 2`` clocks behind ``new``, or ``read``, of its
    last state, and the others in the clocks behind it.

    Attributes
    ----------
    go, half, states, weight_write, weight_row, weight_column, data
        In: as those of :class:`beltline.hw.sweep.lane.lane.Lane`.
    check_valid, check_point, check_note
        In: a result of the check, its point, and whether it or a state before it at its point is yet to be walked.
    new
        In: the value of that result, ``SHIFT_CLOCKS`` later.
    patch_valid, patch_point
        In: a state that is read for the patch, and its point.
    read
        In: the value of that state, ``READ_LATENCY`` later.
    write, word, row, ev
        Out: an expected value, which word of a row it is, and the address of the row.
    lost
        Out: with ``write``: an expected value was cut.
    begins, ends
        In, of a build with alternatives: see :class:`beltline.hw.sweep.combine.Combine`, which values pass first, and
        which makes everything ``parameters.combine.latency`` clocks later.
    nothing
        Out, of a build with alternatives: no alternative of a state can afford a choice. What is made of the value of a
        state that is yet to be walked does not count.
    """

    def __init__(self, parameters: LaneParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        ports = parameters.ports
        outside: tuple[str, ...] = ("go", "half", "states", "weight_write", "weight_row", "weight_column", "data")
        if build.alternatives:
            outside += ("begins", "ends")
        super().__init__(
            {
                **{name: ports[name] for name in outside},
                "check_valid": In(1),
                "check_point": In(build.point_bits),
                "check_note": In(1),
                "new": In(signed(WIDTH)),
                "patch_valid": In(1),
                "patch_point": In(build.point_bits),
                "read": In(WIDTH),
                "write": Out(1),
                "word": Out(ROW_SHIFT),
                "row": Out(range(parameters.rows)),
                "ev": Out(WIDTH),
                "lost": Out(1),
                **({"nothing": Out(1)} if build.alternatives else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        parameters, build = self.parameters, self.parameters.build
        m.submodules.expectation = expectation = Expectation(parameters.expectation)
        # Of a patch, as its value comes out of the memory.
        patched = p.valid(p.input(self.patch_valid), READ_LATENCY)
        patched_point = p.delay(p.input(self.patch_point), READ_LATENCY).value
        late_valid = p.valid(p.input(self.check_valid), SHIFT_CLOCKS)
        late_point = p.delay(p.input(Cat(self.check_point, self.check_note)), SHIFT_CLOCKS).value
        point_in = Signal(build.point_bits + 1)
        value, value_valid = expectation.value, expectation.value_valid
        between = 0
        if build.alternatives:
            m.submodules.combine = combine = Combine(parameters.combine)
            between = parameters.combine.latency
            m.d.comb += [
                combine.count.eq(self.states),
                combine.clear.eq(self.go),
                combine.begins.eq(self.begins),
                combine.ends.eq(self.ends),
                expectation.value.eq(combine.largest),
                expectation.value_valid.eq(combine.largest_valid),
                self.nothing.eq(combine.nothing & ~p.delay(p.input(point_in), between).value[-1]),
            ]
            value, value_valid = combine.value, combine.value_valid
        m.d.sync += [
            value.eq(Mux(patched, self.read, self.new)),
            value_valid.eq(patched | late_valid),
            point_in.eq(Mux(patched, patched_point, late_point)),
        ]
        m.d.comb += [
            expectation.count.eq(self.states),
            expectation.clear.eq(self.go),
            expectation.weight_write.eq(self.weight_write),
            expectation.weight_row.eq(self.weight_row),
            expectation.weight_column.eq(self.weight_column),
            expectation.weight_data.eq(self.data),
        ]
        # The point comes with its first expectation and stays for the others.
        late = p.delay(p.input(point_in), between + parameters.expectation.latency).value
        kept, of_point = Signal(build.point_bits + 1), Signal(build.point_bits + 1)
        m.d.comb += of_point.eq(Mux(expectation.ev_state == 0, late, kept))
        row = Signal(range(parameters.rows), reset_less=True)
        ev = Signal(WIDTH, reset_less=True)
        m.d.sync += [
            kept.eq(of_point),
            self.write.eq(expectation.ev_valid),
            self.word.eq(of_point),
            row.eq(Cat(of_point[ROW_SHIFT:][: build.local_bits], expectation.ev_state, ~self.half)),
            ev.eq(expectation.ev),
            self.lost.eq(expectation.ev_valid & expectation.saturated & ~of_point[-1]),
        ]
        m.d.comb += [self.row.eq(row), self.ev.eq(ev)]
        return m
