"""Faults of the reference solvers of the general form."""

from __future__ import annotations

from .fault import Fault

HERE = "gpu_ref/general/"
TESTS = "tests/gpu_ref/general/"
RANDOM = TESTS + "test_sweep.py::test_random_problems_of_every_kind"

FAULTS = (
    Fault(
        "a candidate counts as dominated by one that is not allowed in all rows that allow the first",
        HERE + "candidates.py",
        "if uniform and ev_rises:",
        "if ev_rises:",
        (RANDOM,),
    ),
    Fault(
        "candidates ordered by cost are searched as intervals although bounds are not intervals in that order",
        HERE + "candidates.py",
        "return remaining, UNORDERED",
        "return remaining, BY_COST",
        (RANDOM,),
    ),
    Fault(
        "of equal candidates the highest stays",
        HERE + "candidates.py",
        "elif cost[i] == cost[found[begin]] and ev[i] == ev[found[begin]]:",
        "elif cost[i] == cost[found[begin]] and ev[i] > ev[found[begin]]:",
        (TESTS + "test_sweep.py::test_order_of_candidates",),
    ),
    Fault(
        "brackets count as proven although they changed in the last round",
        HERE + "column.py",
        "if number >= 2 and changes == 0:",
        "if number >= 4 or changes == 0:",
        (RANDOM,),
    ),
    Fault(
        "the rounding error of an objective of a general problem is taken to be zero",
        "gpu_ref/brackets.py",
        "found[p] = max(error + max(0.0, beyond)",
        "found[p] = max(0.0 * error + max(0.0, beyond)",
        (TESTS + "test_sweep.py::test_the_slack_covers_what_a_sweep_rounds",),
    ),
    Fault(
        "an alternative leads to all regimes at once",
        HERE + "sweep.py",
        "row[i] += packed.mix[d, r] * V[r, t, i]",
        "row[i] += V[r, t, i]",
        (TESTS + "test_solve.py::test_expected_value_of_a_mix_of_regimes",),
    ),
    Fault(
        "the log-sum overflows",
        HERE + "sweep.py",
        "chance[x] = math.exp((own[x] - value[x]) / sigma)",
        "chance[x] = math.exp(own[x] / sigma)",
        (TESTS + "test_solve.py::test_taste_shocks_do_not_overflow",),
    ),
    Fault(
        "an alternative that is far from the best adds its rounding to the bound",
        HERE + "sweep.py",
        "above, below, top = max(above, own + slack), max(below, own - slack)",
        "above, below, top = max(above, value + slack), max(below, own - slack)",
        (TESTS + "test_solve.py::test_an_alternative_far_from_the_best_does_not_widen_the_bound",),
    ),
    Fault(
        "the error of a log-sum is taken to be half of its bound",
        HERE + "log_sum.py",
        "return _ROUND_UP * sigma * math.log1p(total_growth / total)",
        "return _ROUND_UP * sigma * math.log1p(total_growth / total) * 0.5",
        (TESTS + "test_log_sum.py::test_every_corner_is_within_the_bounds_which_are_tight",),
    ),
    Fault(
        "an unlikely alternative that can become likely is treated as if it stayed unlikely",
        HERE + "log_sum.py",
        "return _exp((below + _ROUND_UP_GAP * error) / sigma) - math.exp(below / sigma)",
        "return 2.0 * math.exp(below / sigma)",
        (TESTS + "test_log_sum.py::test_every_corner_is_within_the_bounds_which_are_tight",),
    ),
    Fault(
        "a certificate accepts any probability of an alternative",
        HERE + "certificate.py",
        "return not least - rounding <= p <= most + rounding",
        "return not 0.0 <= p <= 1.0",
        (TESTS + "test_solve.py::test_a_wrong_probability_of_an_unlikely_alternative_is_found",),
    ),
    Fault(
        "cached utilities are used although the tables have changed",
        HERE + "packed.py",
        "packed.stale[d] |= changed | bounded",
        "packed.stale[d] |= bounded",
        (TESTS + "test_sweep.py::test_cached_utilities_are_used_only_while_tables_are_unchanged",),
    ),
    Fault(
        "an expectation leaves out one of the states that remain after blocks of four",
        HERE + "sweep.py",
        "for t in range(states - states % 4, states):",
        "for t in range(states - states % 4 + 1, states):",
        (RANDOM,),
    ),
    Fault(
        "the error bound of a general solve counts one sweep instead of all that would follow",
        HERE + "outcome.py",
        "return (factor * last.change + rounding) / (1.0 - factor) * (1.0 + 8.0 * DOUBLE)",
        "return (factor * last.change + rounding) * (1.0 + 8.0 * DOUBLE)",
        (TESTS + "test_solve.py::test_the_bound_holds_and_evaluation_steps_save_sweeps",),
    ),
    Fault(
        "prices count as converged although they still change",
        HERE + "solve.py",
        "if last.change < tol and (update is None or price_change < tol):",
        "if last.change < tol:",
        (TESTS + "test_solve.py::test_prices_that_never_settle_end_at_the_limit_and_invalid_tables_at_once",),
    ),
    Fault(
        "a choice that leaves zero consumption counts as feasible",
        HERE + "checks.py",
        "if (gaps >= 0.0).any():",
        "if (gaps > 0.0).any():",
        (TESTS + "test_form.py::test_a_fault_of_a_problem_is_one_sentence",),
    ),
    Fault(
        "a choice that differs from full search is not reported",
        HERE + "exactness.py",
        "if (share > TIE).any():",
        "if (share > np.inf).any():",
        (TESTS + "test_exactness.py::test_a_difference_is_found",),
    ),
    Fault(
        "the second pass of a certificate evaluates only the candidates of the first",
        HERE + "proof.py",
        "if end > top[x]:",
        "if end > ends[x]:",
        (TESTS + "test_certificate.py::test_two_passes_find_what_full_search_does_from_any_policy",),
    ),
    Fault(
        "a certificate removes a candidate because of one that is not allowed in all rows that allow the first",
        HERE + "proof.py",
        "if other < 0 or first[i] != first[other]:",
        "if other < 0:",
        (TESTS + "test_certificate.py::test_two_passes_find_what_full_search_does_from_any_policy",),
    ),
    Fault(
        "a certificate accepts any choice whose value is right",
        HERE + "certificate.py",
        "if not (gap <= allowed and loss <= 2.0 * allowed):",
        "if not gap <= allowed:",
        (TESTS + "test_certificate.py::test_a_wrong_choice_is_found_where_it_costs_something",),
    ),
    Fault(
        "a certificate does not compare the value of a regime",
        HERE + "certificate.py",
        "gap = abs(found - value[x, s])",
        "gap = 0.0",
        (TESTS + "test_certificate.py::test_a_wrong_value_of_a_regime_is_found",),
    ),
    Fault(
        "an aggregation correction that increases the change is not undone",
        HERE + "aggregation.py",
        "if not after.largest < last.largest:",
        "if not after.largest < np.inf:",
        (TESTS + "test_aggregation.py::test_a_correction_that_does_not_help_is_undone",),
    ),
    Fault(
        "an aggregation correction is computed as if every alternative were chosen in every state",
        HERE + "aggregation.py",
        "weight = share / grid * packed.beta[d, s]",
        "weight = 1.0 * packed.beta[d, s]",
        (TESTS + "test_aggregation.py::test_default_takes_fewer_sweeps_and_steps",),
    ),
)
