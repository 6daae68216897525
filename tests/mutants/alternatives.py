"""Faults of the sweep engine's alternatives: their gateware, their software model, and the host's results."""

from __future__ import annotations

from .fault import Fault

COMBINE = "hw/sweep/combine.py"
MODEL = "hw/sweep/model.py"
PRODUCTS = "host/solver/products.py"
IMAGE = "host/solver/product_image.py"
VERIFY = "host/solver/verify_products.py"
TEST = "tests/hw/sweep/test_alternatives.py::"
FORMS = "tests/host/solver/test_forms.py::test_errors_are_within_the_bounds_of_every_device"
TEST_HOST = "tests/host/solver/test_alternatives.py::"
GATEWARE = "tests/hw/sweep/test_kinds.py::"

OF_UNIT = ("tests/hw/sweep/test_combine.py::test_largest_of_groups",)
OF_SWEEPS = tuple(
    f"{GATEWARE}test_every_sweep_is_full_searchs[alternatives-{kind}-{seed}]"
    for kind in ("default", "retirement", "exit", "random")
    for seed in range(2)
)
OF_GROUPS = (GATEWARE + "test_states_that_can_afford_nothing[alternatives-2]",)
OF_MARKS = (GATEWARE + "test_random_values_and_marks",)
OF_KINDS = (GATEWARE + "test_gateware_after_every_sweep_and_at_the_end[alternatives-2]",)
OF_DEFAULT = (TEST_HOST + "test_product_states_of_a_default",)
OF_MISSES = ("tests/host/solver/test_forms.py::test_what_a_machine_missed_is_found[retirement]",)
OF_CANDIDATES = (TEST + "test_candidates_that_are_left_out",)
OF_AMONG = (TEST + "test_every_pass_stays_among_the_candidates",)
OF_RANDOM_CANDIDATES = (GATEWARE + "test_random_candidates",)
OF_TABLE = ("tests/hw/sweep/test_group_table.py::test_bytes_of_both_rows",)
OF_LIMITS = ("tests/hw/sweep/search/test_limits.py::test_candidates_of_every_search",)
OF_PROBE = ("tests/hw/sweep/search/test_probe.py::test_candidates_and_cached_rows",)
GUESS = "tests/hw/sweep/search/test_guess.py::"
OF_DIVISION = ("tests/hw/sweep/test_proof.py::test_rounds_that_divide",)
OF_BORDERS = ("tests/hw/sweep/scan/test_borders.py::test_ends_and_sides",)
OF_PARTS = ("tests/host/solver/test_sweep_engine.py::test_groups_move_alone_and_choices_stay",)

OF_BUSES = ("tests/hw/sweep/test_row_buses.py::test_rows_from_any_lane_to_any_lane",)
OF_ROUNDS = ("tests/hw/sweep/scan/test_rounds.py::test_rounds_until_none_moves",)
OF_ENDS = ("tests/hw/sweep/scan/test_share.py::test_a_lane_sends_its_ends_and_skips_them_if_they_are_confirmed",)
OF_SHARE = ("tests/hw/sweep/scan/test_share.py::test_brackets_travel_with_their_cash_on_hand",)
OF_SHARED = ("tests/hw/sweep/test_proof.py::test_brackets_of_the_ends_that_lanes_share",)

TEST_FIRMS = "tests/hw/sweep/test_alternatives.py::"
HOST_FIRMS = "tests/host/solver/test_firms.py::"
OF_EVALUATOR = ("tests/hw/arithmetic/test_evaluator.py::test_gateware",)
OF_FIRMS = tuple(f"{GATEWARE}test_every_sweep_is_full_searchs[alternatives-random firm-{seed}]" for seed in range(3))

