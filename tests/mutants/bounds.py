"""Faults of bounds of each state's choice: gateware, software model, and the host's tables."""

from __future__ import annotations

from .fault import Fault

BRACKETS = "hw/sweep/scan/brackets.py"
SEARCH = "hw/sweep/search/local_search.py"
PROOF = "hw/sweep/software_proof.py"
PRODUCTS = "host/solver/products.py"
HOST = "tests/host/solver/test_choice_bounds.py::"

OF_BRACKETS = ("tests/hw/sweep/scan/test_brackets.py::test_bounds_cut_brackets",)
OF_NEXT = ("tests/hw/sweep/search/test_next_state.py::test_candidates_of_the_state_that_is_found",)
OF_TABLES = ("tests/hw/sweep/lane/test_tables.py::test_candidates_are_read_with_the_choice",)
OF_GATEWARE = ("tests/hw/sweep/test_kinds.py::test_gateware_after_every_sweep_and_at_the_end[bounds-2]",)
OF_SWEEPS = tuple(
    f"tests/hw/sweep/test_kinds.py::test_every_sweep_is_full_searchs[bounds-any order-{seed}]" for seed in range(3)
)
OF_DIVISION = ("tests/hw/sweep/test_alternatives.py::test_division_stays_within_bounds",)
OF_WORDS = (HOST + "test_words_and_windows",)
OF_IMAGE = (HOST + "test_tables_of_the_image",)
OF_DRIVER = (HOST + "test_a_device_with_bounds_takes_problems_without",)

FAULTS = (
    Fault(
        "the lowest candidate does not cut a bracket",
        BRACKETS,
        "Mux(a < b, b, a), below, least)",
        "Mux(a < b, a, a), below, least)",
        OF_BRACKETS,
    ),
    Fault(
        "the highest candidate does not cut a bracket",
        BRACKETS,
        "Mux(a > b, b, a), above, most)",
        "Mux(a > b, a, a), above, most)",
        OF_BRACKETS,
    ),
    Fault(
        "a lane is smooth if bounds hide its steps",
        BRACKETS,
        "of_lower, of_upper = (p.delay(step, time - step.time).value for step in steps)",
        "assert steps",
        OF_BRACKETS,
    ),
    Fault(
        "a search takes the lowest candidate of a state for the highest",
        "hw/sweep/search/next_state.py",
        "self.item.most.eq(self.most)",
        "self.item.most.eq(self.least)",
        OF_NEXT,
    ),
    Fault(
        "a search steps among the candidates of its next state",
        SEARCH,
        "getattr(ring.search_later.item, side)",
        "getattr(ring.search_later.next, side)",
        OF_GATEWARE,
    ),
    Fault(
        "a guess is clamped to the candidates of the state before",
        SEARCH,
        "getattr(course.guesses.next, side)",
        "getattr(course.guesses.item, side)",
        OF_GATEWARE,
    ),
    Fault(
        "the highest candidate is read where the lowest is stored",
        "hw/sweep/lane/tables.py",
        "self.most.eq(bounds.read_data[INDEX_BITS:])",
        "self.most.eq(bounds.read_data)",
        OF_TABLES,
    ),
    Fault(
        "writing bounds overwrites costs",
        "hw/sweep/datapath.py",
        "strobes = strobes & ~second",
        "strobes = strobes",
        OF_GATEWARE,
    ),
    Fault(
        "the model cuts no bracket below",
        PROOF,
        "max(choices[i - 1, s], bounds[0, s]) if",
        "choices[i - 1, s] if",
        OF_SWEEPS,
    ),
    Fault(
        "the model cuts no bracket above",
        PROOF,
        "min(choices[i + 1, s], bounds[1, s]) if",
        "choices[i + 1, s] if",
        OF_SWEEPS,
    ),
    Fault(
        "divide and conquer of the model cuts no bracket below",
        PROOF,
        "below = max(choices[i - distance, s], below)",
        "below = choices[i - distance, s]",
        OF_DIVISION,
    ),
    Fault(
        "divide and conquer of the model cuts no bracket above",
        PROOF,
        "above = min(choices[i + distance, s], above)",
        "above = choices[i + distance, s]",
        OF_DIVISION,
    ),
    Fault(
        "all points of the model have the candidates of the first",
        "hw/sweep/software_passes.py",
        "limits[:, i if limits.shape[1] > 1 else 0]",
        "limits[:, 0]",
        OF_SWEEPS,
    ),
    Fault(
        "bounds are in the first half of their window",
        "hw/interface/layout.py",
        "Words(half + one.window, one.table, one.count)",
        "Words(one.window, one.table, one.count)",
        OF_WORDS,
    ),
    Fault(
        "the highest candidates overlap the lowest in their words",
        "hw/interface/bounds.py",
        "bounds[0] | bounds[1] << INDEX_BITS",
        "bounds[0] | bounds[1] << INDEX_BITS - 1",
        OF_WORDS,
    ),
    Fault(
        "a build with bounds does not report them",
        "hw/interface/parameters.py",
        "self.features.bounds << BOUNDS_BIT",
        "0 << BOUNDS_BIT",
        OF_WORDS,
    ),
    Fault(
        "bounds of the last problem remain on a device",
        "host/solver/driver.py",
        "        if build.features.bounds:\n",
        "        if image.bounds is not None:\n",
        OF_DRIVER,
    ),
    Fault(
        "a problem with bounds runs on a device without",
        "host/solver/checked.py",
        "if image.bounds is not None and not build.features.bounds:",
        "if image.bounds is None and build.features.costs is None:",
        OF_DRIVER,
    ),
    Fault(
        "a checkpoint of other bounds is accepted",
        "host/solver/checkpoint.py",
        "digest.update(image.bounds.data)",
        "digest.update(image.wealth.data)",
        OF_IMAGE,
    ),
    Fault(
        "the highest candidate of all points is that of the first",
        "host/solver/product_image.py",
        "return products.low[0], products.high[-1]",
        "return products.low[0], products.high[0]",
        OF_IMAGE,
    ),
    Fault(
        "a cost may fall within the bounds of the last point",
        PRODUCTS,
        "(index < tables.high[-1])",
        "(index < tables.high[0])",
        (HOST + "test_costs_that_fall_within_bounds",),
    ),
    Fault(
        "bounds may begin to depend on x while prices move",
        "host/solver/moving_prices.py",
        "if before.bounds is None and varies(form):",
        "if before.bounds is not None and varies(form):",
        ("tests/host/models/arellano/test_machines.py::test_how_it_can_end",),
    ),
)
