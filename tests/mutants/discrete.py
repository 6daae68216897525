"""Faults of discrete dynamic programs."""

from __future__ import annotations

from .fault import Fault

HERE = "gpu_ref/discrete/"
TESTS = "tests/gpu_ref/discrete/test_policy_iteration.py::"
MADE = "tests/host/problem/test_discrete_dp.py::"
VALUES = "tests/gpu_ref/discrete/test_policy_value.py::"
SOLVED = "tests/host/solver/test_solve_discrete.py::"
KINDS = "tests/host/solver/test_discrete_of_all_kinds.py::test_values_bounds_and_choices_of_random_programs"

FAULTS = (
    Fault(
        "rows of transitions are distinguished by their sum, which is 1",
        HERE + "program.py",
        "keys = rows @ np.random.default_rng(0).random(rows.shape[1])",
        "keys = rows @ np.ones(rows.shape[1])",
        (TESTS + "test_lotteries_are_compared_entry_by_entry",),
    ),
    Fault(
        "of actions with the same lottery the worst is used instead of the best",
        HERE + "program.py",
        "order = np.lexsort((action, -reward, lottery, state))",
        "order = np.lexsort((action, reward, lottery, state))",
        (TESTS + "test_of_actions_with_the_same_lottery_the_best_is_used",),
    ),
    Fault(
        "the test for increasing differences of rewards has the wrong sign",
        HERE + "pair_search.py",
        "if here < there - ALLOWANCE * size:",
        "if there < here - ALLOWANCE * size:",
        (TESTS + "test_savings_have_increasing_differences_and_are_searched_in_few_pairs",),
    ),
    Fault(
        "policy iteration ends with a sweep that did not search every pair",
        HERE + "policy_iteration.py",
        "if done and not searched:",
        "if done:",
        (TESTS + "test_a_wrong_test_of_differences_costs_time_and_changes_no_result",),
    ),
    Fault(
        "policy iteration is given up although policies become better",
        HERE + "policy_iteration.py",
        "stalled = 0 if change < least or (evaluated and policy not in seen) else stalled + 1",
        "stalled = 0 if change < least else stalled + 1",
        (VALUES + "test_chains_that_move_by_one_state_are_solved_in_few_sweeps",),
    ),
    Fault(
        "the constant added to a policy's value is twice as large as it should be",
        HERE + "policy_value.py",
        "program.beta * 0.5 * (change.min() + change.max())",
        "program.beta * (change.min() + change.max())",
        (VALUES + "test_a_constant_is_added_only_where_lotteries_sum_to_the_same",),
    ),
    Fault(
        "a constant is added although lotteries do not sum to the same",
        HERE + "policy_value.py",
        "    if not program.even:",
        "    if False:",
        (VALUES + "test_a_constant_is_added_only_where_lotteries_sum_to_the_same",),
    ),
    Fault(
        "what is missing from a policy's value is never found with a preconditioner",
        "gpu_ref/corrections.py",
        "for method in methods or (by_gmres, with_factors):",
        "for method in methods or (by_gmres,):",
        (VALUES + "test_chains_that_move_by_one_state_are_solved_in_few_sweeps",),
    ),
    Fault(
        "the certificate of a discrete program compares no choice",
        HERE + "exact_step.py",
        "lost, wrong = loss > 2.0 * allowed, gap > allowed",
        "lost, wrong = loss < 0.0, gap > allowed",
        (TESTS + "test_planted_errors_are_found",),
    ),
    Fault(
        "the certificate of a discrete program does not divide its bound by one minus the modulus",
        HERE + "exact_step.py",
        "bound = uniform_bound(float(off.max()), program.modulus)",
        "bound = float(off.max())",
        (TESTS + "test_bounds_hold_far_from_the_solution",),
    ),
    Fault(
        "actions of a discrete program are returned as positions in the table of pairs instead of as action numbers",
        "host/solver/solve_general.py",
        "actions = program.action[np.maximum(chosen, 0)].astype(np.int64)",
        "actions = chosen - program.first[:-1]",
        (SOLVED + "test_savings_in_every_form_and_by_factors",),
    ),
    Fault(
        "actions that may lead to a state without one are taken",
        HERE + "program.py",
        "may &= (chances @ lost.astype(np.float64) == 0.0)[lottery]",
        "may &= True",
        (KINDS,),
    ),
    Fault(
        "pairs of reward 0 that leave an end are taken to stay in it",
        HERE + "ending.py",
        "stays = inside & (low == high)[program.lottery] & (low[program.lottery] == label[program.state])",
        "stays = inside & (high[program.lottery] == label[program.state])",
        (KINDS,),
    ),
    Fault(
        "without discounting only the chosen pairs count in the bound",
        HERE + "exact_step.py",
        "mask = PossiblePairs(applied, guess + 1.1 * more).pairs",
        "guess = guess",
        ("tests/host/solver/test_certify.py::test_discrete_problems_without_discounting",),
    ),
    Fault(
        "the error of the next age does not count in that of this one",
        HERE + "exact_step.py",
        "bound = (applied.off(here) + PossiblePairs(applied, before).most) * ROUND_UP",
        "bound = applied.off(here)",
        ("tests/host/solver/test_certify.py::test_errors_of_ages_of_a_discrete_problem_add_up",),
    ),
    Fault(
        "transitions are taken to factor although only the next endogenous state does",
        "host/problem/discrete_dp.py",
        "off = abs(rows - wanted)",
        "off = 0.0 * abs(rows - wanted)",
        (MADE + "test_transitions_that_do_not_factor_are_named_where_factors_are_asked_for",),
    ),
    Fault(
        "the state that follows a table without a choice has a reward",
        "host/problem/discrete_of.py",
        "np.array([each]) for each in (states - 1, 0, 0.0, count)",
        "np.array([each]) for each in (states - 1, 0, 0.1, count)",
        (MADE + "test_problems_of_every_form_have_the_value_of_their_discrete_dp",),
    ),
)
