"""Tests of devices that run in the long suite only."""

from __future__ import annotations

import pytest

BY_THE_DRIVER = frozenset(
    {
        "test_is_a_device", "test_registers_refuse_what_does_not_fit", "test_tables_that_are_only_written",
        "test_table_that_is_only_read", "test_blocks_out_of_range", "test_empty_blocks",
        "test_blocks_from_any_memory", "test_blocks_of_another_form", "test_close",
        "test_problem_that_does_not_fit",
    }
)  # fmt: skip
"""Tests of checks that the driver of a serial line makes before it sends a byte. With the substitute for the board
they take
0.1% of the time of gateware that is simulated bit by bit."""

ONCE = frozenset(
    {"test_blocks_leave_their_neighbours_alone", "test_bad_configuration", "test_solves_to_the_bits_of_the_model"}
)
"""Tests of several tables, settings or problems, which run with the first only for gateware on a serial line."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    taken = set()
    for item in items:
        name = getattr(item, "originalname", "")
        if "[serial gateware" in item.name:
            if name in BY_THE_DRIVER or name in taken & ONCE:
                item.add_marker(pytest.mark.slow)
            taken.add(name)
