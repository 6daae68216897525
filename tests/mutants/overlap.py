"""Faults of the list of points that follows a local search: its gateware and its clock model."""

from __future__ import annotations

from .fault import Fault

FOLLOW = "hw/sweep/search/follow.py"
CLOCKS = "hw/sweep/follow_clocks.py"

OF_UNIT = ("tests/hw/sweep/search/test_follow.py::test_points_are_listed_when_all_their_searches_have_passed",)
OF_PASSES = ("tests/hw/sweep/lane/test_passes.py::test_begins_and_ends",)
OF_TABLES = ("tests/hw/sweep/lane/test_tables.py::test_reads_and_writes",)
OF_MACHINE = (
    "tests/hw/sweep/test_datapath.py::test_each_sweep_of_the_beginning_and_the_end[2-lanes-64x4-4-slots-overlap-mode0x0]",
)

FAULTS = (
    Fault(
        "a point is listed when the search of its last state has passed",
        FOLLOW,
        "passed.eq(beyond & (first | so_far))",
        "passed.eq(beyond)",
        OF_UNIT,
    ),
    Fault(
        "a search has passed the point on which it works",
        FOLLOW,
        "later.item.position >= part.bound",
        "later.item.position >= part.base",
        OF_UNIT,
    ),
    Fault(
        "a point without a note is listed",
        FOLLOW,
        "hit.eq(part.noted & ",
        "hit.eq(",
        OF_UNIT,
    ),
    Fault(
        "a part ends a point late",
        FOLLOW,
        "after_over.eq((part.after >= part.limit)",
        "after_over.eq((part.after > part.limit)",
        OF_UNIT,
    ),
    Fault(
        "points that the lane does not have are listed",
        FOLLOW,
        "& (part.at < self.points)),",
        "),",
        OF_UNIT,
    ),
    Fault(
        "a lane is done before its next check is prepared",
        "hw/sweep/lane/passes.py",
        "m.d.sync += settling.eq(self.parameters.settle)\n                            m.next",
        "m.next",
        OF_PASSES,
    ),
    Fault(
        "the second copy of the values is read where the first is",
        "hw/sweep/lane/tables.py",
        "m.d.comb += values[1].read_address.eq(self.patch_position)",
        "pass",
        OF_TABLES,
    ),
    Fault(
        "the clock model lists a point in the turn in which its searches pass it",
        "hw/sweep/search_clocks.py",
        "passed[w[_PASSED] : low, s] = t - 2 + ring",
        "passed[w[_PASSED] : low, s] = t - 2",
        OF_MACHINE,
    ),
    Fault(
        "the clock model does not count the states of the last point",
        CLOCKS,
        "last[lane] = max(last[lane], decided + states)",
        "last[lane] = max(last[lane], decided)",
        OF_MACHINE,
    ),
)
