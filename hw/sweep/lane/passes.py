"""Control of a lane: starts the passes of a sweep one after the other."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.check import PREPARE_CLOCKS
from beltline.hw.sweep.lane.parameters import MOST_SHIFT, LaneParameters

_OF_PROOF = {
    **{name: In(1) for name in ("round", "finish", "scan_busy", "better")},
    **{name: Out(1) for name in ("start_scan", "scanning", "repairing", "repaired", "met", "settled")},
}

_OF_PRICES = {
    **{name: In(1) for name in ("pricing", "list_busy")},
    **{name: Out(1) for name in ("start_list", "listing")},
}


class Passes(wiring.Component):
    """Starts the passes of a lane one after the other, and reports when the last of them is finished.

    A prologue is a patch. A sweep is a check, then, if states failed it, a local search of
    these, and a patch. Without a check (``unchecked``) it is a local search of all states and a patch. In a build with
    ``proof`` the lane waits before the patch (``met``), and makes a scan in each ``round``, followed by a local search
    (repair) if the scan found better choices, until ``finish``. With ``multipliers`` every sweep ends with a patch.
    With ``overlap`` no patch follows a local search; its points are listed while it is in progress (``following``).

    Without ``proof`` a lane's choices are final when it has judged its last state, or when its local search has ended.
    It then starts its next check, which is held until ``go``, so that its first request is ready (``PREPARE_CLOCKS`` of
    :mod:`beltline.hw.sweep.check`). If the next pass is not a check, ``drop`` discards it.

    Latency: a local search starts a clock after ``checked``, or if the check hands states on, ``READ_LATENCY`` clocks
    after the first one with ``rows_arrived`` from 2 clocks after ``checked`` on. A patch starts in the first clock in
    which the local search is not busy. ``done`` rises 2 clocks after the first clock in which the last pass is not
    busy, or 3 clocks after ``checked`` if the last pass is a check, and not before :attr:`LaneParameters.settle` + 2
    clocks after the last ``works``. With ``overlap`` the end of a local search counts as such.

    Attributes
    ----------
    go, prologue, cold, fixed, seek : in, 1 bit each
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
    rows_arrived : in, 1 bit
        Only in builds whose check hands states to the local search, as ``align``: all rows that were requested for the
        states have arrived.
    align : out, 1 bit
        High ``READ_LATENCY`` clocks before ``start_search``, if there was a check.
    checking, searching, patching : out, 1 bit each
        The check, the local search or the patch is in progress.
    choosing : out, 1 bit
        The check reads choices.
    hold : out, 1 bit
        Only without ``proof``: the check that was started waits for the next pass.
    drop : out, 1 bit
        Only without ``proof``, with ``go``: the check that was started is discarded.
    unchecked : out, 1 bit
        This sweep has no check.
    done : out, 1 bit
        The lane has finished.
    round, finish : in, 1 bit each
        Only with ``proof``: a round begins; the proof has ended.
    scan_busy : in, 1 bit
        Only with ``proof``: a scan is in progress, from the clock after its start.
    better : in, 1 bit
        Only with ``proof``: the scan found better choices.
    start_scan, scanning : out, 1 bit each
        Only with ``proof``: a scan begins; a scan is in progress.
    repairing, repaired : out, 1 bit each
        Only with ``proof``: a local search from better choices is in progress; there was one in this sweep.
    met : out, 1 bit
        Only with ``proof``: the lane waits for ``round`` or ``finish``.
    settled : out, 1 bit
        Only with ``proof``: ``done`` rises in the next clock.
    worked : in, 1 bit
        Only with ``overlap``: a state of the patch has entered that pipeline a clock before; then ``works`` leaves out
        the patch.
    following : in, 1 bit
        Only with ``overlap``: points that the local search has finished are listed, from the clock after its start.
    pricing, list_busy : in, 1 bit each
        Only with prices: the pass lists all states to compute prices; the list is in progress, from the clock after its
        start.
    start_list, listing : out, 1 bit each
        Only with prices: the list begins; it is in progress.
    """

    def __init__(self, parameters: LaneParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        self._proves, self._prepares, self._prices = build.proof, build.prepares, build.prices
        super().__init__(
            {
                **{name: In(1) for name in ("go", "prologue", "cold", "fixed", "seek")},
                "points": In(build.point_bits + 1),
                "count": In(build.position_bits + 1),
                **{name: In(1) for name in ("checked", "any_mark", "moved", "search_busy", "patch_busy", "works")},
                **{name: Out(1) for name in ("start_check", "start_search", "start_patch")},
                **{name: Out(1) for name in ("checking", "searching", "patching", "choosing", "unchecked")},
                "done": Out(1, init=1),
                **(_OF_PROOF if build.proof else {}),
                **({"hold": Out(1), "drop": Out(1)} if build.prepares else {}),
                **({"rows_arrived": In(1), "align": Out(1)} if build.hands else {}),
                **(_OF_PRICES if build.prices else {}),
                **({"worked": In(1), "following": In(1)} if build.overlap else {}),
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
        if self._proves:
            # After a repair the next sweep has a check: a search of every state would return to the wrong peak.
            with m.If(self.repairing):
                m.d.sync += moves.eq(0)
            with m.If(self.go):
                m.d.sync += self.repaired.eq(0)
        m.d.sync += many_moved.eq(moves + self.count[MOST_SHIFT:] >= self.count)
        m.d.comb += skips_check.eq(~self.prologue & (self.cold | self.seek | (many_moved & ~self.fixed)))

        settling = Signal(range(self.parameters.settle + 1))
        with m.If(self.works):
            m.d.sync += settling.eq(self.parameters.settle)
        if self.parameters.build.overlap:
            with m.Elif(self.worked):
                m.d.sync += settling.eq(self.parameters.settle - 1)
        with m.Elif(settling != 0):
            m.d.sync += settling.eq(settling - 1)
        if self._prepares:
            self._hold(m, skips_check)
        with m.FSM():
            with m.State("IDLE"), m.If(self.go & (self.points != 0)):
                m.d.sync += self.done.eq(0)
                with m.If(self.prologue):
                    m.d.comb += self.start_patch.eq(1)
                    m.d.sync += self.patching.eq(1)
                    m.next = "PATCH"
                if self._prices:
                    with m.Elif(self.pricing):
                        m.d.comb += self.start_list.eq(1)
                        m.d.sync += self.listing.eq(1)
                        m.next = "LIST"
                with m.Elif(skips_check):
                    m.d.comb += self.start_search.eq(1)
                    m.d.sync += self.searching.eq(1)
                    m.next = "SEARCH"
                with m.Else():
                    if not self._prepares:
                        m.d.comb += self.start_check.eq(1)
                    m.d.sync += [self.checking.eq(1), self.choosing.eq(1)]
                    m.next = "CHECK"
            with m.State("CHECK"), m.If(self.checked):
                m.d.sync += [self.checking.eq(0), self.choosing.eq(0)]
                m.next = "JUDGE"
            with m.State("JUDGE"):
                with m.If(self.any_mark):
                    if self.parameters.build.hands:
                        m.next = "ROWS"
                    else:
                        m.d.comb += self.start_search.eq(1)
                        m.d.sync += self.searching.eq(1)
                        m.next = "SEARCH"
                with m.Else():
                    m.next = "SETTLE"
                    if self._prepares:
                        m.d.comb += self.start_check.eq(1)
                    else:
                        with m.If(~self.fixed):
                            m.next = "MEET"
            if self.parameters.build.hands:
                self._hand(m)
            with m.State("SEARCH"), m.If(~self.search_busy):
                m.d.sync += self.searching.eq(0)
                if self._proves:
                    m.next = "MEET"
                else:
                    with m.If(self.seek):
                        m.next = "SETTLE"
                    with m.Else():
                        m.d.comb += self.start_check.eq(1)
                        if self.parameters.build.overlap:
                            # The next check has to be prepared before the lane is done.
                            m.d.sync += settling.eq(self.parameters.settle)
                            m.next = "FOLLOW"
                        else:
                            m.d.comb += self.start_patch.eq(1)
                            m.d.sync += self.patching.eq(1)
                            m.next = "PATCH"
            if self._proves:
                self._rounds(m)
            if self._prices:
                with m.State("LIST"), m.If(~self.list_busy):
                    m.d.sync += self.listing.eq(0)
                    m.next = "SETTLE"
            if self.parameters.build.overlap:
                with m.State("FOLLOW"), m.If(~self.following):
                    m.next = "SETTLE"
            with m.State("PATCH"), m.If(~self.patch_busy):
                m.d.sync += self.patching.eq(0)
                m.next = "SETTLE"
            with m.State("SETTLE"), m.If(settling == 0):
                if self._proves:
                    m.d.comb += self.settled.eq(1)
                m.d.sync += self.done.eq(1)
                m.next = "IDLE"
        return m

    def _hold(self, m: Module, skips_check: Value) -> None:
        """Hold a check that starts before its pass, and let it read choices until its first request is ready."""
        # With the registers on the way to the sequencer and back, a pass begins later than the check has to wait.
        assert self.parameters.settle + 6 >= PREPARE_CLOCKS
        reads = Signal(range(PREPARE_CLOCKS + 1))
        m.d.comb += self.drop.eq(self.go & (self.prologue | skips_check))
        with m.If(reads == 1):
            m.d.sync += self.choosing.eq(0)
        with m.If(reads != 0):
            m.d.sync += reads.eq(reads - 1)
        with m.If(self.start_check):
            m.d.sync += [self.hold.eq(1), self.choosing.eq(1), reads.eq(PREPARE_CLOCKS)]
        with m.If(self.go):
            m.d.sync += [self.hold.eq(0), self.choosing.eq(0), reads.eq(0)]

    def _hand(self, m: Module) -> None:
        """Add the states in which rows arrive, and the states that failed the check reach the local search."""
        waits = Signal(range(READ_LATENCY), init=READ_LATENCY - 1)
        with m.State("ROWS"), m.If(self.rows_arrived):
            m.d.comb += self.align.eq(1)
            m.next = "HAND"
        with m.State("HAND"):
            m.d.sync += waits.eq(waits - 1)
            with m.If(waits == 0):
                m.d.comb += self.start_search.eq(1)
                m.d.sync += [self.searching.eq(1), waits.eq(READ_LATENCY - 1)]
                m.next = "SEARCH"

    def _rounds(self, m: Module) -> None:
        """Add the states of a proof to the FSM: wait for the other lanes, scan, repair, and wait again."""
        with m.State("MEET"):
            m.d.comb += self.met.eq(1)
            with m.If(self.round):
                m.d.comb += self.start_scan.eq(1)
                m.d.sync += self.scanning.eq(1)
                m.next = "SCAN"
            # Where multipliers are taken in turn, only the patch computes expected values.
            works = Const(1, 1) if self.parameters.build.multipliers else self.any_mark | self.unchecked | self.repaired
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
