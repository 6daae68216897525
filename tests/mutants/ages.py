"""Faults of horizons with tables by age on machines."""

from __future__ import annotations

from .fault import Fault

PRODUCTS = "host/solver/products.py"
IMAGE = "host/solver/fixed_point.py"
TEST = "tests/hw/sweep/test_ages.py::"
FORMS = "tests/host/solver/test_forms.py::test_errors_are_within_the_bounds_of_every_device"
TEST_HOST = "tests/host/solver/test_ages.py::"

OF_SEARCH = (TEST + "test_every_age_is_full_searchs",)
OF_TRANSFERS = (TEST_HOST + "test_only_tables_that_differ_are_transferred",)
OF_REFUSALS = ("tests/host/test_refusals.py::test_bad_arguments",)
OF_FORMATS = (TEST_HOST + "test_number_formats_are_those_of_the_most_demanding_age",)
OF_FALLS = (TEST_HOST + "test_values_that_fall_are_refused_only_at_ages_that_they_enter",)

FAULTS = (
    Fault(
        "every age is run with the tables of the last one",
        IMAGE,
        "now = self.ages[age] if self.ages else self",
        "now = self.ages[-1] if self.ages else self",
        OF_SEARCH,
    ),
    Fault(
        "tables of values remain those of the last age",
        IMAGE,
        "return replace(now, start=np.where(keeps, now.start, value))",
        "return replace(now, start=value)",
        OF_SEARCH,
    ),
    Fault(
        "the continuation value has the table of values of the same age",
        PRODUCTS,
        "following = now if problem.horizon is None else min(now + 1, problem.horizon - 1)",
        "following = now",
        OF_SEARCH,
    ),
    Fault(
        "weights of all ages are those of the first",
        PRODUCTS,
        "tables = one.at(self.age)",
        "tables = one.at(0)",
        OF_SEARCH,
    ),
    Fault(
        "weights are taken from the age before although they differ",
        "host/solver/product_image.py",
        "and _same_weights(one.at(ages[0]), other.at(ages[1]))",
        "and _same_weights(one.at(ages[0]), other.at(ages[0]))",
        OF_SEARCH,
    ),
    Fault(
        "an age whose tables differ begins without choices",
        "host/solver/driver.py",
        "same = next_age or not {",
        "same = not {",
        OF_TRANSFERS,
    ),
    Fault(
        "a table of values that falls is refused at the last age, which it does not enter",
        PRODUCTS,
        "tables = falls & keeps & (age is None or not last)",
        "tables = falls & keeps",
        OF_FALLS,
    ),
    Fault(
        "a start that falls is refused at every age",
        PRODUCTS,
        "if not falls.any() or (problem.horizon is not None and not last):",
        "if not falls.any():",
        OF_FALLS,
    ),
    Fault(
        "the format of amounts is that of the first age",
        "host/solver/product_image.py",
        "for one in products for table in (one.cost, one.wealth)",
        "for one in products[:1] for table in (one.cost, one.wealth)",
        OF_FORMATS,
    ),
    Fault(
        "bounds on values are those of the first age's utilities",
        "host/solver/product_image.py",
        "k = age if len(products) > 1 else 0",
        "k = 0",
        (FORMS + "[ages random]",),
    ),
    Fault(
        "a weight above 1 is accepted",
        PRODUCTS,
        "if heaviest > 1.0:",
        "if heaviest > 2.0:",
        OF_REFUSALS,
    ),
    Fault(
        "a problem with bounds runs on a machine without alternatives",
        PRODUCTS,
        "return not (bounded or np.any(one.kappa))",
        "return not np.any(one.kappa)",
        (TEST_HOST + "test_older_builds_are_refused",),
    ),
    Fault(
        "the last solution of a session is taken for the value after the last age",
        "host/solver/session.py",
        "self._last is not None and problem.horizon is None:",
        "self._last is not None:",
        (TEST_HOST + "test_the_last_solution_is_no_value_after_the_last_age",),
    ),
    Fault(
        "results of ages are read with the tables of other ages",
        "host/solver/product_image.py",
        "sweeps = zip(reversed(image.ages), value, policy, strict=False)",
        "sweeps = zip(image.ages, value, policy, strict=False)",
        (FORMS + "[ages default]",),
    ),
)