FAULTS = (
    Fault(
        "gateware takes consumption of 0 for infeasible where it may be negative",
        "hw/arithmetic/evaluator.py",
        "fits & negative, value[: WIDTH - 1].any() | negative)",
        "fits & negative, value[: WIDTH - 1].any())",
        OF_EVALUATOR,
    ),
    Fault(
        "gateware takes consumption below its range for feasible",
        "hw/arithmetic/evaluator.py",
        "fits = value[WIDTH - 1] & value[: WIDTH - 1].any()",
        "fits = value[: WIDTH - 1].any()",
        OF_EVALUATOR,
    ),
    Fault(
        "gateware reports linear utility as saturated where curved utility would be",
        "hw/arithmetic/evaluator.py",
        "Timed(~linear & over.value, u.time)",
        "Timed(over.value, u.time)",
        OF_EVALUATOR,
    ),
    Fault(
        "the model takes negative consumption for infeasible",
        "hw/arithmetic/utility.py",
        "feasible = c > 0 or (negative and c > MINIMUM)",
        "feasible = c > 0 or (negative and c == 0)",
        ("tests/hw/arithmetic/test_utility.py::test_linear_utility_is_consumption",),
    ),
    Fault(
        "consumption below its range is feasible where it may be negative",
        "hw/arithmetic/evaluator.py",
        "return np.int64(MINIMUM), False",
        "return np.int64(-1), False",
        (TEST_FIRMS + "test_amounts_at_the_ends_of_the_range",),
    ),
    Fault(
        "costs of a firm with negative dividends are those of candidates that dominate",
        PRODUCTS,
        "        if form.negative:\n            cost",
        "        if form.sigma:\n            cost",
        (HOST_FIRMS + "test_tables_of_negative_dividends",),
    ),
    Fault(
        "candidates of a firm with negative dividends ignore its bounds",
        IMAGE,
        "return products.low[0], products.high[-1]",
        "return 0 * products.low[0], 0 * products.high[-1] + grid.shape[0] - 1",
        OF_FIRMS,
    ),
    Fault(
        "values and amounts of linear utility have different fraction bits",
        IMAGE,
        "certain = min(fraction_bits(reach.all), fraction_bits(largest))",
        "certain = fraction_bits(largest)",
        (HOST_FIRMS + "test_fraction_bits",),
    ),
    Fault(
        "bounds on numbers leave out expensive candidates of a firm",
        "host/solver/product_reach.py",
        "parts.append(float(np.abs(one.wealth).max() + np.abs(one.cost).max()))",
        "parts.append(0.0)",
        (HOST_FIRMS + "test_candidates_out_of_bounds_are_within_the_range_of_numbers",),
    ),
    Fault(
        "a build without linear utility is given a problem that needs it",
        "host/solver/checked.py",
        "if image.constants.linear and not build.features.linear:",
        "if image.constants.linear and build.features.ages:",
        (HOST_FIRMS + "test_older_builds_are_refused",),
    ),
    Fault(
        "row buses serve the highest exogenous state first",
        "hw/sweep/row_buses.py",
        "states[other] <= states[bus]",
        "states[other] >= states[bus]",
        OF_BUSES,
    ),
    Fault(
        "scans skip a state with candidates of which the lowest is 0",
        "hw/sweep/group_table.py",
        "self.forced[s].eq(next(candidates) == next(candidates))",
        "self.forced[s].eq(next(candidates) == 0)",
        OF_TABLE,
    ),
    Fault(
        "scans begin with a state that has no choice",
        "hw/sweep/scan/brackets.py",
        "first_state = self.forced[0] & (self.last_state != 0)",
        "first_state = Const(0, 1)",
        OF_ENDS,
    ),
    Fault(
        "shared brackets are confirmed although one has a better candidate",
        "hw/sweep/scan/rounds.py",
        "self.confirmed.eq(~self.moved)",
        "self.confirmed.eq(1)",
        OF_ROUNDS,
    ),
    Fault(
        "confirmed brackets are skipped after a choice was written",
        "hw/sweep/scan/brackets.py",
        "m.d.sync += unchanged.eq(0)",
        "m.d.sync += unchanged.eq(unchanged)",
        OF_ENDS,
    ),
    Fault(
        "the lane with the first point sends the brackets of its last point",
        "hw/sweep/scan/brackets.py",
        "Mux(low, self.at_begin, self.at_end)",
        "Mux(low, self.at_end, self.at_begin)",
        OF_ENDS,
    ),
    Fault(
        "a round of shared brackets ends before the last could come",
        "hw/sweep/scan/brackets.py",
        "(waiting | flying | drain)",
        "(waiting | flying)",
        OF_ENDS,
    ),
    Fault(
        "shared brackets are numbered on from the last round",
        "hw/sweep/scan/share.py",
        "with m.If(self.restart):",
        "with m.If(self.restart & self.given):",
        OF_SHARE,
    ),
    Fault(
        "lanes share brackets although one lane has all points",
        "hw/sweep/datapath.py",
        "shares.eq((last != 0) & ",
        "shares.eq(",
        OF_KINDS,
    ),
    Fault(
        "a result of another lane's state is written",
        "hw/sweep/lane/lane.py",
        "search.wealth_data.eq(scan.given_wealth), tables.better.eq(0)",
        "search.wealth_data.eq(scan.given_wealth)",
        OF_RANDOM_CANDIDATES,
    ),
    Fault(
        "the model confirms shared brackets that have a better candidate",
        "hw/sweep/proof.py",
        "self._confirmed[:] = not better, not better and",
        "self._confirmed[:] = True,",
        OF_SHARED,
    ),
    Fault(
        "the model skips confirmed brackets after a choice was written",
        "hw/sweep/proof.py",
        "self._confirmed &= ~moved_in[[0, self.dealt.used - 1]]",
        "self._confirmed &= True",
        OF_SHARED,
    ),
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
        "with m.If(unit.value_valid | unit.clear):",
        "with m.If(unit.value_valid):",
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
        "value = Mux(keeps, before, value)",
        "value = Mux(keeps & 0, before, value)",
        OF_MARKS,
    ),
    Fault(
        "the utility of an alternative is added even to the lowest value, which marks states that can afford nothing",
        "hw/sweep/lane/values.py",
        "unshifted = unshifted | keeps | Mux(self.search_valid, self.search_none, self.check_none)",
        "unshifted = unshifted | keeps | (Mux(self.search_valid, self.search_none, self.check_none) & 0)",
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
        "host/solver/product_reach.py",
        "earned + products.kappa, -np.inf)",
        "earned, -np.inf)",
        (
            FORMS + "[exit]",
            FORMS + "[random]",
        ),
    ),
    Fault(
        "the worst alternative is reported instead of the best",
        VERIFY,
        "first = words[..., own_alternatives, :, :].argmax(axis=-3)",
        "first = words[..., own_alternatives, :, :].argmin(axis=-3)",
        (FORMS + "[default]",),
    ),
    Fault(
        "verification of problems with alternatives accepts any error as rounding",
        "host/solver/verify.py",
        "coarse = None if rounding is None else TIMES * np.where(",
        "coarse = None if rounding is None else 1e9 * np.where(",
        OF_MISSES,
    ),
    Fault(
        "a checkpoint leaves out the groups",
        "host/solver/checkpoint.py",
        "digest.update(image.groups.kappa.data)",
        "digest.update(image.groups.marks.data)",
        (TEST_HOST + "test_a_solve_resumes_from_its_checkpoint",),
    ),
    Fault(
        "a checkpoint leaves out the candidates",
        "host/solver/checkpoint.py",
        "        digest.update(image.groups.lowest.data)\n",
        "",
        (TEST_HOST + "test_a_checkpoint_has_a_key_of_all_groups",),
    ),
    Fault(
        "the lowest candidate is one above the one that dominates those below it",
        IMAGE,
        "np.where(products.keeps, 0, products.stands[0])",
        "np.where(products.keeps, 0, np.minimum(products.stands[0] + 1, last))",
        OF_CANDIDATES,
    ),
    Fault(
        "the highest candidate that can be afforded is left out",
        IMAGE,
        "np.clip(affordable - 1, lowest, last)",
        "np.clip(affordable - 2, lowest, last)",
        OF_CANDIDATES,
    ),
    Fault(
        "a state without an affordable candidate has none",
        IMAGE,
        "np.clip(affordable - 1, lowest, last)",
        "np.clip(affordable - 1, 0, last)",
        OF_CANDIDATES,
    ),
    Fault(
        "the highest candidate has the place of the lowest",
        "hw/interface/groups.py",
        "self.highest << HIGHEST_SHIFT",
        "self.highest << LOWEST_SHIFT",
        (TEST + "test_groups_in_the_second_matrix",),
    ),
    Fault(
        "candidates are written with any byte",
        "hw/sweep/group_table.py",
        "with m.If(self.write[byte]):\n                                m.d.sync += limit",
        "with m.If(self.write.any()):\n                                m.d.sync += limit",
        OF_TABLE,
    ),
    Fault(
        "the lowest candidates of gateware are also its highest",
        "hw/sweep/search/limits.py",
        '("most", self.highest)',
        '("most", self.lowest)',
        OF_LIMITS,
    ),
    Fault(
        "a guess is clamped to the candidates of the next search",
        "hw/sweep/search/limits.py",
        "self.parameters.guessed - PROBED)",
        "self.parameters.guessed - PROBED - 1)",
        OF_LIMITS,
    ),
    Fault(
        "a search may step below the lowest candidate",
        "hw/sweep/search/probe.py",
        "outside = (wanted.value < self.least) |",
        "outside = (wanted.value < 0) |",
        OF_PROBE,
    ),
    Fault(
        "a search may step above the highest candidate",
        "hw/sweep/search/probe.py",
        "| (wanted.value > self.most)",
        "| (wanted.value > self.last_index)",
        OF_PROBE,
    ),
    Fault(
        "guesses are clamped to the whole grid",
        "hw/sweep/search/guess.py",
        "limits = [p.input(word) for word in (self.least, self.most)]",
        "limits = limits",
        (GUESS + "test_guesses_among_the_candidates_of_a_state",),
    ),
    Fault(
        "brackets of the first point begin at the first point of the grid",
        "hw/sweep/scan/borders.py",
        "lowest, highest = self.lowest, self.highest",
        "highest = self.highest",
        OF_BORDERS,
    ),
    Fault(
        "brackets of the last point end at the last point of the grid",
        "hw/sweep/scan/borders.py",
        "lowest, highest = self.lowest, self.highest",
        "lowest = self.lowest",
        OF_BORDERS,
    ),
    Fault(
        "a lane exchanges lowest and highest candidates at the ends of the grid",
        "hw/sweep/scan/borders.py",
        '(*sizes, "lowest", "highest")',
        '(*sizes, "highest")',
        OF_RANDOM_CANDIDATES,
    ),
    Fault(
        "the model searches all candidates",
        MODEL,
        "*given, cold, room, limits=self._limits, handed=handed)",
        "*given, cold, room, handed=handed)",
        OF_AMONG,
    ),
    Fault(
        "the model repairs with all candidates",
        "hw/sweep/proof.py",
        "room=self.room, limits=limits)",
        "room=self.room)",
        OF_RANDOM_CANDIDATES,
    ),
    Fault(
        "the model looks at brackets of all candidates at the ends of the grid",
        "hw/sweep/proof.py",
        "limits = whole_grid(*self.choices.shape) if self.limits is None else self.limits",
        "limits = whole_grid(*self.choices.shape)",
        OF_AMONG,
    ),
    Fault(
        "divide and conquer of the model begins at the first point of the grid",
        "hw/sweep/software_proof.py",
        "below, above = bounds[0, s], bounds[1, s]",
        "below, above = 0, bounds[1, s]",
        OF_DIVISION,
    ),
    Fault(
        "divide and conquer of the model ends at the last point of the grid",
        "hw/sweep/software_proof.py",
        "below, above = bounds[0, s], bounds[1, s]",
        "below, above = bounds[0, s], rows - 1",
        OF_DIVISION,
    ),
    Fault(
        "a search of the model begins outside the candidates",
        "hw/sweep/software_passes.py",
        "min(max(last[i, s] + shift, here_limits[0, s]), here_limits[1, s])",
        "min(max(last[i, s] + shift, 0), rows - 1)",
        OF_AMONG,
    ),
    Fault(
        "a run with other candidates begins without choices",
        "host/solver/driver.py",
        "if (load.table, load.part) != (Table.Q, _GROUPS)}",
        "}",
        OF_PARTS,
    ),
    Fault(
        "only the part of a table that was written last is written again",
        "host/solver/checked.py",
        "for load in parts:\n                if load not in written:",
        "for load in written:\n                if load not in written:",
        OF_PARTS,
    ),
)
