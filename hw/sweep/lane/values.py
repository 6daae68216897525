"""New values of a lane's states: shifts, saturation, the norm, and the changes at the reference point."""

from __future__ import annotations

from amaranth.hdl import Array, Module, Mux, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.decision import clamped
from beltline.hw.arithmetic.norm import Norm, NormParameters
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline, Term, Timed
from beltline.hw.sweep.lane.parameters import SHIFT_CLOCKS, LaneParameters


class Values(wiring.Component):
    """Adds a shift to each new value, saturates the sum to 64 bits, and computes the norm of a lane.

    For a state with exogenous state ``s`` the new value is ``value + shift_after[s]``, and the old one with which it is
    compared is ``old + shift_before[s]``, both saturated to signed 64 bits. The norm is the largest absolute difference
    of the two in a sweep (:class:`beltline.hw.arithmetic.norm.Norm`).

    Latency: ``SHIFT_CLOCKS`` to ``written``. Throughput: a value a clock. Contract: fixed latency, no ready. Every
    state's value comes once, from the check or from the local search, and never from both in one
    clock.

    Attributes
    ----------
    go : in, 1 bit
        Begins a pass, and clears the norm.
    check_valid : in, 1 bit
        High in clocks with a result of the check whose choice is kept.
    check_state, check_position : in, ``state_bits`` and ``position_bits``
        Its exogenous state, and the number of the state in the lane.
    check_value, check_old : in, signed 64 bits each
        Its new value, and the value before the sweep.
    search_valid, search_state, search_position, search_value, search_old : in
        The same of a result of the local search.
    shift_after, shift_before : in, signed 64 bits for each exogenous state
        Added to new and to old values.
    written : out, 1 bit
        High in clocks with a value to write.
    place : out, ``position_bits``
        The number of its state in the lane.
    new : out, signed 64 bits
        The value.
    beyond : out, 1 bit
        The value, or the old one, was saturated.
    retired : out, 1 bit
        ``written`` a clock later.
    norm : out, 64 bits
        The largest difference so far; it includes a value :attr:`beltline.hw.arithmetic.norm.NormParameters.latency`
        clocks after its ``retired``.
    sample_place, has_reference : in, ``position_bits`` and 1 bit
        The number of state 0 of the reference point, and whether that is in this lane.
    sample_valid, sample_state : out, 1 bit and ``state_bits``
        High in clocks with a state of the reference point, ``SHIFT_CLOCKS + 3`` clocks after its result; its exogenous
        state.
    sample : out, signed 64 bits
        Its new value minus its old one, low 64 bits.
    again : in, 1 bit
        The result of the check is a value that was already written. It counts for the norm, without a shift, and is not
        written again.
    clear : in, 1 bit
        Clears the norm before the first of these values.
    keeps : in, a bit for each exogenous state of the build
        Only in general builds: the state keeps its old value, a table of values, without a shift.
    check_none, search_none : in, 1 bit each
        Only in general builds: the state can afford no candidate, and its value is not shifted.
    """

    def __init__(self, parameters: LaneParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        results = {
            "valid": In(1),
            "state": In(build.state_bits),
            "position": In(build.position_bits),
            "value": In(signed(WIDTH)),
            "old": In(signed(WIDTH)),
        }
        ports = parameters.ports
        outside: tuple[str, ...] = (
            "go",
            "shift_after",
            "shift_before",
            "retired",
            "norm",
            "sample_place",
            "has_reference",
            "sample_valid",
            "sample_state",
            "sample",
        )
        if build.general:
            outside += ("keeps",)
        super().__init__(
            {
                **{f"{unit}_{name}": member for unit in ("check", "search") for name, member in results.items()},
                **{name: ports[name] for name in outside},
                "written": Out(1),
                "place": Out(build.position_bits),
                "new": Out(signed(WIDTH)),
                "beyond": Out(1),
                "again": In(1),
                "clear": In(1),
                **({"check_none": In(1), "search_none": In(1)} if build.general else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m, self.parameters.build.multiplier)
        m.submodules.norm = norm = Norm(NormParameters())
        state, position, value, before = (
            Mux(self.search_valid, getattr(self, f"search_{name}"), getattr(self, f"check_{name}"))
            for name in ("state", "position", "value", "old")
        )
        of_state = p.input(state)
        shift_after, shift_before = (
            p.register(flat.word_select(of_state.value, WIDTH).as_signed(), 0)
            for flat in (self.shift_after, self.shift_before)
        )
        # A value that was already written has its shift.
        unshifted: Value = self.again
        if self.parameters.build.general:
            keeps = Array(self.keeps)[state]
            unshifted = unshifted | keeps | Mux(self.search_valid, self.search_none, self.check_none)
            value = Mux(keeps, before, value)
        shift_after = Timed(
            shift_after.value & (~p.register(unshifted, 0).value).replicate(WIDTH).as_signed(), shift_after.time
        )
        again = p.valid(p.input(self.again), SHIFT_CLOCKS)
        after = p.total([Term(p.register(value, 0)), Term(shift_after)], WIDTH + 1, signed=True)
        old = p.total([Term(p.register(before, 0)), Term(shift_before)], WIDTH + 1, signed=True)
        assert after.time == SHIFT_CLOCKS
        new, new_beyond = clamped(after.value)
        old_word, old_beyond = clamped(old.value)
        valid = p.valid(p.input(self.search_valid | self.check_valid), after.time)
        m.d.comb += [
            self.written.eq(valid & ~again),
            self.place.eq(p.delay(p.input(position), after.time).value),
            self.new.eq(new),
            self.beyond.eq(new_beyond | old_beyond),
            norm.clear.eq(self.go | self.clear),
            self.norm.eq(norm.norm),
        ]
        m.d.sync += [
            norm.after.eq(self.new),
            norm.before.eq(old_word),
            norm.valid.eq(valid),
            self.retired.eq(self.written),
        ]

        # The change of value at the states of the reference point.
        of_point = p.register(self.place - p.delay(of_state, after.time).value, after.time)
        change = p.total(
            [Term(Timed(norm.after, of_point.time)), Term(Timed(norm.before, of_point.time), negative=True)], WIDTH
        )
        at_reference = p.register(of_point.value == self.sample_place, of_point.time)
        assert change.time == at_reference.time + 1
        m.d.sync += [
            self.sample_valid.eq(
                p.valid(Timed(norm.valid, of_point.time), at_reference.time) & at_reference.value & self.has_reference
            ),
            self.sample_state.eq(p.delay(of_state, at_reference.time).value),
        ]
        m.d.comb += self.sample.eq(change.value)
        return m
