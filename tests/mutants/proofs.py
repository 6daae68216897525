"""Faults of the sweep engine's proofs: their rounds, their budget of clocks, and the driver's use of them."""

from __future__ import annotations

from .fault import Fault

ROUNDS = "hw/sweep/software_proof.py"
PROOF = "hw/sweep/proof.py"
MODEL = "hw/sweep/model.py"
CLOCKS = "hw/sweep/proof_clocks.py"
TEST = "tests/hw/sweep/test_proof.py::"
TEST_CLOCKS = "tests/hw/sweep/test_proof_clocks.py::"
TEST_HOST = "tests/host/solver/test_sweep_engine.py::"

FAULTS = (
    Fault(
        "of equal candidates a proof keeps the one it saw first",
        ROUNDS,
        "is_above(objective, best) or (j < found and not is_above(best, objective))",
        "is_above(objective, best)",
        (TEST + "test_the_lowest_of_equals_is_found",),
    ),
    Fault(
        "a proof takes the higher of two equal candidates",
        ROUNDS,
        "(j < found and not is_above(best, objective))",
        "not is_above(best, objective)",
        (TEST + "test_the_lowest_of_equals_is_found",),
    ),
    Fault(
        "a bracket leaves out five candidates",
        ROUNDS,
        "skipped - 1 <= j <= skipped + 1",
        "skipped - 2 <= j <= skipped + 2",
        (TEST + "test_any_first_policy_is_repaired",),
    ),
    Fault(
        "the first point's bracket begins at its choice",
        ROUNDS,
        "choices[min(i + 1, rows - 1), s]) if i > 0 else 0",
        "choices[min(i + 1, rows - 1), s]) if i > 0 else own",
        (TEST + "test_any_first_policy_is_repaired",),
    ),
    Fault(
        "the last point's bracket ends at its choice",
        ROUNDS,
        "own, choices[i + 1, s]) if i < rows - 1 else rows - 1",
        "own, choices[i + 1, s]) if i < rows - 1 else own",
        (TEST + "test_any_first_policy_is_repaired",),
    ),
    Fault(
        "divide and conquer ends where the point below chose",
        ROUNDS,
        "hi = found[i + distance, s] if distance and i + distance < rows else rows - 1",
        "hi = found[i + distance, s] if distance and i + distance < rows else lo",
        (TEST + "test_any_first_policy_is_repaired",),
    ),
    Fault(
        "a utility out of range in a bracket is not seen",
        ROUNDS,
        "flag |= SATURATED_FLAG if over else 0",
        "flag |= 0",
        (TEST + "test_a_utility_that_leaves_its_range_in_a_bracket_ends_the_run",),
    ),
    Fault(
        "a utility out of range in divide and conquer is not seen",
        ROUNDS,
        "flags[i] |= SATURATED_FLAG if over else 0",
        "flags[i] |= 0",
        (TEST + "test_a_utility_that_leaves_its_range_in_a_bracket_ends_the_run",),
    ),
    Fault(
        "the point above one that moved is not looked at again",
        PROOF,
        "asked[1:] |= moved[:-1]",
        "asked[1:] |= moved[1:]",
        (TEST + "test_distances_reach_every_point_once",),
    ),
    Fault(
        "a proof never divides",
        PROOF,
        "if len(self.rounds) == ROUNDS else",
        "if len(self.rounds) == 2 * ROUNDS + 1 else",
        (TEST + "test_any_first_policy_is_repaired",),
    ),
    Fault(
        "choices that cross are proven",
        PROOF,
        "self.proven = not asked.any() and bool((np.diff(self.choices, axis=0) >= 0).all())",
        "self.proven = not asked.any()",
        (TEST + "test_candidates_that_round_to_the_same_prove_nothing",),
    ),
    Fault(
        "rounds that did not end prove",
        PROOF,
        "self.proven = not asked.any() and bool((np.diff(self.choices, axis=0) >= 0).all())",
        "self.proven = True",
        (TEST + "test_a_proof_that_a_round_cannot_end_says_so",),
    ),
    Fault(
        "a repair begins where the one before it led",
        "hw/sweep/software_passes.py",
        "shift = 0 if exact else index - last[i, s]",
        "shift = index - last[i, s]",
        (TEST + "test_a_repair_begins_at_its_candidate",),
    ),
    Fault(
        "held sweeps are proven",
        MODEL,
        "if failed or self._held:",
        "if failed:",
        (TEST + "test_held_sweeps_and_failed_ones_prove_nothing",),
    ),
    Fault(
        "a proof is that of the sweep before, too",
        MODEL,
        "        self._proven = False\n        if failed",
        "        if failed",
        (TEST + "test_held_sweeps_and_failed_ones_prove_nothing",),
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
        "self.evaluations[-1] += evaluations",
        "self.evaluations[-1] += 0 * evaluations",
        (TEST + "test_a_single_peak_takes_one_round_and_keeps_its_bits",),
    ),
    Fault(
        "a wide bracket is the work of the lanes beside those of its candidates",
        CLOCKS,
        "edges = np.arange(lanes + 1, dtype=np.int64)[:, None] * size",
        "edges = np.arange(1, lanes + 2, dtype=np.int64)[:, None] * size",
        (TEST_CLOCKS + "test_candidates_are_counted_where_they_are",),
    ),
    Fault(
        "every round hides behind the check",
        CLOCKS,
        "if number == 0:",
        "if number >= 0:",
        (TEST_CLOCKS + "test_ends_of_the_grid_hide_behind_the_check",),
    ),
    Fault(
        "gateware is made without the proof that was asked for",
        "hw/sweep/datapath.py",
        "if parameters.proof:",
        "if False:",
        (TEST + "test_no_gateware_proves",),
    ),
    Fault(
        "one proven age proves a horizon",
        "host/solver/run.py",
        "if not all(Status.PROVEN in run.status for run in ages):",
        "if not any(Status.PROVEN in run.status for run in ages):",
        (TEST_HOST + "test_every_age_must_be_proven",),
    ),
    Fault(
        "an assembly line is believed to have proven its choices",
        "host/solver/checked.py",
        "or (Status.PROVEN in status and not proven)",
        "or (Status.PROVEN in status and failed)",
        (TEST_HOST + "test_a_device_that_cannot_have_proven_anything_is_not_believed",),
    ),
    Fault(
        "the driver verifies what is proven",
        "host/solver/complete.py",
        "and not done.status & SPOILED and not proven:",
        "and not done.status & SPOILED:",
        (TEST_HOST + "test_a_proof_solves_what_walks_cannot",),
    ),
    Fault(
        "the bound of a proof forgets what candidates that round to the same may add",
        "host/solver/verify.py",
        "rounding += 2 * problem.points",
        "rounding += 0 * problem.points",
        (TEST_HOST + "test_the_bound_of_a_proof_counts_its_rounding",),
    ),
)
