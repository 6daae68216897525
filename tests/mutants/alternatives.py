"""Faults of the sweep engine's alternatives: their gateware, their software model, and the host's results."""

from __future__ import annotations

from .fault import Fault

COMBINE = "hw/sweep/combine.py"
MODEL = "hw/sweep/model.py"
PRODUCTS = "host/solver/products.py"
IMAGE = "host/solver/product_image.py"
VERIFY = "host/solver/verify_products.py"
TEST = "tests/hw/sweep/test_alternatives.py::"
TEST_HOST = "tests/host/solver/test_alternatives.py::"
GATEWARE = "tests/hw/sweep/test_alternatives_gateware.py::"

OF_UNIT = ("tests/hw/sweep/test_combine.py::test_largest_of_groups",)
OF_SWEEPS = (TEST + "test_every_sweep_is_full_searchs",)
OF_GROUPS = (GATEWARE + "test_groups_that_can_afford_nothing",)
OF_MARKS = (GATEWARE + "test_random_values_and_marks",)
OF_KINDS = (GATEWARE + "test_every_kind_after_every_sweep",)
OF_DEFAULT = (TEST_HOST + "test_product_states_of_a_default",)
OF_MISSES = (TEST_HOST + "test_what_a_machine_missed_is_found",)

FAULTS = (
    Fault(
        "the maximum of a group includes the next group",
        COMBINE,
        "with m.If(begins | (biased[_HALF:] > high)):",
        "with m.If(biased[_HALF:] > high):",
        OF_UNIT,
    ),
    Fault(
        "the lower halves of two values are not compared",
        COMBINE,
        "with m.If(replace | (compare & (lower > low))):",
        "with m.If(replace):",
        OF_UNIT,
    ),
    Fault(
        "values are compared as if they were unsigned",
        COMBINE,
        "biased = Cat(self.value[:-1], ~self.value[-1])",
        "biased = Cat(self.value[:-1], self.value[-1])",
        OF_UNIT,
    ),
    Fault(
        "the values of an interrupted point enter the next maximum",
        COMBINE,
        "with m.If(self.value_valid | self.clear):",
        "with m.If(self.value_valid):",
        OF_UNIT,
    ),
    Fault(
        "a group without an affordable alternative is not reported",
        "hw/sweep/lane/lane.py",
        "return nothing & passes.settled",
        "return nothing & passes.settled & 0",
        OF_GROUPS,
    ),
    Fault(
        "values that no sweep has computed yet are taken for a group without an affordable alternative",
        "hw/sweep/lane/expects.py",
        "combine.nothing & ~p.delay(p.input(point_in), between).value[-1]",
        "combine.nothing",
        OF_KINDS,
    ),
    Fault(
        "expected values are assigned to the previous point",
        "hw/sweep/lane/expects.py",
        "late = p.delay(p.input(point_in), between + parameters.expectation.latency).value",
        "late = p.delay(p.input(point_in), parameters.expectation.latency).value",
        OF_KINDS,
    ),
    Fault(
        "an alternative given by a table of values gets the value of its candidates instead",
        "hw/sweep/lane/values.py",
        "value = Mux(Array(self.keeps)[state], before, value)",
        "value = Mux(Array(self.keeps)[state] & 0, before, value)",
        OF_MARKS,
    ),
    Fault(
        "the utility of an alternative is added even to the lowest value, which marks states that can afford nothing",
        "hw/sweep/lane/values.py",
        "unshifted = unshifted | Mux(self.walk_valid, self.walk_none, self.check_none)",
        "unshifted = unshifted | (Mux(self.walk_valid, self.walk_none, self.check_none) & 0)",
        (GATEWARE + "test_additions_may_leave_the_range",),
    ),
    Fault(
        "a state without an affordable choice is searched in every sweep",
        "hw/sweep/lane/judge.py",
        "self.stays.eq(self.check_stays | self.fixed | self.check_none),",
        "self.stays.eq(self.check_stays | self.fixed),",
        OF_KINDS,
    ),
    Fault(
        "marks of groups are read from the row of added utilities",
        "hw/sweep/group_table.py",
        "with m.If((self.row == 1) & (self.column == s) & self.write[0]):",
        "with m.If((self.row == 0) & (self.column == s) & self.write[0]):",
        OF_KINDS,
    ),
    Fault(
        "the model does not take the maximum over alternatives",
        MODEL,
        "return super()._expected(largest)",
        "return super()._expected(value)",
        OF_SWEEPS,
    ),
    Fault(
        "the model leaves out the utilities added to alternatives",
        MODEL,
        "add_all(added, groups.kappa, flags)",
        "add_all(added, 0 * groups.kappa, flags)",
        OF_SWEEPS,
    ),
    Fault(
        "the model gives an alternative with a table of values the value of its candidates instead",
        MODEL,
        "value[:, self._keeps] = before[:, self._keeps]",
        "value[:, self._keeps] = value[:, self._keeps]",
        OF_SWEEPS,
    ),
    Fault(
        "transition weights refer to the first alternative of a group instead of the last",
        PRODUCTS,
        "last = self.count, self.arrangement.last",
        "last = self.count, self.arrangement.first",
        OF_DEFAULT,
    ),
    Fault(
        "an alternative leads to its regimes with the discount factor of the first state",
        PRODUCTS,
        "discount = Fraction(float(tables.beta[s]))",
        "discount = Fraction(float(tables.beta[0]))",
        OF_SWEEPS,
    ),
    Fault(
        "candidates above a bound are affordable",
        PRODUCTS,
        "inside = (index >= low) & (index <= high)",
        "inside = (index >= low) & (index >= 0)",
        OF_DEFAULT,
    ),
    Fault(
        "a table of values enters the value after the last age",
        IMAGE,
        "begins, ends = products.borders(apart=last)",
        "begins, ends = products.borders(apart=False)",
        (TEST_HOST + "test_a_table_of_values_counts_for_nothing_after_the_last_age",),
    ),
    Fault(
        "bounds on values leave out the utilities added to alternatives",
        IMAGE,
        "utility(consumed, form.eta) + products.kappa, -np.inf)",
        "utility(consumed, form.eta), -np.inf)",
        (TEST_HOST + "test_values_stay_within_their_bounds",),
    ),
    Fault(
        "the worst alternative is reported instead of the best",
        VERIFY,
        "first = words[..., own_alternatives, :, :].argmax(axis=-3)",
        "first = words[..., own_alternatives, :, :].argmin(axis=-3)",
        (TEST_HOST + "test_the_emulator_finds_what_the_processor_finds",),
    ),
    Fault(
        "verification of problems with alternatives accepts any error as rounding",
        VERIFY,
        "coarse = TIMES * rounding_of(problem, image, found)",
        "coarse = 1e9 * rounding_of(problem, image, found)",
        OF_MISSES,
    ),
    Fault(
        "a checkpoint leaves out the groups",
        "host/solver/checkpoint.py",
        "digest.update(image.groups.kappa.data)",
        "digest.update(image.groups.marks.data)",
        (TEST_HOST + "test_a_solve_resumes_from_its_checkpoint",),
    ),
)
