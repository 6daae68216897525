"""The states that a round looks at, and the bracket of each."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.memory.queue import Queue
from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.scan.parameters import AHEAD_JOBS, AHEAD_STATES, BRACKET_CLOCKS, ScanParameters


class Brackets(wiring.Component):
    """Passes over points ``2**level`` modulo ``2**(level + 1)``, or over the others of level 0, a state a clock.

    Where no choice was written since a round looked at all of them and found none further from the next than a point,
    only the first point and the last one, which have points beside the lane, are looked at.

    Level ``point_shift``, ``2**point_shift`` being the points of a full lane, is its first point. Where a round
    divides, its passes go from there down to level 0; each begins when all results of the one before have been written.

    Attributes
    ----------
    start, divide, odd
        In: ``start`` begins a round, which divides, or else is over the odd points or the even ones; ``divide`` and
        ``odd`` stand to its end. It must not come while one is under way.
    points, states, last_state, point_shift, last_position
        In: of the lane, standing; ``last_position`` is the number of state 0 of the last point.
    write
        In: a choice of the lane is written.
    below, above
        In: the choices of the points beside the lane, of each exogenous state, standing.
    own_address, below_address, above_address
        Out: of a state, and of those at the points a distance below and above.
    own, below_data, above_data
        In: their choices, ``READ_LATENCY`` later.
    valid, job
        Out: a bracket whose candidates are to be evaluated.
    pop
        In: its last candidates have been asked for.
    result
        In: the result of a bracket has been written.
    busy
        Out: from the clock behind ``start``.
    crossed
        Out: a choice is below that of the point before, in a round that does not divide; from the state on.
    """

    def __init__(self, parameters: ScanParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        choices = build.index_bits << build.state_bits
        position = build.position_bits
        super().__init__(
            {
                **{name: In(1) for name in ("start", "divide", "odd", "pop", "result", "write")},
                "points": In(build.point_bits + 1),
                "states": In(5),
                "last_state": In(build.state_bits),
                "point_shift": In(range(build.point_bits + 1)),
                "last_position": In(position),
                "below": In(choices),
                "above": In(choices),
                **{f"{name}_address": Out(position) for name in ("own", "below", "above")},
                **{name: In(build.index_bits) for name in ("own", "below_data", "above_data")},
                "valid": Out(1),
                "job": Out(parameters.job),
                "busy": Out(1),
                "crossed": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        build = self.parameters.build
        m.submodules.jobs = jobs = Queue(self.parameters.job.size, AHEAD_STATES)

        # A pass: where it begins, then a state a clock as long as there is room for brackets in the queue.
        level, from_odd = Signal.like(self.point_shift), Signal()
        distance, stride = Signal(build.point_bits + 1), Signal(build.position_bits)
        sets, begins, running, active, step = Signal(), Signal(), Signal(), Signal(), Signal()
        waiting, flying = Signal(range(AHEAD_STATES + 1)), Signal(range(2 * AHEAD_JOBS))
        point, next_point = Signal(build.point_bits + 2), Signal(build.point_bits + 2)
        position, following, state = Signal(build.position_bits), Signal(build.position_bits), Signal(build.state_bits)
        begin_point, begin_position = Mux(from_odd, distance, 0), Mux(from_odd, stride, 0)
        ended = Signal()
        # Choices that rise by a point at most, and a round that looks at the ends only.
        smooth, rough, ends = Signal(), Signal(), Signal()
        last_point = Signal.like(self.points)
        m.d.comb += last_point.eq(self.points - 1)
        m.d.comb += [
            step.eq(active & (waiting != AHEAD_STATES)),
            ended.eq(running & ~active & (waiting == 0) & (flying == 0)),
        ]
        m.d.sync += [distance.eq(1 << level), stride.eq(self.states << level), begins.eq(sets), sets.eq(0)]
        with m.If(begins):
            m.d.sync += [
                point.eq(begin_point),
                next_point.eq(begin_point + (distance << 1)),
                position.eq(begin_position),
                following.eq(begin_position + (stride << 1)),
                state.eq(0),
                active.eq(begin_point < self.points),
                running.eq(1),
            ]
            with m.If(ends):
                # The parity of the last point is that of the round, or there is none behind the first.
                also_last = last_point[0] == from_odd
                m.d.sync += [
                    point.eq(Mux(from_odd, last_point, 0)),
                    next_point.eq(Mux(from_odd | ~also_last | (last_point == 0), self.points, last_point)),
                    position.eq(Mux(from_odd, self.last_position, 0)),
                    following.eq(self.last_position),
                    active.eq(~from_odd | also_last),
                ]
        with m.Elif(step):
            m.d.sync += [position.eq(position + 1), state.eq(state + 1)]
            with m.If(state == self.last_state):
                m.d.sync += [
                    point.eq(next_point),
                    next_point.eq(next_point + (distance << 1)),
                    position.eq(following),
                    following.eq(following + (stride << 1)),
                    state.eq(0),
                    active.eq(next_point < self.points),
                ]
        with m.If(ended):
            m.d.sync += running.eq(0)
            with m.If(~self.divide & ~ends & ~rough):
                m.d.sync += smooth.eq(1)
            with m.If(self.divide & (level != 0)):
                m.d.sync += [level.eq(level - 1), from_odd.eq(1), sets.eq(1)]
            with m.Else():
                m.d.sync += self.busy.eq(0)
        with m.If(self.start):
            m.d.sync += [
                level.eq(Mux(self.divide, self.point_shift, 0)),
                from_odd.eq(self.odd & ~self.divide),
                sets.eq(1),
                self.busy.eq(1),
                self.crossed.eq(0),
                rough.eq(0),
                ends.eq(smooth & ~self.divide),
            ]

        m.d.comb += [
            self.own_address.eq(position),
            self.below_address.eq(position - stride),
            self.above_address.eq(position + stride),
        ]
        of = Signal(self.parameters.state)
        m.d.comb += [of.position.eq(position), of.point.eq(point), of.state.eq(state)]
        job, empty, crossed, steep = self._bracket(m, p, of, point == 0, point + distance >= self.points)
        valid = p.valid(p.input(step), BRACKET_CLOCKS)
        push = valid & ~empty
        with m.If(valid & crossed):
            m.d.sync += self.crossed.eq(1)
        with m.If(self.write | (valid & steep)):
            m.d.sync += rough.eq(1)
        with m.If(self.write):
            m.d.sync += smooth.eq(0)
        m.d.comb += [
            jobs.push.eq(push),
            jobs.data.eq(job),
            jobs.pop.eq(self.pop),
            self.valid.eq(jobs.head_valid),
            self.job.eq(jobs.head),
        ]
        m.d.sync += [
            waiting.eq(waiting + step - (valid & empty) - self.pop),
            flying.eq(flying + push - self.result),
        ]
        return m

    def _bracket(
        self, m: Module, p: Pipeline, of: Any, at_begin: Value, at_end: Value
    ) -> tuple[Value, Value, Value, Value]:
        """The state and its bracket ``BRACKET_CLOCKS`` later; whether all of it was compared; whether choices cross.

        And whether the choice beside it in the lane is neither the same nor the next.
        """
        build = self.parameters.build
        state, first, last = (p.delay(p.input(word), READ_LATENCY) for word in (of.state, at_begin, at_end))
        beside = [side.word_select(state.value, build.index_bits) for side in (self.below, self.above)]
        own = p.register(self.own, READ_LATENCY)
        below = p.register(Mux(first.value, beside[0], self.below_data), READ_LATENCY)
        above = p.register(Mux(last.value, beside[1], self.above_data), READ_LATENCY)
        # Of two choices, which is higher, and by how much.
        of_below = p.compute(lambda a, b: (a - b).as_signed(), below, own)
        of_above = p.compute(lambda a, b: (a - b).as_signed(), above, own)
        rises = p.compute(lambda a, b: a >= b, above, below)
        time = of_below.time
        b, o, a = (p.delay(word, 1).value for word in (below, own, above))
        up = rises.value
        lowest = Mux(of_below.value < 0, Mux(up, b, a), Mux(of_above.value < 0, a, o))
        highest = Mux(of_below.value < 0, Mux(of_above.value < 0, o, a), Mux(up, a, b))
        near = Cat(*((d.value >= -1) & (d.value <= 1) for d in (of_below, of_above))).all()
        low = p.register(Mux(self.divide, Mux(up, b, a), lowest), time)
        high = p.register(Mux(self.divide, Mux(up, a, b), highest), time)
        empty = p.register(near & ~self.divide, time)
        crossed = p.register(((of_below.value > 0) | (of_above.value < 0)) & ~self.divide, time)
        at_first, at_last = (p.delay(flag, time - flag.time).value for flag in (first, last))
        of_lower, of_upper = of_below.value, of_above.value
        steep = p.register(
            (~at_first & ((of_lower > 0) | (of_lower < -1))) | (~at_last & ((of_upper < 0) | (of_upper > 1))), time
        )
        assert low.time == BRACKET_CLOCKS
        job = Signal(self.parameters.job)
        m.d.comb += [
            job.of.eq(p.delay(p.input(of.as_value()), low.time).value),
            job.own.eq(p.delay(own, low.time - own.time).value),
            job.lo.eq(low.value),
            job.hi.eq(high.value),
        ]
        return job.as_value(), empty.value, crossed.value, steep.value
