"""Faults of what the check hands to the local search: its gateware, its software model and its clock model."""

from __future__ import annotations

from .fault import Fault

HANDED = "hw/sweep/search/handed.py"
RING = "hw/sweep/search/ring.py"
SOFTWARE = "hw/sweep/software_passes.py"

OF_UNIT = ("tests/hw/sweep/search/test_handed.py::test_first_failed_states",)
OF_RING = ("tests/hw/sweep/search/test_ring.py::test_turns_and_searches",)
OF_ENDS = ("tests/hw/sweep/search/test_ends.py::test_end_of_a_pass_with_handed_states",)
OF_FOLLOW = ("tests/hw/sweep/search/test_follow.py::test_points_are_listed_when_all_their_searches_have_passed",)
OF_MACHINE = (
    "tests/hw/sweep/test_datapath.py::test_each_sweep_of_the_beginning_and_the_end[8-lanes-64x4-4-slots-mode0x0]",
)
OF_SEARCH = ("tests/hw/sweep/test_clocks.py::test_every_local_search_and_the_clock_of_every_result[16-contexts]",)

FAULTS = (
    Fault(
        "a search is handed a later state of its part",
        HANDED,
        "first.eq(self.mark_valid & self.mark & ~before)",
        "first.eq(self.mark_valid & self.mark)",
        OF_UNIT,
    ),
    Fault(
        "a failed state of the part before hides those of the next",
        HANDED,
        "before.eq(failed.bit_select(self.mark_state, 1) & ~begins)",
        "before.eq(failed.bit_select(self.mark_state, 1))",
        OF_UNIT,
    ),
    Fault(
        "a state is handed on once more in the next sweep",
        HANDED,
        "states.write.eq(state.valid | (self.beginning & self.mine))",
        "states.write.eq(state.valid)",
        OF_UNIT,
    ),
    Fault(
        "a search that was handed no state looks for one",
        RING,
        "begun.point.eq(Mux(handed.valid, handed.point, ~0))",
        "begun.point.eq(handed.point)",
        OF_RING,
    ),
    Fault(
        "a search of all states begins with one that was handed on",
        RING,
        "return Mux(self.force, fresh.as_value(), begun.as_value())",
        "return begun.as_value()",
        OF_RING,
    ),
    Fault(
        "a handed search takes the utility of the wrong neighbour",
        "hw/sweep/search/course.py",
        "Mux(search.down, below, above)",
        "Mux(search.down, above, below)",
        ("tests/hw/sweep/search/test_course.py::test_searches_in_their_order[Multiplier.DSP48E2-handed-states]",),
    ),
    Fault(
        "a choice is handed on with the objective of the wrong neighbour",
        "hw/sweep/lane/judge.py",
        "Mux(self.check_rises, self.check_above, self.check_below)",
        "Mux(self.check_rises, self.check_below, self.check_above)",
        ("tests/hw/sweep/test_datapath.py::test_random_problems",),
    ),
    Fault(
        "a local search begins before the last state reaches it",
        "hw/sweep/lane/passes.py",
        "waits = Signal(range(READ_LATENCY), init=READ_LATENCY - 1)",
        "waits = Signal(range(READ_LATENCY), init=READ_LATENCY - 2)",
        ("tests/hw/sweep/lane/test_passes.py::test_begins_and_ends",),
    ),
    Fault(
        "a local search reads the cached utilities of the check",
        "hw/sweep/lane/tables.py",
        "Mux(self.searching, self.search_cached, self.check_cached) if build.hands else self.check_cached",
        "self.check_cached",
        ("tests/hw/sweep/lane/test_tables.py::test_reads_and_writes",),
    ),
    Fault(
        "a list of points begins where a handed search continues",
        "hw/sweep/search/follow.py",
        "self.part_begin if build.hands else self.search.point",
        "self.search.point",
        ("tests/hw/sweep/search/test_follow.py::test_points_are_listed_when_all_their_searches_have_passed",),
    ),
    Fault(
        "a check hands on the choice of a later state",
        "hw/sweep/check.py",
        "self.choice.eq(p.delay(p.input(checked.head), end).value)",
        "self.choice.eq(p.delay(p.input(checked.head), end - 1).value)",
        ("tests/hw/sweep/test_check.py::test_results_and_clocks",),
    ),
    Fault(
        "a handed search steps upwards from the neighbour below",
        SOFTWARE,
        "objective_word(below, ev[choice - 1, s]), False, True, False",
        "objective_word(below, ev[choice - 1, s]), False, False, False",
        OF_SEARCH,
    ),
    Fault(
        "a handed search begins above a choice that is as good",
        SOFTWARE,
        "if above != INFEASIBLE and is_above(upper, objective_word(here, ev[choice, s])):",
        "if above != INFEASIBLE and not is_above(objective_word(here, ev[choice, s]), upper):",
        ("tests/hw/sweep/test_software_passes.py::test_a_handed_search_leaves_a_tie_above_for_what_is_better_below",),
    ),
    Fault(
        "searches with more evaluations than the log has room for are repeated from what they have found",
        "hw/sweep/model.py",
        "            self.cached[:] = before\n",
        "",
        ("tests/hw/sweep/test_model.py::test_a_log_without_room_is_made_again",),
    ),
    Fault(
        "a handed search asks for the rows of both neighbours, modelled",
        "hw/sweep/search_clocks.py",
        "w[_KNOWN] = log[k, 0] >> 1 != choices[at, s]",
        "w[_KNOWN] = 0",
        OF_SEARCH,
    ),
    Fault(
        "a search that was handed no state looks for one, modelled",
        "hw/sweep/search_clocks.py",
        "            w[_POINT] = points\n            if at < limit:\n                order[left] = at * states + s\n",
        "            if at < limit:\n                order[left] = at * states + s\n",
        ("tests/hw/sweep/test_clocks.py::test_every_local_search_and_the_clock_of_every_result[long-parts]",),
    ),
    Fault(
        "a local search begins as early as without a handed state, modelled",
        "hw/sweep/clocks.py",
        "return ALIGN_CLOCKS if build.hands else 2",
        "return 2",
        (
            "tests/hw/sweep/test_datapath.py::test_each_sweep_of_the_beginning_and_the_end[8-lanes-64x4-4-slots-mode0x0]",
        ),
    ),
    Fault(
        "a row is requested for a candidate above the grid",
        HANDED,
        "Mux(self.mark_rises, self.mark_begin == self.last_index, ~self.mark_begin.any())",
        "Mux(self.mark_rises, 0, ~self.mark_begin.any())",
        OF_UNIT,
    ),
    Fault(
        "the row of the better neighbour is requested, not that of the candidate beyond it",
        HANDED,
        "candidate.eq(self.mark_begin + step)",
        "candidate.eq(self.mark_begin)",
        OF_UNIT,
    ),
    Fault(
        "states that were handed in the sweep before are counted again",
        HANDED,
        "with m.If(self.beginning):",
        "with m.If(self.beginning & 0):",
        OF_UNIT,
    ),
    Fault(
        "the first turns are those of the last part with a state",
        HANDED,
        "with m.If(self.count == 0):",
        "with m.If(1):",
        OF_UNIT,
    ),
    Fault(
        "the ring is aligned a clock late",
        RING,
        "Mux(first < READ_LATENCY, first + clocks, first) - READ_LATENCY",
        "Mux(first < READ_LATENCY, first + clocks, first) - READ_LATENCY - 1",
        OF_RING,
    ),
    Fault(
        "a search takes the half-row that was requested for the other half",
        RING,
        "begun.row0.eq(Mux(handed.half[0], 0, tag))",
        "begun.row0.eq(Mux(handed.half[0], tag, 0))",
        OF_RING,
    ),
    Fault(
        "a search without a state ends the pass of another",
        RING,
        "begun.over.eq(~(handed.valid & self.mine))",
        "begun.over.eq(0)",
        OF_RING,
    ),
    Fault(
        "a request of the check is not counted",
        "hw/sweep/search/requests.py",
        "self.asked + (queue.push if build.hands else ask)",
        "self.asked + ask",
        ("tests/hw/sweep/search/test_requests.py::test_requests_in_order",),
    ),
    Fault(
        "a turn that began before a short pass ends it",
        "hw/sweep/search/ends.py",
        "first_round.eq(before == 0)",
        "first_round.eq(1)",
        OF_ENDS,
    ),
    Fault(
        "a pass waits for places that were handed no state",
        "hw/sweep/search/ends.py",
        "unfinished.eq(self.count)",
        "unfinished.eq(places)",
        OF_ENDS,
    ),
    Fault(
        "a local search begins before its rows have arrived",
        "hw/sweep/lane/passes.py",
        'with m.State("ROWS"), m.If(self.rows_arrived):',
        'with m.State("ROWS"), m.If(1):',
        ("tests/hw/sweep/lane/test_passes.py::test_begins_and_ends",),
    ),
    Fault(
        "a list of points ends before its last point",
        "hw/sweep/search/follow.py",
        "noted.eq(noted + self.noted)",
        "noted.eq(noted + (self.noted & (noted == 0)))",
        OF_FOLLOW,
    ),
    Fault(
        "a search requests rows while its lane rests, modelled",
        "hw/sweep/lane_clocks.py",
        "(r[k, PHASE] == CHECKS and handed[k] != 0)",
        "handed[k] != 0",
        OF_MACHINE,
    ),
    Fault(
        "a check's requests wait for those of the search, modelled",
        "hw/sweep/bus_clocks.py",
        "if r[k, HEAD] != 0 and now >= r[k, BEGIN]:",
        "if r[k, HEAD] != 0 and now >= r[k, BEGIN] and r[k, SEARCH_HEAD] == 0:",
        OF_MACHINE,
    ),
)
