"""Faults of taste shocks: the log-sum unit, its place in the sweep engine, and the host."""

from __future__ import annotations

from .fault import Fault

UNIT = "hw/arithmetic/log_sum.py"
CONSTANTS = "hw/arithmetic/log_sum_constants.py"
GROUPS = "hw/sweep/taste.py"
PRODUCTS = "host/solver/products.py"
TEST_UNIT = "tests/hw/arithmetic/test_log_sum.py::"
TEST = "tests/hw/sweep/test_taste.py::"
FORMS = "tests/host/solver/test_forms.py::test_errors_are_within_the_bounds_of_every_device"
TEST_HOST = "tests/host/solver/test_taste.py::"

OF_ERROR = (TEST_UNIT + "test_error_against_oracle",)
OF_UNIT = (TEST_UNIT + "test_gateware_equals_model",)
OF_MAXIMUM = (TEST_UNIT + "test_without_shocks_it_is_the_maximum",)
OF_GROUPS = (TEST + "test_log_sums_of_groups",)
OF_STREAM = (TEST + "test_gateware_of_the_unit",)
OF_SWEEPS = ("tests/hw/sweep/test_kinds.py::test_every_sweep_is_full_searchs[taste-retirement-0]",)
OF_START = (TEST_HOST + "test_log_sums_of_the_start_are_those_of_the_problem",)
OF_LAST = (TEST_HOST + "test_the_last_solution_is_a_start",)
OF_BOUNDS = (FORMS + "[taste random]",)
OF_ROUNDING = (TEST_HOST + "test_rounding_includes_the_log_sum",)
OF_EQUAL = (TEST_HOST + "test_equal_alternatives_of_a_regime_both_count",)
OF_KEY = (TEST_HOST + "test_a_checkpoint_has_a_key_of_the_scale",)
OF_REFUSALS = ("tests/host/test_refusals.py::test_bad_arguments",)
OF_RESULTS = (FORMS + "[taste random]",)

FAULTS = (
    Fault(
        "an absent value adds an exponential",
        UNIT,
        "if k != at and values[k] != ABSENT:",
        "if k != at:",
        OF_ERROR,
    ),
    Fault(
        "of equal values only one is counted",
        UNIT,
        "if k != at and values[k] != ABSENT:",
        "if values[k] != best and values[k] != ABSENT:",
        OF_ERROR,
    ),
    Fault(
        "a log-sum is not rounded",
        UNIT,
        "np.uint64(1 << (_RESULT_CUT - 1))))",
        "np.uint64(0)))",
        OF_ERROR,
    ),
    Fault(
        "gateware ignores bits that a difference loses in its lift",
        UNIT,
        "(halvings < -_FAR) | flags[0] | flags[1]",
        "(halvings < -_FAR) | flags[0]",
        OF_UNIT,
    ),
    Fault(
        "gateware leaves out one value of a log-sum",
        UNIT,
        "for other in (middle, first[1], second[1])]",
        "for other in (middle, first[1], first[1])]",
        OF_UNIT,
    ),
    Fault(
        "shocks below the resolution are not left out",
        CONSTANTS,
        "if units < Fraction(2) ** (_NORMAL - MOST_LIFT):",
        "if units == 0:",
        OF_MAXIMUM,
    ),
    Fault(
        "the scale of shocks has one fraction bit less",
        CONSTANTS,
        "units = Fraction(sigma) * Fraction(2) ** value",
        "units = Fraction(sigma) * Fraction(2) ** (value - 1 if value else 0)",
        (TEST_UNIT + "test_format_of_values",),
    ),
    Fault(
        "log-sums have values of the group before",
        GROUPS,
        "                last[:] = ABSENT\n",
        "                last[1:] = ABSENT\n",
        OF_GROUPS,
    ),
    Fault(
        "gateware has values of the group before",
        GROUPS,
        "m.d.sync += after.eq(Mux(begins, ABSENT, before))",
        "m.d.sync += after.eq(Mux(begins & (after is values[1]), ABSENT, before))",
        OF_STREAM,
    ),
    Fault(
        "the engine takes maxima where it should take log-sums",
        "hw/sweep/model.py",
        "constants = LogSumConstants.of_words(self._groups.shocks)",
        "constants = LogSumConstants()",
        OF_SWEEPS,
    ),
    Fault(
        "all alternatives start from the value of their regime",
        PRODUCTS,
        "                start[:, one::count] = -np.inf\n",
        "                start[:, one::count] = value\n",
        OF_START,
    ),
    Fault(
        "a start does not take account of tables of values",
        PRODUCTS,
        "            elif form.horizon is None:\n",
        "            elif False:\n",
        OF_LAST,
    ),
    Fault(
        "bounds on values leave out what a log-sum adds",
        "host/solver/product_image.py",
        "more = sigma * math.log(products[0].arrangement.largest)",
        "more = 0.0",
        OF_BOUNDS,
    ),
    Fault(
        "the bound leaves out the error of the log-sum",
        "host/solver/complete.py",
        "    units += log_sum_error(products.form.sigma, image.value_unit)\n",
        "",
        OF_ROUNDING,
    ),
    Fault(
        "an alternative that a regime has twice counts once in a log-sum",
        "host/solver/products.py",
        "twice = form.sigma > 0.0 and",
        "twice = False and",
        OF_EQUAL,
    ),
    Fault(
        "probabilities of alternatives are those of a maximum",
        "host/solver/product_image.py",
        "return np.asarray(weights / total[..., None, :, :])",
        "return np.asarray(weights == 1.0)",
        OF_RESULTS,
    ),
    Fault(
        "a checkpoint may be continued with another scale of shocks",
        "host/solver/run.py",
        "digest.update(repr(image.groups.shocks).encode())",
        "pass",
        OF_KEY,
    ),
    Fault(
        "a build for taste shocks takes maxima over more alternatives than it can",
        "host/solver/checked.py",
        "build.features.taste and image.products.arrangement.largest > TERMS",
        "build.features.taste and image.products.arrangement.largest > 99",
        OF_REFUSALS,
    ),
)
