"""Faults of the sweep engine's proofs: their rounds, their gateware and clocks, and the driver's use of them."""

from __future__ import annotations

from .fault import Fault

SOFTWARE = "hw/sweep/software_proof.py"
PROOF = "hw/sweep/proof.py"
MODEL = "hw/sweep/model.py"
CLOCKS = "hw/sweep/clocks.py"
SCAN = "hw/sweep/scan/"
LANE = "hw/sweep/lane/"
DRIVER = "host/solver/driver.py"
TEST = "tests/hw/sweep/test_proof.py::"
TEST_SCAN = "tests/hw/sweep/scan/"
TEST_GATEWARE = "tests/hw/sweep/test_proof_gateware.py::"
TEST_HOST = "tests/host/solver/test_sweep_engine.py::"
TEST_NEXT_STATE = "tests/hw/sweep/walk/test_next_state.py::test_stored_choices_are_used_in_a_cold_sweep"

OF_BRACKETS = (TEST_SCAN + "test_scan.py::test_finds_the_lowest_best_of_every_bracket",)
OF_PEAKS = (TEST_GATEWARE + "test_problems_of_several_peaks_after_every_sweep",)

FAULTS = (
    Fault(
        "a proof takes the higher of two equal candidates",
        SOFTWARE,
        "is_above(objective, best):",
        "not is_above(best, objective):",
        (TEST + "test_the_lowest_of_equals_is_found",),
    ),
    Fault(
        "a bracket leaves out two candidates",
        SOFTWARE,
        "lo >= own - 1 and hi <= own + 1",
        "lo >= own - 2 and hi <= own + 2",
        (TEST + "test_any_first_policy_is_repaired",),
    ),
    Fault(
        "the first point's bracket begins at its choice",
        SOFTWARE,
        "below = choices[i - 1, s] if i > 0 else limits[0, s]",
        "below = choices[i - 1, s] if i > 0 else own",
        (TEST + "test_the_ends_of_the_grid_look_to_the_ends_of_the_candidates",),
    ),
    Fault(
        "the last point's bracket ends at its choice",
        SOFTWARE,
        "above = choices[i + 1, s] if i < rows - 1 else limits[1, s]",
        "above = choices[i + 1, s] if i < rows - 1 else own",
        (TEST + "test_any_first_policy_is_repaired",),
    ),
    Fault(
        "divide and conquer reads what the lane above has found in the same round",
        SOFTWARE,
        "above = before[end, s] if end < rows else limits[1, s]",
        "above = choices[end, s] if end < rows else limits[1, s]",
        (TEST + "test_lanes_that_divide_read_what_stood_before_the_round",),
    ),
    Fault(
        "divide and conquer reads what the lane below has found in the same round",
        SOFTWARE,
        "below = before[i - 1, s] if i > 0 else limits[0, s]",
        "below = choices[i - 1, s] if i > 0 else limits[0, s]",
        (TEST + "test_lanes_that_divide_read_what_stood_before_the_round",),
    ),
    Fault(
        "a utility out of range in a bracket is not seen",
        SOFTWARE,
        "flag |= SATURATED_FLAG if over else 0",
        "flag |= 0",
        (TEST + "test_a_utility_that_leaves_its_range_in_a_bracket_ends_the_run",),
    ),
    Fault(
        "a utility out of range in divide and conquer is not seen",
        SOFTWARE,
        "flags[i] |= SATURATED_FLAG if over else 0",
        "flags[i] |= 0",
        (TEST + "test_a_utility_that_leaves_its_range_in_a_bracket_ends_the_run",),
    ),
    Fault(
        "a proof never switches to divide and conquer",
        SCAN + "parameters.py",
        "return number % PERIOD == PERIOD - 1",
        "return number % PERIOD == PERIOD",
        (TEST + "test_any_first_policy_is_repaired",),
    ),
    Fault(
        "a proof ends after one round of divide and conquer",
        SCAN + "parameters.py",
        "return 0 < number % PERIOD < PERIOD - 1",
        "return 0 < number % PERIOD < PERIOD",
        (TEST_SCAN + "test_rounds.py::test_rounds_and_the_model_agree",),
    ),
    Fault(
        "the model proves choices that are not increasing",
        PROOF,
        "self.proven = not crossed",
        "self.proven = True",
        (TEST + "test_choices_that_cross_prove_nothing",),
    ),
    Fault(
        "rounds that did not finish count as a proof",
        PROOF,
        "        self.evaluations = 0\n        self.proven = False",
        "        self.evaluations = 0\n        self.proven = True",
        (TEST + "test_a_proof_that_runs_out_of_rounds_is_reported",),
    ),
    Fault(
        "of equal candidates the gateware's bracket takes the higher",
        SCAN + "contest.py",
        "above, time = order.above(1, 0), high.able.time + ORDER_CLOCKS",
        "above, time = order.wins_or_ties(1), high.able.time + ORDER_CLOCKS",
        (TEST_SCAN + "test_contest.py::test_the_lowest_of_the_best_wins",),
    ),
    Fault(
        "a bracket without a valid candidate gets the best one of the bracket before",
        SCAN + "contest.py",
        "commit & (order.above(1, 0) | p.delay(first, ORDER_CLOCKS).value)",
        "commit & order.above(1, 0)",
        (TEST_SCAN + "test_contest.py::test_the_lowest_of_the_best_wins",),
    ),
    Fault(
        "the words of a bracket begin below its lowest candidate",
        SCAN + "stream.py",
        "inside = unloading & (word >= place.low) & (word <= place.high)",
        "inside = unloading & (word <= place.high)",
        OF_BRACKETS,
    ),
    Fault(
        "the next level begins before the last results are written",
        SCAN + "brackets.py",
        "(waiting == 0) & (flying == 0)",
        "(waiting == 0)",
        OF_BRACKETS,
    ),
    Fault(
        "the point above the last point of a lane is read from the same lane",
        SCAN + "brackets.py",
        "point + distance >= self.points)",
        "point + distance > self.points)",
        OF_BRACKETS,
    ),
    Fault(
        "a lane whose choices jump from point to point is treated as one whose choices rise smoothly",
        SCAN + "brackets.py",
        "with m.If(self.write | (valid & steep)):",
        "with m.If(self.write):",
        OF_BRACKETS,
    ),
    Fault(
        "choices of neighbouring lanes are updated during divide and conquer",
        SCAN + "borders.py",
        "with m.If(~self.hold):",
        "with m.If(True):",
        (TEST_SCAN + "test_borders.py::test_ends_and_sides",),
    ),
    Fault(
        "the first round without a change ends a proof",
        SCAN + "rounds.py",
        "ends.eq((place >= 2) & (place != PERIOD) & ~self.moved),",
        "ends.eq((place >= 1) & (place != PERIOD) & ~self.moved),",
        (TEST_SCAN + "test_rounds.py::test_rounds_until_none_moves",),
    ),
    Fault(
        "the gateware proves choices that are not increasing",
        SCAN + "rounds.py",
        "self.proven.eq(ends & ~self.crossed)",
        "self.proven.eq(ends)",
        (TEST_SCAN + "test_rounds.py::test_rounds_until_none_moves",),
    ),
    Fault(
        "marks of states are cleared by turns that belong to the previous pass of local searches",
        "hw/sweep/walk/next_state.py",
        "marks.clear.eq(hit.value & p.valid(p.input(self.busy), hit.time)),",
        "marks.clear.eq(hit.value),",
        OF_PEAKS,
    ),
    Fault(
        "the norm is computed from the values before a repair",
        LANE + "lane.py",
        "values.clear.eq(passes.start_patch & passes.repaired),",
        "values.clear.eq(0),",
        (TEST_GATEWARE + "test_the_norm_is_that_of_repaired_values",),
    ),
    Fault(
        "repaired states are counted twice",
        LANE + "lane.py",
        "self.retired.eq(values.retired & ~rounds),",
        "self.retired.eq(values.retired),",
        OF_PEAKS,
    ),
    Fault(
        "a repair overwrites the value before the sweep",
        LANE + "tables.py",
        "written = Mux(self.values != number, whole, 0) if build.proof else whole",
        "written = whole",
        OF_PEAKS,
    ),
    Fault(
        "a repair starts from the choice of the previous repair",
        "hw/sweep/software_passes.py",
        "shift = 0 if exact else index - last[i, s]",
        "shift = index - last[i, s]",
        (TEST + "test_a_repair_begins_at_its_candidate",),
    ),
    Fault(
        "the clock model ends a scan with its last request instead of its last result",
        "hw/sweep/scan_clocks.py",
        "if n == count and waiting == 0 and flying == 0:",
        "if n == count and waiting == 0:",
        OF_BRACKETS,
    ),
    Fault(
        "in the clock model lanes do not wait for each other before a round",
        CLOCKS,
        "finish = int(met.max()) + _meeting(build)",
        "finish = int(met.min()) + _meeting(build)",
        OF_PEAKS,
    ),
    Fault(
        "the model reports policy evaluation steps as proven",
        MODEL,
        "        self._proven = False\n        if self._evaluates:",
        "        self._proven = False\n        if False:",
        (TEST + "test_evaluation_steps_and_failed_sweeps_prove_nothing",),
    ),
    Fault(
        "a proof counts for the previous sweep as well",
        MODEL,
        "        self._proven = False\n        if self._evaluates:",
        "        if self._evaluates:",
        (TEST + "test_evaluation_steps_and_failed_sweeps_prove_nothing",),
    ),
    Fault(
        "lanes whose choices were moved back are not checked",
        MODEL,
        "[np.logical_or.reduceat(repaired, starts)] = 0",
        "[np.logical_or.reduceat(repaired, starts)] += 0",
        (TEST + "test_choices_that_a_proof_moved_back_are_checked_again",),
    ),
    Fault(
        "evaluations of proofs are not counted",
        MODEL,
        "self.evaluations[-1] += proof.evaluations",
        "self.evaluations[-1] += 0 * proof.evaluations",
        (TEST + "test_a_single_peak_takes_one_round_and_keeps_its_bits",),
    ),
    Fault(
        "one proven age counts as a proof of all ages",
        "host/solver/run.py",
        "if not all(Status.PROVEN in run.status for run in ages):",
        "if not any(Status.PROVEN in run.status for run in ages):",
        (TEST_HOST + "test_every_age_must_be_proven",),
    ),
    Fault(
        "the status of a proof is accepted from an assembly line, which has no proof",
        "host/solver/checked.py",
        "or (Status.PROVEN in status and not proven)",
        "or (Status.PROVEN in status and failed)",
        (TEST_HOST + "test_a_device_that_cannot_have_proven_anything_is_not_believed",),
    ),
    Fault(
        "the driver verifies results that are proven already",
        "host/solver/complete.py",
        "and not done.status & INVALID and not proven:",
        "and not done.status & INVALID:",
        (TEST_HOST + "test_a_proof_solves_what_local_searches_cannot",),
    ),
    Fault(
        "the bound of a proof ignores candidates that are equal after rounding",
        "host/solver/verify.py",
        "rounding += 2 * problem.points",
        "rounding += 0 * problem.points",
        (TEST_HOST + "test_the_bound_of_a_proof_counts_its_rounding",),
    ),
    Fault(
        "the gateware's first sweep never begins from stored choices",
        "hw/sweep/walk/next_state.py",
        "own_point = self.cold & ~self.stored if build.proof else self.cold",
        "own_point = self.cold",
        (TEST_NEXT_STATE,),
    ),
    Fault(
        "lanes ignore that a run begins from stored choices",
        "hw/sweep/datapath.py",
        "lane.stored.eq(stored),",
        "lane.stored.eq(0),",
        (TEST_GATEWARE + "test_a_run_begins_from_the_choices_of_the_last_one",),
    ),
    Fault(
        "the model's first sweep never begins from stored choices",
        MODEL,
        "if cold and not self._stored:",
        "if cold:",
        (TEST + "test_a_run_begins_from_the_choices_that_the_last_one_left",),
    ),
    Fault(
        "the model begins from stored choices without a proof",
        MODEL,
        "self._stored = Mode.CHOICES in mode and self.build.proof",
        "self._stored = Mode.CHOICES in mode",
        (TEST + "test_without_a_proof_no_run_begins_from_choices",),
    ),
    Fault(
        "the driver requests stored choices from a device without proofs",
        DRIVER,
        "return self._build.features.proofs and self._chosen",
        "return self._chosen",
        (TEST_HOST + "test_a_device_without_proofs_begins_without_choices",),
    ),
    Fault(
        "the driver requests the choices of a run that made no sweep",
        DRIVER,
        "self._chosen = sweeps > 0",
        "self._chosen = True",
        (TEST_HOST + "test_a_run_that_made_no_sweep_leaves_no_choices",),
    ),
    Fault(
        "the driver requests stored choices although values are new",
        DRIVER,
        "not {Table.W, Table.Q, Table.V} & moved",
        "not {Table.W, Table.Q} & moved",
        (TEST_HOST + "test_a_run_that_continues_begins_from_the_choices_of_the_last_one",),
    ),
    Fault(
        "the driver requests the choices of another problem",
        DRIVER,
        "not {Table.W, Table.Q, Table.V} & moved",
        "Table.V not in moved",
        (TEST_HOST + "test_a_run_that_continues_begins_from_the_choices_of_the_last_one",),
    ),
)
