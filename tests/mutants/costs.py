"""Faults of the sweep engine's tables of costs: their gateware, their software model, and the host's results."""

from __future__ import annotations

from .fault import Fault

LANE = "hw/sweep/lane/"
COSTS = "host/solver/products.py"
TEST = "tests/hw/sweep/test_alternatives.py::"
TEST_GATEWARE = ("tests/hw/sweep/test_kinds.py::test_gateware_after_every_sweep_and_at_the_end[costs-2]",)
FORMS = "tests/host/solver/test_forms.py::test_errors_are_within_the_bounds_of_every_device"
TEST_HOST = "tests/host/solver/test_costs.py::"

OF_EVERY_CHOICE = tuple(
    f"tests/hw/sweep/test_kinds.py::test_every_sweep_is_full_searchs[costs-{shape}-0]" for shape in ("laffer", "jumps")
)
OF_TABLE = (TEST_HOST + "test_what_dominated_candidates_cost",)
OF_STARTS = (TEST_HOST + "test_starts_that_fall_where_costs_do",)

FAULTS = (
    Fault(
        "every exogenous state reads the costs of the first",
        LANE + "rows.py",
        "of_state if build.costs else Mux(of_grid, 0, of_state)",
        "Mux(of_grid, 0, of_state)",
        TEST_GATEWARE,
    ),
    Fault(
        "the host's costs are written at a row taken from the whole address",
        LANE + "rows.py",
        "self.write_address[: build.cost_bits], self.write_address[build.cost_bits :]",
        "self.write_address[: build.cost_bits], self.write_address",
        TEST_GATEWARE,
    ),
    Fault(
        "the address at which costs are sent to lanes lacks the exogenous state",
        "hw/sweep/datapath.py",
        '("x_write", build.point_bits + build.cost_bits)',
        '("x_write", build.point_bits)',
        TEST_GATEWARE,
    ),
    Fault(
        "a lane has rows for the costs of one exogenous state only",
        LANE + "parameters.py",
        "(build.states if build.costs else 1)",
        "1",
        TEST_GATEWARE,
    ),
    Fault(
        "the model uses the costs of the first exogenous state for all states",
        "hw/sweep/software_passes.py",
        "return x[s if x.shape[0] > 1 else 0]",
        "return x[0]",
        OF_EVERY_CHOICE,
    ),
    Fault(
        "costs are laid out by the problem's number of states instead of the build's",
        "hw/interface/layout.py",
        "words, block = (build.states, block)",
        "words, block = (self.states, block)",
        (TEST + "test_costs_lie_by_point_and_built_state",),
    ),
    Fault(
        "a build with costs but without proof is accepted",
        "hw/interface/parameters.py",
        "if self.costs and not self.proof:",
        "if self.costs and self.folded:",
        ("tests/hw/interface/test_parameters.py::test_builds_that_cannot_be",),
    ),
    Fault(
        "a dominated candidate keeps its cost",
        COSTS,
        "least = np.minimum.accumulate(bounded[::-1])[::-1]",
        "least = bounded",
        OF_TABLE,
    ),
    Fault(
        "a dominated candidate is not replaced",
        COSTS,
        "own = np.where(inside & (bounded == least),",
        "own = np.where(inside & (bounded >= least),",
        OF_TABLE,
    ),
    Fault(
        "costs that no state can afford reduce the precision of all others",
        COSTS,
        "np.minimum(least, tables.wealth.max(axis=0))",
        "least",
        (TEST_HOST + "test_costs_that_no_state_can_afford_take_no_bits",),
    ),
    Fault(
        "a starting value that falls is accepted although costs fall",
        COSTS,
        "return np.maximum.accumulate(start), note",
        "return start, note",
        OF_STARTS,
    ),
    Fault(
        "a starting value that falls is refused although costs rise",
        COSTS,
        "if not dominated:\n        return start",
        "if problem is None:\n        return start",
        OF_STARTS,
    ),
    Fault(
        "a choice of the machine is returned even if it is dominated",
        "host/solver/product_image.py",
        "stands = products.stands[policy[..., columns], columns]",
        "stands = policy[..., columns]",
        (FORMS + "[cost laffer]",),
    ),
    Fault(
        "a table of costs is loaded into a build that does not support costs",
        "host/solver/checked.py",
        "if image.grid.ndim == 2 and not build.features.costs:",
        "if image.grid.ndim == 2 and not build.features:",
        (TEST_HOST + "test_a_device_without_costs_refuses_a_cost",),
    ),
    Fault(
        "the driver writes the costs of the first exogenous state only",
        "host/solver/driver.py",
        "grid[:, :states] = image.grid if image.grid.ndim == 2 else image.grid[:, None]",
        "grid[:, :1] = image.grid[:, :1] if image.grid.ndim == 2 else image.grid[:, None]",
        (TEST_HOST + "test_problems_without_a_cost_keep_their_bits",),
    ),
    Fault(
        "verification of a problem with costs does not find a wrong value",
        "gpu_ref/general/certificate.py",
        "off = ~((gap <= allowed[d]) | (best == values))",
        "off = gap < 0.0",
        (TEST_HOST + "test_what_a_machine_missed_is_found",),
    ),
    Fault(
        "verification of a problem with costs does not find a wrong choice",
        "gpu_ref/general/certificate.py",
        "s, x = np.nonzero((own != applied.policy[d]) & ~off)",
        "s, x = np.nonzero(off & ~off)",
        (TEST_HOST + "test_what_a_machine_missed_is_found",),
    ),
    Fault(
        "the bound without verification ignores that values may fall by rounding",
        "host/solver/complete.py",
        "rounding += 3 * unit",
        "rounding += 0 * unit",
        (TEST_HOST + "test_the_bound_without_verification_counts_what_rounding_leaves_of_dominated_candidates",),
    ),
)
