"""Faults of the prices that a sweep engine computes: their gateware, their software model, and the host's part."""

from __future__ import annotations

from .fault import Fault

COMBINE = "hw/sweep/combine.py"
MODEL = "hw/sweep/model.py"
PARAMETERS = "hw/sweep/prices/parameters.py"
DESCENT = "hw/sweep/prices/descent.py"
LEAST = "hw/sweep/prices/least.py"
UPDATES = "hw/sweep/prices/updates.py"
EXPECTS = "hw/sweep/lane/expects.py"
HOST = "host/solver/moving_prices.py"
MOVING = "host/solver/moving_prices.py"
DRIVER = "host/solver/driver.py"
UNITS = "tests/hw/sweep/prices/"
TEST = UNITS + "test_prices.py::"
GATEWARE = UNITS + "test_prices.py::"
TEST_HOST = "tests/host/models/arellano/test_machine_prices.py::"

OF_DESCENT = (UNITS + "test_descent.py::test_from_the_last_point_to_the_first",)
OF_LEAST = (UNITS + "test_least.py::test_minima_of_a_lane_and_of_higher_lanes",)
OF_TABLE = ("tests/hw/sweep/test_group_table.py::test_prices_replace_the_lowest_candidate",)
OF_PAID = (TEST + "test_where_bonds_are_paid",)
OF_COSTS = (TEST + "test_costs_follow_from_where_bonds_are_paid",)
OF_SWEEPS = (TEST + "test_every_sweep_is_full_searchs_at_prices_of_the_default_set",)
OF_RANDOM = (GATEWARE + "test_random_marks_and_faces",)
OF_ECONOMIES = (GATEWARE + "test_economies_after_every_sweep",)
OF_ENDS = (GATEWARE + "test_economies_to_the_end",)
OF_SESSION = (TEST_HOST + "test_a_session_has_the_tables_of_the_next_problem",)
OF_FORMATS = (TEST_HOST + "test_formats_hold_the_values_of_all_prices",)
OF_REASONS = (TEST_HOST + "test_problems_whose_prices_the_host_updates",)
OF_LIMIT = (TEST_HOST + "test_a_run_that_does_not_converge",)

FAULTS = (
    Fault(
        "states are listed without the clocks between two points",
        DESCENT,
        "between.eq(self.last_turn + POINT_CLOCKS),",
        "between.eq(self.last_turn),",
        OF_DESCENT,
    ),
    Fault(
        "a cost is replaced by an equal one of a higher candidate",
        LEAST,
        "smaller = p.register(Mux(above | (equal & below), *words), read + 1)",
        "smaller = p.register(Mux(above | equal, *words), read + 1)",
        OF_LEAST,
    ),
    Fault(
        "an update of prices replaces the lowest candidate of a state that is not priced",
        "hw/sweep/group_table.py",
        "(self.least_state == s) & self.priced[s]",
        "(self.least_state == s)",
        OF_TABLE,
    ),
    Fault(
        "costs are compared as if they were unsigned",
        LEAST,
        "return Cat(word[: WIDTH - 1], ~word[WIDTH - 1])",
        "return Cat(word[: WIDTH - 1], word[WIDTH - 1])",
        OF_LEAST,
    ),
    Fault(
        "a lane stores its own smallest cost, not that of the higher lanes",
        LEAST,
        "minima.write_data.eq(Mux(chain_valid, received, smaller.value)),",
        "minima.write_data.eq(smaller.value),",
        OF_LEAST,
    ),
    Fault(
        "a lane without points sends on what was stored before",
        LEAST,
        "alone = Mux(chains, self.points == 0,",
        "alone = Mux(chains, 0,",
        OF_LEAST,
    ),
    Fault(
        "costs of states without a price are written",
        LEAST,
        "self.write.eq(stores & p.delay(priced, LEAST_CLOCKS - priced.time).value),",
        "self.write.eq(stores),",
        OF_LEAST,
    ),
    Fault(
        "bonds are not paid if an alternative that pays is only as good as one that does not",
        COMBINE,
        "m.d.sync += self.paid.eq(self.paid | own)",
        "m.d.sync += self.paid.eq(self.paid)",
        OF_RANDOM,
    ),
    Fault(
        "in the model, bonds are not paid in a tie",
        COMBINE,
        "pays = pays or not unpaid[s]",
        "pays = pays",
        OF_PAID,
    ),
    Fault(
        "bonds pay where they are not paid",
        EXPECTS,
        "faces.read_data & combine.paid.replicate(WIDTH),",
        "faces.read_data,",
        OF_ECONOMIES,
    ),
    Fault(
        "an update writes its sums as expected values, too",
        EXPECTS,
        "self.write.eq(expectation.ev_valid & ~self.pricing if build.prices else expectation.ev_valid),",
        "self.write.eq(expectation.ev_valid),",
        OF_ECONOMIES,
    ),
    Fault(
        "where bonds were paid is compared in the prologue",
        EXPECTS,
        "with m.If(combine.largest_valid & ~self.pricing & ~self.prologue & (combine.paid != before)):",
        "with m.If(combine.largest_valid & ~self.pricing & (combine.paid == before)):",
        OF_ENDS,
    ),
    Fault(
        "a run begins with the prices of the run before it as if they were its own",
        UPDATES,
        "m.d.sync += [known.eq(0), since.eq(0)]",
        "m.d.sync += since.eq(0)",
        (GATEWARE + "test_a_run_after_another",),
    ),
    Fault(
        "a sweep after an update begins with a check",
        UPDATES,
        "m.d.sync += [self.pricing.eq(0), self.storing.eq(0), self.cold.eq(1)]",
        "m.d.sync += [self.pricing.eq(0), self.storing.eq(0)]",
        OF_ECONOMIES,
    ),
    Fault(
        "prices are not updated when the values have converged",
        UPDATES,
        "with m.Elif(moving & (self.below | due)):",
        "with m.Elif(moving & due):",
        OF_ENDS,
    ),
    Fault(
        "the model converges at prices that do not follow from its values",
        MODEL,
        "self._plain = self._plain and not differs",
        "self._plain = self._plain or differs",
        OF_SWEEPS,
    ),
    Fault(
        "costs are not the smallest of all higher candidates",
        PARAMETERS,
        "return np.minimum.accumulate(costs[::-1])[::-1], costs.argmin(axis=0)",
        "return costs, costs.argmin(axis=0)",
        OF_COSTS,
    ),
    Fault(
        "the model does not store the lowest candidates of its prices",
        MODEL,
        "groups = replace(self._groups, lowest=self._limits[0, 0])",
        "groups = self._groups",
        (TEST + "test_lowest_candidates_stay",),
    ),
    Fault(
        "the host believes that its costs are still on the machine",
        DRIVER,
        "self._tables.forget(Table.X, Table.Q)",
        "self._tables.forget(Table.Q)",
        OF_SESSION,
    ),
    Fault(
        "values have no room for those of a bond without a price",
        HOST,
        "for cost in (safe, 0.0 * safe)",
        "for cost in (safe,)",
        OF_FORMATS,
    ),
    Fault(
        "a machine computes prices of an alternative that leads to another regime",
        HOST,
        'return f"{update.repay!r} may lead to another regime"',
        'return ""',
        OF_REASONS,
    ),
    Fault(
        "a run that ends at its limit is reported as verified",
        MOVING,
        "options = replace(options, verify=options.verify and last.converged)",
        "options = replace(options, verify=options.verify)",
        OF_LIMIT,
    ),
)
