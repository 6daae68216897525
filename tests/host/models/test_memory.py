"""Models whose tables do not fit into the memory are refused before the tables are made."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

import beltline as bl
from beltline.host.problem import memory

TOO_LARGE: dict[str, tuple[Callable[..., Any], dict[str, Any], str]] = {
    "rbc": (bl.rbc, {"grid": 2**20, "states": 1024}, "grid = 1,048,576 with states = 1,024 needs 56.00 GiB"),
    "life cycle": (bl.life_cycle, {"grid": 2**20, "states": 1024}, "grid = 1,048,576 with states = 1,024 needs "),
    "aiyagari": (bl.aiyagari, {"grid": 2**20, "states": 512}, "grid = 1,048,576 with states = 512 needs 32.00 GiB"),
    "path": (bl.aiyagari_path, {"grid": 2**20, "states": 512}, "grid = 1,048,576 with states = 512 needs "),
    "types": (bl.aiyagari_types, {"grid": 2**20, "states": 512}, "grid = 1,048,576 with states = 512 needs "),
    "arellano": (bl.arellano, {"bonds": 2**20 - 1, "incomes": 1024}, "bonds = 1,048,575 with incomes = 1,024 needs "),
    "firms": (bl.hopenhayn_rogerson, {"grid": 10**6, "states": 1000}, "grid = 1,000,000 with states = 1,000 needs "),
    "lumpy investment": (bl.lumpy_investment, {"steps": 5000, "states": 1024}, "points = 539,065 with states = 1,024 "),
    "cohort": (bl.cohort, {"grid": 10**6, "states": 64}, "grid = 1,000,000 with states = 64 and ages = 80 needs "),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_what_does_not_fit_is_refused_at_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beltline.gpu_ref.memory.available", lambda: 2**34)
    make, sizes, sentence = TOO_LARGE[name]
    tracemalloc.start()
    try:
        with pytest.raises(bl.ProblemError, match=f"^{re.escape(sentence)}") as refused:
            make(**sizes)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert re.search(r" GiB, more than the 15\.75 GiB that this computer has free$", str(refused.value))
    assert most < 2**26


def test_a_single_size_is_named_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beltline.gpu_ref.memory.available", lambda: 2**28 + 1000)
    with pytest.raises(bl.ProblemError, match=r"^grid = 1,000,000 needs 0\.16 GiB, more than the 0\.00 GiB that this"):
        bl.retirement(grid=10**6)


MADE: dict[str, Callable[[], Any]] = {
    "rbc": lambda: bl.rbc(grid=4000, states=16),
    "life cycle": lambda: bl.life_cycle(grid=4000, states=16),
    "aiyagari": lambda: bl.aiyagari(grid=4000, states=16).problem(),
    "arellano": lambda: bl.arellano(bonds=4001, incomes=16).problem(),
    "firms": lambda: bl.hopenhayn_rogerson(grid=4000, states=16).problem(),
    "firms that exit after the shock": lambda: bl.hopenhayn_rogerson(grid=4000, states=16, exits="after").problem(),
    "lumpy investment": lambda: bl.lumpy_investment(steps=40, states=16).problem(),
    "retirement": lambda: bl.retirement(grid=60_000).problem(),
    "cohort": lambda: bl.cohort(grid=200, states=8).problem(),
    "cohort of many states": lambda: bl.cohort(grid=30, states=32).problem(),
}


@pytest.mark.parametrize("name", MADE)
def test_no_more_is_counted_than_a_model_allocates(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MADE[name]()
    counted: list[int] = []
    monkeypatch.setattr(memory, "check_memory", lambda needed, what: counted.append(needed))
    tracemalloc.start()
    try:
        MADE[name]()
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 0.6 * most <= counted[0] <= most
