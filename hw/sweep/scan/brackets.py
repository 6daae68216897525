"""The states of a scan, and the bracket of candidates of each."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.memory.queue import Queue
from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.scan.parameters import AHEAD_JOBS, AHEAD_STATES, ScanParameters


class Brackets(wiring.Component):
    """Reads the choices of every second point and of its neighbours, and outputs the brackets that must be evaluated.

    The bracket of a state reaches from the lowest to the highest of three choices: its own, and those of the points a
    distance ``2**level`` below and above it. If both neighbours' choices are at most a point from its own, check or
    local search has already compared the whole bracket, and the state is skipped.

    A round over odd or even points is one pass with level 0. Divide and conquer (``divide``) has two rounds. That over
    the lane's first point (``odd``) is one pass with level ``point_shift``. The other has a pass for each level from
    ``point_shift - 1`` down to 0, with the points ``2**level`` modulo ``2**(level + 1)``. In both a bracket reaches
    from one neighbour's choice to the other's, and a state is skipped only if both are its own choice. A pass begins
    when all results of the one before have been written.

    If a round has seen all choices of the lane rise by at most a point, and none was written since, a round reads only
    the lane's first and last point, whose neighbours are in other lanes.

    If lanes are ``sharing`` the brackets at the ends of the grid, every lane reads the states of its last and of its
    first point, one a clock. Those of the last and of the first point of the grid are sent to other lanes; the brackets
    that this lane receives are output in place of its own. If they are ``confirmed``, rounds skip the brackets of these
    two points until a choice of the lane is written.

    In a general build the candidates of each state cut its bracket: the choice of the point below is replaced by
    the state's lowest candidate if that is higher, and that of the point above by its highest candidate if that is
    lower.

    Latency: :attr:`ScanParameters.bracket_clocks` from addresses to the bracket, and two more through the queue.
    Throughput: a state in every clock, while the queue of :data:`AHEAD_STATES` brackets has space. Widths are those of
    :class:`beltline.hw.sweep.parameters.SweepParameters`.

    Attributes
    ----------
    start : in, 1 bit
        Begins a round. It must not be high while one is in progress.
    divide, odd : in, 1 bit each
        The round is one of divide and conquer, over the first point (``odd``) or the others; or else over odd or even
        points. They must not change during the round.
    points, states, last_state : in, ``point_bits + 1``, ``count_bits``, ``state_bits``
        Points of the lane, ``N_z``, and ``N_z - 1``. These and the next two must not change during a run.
    point_shift : in, 0 to ``point_bits``
        A full lane has ``2**point_shift`` points.
    last_position : in, ``position_bits``
        The number of state 0 of the lane's last point.
    write : in, 1 bit
        A choice of the lane is written.
    below, above : in, ``index_bits`` for each of ``2**state_bits`` exogenous states
        The choices of the points just outside the lane, see :class:`beltline.hw.sweep.scan.borders.Borders`.
    own_address, below_address, above_address : out, ``position_bits`` each
        Numbers of a state, and of the states at the distance below and above it.
    own, below_data, above_data : in, ``index_bits`` each
        Their choices, ``READ_LATENCY`` later.
    least, most : in, ``index_bits`` each
        Only in general builds: the lowest and the highest candidate of the state, with ``own``.
    valid, job : out, 1 bit and :attr:`ScanParameters.job`
        The oldest bracket whose candidates must be evaluated.
    pop : in, 1 bit
        All its candidates have been requested.
    result : in, 1 bit
        The result of a bracket has been written.
    busy : out, 1 bit
        High from the clock after ``start`` to the end of the round.
    crossed : out, 1 bit
        In this round, which does not divide, a choice is below that of the point before it. It remains high until the
        next round.
    forced : in, a bit for each exogenous state of the build
        Only in general builds: the state has a single candidate, so its brackets need no evaluation. Such a state is
        skipped, if the one before it was not.
    sharing, confirmed : in, 1 bit each
        Only in general builds, as the ports below, from :class:`beltline.hw.sweep.scan.rounds.Rounds`
        and constant during a round: the lanes share brackets in this round; they have found none with a better
        candidate.
    at_begin, at_end : in, 1 bit each
        The lane's first point is that of the grid; its last point is that of the grid.
    send, send_job : out, 1 bit and :attr:`ScanParameters.job`
        A bracket for another lane.
    send_address : out, ``position_bits``
        The number of its state, ``READ_LATENCY`` clocks earlier.
    received, received_job : in, 1 bit and :attr:`ScanParameters.job`
        A bracket from another lane.
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
                "states": In(build.count_bits),
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
                **(self._of_general() if build.general else {}),
            }
        )

    def _of_general(self) -> dict[str, wiring.Member]:
        """Return the ports that only a general build has."""
        return {
            "forced": In(self.parameters.build.states),
            **{name: In(self.parameters.build.index_bits) for name in ("least", "most")},
            **{name: In(1) for name in ("sharing", "confirmed", "at_begin", "at_end", "received")},
            "received_job": In(self.parameters.job),
            "send": Out(1),
            "send_job": Out(self.parameters.job),
            "send_address": Out(self.parameters.build.position_bits),
        }

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
        # `smooth`: choices rise by at most a point. `ends`: this round reads only the first and the last point.
        smooth, rough, ends = Signal(), Signal(), Signal()
        last_point = Signal.like(self.points)
        m.d.comb += last_point.eq(self.points - 1)
        first_state, jumps, point_ends = self._states(state)
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
                state.eq(first_state),
                active.eq(begin_point < self.points),
                running.eq(1),
            ]
            if build.general:
                m.d.sync += position.eq(begin_position + first_state)
            with m.If(ends):
                # The last point belongs to this round if its parity is that of the round.
                also_last = last_point[0] == from_odd
                m.d.sync += [
                    point.eq(Mux(from_odd, last_point, 0)),
                    next_point.eq(Mux(from_odd | ~also_last | (last_point == 0), self.points, last_point)),
                    position.eq(Mux(from_odd, self.last_position, 0)),
                    following.eq(self.last_position),
                    active.eq(~from_odd | also_last),
                ]
                if build.general:
                    m.d.sync += position.eq(Mux(from_odd, self.last_position, 0) + first_state)
        with m.Elif(step):
            m.d.sync += [position.eq(position + 1), state.eq(state + 1)]
            if build.general:
                m.d.sync += [position.eq(position + 1 + jumps), state.eq(state + 1 + jumps)]
            with m.If(point_ends):
                m.d.sync += [
                    point.eq(next_point),
                    next_point.eq(next_point + (distance << 1)),
                    position.eq(following),
                    following.eq(following + (stride << 1)),
                    state.eq(first_state),
                    active.eq(next_point < self.points),
                ]
                if build.general:
                    m.d.sync += position.eq(following + first_state)
        with m.If(ended):
            m.d.sync += running.eq(0)
            with m.If(~self.divide & ~ends & ~rough):
                m.d.sync += smooth.eq(1)
            with m.If(self.divide & ~self.odd & (level != 0)):
                m.d.sync += [level.eq(level - 1), from_odd.eq(1), sets.eq(1)]
            with m.Else():
                m.d.sync += self.busy.eq(0)
        with m.If(self.start):
            m.d.sync += [
                level.eq(Mux(self.divide, self.point_shift - ~self.odd, 0)),
                from_odd.eq(self.odd ^ self.divide),
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
        valid = p.valid(p.input(step), self.parameters.bracket_clocks)
        if build.general:
            empty |= p.delay(p.input(self._skips(m, point, last_point)), self.parameters.bracket_clocks).value
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
        if build.general:
            progress, at = (begins, active, step, running, ended), (point, position, last_point, smooth)
            self._share(m, p, jobs, progress, (waiting, flying), at, push, job, (first_state, point_ends))
        return m

    def _states(self, state: Value) -> tuple[Value, Value, Value]:
        """Return a point's first state, whether the one after ``state`` is skipped, and whether ``state`` is the last.

        A state that has no choice is skipped, but no two states one after the other.
        """
        if not self.parameters.build.general:
            return Const(0), Const(0), state == self.last_state
        first_state = self.forced[0] & (self.last_state != 0)
        jumps = Array(Cat(self.forced, 0)[1:])[state] & (state != self.last_state)
        return first_state, jumps, state + jumps == self.last_state

    def _share(
        self,
        m: Module,
        p: Pipeline,
        jobs: Queue,
        progress: tuple[Signal, ...],
        counts: tuple[Signal, ...],
        at: tuple[Signal, ...],
        push: Value,
        job: Value,
        states: tuple[Value, Value],
    ) -> None:
        """Add what is different in a round of shared brackets; these assignments come last.

        ``progress`` are signals of a pass: it begins, reads states, steps to the next, runs, and has ended. ``counts``
        are the states that wait and the brackets in flight; ``at`` are point and position that are read, the lane's
        last point, and whether the lane is smooth; ``states`` are the first exogenous state that is read, and whether
        the present one is the last.
        """
        first_state, point_ends = states
        begins, active, step, running, ended = progress
        waiting, flying = counts
        point, position, last_point, smooth = at
        # In a round of shared brackets no state waits, and `drain` counts until the last bracket has arrived.
        drain = Signal(range(self.parameters.shared_clocks + 1))
        low, arrives = Signal(), self.received
        with m.If(self.sharing):
            m.d.comb += [
                step.eq(active),
                ended.eq(running & ~active & ~(waiting | flying | drain).any()),
                jobs.push.eq(arrives),
                jobs.data.eq(self.received_job),
            ]
            m.d.sync += [
                waiting.eq(waiting + arrives - self.pop),
                flying.eq(flying + arrives - self.result),
                drain.eq(Mux(active, self.parameters.shared_clocks, drain - (drain != 0))),
                smooth.eq(smooth),
                self.crossed.eq(0),
            ]
            with m.If(begins):
                m.d.sync += [point.eq(last_point), active.eq(1), low.eq(0)]
                m.d.sync += position.eq(self.last_position + first_state)
            with m.Elif(step & point_ends):
                m.d.sync += [point.eq(0), position.eq(first_state), active.eq(~low), low.eq(1)]
        at_end = p.delay(p.input(Mux(low, self.at_begin, self.at_end)), self.parameters.bracket_clocks)
        m.d.comb += [
            self.send.eq(push & self.sharing & at_end.value),
            self.send_job.eq(job),
            self.send_address.eq(p.delay(p.input(position), self.parameters.bracket_clocks - READ_LATENCY).value),
        ]

    def _skips(self, m: Module, point: Value, last_point: Value) -> Value:
        """Return whether the state of this clock is one whose shared bracket was confirmed."""
        skips, unchanged = Signal(), Signal()
        with m.If(self.write):
            m.d.sync += unchanged.eq(0)
        with m.If(self.start):
            m.d.sync += skips.eq(self.confirmed & unchanged & ~self.divide)
            with m.If(self.sharing):
                m.d.sync += unchanged.eq(1)
        # The other point of a bracket must be in this lane, so that its choice is noticed when it is written.
        ends = self.at_end & (point == last_point) & (last_point != 0)
        return skips & ((self.at_begin & (point == 0)) | ends)

    def _bracket(
        self, m: Module, p: Pipeline, of: Any, at_begin: Value, at_end: Value
    ) -> tuple[Value, Value, Value, Value]:
        """Add the computation of a bracket, with latency :attr:`ScanParameters.bracket_clocks`.

        Returns
        -------
        job
            The state with its choice and bracket.
        empty
            Check or local search has compared the whole bracket; in a round that divides, it is the own choice alone.
        crossed
            A choice is below that of the point before it, in a round that does not divide.
        steep
            A choice beside it in the lane is neither the same nor the next one.
        """
        build = self.parameters.build
        state, first, last = (p.delay(p.input(word), READ_LATENCY) for word in (of.state, at_begin, at_end))
        beside = [side.word_select(state.value, build.index_bits) for side in (self.below, self.above)]
        own = p.register(self.own, READ_LATENCY)
        below = p.register(Mux(first.value, beside[0], self.below_data), READ_LATENCY)
        above = p.register(Mux(last.value, beside[1], self.above_data), READ_LATENCY)
        uncut = [own, below, above]
        if build.general:
            least, most = (p.register(side, READ_LATENCY) for side in (self.least, self.most))
            below = p.compute(lambda a, b: Mux(a < b, b, a), below, least)
            above = p.compute(lambda a, b: Mux(a > b, b, a), above, most)
            own = p.delay(own, 1)
        # Differences to the own choice, and which neighbour's choice is higher.
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
        alone = (of_below.value == 0) & (of_above.value == 0)
        empty = p.register(Mux(self.divide, alone, near), time)
        crossed = p.register(((of_below.value > 0) | (of_above.value < 0)) & ~self.divide, time)
        at_first, at_last = (p.delay(flag, time - flag.time).value for flag in (first, last))
        of_lower, of_upper = of_below.value, of_above.value
        if build.general:
            # A step between two choices is steep whether or not bounds cut it: they may cut it for one of its states.
            steps = (p.compute(lambda a, b: (a - b).as_signed(), side, uncut[0]) for side in uncut[1:])
            of_lower, of_upper = (p.delay(step, time - step.time).value for step in steps)
        steep = p.register(
            (~at_first & ((of_lower > 0) | (of_lower < -1))) | (~at_last & ((of_upper < 0) | (of_upper > 1))), time
        )
        assert low.time == self.parameters.bracket_clocks
        job = Signal(self.parameters.job)
        m.d.comb += [
            job.of.eq(p.delay(p.input(of.as_value()), low.time).value),
            job.own.eq(p.delay(own, low.time - own.time).value),
            job.lo.eq(low.value),
            job.hi.eq(high.value),
        ]
        return job.as_value(), empty.value, crossed.value, steep.value
