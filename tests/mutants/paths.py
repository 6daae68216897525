"""Faults of what was moved out of the longest paths of the gateware: flags that are prepared a clock before."""

from __future__ import annotations

from .fault import Fault

COURSE = "hw/sweep/search/course.py"
NEXT_STATE = "hw/sweep/search/next_state.py"
PATCH = "hw/sweep/patch.py"
PIPELINE = "hw/arithmetic/pipeline.py"

OF_COURSE = (
    "tests/hw/sweep/search/test_course.py::test_searches_in_their_order[Multiplier.DSP48E2-looking-for-states]",
)
OF_COMMIT = ("tests/hw/sweep/search/test_commit.py::test_decisions",)
OF_NEXT_STATE = ("tests/hw/sweep/search/test_next_state.py::test_searches",)
OF_PATCH = ("tests/hw/sweep/test_patch.py::test_states_of_noted_points_in_order",)
OF_DELAYS = ("tests/hw/arithmetic/test_pipeline.py::test_short_delays_are_flip_flops",)

FAULTS = (
    Fault(
        "a search that takes a long step ends when the step fails",
        COURSE,
        "& (then.exponent == 0) & beyond",
        "& beyond",
        OF_COURSE,
    ),
    Fault(
        "the first evaluation of a state ends its search",
        COURSE,
        "known & ~then.first & ",
        "known & ",
        OF_COURSE,
    ),
    Fault(
        "a search looks at the wrong side before it ends",
        COURSE,
        "Mux(then.down, then.above_known, then.below_known)",
        "Mux(then.down, then.below_known, then.above_known)",
        OF_COURSE,
    ),
    Fault(
        "a search ends although its last candidate is better",
        "hw/sweep/search/commit.py",
        "done.eq(self.last & ~better),",
        "done.eq(self.last),",
        OF_COMMIT,
    ),
    Fault(
        "a search looks at the first point of the next search",
        NEXT_STATE,
        "less.value | (same.value & (k < one.value[:MARK_BITS]))",
        "less.value | (same.value & (k <= one.value[:MARK_BITS]))",
        OF_NEXT_STATE,
    ),
    Fault(
        "a search takes a marked point after its last one",
        NEXT_STATE,
        "searching & (marked & allowed.value).any()",
        "searching & any_mark",
        OF_NEXT_STATE,
    ),
    Fault(
        "a search with a state that waits looks for another one",
        NEXT_STATE,
        "idle = p.register(own.value[-1] | ~",
        "idle = p.register(~",
        OF_NEXT_STATE,
    ),
    Fault(
        "a patch of all points lists points after the last one of the lane",
        PATCH,
        "(notes.read_data | self.force.replicate(NOTES)) & inside",
        "notes.read_data | self.force.replicate(NOTES)",
        OF_PATCH,
    ),
    Fault(
        "a patch leaves out the last point of the lane",
        PATCH,
        "~is_last | (k <= last_point[:NOTE_BITS])",
        "~is_last | (k < last_point[:NOTE_BITS])",
        OF_PATCH,
    ),
    Fault(
        "a search begins with a new state in one turn more than there are searches",
        "hw/sweep/search/ring.py",
        "self.beginning.eq(self.start | (left > 1))",
        "self.beginning.eq(self.start | (left > 0))",
        ("tests/hw/sweep/search/test_ring.py::test_turns_and_searches",),
    ),
    Fault(
        "a window begins again while a state waits for its rows",
        "hw/sweep/gather.py",
        "(pop & (waiting == 1))",
        "(pop & (waiting == 2))",
        ("tests/hw/sweep/test_gather.py::test_words_and_clocks",),
    ),
    Fault(
        "half-rows are requested in advance at the end of the grid",
        "hw/sweep/search/probe.py",
        "Mux(low.all(), last != top, ",
        "Mux(low.all(), 1, ",
        ("tests/hw/sweep/search/test_probe.py::test_candidates_and_cached_rows",),
    ),
    Fault(
        "the logarithm shifts by two distances where the second one would not follow the first",
        "hw/arithmetic/log2.py",
        "word[64 - high - low : 64 - high].any())",
        "word[64 - low :].any())",
        ("tests/hw/arithmetic/test_functions.py::test_gateware_equals_model[log2-Multiplier.DSP48E2]",),
    ),
    Fault(
        "registers change while a run is in progress",
        "hw/bus/axi_registers.py",
        "good.eq((command | (setting & ~self.locked)) & strobes.all())",
        "good.eq((command | setting) & strobes.all())",
        ("tests/hw/bus/test_axi_registers.py::test_registers_over_the_bus",),
    ),
    Fault(
        "bytes beside a narrow beat are written",
        "hw/bus/axi_tables.py",
        "self.wide.eq(Cat(self.size > i for i in range(WORD_BITS)))",
        "self.wide.eq(Cat(self.size >= i for i in range(WORD_BITS)))",
        ("tests/hw/bus/test_axi_tables.py::test_bursts[128]",),
    ),
    Fault(
        "a long delay is built of flip-flops after a short one of the same signal",
        PIPELINE,
        'register.attrs.pop("shreg_extract", None)',
        "pass",
        OF_DELAYS,
    ),
    Fault(
        "a delay of one clock too many is built of flip-flops",
        PIPELINE,
        "if len(chain) < SHIFTED:",
        "if len(chain) <= SHIFTED:",
        OF_DELAYS,
    ),
    Fault(
        "registers after a RAM become shift registers",
        "constraints/chips.py",
        "setattr -set keep 1 {plain}",
        "select -count {plain}",
        ("tests/constraints/test_synthesis.py::test_registers_that_are_no_shift_registers",),
    ),
)
