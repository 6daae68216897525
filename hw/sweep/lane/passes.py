"""The passes of a sweep over a lane, one after the other."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.sweep.lane.parameters import MOST_SHIFT, LaneParameters

_OF_PROOF = {
    **{name: In(1) for name in ("round", "finish", "scan_busy", "better")},
    **{name: Out(1) for name in ("start_scan", "scanning", "repairing", "repaired", "met", "settled")},
}


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
    round, finish, scan_busy, better
        In, of a build with ``proof``: a round begins; the proof has ended; a scan is under way, from the clock behind
        its start; it has found better choices.
    start_scan, scanning, repairing, repaired, met, settled
        Out, of a build with ``proof``: a scan begins, and is under way; a walk of its better choices is under way;
        there has been one in this sweep; the lane waits for the next round, or for the end of the proof; ``done`` rises
        behind this clock.
    """

    def __init__(self, parameters: LaneParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        self._proves = build.proof
        super().__init__(
            {
                **{name: In(1) for name in ("go", "prologue", "cold", "fixed", "seek")},
                "points": In(build.point_bits + 1),
                "count": In(build.position_bits + 1),
                **{name: In(1) for name in ("checked", "any_mark", "moved", "walk_busy", "patch_busy", "works")},
                **{name: Out(1) for name in ("start_check", "start_walk", "start_patch")},
                **{name: Out(1) for name in ("checking", "walking", "patching", "unchecked")},
                "done": Out(1, init=1),
                **(_OF_PROOF if build.proof else {}),
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
        if self._proves:
            # Walks of all states would leave again what has been repaired.
            with m.If(self.repairing):
                m.d.sync += moves.eq(0)
            with m.If(self.go):
                m.d.sync += self.repaired.eq(0)
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
                    if self._proves:
                        with m.If(~self.fixed):
                            m.next = "MEET"
            with m.State("WALK"), m.If(~self.walk_busy):
                m.d.sync += self.walking.eq(0)
                if self._proves:
                    m.next = "MEET"
                else:
                    with m.If(self.seek):
                        m.next = "SETTLE"
                    with m.Else():
                        m.d.comb += self.start_patch.eq(1)
                        m.d.sync += self.patching.eq(1)
                        m.next = "PATCH"
            if self._proves:
                self._rounds(m)
            with m.State("PATCH"), m.If(~self.patch_busy):
                m.d.sync += self.patching.eq(0)
                m.next = "SETTLE"
            with m.State("SETTLE"), m.If(settling == 0):
                if self._proves:
                    m.d.comb += self.settled.eq(1)
                m.d.sync += self.done.eq(1)
                m.next = "IDLE"
        return m

    def _rounds(self, m: Module) -> None:
        """States of a proof: a scan, and a walk of what it has found, until the lanes meet again."""
        with m.State("MEET"):
            m.d.comb += self.met.eq(1)
            with m.If(self.round):
                m.d.comb += self.start_scan.eq(1)
                m.d.sync += self.scanning.eq(1)
                m.next = "SCAN"
            with m.Elif(self.finish & (self.any_mark | self.unchecked | self.repaired)):
                m.d.comb += self.start_patch.eq(1)
                m.d.sync += self.patching.eq(1)
                m.next = "PATCH"
            with m.Elif(self.finish):
                m.next = "SETTLE"
        with m.State("SCAN"), m.If(~self.scan_busy):
            m.d.sync += self.scanning.eq(0)
            with m.If(self.better):
                m.d.comb += self.start_walk.eq(1)
                m.d.sync += [self.walking.eq(1), self.repairing.eq(1), self.repaired.eq(1)]
                m.next = "REPAIR"
            with m.Else():
                m.next = "MEET"
        with m.State("REPAIR"), m.If(~self.walk_busy):
            m.d.sync += [self.walking.eq(0), self.repairing.eq(0)]
            m.next = "MEET"
