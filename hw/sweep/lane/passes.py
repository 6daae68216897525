"""The passes of a sweep over a lane, one after the other."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.sweep.lane.parameters import MOST_SHIFT, LaneParameters


class Passes(wiring.Component):
    """A prologue is a patch; a sweep is a check, a walk and a patch, or where nothing is checked a walk and a patch.

    A walk begins a clock behind ``checked``, and a patch in the first clock in which the walk is not busy. ``done``
    rises 2 clocks behind the first one in which the last pass is not busy, or 3 behind ``checked`` where it is a check;
    and not before :attr:`LaneParameters.settle` + 2 clocks behind the last ``works``.

    Attributes
    ----------
    go, prologue, cold, fixed, seek, points, count
        In: as those of :class:`beltline.hw.sweep.lane.lane.Lane`.
    checked
        In: the last result of the check.
    any_mark
        In, a clock behind ``checked``: a state has lost its choice.
    moved
        In: the walk gives a state another choice.
    walk_busy, patch_busy
        In: the pass is under way, from the clock behind its start.
    works
        In: a result of the check, or a state of the patch, is on its way to the expectation unit.
    start_check, start_walk, start_patch
        Out: the pass begins.
    checking, walking, patching
        Out: the pass is under way.
    unchecked
        Out: nothing is checked in this sweep.
    done
        Out: as that of the lane.
    """

    def __init__(self, parameters: LaneParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        super().__init__(
            {
                **{name: In(1) for name in ("go", "prologue", "cold", "fixed", "seek")},
                "points": In(build.point_bits + 1),
                "count": In(build.position_bits + 1),
                **{name: In(1) for name in ("checked", "any_mark", "moved", "walk_busy", "patch_busy", "works")},
                **{name: Out(1) for name in ("start_check", "start_walk", "start_patch")},
                **{name: Out(1) for name in ("checking", "walking", "patching", "unchecked")},
                "done": Out(1, init=1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # How many choices have moved in this sweep, and whether the next one is without a check.
        moves = Signal(self.parameters.build.position_bits + 1)
        restless, unchecks = Signal(), Signal()
        with m.If(self.go):
            m.d.sync += [moves.eq(0), self.unchecked.eq(unchecks)]
        with m.Elif(self.moved):
            m.d.sync += moves.eq(moves + 1)
        m.d.sync += restless.eq(moves + self.count[MOST_SHIFT:] >= self.count)
        m.d.comb += unchecks.eq(~self.prologue & (self.cold | self.seek | (restless & ~self.fixed)))

        settling = Signal(range(self.parameters.settle + 1))
        with m.If(self.works):
            m.d.sync += settling.eq(self.parameters.settle)
        with m.Elif(settling != 0):
            m.d.sync += settling.eq(settling - 1)
        with m.FSM():
            with m.State("IDLE"), m.If(self.go & (self.points != 0)):
                m.d.sync += self.done.eq(0)
                with m.If(self.prologue):
                    m.d.comb += self.start_patch.eq(1)
                    m.d.sync += self.patching.eq(1)
                    m.next = "PATCH"
                with m.Elif(unchecks):
                    m.d.comb += self.start_walk.eq(1)
                    m.d.sync += self.walking.eq(1)
                    m.next = "WALK"
                with m.Else():
                    m.d.comb += self.start_check.eq(1)
                    m.d.sync += self.checking.eq(1)
                    m.next = "CHECK"
            with m.State("CHECK"), m.If(self.checked):
                m.d.sync += self.checking.eq(0)
                m.next = "JUDGE"
            with m.State("JUDGE"):
                with m.If(self.any_mark):
                    m.d.comb += self.start_walk.eq(1)
                    m.d.sync += self.walking.eq(1)
                    m.next = "WALK"
                with m.Else():
                    m.next = "SETTLE"
            with m.State("WALK"), m.If(~self.walk_busy):
                m.d.sync += self.walking.eq(0)
                with m.If(self.seek):
                    m.next = "SETTLE"
                with m.Else():
                    m.d.comb += self.start_patch.eq(1)
                    m.d.sync += self.patching.eq(1)
                    m.next = "PATCH"
            with m.State("PATCH"), m.If(~self.patch_busy):
                m.d.sync += self.patching.eq(0)
                m.next = "SETTLE"
            with m.State("SETTLE"), m.If(settling == 0):
                m.d.sync += self.done.eq(1)
                m.next = "IDLE"
        return m
