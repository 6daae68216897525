"""Faults of tolerances, of the judgement of error bounds, and of policies evaluated by linear systems."""

from __future__ import annotations

from .fault import Fault

TOLERANCE = "host/solver/options.py"
JUDGEMENT = "host/solver/judgement.py"
TESTS = "tests/host/solver/test_tolerance.py::"
SYSTEM = "gpu_ref/general/policy_system.py"
SYSTEM_TESTS = "tests/gpu_ref/general/test_policy_system.py::"

FAULTS = (
    Fault(
        "the default tolerance does not depend on the scale of utility",
        TOLERANCE,
        "return min(TOL, SHARE * scale) if scale > 0.0 else TOL",
        "return TOL",
        (TESTS + "test_choices_do_not_depend_on_the_units_of_amounts",),
    ),
    Fault(
        "the scale of utility is that of the highest amount",
        TOLERANCE,
        "ends = [float(problem.wealth[0].min()), float(problem.wealth[-1].max())]",
        "ends = [float(problem.wealth[-1].max())]",
        (TESTS + "test_the_scale_is_that_of_utility",),
    ),
    Fault(
        "a result with an infinite error bound is a success",
        JUDGEMENT,
        "if not math.isfinite(bound):\n        return Outcome.NOT_VERIFIED, message + unbounded",
        "if bound != bound:\n        return Outcome.NOT_VERIFIED, message + unbounded",
        (TESTS + "test_values_at_the_end_of_double_precision_are_no_success",),
    ),
    Fault(
        "the spread of values includes the most extreme",
        TOLERANCE,
        "low, high = np.quantile(value, [EXTREME, 1.0 - EXTREME])",
        "low, high = np.quantile(value, [0.0, 1.0])",
        (TESTS + "test_a_bound_is_compared_with_spread_and_size",),
    ),
    Fault(
        "a bound to which the default tolerance leads is a success however large it is",
        JUDGEMENT,
        "return 0.0 if options.lowers_tol or not modulus < 1.0 else",
        "return 0.0 if not modulus < 1.0 else",
        (TESTS + "test_a_default_that_rounding_exceeds_is_no_success",),
    ),
    Fault(
        "equal values are no success",
        JUDGEMENT,
        "return bound > EXACT * usual() and bound",
        "return bound",
        (TESTS + "test_equal_values_are_a_success",),
    ),
    Fault(
        "a default tolerance that leaves a noticeable bound is not lowered",
        JUDGEMENT,
        "range(TIGHTENINGS if options.lowers_tol and problem.horizon is None else 0)",
        "range(0)",
        (TESTS + "test_the_default_is_lowered_until_it_suits_most_states",),
    ),
    Fault(
        "a slow method of the simple form is not replaced by that of the general form",
        "host/solver/reference.py",
        "[GENERAL] if slow else []",
        "[]",
        ("tests/host/solver/test_reference.py::test_slow_methods_are_replaced_where_the_state_is_hardly_forgotten",),
    ),
    Fault(
        "a result without an error bound is not verified if verify is False",
        "host/solver/reference.py",
        "elif options.verify or math.isinf(found.error_bound):",
        "elif options.verify:",
        ("tests/host/solver/test_trust.py::test_ages_have_a_bound",),
    ),
    Fault(
        "problems of one batch on a GPU are solved to the tolerance of the first",
        "host/batch/worker.py",
        "one.wealth.shape, settings.solve.of(one))",
        "one.wealth.shape, settings.solve.of(problems[0]))",
        ("tests/host/batch/test_solve_many.py::test_on_a_graphics_card_each_problem_has_its_own_tolerance",),
    ),
    Fault(
        "an alternative counts in the linear system of a policy where another is chosen",
        SYSTEM,
        "(found.choice[r] == d).astype(np.float64)",
        "(found.choice[r] >= 0).astype(np.float64)",
        (SYSTEM_TESTS + "test_the_system_is_the_derivative_of_a_sweep",),
    ),
    Fault(
        "the linear system of a policy ignores the probabilities of regimes",
        SYSTEM,
        "packed.mix[d, regime][:, None]",
        "np.ones((regime.size, 1))",
        (SYSTEM_TESTS + "test_the_system_is_the_derivative_of_a_sweep",),
    ),
    Fault(
        "linear systems are solved however often that fails",
        "gpu_ref/general/solve.py",
        "in_vain, solved = in_vain + (value is None), value is not None",
        "solved = value is not None",
        (SYSTEM_TESTS + "test_systems_that_fail_are_given_up",),
    ),
    Fault(
        "linear systems are solved however little they save",
        "gpu_ref/general/solve.py",
        "in_vain += solved and pace.stalled",
        "in_vain += 0",
        (SYSTEM_TESTS + "test_systems_that_save_no_sweeps_are_given_up",),
    ),
    Fault(
        "corrections go on although the change does not fall",
        "gpu_ref/general/solve.py",
        "allowed *= FALL if close else 1.0",
        "allowed *= 1.0",
        ("tests/gpu_ref/general/test_aggregation.py::test_optimal_stopping_does_not_go_in_a_circle",),
    ),
    Fault(
        "an iteration ends with a small change although the changes still fall",
        "gpu_ref/general/pace.py",
        "        if not self.slow or not self._changes[-1] <= ROUNDINGS * rounding(value):",
        "        if not self._changes[-1] <= ROUNDINGS * rounding(value):",
        (SYSTEM_TESTS + "test_the_pace_of_an_iteration",),
    ),
    Fault(
        "corrections by aggregation end at a discount factor of 0.999999",
        "gpu_ref/general/aggregation.py",
        "LEAST_RATE = 1e-12",
        "LEAST_RATE = 1e-6",
        ("tests/gpu_ref/general/test_aggregation.py::test_steps_are_corrected_with_beta_near_1",),
    ),
)
