"""Faults of models: a cohort, paths after a shock, households of several kinds, and convex costs of adjustment."""

from __future__ import annotations

from .fault import Fault

MODELS = "host/models/"
TESTS = "tests/host/models/"
COHORT = TESTS + "cohort/test_model.py::"
PATH = TESTS + "aiyagari_path/test_model.py::"
EQUILIBRIUM = TESTS + "equilibrium/"
TYPES = TESTS + "aiyagari_types/test_model.py::"

FAULTS = (
    Fault(
        "the dead leave their savings without interest",
        MODELS + "cohort/model.py",
        "left[:, -1] = self.bequest_utility((1.0 + self.interest) * assets)",
        "left[:, -1] = self.bequest_utility(assets)",
        (COHORT + "test_it_is_backward_induction_in_plain_numpy",),
    ),
    Fault(
        "pensions are a share of the first labour income instead of the last",
        MODELS + "cohort/model.py",
        "pension = np.log(self.replacement * self.income[-1])",
        "pension = np.log(self.replacement * self.income[0])",
        (COHORT + "test_incomes_follow_profile_chain_and_pension",),
    ),
    Fault(
        "in simulated lives no member of a cohort dies before the last age",
        MODELS + "cohort/paths.py",
        "lives * chain[age])",
        "chain[age])",
        (COHORT + "test_mass_adds_up_to_survival",),
    ),
    Fault(
        "the variance of a chain by age ignores earlier shocks",
        "host/problem/markov.py",
        "variance = rho**2 * variance + shock**2",
        "variance = shock**2",
        ("tests/host/problem/test_markov.py::test_a_chain_by_age_has_the_moments_of_its_process",),
    ),
    Fault(
        "a path counts as solved before it has reached the steady state",
        MODELS + "equilibrium/transition.py",
        "if not np.abs(excess[:, -1]).max() <= REST_TOLERANCE:",
        "if not np.abs(excess[:, -1]).max() <= 1.0:",
        (PATH + "test_a_path_that_is_too_short_is_no_success",),
    ),
    Fault(
        "a path counts as solved although the market of some date does not clear",
        MODELS + "equilibrium/transition.py",
        "if not inside.max() <= MARKET_TOLERANCE:",
        "if not inside.max() <= 1.0:",
        (PATH + "test_a_market_that_does_not_clear_is_no_success",),
    ),
    Fault(
        "the Jacobian of a path ignores responses at earlier dates",
        MODELS + "equilibrium/sequence.py",
        "news[t, 1:] += news[t - 1, :-1]",
        "news[t, 1:] += 0.0",
        (EQUILIBRIUM + "test_sequence.py::test_responses_are_those_of_small_changes",),
    ),
    Fault(
        "the price of a date that is known before responds to a shock",
        MODELS + "equilibrium/sequence.py",
        "free[[name in predetermined for name in prices], 0] = False",
        "free[[name in predetermined for name in prices], 0] = True",
        (EQUILIBRIUM + "test_transition.py::test_a_return_that_is_known_before",),
    ),
    Fault(
        "an economy counts as solved although its excess jumps over zero",
        MODELS + "equilibrium/search.py",
        "if best.largest <= MARKET_TOLERANCE:\n            return\n        at = [",
        "if best.largest <= 10.0:\n            return\n        at = [",
        (EQUILIBRIUM + "test_economy.py::test_an_excess_that_jumps_is_said",),
    ),
    Fault(
        "equations of the long run are solved from the first state, however unlikely it is",
        "host/analysis/long_run.py",
        "int(shares.argmax())",
        "0",
        (EQUILIBRIUM + "test_economy.py::test_without_bounds_a_bracket_is_found",),
    ),
    Fault(
        "in the long-run distribution all choices between two points go to the lower one",
        "host/analysis/long_run.py",
        "(1.0 - above) * chances, above * chances",
        "chances, 0.0 * chances",
        (TESTS + "aiyagari/test_model.py::test_the_long_run_of_choices_between_points",),
    ),
    Fault(
        "all kinds of households have the patience of the most patient",
        MODELS + "aiyagari_types/model.py",
        "replace(self.economy, beta=beta, eta=eta)",
        "replace(self.economy, eta=eta)",
        (TYPES + "test_the_most_patient_types_hold_most",),
    ),
    Fault(
        "a convex cost is computed from next capital instead of investment",
        "host/models/lumpy_investment/model.py",
        "0.5 * self.convex * invested**2 / capital",
        "0.5 * self.convex * following**2 / capital",
        ("tests/host/models/lumpy_investment/test_convex.py::test_it_is_value_iteration_in_plain_numpy",),
    ),
)
