"""Expected values of a lane's points: the values of its states enter, rows of expected values leave."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.expectation import Expectation
from beltline.hw.arithmetic.log_sum import CONSTANTS
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.lane.parameters import SHIFT_CLOCKS, LaneParameters
from beltline.hw.sweep.parameters import ROW_SHIFT
from beltline.hw.sweep.taste import Taste
from beltline.hw.sweep.turns import Turns


class Expects(wiring.Component):
    """Computes the expected values of a lane's points, and where in the row memory they are written.

    The values of a point's states enter one after the other in the order of their exogenous state, at most one in a
    clock, from the check (with the shift that :class:`beltline.hw.sweep.lane.values.Values` adds) or from the patch.
    Expected values are ``EV(x, s) = sum over s' of beta Q(s, s') V(x, s')``, computed by
    :class:`beltline.hw.arithmetic.expectation.Expectation`. They are written to the half of the row memory that is not
    read in this pass.

    A point with a state that failed the check is written twice: the patch computes it again after the local search. So
    the saturation of its first expected values is not reported.

    Latency: the first expected value of a point appears ``parameters.expectation.latency + 2`` clocks after ``new``, or
    ``read``, of its last state; the other ones follow in the next clocks, one each. In a general build they come later,
    after the log-sum and in turns. Throughput: a state a clock. Contract: fixed latency, no ready; the check
    and the patch must not deliver values in the same clock.

    Widths such as ``point_bits`` and ``state_bits`` are those of :class:`beltline.hw.sweep.parameters.SweepParameters`.

    Attributes
    ----------
    go : in, 1 bit
        A pass begins; values of an incomplete point are discarded.
    half : in, 1 bit
        The half of the row memory that is read in this pass; results go to the other one.
    states : in, ``count_bits``
        Number of exogenous states of the problem, ``N_z``.
    weight_write, weight_row, weight_column : in
        A write of ``beta Q`` by the host, see :class:`beltline.hw.arithmetic.expectation.Expectation`.
    data : in, 64 bits
        The weight to write.
    check_valid : in, 1 bit
        High in clocks with a result of the check.
    check_point : in, ``point_bits``
        The point of that result.
    check_note : in, 1 bit
        That result, or an earlier one of its point, failed the check, so the patch will compute the point again.
    new : in, signed 64 bits
        The value of that result, ``SHIFT_CLOCKS`` after ``check_valid``.
    patch_valid : in, 1 bit
        High in clocks in which the patch reads a state.
    patch_point : in, ``point_bits``
        The point of that state.
    read : in, 64 bits
        The value of that state, ``READ_LATENCY`` after ``patch_valid``.
    write : out, 1 bit
        High in clocks with an expected value.
    word : out, 3 bits
        The word of a row in which it lies.
    row : out
        The address of the row, from 0 to ``parameters.rows - 1``.
    ev : out, 64 bits
        The expected value.
    lost : out, 1 bit
        With ``write``: the expected value was saturated, and the patch does not compute it again. In general builds
        also at other times: a log-sum was saturated.
    last_turn : in, ``turn_bits``
        Only in general builds, as all that follow: see :class:`beltline.hw.sweep.turns.Turns`, which takes the place of
        the expectation unit. Then only the patch delivers values.
    active : out, 1 bit
        An expectation takes a turn.
    begins, ends : in, a bit for each exogenous state of the build
        The first and the last state of each group, see :class:`beltline.hw.sweep.taste.Taste`, which replaces values by
        log-sums before the expectation.
    slope, unit, lift : in; 63, 64 and 6 bits
        Constants of the log-sum.
    nothing : out, 1 bit
        No alternative of a group can afford a choice, and the patch does not compute the point again.
    """

    def __init__(self, parameters: LaneParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        ports = parameters.ports
        outside: tuple[str, ...] = ("go", "half", "states", "weight_write", "weight_row", "weight_column", "data")
        if build.general:
            outside += ("begins", "ends", *CONSTANTS)
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
                **({"nothing": Out(1), "last_turn": In(build.turn_bits), "active": Out(1)} if build.general else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m, self.parameters.build.multiplier)
        parameters, build = self.parameters, self.parameters.build
        expectation = Turns(parameters.turns) if build.general else Expectation(parameters.expectation)
        m.submodules.expectation = expectation
        # Delayed to the clock in which the memory returns the value.
        patched = p.valid(p.input(self.patch_valid), READ_LATENCY)
        patched_point = p.delay(p.input(self.patch_point), READ_LATENCY).value
        late_valid = p.valid(p.input(self.check_valid), SHIFT_CLOCKS)
        late_point = p.delay(p.input(Cat(self.check_point, self.check_note)), SHIFT_CLOCKS).value
        point_in = Signal(build.point_bits + 1)
        value, value_valid = expectation.value, expectation.value_valid
        between = 0
        if build.general:
            m.submodules.taste = taste = Taste(parameters.taste)
            between = parameters.taste.latency
            again = p.delay(p.input(point_in), between).value[-1]
            m.d.comb += [
                taste.count.eq(self.states),
                taste.clear.eq(self.go),
                *(getattr(taste, name).eq(getattr(self, name)) for name in ("begins", "ends", *CONSTANTS)),
                expectation.value.eq(taste.largest),
                expectation.value_valid.eq(taste.largest_valid),
                self.nothing.eq(taste.nothing & ~again),
            ]
            value, value_valid = taste.value, taste.value_valid
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
        stored, of_point = Signal(build.point_bits + 1), Signal(build.point_bits + 1)
        if isinstance(expectation, Turns):
            m.d.comb += [
                expectation.last_turn.eq(self.last_turn),
                expectation.tag.eq(p.delay(p.input(point_in), between).value),
                of_point.eq(expectation.ev_tag),
                self.active.eq(expectation.active),
            ]
        else:
            # The pipeline gives the point with its first expected value; a register holds it for the others.
            late = p.delay(p.input(point_in), between + parameters.expectation.latency).value
            m.d.comb += of_point.eq(Mux(expectation.ev_state == 0, late, stored))
        row = Signal(range(parameters.rows), reset_less=True)
        ev = Signal(WIDTH, reset_less=True)
        m.d.sync += [
            stored.eq(of_point),
            self.write.eq(expectation.ev_valid),
            self.word.eq(of_point),
            row.eq(Cat(of_point[ROW_SHIFT:][: build.local_bits], expectation.ev_state, ~self.half)),
            ev.eq(expectation.ev),
            self.lost.eq(expectation.ev_valid & expectation.saturated & ~of_point[-1]),
        ]
        m.d.comb += [self.row.eq(row), self.ev.eq(ev)]
        if build.general:
            with m.If(taste.over & ~again):
                m.d.sync += self.lost.eq(1)
        return m
