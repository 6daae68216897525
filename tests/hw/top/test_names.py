"""Names of signals, which must not depend on the version of Python: the hash of a build covers them."""

from __future__ import annotations

import pytest
from amaranth.hdl import Signal

from beltline.hw.top.names import same_names, stored_first


def test_signals_have_the_names_that_python_3_11_finds() -> None:
    same_names()
    alone = Signal()
    first, second = Signal(), Signal()
    chosen = Signal()
    again = chosen
    assert [signal.name for signal in (alone, first, second, again)] == ["alone", "$signal", "second", "chosen"]


@pytest.mark.parametrize(
    ("instructions", "number"),
    [
        ([("STORE_FAST_STORE_FAST", 0x21)], 2),
        ([("STORE_FAST_LOAD_FAST", 0x3A)], 3),
        ([("CACHE", 0), ("LOAD_GLOBAL", 7), ("CACHE", 0), ("STORE_FAST_LOAD_FAST", 0x10)], 1),
        # A long argument; one before another instruction does not count.
        ([("EXTENDED_ARG", 1), ("STORE_FAST_STORE_FAST", 0x21)], 0x12),
        ([("EXTENDED_ARG", 1), ("LOAD_GLOBAL", 7), ("STORE_FAST_STORE_FAST", 0x21)], 2),
        ([("STORE_FAST", 2)], None),
        ([("CALL", 0), ("STORE_FAST_STORE_FAST", 0x21)], None),
        ([], None),
    ],
)
def test_the_first_of_two_variables(instructions: list[tuple[str, int]], number: int | None) -> None:
    assert stored_first(iter(instructions)) == number
