"""The new value of every state of a lane, by how much it differs from the one before, and the largest difference."""

from __future__ import annotations

from amaranth.hdl import Array, Const, Module, Mux, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.decision import clamped
from beltline.hw.arithmetic.norm import Norm, NormParameters
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline, Term, Timed
from beltline.hw.sweep.lane.parameters import SHIFT_CLOCKS, LaneParameters


class Values(wiring.Component):
    """Adds the shifts of a state's exogenous state to its value, and to the value before; cuts both to 64 bits.

    Every state's value comes once, from the check or from the walk, never from both in a clock; a value a clock.

    Attributes
    ----------
    go, seek
        In: ``go`` begins a pass, and clears the norm unless ``seek``.
    check_valid, check_state, check_position, check_value, check_old
        In: a result of the check that stays.
    walk_valid, walk_state, walk_position, walk_value, walk_old
        In: a result of the walk.
    shift_after, shift_before
        In: what is added, signed 64 bits for each exogenous state.
    written, place, new, beyond
        Out, ``SHIFT_CLOCKS`` later: a value, of state number ``place``, and whether it or the one before was cut.
    retired, norm
        Out: ``written`` a clock later; the largest difference between a value and the one before, both cut, in which a
        value counts :attr:`beltline.hw.arithmetic.norm.NormParameters.latency` clocks behind its ``retired``.
    again, clear
        In, of a build with ``proof``: the check's result counts once more for the norm, ``check_value`` being the
        value that was written; ``clear`` clears the norm before the first of them.
    keeps, check_none, walk_none
        In, of a build with alternatives: exogenous states whose value is that from before; the result is of a state
        that can afford nothing, and is not shifted.
    sample_place, refers
        In: as those of :class:`beltline.hw.sweep.lane.lane.Lane`.
    sample_valid, sample_state, sample
        Out: the difference, its low 64 bits, at a state of the reference point, ``SHIFT_CLOCKS`` + 3 clocks behind the
        result.
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
            "seek",
            "shift_after",
            "shift_before",
            "retired",
            "norm",
            "sample_place",
            "refers",
        )
        if build.alternatives:
            outside += ("keeps",)
        super().__init__(
            {
                **{f"{unit}_{name}": member for unit in ("check", "walk") for name, member in results.items()},
                **{name: ports[name] for name in (*outside, "sample_valid", "sample_state", "sample")},
                "written": Out(1),
                "place": Out(build.position_bits),
                "new": Out(signed(WIDTH)),
                "beyond": Out(1),
                **({"again": In(1), "clear": In(1)} if build.proof else {}),
                **({"check_none": In(1), "walk_none": In(1)} if build.alternatives else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        m.submodules.norm = norm = Norm(NormParameters())
        state, position, value, before = (
            Mux(self.walk_valid, getattr(self, f"walk_{name}"), getattr(self, f"check_{name}"))
            for name in ("state", "position", "value", "old")
        )
        of_state = p.input(state)
        shift_after, shift_before = (
            p.register(flat.word_select(of_state.value, WIDTH).as_signed(), 0)
            for flat in (self.shift_after, self.shift_before)
        )
        clear, again = self.go & ~self.seek, Const(0, 1)
        if self.parameters.build.proof:
            # What was written has its shift.
            unshifted: Value = self.again
            if self.parameters.build.alternatives:
                unshifted = unshifted | Mux(self.walk_valid, self.walk_none, self.check_none)
                value = Mux(Array(self.keeps)[state], before, value)
            shift_after = Timed(
                shift_after.value & (~p.register(unshifted, 0).value).replicate(WIDTH).as_signed(), shift_after.time
            )
            clear, again = clear | self.clear, p.valid(p.input(self.again), SHIFT_CLOCKS)
        after = p.total([Term(p.register(value, 0)), Term(shift_after)], WIDTH + 1, signed=True)
        old = p.total([Term(p.register(before, 0)), Term(shift_before)], WIDTH + 1, signed=True)
        assert after.time == SHIFT_CLOCKS
        new, new_beyond = clamped(after.value)
        old_word, old_beyond = clamped(old.value)
        valid = p.valid(p.input(self.walk_valid | self.check_valid), after.time)
        m.d.comb += [
            self.written.eq(valid & ~again),
            self.place.eq(p.delay(p.input(position), after.time).value),
            self.new.eq(new),
            self.beyond.eq(new_beyond | old_beyond),
            norm.clear.eq(clear),
            self.norm.eq(norm.norm),
        ]
        m.d.sync += [
            norm.after.eq(self.new),
            norm.before.eq(old_word),
            norm.valid.eq(valid),
            self.retired.eq(self.written),
        ]

        # The change at the reference point.
        of_point = p.register(self.place - p.delay(of_state, after.time).value, after.time)
        change = p.total(
            [Term(Timed(norm.after, of_point.time)), Term(Timed(norm.before, of_point.time), negative=True)], WIDTH
        )
        at_reference = p.register(of_point.value == self.sample_place, of_point.time)
        assert change.time == at_reference.time + 1
        m.d.sync += [
            self.sample_valid.eq(
                p.valid(Timed(norm.valid, of_point.time), at_reference.time) & at_reference.value & self.refers
            ),
            self.sample_state.eq(p.delay(of_state, at_reference.time).value),
        ]
        m.d.comb += self.sample.eq(change.value)
        return m
