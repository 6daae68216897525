"""Control of a lane: starts the passes of a sweep one after the other."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.sweep.lane.parameters import MOST_SHIFT, LaneParameters


class Passes(wiring.Component):
    """Starts the passes of a lane one after the other, and reports when the last of them is finished.

    A prologue is a patch. A sweep is a check, then, if states failed it, a local search of these. Without a check
    (``unchecked``) it is a local search of all states. A maximising sweep then waits for the other lanes (``met``), and
    makes a scan in each ``round``, followed by a local search (repair) if the scan found better choices, until
    ``finish``. Then comes a patch, in a general build in every sweep, in others if states were searched.

    Latency: a local search starts a clock after ``checked``. A patch starts in the clock of ``finish``. ``done`` rises
    2 clocks after the first clock in which the last pass is not busy, or 3 clocks after ``checked`` if the last pass is
    a check, and not before :attr:`LaneParameters.settle` + 2 clocks after the last ``works``.

    Attributes
    ----------
    go, prologue, cold, fixed : in, 1 bit each
        ``go`` begins a pass of the kind that the others give, see :class:`beltline.hw.sweep.lane.lane.Lane`.
    points : in, ``point_bits + 1``
        Points of the lane; without any, ``go`` has no effect and ``done`` remains high.
    count : in, ``position_bits + 1``
        States of the lane.
    checked : in, 1 bit
        High in the clock with the last result of the check.
    any_mark : in, 1 bit
        A state failed the check of this sweep; valid from a clock after ``checked`` on.
    moved : in, 1 bit
        High in clocks in which the local search gives a state another choice.
    search_busy, patch_busy : in, 1 bit each
        The local search, or the patch, is in progress, from the clock after its start.
    works : in, 1 bit
        A result of the check, or a state of the patch, enters the pipeline to the expectation unit.
    start_check, start_search, start_patch : out, 1 bit each
        High for a clock: the pass begins.
    checking, searching, patching : out, 1 bit each
        The check, the local search or the patch is in progress.
    unchecked : out, 1 bit
        This sweep has no check.
    done : out, 1 bit
        The lane has finished.
    round, finish : in, 1 bit each
        A round begins; the proof has ended.
    scan_busy : in, 1 bit
        A scan is in progress, from the clock after its start.
    better : in, 1 bit
        The scan found better choices.
    start_scan, scanning : out, 1 bit each
        A scan begins; a scan is in progress.
    repairing, repaired : out, 1 bit each
        A local search from better choices is in progress; there was one in this sweep.
    met : out, 1 bit
        The lane waits for ``round`` or ``finish``.
    settled : out, 1 bit
        ``done`` rises in the next clock.
    """

    def __init__(self, parameters: LaneParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        super().__init__(
            {
                **{name: In(1) for name in ("go", "prologue", "cold", "fixed")},
                "points": In(build.point_bits + 1),
                "count": In(build.position_bits + 1),
                **{name: In(1) for name in ("checked", "any_mark", "moved", "search_busy", "patch_busy", "works")},
                **{name: Out(1) for name in ("start_check", "start_search", "start_patch")},
                **{name: Out(1) for name in ("checking", "searching", "patching", "unchecked")},
                "done": Out(1, init=1),
                **{name: In(1) for name in ("round", "finish", "scan_busy", "better")},
                **{name: Out(1) for name in ("start_scan", "scanning", "repairing", "repaired", "met", "settled")},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # The number of choices that moved in this sweep decides whether the next one has a check.
        moves = Signal(self.parameters.build.position_bits + 1)
        # ``many_moved``: many choices moved in this sweep. ``skips_check``: a sweep that begins now skips the check.
        many_moved, skips_check = Signal(), Signal()
        with m.If(self.go):
            m.d.sync += [moves.eq(0), self.unchecked.eq(skips_check)]
        with m.Elif(self.moved):
            m.d.sync += moves.eq(moves + 1)
        # After a repair the next sweep has a check: a search of every state would return to the wrong peak.
        with m.If(self.repairing):
            m.d.sync += moves.eq(0)
        with m.If(self.go):
            m.d.sync += self.repaired.eq(0)
        m.d.sync += many_moved.eq(moves + self.count[MOST_SHIFT:] >= self.count)
        m.d.comb += skips_check.eq(~self.prologue & (self.cold | (many_moved & ~self.fixed)))

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
                with m.Elif(skips_check):
                    m.d.comb += self.start_search.eq(1)
                    m.d.sync += self.searching.eq(1)
                    m.next = "SEARCH"
                with m.Else():
                    m.d.comb += self.start_check.eq(1)
                    m.d.sync += self.checking.eq(1)
                    m.next = "CHECK"
            with m.State("CHECK"), m.If(self.checked):
                m.d.sync += self.checking.eq(0)
                m.next = "JUDGE"
            with m.State("JUDGE"):
                with m.If(self.any_mark):
                    m.d.comb += self.start_search.eq(1)
                    m.d.sync += self.searching.eq(1)
                    m.next = "SEARCH"
                with m.Else():
                    m.next = "SETTLE"
                    with m.If(~self.fixed):
                        m.next = "MEET"
            with m.State("SEARCH"), m.If(~self.search_busy):
                m.d.sync += self.searching.eq(0)
                m.next = "MEET"
            self._rounds(m)
            with m.State("PATCH"), m.If(~self.patch_busy):
                m.d.sync += self.patching.eq(0)
                m.next = "SETTLE"
            with m.State("SETTLE"), m.If(settling == 0):
                m.d.comb += self.settled.eq(1)
                m.d.sync += self.done.eq(1)
                m.next = "IDLE"
        return m

    def _rounds(self, m: Module) -> None:
        """Add the states of a proof to the FSM: wait for the other lanes, scan, repair, and wait again."""
        with m.State("MEET"):
            m.d.comb += self.met.eq(1)
            with m.If(self.round):
                m.d.comb += self.start_scan.eq(1)
                m.d.sync += self.scanning.eq(1)
                m.next = "SCAN"
            # In a general build only the patch computes expected values.
            works = Const(1, 1) if self.parameters.build.general else self.any_mark | self.unchecked | self.repaired
            with m.Elif(self.finish & works):
                m.d.comb += self.start_patch.eq(1)
                m.d.sync += self.patching.eq(1)
                m.next = "PATCH"
            with m.Elif(self.finish):
                m.next = "SETTLE"
        with m.State("SCAN"), m.If(~self.scan_busy):
            m.d.sync += self.scanning.eq(0)
            with m.If(self.better):
                m.d.comb += self.start_search.eq(1)
                m.d.sync += [self.searching.eq(1), self.repairing.eq(1), self.repaired.eq(1)]
                m.next = "REPAIR"
            with m.Else():
                m.next = "MEET"
        with m.State("REPAIR"), m.If(~self.search_busy):
            m.d.sync += [self.searching.eq(0), self.repairing.eq(0)]
            m.next = "MEET"
